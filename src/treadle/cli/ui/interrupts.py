"""Ctrl-C handling, while a reply is streaming and while a person is typing."""

import asyncio
import signal
from collections.abc import Callable, Generator
from contextlib import contextmanager
from types import FrameType


@contextmanager
def on_interrupt(react: Callable[[], None]) -> Generator[None]:
    """Call `react` in the event loop on Ctrl-C, instead of ending the process. A second Ctrl-C ends it."""
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
def interruptible_input() -> Generator[None]:
    """Raise at once on Ctrl-C: nothing but typing is in progress."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
