"""Calls in the background: the model goes on while they run, and reads their results with `background_result`.

The model's own call returns at once. The work is a call within it, so that journal, audit, recovery and questions to people are
those of any call; starting it is in `perform`. A turn doesn't end before its calls in the background, except at a limit.
"""

import asyncio

from treadle.core.calls import Result
from treadle.core.entries import Noted
from treadle.engine.live import LiveRun
from treadle.loop.state import find_call

STARTED = "Started in the background as {id}. Go on meanwhile; background_result returns its result once it has ended."
ENDED = "These calls in the background have ended: {names}. Read their results with background_result, then answer."


def work_id(call_id: str) -> str:
    """Return the id of the work that a model's call started in the background."""
    return f"{call_id}.1"


def note_ended(run: LiveRun) -> None:
    """Have the model told which calls in the background have ended."""
    ended = [call for call in run.state.background if call.result is not None]
    names = ", ".join([f"{call.name} ({call.within})" for call in ended])
    run.record(Noted(text=ENDED.format(names=names), about=tuple([call.id for call in ended]), at=run.now()))


async def read_background(run: LiveRun, call_id: str) -> tuple[Result, tuple[str, ...]]:
    """Return the result of a call in the background once it has ended, and the call it is of."""
    found = work_id(call_id)
    if found in run.background:
        await asyncio.wait([run.background[found]])
    call = find_call(run.state, found)
    if call is None or not call.background:
        known = ", ".join([each.within for each in run.state.inner if each.background]) or "none"
        return Result("", "", f"No call {call_id!r} runs in the background. There are: {known}.", "invalid"), ()
    if call.result is None:
        return Result("", "", "It hasn't ended: a user must be asked about it first."), ()
    return call.result, (call.id,)
