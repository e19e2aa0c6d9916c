"""What a person is asked about a call that waits, which answers are taken, and how one goes into the journal. Pure."""

from treadle.core.calls import Ask
from treadle.core.entries import Approved, Refused, Settled
from treadle.core.errors import ApprovalError
from treadle.engine.catalog import Catalog
from treadle.engine.judge import misfit
from treadle.engine.setup import Answer, Approval
from treadle.guard.policy import digest
from treadle.guard.redaction import Redactor
from treadle.loop.state import CallState
from treadle.tools.validate import Invalid


def approval_of(run_id: str, call: CallState, expire: float) -> Approval:
    """Whether it may run; or what became of it, where it had begun when its process died. Nothing is masked."""
    assert call.call is not None  # a call that waits was judged, and so was read
    asked_at, reason = _question(call)
    return Approval(
        run_id,
        call.id,
        call.name,
        call.call.arguments,
        reason,
        digest(call.call.arguments),
        asked_at,
        asked_at + expire,
        call.preview or "",
        call.unclear,
        call.began_at if call.unclear else 0.0,
    )


def _question(call: CallState) -> tuple[float, str]:
    """When it was asked, and why."""
    if call.unclear and call.question is not None:
        return call.question.at, call.question.why
    return call.judged_at, call.verdict.reason if isinstance(call.verdict, Ask) else ""


def check_answer(approval: Approval, answer: Answer, shown: str, now: float) -> None:
    """An answer must be one to what was asked; what makes a call run must come in time, and be of what was `shown`."""
    check_fits(approval, answer)
    if (answer.approved or answer.settled == "again") and now > approval.expires_at:
        raise ApprovalError(f"The approval of {approval.name} has expired; resume the run, and ask again if it is still wanted.")
    if shown and shown != approval.digest:
        raise ApprovalError(f"The arguments of {approval.name} are not those that were approved.")


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
