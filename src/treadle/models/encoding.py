"""Small help with the bytes of a wire: what doesn't change from one request to the next is encoded once, and what a server
sends is decoded even where it isn't quite text.
"""

from collections.abc import Callable
from typing import Any, Generic, TypeVar

import msgspec

from treadle.core.calls import Result
from treadle.core.messages import Message
from treadle.core.requests import Request, ToolSpec

T = TypeVar("T")

encode = msgspec.json.Encoder().encode


class Kept(Generic[T]):
    """Encodes a value, and remembers the last one: a run asks with the very same tools, options and instructions each round."""

    __slots__ = ("_encode", "_last")

    def __init__(self, encode: Callable[[T], bytes]) -> None:
        self._encode = encode
        self._last: tuple[T, bytes] | None = None

    def __call__(self, value: T) -> bytes:
        """The encoded value."""
        last = self._last
        if last is not None and last[0] is value:
            return last[1]
        encoded = self._encode(value)
        self._last = (value, encoded)
        return encoded


def decoder(kind: type[T]) -> Callable[[bytes], T]:
    """What decodes the payloads of a wire. Halves of characters and stray bytes, which some servers send, are replaced."""
    decode = msgspec.json.Decoder(kind).decode

    def decoded(payload: bytes) -> T:
        try:
            return decode(payload)
        except (msgspec.DecodeError, UnicodeDecodeError):
            return decode(_as_text(payload))

    return decoded


def _as_text(payload: bytes) -> bytes:
    """The same JSON, with what is no text replaced; as it was where it is no JSON either."""
    import json

    try:
        value = json.loads(payload.decode(errors="replace"))
    except (ValueError, RecursionError):
        return payload
    return json.dumps(value, ensure_ascii=False).encode(errors="replace")


def is_there(value: msgspec.Raw) -> bool:
    """Whether a field that is kept as it came was sent, and isn't null."""
    return bytes(value) not in (b"", b"null")


def fields(values: dict[str, Any]) -> bytes:
    """The inside of a JSON object, without the values that are None."""
    return encode({name: value for name, value in values.items() if value is not None})[1:-1]


def without_tools(extra: dict[str, Any]) -> dict[str, Any]:
    """Return further fields of a body without `tools`, which join the functions on offer instead of replacing them."""
    return {name: value for name, value in extra.items() if name != "tools"}


def within(text: str) -> bytes:
    """Text as it stands inside of a JSON string."""
    return encode(text)[1:-1]


def encode_functions(tools: tuple[ToolSpec, ...]) -> bytes:
    """The field `tools` as functions, with the comma before it."""
    return b',"tools":%b' % encode([{"type": "function", "function": tool} for tool in tools])


def ends_with_user(message: Message) -> bool:
    """Whether the last thing a server reads of a message is the user's: also where results bring media, which come after them."""
    has_media = any(isinstance(part, Result) and part.media for part in message.parts)
    return message.role == "person" or (message.role == "tools" and has_media)


def with_note(request: Request, history: bytes) -> bytes:
    """The encoded messages of a request, with its note at the very end: words of the user, in brackets.

    Many chat templates refuse a second system message, and some refuse two messages of the user in a row, so the note
    joins the user's message where that is the last one. For wires whose messages end in `"content":"…"}`, or in
    `"content":[…]}` with parts where there are media.
    """
    if not request.note:
        return history
    note = f"[{request.note}]"
    if history and ends_with_user(request.history[-1]):
        if history.endswith(b"]}"):
            return b'%b,{"type":"text","text":%b}]}' % (history[:-2], encode(note))
        return history[:-2] + within(f"\n\n{note}") + b'"}'  # before the closing quote
    return b"%b%b%b" % (history, b"," if history else b"", b'{"role":"user","content":%b}' % encode(note))
