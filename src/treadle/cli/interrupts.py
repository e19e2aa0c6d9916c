"""Ctrl-C: what it does while a reply is coming, and while a person is typing."""

import asyncio
import signal
from collections.abc import Callable, Generator
from contextlib import contextmanager
from types import FrameType


@contextmanager
def interrupting(react: Callable[[], None]) -> Generator[None]:
    """Ctrl-C does this, in the event loop, instead of ending the process. A second one ends it."""
    loop = asyncio.get_running_loop()

    def handle(number: int, frame: FrameType | None) -> None:
        signal.signal(signal.SIGINT, signal.default_int_handler)
        loop.call_soon_threadsafe(react)

    before = signal.signal(signal.SIGINT, handle)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


@contextmanager
def typing() -> Generator[None]:
    """Ctrl-C raises at once: nothing but a person's typing is under way."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
