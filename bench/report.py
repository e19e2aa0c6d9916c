"""The results as text: Markdown tables that also read well in a terminal, and JSON.

Every number comes out of the results; none is typed here.
"""

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict
from pathlib import Path

from bench.contenders import FLOOR
from bench.crew import Faults
from bench.events import EventCost
from bench.goals import Goal, Verdict, judge
from bench.imports import StartCost
from bench.load import TASK, LoadResult
from bench.machine import Machine
from bench.processes import ROOT
from bench.results import Results
from bench.rounds import NEIGHBOURS, ROUNDS_WATCHED, RoundCost, RoundsResult
from bench.together import TogetherResult

FOLDER = Path(__file__).parent / "results"
NONE = "-"

Row = Sequence[str]


def write(results: Results, name: str, folder: Path = FOLDER) -> None:
    """Leave `<name>.json` and `<name>.md` behind."""
    folder.mkdir(exist_ok=True)
    goals = [{**asdict(goal), "verdict": goal.verdict.value} for goal in judge(results)]
    document = json.dumps({**asdict(results), "goals": goals}, indent=1) + "\n"
    for ending, text in (("json", document), ("md", render(results))):
        # An error message may quote a path; where the repository lies is nobody's business.
        (folder / f"{name}.{ending}").write_text(text.replace(str(ROOT), "."))


def render(results: Results) -> str:
    """The whole report."""
    parts = [
        f"# Benchmark, {results.plan} plan, {results.machine.date}",
        *_circumstances(results),
        *(_rounds(results.rounds) if results.rounds else ()),
        *(_wires(results.wires) if results.wires else ()),
        *(_events(results.events) if results.events else ()),
        *(_load(results.load) if results.load else ()),
        *(_imports(results.imports) if results.imports else ()),
        *(_together(results.together) if results.together else ()),
        *_goals(judge(results)),
    ]
    return "\n\n".join(parts) + "\n"


def table(head: Row, rows: Sequence[Row]) -> str:
    """A Markdown table, padded: names to the left, figures to the right."""
    widths = [max(len(row[column]) for row in (head, *rows)) for column in range(len(head))]

    def line(row: Row) -> str:
        first = row[0].ljust(widths[0])
        rest = (text.rjust(width) for text, width in zip(row[1:], widths[1:], strict=True))
        return "| " + " | ".join((first, *rest)) + " |"

    rule = ["-" * widths[0], *("-" * (width - 1) + ":" for width in widths[1:])]
    return "\n".join(map(line, (head, rule, *rows)))


def times(value: float | None) -> str:
    """A multiple, with as many digits as it deserves."""
    if value is None:
        return NONE
    return f"{value:.1f}x" if value < 20 else f"{value:,.0f}x"


def figure(value: float | None) -> str:
    """A number with about three digits."""
    if value is None:
        return NONE
    for bound, digits in ((1, 3), (10, 2), (100, 1)):
        if abs(value) < bound:
            return f"{value:.{digits}f}"
    return f"{value:,.0f}"


def _circumstances(results: Results) -> Iterator[str]:
    machine: Machine = results.machine
    packages = ", ".join(f"{name} {number}" for name, number in machine.packages.items())
    yield (
        f"{machine.cpu}, {machine.cores} cores, {machine.memory_gib} GiB, Linux {machine.kernel}, "
        f"{machine.python}; commit {machine.commit}; load average before "
        f"{machine.load_average_before}; took {results.took_s:.0f} s.\n{packages}.\n"
        "Read the multiples, not the milliseconds."
    )
    for name, reason in results.absent.items():
        yield f"**{name}: not available** ({reason})"


def _rounds(found: RoundsResult) -> Iterator[str]:
    yield "## CPU and wall time of a round"
    for rounds in sorted({cost.cell.rounds for cost in found.costs}):
        costs = [cost for cost in found.costs if cost.cell.rounds == rounds]
        yield f"CPU, runs of {rounds} rounds: multiple of the floor (milliseconds a round)"
        yield _round_table(costs, lambda cost: (cost.cpu_ratio, cost.cpu_ms))
        yield f"Wall, runs of {rounds} rounds: multiple of the floor (milliseconds a round)"
        yield _round_table(costs, lambda cost: (cost.wall_ratio, cost.wall_ms))
    if found.growth:
        yield "## How a round grows with the conversation"
        yield f"A round's cost is the mean of it and of up to {NEIGHBOURS} rounds on each side."
        yield from _growth(found)
    if found.skipped:
        yield "Left out: " + "; ".join(found.skipped) + "."


def _wires(found: RoundsResult) -> Iterator[str]:
    yield "## CPU of a round over each wire"
    yield (
        "Treadle without a journal, as a multiple of the loop that was written by hand for the same wire; the floors themselves "
        "as a multiple of the one that speaks chat completions. Requests to Bedrock are signed, by its floor too."
    )
    for rounds in sorted({cost.cell.rounds for cost in found.costs}):
        costs = [cost for cost in found.costs if cost.cell.rounds == rounds]
        yield f"Runs of {rounds} rounds: multiple of its floor (milliseconds a round)"
        yield _round_table(costs, lambda cost: (cost.cpu_ratio, cost.cpu_ms))
        chat = {cost.cell: cost.cpu_ms for cost in costs if cost.contender == FLOOR}
        if chat:
            yield f"Runs of {rounds} rounds: multiple of the chat completions floor (milliseconds a round)"
            yield _round_table(costs, lambda cost, chat=chat: (cost.cpu_ms / chat[cost.cell], cost.cpu_ms))
    yield from _growth(found)


