"""What a caller is answered, from the entries of a run: words, calls for them to carry out, why it stopped, what it used. Pure.

A run may stop several times for its caller; each stretch of it, from one stop to the next, is an answer of its own.
"""

from collections.abc import Callable, Sequence
from typing import Any, Literal

import msgspec
from msgspec import Struct

from treadle.core.calls import Call
from treadle.core.entries import Approved, Entry, Finished, Judged, Replied
from treadle.core.messages import text_of
from treadle.core.requests import Usage
from treadle.guard.redaction import Redactor
from treadle.loop.state import CallState, RunState, replay
from treadle.server.wires.foreign import is_handed, mark_of
from treadle.tools.text import to_text

Finish = Literal["stop", "calls", "length", "filtered"]

BETWEEN = "\n\n"  # what separates the words of two replies
LONGEST = 300  # characters of the arguments of a call that a person is told of


class Handover(Struct, frozen=True):
    """A call for the caller to carry out. `path` is what its id consists of besides the wire's own beginning."""

    path: str
    name: str
    arguments: dict[str, Any]


class Answer(Struct, frozen=True):
    """An answer. `tail` is the end of its `text` that wasn't said by the model as it went, so that no stream has it yet."""

    id: str
    run_id: str
    text: str
    tail: str = ""
    calls: tuple[Handover, ...] = ()
    finish: Finish = "stop"
    usage: Usage = Usage()


class Telling(Struct, frozen=True):
    """How an answer is told: where people approve calls, and what makes the value of one that has to fit a schema."""

    address: str = ""
    value: Callable[[dict[str, Any]], Any] | None = None


def answer_id(run_id: str, start: int) -> str:
    """What an answer is known by: the same where it is given once more."""
    return f"{run_id}-{start}"


def answer_of(run_id: str, entries: Sequence[Entry], start: int, telling: Telling) -> Answer:
    """The answer of a stretch that begins after `start` entries and ends with the last one."""
    state = replay(entries)
    calls = tuple([_handover(run_id, each) for each in (*state.calls, *state.inner) if _is_handed(each)])
    said = "" if telling.value else BETWEEN.join(_words(entries[start:]))
    tail = _tail(run_id, state, said, telling)
    spent = state.spent.usage
    before = replay(entries[:start]).spent.usage
    return Answer(
        answer_id(run_id, start),
        run_id,
        said + tail,
        tail,
        calls,
        "calls" if calls else _finish(entries[start:]),
        _less(spent, before),
    )


def _is_handed(call: CallState) -> bool:
    return call.waits and not call.unclear and is_handed(call.verdict)


def _handover(run_id: str, state: CallState) -> Handover:
    assert state.call is not None  # a call that waits was judged, and so was read
    return Handover(f"{run_id}_{mark_of(state.id)}", state.name, state.call.arguments)


def _words(entries: Sequence[Entry]) -> list[str]:
    """What the model said, reply by reply. A reply may be several entries."""
    replies, open_reply = [""], False
    for entry in entries:
        if isinstance(entry, Replied):
            if not open_reply:
                replies.append("")
            replies[-1] += text_of(entry.parts)
            open_reply = entry.more
    return [reply for reply in replies if reply]


def _tail(run_id: str, state: RunState, said: str, telling: Telling) -> str:
    """What has to be told besides what the model said."""
    finished = state.finished or Finished(stopped="failed")
    waiting = _waiting(run_id, state, telling.address) if finished.stopped == "waiting" else ""
    if telling.value and finished.output is not None:
        return msgspec.json.encode(telling.value(finished.output)).decode()
    words = finished.text if finished.stopped in ("answered", "limit") and not said.rstrip().endswith(finished.text) else ""
    if finished.stopped == "cancelled":
        words = finished.reason
    more = words or waiting
    return f"{BETWEEN}{more}" if said and more else more


def _waiting(run_id: str, state: RunState, address: str) -> str:
    """What waits for a person, and where they can answer."""
    calls = [each for each in (*state.calls, *state.inner) if each.waits]
    ours = [each for each in calls if not _is_handed(each)]
    if calls and not ours:
        return ""
    what = " ".join([_asked_about(each) for each in ours]) or "A call waits for a person's approval."
    do = "Say what became of it" if any(each.unclear for each in ours) else "Approve or refuse it"
    return f"{what} {do} at {address}/runs/{run_id}."


def _asked_about(state: CallState) -> str:
    call = state.call or Call(state.id, state.name, {})
    arguments = to_text(Redactor().value(call.arguments))
    shown = arguments if len(arguments) <= LONGEST else f"{arguments[:LONGEST]}…"
    why = "was running when its process ended, so it may have taken effect." if state.unclear else "waits for a person's approval."
    return f"{call.name} with {shown} {why}"


def _finish(entries: Sequence[Entry]) -> Finish:
    last = next((entry.finish for entry in reversed(entries) if isinstance(entry, Replied)), "done")
    return "length" if last == "length" else "filtered" if last == "filtered" else "stop"


def _less(usage: Usage, before: Usage) -> Usage:
    return Usage(
        usage.requests - before.requests,
        usage.calls - before.calls,
        usage.input_tokens - before.input_tokens,
        usage.output_tokens - before.output_tokens,
        usage.cache_read_tokens - before.cache_read_tokens,
        usage.cache_write_tokens - before.cache_write_tokens,
    )


# what a journal says of calls that were handed over


def handed_calls(entries: Sequence[Entry]) -> dict[str, Call]:
    """The calls that a run has handed over so far, by their marks."""
    return {mark_of(entry.call.id): entry.call for entry in entries if isinstance(entry, Judged) and is_handed(entry.verdict)}


def waiting_calls(entries: Sequence[Entry]) -> set[str]:
    """The ids of those that wait for their results now."""
    state = replay(entries)
    return {call.id for call in (*state.calls, *state.inner) if _is_handed(call)}


def brought_by(entries: Sequence[Entry]) -> dict[str, tuple[int, str]]:
    """The calls whose results have come: where that stands, and who brought them, by the ids of the calls."""
    return {entry.call_id: (at, entry.by) for at, entry in enumerate(entries) if isinstance(entry, Approved)}


def stop_after(entries: Sequence[Entry], start: int) -> int | None:
    """Where the stretch that began after `start` entries came to its end for the caller; None where it hasn't yet.

    It goes on after a failure, and after a person has approved what it waited for.
    """
    last = None
    for at in range(start, len(entries)):
        entry = entries[at]
        if isinstance(entry, Finished):
            last = None if entry.stopped == "failed" else at
            if entry.stopped in ("answered", "limit", "cancelled") or waiting_calls(entries[: at + 1]):
                return at
    return last
