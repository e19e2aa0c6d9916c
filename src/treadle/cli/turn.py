"""One turn of a run, shown as it happens and reported at its end. Ctrl-C, Esc, SIGTERM or a closed stdout interrupts it."""

import asyncio
import signal
from collections.abc import Callable, Coroutine
from contextlib import nullcontext
from time import perf_counter
from typing import Any

from treadle.agent.agent import Agent
from treadle.cli.ui.display import Display
from treadle.cli.ui.event_printer import EventPrinter, JsonEventPrinter
from treadle.cli.ui.interrupts import exit_if_terminated, on_interrupt
from treadle.cli.ui.report import print_report
from treadle.cli.ui.run_status import RunStatus
from treadle.cli.ui.turn_input import Send
from treadle.core.seams import Journal, Watcher
from treadle.engine.result import RunResult
from treadle.engine.setup import Services
from treadle.runs import Runs

TurnResult = RunResult[Any]
TurnWork = Callable[[tuple[Watcher, ...]], Coroutine[Any, Any, TurnResult]]


class TurnInterrupted(Exception):
    """Ctrl-C came before there was a run to interrupt."""


async def take_turn(
    agent: Agent[Any, Any],
    run_id: str,
    face: Display,
    work: TurnWork,
    memory: Journal | None = None,
    steer: Send | None = None,
) -> TurnResult:
    """Run the turn, show it, and print its report. `memory` is the journal of a run that isn't stored.

    `steer` sends what is typed meanwhile, where the display has an input for that.
    """
    output = agent.setup.output
    checked = output is not None and output.grounded  # then an answer is shown once it is checked
    teller = JsonEventPrinter(face.screen) if face.form == "events" else _make_printer(face, says=not checked)
    began, received = perf_counter(), list[int]()
    status, typed = RunStatus(), None if steer is None else face.turn_input
    describe = status.describe if typed is None else lambda: typed.describe() or status.describe()
    with face.screen.status.showing(describe):
        result = await _run_interruptible(agent, run_id, face, work((status, teller)), received, steer)
    if face.screen.broken is not None:
        raise _explain_broken(face.screen.broken, run_id if memory is None else "")
    if result is not None:
        journal = None if memory is None else Services(journal=memory)
        cut_off = await Runs(journal).interrupted_calls(run_id) if result.interrupted else ()
        words = "" if checked else teller.words
        goes_on = face.goes_on and signal.SIGTERM not in received
        print_report(face, result, words, perf_counter() - began, cut_off, kept=memory is None, goes_on=goes_on)
    else:
        face.screen.tell("treadle: interrupted before the run had begun.", "yellow")
    exit_if_terminated(received)
    if result is None:
        raise TurnInterrupted
    return result


def _explain_broken(error: OSError, run_id: str) -> OSError:
    """Return the error to raise for output that can't be written. A reader that has gone needs no explanation."""
    if isinstance(error, BrokenPipeError):
        return error
    kept = f" The run is kept; to see it: treadle show {run_id}" if run_id else ""
    return OSError(f"the output can't be written: {error.strerror}.{kept}")


def _make_printer(face: Display, *, says: bool) -> EventPrinter:
    return EventPrinter(
        face.screen, says=says and face.form == "text", thinking=face.thinking, verbose=face.verbose, asks=face.asks
    )


async def _run_interruptible(
    agent: Agent[Any, Any],
    run_id: str,
    face: Display,
    work: Coroutine[Any, Any, TurnResult],
    received: list[int],
    steer: Send | None,
) -> TurnResult | None:
    """Return the result, or None where the turn was interrupted before there was a run."""
    task = asyncio.ensure_future(work)
    stopping: list[asyncio.Task[None]] = []  # kept, or it might be collected before it is over

    typed = None if steer is None else face.turn_input

    def stop() -> None:
        if typed is not None:
            typed.close()
        stopping.append(asyncio.ensure_future(_stop_turn(agent, run_id, task)))

    face.screen.on_broken = stop
    with on_interrupt(stop) as numbers, nullcontext() if typed is None or steer is None else typed.reading(steer, stop):
        await asyncio.wait([task])
    if typed is not None:
        await typed.finish()
    received += numbers
    face.screen.on_broken = None
    return None if task.cancelled() else task.result()


async def _stop_turn(agent: Agent[Any, Any], run_id: str, task: "asyncio.Task[TurnResult]") -> None:
    if not await agent.interrupt(run_id):
        task.cancel()
