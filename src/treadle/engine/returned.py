"""Writes down what came back from a call: in the audit, in the journal, and to whoever watches."""

from msgspec.structs import replace

from treadle.core.calls import Call, Result
from treadle.core.entries import Returned
from treadle.core.events import CallReturned
from treadle.engine.account import account
from treadle.engine.live import LiveRun
from treadle.engine.outcome import Outcome
from treadle.loop.state import CallState


def returned(run: LiveRun, state: CallState, call: Call, came: Outcome, seconds: float) -> None:
    """Write down what came back. The audit comes first, so that nothing is in the journal that isn't in the audit."""
    account(run, state, call, came.result, seconds)
    entry = Returned(
        result=came.result,
        seconds=round(seconds, 6),
        cached=came.cached,
        usage=came.usage,
        kept=came.kept,
        revealed=came.revealed,
        final=came.final,
        at=run.now(),
    )
    result = _masked(run, came.result)
    run.record(entry, entry if result is came.result else replace(entry, result=result))
    if run.watched:
        run.emit(CallReturned(run_id=run.id, result=result, seconds=seconds, cached=came.cached))


def _masked(run: LiveRun, result: Result) -> Result:
    """The result for everyone but the model, which sees secrets only if the agent says so, and not after a restart."""
    if not run.setup.shows_secrets:
        return result  # masked already
    return replace(result, content=run.redactor.text(result.content), data=run.redactor.value(result.data))
