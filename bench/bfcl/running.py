"""Asks: each case by each route in turn, back to back so that what the server remembers of a prompt helps all alike."""

import sys
import time
from collections.abc import Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass, replace
from pathlib import Path

from bench.bfcl.answer import Answer, Made
from bench.bfcl.cases import MULTI_TURN, Case
from bench.bfcl.cases import load as load_cases
from bench.bfcl.checking import wrong
from bench.bfcl.lines import Line, append, latest, read
from bench.bfcl.routes import Ask, load
from bench.bfcl.table import share
from bench.bfcl.where import Where

_TEXT = 400  # characters of what the model said
_GIVE_UP = 6  # failures in a row: the server is gone, and the cases that are left shall not count as wrong


@dataclass(frozen=True, slots=True)
class Runner:
    """A route that is open. `column` is what it is called in the table."""

    column: str
    ask: Ask
    turns: bool


async def run(cases: Sequence[Case], routes: Sequence[str], where: Where, out: Path) -> None:
    """Ask all that isn't answered in `out` yet, and add it there. What failed is asked again."""
    lines = read(out)
    done = {(line.id, line.route) for line in lines if line.model == where.name and not line.error}
    async with AsyncExitStack() as stack:
        runners = [await _opened(name, where, stack) for name in routes]
        for number, case in enumerate(cases, 1):
            for runner in runners:
                if (case.id, runner.column) in done or (case.kind == MULTI_TURN and not runner.turns):
                    continue
                line = await _asked(case, runner, where)
                append(out, line)
                lines = latest([*lines, line])
                _tell(f"{number}/{len(cases)}", line, lines)
                _stop_if_gone(lines)


async def _opened(name: str, where: Where, stack: AsyncExitStack) -> Runner:
    ours = name == "treadle"
    column = f"{name} ({where.dialect})" if ours and where.dialect else name
    return Runner(column, await stack.enter_async_context(load(name)(where)), turns=ours)


async def _asked(case: Case, runner: Runner, where: Where) -> Line:
    began = time.perf_counter()
    answer, error, why = Answer(()), "", ""
    try:
        answer = await runner.ask(case)
    except Exception as failure:  # noqa: BLE001 - whatever went wrong is the route's result
        error = f"{type(failure).__name__}: {failure}"[:400]
    seconds = time.perf_counter() - began
    if not error:
        why = wrong(case, answer)
    told = [[made.told() for made in turn] for turn in answer.turns]
    calls = told if case.kind == MULTI_TURN else [made for turn in told for made in turn]
    right = not error and not why
    known = (case.id, case.kind, runner.column, where.name)
    return Line(*known, calls, right, why, error, round(seconds, 2), answer.prompt_tokens, answer.text[:_TEXT])


def _tell(place: str, line: Line, lines: Sequence[Line]) -> None:
    mark = "error" if line.error else "right" if line.right else "wrong"
    routes = dict.fromkeys(each.route for each in lines)
    alike = [each for each in lines if each.kind == line.kind and each.model == line.model]
    shares = [f"{route} {share(each for each in alike if each.route == route)}" for route in routes]
    said = f"{place} {line.id} {line.route} {mark} {line.seconds:.1f} s | {line.kind}: {', '.join(shares)}"
    print(said, file=sys.stderr, flush=True)


def _stop_if_gone(lines: Sequence[Line]) -> None:
    last = lines[-_GIVE_UP:]
    if len(last) == _GIVE_UP and all(line.error for line in last):
        raise SystemExit(f"{_GIVE_UP} failures in a row, the last one: {last[-1].error}\nGo on with --resume.")


def recheck(path: Path) -> None:
    """Check the calls of a record once more, by the checkers as they are now. Cases of many turns stay as they are."""
    lines = read(path)
    cases = {
        case.id: case for kind in dict.fromkeys(line.kind for line in lines) if kind != MULTI_TURN for case in load_cases(kind)
    }
    path.unlink()
    for line in lines:
        case = cases.get(line.id)
        if case is not None and not line.error:
            made = tuple(Made(call["name"], call["arguments"], call.get("problem", "")) for call in line.calls)
            why = wrong(case, Answer((made,)))
            line = replace(line, right=not why, why=why)
        append(path, line)
