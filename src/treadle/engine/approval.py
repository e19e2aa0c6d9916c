"""The approval of a call that waits, which answers are valid, and their journal entries. Pure."""

from treadle.core.calls import Ask, Call
from treadle.core.entries import Approved, Refused, Settled
from treadle.core.errors import ApprovalError
from treadle.core.grants import Grant, Patterns
from treadle.engine.catalog import Catalog
from treadle.engine.judge import describe_misfit
from treadle.engine.setup import Answer, Approval
from treadle.guard.policy import digest_arguments
from treadle.guard.redaction import Redactor
from treadle.loop.answers import UNNAMED_USER
from treadle.loop.state import CallState
from treadle.tools.validate import InvalidArguments


def build_approval(run_id: str, call: CallState, expire: float) -> Approval:
    """Build the approval: whether a call may run, or the outcome of one interrupted by a crash. Nothing is masked."""
    assert call.call is not None  # a call that waits was judged, and so was read
    asked_at, reason = _find_question(call)
    return Approval(
        run_id,
        call.id,
        call.name,
        call.call.arguments,
        reason,
        digest_arguments(call.call.arguments),
        asked_at,
        asked_at + expire,
        call.preview or "",
        call.unclear,
        call.began_at if call.unclear else 0.0,
        _suggest_patterns(call, call.call),
        "" if call.terms is None else call.terms.effect,
        call.covers,
    )


def _suggest_patterns(state: CallState, call: Call) -> tuple[Patterns, ...]:
    """Return what can be allowed besides the call; nothing where only the call can."""
    if state.terms is None or state.unclear:
        return ()
    from treadle.guard.argument_patterns import suggest_patterns  # only where a person is asked

    return suggest_patterns(call.arguments, state.terms.effect)


def _find_question(call: CallState) -> tuple[float, str]:
    """Return when and why it was asked."""
    if call.unclear and call.question is not None:
        return call.question.at, call.question.why
    return call.judged_at, call.verdict.reason if isinstance(call.verdict, Ask) else ""


def check_answer(approval: Approval, answer: Answer, shown: str, now: float) -> None:
    """Validate an answer: it must match the question; approval must be in time, and of the digest that was `shown`."""
    check_fits(approval, answer)
    if (answer.approved or answer.settled == "again") and now > approval.expires_at:
        raise ApprovalError(f"The approval of {approval.name} has expired; resume the run, and ask again if it is still wanted.")
    if shown and shown != approval.digest:
        raise ApprovalError(f"The arguments of {approval.name} are not those that were approved.")


def check_fits(approval: Approval, answer: Answer) -> None:
    """Validate that an answer is of the kind asked for: whether a call may run, or what happened to it."""
    if approval.unclear and answer.settled is None:
        raise ApprovalError(
            f"{approval.name} had begun when its process ended, so it can't be approved or denied:"
            " say that it happened, that it did not, or that it is to be tried again."
        )
    if answer.settled is not None and not approval.unclear:
        raise ApprovalError(f"{approval.name} hasn't begun yet, so nothing can have become of it: approve it or deny it.")
    if answer.scope != "once" and not answer.approved:
        raise ApprovalError("Only an approval can be remembered.")
    if answer.scope != "once" and not approval.patterns:
        raise ApprovalError(f"{approval.name} can only be allowed once: it has a value whose origin isn't trusted, or a secret.")
    if answer.settled is not None and answer.arguments is not None:
        raise ApprovalError(f"{approval.name} can only be tried again as it was; leave the arguments out.")


def check_edited(approval: Approval, answer: Answer, catalog: Catalog) -> None:
    """Validate arguments that a person edited against the tool's schema."""
    if answer.arguments is None or approval.name not in catalog.tools:
        return
    checked = catalog.validator(approval.name).check(answer.arguments)
    if isinstance(checked, InvalidArguments):
        raise ApprovalError(describe_misfit(checked, approval.name, answer.arguments, catalog, Redactor()))


def answer_to_grant(call: CallState, answer: Answer, redactor: Redactor, *, user: str, run_id: str, at: float) -> Grant | None:
    """Return what a person allows besides a call; None where it is only this one."""
    if answer.scope == "once" or call.terms is None or call.call is None:
        return None
    from treadle.guard.grants import make_grant  # few answers are remembered

    shown = call.call if answer.arguments is None else Call(call.id, call.name, answer.arguments)
    grant = make_grant(shown, call.terms, answer.scope, answer.where, user=user, by=answer.by or UNNAMED_USER, at=at, run_id=run_id)
    if redactor.finds({name: pattern.value for name, pattern in grant.where.items()}):
        raise ApprovalError(f"{call.name} can only be allowed once: a secret isn't remembered.")
    return grant


def answer_to_entry(approval: Approval, answer: Answer, at: float, grant: Grant | None = None) -> Approved | Refused | Settled:
    """Return a person's answer as a journal entry, with what it allows besides."""
    if answer.settled is not None:
        return Settled(call_id=approval.call_id, said=answer.settled, by=answer.by, words=answer.reason, at=at)
    if not answer.approved:
        return Refused(call_id=approval.call_id, by=answer.by, reason=answer.reason, at=at)
    arguments = answer.arguments
    bound = approval.digest if arguments is None else digest_arguments(arguments)
    return Approved(call_id=approval.call_id, by=answer.by, digest=bound, arguments=arguments, grant=grant, at=at)
