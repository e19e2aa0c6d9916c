"""The state of a run as the fold of its journal: `apply_entry` adds one entry, `replay` adds them all. Pure; `decide` decides.

A round is open from the model's first call until every call has its result; only then do its messages join the history, so
that the history only ever grows.
"""

from collections.abc import Iterable
from typing import Any, assert_never

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from treadle.core.calls import Allow, Ask, Call, Deny, Media, Result, Settling, Verdict, Written
from treadle.core.entries import (
    Approved,
    Called,
    Entry,
    Finished,
    Forked,
    Judged,
    Noted,
    Opened,
    Previewed,
    Refused,
    Replied,
    Resumed,
    Returned,
    Said,
    Settled,
    Shortened,
    Started,
    Unclear,
)
from treadle.core.messages import History, Message, Part, ReplyPart, person_message, text_of
from treadle.core.requests import Usage
from treadle.loop.answers import SOMEBODY, refusal_result, settlement_result
from treadle.loop.limits import Spent
from treadle.loop.repeats import Trail, extend_trail, fingerprint
from treadle.loop.window import shorten_results

_canonical = msgspec.json.Encoder(order="deterministic")


class UnclearQuestion(Struct, frozen=True):
    """The question about a call that was interrupted by a crash: since when, and the person's answer, if there is one."""

    why: str
    at: float
    said: Settling | None = None
    by: str = ""


class CallState(Struct, frozen=True):
    """One call of the open round, and its progress."""

    id: str
    name: str
    written: Written | None = None
    call: Call | None = None
    verdict: Verdict | None = None
    judged_at: float = 0.0
    preview: str | None = None  # what it would do, as far as that was found out
    seal: str = ""  # of what that was found out from
    approved: bool = False
    answered: str = ""  # by whom
    edited: bool = False  # their arguments, not the model's
    digest: str = ""  # of the arguments that were approved
    note: str = ""
    key: str = ""
    attempts: int = 0
    began_at: float = 0.0  # the last attempt
    question: UnclearQuestion | None = None  # about that attempt
    within: str = ""
    result: Result | None = None

    @property
    def waits(self) -> bool:
        """Whether a person has to be asked: whether it may run, or what happened to it."""
        return self.unclear or (self.result is None and isinstance(self.verdict, Ask) and not self.approved)

    @property
    def unclear(self) -> bool:
        """Whether a person has to say what happened to it."""
        return self.result is None and self.question is not None and self.question.said is None

    @property
    def again(self) -> bool:
        """Whether a person said that it is to be tried again, and it hasn't been yet."""
        return self.result is None and self.question is not None and self.question.said == "again"

    @property
    def ready(self) -> bool:
        """Whether it may run and hasn't begun to."""
        return self.result is None and self.attempts == 0 and (self.approved or isinstance(self.verdict, Allow))

    @property
    def interrupted(self) -> bool:
        """Whether it was interrupted by a crash, and something can be done about that."""
        return self.result is None and self.attempts > 0 and not self.unclear


class RunState(Struct, frozen=True):
    """The state of a run. Everything `decide` needs, and nothing that isn't in the journal."""

    position: int = 0  # how many entries it is the fold of
    opened: Opened | None = None
    history: History = History()
    parts: tuple[ReplyPart, ...] = ()  # of the open round's reply
    reply_open: bool = False
    calls: tuple[CallState, ...] = ()  # asked by the model in the open round
    inner: tuple[CallState, ...] = ()  # asked by tools in the open round
    answer: str | None = None  # a reply without calls
    last: bool = False  # the answer is to a request without tools
    wants_more: bool = False  # the answer came with calls, which count for nothing in a reply without tools
    words: str = ""  # the model's last words that weren't empty
    empties: int = 0  # empty replies in a row
    filtered: bool = False  # the last reply was empty because a filter of the provider held it back
    note: str = ""
    notes: int = 0
    spent: Spent = Spent()  # in this turn
    before: Usage = Usage()  # in the turns before it
    tool_calls: dict[str, int] = {}  # in this turn, by name
    trail: Trail = Trail()
    refused_repeat: bool = False
    tainted: bool = False
    revealed: tuple[str, ...] = ()
    keeps: bool = False  # some result is kept whole in the result store
    has_media: bool = False  # there are images, recordings or documents in the history, or were
    output: Call | None = None
    at: float = 0.0
    finished: Finished | None = None

    @property
    def usage(self) -> Usage:
        """The usage of the whole run."""
        return self.before + self.spent.usage


