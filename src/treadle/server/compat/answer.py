"""The answer to a client, from the entries of a run: text, calls for the client to execute, finish reason, usage. Pure.

A run may stop several times for its client; each stretch of it, from one stop to the next, is an answer of its own.
"""

from collections.abc import Callable, Sequence
from typing import Any, Literal

import msgspec
from msgspec import Struct

from treadle.core.calls import Call
from treadle.core.entries import Approved, Entry, Finished, Judged, Replied
from treadle.core.messages import text_of
from treadle.core.requests import Usage
from treadle.engine.result import describe_stop
from treadle.guard.redaction import Redactor
from treadle.loop.state import CallState, RunState, replay
from treadle.server.compat.client_tools import hash_call_id, is_client_call
from treadle.tools.text import to_text

Finish = Literal["stop", "calls", "length", "filtered"]

SEPARATOR = "\n\n"  # what separates the words of two replies
MAX_ARGUMENTS = 300  # characters of a call's arguments that are shown


class ClientCall(Struct, frozen=True):
    """A call for the client to execute. `path` is its id without the API's own prefix."""

    path: str
    name: str
    arguments: dict[str, Any]


class CompatAnswer(Struct, frozen=True):
    """An answer. `tail` is the end of its `text` that the model didn't say as it went, so that no stream has it yet."""

    id: str
    run_id: str
    text: str
    tail: str = ""
    calls: tuple[ClientCall, ...] = ()
    finish: Finish = "stop"
    usage: Usage = Usage()


class AnswerFormat(Struct, frozen=True):
    """How an answer is written: where users approve calls, and what converts an answer that has to fit a schema."""

    address: str = ""
    value: Callable[[dict[str, Any]], Any] | None = None


def answer_id(run_id: str, start: int) -> str:
    """Return the id of an answer: the same where it is given again."""
    return f"{run_id}-{start}"


def build_answer(run_id: str, entries: Sequence[Entry], start: int, telling: AnswerFormat) -> CompatAnswer:
    """Return the answer of a stretch that starts after `start` entries and ends with the last one."""
    state = replay(entries)
    calls = tuple([_to_client_call(run_id, each) for each in (*state.calls, *state.inner) if _is_client_call(each)])
    said = "" if telling.value else SEPARATOR.join(_reply_texts(entries[start:]))
    tail = _unstreamed_tail(run_id, state, said, telling)
    spent = state.spent.usage
    before = replay(entries[:start]).spent.usage
    return CompatAnswer(
        answer_id(run_id, start),
        run_id,
        said + tail,
        tail,
        calls,
        "calls" if calls else _finish_reason(entries[start:]),
        _subtract_usage(spent, before),
    )


def _is_client_call(call: CallState) -> bool:
    return call.waits and not call.unclear and is_client_call(call.verdict)


def _to_client_call(run_id: str, state: CallState) -> ClientCall:
    assert state.call is not None  # a call that waits was judged, and so was read
    return ClientCall(f"{run_id}_{hash_call_id(state.id)}", state.name, state.call.arguments)


def _reply_texts(entries: Sequence[Entry]) -> list[str]:
    """Return the model's texts, reply by reply. A reply may be several entries."""
    replies, open_reply = [""], False
    for entry in entries:
        if isinstance(entry, Replied):
            if not open_reply:
                replies.append("")
            replies[-1] += text_of(entry.parts)
            open_reply = entry.more
    return [reply for reply in replies if reply]


def _unstreamed_tail(run_id: str, state: RunState, said: str, telling: AnswerFormat) -> str:
    """Return what has to be added to the model's own text."""
    finished = state.finished or Finished(stopped="failed")
    waiting = _approval_notice(run_id, state, telling.address) if finished.stopped == "waiting" else ""
    if telling.value and finished.output is not None:
        return msgspec.json.encode(telling.value(finished.output)).decode()
    words = finished.text if finished.stopped in ("answered", "limit") and not said.rstrip().endswith(finished.text) else ""
    if finished.stopped == "cancelled" or (finished.stopped == "limit" and not finished.text):
        words = describe_stop(finished.stopped, finished.reason)
    more = words or waiting
    return f"{SEPARATOR}{more}" if said and more else more


def _approval_notice(run_id: str, state: RunState, address: str) -> str:
    """Return a notice of what waits for a person, and where they can answer."""
    calls = [each for each in (*state.calls, *state.inner) if each.waits]
    ours = [each for each in calls if not _is_client_call(each)]
    if calls and not ours:
        return ""
    what = " ".join([_describe_call(each) for each in ours]) or "A call waits for a person's approval."
    do = "Say what its outcome was" if any(each.unclear for each in ours) else "Approve or refuse it"
    return f"{what} {do} at {address}/runs/{run_id}."


def _describe_call(state: CallState) -> str:
    call = state.call or Call(state.id, state.name, {})
    arguments = to_text(Redactor().value(call.arguments))
    shown = arguments if len(arguments) <= MAX_ARGUMENTS else f"{arguments[:MAX_ARGUMENTS]}…"
    why = "was running when its process ended, so it may have taken effect." if state.unclear else "waits for a person's approval."
    return f"{call.name} with {shown} {why}"


def _finish_reason(entries: Sequence[Entry]) -> Finish:
    last = next((entry.finish for entry in reversed(entries) if isinstance(entry, Replied)), "done")
    return "length" if last in ("length", "window") else "filtered" if last == "filtered" else "stop"


def _subtract_usage(usage: Usage, before: Usage) -> Usage:
    return Usage(
        usage.requests - before.requests,
        usage.calls - before.calls,
        usage.input_tokens - before.input_tokens,
        usage.output_tokens - before.output_tokens,
        usage.cache_read_tokens - before.cache_read_tokens,
        usage.cache_write_tokens - before.cache_write_tokens,
    )


# what a journal says of calls that were handed over


def client_calls_in(entries: Sequence[Entry]) -> dict[str, Call]:
    """Return the calls that a run has handed to its client so far, by their hashes."""
    return {
        hash_call_id(entry.call.id): entry.call for entry in entries if isinstance(entry, Judged) and is_client_call(entry.verdict)
    }


def pending_client_calls(entries: Sequence[Entry]) -> set[str]:
    """Return the ids of the client's calls whose results are pending."""
    state = replay(entries)
    return {call.id for call in (*state.calls, *state.inner) if _is_client_call(call)}


def delivered_results(entries: Sequence[Entry]) -> dict[str, tuple[int, str]]:
    """Return the calls whose results were delivered: the entry's position and who delivered them, by call id."""
    return {entry.call_id: (at, entry.by) for at, entry in enumerate(entries) if isinstance(entry, Approved)}


def find_stop(entries: Sequence[Entry], start: int) -> int | None:
    """Return where the stretch that started after `start` entries stopped for the client; None where it hasn't yet.

    It continues after a failure, and after a person has approved what it waited for.
    """
    last = None
    for at in range(start, len(entries)):
        entry = entries[at]
        if isinstance(entry, Finished):
            last = None if entry.stopped == "failed" else at
            if entry.stopped in ("answered", "limit", "cancelled") or pending_client_calls(entries[: at + 1]):
                return at
    return last
