"""Events from a journal, much as they were published when it was written.

Pure; results that are too large are truncated, as then.

Secrets in arguments are masked, as they were. What has no entry, such as progress, isn't replayed.
"""

from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, assert_never

from msgspec.structs import replace

from treadle.core.calls import Call, Opaque, Result, Written
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
from treadle.core.events import (
    AnswerUngrounded,
    CallArrived,
    CallJudged,
    CallReturned,
    CallStarted,
    ContextLoaded,
    MessageDelivered,
    MessageReceived,
    ModelAsked,
    ModelNoticed,
    NoToolFit,
    PathStep,
    ReplyArrived,
    RunStarted,
    TextArrived,
    ThinkingArrived,
)
from treadle.core.messages import ReplyPart, Text, Thinking
from treadle.engine.agent_context import context_sources
from treadle.engine.approval import build_approval
from treadle.engine.inline_approval import approval_event
from treadle.engine.setup import APPROVALS_EXPIRE, Approval
from treadle.guard.redaction import Redactor
from treadle.loop.answers import refusal_result, settlement_result
from treadle.loop.compaction import compaction_notice
from treadle.loop.state import RunState, apply_entry, find_call, replay
from treadle.server.compat.client_tools import is_client_call
from treadle.server.runs.events import (
    PersonSaid,
    RunReply,
    StreamEvent,
    TurnEnded,
    mask_pending_approval,
    truncate_result,
    turn_ended_from,
)

ABANDONED = "This run isn't under way here, and not over either; resume it to have it carried on."

Journals = Mapping[str, Sequence[Entry]]  # a run's, first, and those of the runs inside of it
REDACTOR = Redactor()


def events_from_journal(run_id: str, journals: Journals, position: int | None = None) -> list[StreamEvent]:
    """Return the events of the first `position` entries of a run, or of all; nested runs are included where they happened.

    Every turn ends with `run_ended`, also the last: `reply_from_journal` says that it is the last, and the end of the
    stream.
    """
    entries = journals[run_id]
    count = len(entries) if position is None else position
    before = entries[count].at if count < len(entries) else None
    kept = {run_id: entries[:count], **_nested_journals(run_id, journals, entries[:count], before)}
    translators = {each: EntryTranslator(each, path_of(each, journals)) for each in kept}
    return [event for each, entry in _order_entries(run_id, kept) for event in translators[each].translate(entry)]


def _nested_journals(run_id: str, journals: Journals, entries: Sequence[Entry], before: float | None) -> dict[str, Sequence[Entry]]:
    """Return the runs nested in these entries, as far as they had come by then."""
    judged = {f"{run_id}.{entry.call.id}" for entry in entries if isinstance(entry, Judged)}
    found: dict[str, Sequence[Entry]] = {}
    for inner, theirs in journals.items():
        if any(inner == child or inner.startswith(f"{child}.") for child in judged):
            found[inner] = [entry for entry in theirs if before is None or entry.at < before]
    return found


def _order_entries(run_id: str, journals: Journals) -> Iterator[tuple[str, Entry]]:
    """Yield the entries of a run and of nested ones, by time; those of a call come before its result."""
    inside = [deque(_order_entries(child, journals)) for child, entries in journals.items() if _opened(entries).parent == run_id]
    for entry in journals[run_id]:
        if not isinstance(entry, Judged):
            for waiting in inside:
                while waiting and waiting[0][1].at <= entry.at:
                    yield waiting.popleft()
        yield run_id, entry
    for waiting in inside:
        yield from waiting


def _opened(entries: Sequence[Entry]) -> Opened:
    return next((entry for entry in entries if isinstance(entry, Opened)), Opened())


def path_of(run_id: str, journals: Journals) -> tuple[PathStep, ...]:
    """Return the path of a run's events; empty for the outermost run that is known here."""
    opened = _opened(journals[run_id])
    if opened.parent not in journals:
        return ()
    return (*path_of(opened.parent, journals), PathStep(opened.parent, opened.within, opened.agent))


