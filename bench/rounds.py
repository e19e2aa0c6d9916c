"""Section 1: CPU and wall time of a round, and how it grows with the conversation.

A round is one request with its tool calls; the final answer counts as one more.
"""

import statistics
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import product

from bench.contenders import FLOOR, Contender, Kind
from bench.crew import (
    Crew,
    Faults,
    Reading,
    Turns,
    faults,
    order,
    ratio,
    say,
    take_turns,
)
from bench.plan import Plan
from bench.scenario import Scenario

LONGEST = 200
ROUNDS_WATCHED = (5, 50, 200)
# One round is too short to time alone: its neighbours on both sides are averaged in, so many that whole commits are among them.
# A journal's writer commits every 10 ms, which is about 12 rounds: with fewer, a commit is there or not by chance (decision 100).
NEIGHBOURS = 20


@dataclass(frozen=True, slots=True)
class Cell:
    """One column of the section's tables."""

    rounds: int
    calls: int
    streamed: bool

    @property
    def scenario(self) -> Scenario:
        """The task of this cell."""
        return Scenario(self.rounds, self.calls)


@dataclass(frozen=True, slots=True)
class RoundCost:
    """A contender in a cell: medians in milliseconds a round, and multiples of the floor."""

    contender: str
    cell: Cell
    cpu_ms: float
    wall_ms: float
    cpu_ratio: float | None
    wall_ratio: float | None
    run_cpu_s: float
    faults: Faults


@dataclass(frozen=True, slots=True)
class Growth:
    """CPU milliseconds of single rounds of a long run, one call a round."""

    contender: str
    streamed: bool
    cpu_ms_at: dict[int, float]

    @property
    def factor(self) -> float:
        """How much dearer the last watched round is than the first."""
        return self.cpu_ms_at[ROUNDS_WATCHED[-1]] / self.cpu_ms_at[ROUNDS_WATCHED[0]]


@dataclass(frozen=True, slots=True)
class RoundsResult:
    """All cells, the growth, and which cells were left out for time."""

    costs: tuple[RoundCost, ...]
    growth: tuple[Growth, ...]
    skipped: tuple[str, ...]


def measure(workers: Crew, plan: Plan, floors: Mapping[str, str] | None = None) -> RoundsResult:
    """Every cell of the plan, everybody in turn; `floors` names the floor of a contender that has another than the rest."""
    costs: list[RoundCost] = []
    growth: list[Growth] = []
    skipped: list[str] = []
    for cell in _cells(plan):
        names = []
        for contender in workers.contenders:
            reason = _why_not(contender, cell, plan, costs)
            names += [] if reason else [contender.name]
            skipped += [reason] if reason else []
        say(f"rounds: {cell.rounds} x {cell.calls} calls, {_wire(cell.streamed)}")
        turns = _measure_cell(workers, names, cell, plan)
        costs += _costs(cell, turns, floors or {})
        growth += _growths(cell, turns)
    return RoundsResult(tuple(costs), tuple(growth), tuple(dict.fromkeys(skipped)))


def _cells(plan: Plan) -> Iterator[Cell]:
    for rounds, calls, streamed in product(plan.rounds, plan.calls, (False, True)):
        yield Cell(rounds, calls, streamed)


def _wire(streamed: bool) -> str:
    return "streamed" if streamed else "whole"


def _why_not(contender: Contender, cell: Cell, plan: Plan, costs: list[RoundCost]) -> str:
    if contender.kind is not Kind.PEER:
        return ""
    if cell.rounds not in plan.peer_rounds:
        return f"peers, {cell.rounds} rounds: not in the {plan.name} plan"
    expected = _expected_seconds(contender.name, cell, costs)
    # The single-call cells are never left out: a goal rests on them.
    if cell.calls > 1 and expected > plan.longest_peer_cell:
        what = f"{contender.name}, {cell.rounds} rounds x {cell.calls} calls, {_wire(cell.streamed)}"
        return f"{what}: would take about {expected:.0f} s"
    return ""


def _expected_seconds(name: str, cell: Cell, costs: list[RoundCost]) -> float:
    """A guess from the longest like cell so far, as if the cost were quadratic in the rounds."""
    like = (cell.calls, cell.streamed)
    for cost in reversed(costs):
        if cost.contender == name and (cost.cell.calls, cost.cell.streamed) == like:
            return cost.run_cpu_s * (cell.rounds / cost.cell.rounds) ** 2
    return 0.0


def _measure_cell(workers: Crew, names: list[str], cell: Cell, plan: Plan) -> Turns:
    # Where single rounds are looked at it takes more runs to see through the noise: with three tenths of them, 1.3 to 2.0 in turn.
    seconds = plan.sample_seconds * (10 if _is_watched(cell) else 1)
    wanted = order("sample", cell.scenario, cell.streamed, seconds=seconds, marks=_is_watched(cell))
    return take_turns(workers, names, wanted, plan)


def _is_watched(cell: Cell) -> bool:
    return cell.rounds == LONGEST and cell.calls == 1


def _costs(cell: Cell, turns: Turns, floors: Mapping[str, str]) -> list[RoundCost]:
    return [_cost(name, cell, mine, turns.get(floors.get(name, FLOOR), [])) for name, mine in turns.items()]


def _growths(cell: Cell, turns: Turns) -> list[Growth]:
    if not _is_watched(cell):
        return []
    sound = {name: mine for name, mine in turns.items() if not faults(mine).problem}
    return [_growth(name, cell, mine) for name, mine in sound.items()]


def _cost(name: str, cell: Cell, mine: list[Reading], floor: list[Reading]) -> RoundCost:
    cpu = [one["cpu"] for one in mine]
    wall = [one["wall"] for one in mine]
    requests = cell.rounds + 1
    return RoundCost(
        contender=name,
        cell=cell,
        cpu_ms=statistics.median(cpu) * 1000 / requests,
        wall_ms=statistics.median(wall) * 1000 / requests,
        cpu_ratio=ratio(cpu, [one["cpu"] for one in floor]),
        wall_ratio=ratio(wall, [one["wall"] for one in floor]),
        run_cpu_s=statistics.median(cpu),
        faults=faults(mine),
    )


def _growth(name: str, cell: Cell, mine: list[Reading]) -> Growth:
    at = {number: statistics.median(_around(one["steps"], number) for one in mine) * 1000 for number in ROUNDS_WATCHED}
    return Growth(name, cell.streamed, at)


def _around(steps: list[float], number: int) -> float:
    """The steps begin with the second round: nothing before the first call is counted."""
    first = max(0, number - 2 - NEIGHBOURS)
    return statistics.fmean(steps[first : number - 1 + NEIGHBOURS])
