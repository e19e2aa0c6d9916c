"""Section 4: many runs at once against a server that takes its time.

Throughput, the slowest runs, memory per run, and whether every run did all of its work. Each
measurement has a process of its own, because memory once taken is not given back.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from bench.contenders import FLOOR, Contender, Kind
from bench.crew import ANSWER_TIMEOUT, Absent, Faults, Reading, arrived, faults, order, say
from bench.plan import Plan
from bench.processes import ChildError, child
from bench.scenario import Scenario

TASK = Scenario(rounds=5, calls=1, delay_ms=50)


@dataclass(frozen=True, slots=True)
class LoadResult:
    """A contender at one level: the best of its turns, since a busy machine only ever takes away; faults added up."""

    contender: str
    concurrency: int
    runs_per_second: float
    share_of_floor: float | None
    p99_s: float
    kib_per_run: float
    cpu_ms_per_run: float
    faults: Faults


def measure(contenders: Sequence[Contender], base_url: str, plan: Plan, absent: Absent) -> tuple[LoadResult, ...]:
    """Every level, everybody in turn."""
    results: list[LoadResult] = []
    for level in plan.levels:
        say(f"load: {level} at once")
        results += _level(contenders, base_url, level, plan, absent)
    return tuple(results)


def _level(contenders: Sequence[Contender], base_url: str, level: int, plan: Plan, absent: Absent) -> list[LoadResult]:
    turns: dict[str, list[Reading]] = {}
    for turn in range(plan.load_turns):
        for contender in contenders:
            if _takes_part(contender, level, turn, plan) and contender.name not in absent.reasons:
                waves = 1 if contender.kind is Kind.PEER else plan.load_waves
                answer = _once(contender.name, base_url, level, waves, absent)
                turns.setdefault(contender.name, []).extend([answer] if answer else [])
    best = {name: max(mine, key=_throughput) for name, mine in turns.items() if mine}
    floor = _throughput(best[FLOOR]) if FLOOR in best else None
    return [_result(name, level, reading, floor, faults(turns[name])) for name, reading in best.items()]


def _takes_part(contender: Contender, level: int, turn: int, plan: Plan) -> bool:
    if contender.kind is Kind.PEER:
        return turn == 0 and level in plan.peer_levels
    # One run after the other is waiting for the server, whoever does it; once is enough.
    return turn == 0 or level > 1


def _once(name: str, base_url: str, level: int, waves: int, absent: Absent) -> Reading | None:
    wanted = order("load", TASK, False, concurrency=level, waves=waves)
    with child("bench.worker", name, base_url) as process:
        if not arrived(process, name, absent):
            return None
        try:
            return process.ask(wanted, ANSWER_TIMEOUT)
        except ChildError as error:
            absent.note(name, f"at {level} at once: {error}")
            return None


def _throughput(reading: Reading) -> float:
    return reading["runs_per_second"]


def _result(name: str, level: int, best: Reading, floor: float | None, found: Faults) -> LoadResult:
    return LoadResult(
        contender=name,
        concurrency=level,
        runs_per_second=_throughput(best),
        share_of_floor=_throughput(best) / floor if floor else None,
        p99_s=best["p99"],
        kib_per_run=best["kib_per_run"],
        cpu_ms_per_run=best["cpu"] * 1000,
        faults=found,
    )