def all_events(run_id: str, journals: Journals, data: Any = None) -> list[StreamEvent]:
    """Return all events of a run's journal, with the one `reply` at its end."""
    events, reply = events_from_journal(run_id, journals), reply_from_journal(run_id, journals, data=data)
    if reply.stopped != "open":
        ends = [number for number, event in enumerate(events) if isinstance(event, TurnEnded) and event.run_id == run_id]
        del events[ends[-1]]
    return [*events, reply]


def reply_from_journal(
    run_id: str, journals: Journals, approvals: Sequence[Approval] | None = None, *, data: Any = None
) -> RunReply:
    """Return the state of a run as its last event. Pending approvals are looked up where they aren't given."""
    state = replay(journals[run_id])
    waiting = find_pending_approvals(journals) if approvals is None else approvals
    return make_reply(run_id, state, [mask_pending_approval(approval, REDACTOR) for approval in waiting], data)


def make_reply(run_id: str, state: RunState, approvals: Sequence[Approval] = (), data: Any = None) -> RunReply:
    """Return the state of a run as its last event. Approvals are masked already."""
    finished = state.finished
    usage = state.spent.usage
    return RunReply(
        run_id=run_id,
        message=finished.text if finished else "",
        stopped=finished.stopped if finished else "open",
        reason=finished.reason if finished else ABANDONED,
        approvals=tuple(approvals) if finished is not None and finished.stopped == "waiting" else (),
        tokens_used=usage.total_tokens,
        cost=usage.cost,
        seconds=round(state.spent.seconds, 3),
        data=data if finished is not None else None,
        ungrounded=finished.ungrounded if finished is not None else (),
    )


def find_pending_approvals(journals: Journals) -> list[Approval]:
    """Return the pending approvals of a run and of nested ones. Nothing is masked."""
    return [approval for run_id, entries in journals.items() for approval in _pending_approvals(run_id, replay(entries))]


def _pending_approvals(run_id: str, state: RunState) -> list[Approval]:
    """Return the pending approvals, without calls that a client with its own tools executes."""
    waiting = [call for call in (*state.calls, *state.inner) if call.waits and (call.unclear or not is_client_call(call.verdict))]
    return [build_approval(run_id, call, APPROVALS_EXPIRE) for call in waiting]


