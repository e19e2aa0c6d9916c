"""The state of a run as the fold of its journal: `apply_entry` adds one entry, `replay` adds them all. Pure; `decide` decides.

A round is open from the model's first call until every call has its result; only then do its messages join the history, so
that the history only ever grows.
"""

from collections.abc import Callable, Iterable
from typing import Any

import msgspec
from msgspec import Struct
from msgspec.structs import force_setattr, replace

from treadle.core.calls import Allow, Ask, Call, Deny, Media, Result, Settling, Verdict, Wait, Written
from treadle.core.entries import (
    Approved,
    Awaited,
    Called,
    Compacted,
    Delivered,
    Entry,
    Finished,
    Forked,
    Informed,
    Judged,
    Noted,
    Opened,
    Overflowed,
    Previewed,
    Refused,
    Replied,
    Resumed,
    Returned,
    Said,
    Settled,
    Shortened,
    Started,
    Steered,
    Unclear,
    Woken,
)
from treadle.core.grants import Grant, GrantTerms, Scope
from treadle.core.messages import ContextItem, History, Message, Part, Quote, ReplyPart, Text, text_of
from treadle.core.requests import Usage
from treadle.loop.answers import UNNAMED_USER, refusal_result, settlement_result
from treadle.loop.limits import Spent
from treadle.loop.repeats import Trail, extend_trail, fingerprint
from treadle.loop.window import CHARACTERS_PER_TOKEN, compact_history, measure_density, shorten_results

_canonical = msgspec.json.Encoder(order="deterministic")
_NO_USAGE = Usage()


class UnclearQuestion(Struct, frozen=True, gc=False):
    """The question about a call that was interrupted by a crash: since when, and the person's answer, if there is one."""

    why: str
    at: float
    said: Settling | None = None
    by: str = ""


class CallState(Struct, frozen=True, gc=False):
    """One call of the open round, and its progress."""

    id: str
    name: str
    written: Written | None = None
    call: Call | None = None
    verdict: Verdict | None = None
    judged_at: float = 0.0
    terms: GrantTerms | None = None  # what an approval of it can be remembered for
    preview: str | None = None  # what it would do, as far as that was found out
    seal: str = ""  # of what that was found out from
    covers: tuple[str, ...] = ()  # the arguments that the preview shows
    approved: bool = False
    answered: str = ""  # by whom
    scope: Scope = "once"  # how long they allowed calls like it
    covered: str = ""  # the grant that answered in their place
    edited: bool = False  # their arguments, not the model's
    requested: Call | None = None  # as it was before that
    digest: str = ""  # of the arguments that were approved
    note: str = ""
    key: str = ""
    attempts: int = 0
    began_at: float = 0.0  # the last attempt
    question: UnclearQuestion | None = None  # about that attempt
    within: str = ""
    background: bool = False  # the work of a call that has returned already
    told: bool = False  # the model knows that it has ended
    tainted: bool = False  # untrusted content had been read when it was judged
    wait: Wait | None = None  # for a time or an event
    result: Result | None = None

    @property
    def waits(self) -> bool:
        """Whether a user must be asked: whether it may run, or what happened to it."""
        return self.unclear or (self.result is None and isinstance(self.verdict, Ask) and not self.approved)

    @property
    def unclear(self) -> bool:
        """Whether a user must report what happened to it."""
        return self.result is None and self.question is not None and self.question.said is None

    @property
    def again(self) -> bool:
        """Whether a person said that it is to be tried again, and it hasn't been yet."""
        return self.result is None and self.question is not None and self.question.said == "again"

    @property
    def ready(self) -> bool:
        """Whether it may run and hasn't begun to."""
        if self.result is not None or self.wait is not None or self.attempts or self.question is not None:
            return False
        return self.approved or isinstance(self.verdict, Allow)

    @property
    def interrupted(self) -> bool:
        """Whether it was interrupted by a crash, and something can be done about that."""
        return self.result is None and self.wait is None and self.attempts > 0 and not self.unclear

    @property
    def sleeps(self) -> bool:
        """Whether it waits for a time or an event."""
        return self.result is None and self.wait is not None


class InnerCall(Struct, frozen=True, gc=False):
    """A call that a tool made in an earlier round; `at` is where the results of that round are in the transcript."""

    at: int
    call: Call
    result: Result


