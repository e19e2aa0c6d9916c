"""A program as a child of this process: what it writes as it comes, the end of what it complains about, and its exit code.

It is the leader of a process group of its own, so that whatever it starts ends with it. What its output means is up to whoever
started it.
"""

import asyncio
import os
import signal
import sys
from collections import deque
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import cast

GRACE = 1.0  # seconds between the request to end and the end
LINGER = 0.5  # seconds for output that others hold open when the program itself is gone
AHEAD = 1 << 20  # bytes of output kept for a reader that is slow
TAIL = 8192  # bytes of complaints that are kept


class Child(asyncio.SubprocessProtocol):
    """A program that runs. Whoever started it has to `end` it."""

    def __init__(self) -> None:
        self._pieces: deque[bytes] = deque()
        self._ahead = 0
        self._paused = False
        self._over = False
        self._told = False
        self._changed = asyncio.Event()
        self._exited = asyncio.Event()
        self._settled = asyncio.Event()
        self._lost = asyncio.Event()
        self._tail = b""

    async def some(self) -> bytes:
        """The next piece of its output; nothing when that is over."""
        while not self._pieces and not self._over:
            self._changed.clear()
            await self._changed.wait()
        if not self._pieces:
            return b""
        piece = self._pieces.popleft()
        self._ahead -= len(piece)
        self._flow()
        return piece

    async def code(self) -> int:
        """Its exit code, once it is gone and all it wrote is here; below zero where a signal ended it."""
        await self._settled.wait()
        return cast("int", self._transport.get_returncode())

    @property
    def complaints(self) -> str:
        """The last of what it wrote to stderr."""
        return self._tail.decode(errors="replace")

    def tell(self, text: bytes) -> None:
        """Write all of its input. A program that doesn't read it is no error."""
        pipe = cast("asyncio.WriteTransport", self._transport.get_pipe_transport(0))
        pipe.write(text)
        pipe.write_eof()

    async def end(self) -> None:
        """End it and all it has started, if that hasn't happened yet, and let go of its pipes."""
        try:
            if not self._exited.is_set():
                self._signal(signal.SIGTERM)
                with suppress(TimeoutError):
                    async with asyncio.timeout(GRACE):
                        await self._exited.wait()
        finally:
            self._kill()
            self._let_go()
        await self._lost.wait()

    def _let_go(self) -> None:
        told = cast("asyncio.WriteTransport | None", self._transport.get_pipe_transport(0))
        if told is not None and not self._told and told.get_write_buffer_size():
            told.abort()  # to close it would wait for a reader
        self._transport.close()

    def _signal(self, number: int) -> None:
        with suppress(ProcessLookupError, PermissionError):  # gone, or (on some systems) only its remains are there
            if sys.platform == "win32":
                self._transport.terminate()
            else:
                os.killpg(self._transport.get_pid(), number)

    def _kill(self) -> None:
        if sys.platform == "win32":
            with suppress(ProcessLookupError):
                self._transport.kill()
        else:
            self._signal(signal.SIGKILL)

    def _flow(self) -> None:
        """Let a program that writes faster than anybody reads wait."""
        pause = self._ahead > AHEAD
        pipe = cast("asyncio.ReadTransport | None", self._transport.get_pipe_transport(1))
        if pause == self._paused or pipe is None or self._over:
            return
        self._paused = pause
        (pipe.pause_reading if pause else pipe.resume_reading)()

    # What the event loop says

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """It runs."""
        self._transport = cast("asyncio.SubprocessTransport", transport)

    def pipe_data_received(self, fd: int, data: bytes) -> None:
        """It wrote something."""
        if fd == 1:
            self._pieces.append(data)
            self._ahead += len(data)
            self._flow()
            self._changed.set()
        else:
            self._tail = (self._tail + data)[-TAIL:]

    def pipe_connection_lost(self, fd: int, exc: Exception | None) -> None:
        """It closed a stream."""
        if fd == 0:
            self._told = True
        elif fd == 1:
            self._finish()

    def process_exited(self) -> None:
        """It is gone. What it started may still hold its output; that is waited for only a moment."""
        self._exited.set()
        asyncio.get_running_loop().call_later(LINGER, self._wait_no_longer)

    def connection_lost(self, exc: Exception | None) -> None:
        """All is closed."""
        self._settle()
        self._lost.set()

    def _wait_no_longer(self) -> None:
        if self._paused and not self._over:  # it is the reader who takes time
            asyncio.get_running_loop().call_later(LINGER, self._wait_no_longer)
        else:
            self._settle()

    def _settle(self) -> None:
        self._finish()
        self._settled.set()

    def _finish(self) -> None:
        self._over = True
        self._changed.set()


async def start(arguments: Sequence[str], *, tells: bool = False, environment: Mapping[str, str] | None = None) -> Child:
    """Start a program; without a shell. `tells` says that it gets input. Raises `OSError` where it can't be started."""
    pipe, nothing = asyncio.subprocess.PIPE, asyncio.subprocess.DEVNULL
    _, child = await asyncio.get_running_loop().subprocess_exec(
        Child,
        *arguments,
        stdin=pipe if tells else nothing,
        stdout=pipe,
        stderr=pipe,
        env=environment,
        start_new_session=True,
    )
    return child
