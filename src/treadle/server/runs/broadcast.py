"""What happens in one run, numbered and kept for a while, for any number of readers: each has a number, nobody has a queue.

A reader that stops reading costs nothing here; when it comes back it is told how much it missed. Who reads is `reading`.
"""

import asyncio
from itertools import groupby
from os import urandom

from msgspec import Struct
from msgspec.structs import replace

from treadle.core.events import TextArrived, ThinkingArrived
from treadle.server.runs.events import Reply, Told, encode, ended

MOST = 5_000  # events that are kept
MOST_BYTES = 4 * 1024 * 1024  # of them together
AT_ONCE = 256 * 1024  # bytes that a reader is given at once
SPARE = 64  # places before the oldest event after which they are tidied away

Piece = TextArrived | ThinkingArrived


class Item(Struct, frozen=True):
    """An event, encoded once for all readers. A `piece` of text can be joined with those beside it."""

    number: int
    data: bytes
    piece: Piece | None = None


class Mark(Struct, frozen=True):
    """Where journal and events meet: all events up to `number` are told by the first `position` entries, and none after it."""

    position: int
    number: int


class Broadcast:
    """The events of one run, from its first turn that was begun here on. An `epoch` is never used twice."""

    def __init__(self, most: int = MOST, most_bytes: int = MOST_BYTES) -> None:
        self.epoch = urandom(6).hex()
        self.last = 0  # the number of the newest event
        self.size = 0  # bytes that are kept
        self.is_over = True  # no turn is under way
        self.is_hushed = False  # nobody is told any more
        self._most = most
        self._most_bytes = most_bytes
        self._items: list[Item] = []
        self._gone = 0  # of those at the beginning
        self._marks: list[Mark] = []
        self._reply: Reply | None = None  # where it is the newest event
        self._news = asyncio.Event()

    @property
    def first(self) -> int:
        """The number of the oldest event that is kept."""
        return self.last - (len(self._items) - self._gone) + 1

    # what happens

    def begin(self, position: int) -> None:
        """A turn begins, after so many entries."""
        self.is_over = False
        self.mark(position)

    def mark(self, position: int) -> None:
        """The first `position` entries of the journal tell all that happened so far."""
        self._marks = [*[mark for mark in self._marks if mark.number >= self.first - 1], Mark(position, self.last)]

    def publish(self, event: Told) -> None:
        """Something happened. What was the last word of a turn until now isn't any more."""
        if self._reply is not None:
            self._not_the_last(self._reply)
        self.last += 1
        item = Item(self.last, encode(event), event if isinstance(event, Piece) else None)
        self._items.append(item)
        self.size += len(item.data)
        while len(self._items) - self._gone > self._most or (self.size > self._most_bytes and self.first < self.last):
            self.size -= len(self._items[self._gone].data)
            self._gone += 1
        if self._gone > max(SPARE, len(self._items) // 2):
            del self._items[: self._gone]
            self._gone = 0
        self._wake()

    def end(self, reply: Reply | None) -> None:
        """The turn is over; without a reply, nothing is said about it."""
        self.is_over = True
        if reply is not None:
            self.publish(reply)
            self._reply = reply
        self._wake()

    def _not_the_last(self, reply: Reply) -> None:
        data = encode(ended(reply))
        self.size += len(data) - len(self._items[-1].data)
        self._items[-1] = replace(self._items[-1], data=data)
        self._reply = None

    def hush(self) -> None:
        """Nobody is told anything more: the server stops."""
        self.is_hushed = True
        self._wake()

    def let_go(self) -> None:
        """Keep only how it ended: it was a while ago."""
        self._items, self._gone = self._items[-1:], 0
        self.size = sum([len(item.data) for item in self._items])

    def _wake(self) -> None:
        news, self._news = self._news, asyncio.Event()
        news.set()

    # for readers

    def meeting(self, entries: int) -> Mark | None:
        """Where a reader of the journal's first `entries` goes on: as early as nothing is missing yet, if there is such a place.

        None where so much has happened since the journal was read that it has to be read again.
        """
        known = [mark for mark in self._marks if mark.position <= entries]
        return next((mark for mark in known if mark.number >= self.first - 1), known[-1] if known else None)

    def since(self, number: int) -> tuple[int, list[Item]]:
        """How many events after this number are gone, and those that follow, as many as are given at once."""
        at = self._gone + max(number + 1 - self.first, 0)
        missed, size, found = max(self.first - 1 - number, 0), 0, list[Item]()
        for item in self._items[at : at + self._most]:
            found.append(item)
            size += len(item.data)
            if size > AT_ONCE:
                break
        return missed, found

    async def news(self, number: int) -> bool:
        """Wait until there is something after this number. False where nothing comes any more."""
        while self.last <= number and not self.is_over and not self.is_hushed:
            await self._news.wait()
        return self.last > number and not self.is_hushed


def joined(items: list[Item]) -> list[Item]:
    """Pieces of text that follow one another as one, with the number of the last."""
    made: list[Item] = []
    for kind, group in groupby(items, lambda item: (type(item.piece), item.piece and item.piece.run_id)):
        members = list(group)
        made += members if kind[1] is None or len(members) == 1 else [_one(members)]
    return made


def _one(members: list[Item]) -> Item:
    last = members[-1]
    assert last.piece is not None, "only pieces of text are joined"
    whole = replace(last.piece, text="".join([item.piece.text for item in members if item.piece is not None]))
    return Item(last.number, encode(whole))