class RunState(Struct, frozen=True, gc=False):
    """The state of a run. Everything `decide` needs, and nothing that isn't in the journal."""

    position: int = 0  # how many entries it is the fold of
    opened: Opened | None = None
    agent: str = ""  # that the run was handed off to; empty for the one it began with
    handoff: str = ""  # the agent that goes on after the open round
    history: History = History()  # what the model reads
    transcript: History = History()  # the same without compaction; one object with `history` until there is any
    density: float = CHARACTERS_PER_TOKEN  # of what it reads, by its server's own count
    capacity: int | None = None  # characters of history that fit, as far as refusals have shown
    overflowed: str = ""  # why the last request was refused as too long
    parts: tuple[ReplyPart, ...] = ()  # of the open round's reply
    reply_open: bool = False
    cut: int = 0  # replies in a row that were cut at the output limit; the next one has the rest
    partial: Written | None = None  # the last call that was cut at the output limit
    calls: tuple[CallState, ...] = ()  # asked by the model in the open round
    inner: tuple[CallState, ...] = ()  # asked by tools in the open round, and what goes on in the background
    inner_calls: tuple[InnerCall, ...] = ()  # made by tools in earlier rounds; their values may be passed on later
    answer: str | None = None  # a reply without calls
    last: bool = False  # the answer is to a request without tools
    wants_more: bool = False  # the answer came with calls, which count for nothing in a reply without tools
    words: str = ""  # the model's last words that weren't empty
    empties: int = 0  # empty replies in a row
    filtered: bool = False  # the last reply was empty because a filter of the provider held it back
    note: str = ""
    notes: int = 0
    steering: tuple[Steered, ...] = ()  # messages that were sent during a turn and aren't in the history yet
    message_ids: frozenset[str] = frozenset()  # of the user's messages, where their sender gave them
    spent: Spent = Spent()  # in this turn
    before: Usage = Usage()  # in the turns before it
    tool_calls: dict[str, int] = {}  # in this turn, by name
    trail: Trail = Trail()
    refused_repeat: bool = False
    tainted: bool = False
    context: dict[str, tuple[ContextItem, ...]] = {}  # what the model reads with its instructions, by agent
    grants: tuple[Grant, ...] = ()  # what a person has allowed for this conversation
    revealed: tuple[str, ...] = ()
    keeps: bool = False  # some result is kept whole in the result store
    has_media: bool = False  # there are images, recordings or documents in the history, or were
    rejections: int = 0  # answers that were rejected, in this turn
    rejection: str = ""  # why the last of them was
    asked_again: bool = False  # for values of an answer that nothing vouches for, in this turn
    output: dict[str, Any] | str | None = None
    at: float = 0.0
    finished: Finished | None = None

    @property
    def background(self) -> tuple[CallState, ...]:
        """The calls in the background that the model doesn't know the end of."""
        return tuple([call for call in self.inner if call.background and not call.told]) if self.inner else ()

    @property
    def sleeping(self) -> tuple[CallState, ...]:
        """The calls that wait for a time or an event."""
        return tuple([call for call in (*self.calls, *self.inner) if call.sleeps])

    @property
    def usage(self) -> Usage:
        """The usage of the whole run."""
        return self.spent.usage if self.before == _NO_USAGE else self.before + self.spent.usage


def replay(entries: Iterable[Entry], state: RunState | None = None) -> RunState:
    """Return the state after all `entries`."""
    state = RunState() if state is None else state
    for entry in entries:
        state = apply_entry(state, entry)
    return state


def apply_entry(state: RunState, entry: Entry) -> RunState:
    """Return the state after one more entry, with position and clock moved on.

    A message that is sent while the turn waits for a person takes none of its time.
    """
    kind, at, earlier = type(entry), entry.at, state.at
    changed = _APPLY[kind](state, entry)
    if changed is state:
        changed = replace(state)
    # Nothing else refers to this copy of the state yet, so it is completed in place: another copy would cost as much again.
    force_setattr(changed, "position", state.position + 1)
    if at > earlier:
        force_setattr(changed, "at", at)
        if kind not in _IDLE and state.finished is None:
            spent = changed.spent
            seconds = spent.seconds + at - earlier
            force_setattr(changed, "spent", Spent(spent.rounds, seconds, spent.usage, spent.last_tokens, spent.failures))
    return changed


