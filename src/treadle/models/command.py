"""A model that is a program, run once for each request: `command:ollama run llama3`, or any filter.

It gets the request as plain text on stdin, or in place of `{prompt}` among its arguments, and what it writes is the reply. No
shell is involved. It knows nothing of tools: `dialects` tell it of them in words and read its text.
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
from treadle.models.plaintext import prompt_of
from treadle.models.processes import Child, start
from treadle.models.stopping import Stops
from treadle.models.terminal import Plain

T = TypeVar("T")

PLACE = "{prompt}"
SECONDS = 600.0  # for one reply
MOST = 1_000_000  # characters of one reply
LAST_WORDS = 300  # characters of a program's complaints in a message


def from_name(name: str, **settings: Any) -> "Command":
    """The model behind `command:PROGRAM ARGUMENTS`."""
    return Command(name, **settings)


class Command:
    """A program that replies. `seconds` is how long one reply may take, `most` how many characters it may have."""

    def __init__(
        self, command: str | Sequence[str], *, seconds: float = SECONDS, most: int = MOST, context: int | None = None
    ) -> None:
        self._arguments = _split(command) if isinstance(command, str) else list(command)
        if not self._arguments or not self._arguments[0]:
            raise SettingsError("A command names a program: command:PROGRAM ARGUMENTS.")
        self._program = self._arguments[0]
        self._in_place = any(PLACE in argument for argument in self._arguments[1:])
        self._seconds = seconds
        self._most = most
        self.name = f"command:{command if isinstance(command, str) else shlex.join(command)}"
        self.traits = Traits(native_calls=False, context=context)

    async def reply(self, request: Request) -> AsyncIterator[Delta]:
        """What the program writes, as it comes."""
        until = monotonic() + self._seconds
        child = await self._started(prompt_of(request))
        reading = Reading(request.options.stop, self._most)
        try:
            while not reading.over and (piece := await self._in_time(child.some(), until)):
                if text := reading.feed(piece):
                    yield TextDelta(text)
            if not reading.over:
                if text := reading.close():
                    yield TextDelta(text)
                await self._check(child, until)
        finally:
            await child.end()
        yield ReplyEnded(reading.finish, model=self.name)

    async def _started(self, prompt: str) -> Child:
        arguments = [self._program, *[self._filled(argument, prompt) for argument in self._arguments[1:]]]
        try:
            child = await start(arguments, tells=not self._in_place)
        except OSError as error:
            raise self._unstartable(error) from error
        if not self._in_place:
            child.tell(prompt.encode(errors="replace"))
        return child

    def _filled(self, argument: str, prompt: str) -> str:
        if PLACE not in argument:
            return argument
        words = prompt.replace("\x00", "").encode(errors="replace").decode()  # no argument can hold the others
        return argument.replace(PLACE, words)

    async def _in_time(self, awaited: Awaitable[T], until: float) -> T:
        try:
            async with asyncio.timeout(until - monotonic()):
                return await awaited
        except TimeoutError as error:
            raise ModelError(f"{self._program} took more than {self._seconds:g} seconds and was ended.") from error

    async def _check(self, child: Child, until: float) -> None:
        """Raise where the program says that it failed."""
        code = await self._in_time(child.code(), until)
        if code:
            ending = f"ended with code {code}" if code > 0 else f"was ended by signal {-code}"
            words = _last_words(child.complaints)
            raise ModelError(f"{self._program} {ending}{f': {words}' if words else ', and said nothing about it.'}")

    def _unstartable(self, error: OSError) -> ModelError:
        match error.errno:
            case errno.ENOENT:
                return ModelRefused(f"There is no program {self._program} here; install it, or write where it is.")
            case errno.E2BIG:
                return ContextTooLong(
                    f"The conversation is too long for an argument of {self._program}: leave out {PLACE}, and it comes on stdin."
                )
            case _:
                return ModelRefused(f"{self._program} can't be run: {os.strerror(error.errno or 0)}.")


def _split(line: str) -> list[str]:
    try:
        return shlex.split(line)
    except ValueError as error:
        raise SettingsError(f"The command {line!r} can't be split into words: {error}.") from error


def _last_words(complaints: str) -> str:
    plain = Plain()
    text = plain.feed(complaints.encode()) + plain.close()
    words = " ".join(Redactor().text(text).split())
    return words if len(words) <= LAST_WORDS else f"…{words[1 - LAST_WORDS :]}"


class Reading:
    """Makes a reply of what a program writes: plain text without the blanks around it, up to a stop sequence or the limit."""

    def __init__(self, stops: Sequence[str], most: int) -> None:
        self._plain = Plain()
        self._stops = Stops(stops)
        self._left = most
        self._begun = False
        self._blanks: str = ""
        self.finish: Finish = "done"

    @property
    def over(self) -> bool:
        """Whether nothing more is wanted."""
        return self._stops.met or self.finish == "length"

    def feed(self, piece: bytes) -> str:
        """The words in a piece."""
        return self._words(self._stops.feed(self._plain.feed(piece)))

    def close(self) -> str:
        """The words that are left at the end."""
        last = self._stops.feed(self._plain.close())
        return self._words(last + self._stops.close())

    def _words(self, text: str) -> str:
        """Blanks wait until words follow them."""
        text = self._blanks + text if self._begun else text.lstrip()
        words = text.rstrip()
        self._blanks = text[len(words) :]
        self._begun = self._begun or bool(words)
        if len(words) > self._left:
            self.finish = "length"
            words = words[: self._left]
        self._left -= len(words)
        return words