def replay(entries: Iterable[Entry], state: RunState | None = None) -> RunState:
    """Return the state after all `entries`."""
    state = RunState() if state is None else state
    for entry in entries:
        state = apply_entry(state, entry)
    return state


def apply_entry(state: RunState, entry: Entry) -> RunState:  # noqa: C901 - one line for each kind of entry
    """Return the state after one more entry."""
    match entry:
        case Replied():
            changed = _replied(state, entry)
        case Judged():
            changed = _judged(state, entry)
        case Started():
            changed = _with_call(state, entry.call_id, key=entry.key, attempts=entry.attempt, began_at=entry.at, question=None)
        case Returned():
            changed = _returned(state, entry)
        case Called():
            inner = CallState(entry.call.id, entry.call.name, call=entry.call, within=entry.within)
            changed = replace(state, inner=(*state.inner, inner))
        case Previewed():
            changed = _with_call(state, entry.call_id, preview=entry.text, seal=entry.seal)
        case Approved():
            changed = _approved(state, entry)
        case Refused():
            changed = _refused(state, entry)
        case Unclear():
            changed = _with_call(state, entry.call_id, question=UnclearQuestion(entry.reason, entry.at))
        case Settled():
            changed = _settled(state, entry)
        case Opened():
            changed = _opened(state, entry)
        case Said():
            changed = _said(state, entry)
        case Noted():
            spent = _spending(state.spent, entry.usage)
            changed = replace(state, note=entry.text, notes=state.notes + 1, answer=None, spent=spent)
        case Shortened():
            changed = replace(state, history=shorten_results(state.history, entry.call_ids))
        case Finished():
            changed = replace(state, finished=entry, spent=_spending(state.spent, entry.usage))
        case Resumed():
            changed = replace(state, finished=None, empties=0, filtered=False, notes=0)
        case Forked():
            changed = state
        case _:
            assert_never(entry)
    return _counted(changed, state, entry)


_IDLE = frozenset((Said, Approved, Refused, Settled, Resumed, Opened, Forked))  # the time before these was a person's


def _counted(changed: RunState, before: RunState, entry: Entry) -> RunState:
    """With position and clock moved on."""
    at, earlier = entry.at, before.at
    if at <= earlier or type(entry) in _IDLE:
        return replace(changed, position=before.position + 1, at=max(earlier, at))
    spent = changed.spent
    working = Spent(spent.rounds, spent.seconds + at - earlier, spent.usage, spent.last_tokens, spent.failures)
    return replace(changed, position=before.position + 1, at=at, spent=working)


def _opened(state: RunState, entry: Opened) -> RunState:
    has_media = any(_has_media(part) for message in entry.history for part in message.parts)
    return replace(state, opened=entry, history=History(entry.history), tainted=_begins_tainted(entry), has_media=has_media)


def _has_media(part: Part) -> bool:
    return isinstance(part, Media) or (isinstance(part, Result) and bool(part.media))


def _begins_tainted(entry: Opened) -> bool:
    """Return whether untrusted content was read before the run began: in its parent, or in the conversation it continues."""
    return entry.tainted or any(isinstance(part, Result) and part.untrusted for message in entry.history for part in message.parts)


def _said(state: RunState, entry: Said) -> RunState:
    """A new turn: limits, repeats and the answer start afresh; the history goes on."""
    message = Message("person", entry.parts) if entry.parts else person_message(entry.text)
    return replace(
        state,
        history=state.history.plus(message),
        has_media=state.has_media or bool(entry.parts),
        answer=None,
        last=False,
        wants_more=False,
        words="",
        empties=0,
        filtered=False,
        note="",
        notes=0,
        before=state.usage,
        spent=Spent(),
        tool_calls={},
        trail=Trail(),
        refused_repeat=False,
        output=None,
        finished=None,
    )


