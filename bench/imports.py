"""Section 5: from nothing to imported, and from nothing to the first answer.

Whole processes, timed from outside and interleaved; the unit is a process that imports asyncio.
The multiple is of CPU time, which is what importing takes and what a busy machine distorts least.
"""

import os
import statistics
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from bench.contenders import Contender
from bench.crew import say
from bench.plan import Plan
from bench.processes import CONTENDER_CORE, environment, pin

UNIT = "import asyncio"
TREADLE = "from treadle import Agent, tool"
TREADLE_HELP = "treadle --help"

_STATEMENTS = (
    UNIT,
    "import aiohttp",
    TREADLE,
    "from pydantic_ai import Agent",
    "from agents import Agent, Runner, function_tool",
    "from langchain.agents import create_agent",
    "from openai import AsyncOpenAI",
)


@dataclass(frozen=True, slots=True)
class Program:
    """A name in the table and the command behind it."""

    name: str
    command: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class StartCost:
    """Milliseconds of a process, the fastest and the median of the turns; the multiple is of the fastest CPU."""

    program: str
    cpu_ms: float
    median_cpu_ms: float
    wall_ms: float
    median_wall_ms: float
    multiple: float | None


def measure(contenders: Sequence[Contender], base_url: str, plan: Plan) -> tuple[StartCost, ...]:
    """Everybody in turn; a program that does not succeed is left out."""
    with _on_the_contenders_core():
        say("imports: finding out who is here")
        candidates = list(_imports())
        if plan.first_answers:
            candidates += _first_answers(contenders, base_url)
        programs = [one for one in candidates if _timed(one) is not None]
        times: dict[str, list[tuple[float, float]]] = {one.name: [] for one in programs}
        for turn in range(plan.import_turns):
            say(f"imports: turn {turn + 1} of {plan.import_turns}")
            for program in programs:
                # Who is slow is timed less often; who is fast needs it more.
                spent = sum(wall for wall, _ in times[program.name])
                timed = _timed(program) if spent < plan.import_patience else None
                times[program.name] += [timed] if timed else []
    return _costs(times)


def _imports() -> Iterator[Program]:
    for statement in _STATEMENTS:
        yield Program(statement, (sys.executable, "-c", statement))
    yield Program(TREADLE_HELP, _treadle_help())


def _first_answers(contenders: Sequence[Contender], base_url: str) -> Iterator[Program]:
    for contender in contenders:
        command = (sys.executable, "-m", "bench.worker", contender.name, base_url, "--first")
        yield Program(f"first answer: {contender.name}", command)


def _treadle_help() -> tuple[str, ...]:
    script = Path(sys.executable).with_name("treadle")
    start = (str(script),) if script.exists() else (sys.executable, "-m", "treadle")
    return (*start, "--help")


@contextmanager
def _on_the_contenders_core() -> Iterator[None]:
    """Children inherit where this process may run."""
    before = os.sched_getaffinity(0)
    pin(CONTENDER_CORE)
    try:
        yield
    finally:
        os.sched_setaffinity(0, before)


def _timed(program: Program) -> tuple[float, float] | None:
    """Wall and CPU seconds, or None if it did not end well."""
    silence = [(os.POSIX_SPAWN_OPEN, stream, os.devnull, os.O_WRONLY, 0) for stream in (1, 2)]
    started = time.perf_counter()
    pid = os.posix_spawn(program.command[0], program.command, environment(), file_actions=silence)
    _, status, used = os.wait4(pid, 0)
    wall = time.perf_counter() - started
    return (wall, used.ru_utime + used.ru_stime) if status == 0 else None


def _costs(times: dict[str, list[tuple[float, float]]]) -> tuple[StartCost, ...]:
    unit = min((cpu for _, cpu in times.get(UNIT, [])), default=None)
    return tuple(_cost(name, mine, unit) for name, mine in times.items() if mine)


def _cost(name: str, mine: list[tuple[float, float]], unit: float | None) -> StartCost:
    walls, cpus = zip(*mine, strict=True)
    return StartCost(
        program=name,
        cpu_ms=min(cpus) * 1000,
        median_cpu_ms=statistics.median(cpus) * 1000,
        wall_ms=min(walls) * 1000,
        median_wall_ms=statistics.median(walls) * 1000,
        multiple=min(cpus) / unit if unit else None,
    )
