"""What a person is asked about a call that waits: made of how far the call is. Pure."""

from treadle.core.calls import Ask
from treadle.engine.setup import Approval
from treadle.guard.policy import digest
from treadle.loop.state import CallState


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
