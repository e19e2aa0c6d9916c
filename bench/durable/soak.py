"""Half an hour of runs, of whose model requests and tool calls two in ten go wrong: what the process and its database come to.

The model's server is in this process, the runs in another, which alone is measured (`steady`).
"""

import asyncio
import tempfile
from collections import Counter
from collections.abc import Sequence
from statistics import median
from typing import Any

from bench.durable.pages import Goal, Page, circumstances, with_goals
from bench.durable.steady import SHARE
from bench.model_faults.fates import FINE, Fate, drawn
from bench.model_faults.server import FaultyServer
from bench.processes import child
from bench.report import table

AT_ONCE = 6  # runs
LOOKS = 20.0  # seconds between two looks
KNOWN = 1000  # runs that the server remembers
MOST_GROWTH = 1.05  # of the last third over the middle one
MOST_HANDLES = 2  # open files more: runs come and go, and with them connections
LINEAR = 0.05  # by how much a call may cost more bytes in the second half than in the first, or less

Look = dict[str, Any]


class Fates:
    """Draws what becomes of each request, and counts it."""

    def __init__(self) -> None:
        self.counts = Counter[str]()

    def __call__(self, order: str, number: int) -> Fate:
        """The fate of a request."""
        fate = drawn(4711, order, number, SHARE)
        self.counts["fine" if fate.kind == FINE else "faults"] += 1
        return fate


async def page(minutes: float) -> Page:
    """Watch for so long."""
    fates = Fates()
    async with FaultyServer(fates) as server:
        with (
            tempfile.TemporaryDirectory() as folder,
            child("bench.durable.worker", "soak", str(server.port), folder, str(AT_ONCE)) as runs,
        ):
            looks: list[Look] = []
            for number in range(round(minutes * 60 / LOOKS) + 1):
                await asyncio.sleep(LOOKS if number else 2.0)
                looks.append({**await asyncio.to_thread(runs.ask, {}, 60.0), "minute": number * LOOKS / 60})
                for name in list(server.asked)[:-KNOWN]:  # or this process would be what grows
                    del server.asked[name]
    return _page(minutes, looks, fates.counts)


def _page(minutes: float, looks: Sequence[Look], requests: Counter[str]) -> Page:
    last = looks[-1]
    each = max(1, len(looks) // 10)
    rows = [
        [
            f"{look['minute']:.0f} min",
            f"{look['calls']:,}",
            f"{look['memory'] / 2**20:.0f}",
            str(look["handles"]),
            str(look["threads"]),
            f"{look['database'] / 2**20:.1f}",
            f"{look['database'] / max(1, look['calls']):,.0f}",
        ]
        for look in [*looks[:-1:each], last]
    ]
    parts = [
        f"# A soak of {minutes:.0f} minutes: {AT_ONCE} runs at once, two in ten of everything goes wrong",
        circumstances(),
        _happened(last, requests),
        table(["after", "calls", "memory, MB", "open files", "threads", "database, MB", "bytes a call"], rows),
    ]
    return with_goals(parts, _goals(looks))


def _happened(last: Look, requests: Counter[str]) -> str:
    faults, failed = requests["faults"] / requests.total(), last["failed calls"] / last["calls"]
    asked = f"{requests.total():,} requests to a model, of which {faults:.0%} failed"
    called = f"{last['calls']:,} tool calls, of which {failed:.0%} failed"
    runs = f"{last['answered']:,} runs answered, {last['left']:,} given up by whoever asked, {last['other']:,} ended otherwise"
    return f"{asked}; {called}; {runs}; {last['waited']:,} times a person was waited for."


def _goals(looks: Sequence[Look]) -> list[Goal]:
    third, half = len(looks) // 3, len(looks) // 2
    middle, end = looks[third : 2 * third], looks[2 * third :]
    memory, handles = [[median([look[name] for look in part]) for part in (middle, end)] for name in ("memory", "handles")]
    grown = memory[1] / memory[0]
    before = _bytes_a_call(looks[0], looks[half])
    after = _bytes_a_call(looks[half], looks[-1])
    return [
        Goal("memory stays where it is", f"{grown - 1:+.1%} from the middle third to the last", grown <= MOST_GROWTH),
        Goal("so do open files", f"{handles[0]:.0f} and {handles[1]:.0f}", handles[1] <= handles[0] + MOST_HANDLES),
        Goal(
            "the database grows with the calls, and no faster",
            f"{before:,.0f} bytes a call in the first half, {after:,.0f} in the second",
            abs(after / before - 1) <= LINEAR,
        ),
        Goal("every run that nobody gave up is answered", _others(looks[-1]), looks[-1]["other"] == 0),
    ]


def _others(last: Look) -> str:
    return f"{last['other']} weren't" + (f", such as {last['last words']}" if last["other"] else "")


def _bytes_a_call(earlier: Look, later: Look) -> float:
    return (later["database"] - earlier["database"]) / (later["calls"] - earlier["calls"])
