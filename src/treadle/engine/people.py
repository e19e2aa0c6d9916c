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
from treadle.core.entries import Approved, Previewed, Refused, Returned, Settled
from treadle.core.errors import ApprovalError, ToolProblem
from treadle.core.events import ApprovalNeeded, CallReturned
from treadle.engine.account import account
from treadle.engine.catalog import Catalog
from treadle.engine.judge import misfit
from treadle.engine.live import LiveRun
from treadle.engine.setup import Answer, Approval, as_answer
from treadle.guard.logged import log
from treadle.guard.policy import digest
from treadle.guard.redaction import Redactor
from treadle.loop.answers import SOMEBODY, refusal, settlement
from treadle.loop.state import CallState, find_call
from treadle.tools.validate import Invalid

AskPreview = Callable[[Call, RunContext[Any]], Awaitable[Preview]]

PREVIEW_TIME = 20.0  # seconds a tool has to say what a call would do
PREVIEW_LIMIT = 100_000  # characters of it that are kept
WORDS_LIMIT = 10_000  # characters of what a person says became of a call


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
            run.record(
                Previewed(call_id=call.id, text=_bounded(run.redactor.text(told.text), PREVIEW_LIMIT), seal=told.seal, at=run.now())
            )
    now = [find_call(run.state, call.id) for call in calls]
    return [call for call in now if call is not None and call.waits]


def _bounded(text: str, most: int) -> str:
    """Nobody may take a part for the whole."""
    more = len(text) - most
    return text if more <= 0 else f"{text[:most]}\n[… {more:,} more characters aren't shown …]"


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
    answered(run, call, answer)
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


def answered(run: LiveRun, call: CallState, answer: Answer) -> None:
    """Write down what a person said. What ends the call is in the audit at once."""
    approval = run.approval(call)
    check_fits(approval, answer)
    check_edited(approval, answer, run.catalog)
    entry = entry_of(approval, answer, run.now())
    if isinstance(entry, Settled):
        _settles(run, call, replace(entry, words=_bounded(run.redactor.text(entry.words), WORDS_LIMIT)))
        return
    if isinstance(entry, Refused):
        refused = Call(call.id, call.name, approval.arguments)
        account(run, replace(call, answered=entry.by or SOMEBODY), refused, refusal(call.id, call.name, entry), 0.0)
    run.record(entry)


def _settles(run: LiveRun, call: CallState, entry: Settled) -> None:
    """What became of a call, by a person's word. One that is tried again isn't over, and has its records when it is."""
    assert call.call is not None  # a call that began was read
    assert call.question is not None  # it is what was answered
    result = settlement(call.id, call.name, entry)
    if result is not None:
        question = replace(call.question, said=entry.said, by=entry.by or SOMEBODY)
        account(run, replace(call, question=question), call.call, result, 0.0)
    run.record(entry)
    if result is not None and run.watched:
        run.emit(CallReturned(run_id=run.id, result=result, seconds=0.0))


def check_fits(approval: Approval, answer: Answer) -> None:
    """What was asked is what has to be answered: whether a call may run, or what became of it."""
    if approval.unclear and answer.settled is None:
        raise ApprovalError(
            f"{approval.name} had begun when its process ended, so it can't be approved or denied:"
            " say that it happened, that it did not, or that it is to be tried again."
        )
    if answer.settled is not None and not approval.unclear:
        raise ApprovalError(f"{approval.name} hasn't begun yet, so nothing can have become of it: approve it or deny it.")
    if answer.settled is not None and answer.arguments is not None:
        raise ApprovalError(f"{approval.name} can only be tried again as it was; leave the arguments out.")


def check_edited(approval: Approval, answer: Answer, catalog: Catalog) -> None:
    """Arguments that a person edited must fit the tool like any others."""
    if answer.arguments is None or approval.name not in catalog.tools:
        return
    checked = catalog.validator(approval.name).check(answer.arguments)
    if isinstance(checked, Invalid):
        raise ApprovalError(misfit(checked, approval.name, answer.arguments, catalog, Redactor()))


def entry_of(approval: Approval, answer: Answer, at: float) -> Approved | Refused | Settled:
    """A person's answer, as it goes into the journal."""
    if answer.settled is not None:
        return Settled(call_id=approval.call_id, said=answer.settled, by=answer.by, words=answer.reason, at=at)
    if not answer.approved:
        return Refused(call_id=approval.call_id, by=answer.by, reason=answer.reason, at=at)
    arguments = answer.arguments
    bound = approval.digest if arguments is None else digest(arguments)
    return Approved(call_id=approval.call_id, by=answer.by, digest=bound, arguments=arguments, at=at)
