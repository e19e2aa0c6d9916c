"""Line input: typed at a prompt, also while the event loop runs, or piped to stdin."""

import asyncio
import select
import sys
from collections.abc import Callable
from contextlib import suppress
from importlib import import_module

from treadle.cli.ui.interrupts import interruptible_input


def discard_typed_input() -> None:
    """Discard input that was typed before the question was shown: it is no answer to it."""
    try:
        import termios

        termios.tcflush(sys.stdin.fileno(), termios.TCIFLUSH)
    except (ImportError, OSError, ValueError, AttributeError):  # no such terminal here
        return


async def read_typed_line(otherwise: str = "n") -> str:
    """Read a typed line; return `otherwise` at the end of input."""
    loop = asyncio.get_running_loop()
    typed: asyncio.Future[None] = loop.create_future()
    file = sys.stdin.fileno()
    try:
        loop.add_reader(file, lambda: typed.done() or typed.set_result(None))
    except NotImplementedError:  # an event loop that can't: nothing else goes on meanwhile
        return sys.stdin.readline() or otherwise
    try:
        await typed
    finally:
        loop.remove_reader(file)
    return sys.stdin.readline() or otherwise


LineReader = Callable[[], str]  # the next line with its end; nothing when there are no more

PIPE_TIMEOUT = 1.0  # seconds


def make_line_reader(typed: bool) -> LineReader:
    """Return a reader of this process's input lines."""
    if not typed:
        return sys.stdin.readline
    with suppress(ImportError):
        import_module("readline")  # gives `input` a history and a line to edit
    return _read_prompted_line


def make_pipe_reader() -> LineReader | None:
    """Return a reader of piped lines; None if nothing arrives, because the pipe is empty or unused."""
    try:
        ready = bool(select.select([sys.stdin], [], [], PIPE_TIMEOUT)[0])
    except (OSError, ValueError):  # a system that can't wait for a pipe
        ready = True
    first = [sys.stdin.readline() if ready else ""]
    return (lambda: first.pop() if first else sys.stdin.readline()) if first[0] else None


def _read_prompted_line() -> str:
    try:
        with interruptible_input():
            return input("> ") + "\n"
    except (EOFError, KeyboardInterrupt):
        print()
        return ""
