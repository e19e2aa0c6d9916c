"""Runs programs in Monty, an interpreter of a part of Python without files, network, clock or other processes.

A program is run in a process of its own, which ends with it. It stops at each call; calls that it waits for together are made
together. Given the same results it always takes the same course: the clock stands still, and random numbers have a fixed seed.

The synchronous client of Monty is used, in threads: with the asynchronous one (1.4.0) an interpreter that exits may abort.
"""

import asyncio
import os
import re
import signal
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, cast

from msgspec import Struct

from treadle.core.errors import SettingsError
from treadle.tools.programs import Program

if TYPE_CHECKING:
    from pydantic_monty import MontySession

MISSING = "Code mode needs the package pydantic-monty: install treadle[code]."
CRASHED = "The interpreter ended unexpectedly. Write the program in a simpler way."
_EPOCH = datetime(2000, 1, 1, tzinfo=UTC)
_UNAVAILABLE = "Files, environment variables and the system aren't available in a program; call a tool."
_STAND_IN = re.compile(
    r"<(?:coroutine|function|gather|generator)\b[^<>]*(?:<[^<>]*>[^<>]*)?>"
)  # how Monty passes what has no value
_EXCEPTIONS = {"denied": PermissionError, "timeout": TimeoutError, "invalid": ValueError, "unknown_tool": NameError}


class ProgramLimits(Struct, frozen=True):
    """How much a program may use.

    seconds  of computing; the time that its calls take doesn't count
    memory   bytes
    output   characters that it may print
    """

    seconds: float = 5.0
    memory: int = 64 * 1024 * 1024
    output: int = 100_000


class FunctionCall(Struct, frozen=True):
    """A call that a program stopped at."""

    function: str
    args: tuple[Any, ...]
    kwargs: dict[str, Any]
    line: int


class CallReply(Struct, frozen=True):
    """The value of a call, or its problem: what is raised in the program. `kind` is that of a `Result`."""

    value: Any = None
    problem: str | None = None
    kind: str = ""


class ProgramResult(Struct, frozen=True):
    """What a program came to: its value, or the error that ended it, with the line.

    printed    what it printed
    unawaited  the calls that it didn't wait for, which weren't made
    """

    value: Any = None
    error: str = ""
    line: int = 0
    printed: str = ""
    unawaited: tuple[FunctionCall, ...] = ()


class StopProgram(Exception):
    """Ends a program from a call; the program can't catch it."""


Respond = Callable[[Sequence[FunctionCall]], Awaitable[Sequence[CallReply]]]


def check_installed() -> None:
    """Raise `SettingsError` where Monty isn't installed."""
    from importlib.util import find_spec

    if find_spec("pydantic_monty") is None:
        raise SettingsError(MISSING)


async def run_program(program: Program, functions: Sequence[str], respond: Respond, limits: ProgramLimits) -> ProgramResult:
    """Run a program; `respond` makes the calls that it stops at. Raises whatever that raises."""
    check_installed()
    from pydantic_monty import CollectString, Monty

    pool = Monty(min_processes=1, max_processes=1, request_timeout=limits.seconds + 5)
    session = pool.checkout(
        script_name="program.py",
        limits={
            "max_feed_duration_secs": limits.seconds,
            "max_memory": limits.memory,
            "max_recursion_depth": 300,
            "max_suspensions": 100_000,
        },
        os_policy={"datetime": _EPOCH, "sleep": "zero", "random_start": {"seed": 0}},
    )
    printed = CollectString(limits.output)
    await asyncio.to_thread(pool.__enter__)
    try:
        await asyncio.to_thread(session.__enter__)
        try:
            return await _Execution(session, program, functions, respond, printed).run()
        finally:
            await asyncio.to_thread(session.__exit__, None, None, None)
    finally:
        await asyncio.to_thread(pool.__exit__, None, None, None)


