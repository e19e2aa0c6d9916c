"""A program as a child process: its output as it is written, the end of its stderr, and its exit code.

It is the leader of a process group of its own, so that everything it starts ends with it. The caller interprets its output.
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
MAX_BUFFERED = 1 << 20  # bytes of output kept for a reader that is slow
MAX_STDERR = 8192  # bytes of complaints that are kept


class ChildProcess(asyncio.SubprocessProtocol):
    """A running program. The caller that started it has to `terminate` it."""

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
        """Return the next piece of its output; empty at the end."""
        while not self._pieces and not self._over:
            self._changed.clear()
            await self._changed.wait()
        if not self._pieces:
            return b""
        piece = self._pieces.popleft()
        self._ahead -= len(piece)
        self._apply_backpressure()
        return piece

    async def code(self) -> int:
        """Wait until it has exited and all output was read; return its exit code, negative if a signal ended it."""
        await self._settled.wait()
        return cast("int", self._transport.get_returncode())

    @property
    def complaints(self) -> str:
        """The end of its stderr."""
        return self._tail.decode(errors="replace")

    def tell(self, text: bytes) -> None:
        """Write all of its input. A program that doesn't read it is no error."""
        pipe = cast("asyncio.WriteTransport", self._transport.get_pipe_transport(0))
        pipe.write(text)
        pipe.write_eof()

    async def end(self) -> None:
        """End it and everything it has started, if that hasn't happened yet, and close its pipes."""
        try:
            if not self._exited.is_set():
                self._signal(signal.SIGTERM)
                with suppress(TimeoutError):
                    async with asyncio.timeout(GRACE):
                        await self._exited.wait()
        finally:
            self._kill()
            self._close_pipes()
        await self._lost.wait()

    def _close_pipes(self) -> None:
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

    def _apply_backpressure(self) -> None:
        """Pause a program that writes faster than its output is read."""
        pause = self._ahead > MAX_BUFFERED
        pipe = cast("asyncio.ReadTransport | None", self._transport.get_pipe_transport(1))
        if pause == self._paused or pipe is None or self._over:
            return
        self._paused = pause
        (pipe.pause_reading if pause else pipe.resume_reading)()

    # What the event loop says

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Store the transport of the started process."""
        self._transport = cast("asyncio.SubprocessTransport", transport)

    def pipe_data_received(self, fd: int, data: bytes) -> None:
        """Buffer its output or stderr."""
        if fd == 1:
            self._pieces.append(data)
            self._ahead += len(data)
            self._apply_backpressure()
            self._changed.set()
        else:
            self._tail = (self._tail + data)[-MAX_STDERR:]

    def pipe_connection_lost(self, fd: int, exc: Exception | None) -> None:
        """Handle a closed pipe."""
        if fd == 0:
            self._told = True
        elif fd == 1:
            self._mark_output_over()

    def process_exited(self) -> None:
        """Handle its exit. Processes it started may still hold its output open; they are waited for only briefly."""
        self._exited.set()
        asyncio.get_running_loop().call_later(LINGER, self._stop_lingering)

    def connection_lost(self, exc: Exception | None) -> None:
        """Handle the closing of all pipes."""
        self._mark_settled()
        self._lost.set()

    def _stop_lingering(self) -> None:
        if self._paused and not self._over:  # it is the reader who takes time
            asyncio.get_running_loop().call_later(LINGER, self._stop_lingering)
        else:
            self._mark_settled()

    def _mark_settled(self) -> None:
        self._mark_output_over()
        self._settled.set()

    def _mark_output_over(self) -> None:
        self._over = True
        self._changed.set()


async def start_child_process(
    arguments: Sequence[str], *, tells: bool = False, environment: Mapping[str, str] | None = None
) -> ChildProcess:
    """Start a program without a shell. `tells` says that it gets input. Raises `OSError` if it can't be started."""
    pipe, nothing = asyncio.subprocess.PIPE, asyncio.subprocess.DEVNULL
    _, child = await asyncio.get_running_loop().subprocess_exec(
        ChildProcess,
        *arguments,
        stdin=pipe if tells else nothing,
        stdout=pipe,
        stderr=pipe,
        env=environment,
        start_new_session=True,
    )
    return child
