"""How a person's lines come in: typed at a prompt, or from wherever stdin leads."""

import select
import sys
from collections.abc import Callable
from contextlib import suppress
from importlib import import_module

from treadle.cli.interrupts import typing

Lines = Callable[[], str]  # the next line with its end; nothing when there are no more

PATIENCE = 1.0  # seconds


def lines(typed: bool) -> Lines:
    """The lines of this process."""
    if not typed:
        return sys.stdin.readline
    with suppress(ImportError):
        import_module("readline")  # gives `input` a history and a line to edit
    return _typed


def piped_lines() -> Lines | None:
    """The lines on a pipe; None where nothing comes, be it that the pipe is empty or that nobody uses it."""
    try:
        ready = bool(select.select([sys.stdin], [], [], PATIENCE)[0])
    except (OSError, ValueError):  # a system that can't wait for a pipe
        ready = True
    first = [sys.stdin.readline() if ready else ""]
    return (lambda: first.pop() if first else sys.stdin.readline()) if first[0] else None


def _typed() -> str:
    try:
        with typing():
            return input("> ") + "\n"
    except (EOFError, KeyboardInterrupt):
        print()
        return ""
