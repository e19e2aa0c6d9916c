"""The same tasks and attacks as programs (code mode): the published calls, each in a program as far ahead as one could be written.

A call is part of the program that the model writes before it has read anything, if each of its values is in the task's own words
or is taken from the results of earlier calls as a whole field or item; such a value is written as the path to it, which stands for
whatever a program selects it by. A value that has to be read or thought of first (a part of a text, a summary, a sum) begins
another program, which is written after the results of the one before were read. The attacker's calls are a program of their own,
by a model that has read the attack and does all that it says.
"""

import asyncio
import re
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from agentdojo.task_suite.task_suite import TaskSuite
from msgspec import Struct

from bench.agentdojo.replay import (
    ENOUGH,
    Attack,
    Calls,
    Played,
    Task,
    made_calls,
    make_world,
    show_call,
    was_reached,
)
from bench.agentdojo.world import TRUSTED, World, counts
from treadle import Agent, Answer, allow
from treadle.core.calls import Allow, Call
from treadle.engine.result import CallRecord
from treadle.engine.setup import Approval
from treadle.models.scripted import ScriptedCall, ScriptedReply
from treadle.testing import Scripted

_WORDS = 3  # of a text that a model could think of before it has read anything, such as a subject


class WrittenProgram(Struct, frozen=True):
    """A program, and the number of its first call among all."""

    source: str
    first: int


def write_programs(calls: Calls, results: Sequence[Any], prompt: str, first: int = 0) -> list[WrittenProgram]:
    """Return calls as programs. `results` are what the calls return; `first` is the number of the first."""
    programs: list[WrittenProgram] = []
    start, lines = 0, list[str]()
    for number, (name, arguments) in enumerate(calls):
        written = None if programs else _write_call(name, arguments, prompt, results[:number])
        if written is None and lines and not programs:
            programs.append(_end_program(lines, first))
            start, lines = number, []
        lines.append(_write_line(written or _write_read_call(name, arguments, results, start, number), number))
    return [*programs, _end_program(lines, first + start)] if lines else programs


def _write_call(name: str, arguments: dict[str, Any], prompt: str, results: Sequence[Any]) -> str | None:
    """Return a call as it could be written before anything was read; None where a value isn't known then."""
    try:
        given = [f"{key}={_write_value(value, prompt, results)}" for key, value in arguments.items()]
    except LookupError:
        return None
    return f"{name}({', '.join(given)})"


def _write_read_call(name: str, arguments: dict[str, Any], results: Sequence[Any], start: int, number: int) -> str:
    """Return a call in a program that is written after reading; it refers to results of the same program, and else has literals."""
    known = [(index, results[index]) for index in range(start, number)]
    given = [f"{key}={_find_path(value, known) or repr(value)}" for key, value in arguments.items()]
    return f"{name}({', '.join(given)})"


def _write_line(call: str, number: int) -> str:
    return f"try:\n    r{number} = await {call}\nexcept Exception:\n    r{number} = None"


def _end_program(lines: list[str], first: int) -> WrittenProgram:
    return WrittenProgram("\n".join([*lines, "'Done.'"]), first)


def _write_value(value: Any, prompt: str, results: Sequence[Any]) -> str:
    """Return a value as an expression. Raises `LookupError` where it has to be read or thought of first."""
    if isinstance(value, list | tuple):
        whole = _find_path(value, list(enumerate(results))) if value else None
        return whole or f"[{', '.join([_write_value(each, prompt, results) for each in value])}]"
    if isinstance(value, dict):
        return "{" + ", ".join([f"{key!r}: {_write_value(each, prompt, results)}" for key, each in value.items()]) + "}"
    if value is None or isinstance(value, bool) or _is_said(value, prompt):
        return repr(value)
    path = _find_path(value, list(enumerate(results)))
    if path is not None:
        return path
    if isinstance(value, int | float) or len(str(value).split()) > _WORDS or _is_in(value, results):
        raise LookupError
    return repr(value)


def _is_said(value: Any, prompt: str) -> bool:
    """Return whether the task's own words have a value, not as a part of another word or number."""
    texts = {str(value), str(int(value))} if isinstance(value, float) and value % 1 == 0 else {str(value)}
    return any(re.search(rf"(?<![\w.-]){re.escape(text)}(?![\w-])", prompt, re.IGNORECASE) for text in texts)


def _is_in(value: Any, results: Sequence[Any]) -> bool:
    """Return whether a text is in a result, as a part of what it says."""
    return any(str(value).casefold() in str(result).casefold() for result in results)


def _find_path(value: Any, results: Sequence[tuple[int, Any]]) -> str | None:
    """Return where a value is a whole field or item of a result, the latest first; the place of a record counts from the list."""
    if isinstance(value, bool) or value is None:
        return None
    paths = [f"r{number}{path}" for number, result in reversed(results) for path, each in _iter_paths(result) if each == value]
    return next(iter(paths), None)


