"""Encoding helpers of the wires: unchanged parts of a request are encoded once, and responses with invalid text are decoded."""

from collections.abc import Callable
from typing import Any, Generic, TypeVar

import msgspec

from treadle.core.calls import Result
from treadle.core.errors import SettingsError
from treadle.core.messages import Message
from treadle.core.requests import Request, ToolSpec
from treadle.models.tool_schemas import to_tool_fields

T = TypeVar("T")

encode = msgspec.json.Encoder().encode


class CachedEncoder(Generic[T]):
    """Encodes a value and caches the last one: a run sends the very same tools, options and instructions each round."""

    __slots__ = ("_encode", "_last")

    def __init__(self, encode: Callable[[T], bytes]) -> None:
        self._encode = encode
        self._last: tuple[T, bytes] | None = None

    def __call__(self, value: T) -> bytes:
        """Return the encoded value."""
        last = self._last
        if last is not None and last[0] is value:
            return last[1]
        encoded = self._encode(value)
        self._last = (value, encoded)
        return encoded


def make_decoder(kind: type[T]) -> Callable[[bytes], T]:
    """Return a decoder for the payloads of a wire.

    Lone surrogates and invalid bytes, which some servers send, are replaced; numbers of another kind than the wire has are read.
    """
    decode, decode_lax = msgspec.json.Decoder(kind).decode, msgspec.json.Decoder(kind, strict=False).decode

    def decoded(payload: bytes) -> T:
        try:
            return decode(payload)
        except (msgspec.DecodeError, UnicodeDecodeError):
            return decode_lax(_replace_invalid_text(payload))

    return decoded


def _replace_invalid_text(payload: bytes) -> bytes:
    """Return the same JSON with invalid text replaced; unchanged if it is no JSON either."""
    import json

    try:
        value = json.loads(payload.decode(errors="replace"))
    except (ValueError, RecursionError):
        return payload
    return json.dumps(value, ensure_ascii=False).encode(errors="replace")


def is_present(value: msgspec.Raw) -> bool:
    """Return whether a raw field was sent and isn't null."""
    return bytes(value) not in (b"", b"null")


def encode_fields(values: dict[str, Any]) -> bytes:
    """Encode the inside of a JSON object, without the values that are None."""
    return encode({name: value for name, value in values.items() if value is not None})[1:-1]


def check_extra(extra: dict[str, Any], *written: str) -> None:
    """Raise `SettingsError` where the extra fields of a body have one that the wire writes itself."""
    for name in written:
        if name in extra:
            raise SettingsError(f"Options.extra can't have {name!r}: that field of the request is written from the run itself.")


def drop_tools(extra: dict[str, Any]) -> dict[str, Any]:
    """Return the extra fields of a body without `tools`, which join the offered functions instead of replacing them."""
    return {name: value for name, value in extra.items() if name != "tools"}


def encode_string_body(text: str) -> bytes:
    """Encode text as the inside of a JSON string."""
    return encode(text)[1:-1]


def encode_functions(tools: tuple[ToolSpec, ...]) -> bytes:
    """Encode the field `tools` as functions, with the comma before it."""
    return b',"tools":%b' % encode(make_functions(tools))


def make_functions(tools: tuple[ToolSpec, ...]) -> list[dict[str, Any]]:
    """Return the offered tools as functions."""
    return [{"type": "function", "function": to_tool_fields(tool)} for tool in tools]


def ends_with_user(message: Message) -> bool:
    """Return whether a message ends with user content for the server: also if results have media, which come after them."""
    has_media = any(isinstance(part, Result) and part.media for part in message.parts)
    return message.role == "person" or (message.role == "tools" and has_media)


def append_note(request: Request, history: bytes) -> bytes:
    """Return the encoded messages of a request, with its note at the very end: user text in brackets.

    Many chat templates refuse a second system message, and some refuse two user messages in a row, so the note joins the user's
    message if that is the last one. For wires whose messages end in `"content":"…"}`, or in `"content":[…]}` with parts where
    there are media.
    """
    if not request.note:
        return history
    note = f"[{request.note}]"
    if history and ends_with_user(request.history[-1]):
        if history.endswith(b"]}"):
            return b'%b,{"type":"text","text":%b}]}' % (history[:-2], encode(note))
        return history[:-2] + encode_string_body(f"\n\n{note}") + b'"}'  # before the closing quote
    return b"%b%b%b" % (history, b"," if history else b"", b'{"role":"user","content":%b}' % encode(note))