class EntryTranslator:
    """Translates the entries of one run into events, one after the other."""

    def __init__(self, run_id: str, path: tuple[PathStep, ...]) -> None:
        self._run_id = run_id
        self._path = path
        self.state = RunState()
        self._started: set[str] = set()

    def translate(self, entry: Entry) -> list[StreamEvent]:
        """Return the events of one more entry."""
        before, self.state = self.state, apply_entry(self.state, entry)
        events = self._events(entry, before)
        return [replace(event, path=self._path) for event in events] if self._path else list(events)

    def _events(self, entry: Entry, before: RunState) -> Iterator[StreamEvent]:  # noqa: C901 - one case for each kind of entry
        match entry:
            case Said():
                yield RunStarted(run_id=self._run_id)
                yield from self._said(entry, before)
            case Steered():
                if self.state.steering != before.steering:  # not the same message again
                    yield MessageReceived(run_id=self._run_id, message_id=entry.id, text=REDACTOR.text(entry.text))
            case Delivered():
                for message in before.steering:
                    if message.id in entry.message_ids:
                        yield MessageDelivered(run_id=self._run_id, message_id=message.id, text=REDACTOR.text(message.text))
            case Resumed():
                yield RunStarted(run_id=self._run_id, resumed=True)
            case Replied():
                yield from self._replied(entry, before)
            case Judged():
                yield self._judged(entry)
            case Started():
                yield from self._call_started(entry.call_id, before, entry.at)
            case Returned():
                yield from self._returned(entry, before)
            case Refused():
                yield from self._refused(entry, before)
            case Settled():
                yield from self._settled(entry, before)
            case Finished():
                yield from self._finished(entry)
            case Compacted():
                yield ModelNoticed(run_id=self._run_id, text=compaction_notice(entry))
            case Informed() if entry.items:
                yield ContextLoaded(run_id=self._run_id, sources=context_sources(entry.items))
            case Noted() if entry.ungrounded:
                yield AnswerUngrounded(run_id=self._run_id, values=entry.ungrounded)
            case Opened() | Informed() | Called() | Previewed() | Approved() | Unclear() | Noted() | Shortened():
                pass
            case Overflowed() | Forked():
                pass
            case Awaited() | Woken():
                pass
            case _:
                assert_never(entry)

    def _judged(self, entry: Judged) -> StreamEvent:
        verdict = replace(entry.verdict, reason=REDACTOR.text(entry.verdict.reason))
        return CallJudged(run_id=self._run_id, call=_mask_call(entry.call), verdict=verdict, mended=REDACTOR.text(entry.mended))

    def _said(self, entry: Said, before: RunState) -> Iterator[StreamEvent]:
        """Translate a message. In a nested run it isn't a user's."""
        if before.opened is None or not before.opened.parent:
            yield PersonSaid(run_id=self._run_id, text=REDACTOR.text(entry.text))

    def _replied(self, entry: Replied, before: RunState) -> Iterator[StreamEvent]:
        if not before.reply_open:
            model = before.opened.model if before.opened else ""
            yield ModelAsked(run_id=self._run_id, round=before.spent.rounds + 1, model=model)
        for notice in entry.notices:
            yield ModelNoticed(run_id=self._run_id, text=notice)
        if entry.decision is not None and not entry.decision.called:
            yield NoToolFit(run_id=self._run_id, probability=entry.decision.probability)
        for part in entry.parts:
            if (told := self._part(part)) is not None:
                yield told
        if not entry.more:
            yield ReplyArrived(run_id=self._run_id, usage=self.state.spent.usage)

    def _part(self, part: ReplyPart) -> StreamEvent | None:
        match part:
            case Text():
                return TextArrived(run_id=self._run_id, text=part.text)
            case Thinking():
                return ThinkingArrived(run_id=self._run_id, text=part.text)
            case Written():
                return CallArrived(run_id=self._run_id, call_id=part.id, name=part.name)
            case Opaque():
                return None
            case _:
                assert_never(part)

    def _call_started(self, call_id: str, before: RunState, at: float) -> Iterator[StreamEvent]:
        found = find_call(before, call_id)
        if found is not None and found.call is not None:
            self._started.add(call_id)
            yield CallStarted(run_id=self._run_id, call=_mask_call(found.call), at=at)

    def _returned(self, entry: Returned, before: RunState) -> Iterator[StreamEvent]:
        """Translate a result. A call that only reads has no entry for its start."""
        call_id = entry.result.call_id
        if call_id not in self._started and entry.result.problem not in ("denied", "cancelled", "interrupted"):
            yield from self._call_started(call_id, before, entry.at - entry.seconds)
        self._started.discard(call_id)
        yield self._call_returned(entry.result, entry.seconds, cached=entry.cached)

    def _refused(self, entry: Refused, before: RunState) -> Iterator[StreamEvent]:
        found = find_call(before, entry.call_id)
        if found is not None and found.result is None:
            yield self._call_returned(refusal_result(found.id, found.name, entry))

    def _settled(self, entry: Settled, before: RunState) -> Iterator[StreamEvent]:
        found = find_call(before, entry.call_id)
        result = None if found is None or not found.unclear else settlement_result(found.id, found.name, entry)
        if result is not None:
            self._started.discard(entry.call_id)
            yield self._call_returned(result)

    def _call_returned(self, result: Result, seconds: float = 0.0, *, cached: bool = False) -> StreamEvent:
        return CallReturned(run_id=self._run_id, result=truncate_result(result), seconds=seconds, cached=cached)

    def _finished(self, entry: Finished) -> Iterator[StreamEvent]:
        if entry.stopped == "waiting":
            for approval in _pending_approvals(self._run_id, self.state):
                yield self._approval_needed(approval)
        yield self._turn_ended()

    def _approval_needed(self, approval: Approval) -> StreamEvent:
        call = _mask_call(Call(approval.call_id, approval.name, approval.arguments))
        return approval_event(mask_pending_approval(approval, REDACTOR), call)

    def _turn_ended(self) -> TurnEnded:
        return turn_ended_from(make_reply(self._run_id, self.state))


def _mask_call(call: Call) -> Call:
    return Call(call.id, call.name, REDACTOR.value(call.arguments))
