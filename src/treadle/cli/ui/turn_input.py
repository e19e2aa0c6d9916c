"""What is typed while a turn runs: a line that is entered is a message to the running turn, Esc stops the turn.

The terminal doesn't echo meanwhile: what is typed so far is shown in the status line, where output can't run into it. What isn't
entered when the turn is over is the beginning of the next message. Only for terminals with a status line.
"""

import asyncio
import codecs
import os
import re
import sys
from collections.abc import Awaitable, Callable, Generator
from contextlib import ExitStack, contextmanager, suppress
from typing import Any

from treadle.cli.ui.render import to_one_line
from treadle.cli.ui.screen import Screen
from treadle.cli.ui.stdin import is_unfinished, strip_quotes
from treadle.core.errors import TreadleError

CHUNK = 65_536  # bytes that are read at once
ESCAPE = "\x1b"
ALT_ENTER = ("\x1b\r", "\x1b\n")
ERASE = "\x7f\b"  # what the backspace key sends
ERASE_LINE = "\x15"  # Ctrl-U

_KEY = re.compile(r"\x1b(?:\[[0-9;?<]*[ -/]*[@-~]|O.|[\r\n]|[^\x1b])?|[^\x1b]", re.DOTALL)

Send = Callable[[str], Awaitable[bool]]  # returns False where the turn is over
Stop = Callable[[], object]


class TurnInput:
    """Input at a terminal during the turns of a conversation.

    `queued` are lines for which it was too late, or that are commands: they come next. `is_command` tells which are.
    """

    def __init__(self, screen: Screen, is_command: Callable[[str], bool]) -> None:
        self.draft = ""
        self.queued: list[str] = []
        self.on_message: Callable[[str], object] | None = None  # is called with each line that is entered
        self._screen = screen
        self._is_command = is_command
        self._send: Send | None = None
        self._stop: Stop | None = None
        self._sending: list[asyncio.Task[None]] = []
        self._terminal: _UnechoedTerminal | None = None

    @contextmanager
    def reading(self, send: Send, stop: Stop) -> Generator[None]:
        """Read what is typed, until the block is over."""
        self._send, self._stop = send, stop
        self._terminal = _UnechoedTerminal(self.feed)
        try:
            self._terminal.open()
            yield
        finally:
            self._terminal.close()
            self._terminal = self._send = self._stop = None

    async def finish(self) -> None:
        """Wait until every message that was entered is sent, or is queued."""
        if self._sending:
            await asyncio.wait(self._sending)
            self._sending = []

    @contextmanager
    def pause(self) -> Generator[None]:
        """Leave the terminal to a question, in this context."""
        terminal = self._terminal
        if terminal is None:
            yield
            return
        terminal.close()
        try:
            yield
        finally:
            if self._terminal is terminal:  # the turn goes on
                terminal.open()

    def close(self) -> None:
        """Restore the terminal before the turn is over: it is being stopped, and a second signal would leave no time for it."""
        if self._terminal is not None:
            self._terminal.close()

    def describe(self) -> str:
        """Return what is typed so far, for the status line; its end, where it is long."""
        typed, room = " ".join(self.draft.splitlines()), self._screen.note_width - 5
        return f"> {typed if len(typed) <= room else '…' + typed[1 - room :]}" if self.draft else ""

    def take_draft(self) -> str:
        """Return what was typed and not entered; then it is the line editor's."""
        draft, self.draft = self.draft, ""
        return draft

    def feed(self, text: str) -> None:
        """Take keys. A line break in the middle of them is part of a paste."""
        keys = _KEY.findall(text)
        for number, key in enumerate(keys):
            if key in ("\r", "\n"):
                self._enter(pasted=number < len(keys) - 1)
            elif key in ALT_ENTER:
                self.draft += "\n"
            elif key in ERASE:
                self.draft = self.draft[:-1]
            elif key == ERASE_LINE:
                self.draft = ""
            elif key == ESCAPE and self._stop is not None:
                self._stop()
                self._stop = None
            elif key.isprintable() or key == "\t":
                self.draft += key
        if self.draft:
            self._screen.status.draw(self.describe(), at_once=True)
        else:
            self._screen.status.erase()

    def _enter(self, *, pasted: bool) -> None:
        if self.draft.endswith("\\"):
            self.draft = f"{self.draft[:-1]}\n"
        elif pasted or is_unfinished(self.draft):
            self.draft += "\n"
        elif message := strip_quotes(self.take_draft()).strip():
            self._submit(message)

    def _submit(self, message: str) -> None:
        self._screen.status.erase()
        shown = to_one_line(message, 300)
        if self.on_message is not None:
            self.on_message(message)
        if self._send is None or self._is_command(message):
            self.queued.append(message)
            self._screen.note(f"{shown} is run when the turn is over.")
        else:
            self._screen.note(f"> {shown}", "bold")
            self._sending.append(asyncio.ensure_future(self._deliver(self._send, message)))

    async def _deliver(self, send: Send, message: str) -> None:
        try:
            if not await send(message):
                self.queued.append(message)
        except TreadleError as error:
            self._screen.prose(f"treadle: {error}", "red")


class _UnechoedTerminal:
    """Stdin without echo, read key by key in the event loop. Ctrl-C is a signal, as ever."""

    def __init__(self, receive: Callable[[str], None]) -> None:
        self._receive = receive
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._opened = ExitStack()

    def open(self) -> None:
        """Begin to read; without effect where the terminal or the event loop can't."""
        with suppress(ImportError, OSError, ValueError, NotImplementedError), ExitStack() as stack:
            import termios
            import tty

            stack.enter_context(suppress(termios.error))
            file = sys.stdin.fileno()
            before: list[Any] = termios.tcgetattr(file)
            tty.setcbreak(file, termios.TCSADRAIN)
            stack.callback(_restore, file, before)
            loop = asyncio.get_running_loop()
            loop.add_reader(file, self._read, file)
            stack.callback(loop.remove_reader, file)
            self._opened = stack.pop_all()

    def close(self) -> None:
        """Restore the terminal."""
        self._opened.close()

    def _read(self, file: int) -> None:
        try:
            data = os.read(file, CHUNK)
        except OSError:  # the terminal is gone
            data = b""
        if data:
            self._receive(self._decoder.decode(data))
        else:
            self.close()


def _restore(file: int, before: list[Any]) -> None:
    import termios

    with suppress(termios.error):  # the terminal is gone
        termios.tcsetattr(file, termios.TCSADRAIN, before)


def open_turn_input(screen: Screen, is_command: Callable[[str], bool], *, interactive: bool) -> TurnInput | None:
    """Return the input for the turns of a conversation; None where there is no terminal that can show it."""
    return TurnInput(screen, is_command) if interactive and screen.status.draws else None