_IDLE = frozenset((Said, Approved, Refused, Settled, Resumed, Opened, Forked))  # the time before these was a person's


def _opened(state: RunState, entry: Opened) -> RunState:
    has_media = any(_has_media(part) for message in entry.history for part in message.parts)
    history = History(entry.history)
    return replace(state, opened=entry, history=history, transcript=history, tainted=_begins_tainted(entry), has_media=has_media)


def _informed(state: RunState, entry: Informed) -> RunState:
    tainted = state.tainted or any(item.untrusted for item in entry.items)
    return replace(state, context={**state.context, entry.agent: entry.items}, tainted=tainted)


def _compacted(state: RunState, entry: Compacted) -> RunState:
    """Apply a compaction. The transcript stays, and with it where values come from."""
    history = compact_history(state.history, entry.messages, entry.summary)
    return replace(state, history=history, spent=_spending(state.spent, entry.usage))


def _extended(state: RunState, *messages: Message) -> tuple[History, History]:
    """The history and the transcript with more messages."""
    history = state.history.plus(*messages)
    return history, history if state.transcript is state.history else state.transcript.plus(*messages)


def _has_media(part: Part) -> bool:
    return isinstance(part, Media) or (isinstance(part, Result) and bool(part.media))


def _begins_tainted(entry: Opened) -> bool:
    """Return whether untrusted content was read before the run began: in its parent, or in the conversation it continues."""
    return entry.tainted or any(_is_untrusted(part) for message in entry.history for part in message.parts)


def _is_untrusted(part: Part) -> bool:
    return isinstance(part, Quote) or (isinstance(part, Result) and part.untrusted)


def _said(state: RunState, entry: Said) -> RunState:
    """A new turn: limits, repeats and the answer start afresh; the history goes on.

    Messages that were sent during a turn that failed or was cancelled come first.
    """
    if state.cut:
        state = _answered(state, filtered=False)
    message = _join_messages((*state.steering, entry))
    history, transcript = _extended(state, message)
    return replace(
        state,
        history=history,
        transcript=transcript,
        tainted=state.tainted or any(map(_is_untrusted, message.parts)),
        has_media=state.has_media or any(map(_has_media, message.parts)),
        steering=(),
        message_ids=state.message_ids | {entry.id} if entry.id else state.message_ids,
        answer=None,
        last=False,
        wants_more=False,
        cut=0,
        partial=None,
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
        inner=(),
        rejections=0,
        rejection="",
        asked_again=False,
        output=None,
        finished=None,
    )


def _join_messages(entries: Iterable[Said | Steered]) -> Message:
    """Return what a user sent as one message: some servers refuse two of them in a row, and empty texts."""
    parts: list[Text | Quote | Media] = []
    for entry in entries:
        first, *rest = entry.parts or (Text(entry.text),)
        if parts and isinstance(before := parts[-1], Text) and isinstance(first, Text):
            parts[-1] = Text(f"{before.text}\n\n{first.text}")
        else:
            parts.append(first)
        parts += rest
    return Message("person", tuple(parts))


def _steered(state: RunState, entry: Steered) -> RunState:
    """Apply a message that was sent during a turn: it waits for the end of the round. One that was sent again counts once."""
    if entry.id in state.message_ids:
        return state
    return replace(state, steering=(*state.steering, entry), message_ids=state.message_ids | {entry.id})


def _delivered(state: RunState, entry: Delivered) -> RunState:
    """Apply that steering messages are read from now on: what the model has answered before them isn't the end of the turn.

    What it has repeated before them doesn't count: they may be why it does so again.
    """
    delivered = [message for message in state.steering if message.id in entry.message_ids]
    message = _join_messages(delivered)
    history, transcript = _extended(state, message)
    return replace(
        state,
        history=history,
        transcript=transcript,
        tainted=state.tainted or any(map(_is_untrusted, message.parts)),
        has_media=state.has_media or any(map(_has_media, message.parts)),
        steering=tuple([message for message in state.steering if message.id not in entry.message_ids]),
        answer=None,
        output=None,
        last=False,
        wants_more=False,
        empties=0,
        filtered=False,
        trail=Trail(),
        refused_repeat=False,
    )


