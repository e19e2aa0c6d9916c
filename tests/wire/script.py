"""What a scripted server may say and do, in words of no wire: replies, refusals, raw bytes, and what happens between two pieces."""

import json
import threading
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class Say:
    """Words, streamed in pieces of `size` characters."""

    text: str
    size: int


@dataclass(frozen=True)
class Think:
    """Thinking. Only the wires of Anthropic and Google have a `signature`."""

    text: str
    signature: str
    size: int


@dataclass(frozen=True)
class Ask:
    """A call. `arguments` is the text as the model writes it, right or wrong, streamed in pieces of `size` characters."""

    name: str
    arguments: str
    id: str
    size: int


@dataclass(frozen=True)
class Pause:
    """Nothing for so many seconds."""

    seconds: float


@dataclass(frozen=True)
class Gate:
    """Nothing until the event is set, or so many seconds have passed: a test that waits for no clock sets it."""

    event: threading.Event
    seconds: float


@dataclass(frozen=True)
class Break:
    """The connection ends here, politely or not."""

    abort: bool


@dataclass(frozen=True)
class Stall:
    """Nothing more comes, and the connection stays."""


Control = Pause | Gate | Break | Stall
Part = Say | Think | Ask | Control


@dataclass(frozen=True)
class Used:
    """Tokens: all that were read, those of them that were cached, and those written."""

    read: int = 100
    wrote: int = 20
    cached: int = 0


@dataclass(frozen=True)
class Reply:
    """A reply with status 200. `finish` is done, calls, length or filtered; None says what follows from the parts.

    break_after  the connection ends after so many pieces of the stream
    break_at     the connection ends after so many bytes, the head included
    ended        False leaves out what says that the stream is over
    lingers      everything is said, but the connection never says that the body is over
    announced    an interim answer (103) comes before the real one
    """

    parts: tuple[Part, ...]
    finish: str | None = None
    used: Used | None = Used()
    break_after: int | None = None
    break_at: int | None = None
    ended: bool = True
    lingers: bool = False
    announced: bool = False

    @property
    def finish_word(self) -> str:
        if self.finish is not None:
            return self.finish
        return "calls" if any(isinstance(part, Ask) for part in self.parts) else "done"


@dataclass(frozen=True)
class Refusal:
    """An answer that is no reply. Without a `body` it gets the error object of its wire."""

    status: int
    message: str = "no"
    kind: str = ""
    headers: Mapping[str, str] = field(default_factory=dict)
    body: bytes | None = None


@dataclass(frozen=True)
class Raw:
    """Status 200 and these bytes, in one piece or several, whatever they are."""

    pieces: tuple[bytes, ...]
    content_type: str
    close: bool = False  # no length and no chunks: the end of the connection is the end of the body


@dataclass(frozen=True)
class Verbatim:
    """These bytes and nothing else: no head unless it is one of them. Then the connection ends, unless it stalls."""

    pieces: tuple[bytes | Control, ...]


Answer = Reply | Refusal | Raw | Verbatim


def say(text: str, *, size: int = 8) -> Say:
    return Say(text, size)


def think(text: str, *, signature: str = "", size: int = 8) -> Think:
    return Think(text, signature, size)


def call(name: str, arguments: Mapping[str, Any] | str = "{}", *, id: str | None = None, size: int = 8) -> Ask:  # noqa: A002 - its name on every wire
    text = arguments if isinstance(arguments, str) else json.dumps(arguments)
    return Ask(name, text, id or "", size)


def pause(seconds: float) -> Pause:
    return Pause(seconds)


def gate(event: threading.Event, *, seconds: float = 20) -> Gate:
    return Gate(event, seconds)


def break_off(*, abort: bool = False) -> Break:
    return Break(abort)


def stall() -> Stall:
    return Stall()


def reply(*parts: Part | str, **settings: Any) -> Reply:
    return Reply(tuple(say(part) if isinstance(part, str) else part for part in parts), **settings)


def refuse(status: int, message: str = "no", **settings: Any) -> Refusal:
    return Refusal(status, message, **settings)


def raw(*pieces: bytes, content_type: str = "text/event-stream", close: bool = False) -> Raw:
    return Raw(pieces, content_type, close)


def verbatim(*pieces: bytes | Control) -> Verbatim:
    return Verbatim(pieces)


def events(*payloads: Any, done: bool = True) -> Raw:
    """Server-sent events with these payloads, for what no well-behaved server would say."""
    texts = [payload if isinstance(payload, str) else json.dumps(payload) for payload in payloads]
    return raw(*[f"data: {text}\n\n".encode() for text in [*texts, *(["[DONE]"] if done else [])]])


def lines(*payloads: Any) -> Raw:
    """JSON lines with these payloads."""
    return raw(*[json.dumps(payload).encode() + b"\n" for payload in payloads], content_type="application/x-ndjson")


def answer_of(value: Any) -> Answer:
    """What a script holds, as an answer: a reply, a part, some parts, or words."""
    if isinstance(value, Answer):
        return value
    return reply(*value) if isinstance(value, tuple | list) else reply(value)
