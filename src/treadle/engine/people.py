"""Asks the person who is there: an approver handed to the run answers at once; without one the run waits.

Before anybody is asked, the tool may say what the call would do (`preview`); that is kept for whoever answers days later.
"""

import asyncio
import inspect
from collections.abc import Awaitable, Callable, Sequence
from typing import Any

from msgspec.structs import replace

from treadle.core.calls import Call, Preview, Result
from treadle.core.context import RunContext
from treadle.core.entries import Previewed, Returned
from treadle.core.errors import ToolProblem
from treadle.core.events import ApprovalNeeded, CallReturned
from treadle.engine.account import account
from treadle.engine.live import LiveRun
from treadle.engine.setup import Approval, as_answer
from treadle.engine.tree import bounded_text, record_answer
from treadle.guard.logged import log
from treadle.loop.state import CallState, find_call

AskPreview = Callable[[Call, RunContext[Any]], Awaitable[Preview]]

PREVIEW_TIME = 20.0  # seconds a tool has to say what a call would do
PREVIEW_LIMIT = 100_000  # characters of it that are kept


async def preview_calls(run: LiveRun, calls: Sequence[CallState]) -> list[CallState]:
    """The calls that still wait, with what they would do, found out for all at once where their tools can tell.

    One of which its tool says that it can't work is over: nobody is asked about it, and the model reads why.
    """
    ask = getattr(run.setup.toolset, "preview", None)
    unknown = [call for call in calls if call.preview is None and not call.unclear and call.name in run.catalog.tools]
    if ask is None or not unknown:
        return list(calls)
    for call, told in zip(unknown, await asyncio.gather(*[_previewed(run, call, ask) for call in unknown]), strict=True):
        if isinstance(told, ToolProblem):
            _fails(run, call, str(told))
        elif told.text:
            text = bounded_text(run.redactor.text(told.text), PREVIEW_LIMIT)
            run.record(Previewed(call_id=call.id, text=text, seal=told.seal, at=run.now()))
    now = [find_call(run.state, call.id) for call in calls]
    return [call for call in now if call is not None and call.waits]


async def _previewed(run: LiveRun, state: CallState, ask: AskPreview) -> Preview | ToolProblem:
    """What one call would do. That it can't be found out is said too: whoever is asked must not take silence for nothing."""
    assert state.call is not None  # a call that waits was judged, and so was read
    try:
        async with asyncio.timeout(PREVIEW_TIME):
            return await ask(state.call, run.context(state.call))
    except ToolProblem as problem:
        return problem
    except Exception:  # noqa: BLE001 - foreign code
        log.exception("The preview of %s failed", state.name)
        return Preview("What it would do couldn't be found out.")


def _fails(run: LiveRun, state: CallState, words: str) -> None:
    assert state.call is not None  # a call that waits was judged, and so was read
    result = Result(state.id, state.name, run.redactor.text(words), "raised")
    account(run, state, state.call, result, 0.0)
    run.record(Returned(result=result, at=run.now()))
    if run.watched:
        run.emit(CallReturned(run_id=run.id, result=result, seconds=0.0))


async def ask_inline(run: LiveRun, call: CallState) -> bool:
    """Ask about one call. False where nobody is there to answer now."""
    approval = run.approval(call)
    if run.watched:
        shown = run.shown_call(Call(call.id, call.name, approval.arguments))
        run.emit(needed(replace(approval, reason=run.redactor.text(approval.reason)), shown))
    if run.setup.approver is None:
        return False
    said = run.setup.approver(approval)
    answer = as_answer(await said if inspect.isawaitable(said) else said)
    if approval.unclear and answer.settled is None:  # a yes to everything doesn't say what happened
        return False
    result = record_answer(run, call, answer, run.catalog)
    if result is not None and run.watched:
        run.emit(CallReturned(run_id=run.id, result=result, seconds=0.0))
    return True


def needed(approval: Approval, shown: Call) -> ApprovalNeeded:
    """That a call waits, for whoever watches; `shown` is the call without secrets."""
    return ApprovalNeeded(
        run_id=approval.run_id,
        call=shown,
        reason=approval.reason,
        digest=approval.digest,
        preview=approval.preview,
        unclear=approval.unclear,
        began_at=approval.began_at,
    )
