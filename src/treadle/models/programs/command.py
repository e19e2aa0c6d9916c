"""A model that is a program, run once for each request: `command:ollama run llama3`, or any filter.

It gets the request as plain text on stdin, or in place of `{prompt}` among its arguments, and its output is the reply. No
shell is involved. It knows nothing about tools: `dialects` explain them in the prompt and parse its text.
"""

import asyncio
import errno
import os
import shlex
from collections.abc import AsyncIterator, Awaitable, Sequence
from time import monotonic
from typing import Any, TypeVar

from treadle.core.errors import ContextTooLong, ModelError, ModelRefused, SettingsError
from treadle.core.requests import Delta, Finish, ReplyEnded, Request, TextDelta, Traits
from treadle.guard.redaction import Redactor
from treadle.models.programs.processes import ChildProcess, start_child_process
from treadle.models.programs.program_text import TerminalText, to_plain_prompt

T = TypeVar("T")

PROMPT_PLACEHOLDER = "{prompt}"
REPLY_TIMEOUT = 600.0  # for one reply
MAX_REPLY = 1_000_000  # characters of one reply
MAX_ERROR_TEXT = 300  # characters of a program's complaints in a message


def from_name(name: str, **settings: Any) -> "CommandModel":
    """Return the model behind `command:PROGRAM ARGUMENTS`."""
    return CommandModel(name, **settings)


class CommandModel:
    """A program that replies. `seconds` is the timeout of one reply, `most` its maximum number of characters."""

    def __init__(
        self, command: str | Sequence[str], *, seconds: float = REPLY_TIMEOUT, most: int = MAX_REPLY, context: int | None = None
    ) -> None:
        self._arguments = _split_command(command) if isinstance(command, str) else list(command)
        if not self._arguments or not self._arguments[0]:
            raise SettingsError("A command names a program: command:PROGRAM ARGUMENTS.")
        self._program = self._arguments[0]
        self._in_place = any(PROMPT_PLACEHOLDER in argument for argument in self._arguments[1:])
        self._seconds = seconds
        self._most = most
        self.name = f"command:{command if isinstance(command, str) else shlex.join(command)}"
        self.traits = Traits(native_calls=False, context=context)

    async def reply(self, request: Request) -> AsyncIterator[Delta]:
        """Stream the program's output as the reply."""
        until = monotonic() + self._seconds
        child = await self._start(to_plain_prompt(request))
        reading = ProgramReply(request.options.stop, self._most)
        try:
            while not reading.over and (piece := await self._await_until(child.some(), until)):
                if text := reading.feed(piece):
                    yield TextDelta(text)
            if not reading.over:
                if text := reading.close():
                    yield TextDelta(text)
                await self._check_exit(child, until)
        finally:
            await child.end()
        yield ReplyEnded(reading.finish, model=self.name)

    async def _start(self, prompt: str) -> ChildProcess:
        arguments = [self._program, *[self._fill_prompt(argument, prompt) for argument in self._arguments[1:]]]
        try:
            child = await start_child_process(arguments, tells=not self._in_place)
        except OSError as error:
            raise self._start_error(error) from error
        if not self._in_place:
            child.tell(prompt.encode(errors="replace"))
        return child

    def _fill_prompt(self, argument: str, prompt: str) -> str:
        if PROMPT_PLACEHOLDER not in argument:
            return argument
        words = prompt.replace("\x00", "").encode(errors="replace").decode()  # no argument can hold the others
        return argument.replace(PROMPT_PLACEHOLDER, words)

    async def _await_until(self, awaited: Awaitable[T], until: float) -> T:
        try:
            async with asyncio.timeout(until - monotonic()):
                return await awaited
        except TimeoutError as error:
            raise ModelError(f"{self._program} took more than {self._seconds:g} seconds and was ended.") from error

    async def _check_exit(self, child: ChildProcess, until: float) -> None:
        """Raise an error if the program's exit code says that it failed."""
        code = await self._await_until(child.code(), until)
        if code:
            ending = f"ended with code {code}" if code > 0 else f"was ended by signal {-code}"
            words = _last_error_line(child.complaints)
            raise ModelError(f"{self._program} {ending}{f': {words}' if words else ', and said nothing about it.'}")

    def _start_error(self, error: OSError) -> ModelError:
        match error.errno:
            case errno.ENOENT:
                return ModelRefused(f"There is no program {self._program} here; install it, or write where it is.")
            case errno.E2BIG:
                return ContextTooLong(
                    f"The conversation is too long for an argument of {self._program}: "
                    f"leave out {PROMPT_PLACEHOLDER}, and it comes on stdin."
                )
            case _:
                return ModelRefused(f"{self._program} can't be run: {os.strerror(error.errno or 0)}.")


def _split_command(line: str) -> list[str]:
    try:
        return shlex.split(line)
    except ValueError as error:
        raise SettingsError(f"The command {line!r} can't be split into words: {error}.") from error


def _last_error_line(complaints: str) -> str:
    plain = TerminalText()
    text = plain.feed(complaints.encode()) + plain.close()
    words = " ".join(Redactor().text(text).split())
    return words if len(words) <= MAX_ERROR_TEXT else f"…{words[1 - MAX_ERROR_TEXT :]}"


class ProgramReply:
    """Turns a program's output into a reply: plain text without the space around it, up to a stop sequence or the limit."""

    def __init__(self, stops: Sequence[str], most: int) -> None:
        self._plain = TerminalText()
        self._stops = StopSequences(stops)
        self._left = most
        self._begun = False
        self._blanks: str = ""
        self.finish: Finish = "done"

    @property
    def over(self) -> bool:
        """Whether the reply is complete."""
        return self._stops.met or self.finish == "length"

    def feed(self, piece: bytes) -> str:
        """Return the text in a piece of output."""
        return self._words(self._stops.feed(self._plain.feed(piece)))

    def close(self) -> str:
        """Return the text that is left at the end."""
        last = self._stops.feed(self._plain.close())
        return self._words(last + self._stops.close())

    def _words(self, text: str) -> str:
        """Return the text; space waits until more text follows it."""
        text = self._blanks + text if self._begun else text.lstrip()
        words = text.rstrip()
        self._blanks = text[len(words) :]
        self._begun = self._begun or bool(words)
        if len(words) > self._left:
            self.finish = "length"
            words = words[: self._left]
        self._left -= len(words)
        return words


class StopSequences:
    """Passes text on up to the first of some stop sequences. Only what may be the beginning of one is held back."""

    def __init__(self, sequences: Sequence[str]) -> None:
        self._sequences = [sequence for sequence in sequences if sequence]
        self._longest = max(map(len, self._sequences), default=0)
        self._held: str = ""
        self.met: bool = False

    def feed(self, text: str) -> str:
        """Return what is certain after this piece; nothing more once a sequence was `met`."""
        if self.met or not self._sequences:
            return "" if self.met else text
        text = self._held + text
        first = min((at for sequence in self._sequences if (at := text.find(sequence)) >= 0), default=-1)
        self.met = first >= 0
        end = first if self.met else self._find_held_start(text)
        self._held = "" if self.met else text[end:]
        return text[:end]

    def close(self) -> str:
        """Return the text that was held back unnecessarily."""
        held, self._held = self._held, ""
        return held

    def _find_held_start(self, text: str) -> int:
        """Return where the longest prefix of a sequence at the end of the text starts."""
        for start in range(max(0, len(text) - self._longest + 1), len(text)):
            if any(sequence.startswith(text[start:]) for sequence in self._sequences):
                return start
        return len(text)
