"""The events of a run that another process executes, on whichever machine: made from its journal while that is written.

A reader's cursor says how many entries of the run, and of each run nested in it, it has in full, and how many events of the next
entry. Whichever server it comes back to, it continues there: nothing is missing, and nothing comes twice.
"""

import asyncio
from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import aclosing
from time import monotonic

import msgspec
from msgspec import Struct

from treadle.core.entries import Entry, Returned
from treadle.core.errors import RunNotFound
from treadle.home import Home
from treadle.server.metrics import ServerMetrics
from treadle.server.runs.events import StreamEvent, StreamReset, TurnEnded, encode, mask_pending_approval
from treadle.server.runs.journal_stream import EventCursor, format_sse
from treadle.server.runs.journals import read_journals
from treadle.server.runs.replay import REDACTOR, EntryTranslator, find_pending_approvals, make_reply, path_of
from treadle.server.runs.sse import HEARTBEAT_SECONDS, ReplyData, no_data
from treadle.workers.dispatcher import wait_for_poll
from treadle.workers.follow import JournaledEntry, JournalUpdate, follow_journals

MARK = "w"  # how the epoch of these cursors begins; others begin with a hexadecimal digit, or with j

FollowedEvent = tuple[EventCursor, StreamEvent]


class _Nested(Struct, frozen=True, array_like=True):
    """The part of a cursor that most runs don't need: the run of the entry that is in part, and entries by nested run."""

    partial: str = ""
    counts: dict[str, int] = {}


class FollowPosition(Struct):
    """How many entries a reader has of each run, and how many `events` of the next entry of the run `partial`."""

    counts: dict[str, int]
    partial: str = ""
    events: int = 0

    def to_cursor(self, run_id: str, over: frozenset[str] = frozenset()) -> EventCursor:
        """Return the cursor. Runs that are nested in calls that are `over` are left out: all of them was sent."""
        nested = {each: count for each, count in sorted(self.counts.items()) if each != run_id and not _is_within(each, over)}
        partial = "" if self.partial == run_id else self.partial
        more = _Nested(partial, nested)
        packed = "" if more == _Nested() else f"~{urlsafe_b64encode(msgspec.json.encode(more)).decode()}"
        return EventCursor(f"{MARK}{self.counts.get(run_id, 0)}{packed}", self.events)


def is_follow_cursor(cursor: EventCursor | None) -> bool:
    """Whether a cursor is of a run that another process executes."""
    return cursor is not None and cursor.epoch.startswith(MARK)


def _parse_position(run_id: str, cursor: EventCursor | None) -> FollowPosition | None:
    """Return what a cursor says; None where it can't be read."""
    if cursor is None:
        return FollowPosition({})
    count, _, packed = cursor.epoch.removeprefix(MARK).partition("~")
    if not is_follow_cursor(cursor) or not (count.isascii() and count.isdecimal() and len(count) < 16):
        return None
    try:
        more = msgspec.json.decode(urlsafe_b64decode(packed), type=_Nested) if packed else _Nested()
    except ValueError:  # both decoders raise it
        return None
    return FollowPosition({run_id: int(count), **more.counts}, more.partial or run_id, cursor.number)


def _is_within(run_id: str, calls: frozenset[str]) -> bool:
    return any(run_id == call or run_id.startswith(f"{call}.") for call in calls)


