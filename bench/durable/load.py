"""500 runs at once in one process, ten calls with an effect each, with journal and audit: calls a second, and CPU time a call.

On SQLite, on a PostgreSQL server of its own, and with no journal at all, which is the floor. All runs are under way before any
makes its first call. CPU time is the process's own, its threads included; that of the PostgreSQL server stands beside it.
"""

from statistics import median

from msgspec import Struct

from bench.durable.pages import Goal, Page, circumstances, with_goals
from bench.faults.postgres import server
from bench.processes import child
from bench.report import table

RUNS, CALLS, TURNS = 500, 10, 5
LEAST_A_SECOND, MOST_CPU = 300.0, 2.0
PATIENCE = 300.0


class Reading(Struct, frozen=True):
    """The middle of so many turns. `together` is the smallest number of runs that were under way at the same time."""

    store: str
    a_second: float
    cpu_ms: float
    server_ms: float
    together: int
    kib_a_call: float


def page() -> Page:
    """All three, in turn."""
    with server() as url:
        readings = [_measured("none"), _measured("SQLite"), _measured("PostgreSQL", url)]
    return _page(readings)


def _measured(store: str, url: str = "") -> Reading:
    """In a process of its own."""
    with child("bench.durable.worker", "load", store, url) as process:
        turns = [process.ask({"runs": RUNS, "calls": CALLS}, PATIENCE) for _ in range(TURNS + 1)][1:]  # the first one warms up
    found = {name: median([turn[name] for turn in turns]) for name in ("a_second", "cpu_ms", "server_ms", "kib_a_call")}
    return Reading(store, together=min(turn["together"] for turn in turns), **found)


def _page(readings: list[Reading]) -> Page:
    floor = readings[0]
    rows = [
        [
            each.store,
            f"{each.a_second:,.0f}",
            f"{each.cpu_ms:.3f}",
            f"{each.cpu_ms / floor.cpu_ms:.1f}x",
            f"{each.server_ms:.3f}" if each.server_ms else "-",
            f"{each.kib_a_call:.1f}" if each.kib_a_call else "-",
        ]
        for each in readings
    ]
    head = ["kept in", "calls a second", "CPU ms a call", "of the floor", "the server's CPU ms", "KiB a call"]
    goals = [goal for each in readings[1:] for goal in _goals(each)]
    parts = [
        f"# Durable calls: {RUNS} runs at once in one process, {CALLS} calls with an effect each",
        circumstances(),
        "Journal and audit are written, and safe on disk before each effect. The model is a function and the tool does nothing,",
        table(head, rows),
    ]
    parts[2] = parts[2] + f" so what is left is the engine and its stores. The middle of {TURNS} turns."
    return with_goals(parts, goals)


def _goals(reading: Reading) -> list[Goal]:
    return [
        Goal(
            f"{reading.store}: at least {LEAST_A_SECOND:.0f} durable calls a second",
            f"{reading.a_second:,.0f}",
            reading.a_second >= LEAST_A_SECOND,
        ),
        Goal(f"{reading.store}: at most {MOST_CPU:.0f} ms of CPU a call", f"{reading.cpu_ms:.3f} ms", reading.cpu_ms <= MOST_CPU),
        Goal(f"{reading.store}: {RUNS} runs at once in one process", f"{reading.together}", reading.together >= RUNS),
    ]