def _replied(state: RunState, entry: Replied) -> RunState:
    """Apply a reply, or a piece of one. Calls in a reply that was requested without tools don't count."""
    parts = (*state.parts, *entry.parts) if state.parts else entry.parts
    calls = state.calls
    if not entry.last:
        new = tuple([CallState(part.id, part.name, part) for part in entry.parts if isinstance(part, Written)])
        calls = (*calls, *new) if calls else new
    spent = _spending(state.spent, entry.usage)
    changed = replace(
        state,
        parts=parts,
        calls=calls,
        reply_open=entry.more,
        last=entry.last,
        spent=spent,
        note="",
    )
    if entry.more:
        return changed
    if calls:
        return _closed(changed)
    if entry.finish == "paused":
        return _paused(changed)
    return _answered(changed, filtered=entry.finish == "filtered")


def _paused(state: RunState) -> RunState:
    """Apply a reply that its server interrupted: it is asked to continue from what it said so far."""
    spent = replace(state.spent, rounds=state.spent.rounds + 1)
    said = tuple([part for part in state.parts if not isinstance(part, Written)])
    return replace(state, parts=(), empties=0, spent=spent, history=state.history.plus(Message("model", said)))


def _spending(spent: Spent, usage: Usage) -> Spent:
    """With what a request used, if it was one."""
    if not usage.requests:
        return spent
    return Spent(spent.rounds, spent.seconds, spent.usage + usage, usage.total_tokens, spent.failures)


def _answered(state: RunState, *, filtered: bool) -> RunState:
    """A reply without calls: an answer, or nothing at all."""
    text = text_of(state.parts).strip()
    if not text:
        return replace(state, parts=(), empties=state.empties + 1, filtered=filtered)
    said = tuple([part for part in state.parts if not isinstance(part, Written)])
    more = len(said) < len(state.parts)
    history = state.history.plus(Message("model", said))
    return replace(state, parts=(), answer=text, words=text, wants_more=more, empties=0, history=history)


def _judged(state: RunState, entry: Judged) -> RunState:
    verdict = entry.verdict
    result = None
    if isinstance(verdict, Deny):
        result = Result(entry.call.id, entry.call.name, verdict.reason, verdict.problem)
    changed = _with_call(state, entry.call.id, call=entry.call, verdict=verdict, judged_at=entry.at, note=entry.note, result=result)
    if result is None:
        return _count_call(changed, entry.call.name)
    if result.problem == "repeat":
        changed = replace(changed, refused_repeat=True)
    trail = extend_trail(state.trail, call_fingerprint(entry.call), result.content)
    return _closed(replace(changed, trail=trail))


def _count_call(state: RunState, name: str) -> RunState:
    usage = replace(state.spent.usage, calls=state.spent.usage.calls + 1)
    tool_calls = {**state.tool_calls, name: state.tool_calls.get(name, 0) + 1}
    return replace(state, spent=replace(state.spent, usage=usage), tool_calls=tool_calls)


def _approved(state: RunState, entry: Approved) -> RunState:
    found = find_call(state, entry.call_id)
    if found is None or found.call is None:
        return state
    changes: dict[str, Any] = {"approved": True, "answered": entry.by or SOMEBODY, "digest": entry.digest}
    if entry.arguments is not None:
        changes |= {"edited": True, "call": Call(found.id, found.name, entry.arguments)}
    return _with_call(state, entry.call_id, **changes)


def _refused(state: RunState, entry: Refused) -> RunState:
    found = find_call(state, entry.call_id)
    if found is None or found.result is not None:
        return state
    result = refusal_result(found.id, found.name, entry)
    return _closed(_with_call(state, entry.call_id, answered=entry.by or SOMEBODY, result=result))