def _called(state: RunState, entry: Called) -> RunState:
    """Apply a call of a tool. One in the background is what a person may have been shown as the model's call."""
    outer = find_call(state, entry.within)
    seal = outer.seal if entry.background and outer is not None and not outer.edited else ""
    inner = CallState(entry.call.id, entry.call.name, call=entry.call, within=entry.within, background=entry.background, seal=seal)
    return replace(state, inner=(*state.inner, inner))


def _awaited(state: RunState, entry: Awaited) -> RunState:
    """Apply that a call waits. A wait in the middle of a tool's work is a call of its own."""
    if not entry.within:
        return _with_call(state, entry.call_id, wait=entry.wait)
    name = "wait_for_event" if entry.wait.event else "sleep"
    inner = CallState(entry.call_id, name, call=Call(entry.call_id, name, {}), within=entry.within, wait=entry.wait)
    return replace(state, inner=(*state.inner, inner))


def _woken(state: RunState, entry: Woken) -> RunState:
    changed = _with_call(state, entry.result.call_id, result=entry.result)
    return replace(changed, tainted=state.tainted or entry.result.untrusted)


def _noted(state: RunState, entry: Noted) -> RunState:
    spent = _spending(state.spent, entry.usage)
    if entry.ungrounded:
        return replace(state, note=entry.text, asked_again=True, answer=None, spent=spent)
    if not entry.about:
        return replace(state, note=entry.text, notes=state.notes + 1, answer=None, spent=spent)
    return _told(replace(state, note=entry.text, answer=None, output=None, spent=spent), entry.about)


def _told(state: RunState, call_ids: tuple[str, ...]) -> RunState:
    """With the model knowing that these calls in the background have ended."""
    return replace(state, inner=tuple([replace(call, told=True) if call.id in call_ids else call for call in state.inner]))


def _replied(state: RunState, entry: Replied) -> RunState:
    """Apply a reply, or a piece of one. Calls in a reply that was requested without tools don't count."""
    parts = (*state.parts, *entry.parts) if state.parts else entry.parts
    usage, calls = entry.usage, state.calls
    new = () if entry.last else _new_calls(entry.parts)
    if new:
        calls = (*calls, *new) if calls else new
    changed = replace(
        state,
        parts=parts,
        calls=calls,
        reply_open=entry.more,
        last=entry.last,
        spent=_spending(state.spent, usage),
        note="",
        overflowed="",
        cut=0,
        density=measure_density(state.history, usage) or state.density,
    )
    if entry.more or new:  # a new call has no result yet
        return changed
    if calls:
        return _closed(changed)
    if entry.continues:
        return replace(changed, cut=state.cut + 1, words=text_of(parts).strip(), empties=0)
    if entry.finish == "paused":
        return _paused(changed)
    return _answered(changed, filtered=entry.finish == "filtered")


def _new_calls(parts: tuple[ReplyPart, ...]) -> tuple[CallState, ...]:
    if len(parts) == 1:  # a call alone, or words alone: no need of a list
        part = parts[0]
        return (CallState(part.id, part.name, part),) if type(part) is Written else ()
    return tuple([CallState(part.id, part.name, part) for part in parts if type(part) is Written])


def _paused(state: RunState) -> RunState:
    """Apply a reply that its server interrupted: it is asked to continue from what it said so far."""
    spent = replace(state.spent, rounds=state.spent.rounds + 1)
    said = tuple([part for part in state.parts if not isinstance(part, Written)])
    history, transcript = _extended(state, Message("model", said))
    return replace(state, parts=(), empties=0, spent=spent, history=history, transcript=transcript)


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
    history, transcript = _extended(state, Message("model", said))
    return replace(state, parts=(), answer=text, words=text, wants_more=more, empties=0, history=history, transcript=transcript)


def _judged(state: RunState, entry: Judged) -> RunState:
    verdict, call = entry.verdict, entry.call  # its name is the tool's, which may be another one than the model wrote
    result = Result(call.id, call.name, verdict.reason, verdict.problem) if type(verdict) is Deny else None
    calls, inner, trail, spent, counts = state.calls, state.inner, state.trail, state.spent, state.tool_calls
    found = find_call(state, call.id)
    if found is not None:
        judged = replace(
            found,
            name=call.name,
            call=call,
            verdict=verdict,
            judged_at=entry.at,
            note=entry.note,
            terms=entry.terms,
            tainted=state.tainted,
            result=result,
        )
        calls, inner = _exchange(state, judged)
    if result is not None:
        trail = extend_trail(trail, call_fingerprint(call), result.content, call.name, failed=True)
    elif found is None or not found.background:  # the model's call was counted
        spent = _counting_call(spent)
        counts = {**counts, call.name: counts.get(call.name, 0) + 1}
    changed = replace(
        state,
        calls=calls,
        inner=inner,
        trail=trail,
        refused_repeat=state.refused_repeat or (result is not None and result.problem == "repeat"),
        spent=spent,
        tool_calls=counts,
    )
    if entry.partial or state.partial is not None:
        changed = _with_partial(changed, entry)
    return changed if result is None else _closed(changed)


