"""The contenders at work: one parked process each, taking turns.

Turns are interleaved so that a slow minute of the machine hits everybody, and ratios are taken
within a turn wherever nobody sat one out. What is asked of them is the sections' business.
"""

import json
import statistics
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, dataclass, field
from typing import Any

from bench.contenders import Contender, Kind
from bench.plan import Plan
from bench.processes import Child, ChildError, child
from bench.scenario import Scenario

_STARTED = time.perf_counter()
START_TIMEOUT = 120.0
ANSWER_TIMEOUT = 400.0

Reading = dict[str, Any]
Turns = dict[str, list[Reading]]


@dataclass(slots=True)
class Absent:
    """Who could not take part, or not to the end, and why."""

    reasons: dict[str, str] = field(default_factory=dict)

    def note(self, name: str, reason: str) -> None:
        """Say it at once and keep it for the report."""
        self.reasons.setdefault(name, reason)
        say(f"{name}: not available: {reason}")


def say(text: str) -> None:
    """Progress, for whoever is waiting; the result goes to standard output."""
    print(f"{time.perf_counter() - _STARTED:6.1f} s  {text}", file=sys.stderr, flush=True)


def order(what: str, scenario: Scenario, stream: bool, **more: Any) -> dict[str, Any]:
    """An order as the worker reads it."""
    return {"what": what, "scenario": asdict(scenario), "stream": stream, **more}


class Crew:
    """The contenders that started, in the order in which they take turns."""

    def __init__(self, members: dict[str, tuple[Contender, Child]], absent: Absent) -> None:
        self._members = members
        self._absent = absent

    @property
    def contenders(self) -> list[Contender]:
        """Who is still here."""
        return [contender for contender, _ in self._members.values()]

    def ask(self, name: str, wanted: dict[str, Any]) -> Reading | None:
        """One order to one contender; a contender that fails it leaves the crew."""
        _, process = self._members[name]
        try:
            return process.ask(wanted, ANSWER_TIMEOUT)
        except ChildError as error:
            del self._members[name]
            self._absent.note(name, str(error))
            return None

    def warm(self) -> None:
        """Let everybody connect and compile on both wires before anything counts."""
        for name in list(self._members):
            for stream in (False, True):
                for _ in range(2):
                    if name in self._members:
                        self.ask(name, order("warm", Scenario(3, 4), stream))


@contextmanager
def crew(contenders: Sequence[Contender], base_url: str, absent: Absent) -> Iterator[Crew]:
    """Start the contenders, warm them up, and end them with the block."""
    with ExitStack() as stack:
        members: dict[str, tuple[Contender, Child]] = {}
        for contender in contenders:
            process = stack.enter_context(child("bench.worker", contender.name, base_url))
            if arrived(process, contender.name, absent):
                members[contender.name] = contender, process
        started = Crew(members, absent)
        started.warm()
        yield started


def arrived(process: Child, name: str, absent: Absent) -> bool:
    """Whether the contender could be imported."""
    try:
        hello = json.loads(process.line(START_TIMEOUT))
    except ChildError as error:
        hello = {"available": False, "reason": str(error)}
    if not hello["available"]:
        absent.note(name, hello["reason"])
    return hello["available"]


def take_turns(workers: Crew, names: Sequence[str], wanted: dict[str, Any], plan: Plan) -> Turns:
    """Ask everybody in turn, several times; who has used up the patience sits out."""
    readings: Turns = {name: [] for name in names}
    for _ in range(plan.turns):
        for contender in workers.contenders:
            mine = readings.get(contender.name)
            if mine is not None and has_patience(contender, mine, plan):
                answer = workers.ask(contender.name, wanted)
                mine += [answer] if answer else []
    return {name: mine for name, mine in readings.items() if mine}


def has_patience(contender: Contender, readings: Sequence[Reading], plan: Plan) -> bool:
    """Whether there is time for one more turn of a contender in this cell."""
    spent = sum(one["wall"] * one["runs"] for one in readings)
    return spent <= (plan.peer_patience if contender.kind is Kind.PEER else plan.patience)


def ratio(values: Sequence[float], floor: Sequence[float]) -> float | None:
    """Value by floor: the median over the turns, or of the medians where somebody sat out turns. None without a floor."""
    if not values or not floor:
        return None
    if len(values) != len(floor):
        return statistics.median(values) / statistics.median(floor)
    return statistics.median(value / base for value, base in zip(values, floor, strict=True))


@dataclass(frozen=True, slots=True)
class Faults:
    """What went wrong in the runs behind a figure."""

    runs: int
    failed: int
    short: int
    problem: str


def faults(readings: Sequence[Reading]) -> Faults:
    """Add up the faults of several readings."""
    problems = [one["problem"] for one in readings if one["problem"]]
    return Faults(
        runs=sum(one["runs"] for one in readings),
        failed=sum(one["failed"] for one in readings),
        short=sum(one["short"] for one in readings),
        problem=problems[0] if problems else "",
    )
