"""A journal told as events, much as they were told when it was written. Pure; results that are too large are bounded, as then.

Secrets among arguments are masked, as they were. What passes without an entry, such as progress, isn't told again.
"""

from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, assert_never

from msgspec.structs import replace

from treadle.core.calls import Call, Opaque, Result, Written
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
from treadle.core.events import (
    CallArrived,
    CallJudged,
    CallReturned,
    CallStarted,
    ModelAsked,
    ModelNoticed,
    ReplyArrived,
    RunStarted,
    TextArrived,
    ThinkingArrived,
)
from treadle.core.messages import ReplyPart, Text, Thinking
from treadle.engine.approval import approval_of
from treadle.engine.people import needed
from treadle.engine.setup import APPROVALS_EXPIRE, Approval
from treadle.guard.redaction import Redactor
from treadle.loop.answers import refusal, settlement
from treadle.loop.state import RunState, apply, find_call, replay
from treadle.server.runs.events import PersonSaid, Reply, Told, TurnEnded, bounded, ended, masked
from treadle.server.wires.foreign import is_handed

STRANDED = "This run isn't under way here, and not over either; resume it to have it carried on."

Journals = Mapping[str, Sequence[Entry]]  # a run's, first, and those of the runs inside of it
_REDACTOR = Redactor()


def told(run_id: str, journals: Journals, position: int | None = None) -> list[Told]:
    """What the first `position` entries of a run tell, or all; the runs inside of it are told where they happened.

    Every turn ends with `run_ended`, also the last: that it is the last, and the end of all, says `reply_of`.
    """
    entries = journals[run_id]
    count = len(entries) if position is None else position
    before = entries[count].at if count < len(entries) else None
    kept = {run_id: entries[:count], **_inside(run_id, journals, entries[:count], before)}
    tellers = {each: _Teller(each) for each in kept}
    return [event for each, entry in _in_order(run_id, kept) for event in tellers[each].tell(entry)]


def _inside(run_id: str, journals: Journals, entries: Sequence[Entry], before: float | None) -> dict[str, Sequence[Entry]]:
    """The runs inside of these entries, as far as they had come by then."""
    judged = {f"{run_id}.{entry.call.id}" for entry in entries if isinstance(entry, Judged)}
    found: dict[str, Sequence[Entry]] = {}
    for inner, theirs in journals.items():
        if any(inner == child or inner.startswith(f"{child}.") for child in judged):
            found[inner] = [entry for entry in theirs if before is None or entry.at < before]
    return found


def _in_order(run_id: str, journals: Journals) -> Iterator[tuple[str, Entry]]:
    """The entries of a run and of those inside of it, by time; what a call brought comes before its result."""
    inside = [deque(_in_order(child, journals)) for child, entries in journals.items() if _parent(entries) == run_id]
    for entry in journals[run_id]:
        if not isinstance(entry, Judged):
            for waiting in inside:
                while waiting and waiting[0][1].at <= entry.at:
                    yield waiting.popleft()
        yield run_id, entry
    for waiting in inside:
        yield from waiting


def _parent(entries: Sequence[Entry]) -> str:
    return next((entry.parent for entry in entries if isinstance(entry, Opened)), "")


def whole(run_id: str, journals: Journals, data: Any = None) -> list[Told]:
    """All that a run's journal tells, with the one `reply` at its end."""
    events, reply = told(run_id, journals), reply_of(run_id, journals, data=data)
    if reply.stopped != "open":
        ends = [number for number, event in enumerate(events) if isinstance(event, TurnEnded) and event.run_id == run_id]
        del events[ends[-1]]
    return [*events, reply]


def reply_of(run_id: str, journals: Journals, approvals: Sequence[Approval] | None = None, *, data: Any = None) -> Reply:
    """How a run stands, as its last event. What waits is looked up where it isn't handed in."""
    state = replay(journals[run_id])
    waiting = waiting_in(journals) if approvals is None else approvals
    return _reply(run_id, state, [masked(approval, _REDACTOR) for approval in waiting], data)


def _reply(run_id: str, state: RunState, approvals: Sequence[Approval] = (), data: Any = None) -> Reply:
    finished = state.finished
    usage = state.spent.usage
    return Reply(
        run_id=run_id,
        message=finished.text if finished else "",
        stopped=finished.stopped if finished else "open",
        reason=finished.reason if finished else STRANDED,
        approvals=tuple(approvals) if finished is not None and finished.stopped == "waiting" else (),
        tokens_used=usage.total_tokens,
        cost=usage.cost,
        seconds=round(state.spent.seconds, 3),
        data=data if finished is not None else None,
    )


def waiting_in(journals: Journals) -> list[Approval]:
    """What a person has to answer before a run can go on, in it and in those inside of it. Nothing is masked."""
    return [approval for run_id, entries in journals.items() for approval in _waiting(run_id, replay(entries))]