def _counting_call(spent: Spent) -> Spent:
    """With one more call of a tool."""
    usage = spent.usage
    counted = Usage(
        usage.requests,
        usage.calls + 1,
        usage.input_tokens,
        usage.output_tokens,
        usage.cache_read_tokens,
        usage.cache_write_tokens,
        usage.cost,
    )
    return Spent(spent.rounds, spent.seconds, counted, spent.last_tokens, spent.failures)


def _with_partial(state: RunState, entry: Judged) -> RunState:
    """With the call that another one may continue: the one that was cut last, until its tool is called."""
    if entry.partial:
        return replace(state, partial=Written(entry.call.id, entry.call.name, entry.partial, cut=True))
    is_sent = state.partial is not None and entry.call.name == state.partial.name and not isinstance(entry.verdict, Deny)
    return replace(state, partial=None) if is_sent else state


def _approved(state: RunState, entry: Approved) -> RunState:
    found = find_call(state, entry.call_id)
    if found is None or found.call is None:
        return state
    changes: dict[str, Any] = {"approved": True, "answered": entry.by or UNNAMED_USER, "digest": entry.digest}
    if entry.covered:
        changes["covered"] = entry.covered
    if entry.arguments is not None:
        changes |= {"edited": True, "requested": found.call, "call": Call(found.id, found.name, entry.arguments)}
    grant = entry.grant
    if grant is not None:
        changes["scope"] = grant.scope
        if grant.scope == "conversation":
            state = replace(state, grants=(*state.grants, grant))
    return _with_call(state, entry.call_id, **changes)


def _refused(state: RunState, entry: Refused) -> RunState:
    found = find_call(state, entry.call_id)
    if found is None or found.result is not None:
        return state
    result = refusal_result(found.id, found.name, entry)
    return _closed(_with_call(state, entry.call_id, answered=entry.by or UNNAMED_USER, result=result))


def _settled(state: RunState, entry: Settled) -> RunState:
    found = find_call(state, entry.call_id)
    if found is None or found.question is None or found.result is not None:
        return state
    question = replace(found.question, said=entry.said, by=entry.by or UNNAMED_USER)
    return _closed(_with_call(state, found.id, question=question, result=settlement_result(found.id, found.name, entry)))


_FAILURES = frozenset(("raised", "timeout"))  # what is the tool's own; the rest are the model's, or a person's


def _returned(state: RunState, entry: Returned) -> RunState:
    result = entry.result
    found = find_call(state, result.call_id)
    if found is None:
        return state
    calls, inner = _exchange(state, replace(found, result=replace(result, note=found.note) if found.note else result))
    changed = replace(
        state,
        calls=calls,
        inner=inner,
        trail=_extend_trail(state.trail, found, result),
        tainted=state.tainted or result.untrusted,
        keeps=state.keeps or bool(entry.kept),
        has_media=state.has_media or bool(result.media),
    )
    if entry.about:
        changed = _told(changed, entry.about)
    if entry.handoff and not state.handoff:
        changed = replace(changed, handoff=entry.handoff)
    if entry.final:
        changed = replace(changed, output=_final_output(found, entry))
    if entry.rejected:
        changed = replace(changed, rejections=state.rejections + 1, rejection=result.content)
    if entry.revealed:
        changed = replace(changed, revealed=tuple(dict.fromkeys((*state.revealed, *entry.revealed))))
    if entry.usage.requests or entry.usage.calls:
        changed = replace(changed, spent=replace(state.spent, usage=state.spent.usage + entry.usage))
    if result.problem in _FAILURES and not entry.waited:  # that an event didn't come isn't the tool's failure
        changed = replace(changed, spent=replace(changed.spent, failures=changed.spent.failures + 1))
    return _closed(changed)