class _Execution:
    """One execution of a program, from stop to stop."""

    def __init__(self, session: "MontySession", program: Program, functions: Sequence[str], respond: Respond, printed: Any) -> None:
        self._session = session
        self._pid = session.worker_pid
        self._program = program
        self._functions = frozenset(functions)
        self._respond = respond
        self._printed = printed
        self._open: dict[int, FunctionCall] = {}
        self._raised: list[tuple[str, int]] = []  # problems of calls, and their lines

    async def run(self) -> ProgramResult:
        from pydantic_monty import FunctionSnapshot, FutureSnapshot, MontyComplete, MontyError, NameLookupSnapshot

        try:
            if self._program.modules:
                await self._step(self._session.feed_start, f"import {', '.join(self._program.modules)}")
            step = await self._step(lambda: self._session.feed_start(self._program.source, print_callback=self._printed))
            while not isinstance(step, MontyComplete):
                if isinstance(step, FunctionSnapshot):
                    answer = await self._answer_call(step)
                    step = await self._step(step.resume, answer)
                elif isinstance(step, FutureSnapshot):
                    settled = await self._settle(sorted(step.pending_call_ids))
                    step = await self._step(step.resume, settled)
                else:
                    assert isinstance(step, NameLookupSnapshot)
                    step = await self._step(self._look_up, step)
        except MontyError as error:
            return self._fail(error)
        return ProgramResult(step.output, printed=self._printed.output, unawaited=tuple(self._open.values()))

    def _look_up(self, step: Any) -> Any:
        known = step.variable_name in self._functions
        return step.resume(value=_named(step.variable_name)) if known else step.resume()

    async def _step(self, function: Callable[..., Any], *args: Any) -> Any:
        """Let the program go on. Its process is ended where the run doesn't wait for it any more."""
        task = asyncio.ensure_future(asyncio.to_thread(function, *args))
        try:
            return await asyncio.shield(task)
        except asyncio.CancelledError:
            if self._pid is not None:
                with suppress(OSError):
                    os.kill(self._pid, signal.SIGTERM)
            await asyncio.wait([task])
            task.exception()  # seen
            raise

    async def _answer_call(self, step: Any) -> dict[str, Any]:
        name = str(step.function_name)
        if step.is_os_function:
            return {"exception": PermissionError(_UNAVAILABLE)}
        if name not in self._functions:
            return {"exception": NameError(f"name {name!r} is not defined")}
        if any(map(_has_stand_in, (*step.args, *step.kwargs.values()))):
            return {"exception": TypeError(f"{name}: a function, or a call without `await`, can't be passed on")}
        line = self._program.source.encode()[: step.position.start].count(b"\n") + 1
        call = FunctionCall(name, step.args, step.kwargs, line)
        if self._program.waits:
            self._open[step.call_id] = call
            return {"future": ...}
        return (await self._make([call]))[0]

    async def _settle(self, call_ids: Sequence[int]) -> dict[int, Any]:
        answers = await self._make([self._open.pop(call_id) for call_id in call_ids])
        return dict(zip(call_ids, answers, strict=True))

    async def _make(self, calls: Sequence[FunctionCall]) -> list[dict[str, Any]]:
        replies = await self._respond(calls)
        self._raised += [(reply.problem, call.line) for call, reply in zip(calls, replies, strict=True) if reply.problem]
        return [_to_answer(reply) for reply in replies]

    def _fail(self, error: Any) -> ProgramResult:
        if not hasattr(error, "traceback"):  # its process has ended
            return ProgramResult(None, CRASHED, 0, self._printed.output, tuple(self._open.values()))
        trace, words = error.traceback(), error.display("type-msg")
        line = trace[-1].line if trace else 0
        for problem, at in self._raised:  # the interpreter has the line of an `except` that it passed
            line = at if problem in words else line
        return ProgramResult(None, words, line, self._printed.output, tuple(self._open.values()))


def _named(name: str) -> Callable[[], None]:
    """Return a function that stands for a tool where a program uses its name without calling it."""

    def stand_in() -> None: ...

    stand_in.__name__ = name
    return stand_in


def _has_stand_in(value: Any) -> bool:
    match value:
        case str():
            return value.startswith("<") and _STAND_IN.fullmatch(value) is not None
        case list() | tuple():
            return any(map(_has_stand_in, cast("list[Any]", value)))
        case dict():
            return any(map(_has_stand_in, cast("dict[Any, Any]", value).values()))
        case _:
            return False


def _to_answer(reply: CallReply) -> dict[str, Any]:
    if reply.problem is None:
        return {"return_value": reply.value}
    return {"exception": _EXCEPTIONS.get(reply.kind, RuntimeError)(reply.problem)}