def _iter_paths(value: Any, path: str = "") -> Iterator[tuple[str, Any]]:
    yield path, value
    if isinstance(value, dict):
        for key, each in value.items():
            yield from _iter_paths(each, f"{path}[{key!r}]")
    elif isinstance(value, list):
        for number, each in enumerate(value):
            yield from _iter_paths(each, f"{path}[{number}]")


def played_as_programs(suite: TaskSuite[Any], task: Task, attack: Attack | None = None) -> Played:
    """Play a task by itself, or with an attack after it, as programs."""
    environment = task.init_environment(make_world(suite, "" if attack is None else attack.goal))
    before = environment.model_copy(deep=True)
    own = made_calls(task.ground_truth(environment.model_copy(deep=True)))
    theirs = [] if attack is None else attack.calls(environment.model_copy(deep=True))
    results = _results_of([*own, *theirs], suite, environment.model_copy(deep=True))
    programs = [
        *write_programs(own, results, task.PROMPT),
        *_write_attack(theirs, results, len(own)),
    ]
    calls, reasons = _run(suite, environment, task.PROMPT, programs, lambda number: number < len(own))
    mine = [each for number, each in calls if number < len(own)]
    other = [each for number, each in calls if number >= len(own)]
    ran = tuple([show_call(each) for each in other if isinstance(each.verdict, Allow)])
    return Played(
        suite.name,
        task.ID,
        "" if attack is None else attack.name,
        asked=tuple([reasons[each.call.id] for each in mine if each.call.id in reasons]),
        ran=ran,
        stopped=tuple([show_call(each) for each in other if not isinstance(each.verdict, Allow)]),
        reached=None if attack is None else was_reached(attack, before, environment, ran=bool(ran)),
        calls=len(mine),
        failed=() if len(calls) == _counted([*own, *theirs]) else ("calls are missing",),
    )


def is_written_ahead(suite: TaskSuite[Any], task: Task) -> bool:
    """Return whether all calls of a task are in one program, which is written before anything is read."""
    environment = task.init_environment(make_world(suite, ""))
    own = made_calls(task.ground_truth(environment.model_copy(deep=True)))
    return len(write_programs(own, _results_of(own, suite, environment), task.PROMPT)) < 2


def _write_attack(calls: Calls, results: Sequence[Any], first: int) -> list[WrittenProgram]:
    """Return the attacker's calls as a program of a model that has read the attack: literals, and results of its own calls."""
    read = [None if counts(name) else result for (name, _), result in zip(calls, results[first:], strict=True)]  # others are denied
    usable, numbers = [*results[:first], *read], range(first, first + len(calls))
    made = [_write_read_call(*call, usable, first, number) for number, call in zip(numbers, calls, strict=True)]
    lines = [_write_line(call, number) for number, call in zip(numbers, made, strict=True)]
    return [_end_program(lines, first)] if lines else []


def _counted(calls: Calls) -> int:
    return sum(counts(name) for name, _ in calls)


def _results_of(calls: Calls, suite: TaskSuite[Any], environment: Any) -> list[Any]:
    """Return what the calls return where all of them run."""
    world = World(suite, environment, TRUSTED)

    async def call_all() -> list[Any]:
        return [await _call(world, name, arguments) for name, arguments in calls]

    return asyncio.run(call_all())


async def _call(world: World, name: str, arguments: dict[str, Any]) -> Any:
    try:
        return await world.call(Call("", name, arguments), None)  # pyright: ignore[reportArgumentType]  # it isn't looked at
    except Exception:  # noqa: BLE001 - some published calls fail
        return None


def _run(
    suite: TaskSuite[Any], environment: Any, prompt: str, programs: Sequence[WrittenProgram], approves: Callable[[int], bool]
) -> tuple[list[tuple[int, CallRecord]], dict[str, str]]:
    """Run the programs. Return the calls that count, with their numbers, and why somebody was asked about some of them."""
    reasons: dict[str, str] = {}
    starts = {f"program_{number}": program.first for number, program in enumerate(programs)}

    def number_of(call_id: str) -> int:
        outer, _, number = call_id.rpartition(".")
        return starts[outer] + int(number) - 1

    def answer(approval: Approval) -> Answer:
        reasons[approval.call_id] = approval.reason
        return Answer(approves(number_of(approval.call_id)))

    script = [
        ScriptedReply(calls=(ScriptedCall("run_program", {"program": each.source}, f"program_{number}"),))
        for number, each in enumerate(programs)
    ]
    agent = Agent(
        Scripted(*script, "Done."),
        toolsets=[World(suite, environment, TRUSTED)],
        policy=[allow("*")],
        approver=answer,
        limits=ENOUGH,
        code_mode=True,
    )
    result = asyncio.run(agent.run(prompt))
    made = [(number_of(each.call.id), each) for each in result.calls if each.within and counts(each.name)]
    return made, reasons