class RunFollower:
    """The events of a run for one reader, after its cursor. `data` returns what accompanies the last answer."""

    def __init__(
        self,
        home: Home,
        run_id: str,
        cursor: EventCursor | None = None,
        *,
        data: ReplyData = no_data,
        stopping: asyncio.Event | None = None,
    ) -> None:
        self._home = home
        self._run_id = run_id
        self._data = data
        self._stopping = stopping or asyncio.Event()
        self._updates = follow_journals(home, run_id, {}, self._pause)
        self._cursor = cursor
        self._position = FollowPosition({})
        self._first: dict[str, list[Entry]] = {}  # the first entry of each run
        self._translators: dict[str, EntryTranslator] = {}
        self._over: frozenset[str] = frozenset()  # runs of calls that have their results
        self._held: FollowedEvent | None = None
        self.is_over = False  # no more events will come

    async def _pause(self, seconds: float) -> None:
        await wait_for_poll(self._stopping, seconds)

    async def batches(self) -> AsyncGenerator[list[FollowedEvent]]:
        """Yield the events of each read of the journal, also where there are none, until the turn is over or the server stops."""
        async with aclosing(self._updates) as updates:
            begun = False
            async for update in updates:
                resets = not begun and self._begin(update)
                begun = True
                events: list[FollowedEvent] = [(EventCursor(f"{MARK}0", 0), StreamReset())] if resets else []
                events += [each for entry in update.entries for each in self._translate(entry)]
                if update.over and self._held is not None:
                    events.append((self._held[0], await self._reply()))
                self.is_over = update.over
                yield events
                if self._stopping.is_set():
                    return

    def _begin(self, update: JournalUpdate) -> bool:
        """Take up a reader's position. Return whether it has to start anew, because the position isn't one of this journal."""
        found = _parse_position(self._run_id, self._cursor)
        counts: dict[str, int] = {}
        for each in update.entries:
            counts[each.run_id] = each.position
        if found is None or any(count > counts.get(run_id, 0) for run_id, count in found.counts.items()):
            return True
        returned = _calls_over(self._run_id, update, found.counts)
        complete = {
            run_id: count for run_id, count in counts.items() if run_id not in found.counts and _is_within(run_id, returned)
        }
        self._position = FollowPosition({**complete, **found.counts}, found.partial, found.events)
        return False

    def _translate(self, entry: JournaledEntry) -> list[FollowedEvent]:
        """Return the events of an entry that the reader doesn't have, each with its cursor. The end of the turn is held back."""
        run_id, position = entry.run_id, self._position
        if run_id not in self._translators:
            self._first[run_id] = [entry.entry]
            self._translators[run_id] = EntryTranslator(run_id, path_of(run_id, self._first))
        events = self._translators[run_id].translate(entry.entry)
        over = self._over
        if run_id == self._run_id and isinstance(entry.entry, Returned):
            over = over | {f"{run_id}.{entry.entry.result.call_id}"}
        if entry.position <= position.counts.get(run_id, 0):
            self._over = over
            return []
        skipped = position.events if run_id == position.partial else 0
        sent: list[FollowedEvent] = []
        for number, event in enumerate(events, 1):
            if number == len(events):
                position.counts[run_id], position.partial, position.events = entry.position, "", 0
                self._over = over
            elif number > skipped:
                position.partial, position.events = run_id, number
            if number > skipped:
                sent += self._send(position.to_cursor(self._run_id, self._over), event)
        position.counts[run_id] = entry.position
        return sent

    def _send(self, cursor: EventCursor, event: StreamEvent) -> list[FollowedEvent]:
        before = [] if self._held is None else [self._held]
        ends = isinstance(event, TurnEnded) and event.run_id == self._run_id
        self._held = (cursor, event) if ends else None
        return before if ends else [*before, (cursor, event)]

    async def _reply(self) -> StreamEvent:
        waiting = find_pending_approvals(await read_journals(self._home, self._run_id))
        approvals = [mask_pending_approval(approval, REDACTOR) for approval in waiting]
        return make_reply(self._run_id, self._translators[self._run_id].state, approvals, await self._data())


def _calls_over(run_id: str, update: JournalUpdate, counts: Mapping[str, int]) -> frozenset[str]:
    """Return the runs of calls that had their results at a reader's position."""
    entries = [each.entry for each in update.entries if each.run_id == run_id and each.position <= counts.get(run_id, 0)]
    return frozenset([f"{run_id}.{entry.result.call_id}" for entry in entries if isinstance(entry, Returned)])


async def follow_lines(
    first: Sequence[FollowedEvent],
    batches: AsyncGenerator[list[FollowedEvent]],
    figures: ServerMetrics,
    beat: float = HEARTBEAT_SECONDS,
) -> AsyncGenerator[bytes]:
    """Yield the first events and further ones as server-sent events, with a heartbeat after a silence.

    A run that is deleted ends the stream.
    """
    events, sent = first, monotonic()
    with figures.reading():
        async with aclosing(batches):
            while True:
                if events:
                    figures.events_sent += len(events)
                    yield b"".join([format_sse(cursor, encode(event)) for cursor, event in events])
                    sent = monotonic()
                elif monotonic() - sent > beat:
                    yield b": still here\n\n"
                    sent = monotonic()
                try:
                    events = await anext(batches)
                except (StopAsyncIteration, RunNotFound):
                    return