def _final_output(found: CallState, entry: Returned) -> dict[str, Any] | str:
    if entry.output is not None:
        return entry.output
    return {} if found.call is None else found.call.arguments


def _extend_trail(trail: Trail, found: CallState, result: Result) -> Trail:
    if found.call is None or found.within:
        return trail
    seen = result.content
    if result.media:  # another picture may have the same label
        seen = "".join([seen, *[media.sha256 for media in result.media]])
    return extend_trail(trail, call_fingerprint(found.call), seen, found.name, failed=result.problem is not None)


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
    found = find_call(state, call_id)
    if found is None:
        return state
    calls, inner = _exchange(state, replace(found, **changes))
    return replace(state, calls=calls, inner=inner)


def _exchange(state: RunState, changed: CallState) -> tuple[tuple[CallState, ...], tuple[CallState, ...]]:
    """Return the calls of the open round, the model's and those of tools, with one of them as it is now."""
    calls, inner = state.calls, state.inner
    if len(calls) == 1 and calls[0].id == changed.id:  # by far the commonest round
        return (changed,), inner
    return _with_changed(calls, changed), _with_changed(inner, changed) if inner else inner


def _with_changed(calls: tuple[CallState, ...], changed: CallState) -> tuple[CallState, ...]:
    return tuple([changed if call.id == changed.id else call for call in calls])


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
    history, transcript = _extended(state, Message("model", _said_parts(state)), Message("tools", tuple(results)))
    if state.inner:
        inner_calls = (*state.inner_calls, *_inner_calls(state))
        state = replace(state, inner=tuple([call for call in state.inner if call.background]), inner_calls=inner_calls)
    return replace(
        state,
        history=history,
        transcript=transcript,
        agent=state.handoff or state.agent,
        handoff="",
        parts=(),
        calls=(),
        words=text_of(state.parts).strip() or state.words,
        empties=0,
        spent=Spent(spent.rounds + 1, spent.seconds, spent.usage, spent.last_tokens, spent.failures),
    )


def _inner_calls(state: RunState) -> list[InnerCall]:
    """The calls that tools made in the round that closes."""
    at = len(state.transcript) + 1
    return [
        InnerCall(at, call.call, call.result)
        for call in state.inner
        if call.call is not None and call.result is not None and not call.background
    ]


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


def _started(state: RunState, entry: Started) -> RunState:
    return _with_call(state, entry.call_id, key=entry.key, attempts=entry.attempt, began_at=entry.at, question=None)


def _previewed(state: RunState, entry: Previewed) -> RunState:
    return _with_call(state, entry.call_id, preview=entry.text, seal=entry.seal, covers=entry.covers)


def _unclear(state: RunState, entry: Unclear) -> RunState:
    return _with_call(state, entry.call_id, question=UnclearQuestion(entry.reason, entry.at))


def _shortened(state: RunState, entry: Shortened) -> RunState:
    return replace(state, history=shorten_results(state.history, entry.call_ids))


def _overflowed(state: RunState, entry: Overflowed) -> RunState:
    capacity = min(entry.size if state.capacity is None else state.capacity, entry.size) * 6 // 10
    return replace(state, capacity=capacity, overflowed=entry.reason, spent=_spending(state.spent, entry.usage))


def _finished(state: RunState, entry: Finished) -> RunState:
    return replace(state, finished=entry, spent=_spending(state.spent, entry.usage))


def _resumed(state: RunState, entry: Resumed) -> RunState:
    return replace(state, finished=None, empties=0, filtered=False, notes=0, rejections=0)


def _forked(state: RunState, entry: Forked) -> RunState:
    return state


_APPLY: dict[type[Entry], Callable[[RunState, Any], RunState]] = {  # how each kind of entry changes the state
    Opened: _opened,
    Said: _said,
    Steered: _steered,
    Delivered: _delivered,
    Informed: _informed,
    Replied: _replied,
    Judged: _judged,
    Previewed: _previewed,
    Approved: _approved,
    Refused: _refused,
    Started: _started,
    Unclear: _unclear,
    Settled: _settled,
    Called: _called,
    Awaited: _awaited,
    Woken: _woken,
    Returned: _returned,
    Noted: _noted,
    Shortened: _shortened,
    Compacted: _compacted,
    Overflowed: _overflowed,
    Finished: _finished,
    Resumed: _resumed,
    Forked: _forked,
}
