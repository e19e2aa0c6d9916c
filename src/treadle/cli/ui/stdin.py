"""Line input: typed at a prompt, also while the event loop runs, or piped to stdin. The line editor itself is `line_editor`."""

import asyncio
import os
import select
import sys
from collections.abc import Awaitable, Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from treadle.cli.ui.interrupts import interruptible_input
from treadle.cli.ui.screen import has_colour

if TYPE_CHECKING:
    from treadle.cli.ui.turn_input import TurnInput


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


LineReader = Callable[[], Awaitable[str]]  # the next message with the end of its line; nothing when there are no more

PIPE_TIMEOUT = 1.0  # seconds
QUOTES = '"""'  # around a message of several lines


def is_unfinished(text: str) -> bool:
    """Return whether a message that begins with three quotes goes on: it has no other three at its end."""
    stripped = text.strip()
    return stripped.startswith(QUOTES) and (len(stripped) < 2 * len(QUOTES) or not stripped.endswith(QUOTES))


def strip_quotes(text: str) -> str:
    """Return a message without the three quotes around it."""
    stripped = text.strip()
    has_quotes = stripped.startswith(QUOTES) and not is_unfinished(stripped)
    return stripped[len(QUOTES) : -len(QUOTES)] if has_quotes else text


def has_line_editor() -> bool:
    """Return whether the terminal can move its cursor, as a line editor needs."""
    return os.environ.get("TERM", "dumb") not in ("", "dumb", "unknown")


def make_line_reader(
    typed: bool,
    history: Path | None = None,
    commands: Sequence[str] = (),
    turn_input: "TurnInput | None" = None,
    prompt: Callable[[], str] = lambda: "> ",
    keys: Mapping[str, Callable[[], object]] = {},
) -> LineReader:
    """Return a reader of messages: with a line editor at a terminal, else line by line.

    What is typed during a turn (`turn_input`) joins its history, or begins the next message. `prompt` returns the text before the
    line; `keys` are callbacks for keys of the line editor.
    """
    if not typed:
        return _read_piped_line
    if not has_line_editor():
        return lambda: _read_message(lambda: _read_plain_message(prompt()))
    from treadle.cli.ui.line_editor import LineEditor  # with prompt_toolkit, which only people at a terminal need

    draft = None if turn_input is None else turn_input.take_draft
    style = "bold" if has_colour(sys.stdout) else ""
    editor = LineEditor(history=history, commands=commands, draft=draft, prompt=prompt, keys=keys, style=style)
    if turn_input is not None:
        turn_input.on_message = editor.remember
    return lambda: _read_message(editor.read)


async def edit_text(text: str) -> str:
    """Return the text as edited by the person, in place where the terminal supports it."""
    if has_line_editor():
        from treadle.cli.ui import line_editor

        return await line_editor.edit_in_place(text)
    return _input(f"{text}\n> ") or text


def make_pipe_reader() -> LineReader | None:
    """Return a reader of piped lines; None if nothing arrives, because the pipe is empty or unused."""
    try:
        ready = bool(select.select([sys.stdin], [], [], PIPE_TIMEOUT)[0])
    except (OSError, ValueError):  # a system that can't wait for a pipe
        ready = True
    first = [sys.stdin.readline() if ready else ""]

    async def read() -> str:
        return first.pop() if first else await _read_piped_line()

    return read if first[0] else None


async def _read_piped_line() -> str:
    return sys.stdin.readline()


async def _read_message(read: LineReader) -> str:
    """Return a message that is typed; nothing where the person leaves."""
    try:
        return strip_quotes(await read()) + "\n"
    except (EOFError, KeyboardInterrupt):
        print()
        return ""


async def _read_plain_message(prompt: str) -> str:
    """Read lines where none can be edited, until the message is complete."""
    text = _input(prompt)
    while text.endswith("\\") or is_unfinished(text):
        text = text.removesuffix("\\") + "\n" + _input("  ")
    return text


def _input(prompt: str) -> str:
    """Read a line as the terminal itself edits it: nothing else goes on meanwhile."""
    with interruptible_input():
        return input(prompt)