def _waiting(run_id: str, state: RunState) -> list[Approval]:
    """What isn't for a program that brought its own tools."""
    waiting = [call for call in (*state.calls, *state.inner) if call.waits and (call.unclear or not is_handed(call.verdict))]
    return [approval_of(run_id, call, APPROVALS_EXPIRE) for call in waiting]


class _Teller:
    """Tells the entries of one run, one after the other."""

    def __init__(self, run_id: str) -> None:
        self._run_id = run_id
        self._state = RunState()
        self._started: set[str] = set()

    def tell(self, entry: Entry) -> list[Told]:
        """What one more entry tells."""
        before, self._state = self._state, apply(self._state, entry)
        return list(self._events(entry, before))

    def _events(self, entry: Entry, before: RunState) -> Iterator[Told]:  # noqa: C901 - one case for each kind of entry
        match entry:
            case Said():
                yield RunStarted(run_id=self._run_id)
                yield from self._said(entry, before)
            case Resumed():
                yield RunStarted(run_id=self._run_id, resumed=True)
            case Replied():
                yield from self._replied(entry, before)
            case Judged():
                yield self._judged(entry)
            case Started():
                yield from self._begins(entry.call_id, before, entry.at)
            case Returned():
                yield from self._returned(entry, before)
            case Refused():
                yield from self._refused(entry, before)
            case Settled():
                yield from self._settled(entry, before)
            case Finished():
                yield from self._finished(entry)
            case Opened() | Called() | Previewed() | Approved() | Unclear() | Noted() | Shortened() | Forked():
                pass
            case _:
                assert_never(entry)

    def _judged(self, entry: Judged) -> Told:
        verdict = replace(entry.verdict, reason=_REDACTOR.text(entry.verdict.reason))
        return CallJudged(run_id=self._run_id, call=_shown(entry.call), verdict=verdict, mended=_REDACTOR.text(entry.mended))

    def _said(self, entry: Said, before: RunState) -> Iterator[Told]:
        """In a run inside of another it isn't a person who speaks."""
        if before.opened is None or not before.opened.parent:
            yield PersonSaid(run_id=self._run_id, text=_REDACTOR.text(entry.text))

    def _replied(self, entry: Replied, before: RunState) -> Iterator[Told]:
        if not before.reply_open:
            model = before.opened.model if before.opened else ""
            yield ModelAsked(run_id=self._run_id, round=before.spent.rounds + 1, model=model)
        for notice in entry.notices:
            yield ModelNoticed(run_id=self._run_id, text=notice)
        for part in entry.parts:
            if (told := self._part(part)) is not None:
                yield told
        if not entry.more:
            yield ReplyArrived(run_id=self._run_id, usage=self._state.spent.usage)

    def _part(self, part: ReplyPart) -> Told | None:
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

    def _begins(self, call_id: str, before: RunState, at: float) -> Iterator[Told]:
        found = find_call(before, call_id)
        if found is not None and found.call is not None:
            self._started.add(call_id)
            yield CallStarted(run_id=self._run_id, call=_shown(found.call), at=at)

    def _returned(self, entry: Returned, before: RunState) -> Iterator[Told]:
        """A call that only reads has no entry for its beginning."""
        call_id = entry.result.call_id
        if call_id not in self._started and entry.result.problem not in ("denied", "cancelled", "interrupted"):
            yield from self._begins(call_id, before, entry.at - entry.seconds)
        self._started.discard(call_id)
        yield self._came_back(entry.result, entry.seconds, cached=entry.cached)

    def _refused(self, entry: Refused, before: RunState) -> Iterator[Told]:
        found = find_call(before, entry.call_id)
        if found is not None and found.result is None:
            yield self._came_back(refusal(found.id, found.name, entry))

    def _settled(self, entry: Settled, before: RunState) -> Iterator[Told]:
        found = find_call(before, entry.call_id)
        result = None if found is None or not found.unclear else settlement(found.id, found.name, entry)
        if result is not None:
            self._started.discard(entry.call_id)
            yield self._came_back(result)

    def _came_back(self, result: Result, seconds: float = 0.0, *, cached: bool = False) -> Told:
        return CallReturned(run_id=self._run_id, result=bounded(result), seconds=seconds, cached=cached)

    def _finished(self, entry: Finished) -> Iterator[Told]:
        if entry.stopped == "waiting":
            for approval in _waiting(self._run_id, self._state):
                yield self._asked(approval)
        yield self._ended()

    def _asked(self, approval: Approval) -> Told:
        call = _shown(Call(approval.call_id, approval.name, approval.arguments))
        return needed(masked(approval, _REDACTOR), call)

    def _ended(self) -> TurnEnded:
        return ended(_reply(self._run_id, self._state))


def _shown(call: Call) -> Call:
    return Call(call.id, call.name, _REDACTOR.value(call.arguments))