def _round_table(costs: list[RoundCost], pick: Callable[[RoundCost], tuple[float | None, float]]) -> str:
    cells = sorted({cost.cell for cost in costs}, key=lambda cell: (cell.streamed, cell.calls))
    by_place = {(cost.contender, cost.cell): cost for cost in costs}
    names = list(dict.fromkeys(cost.contender for cost in costs))
    head = ["", *(f"{_wire(cell.streamed)}, P={cell.calls}" for cell in cells)]
    rows = [[name, *(_both(by_place.get((name, cell)), pick) for cell in cells)] for name in names]
    return table(head, rows)


def _both(cost: RoundCost | None, pick: Callable[[RoundCost], tuple[float | None, float]]) -> str:
    if cost is None:
        return NONE
    multiple, value = pick(cost)
    return f"{times(multiple)} ({figure(value)}){_mark(cost)}"


def _mark(cost: RoundCost) -> str:
    bad = cost.faults.failed + cost.faults.short
    return f" {bad} of {cost.faults.runs} bad!" if bad else ""


def _growth(found: RoundsResult) -> Iterator[str]:
    for streamed in (False, True):
        mine = [one for one in found.growth if one.streamed == streamed]
        totals = {
            cost.contender: cost
            for cost in found.costs
            if (cost.cell.rounds, cost.cell.calls) == (ROUNDS_WATCHED[-1], 1) and cost.cell.streamed == streamed
        }
        last, first = ROUNDS_WATCHED[-1], ROUNDS_WATCHED[0]
        head = [
            f"{_wire(streamed)}, P=1",
            *(f"round {number}, ms" for number in ROUNDS_WATCHED),
            f"{last} by {first}",
            "whole run, s",
            "of floor",
        ]
        rows = [
            [
                one.contender,
                *(figure(value) for value in one.cpu_ms_at.values()),
                times(one.factor),
                figure(totals[one.contender].run_cpu_s),
                times(totals[one.contender].cpu_ratio),
            ]
            for one in mine
        ]
        yield table(head, rows)


def _events(costs: tuple[EventCost, ...]) -> Iterator[str]:
    yield "## CPU of a streamed event"
    head = ["", "of floor", "us an event", "bad runs"]
    rows = [[one.contender, times(one.cpu_ratio), figure(one.cpu_us), _bad(one.faults)] for one in costs]
    yield table(head, rows)


def _load(found: tuple[LoadResult, ...]) -> Iterator[str]:
    yield f"## Many runs at once ({TASK.rounds} rounds, the server waits {TASK.delay_ms} ms before each reply)"
    head = ["", "runs/s", "of floor", "p99, s", "KiB a run", "CPU ms a run", "failed", "short"]
    for level in sorted({one.concurrency for one in found}):
        yield f"{level} at once"
        rows = [_load_row(one) for one in found if one.concurrency == level]
        yield table(head, rows)


def _load_row(one: LoadResult) -> list[str]:
    share = NONE if one.share_of_floor is None else f"{one.share_of_floor:.2f}"
    failed, short, runs = one.faults.failed, one.faults.short, one.faults.runs
    return [
        one.contender,
        figure(one.runs_per_second),
        share,
        figure(one.p99_s),
        figure(one.kib_per_run) if one.concurrency > 1 else NONE,
        figure(one.cpu_ms_per_run),
        f"{failed} of {runs}",
        f"{short} of {runs}",
    ]


def _together(found: TogetherResult) -> Iterator[str]:
    yield "## Four synchronous functions of 100 ms in one reply"
    yield f"Median {figure(found.median_ms)} ms, worst of {found.turns} replies {figure(found.worst_ms)} ms."


def _imports(costs: tuple[StartCost, ...]) -> Iterator[str]:
    yield "## Import and cold start"
    head = ["whole process", "CPU of import asyncio", "CPU, ms", "median", "wall, ms", "median"]
    rows = [[one.program, times(one.multiple), *map(figure, _milliseconds(one))] for one in costs]
    yield table(head, rows)


def _milliseconds(one: StartCost) -> tuple[float, ...]:
    return one.cpu_ms, one.median_cpu_ms, one.wall_ms, one.median_wall_ms


def _goals(goals: list[Goal]) -> Iterator[str]:
    yield "## Goals"
    head = ["", "goal", "measured", "verdict"]
    rows = [
        [
            goal.what,
            f"{'>=' if goal.at_least else '<='} {goal.limit:g} {goal.unit}",
            figure(goal.measured),
            goal.verdict.value,
        ]
        for goal in goals
        if goal.verdict is not Verdict.OPEN
    ]
    if rows:
        yield table(head, rows)
    if len(rows) < len(goals):
        yield f"Not judged for want of a measurement: {len(goals) - len(rows)} of {len(goals)}."


def _bad(faults: Faults) -> str:
    return f"{faults.failed + faults.short} of {faults.runs}"


def _wire(streamed: bool) -> str:
    return "streamed" if streamed else "whole"
