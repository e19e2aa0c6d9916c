"""One turn of a run, shown as it happens and reported at its end. Ctrl-C or a closed stdout cancels it."""

import asyncio
from collections.abc import Callable, Coroutine
from time import perf_counter
from typing import Any

from treadle.agent.agent import Agent
from treadle.cli.ui.display import Display
from treadle.cli.ui.event_printer import EventPrinter, JsonEventPrinter
from treadle.cli.ui.interrupts import on_interrupt
from treadle.cli.ui.report import print_report
from treadle.core.seams import Watcher
from treadle.engine.result import RunResult

TurnResult = RunResult[Any]
TurnWork = Callable[[tuple[Watcher, ...]], Coroutine[Any, Any, TurnResult]]


class TurnInterrupted(Exception):
    """Ctrl-C came before there was anything to cancel."""


async def take_turn(agent: Agent[Any], run_id: str, face: Display, work: TurnWork) -> TurnResult:
    """Run the turn, show it, and print its report."""
    teller = JsonEventPrinter(face.screen) if face.form == "events" else _make_printer(face)
    began = perf_counter()
    result = await _run_cancellable(agent, run_id, face, work((teller,)))
    if face.screen.is_broken:
        raise BrokenPipeError
    print_report(face, result, teller.words, perf_counter() - began)
    return result


def _make_printer(face: Display) -> EventPrinter:
    return EventPrinter(face.screen, says=face.form == "text", thinking=face.thinking)


async def _run_cancellable(agent: Agent[Any], run_id: str, face: Display, work: Coroutine[Any, Any, TurnResult]) -> TurnResult:
    task = asyncio.ensure_future(work)
    stopping: list[asyncio.Task[None]] = []  # kept, or it might be collected before it is over

    def stop() -> None:
        stopping.append(asyncio.ensure_future(_stop_turn(agent, run_id, task)))

    face.screen.on_broken = stop
    with on_interrupt(stop):
        await asyncio.wait([task])
    face.screen.on_broken = None
    if task.cancelled():
        raise TurnInterrupted
    return task.result()


async def _stop_turn(agent: Agent[Any], run_id: str, task: "asyncio.Task[TurnResult]") -> None:
    if not await agent.cancel(run_id):
        task.cancel()
