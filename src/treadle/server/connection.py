"""One connection: HTTP as uvicorn speaks it, with an end to patience.

Nobody has to be known to open a connection, to begin a request and never end it, or to ask for much and read none of it. A head
has to come in time, a body has to keep coming, what is sent has to be taken; and where there are too many connections, those that
ask for nothing go first.
"""

import asyncio
import sys
from typing import Any, Literal, cast

import h11
from msgspec import Struct
from uvicorn.protocols.http.h11_impl import H11Protocol

FEWEST, MOST = 16, 4_000  # connections
OTHER_FILES = 64  # that a server has open besides

Awaited = Literal["head", "body", ""]


class Patience(Struct, frozen=True):
    """How long is waited, and for how many.

    head   seconds in which the head of a request has to come, from when it may begin
    body   seconds in which a piece of its body has to come
    least  bytes of such a piece
    stall  seconds in which something of what is sent has to be taken
    most   connections at once
    """

    head: float = 20.0
    body: float = 30.0
    least: int = 16 * 1024
    stall: float = 60.0
    most: int = MOST


def patience() -> Patience:
    """As much as this machine lets us have: connections are three quarters of the files that a process may have open besides."""
    if sys.platform == "win32":  # where there is no such limit
        return Patience()
    from resource import RLIM_INFINITY, RLIMIT_NOFILE, getrlimit

    soft = getrlimit(RLIMIT_NOFILE)[0]
    return Patience() if soft == RLIM_INFINITY else Patience(most=max(FEWEST, min(MOST, (soft - OTHER_FILES) * 3 // 4)))


class Connection(H11Protocol):
    """A connection that ends when whoever is at its other end doesn't go on."""

    def __init__(self, *given: Any, patience: Patience, **more: Any) -> None:
        super().__init__(*given, **more)
        self._patience = patience
        self.awaited: Awaited = ""  # what has to come next
        self.since = 0.0
        self._late: asyncio.TimerHandle | None = None
        self._stalled: asyncio.TimerHandle | None = None
        self._come = self._seen = 0  # bytes: all, and those up to the last look

    # what comes

    def connection_made(self, transport: asyncio.Transport) -> None:  # pyright: ignore[reportIncompatibleMethodOverride] # as uvicorn
        """Somebody has connected. Where there are too many, whoever has asked for nothing for longest makes room."""
        super().connection_made(transport)
        self._await_next()
        if len(self.connections) > self._patience.most:
            self._make_room()

    def data_received(self, data: bytes) -> None:
        """A piece of a request."""
        self._come += len(data)
        super().data_received(data)
        self._await_next()

    def on_response_complete(self) -> None:
        """An answer was sent; another request may come."""
        super().on_response_complete()
        self._await_next()

    def _await_next(self) -> None:
        awaited = self._next()
        if awaited == self.awaited:
            return
        self.awaited, self.since = awaited, self.loop.time()
        self._look_after({"head": self._patience.head, "body": self._patience.body, "": None}[awaited])

    def _next(self) -> Awaited:
        state = self.conn.their_state
        return "head" if state is h11.IDLE else "body" if state is h11.SEND_BODY else ""

    def _look_after(self, seconds: float | None) -> None:
        if self._late is not None:
            self._late.cancel()
        self._seen = self._come
        self._late = None if seconds is None else self.loop.call_later(seconds, self._look)

    def _look(self) -> None:
        """Time is over. A body may go on that has come some way since, or that nobody here has read yet."""
        if self.awaited == "body" and (self.flow.read_paused or self._come - self._seen >= self._patience.least):
            self._look_after(self._patience.body)
        else:
            self.transport.abort()

    def _make_room(self) -> None:
        everybody = cast("set[Connection]", self.connections)  # one server makes them all
        there = [each for each in everybody if not each.transport.is_closing()]
        waiting = sorted([each for each in there if each.awaited == "head" and each is not self], key=lambda each: each.since)
        for each in waiting[: max(len(there) - self._patience.most, 0)]:
            each.transport.abort()

    # what is sent

    def pause_writing(self) -> None:
        """Whoever listens has fallen behind."""
        super().pause_writing()
        self._watch_stall()

    def resume_writing(self) -> None:
        """They are there again."""
        super().resume_writing()
        if self._stalled is not None:
            self._stalled.cancel()

    def _watch_stall(self) -> None:
        left = self.transport.get_write_buffer_size()
        self._stalled = self.loop.call_later(self._patience.stall, self._look_at_stall, left)

    def _look_at_stall(self, before: int) -> None:
        if self.transport.get_write_buffer_size() < before:
            self._watch_stall()
        else:
            self.transport.abort()

    def connection_lost(self, exc: Exception | None) -> None:
        """It is over."""
        super().connection_lost(exc)
        for timer in (self._late, self._stalled):
            if timer is not None:
                timer.cancel()
