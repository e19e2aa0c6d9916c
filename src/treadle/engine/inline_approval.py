"""Asks the person who is present: an approver passed to the run answers at once; without one the run waits.

Before a person is asked, the tool may preview the call (`preview`); that is stored for a person who answers days later.
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
from treadle.engine.audit_records import audit_end
from treadle.engine.live import LiveRun
from treadle.engine.setup import Approval, to_answer
from treadle.engine.tree import approve_covered, take_answer, truncate_with_note
from treadle.guard.log_filter import log
from treadle.loop.state import CallState, find_call

AskPreview = Callable[[Call, RunContext[Any]], Awaitable[Preview]]

PREVIEW_TIMEOUT = 20.0  # seconds a tool has to say what a call would do
PREVIEW_LIMIT = 100_000  # characters of it that are kept


async def preview_calls(run: LiveRun, calls: Sequence[CallState]) -> list[CallState]:
    """Return the calls that still wait, with previews from the tools that support them, requested concurrently.

    A call that its tool says can't work is over: no person is asked about it, and the model reads why.
    """
    ask = getattr(run.toolset, "preview", None)
    unknown = [call for call in calls if call.preview is None and not call.unclear and run.catalog.find(call.name) is not None]
    if ask is None or not unknown:
        return list(calls)
    for call, told in zip(unknown, await asyncio.gather(*[_preview_call(run, call, ask) for call in unknown]), strict=True):
        if isinstance(told, ToolProblem):
            _record_failure(run, call, str(told))
        elif told.text:
            text = truncate_with_note(run.redactor.text(told.text), PREVIEW_LIMIT)
            covers = told.covers if text == told.text else ()  # else a person has to see what is masked or left out here
            run.record(Previewed(call_id=call.id, text=text, seal=told.seal, covers=covers, at=run.now()))
    now = [find_call(run.state, call.id) for call in calls]
    return [call for call in now if call is not None and call.waits]


async def _preview_call(run: LiveRun, state: CallState, ask: AskPreview) -> Preview | ToolProblem:
    """Return the preview of one call. A failed preview is reported too: the person must not take silence for "no effect"."""
    assert state.call is not None  # a call that waits was judged, and so was read
    try:
        async with asyncio.timeout(PREVIEW_TIMEOUT):
            return await ask(state.call, run.context(state.call))
    except ToolProblem as problem:
        return problem
    except Exception:  # noqa: BLE001 - foreign code
        log.exception("The preview of %s failed", state.name)
        return Preview("What it would do couldn't be found out.")


def _record_failure(run: LiveRun, state: CallState, words: str) -> None:
    assert state.call is not None  # a call that waits was judged, and so was read
    result = Result(state.id, state.name, run.redactor.text(words), "raised")
    audit_end(run, state, state.call, result, 0.0)
    run.record(Returned(result=result, at=run.now()))
    if run.watched:
        run.emit(CallReturned(run_id=run.id, result=result, seconds=0.0))


async def ask_person(run: LiveRun, call: CallState) -> bool:
    """Ask about one call, unless a person has allowed it since it was judged. Returns False where no one can answer now."""
    approve_covered(run, (call,))
    now = find_call(run.state, call.id)
    if now is None or not now.waits:
        return True
    if run.setup.approver is not None:
        await run.flush()  # should the process be killed while they think, they are asked again, and what they answered counts
    approval = run.approval(call)
    if run.watched:
        shown = run.shown_call(Call(call.id, call.name, approval.arguments))
        run.emit(approval_event(replace(approval, reason=run.redactor.text(approval.reason)), shown))
    if run.setup.approver is None:
        return False
    said = run.setup.approver(approval)
    answer = to_answer(await said if inspect.isawaitable(said) else said)
    if approval.unclear and answer.settled is None:  # a yes to everything doesn't say what happened
        return False
    result = await take_answer(run, call, answer, run.catalog)
    if result is not None and run.watched:
        run.emit(CallReturned(run_id=run.id, result=result, seconds=0.0))
    return True


def approval_event(approval: Approval, shown: Call) -> ApprovalNeeded:
    """Return the event that a call waits for approval; `shown` is the call without secrets."""
    return ApprovalNeeded(
        run_id=approval.run_id,
        call=shown,
        reason=approval.reason,
        digest=approval.digest,
        preview=approval.preview,
        unclear=approval.unclear,
        began_at=approval.began_at,
        patterns=approval.patterns,
    )
