"""Uvicorn's HTTP protocol with header, body and write timeouts.

Without authentication, anyone can open a connection, start a request without ending it, or request much and read
none of it. So headers have to arrive in time, a body has to keep arriving, and responses have to be read; and where
there are too many connections, idle ones are closed first.
"""

import asyncio
import sys
from typing import Any, Literal, cast

import h11
from msgspec import Struct
from uvicorn.protocols.http.h11_impl import H11Protocol

FEWEST, MOST = 16, 4_000  # connections
OTHER_FILES = 64  # that a server has open besides

AwaitedPart = Literal["head", "body", ""]


class ConnectionLimits(Struct, frozen=True):
    """Timeouts and limits of connections.

    head   seconds in which the headers of a request have to arrive, from when it may start
    body   seconds in which a piece of its body has to arrive
    least  minimum bytes of such a piece
    stall  seconds in which some of the response has to be read
    most   maximum number of connections
    """

    head: float = 20.0
    body: float = 30.0
    least: int = 16 * 1024
    stall: float = 60.0
    most: int = MOST


def default_connection_limits() -> ConnectionLimits:
    """Return the limits for this machine: connections are three quarters of the remaining file descriptors of the process."""
    if sys.platform == "win32":  # where there is no such limit
        return ConnectionLimits()
    from resource import RLIM_INFINITY, RLIMIT_NOFILE, getrlimit

    soft = getrlimit(RLIMIT_NOFILE)[0]
    return (
        ConnectionLimits()
        if soft == RLIM_INFINITY
        else ConnectionLimits(most=max(FEWEST, min(MOST, (soft - OTHER_FILES) * 3 // 4)))
    )


class TimeoutProtocol(H11Protocol):
    """An HTTP connection that is aborted when the client doesn't make progress."""

    def __init__(self, *given: Any, patience: ConnectionLimits, **more: Any) -> None:
        super().__init__(*given, **more)
        self._patience = patience
        self.awaited: AwaitedPart = ""  # what has to come next
        self.since = 0.0
        self._late: asyncio.TimerHandle | None = None
        self._stalled: asyncio.TimerHandle | None = None
        self._come = self._seen = 0  # bytes: all, and those up to the last look

    # what comes

    def connection_made(self, transport: asyncio.Transport) -> None:  # pyright: ignore[reportIncompatibleMethodOverride] # as uvicorn
        """Accept a connection. Where there are too many, the ones that have been idle for longest are closed."""
        super().connection_made(transport)
        self._restart_timer()
        if len(self.connections) > self._patience.most:
            self._make_room()

    def data_received(self, data: bytes) -> None:
        """Receive a piece of a request."""
        self._come += len(data)
        super().data_received(data)
        self._restart_timer()

    def on_response_complete(self) -> None:
        """Wait for the next request after a response was sent."""
        super().on_response_complete()
        self._restart_timer()

    def _restart_timer(self) -> None:
        awaited = self._next_part()
        if awaited == self.awaited:
            return
        self.awaited, self.since = awaited, self.loop.time()
        self._set_timer({"head": self._patience.head, "body": self._patience.body, "": None}[awaited])

    def _next_part(self) -> AwaitedPart:
        state = self.conn.their_state
        return "head" if state is h11.IDLE else "body" if state is h11.SEND_BODY else ""

    def _set_timer(self, seconds: float | None) -> None:
        if self._late is not None:
            self._late.cancel()
        self._seen = self._come
        self._late = None if seconds is None else self.loop.call_later(seconds, self._on_timeout)

    def _on_timeout(self) -> None:
        """Abort on timeout, unless a body has made progress since, or the application hasn't read it yet."""
        if self.awaited == "body" and (self.flow.read_paused or self._come - self._seen >= self._patience.least):
            self._set_timer(self._patience.body)
        else:
            self.transport.abort()

    def _make_room(self) -> None:
        everybody = cast("set[TimeoutProtocol]", self.connections)  # one server makes them all
        there = [each for each in everybody if not each.transport.is_closing()]
        waiting = sorted([each for each in there if each.awaited == "head" and each is not self], key=lambda each: each.since)
        for each in waiting[: max(len(there) - self._patience.most, 0)]:
            each.transport.abort()

    # what is sent

    def pause_writing(self) -> None:
        """Start the stall timer: the client reads too slowly."""
        super().pause_writing()
        self._watch_stall()

    def resume_writing(self) -> None:
        """Stop the stall timer: the client reads again."""
        super().resume_writing()
        if self._stalled is not None:
            self._stalled.cancel()

    def _watch_stall(self) -> None:
        left = self.transport.get_write_buffer_size()
        self._stalled = self.loop.call_later(self._patience.stall, self._check_stall, left)

    def _check_stall(self, before: int) -> None:
        if self.transport.get_write_buffer_size() < before:
            self._watch_stall()
        else:
            self.transport.abort()

    def connection_lost(self, exc: Exception | None) -> None:
        """Cancel the timers."""
        super().connection_lost(exc)
        for timer in (self._late, self._stalled):
            if timer is not None:
                timer.cancel()
