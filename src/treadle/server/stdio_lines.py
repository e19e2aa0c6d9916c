"""The process's stdin and stdout as lines to and from one client. Other writes to stdout are redirected to stderr.

Reading and writing are done in daemon threads, which don't keep the process alive until the client sends more.
"""

import asyncio
import os
import sys
from collections.abc import AsyncGenerator
from contextlib import suppress

from treadle.toolsets.functions import ThreadPool

CHUNK_SIZE = 64 * 1024  # bytes

_threads = ThreadPool()


class StdioLines:
    """Two file descriptors: what the client writes, and what it reads."""

    def __init__(self, source: int, sink: int) -> None:
        self._source = source
        self._sink = sink
        self._sending = asyncio.Lock()

    async def read(self) -> AsyncGenerator[bytes]:
        """Yield the client's lines until it disconnects, without blank ones."""
        pieces: list[bytes] = []
        with suppress(OSError):
            while piece := await _threads.run(os.read, (self._source, CHUNK_SIZE), {}):
                *ends, rest = piece.split(b"\n")
                for end in ends:
                    line = b"".join([*pieces, end])
                    pieces = []
                    if line.strip():
                        yield line
                if rest:
                    pieces.append(rest)

    async def write(self, line: bytes) -> None:
        """Write a line. Raises `OSError` where the client doesn't read any more."""
        async with self._sending:  # lines of two tasks must not mix
            await _threads.run(_write_all, (self._sink, line + b"\n"), {})


def _write_all(sink: int, data: bytes) -> None:
    while data:
        data = data[os.write(sink, data) :]


def claim_stdio_lines() -> StdioLines:
    """Claim stdin and stdout: other output goes to stderr, and other readers find an end of file."""
    sys.stdout.flush()
    lines = StdioLines(os.dup(0), os.dup(1))
    nothing = os.open(os.devnull, os.O_RDWR)
    os.dup2(nothing, 0)
    try:
        os.dup2(2, 1)
    except OSError:  # there is no stderr
        os.dup2(nothing, 1)
    os.close(nothing)
    return lines
