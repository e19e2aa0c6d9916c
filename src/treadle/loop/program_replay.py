"""Whether a program that is run again takes the course that the journal has. Pure.

A program is run from its beginning after a crash and after an approval. Calls that it has made get their recorded results, so
that none is repeated; that holds as long as it makes the same calls in the same order.
"""

from collections.abc import Sequence

from treadle.core.calls import Call
from treadle.loop.state import CallState, RunState, call_fingerprint, find_call


def inner_call_id(outer_id: str, number: int) -> str:
    """Return the id of the call that a tool makes as its `number`-th."""
    return f"{outer_id}.{number}"


def differs_from_journal(state: RunState, call: Call) -> bool:
    """Return whether the journal has another call in the place of this one."""
    earlier = find_call(state, call.id)
    if earlier is None:
        return False
    requested = earlier.requested or earlier.call  # a user may have edited it
    return requested is None or call_fingerprint(requested) != call_fingerprint(call)


def find_inner_calls(state: RunState, outer_id: str) -> Sequence[CallState]:
    """Return the calls that a tool has made so far, in their order."""
    return [call for call in state.inner if call.within == outer_id and not call.background]


def reads_untrusted(calls: Sequence[CallState]) -> bool:
    """Return whether one of the results is untrusted, or quotes something that is."""
    return any(call.result is not None and (call.result.untrusted or call.result.quoted) for call in calls)
