"""Records the result of a call: in the audit, in the journal, and as an event."""

from msgspec.structs import replace

from treadle.core.calls import Call, Result
from treadle.core.entries import Returned, to_microseconds
from treadle.core.events import CallReturned
from treadle.engine.audit_records import audit_end
from treadle.engine.live import LiveRun
from treadle.engine.outcome import CallOutcome
from treadle.loop.state import CallState


def record_result(run: LiveRun, state: CallState, call: Call, came: CallOutcome, seconds: float) -> None:
    """Record a result. The audit comes first, so that nothing is in the journal that isn't in the audit."""
    audit_end(run, state, call, came.result, seconds)
    entry = Returned(
        result=came.result,
        seconds=to_microseconds(seconds),
        cached=came.cached,
        usage=came.usage,
        kept=came.kept,
        revealed=came.revealed,
        final=came.final,
        about=came.about,
        output=came.output,
        rejected=came.rejected,
        handoff=came.handoff,
        waited=state.wait is not None,
        at=run.now(),
    )
    result = _mask_result(run, came.result) if run.setup.shows_secrets else came.result  # masked already
    run.record(entry, entry if result is came.result else replace(entry, result=result))
    if run.watched:
        run.emit(CallReturned(run_id=run.id, result=result, seconds=seconds, cached=came.cached))


def _mask_result(run: LiveRun, result: Result) -> Result:
    """Return the result for everyone but the model, which sees secrets only if the agent says so, and not after a restart."""
    return replace(result, content=run.redactor.text(result.content), data=run.redactor.value(result.data))
