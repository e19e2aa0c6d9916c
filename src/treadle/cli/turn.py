"""One turn of a run, shown as it happens and reported at its end. Ctrl-C cancels it; so does nobody reading the answer."""

import asyncio
from collections.abc import Callable, Coroutine
from time import perf_counter
from typing import Any

from treadle.app.agent import Agent
from treadle.cli.face import Face
from treadle.cli.interrupts import interrupting
from treadle.cli.report import report
from treadle.cli.telling import EventLines, Teller
from treadle.core.seams import Watcher
from treadle.engine.result import RunResult

Result = RunResult[Any]
Work = Callable[[tuple[Watcher, ...]], Coroutine[Any, Any, Result]]


class Interrupted(Exception):
    """Ctrl-C came before there was anything to cancel."""


async def take_turn(agent: Agent[Any], run_id: str, face: Face, work: Work) -> Result:
    """Do the work, show it, report it."""
    teller = EventLines(face.screen) if face.form == "events" else _teller(face)
    began = perf_counter()
    result = await _cancellable(agent, run_id, face, work((teller,)))
    if face.screen.is_broken:
        raise BrokenPipeError
    report(face, result, teller.words, perf_counter() - began)
    return result


def _teller(face: Face) -> Teller:
    return Teller(face.screen, says=face.form == "text", thinking=face.thinking)


async def _cancellable(agent: Agent[Any], run_id: str, face: Face, work: Coroutine[Any, Any, Result]) -> Result:
    task = asyncio.ensure_future(work)
    stopping: list[asyncio.Task[None]] = []  # kept, or it might be collected before it is over

    def stop() -> None:
        stopping.append(asyncio.ensure_future(_stop(agent, run_id, task)))

    face.screen.on_broken = stop
    with interrupting(stop):
        await asyncio.wait([task])
    face.screen.on_broken = None
    if task.cancelled():
        raise Interrupted
    return task.result()


async def _stop(agent: Agent[Any], run_id: str, task: "asyncio.Task[Result]") -> None:
    if not await agent.cancel(run_id):
        task.cancel()