def _settled(state: RunState, entry: Settled) -> RunState:
    found = find_call(state, entry.call_id)
    if found is None or found.question is None or found.result is not None:
        return state
    question = replace(found.question, said=entry.said, by=entry.by or SOMEBODY)
    return _closed(_with_call(state, found.id, question=question, result=settlement_result(found.id, found.name, entry)))


_FAILURES = frozenset(("raised", "timeout"))  # what is the tool's own; the rest are the model's, or a person's


def _returned(state: RunState, entry: Returned) -> RunState:
    result = entry.result
    found = find_call(state, result.call_id)
    if found is None:
        return state
    shown = replace(result, note=found.note) if found.note else result
    changed = _with_call(state, result.call_id, result=shown)
    changed = replace(
        changed,
        trail=_extend_trail(state.trail, found, result),
        tainted=state.tainted or result.untrusted,
        keeps=state.keeps or bool(entry.kept),
        has_media=state.has_media or bool(result.media),
        output=found.call if entry.final else state.output,
    )
    if entry.revealed:
        changed = replace(changed, revealed=tuple(dict.fromkeys((*state.revealed, *entry.revealed))))
    if entry.usage.requests or entry.usage.calls:
        changed = replace(changed, spent=replace(state.spent, usage=state.spent.usage + entry.usage))
    if result.problem in _FAILURES:
        changed = replace(changed, spent=replace(changed.spent, failures=changed.spent.failures + 1))
    return _closed(changed)


def _extend_trail(trail: Trail, found: CallState, result: Result) -> Trail:
    if found.call is None or found.within:
        return trail
    seen = "".join([result.content, *[media.sha256 for media in result.media]])  # another picture may have the same label
    return extend_trail(trail, call_fingerprint(found.call), seen)


def call_fingerprint(call: Call) -> int:
    """Return one number for a call, independent of its id and the order of its arguments."""
    return fingerprint(call.name, _canonical.encode(call.arguments))


def find_call(state: RunState, call_id: str) -> CallState | None:
    """Return the call of the open round with this id, made by the model or by a tool."""
    for call in state.calls:
        if call.id == call_id:
            return call
    for call in state.inner:
        if call.id == call_id:
            return call
    return None


def _with_call(state: RunState, call_id: str, **changes: Any) -> RunState:
    """The state with one call of the open round changed."""
    if state.inner and any(call.id == call_id for call in state.inner):
        return replace(state, inner=_changed(state.inner, call_id, changes))
    calls = state.calls
    if len(calls) == 1 and calls[0].id == call_id:  # by far the commonest round
        return replace(state, calls=(replace(calls[0], **changes),))
    return replace(state, calls=_changed(calls, call_id, changes))


def _changed(calls: tuple[CallState, ...], call_id: str, changes: dict[str, Any]) -> tuple[CallState, ...]:
    return tuple([replace(call, **changes) if call.id == call_id else call for call in calls])


def _closed(state: RunState) -> RunState:
    """With the open round closed if its reply is over and every call has its result."""
    if state.reply_open or not state.calls:
        return state
    results: list[Result] = []
    for call in state.calls:
        if call.result is None:
            return state
        results.append(call.result)
    spent = state.spent
    return replace(
        state,
        history=state.history.plus(Message("model", _said_parts(state)), Message("tools", tuple(results))),
        parts=(),
        calls=(),
        inner=(),
        words=text_of(state.parts).strip() or state.words,
        empties=0,
        spent=Spent(spent.rounds + 1, spent.seconds, spent.usage, spent.last_tokens, spent.failures),
    )


def _said_parts(state: RunState) -> tuple[Part, ...]:
    """The reply as it goes into the history: each call as it was read, in the order asked."""
    read = iter(state.calls)
    parts: list[Part] = []
    for part in state.parts:
        if isinstance(part, Written):
            call = next(read)
            said = call.call or Call(call.id, call.name, {})
            parts.append(replace(said, opaque=part.opaque) if part.opaque else said)
        else:
            parts.append(part)
    return tuple(parts)
