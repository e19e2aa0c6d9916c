"""The events of one run, numbered and buffered, for any number of readers: each has a number, none has a queue.

A reader that stops reading costs nothing here; when it comes back it learns how much it missed. `sse` has the
readers.
"""

import asyncio
from itertools import groupby
from os import urandom

from msgspec import Struct
from msgspec.structs import replace

from treadle.core.events import TextArrived, ThinkingArrived
from treadle.server.runs.events import RunReply, StreamEvent, encode, turn_ended_from

MAX_ITEMS = 5_000  # events that are kept
MAX_BYTES = 4 * 1024 * 1024  # of them together
BATCH_BYTES = 256 * 1024  # bytes that a reader is given at once
SPARE = 64  # places before the oldest event after which they are tidied away

Piece = TextArrived | ThinkingArrived


class BroadcastItem(Struct, frozen=True):
    """An event, encoded once for all readers. A `piece` of text can be merged with adjacent ones."""

    number: int
    data: bytes
    piece: Piece | None = None


class JournalMark(Struct, frozen=True):
    """Where journal and events meet: the first `position` entries contain all events up to `number`, and none after it."""

    position: int
    number: int


class Broadcast:
    """The events of one run, since its first turn that was started here. An `epoch` is never reused."""

    def __init__(self, most: int = MAX_ITEMS, most_bytes: int = MAX_BYTES) -> None:
        self.epoch = urandom(6).hex()
        self.last = 0  # the number of the newest event
        self.size = 0  # bytes that are kept
        self.is_over = True  # no turn is under way
        self.is_hushed = False  # no more events are sent
        self._most = most
        self._most_bytes = most_bytes
        self._items: list[BroadcastItem] = []
        self._gone = 0  # of those at the beginning
        self._marks: list[JournalMark] = []
        self._reply: RunReply | None = None  # where it is the newest event
        self._news = asyncio.Event()

    @property
    def first(self) -> int:
        """The number of the oldest buffered event."""
        return self.last - (len(self._items) - self._gone) + 1

    # what happens

    def begin(self, position: int) -> None:
        """Start a turn, after so many entries."""
        self.is_over = False
        self.mark(position)

    def mark(self, position: int) -> None:
        """Record that the first `position` entries of the journal contain all events so far."""
        self._marks = [*[mark for mark in self._marks if mark.number >= self.first - 1], JournalMark(position, self.last)]

    def publish(self, event: StreamEvent) -> None:
        """Publish an event. A reply that was the last event until now becomes a `TurnEnded`."""
        if self._reply is not None:
            self._demote_reply(self._reply)
        self.last += 1
        item = BroadcastItem(self.last, encode(event), event if isinstance(event, Piece) else None)
        self._items.append(item)
        self.size += len(item.data)
        while len(self._items) - self._gone > self._most or (self.size > self._most_bytes and self.first < self.last):
            self.size -= len(self._items[self._gone].data)
            self._gone += 1
        if self._gone > max(SPARE, len(self._items) // 2):
            del self._items[: self._gone]
            self._gone = 0
        self._wake()

    def end(self, reply: RunReply | None) -> None:
        """End the turn; without a reply, no event is published."""
        self.is_over = True
        if reply is not None:
            self.publish(reply)
            self._reply = reply
        self._wake()

    def _demote_reply(self, reply: RunReply) -> None:
        data = encode(turn_ended_from(reply))
        self.size += len(data) - len(self._items[-1].data)
        self._items[-1] = replace(self._items[-1], data=data)
        self._reply = None

    def hush(self) -> None:
        """Stop all readers: the server stops."""
        self.is_hushed = True
        self._wake()

    def let_go(self) -> None:
        """Drop all events but the last one: the turn ended a while ago."""
        self._items, self._gone = self._items[-1:], 0
        self.size = sum([len(item.data) for item in self._items])

    def _wake(self) -> None:
        news, self._news = self._news, asyncio.Event()
        news.set()

    # for readers

    def meeting(self, entries: int) -> JournalMark | None:
        """Return the mark from which a reader of the journal's first `entries` continues: the earliest one without a gap.

        None where so much has happened since the journal was read that it has to be read again.
        """
        known = [mark for mark in self._marks if mark.position <= entries]
        return next((mark for mark in known if mark.number >= self.first - 1), known[-1] if known else None)

    def since(self, number: int) -> tuple[int, list[BroadcastItem]]:
        """Return how many events after this number are gone, and the next batch of those that follow."""
        at = self._gone + max(number + 1 - self.first, 0)
        missed, size, found = max(self.first - 1 - number, 0), 0, list[BroadcastItem]()
        for item in self._items[at : at + self._most]:
            found.append(item)
            size += len(item.data)
            if size > BATCH_BYTES:
                break
        return missed, found

    async def news(self, number: int) -> bool:
        """Wait until there is an event after this number. Return False where none will come."""
        while self.last <= number and not self.is_over and not self.is_hushed:
            await self._news.wait()
        return self.last > number and not self.is_hushed


def merge_text_items(items: list[BroadcastItem]) -> list[BroadcastItem]:
    """Merge adjacent pieces of text into one, with the number of the last."""
    made: list[BroadcastItem] = []
    for kind, group in groupby(items, lambda item: (type(item.piece), item.piece and item.piece.run_id)):
        members = list(group)
        made += members if kind[1] is None or len(members) == 1 else [_merge_items(members)]
    return made


def _merge_items(members: list[BroadcastItem]) -> BroadcastItem:
    last = members[-1]
    assert last.piece is not None, "only pieces of text are joined"
    whole = replace(last.piece, text="".join([item.piece.text for item in members if item.piece is not None]))
    return BroadcastItem(last.number, encode(whole))
