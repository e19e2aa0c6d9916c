"""Treadle's performance goals and whether a benchmark met them. Pure: results in, verdicts out."""

from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum

from bench.contenders import CONTENDERS, FLOOR, WIRES, Kind
from bench.imports import TREADLE
from bench.results import Results
from bench.rounds import LONGEST

OURS = "treadle"
OURS_DURABLE = "treadle+journal+audit"


class Verdict(Enum):
    """How a goal came out."""

    PASS = "pass"
    MISS = "MISS"
    OPEN = "not judged"


@dataclass(frozen=True, slots=True)
class Goal:
    """A bound and what was measured against it; nothing measured, nothing judged."""

    what: str
    limit: float
    measured: float | None
    unit: str = "x"
    at_least: bool = False

    @property
    def verdict(self) -> Verdict:
        """Pass, miss, or not judged."""
        if self.measured is None:
            return Verdict.OPEN
        met = self.measured >= self.limit if self.at_least else self.measured <= self.limit
        return Verdict.PASS if met else Verdict.MISS


def judge(results: Results) -> list[Goal]:
    """All goals, in the order of the sections."""
    return [
        *_round_goals(results),
        *_wire_goals(results),
        *_long_run_goals(results),
        *_growth_goals(results),
        *_event_goals(results),
        *_load_goals(results),
        *_honesty_goals(results),
        *_import_goals(results),
        *_together_goals(results),
    ]


def _round_goals(results: Results) -> Iterator[Goal]:
    costs = results.rounds.costs if results.rounds else ()
    for name, limit in ((OURS, 6.0), (OURS_DURABLE, 10.0)):
        for streamed in (False, True):
            for calls in (1, 4):
                ratios = [
                    cost.cpu_ratio
                    for cost in costs
                    if cost.contender == name
                    and (cost.cell.calls, cost.cell.streamed) == (calls, streamed)
                    and cost.cpu_ratio is not None
                ]
                what = f"{name}: CPU of a round, {_wire(streamed)}, {calls} call(s), worst length"
                yield Goal(what, limit, max(ratios, default=None), "x floor")


def _wire_goals(results: Results) -> Iterator[Goal]:
    found = results.wires
    chat = {cost.cell: cost.cpu_ms for cost in found.costs if cost.contender == FLOOR} if found else {}
    for wire in WIRES:
        for streamed in (False, True):
            costs = [cost for cost in found.costs if (cost.contender, cost.cell.streamed) == (wire.name, streamed)] if found else []
            growth = [one for one in found.growth if (one.contender, one.streamed) == (wire.name, streamed)] if found else []
            ratios = [cost.cpu_ratio for cost in costs if cost.cpu_ratio is not None]
            chat_ratios = [cost.cpu_ms / chat[cost.cell] for cost in costs if cost.cell in chat]
            what = f"{OURS} over {wire.name}: CPU of a round, {_wire(streamed)}, worst length"
            yield Goal(what, 6.0, max(ratios, default=None), "x its floor")
            yield Goal(what, 6.0, max(chat_ratios, default=None), "x chat's floor")
            what = f"{OURS} over {wire.name}: CPU of round {LONGEST} by round 5, {_wire(streamed)}"
            yield Goal(what, 1.5, max([one.factor for one in growth], default=None))


def _long_run_goals(results: Results) -> Iterator[Goal]:
    costs = results.rounds.costs if results.rounds else ()
    peers = {contender.name for contender in CONTENDERS if contender.kind is Kind.PEER}
    for streamed in (False, True):
        totals = {
            cost.contender: cost.run_cpu_s
            for cost in costs
            if (cost.cell.rounds, cost.cell.calls, cost.cell.streamed) == (LONGEST, 1, streamed)
        }
        best = min((total for name, total in totals.items() if name in peers), default=None)
        mine = totals.get(OURS)
        measured = best / mine if best and mine else None
        what = f"CPU of a {LONGEST}-round run, {_wire(streamed)}: best peer's by {OURS}'s"
        yield Goal(what, 30.0, measured, at_least=True)


def _growth_goals(results: Results) -> Iterator[Goal]:
    growth = results.rounds.growth if results.rounds else ()
    for name in (OURS, OURS_DURABLE):
        for streamed in (False, True):
            factors = [one.factor for one in growth if (one.contender, one.streamed) == (name, streamed)]
            what = f"{name}: CPU of round {LONGEST} by round 5, {_wire(streamed)}"
            yield Goal(what, 1.5, max(factors, default=None))


def _event_goals(results: Results) -> Iterator[Goal]:
    ratios = [one.cpu_ratio for one in results.events or () if one.contender == OURS]
    yield Goal(f"{OURS}: CPU of a streamed event", 6.0, next(iter(ratios), None), "x floor")


def _load_goals(results: Results) -> Iterator[Goal]:
    mine = {one.concurrency: one for one in results.load or () if one.contender == OURS}
    for level, share in ((100, 0.5), (1000, 0.2)):
        measured = mine[level].share_of_floor if level in mine else None
        what = f"{OURS}: throughput at {level} at once"
        yield Goal(what, share, measured, "of floor", at_least=True)
    for level in (100, 1000):
        measured = mine[level].kib_per_run if level in mine else None
        yield Goal(f"{OURS}: memory of a run at {level} at once", 60.0, measured, "KiB")


def _honesty_goals(results: Results) -> Iterator[Goal]:
    ours = [contender.name for contender in (*CONTENDERS, *WIRES) if contender.kind is Kind.OURS]
    found = [one for name in ours for one in results.faults_of(name)]
    # A process that was measured and then died took its runs with it.
    died = sum(name in results.absent for name in ours) if found else 0
    bad = float(died + sum(one.failed + one.short for one in found)) if found else None
    yield Goal("treadle in any form: runs that failed or fell short", 0.0, bad, "runs")


def _import_goals(results: Results) -> Iterator[Goal]:
    multiples = [one.multiple for one in results.imports or () if one.program == TREADLE]
    yield Goal(TREADLE, 2.0, next(iter(multiples), None), "x import asyncio")


def _together_goals(results: Results) -> Iterator[Goal]:
    found = results.together
    yield Goal(f"{OURS}: 4 synchronous functions of 100 ms in one reply", 150.0, found.median_ms if found else None, "ms")


def _wire(streamed: bool) -> str:
    return "streamed" if streamed else "whole"
