"""Ctrl-C and SIGTERM, while something is awaited and while a person is typing."""

import asyncio
import signal
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from types import FrameType

from treadle.cli.exit_codes import TERMINATED

DEFAULTS = {signal.SIGINT: signal.default_int_handler, signal.SIGTERM: signal.SIG_DFL}


@contextmanager
def on_interrupt(
    react: Callable[[], object], numbers: Sequence[signal.Signals] = (signal.SIGINT, signal.SIGTERM)
) -> Generator[list[int]]:
    """Call `react` in the event loop on one of these signals, instead of ending the process. A second one ends it.

    Yields a list to which the signal is added.
    """
    loop = asyncio.get_running_loop()
    received: list[int] = []

    def handle(number: int, frame: FrameType | None) -> None:
        for each in numbers:
            signal.signal(each, DEFAULTS[each])
        received.append(number)
        loop.call_soon_threadsafe(react)

    before = {number: signal.signal(number, handle) for number in numbers}
    try:
        yield received
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def exit_if_terminated(received: list[int]) -> None:
    """End the command, in its own good order, after SIGTERM."""
    if signal.SIGTERM in received:
        raise SystemExit(TERMINATED)


@contextmanager
def interruptible_input() -> Generator[None]:
    """Raise at once on Ctrl-C: nothing but typing is in progress."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
