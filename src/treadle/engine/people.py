"""Asks the person who is there: an approver handed to the run answers at once; without one the run waits."""

import inspect

from msgspec.structs import replace

from treadle.core.calls import Call
from treadle.core.entries import Approved, Refused
from treadle.core.errors import ApprovalError
from treadle.core.events import ApprovalNeeded
from treadle.engine.account import account
from treadle.engine.catalog import Catalog
from treadle.engine.live import LiveRun
from treadle.engine.setup import Answer, Approval, as_answer
from treadle.guard.policy import digest
from treadle.loop.state import SOMEBODY, CallState, refusal
from treadle.tools.validate import Invalid, word


async def ask_inline(run: LiveRun, call: CallState) -> bool:
    """Ask about one call. False where nobody is there to answer now."""
    approval = run.approval(call)
    if run.watched:
        shown = Call(call.id, call.name, run.redactor.value(approval.arguments))
        run.emit(ApprovalNeeded(run_id=run.id, call=shown, reason=approval.reason, digest=approval.digest))
    if run.setup.approver is None:
        return False
    said = run.setup.approver(approval)
    answer = as_answer(await said if inspect.isawaitable(said) else said)
    answered(run, call, answer)
    return True


def answered(run: LiveRun, call: CallState, answer: Answer) -> None:
    """Write down what a person said. A refusal ends the call, so it is in the audit at once."""
    approval = run.approval(call)
    check_edited(approval, answer, run.catalog)
    entry = entry_of(approval, answer, run.now())
    if isinstance(entry, Refused):
        refused = Call(call.id, call.name, approval.arguments)
        account(run, replace(call, answered=entry.by or SOMEBODY), refused, refusal(call.id, call.name, entry), 0.0)
    run.record(entry)


def check_edited(approval: Approval, answer: Answer, catalog: Catalog) -> None:
    """Arguments that a person edited must fit the tool like any others."""
    if answer.arguments is None or approval.name not in catalog.tools:
        return
    checked = catalog.validator(approval.name).check(answer.arguments)
    if isinstance(checked, Invalid):
        raise ApprovalError(word(checked.issues, approval.name))


def entry_of(approval: Approval, answer: Answer, at: float) -> Approved | Refused:
    """A person's answer, as it goes into the journal."""
    if not answer.approved:
        return Refused(call_id=approval.call_id, by=answer.by, reason=answer.reason, at=at)
    arguments = answer.arguments
    bound = approval.digest if arguments is None else digest(arguments)
    return Approved(call_id=approval.call_id, by=answer.by, digest=bound, arguments=arguments, at=at)
