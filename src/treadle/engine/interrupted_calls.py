"""Calls interrupted by a crash of which it isn't known whether they took effect.

A person is asked what happened; where none can be, the model is told that it isn't known. Which calls these are is decided by
`perform`, by their tools' retry class.
"""

from treadle.core.calls import Call
from treadle.core.entries import Returned, Unclear
from treadle.core.errors import ToolProblem
from treadle.core.tool import Tool
from treadle.engine.audit_records import audit_end
from treadle.engine.call_results import record_result
from treadle.engine.live import LiveRun
from treadle.engine.outcome import CallOutcome, value_to_outcome
from treadle.engine.result_cache import invalidate_after
from treadle.loop.recover import interrupted_result
from treadle.loop.state import CallState

WHY = "It was running when its process ended, so it may have taken effect or not."
MAX_TEXT = 2_000  # characters of what a tool says about it
TOOL_GONE = "There is no tool of that name any more."


class CannotTell(Exception):
    """A tool can't say what happened to its call; in its own words, where it has some."""


async def ask_what_happened(run: LiveRun, state: CallState, tool: Tool | None, more: str = "") -> None:
    """Have a person asked what happened to a call. In any case, what was read before it may no longer be true."""
    if tool is not None:
        await invalidate_after(run, tool)
    if run.setup.attended:
        run.record(Unclear(call_id=state.id, reason=f"{WHY} {more}".rstrip(), at=run.now()))
    else:
        record_unclear(run, state)


def record_unclear(run: LiveRun, state: CallState) -> None:
    """Tell the model that it isn't known what happened to a call."""
    assert state.call is not None  # a call that began was read
    record_result(run, state, state.call, CallOutcome(interrupted_result(state.id, state.name)), 0.0)


def record_expired(run: LiveRun, state: CallState) -> None:
    """Record that no answer came in time. The run has no watchers yet, so only the journal and the audit are written."""
    assert state.call is not None  # a call that began was read
    result = interrupted_result(state.id, state.name)
    audit_end(run, state, state.call, result, 0.0)
    run.record(Returned(result=result, at=run.now()))


async def handle_missing_tool(run: LiveRun, state: CallState) -> None:
    """Handle a call whose tool no longer exists: it can't be rerun, even if a person asks for it."""
    if state.again:
        record_unclear(run, state)
    else:
        await ask_what_happened(run, state, None, TOOL_GONE)


async def reconcile_call(run: LiveRun, state: CallState, call: Call) -> CallOutcome | None:
    """Return what the tool says happened to the call: its result, or None where it didn't happen."""
    reconcile = getattr(run.toolset, "reconcile", None)
    if reconcile is None:
        raise CannotTell
    try:
        value = await reconcile(call, run.context(call, state.key, state.attempts, seal=state.seal))
    except ToolProblem as problem:
        raise CannotTell(run.redactor.text(str(problem))[:MAX_TEXT]) from problem
    except Exception as error:  # foreign code; what can't be found out is not run again
        raise CannotTell from error
    return None if value is None else await value_to_outcome(run, run.catalog.tool_for(call), call, value)
