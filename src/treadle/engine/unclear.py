"""Calls that had begun when their process died, and of which nothing here can tell whether they took effect.

A person is asked what became of one; where none can be, the model is told that it isn't known. Which calls these are is
`perform`'s business, by their tools' retry class.
"""

from treadle.core.calls import Call
from treadle.core.entries import Returned, Unclear
from treadle.core.errors import ToolProblem
from treadle.core.tool import Tool
from treadle.engine.account import account
from treadle.engine.cached import forget_after
from treadle.engine.live import LiveRun
from treadle.engine.outcome import Outcome, read_back
from treadle.engine.returned import returned
from treadle.loop.recover import interrupted
from treadle.loop.state import CallState

WHY = "It was running when its process ended, so it may have taken effect or not."
MOST = 2_000  # characters of what a tool says about it
GONE = "There is no tool of that name any more."


class CannotTell(Exception):
    """A tool can't say what became of its call; in its own words, where it has some."""


async def leave_open(run: LiveRun, state: CallState, tool: Tool | None, more: str = "") -> None:
    """Have a person asked what became of a call. Whatever they will say: what was read before it may no longer be so."""
    if tool is not None:
        await forget_after(run, tool)
    if run.setup.attended:
        run.record(Unclear(call_id=state.id, reason=f"{WHY} {more}".rstrip(), at=run.now()))
    else:
        stays_unclear(run, state)


def stays_unclear(run: LiveRun, state: CallState) -> None:
    """Nobody says what became of a call: the model is told just that."""
    assert state.call is not None  # a call that began was read
    returned(run, state, state.call, Outcome(interrupted(state.id, state.name)), 0.0)


def expires(run: LiveRun, state: CallState) -> None:
    """Nobody answered in time. Nobody has been told of the run yet, so that the journal and the audit alone hear of it."""
    assert state.call is not None  # a call that began was read
    result = interrupted(state.id, state.name)
    account(run, state, state.call, result, 0.0)
    run.record(Returned(result=result, at=run.now()))


async def tool_is_gone(run: LiveRun, state: CallState) -> None:
    """A call whose tool isn't there any more: nothing can run it again, also where a person would have it so."""
    if state.again:
        stays_unclear(run, state)
    else:
        await leave_open(run, state, None, GONE)


async def reconciled(run: LiveRun, state: CallState, call: Call) -> Outcome | None:
    """What the tool says became of the call: its result, or None where it didn't happen."""
    reconcile = getattr(run.setup.toolset, "reconcile", None)
    if reconcile is None:
        raise CannotTell
    try:
        value = await reconcile(call, run.context(call, state.key, state.attempts, seal=state.seal))
    except ToolProblem as problem:
        raise CannotTell(run.redactor.text(str(problem))[:MOST]) from problem
    except Exception as error:  # foreign code; what can't be found out is not run again
        raise CannotTell from error
    return None if value is None else await read_back(run, run.catalog.tools[call.name], call, value)
