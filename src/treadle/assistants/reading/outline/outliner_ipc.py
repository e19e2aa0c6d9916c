"""Protocol between the outliner and its child process: MessagePack values, each preceded by its length in four bytes."""

from typing import IO, Any, Literal

import msgspec
from msgspec import Struct

_LENGTH = 4


class OutlineJob(Struct, frozen=True):
    """A job for the child process."""

    what: Literal["outline", "seed_json", "metrics", "symbols"]
    text: str
    language: str
    max_depth: int = 2


class OutlineResult(Struct, frozen=True, tag="done"):
    """The result of a job."""

    value: msgspec.Raw


class OutlineRefusal(Struct, frozen=True, tag="refused"):
    """A failed job: the name of an error class, and its message."""

    error: str
    message: str


OutlineAnswer = OutlineResult | OutlineRefusal

encode_frame = msgspec.msgpack.Encoder().encode
decode_job = msgspec.msgpack.Decoder(OutlineJob).decode
decode_answer = msgspec.msgpack.Decoder(OutlineAnswer).decode


def send_frame(pipe: IO[bytes], value: Any) -> None:
    """Write one value."""
    data = encode_frame(value)
    pipe.write(len(data).to_bytes(_LENGTH, "big"))
    pipe.write(data)
    pipe.flush()


def receive_frame(pipe: IO[bytes]) -> bytes | None:
    """Read one value without decoding it; None at end of file."""
    length = pipe.read(_LENGTH)
    if len(length) < _LENGTH:
        return None
    size = int.from_bytes(length, "big")
    data = pipe.read(size)
    return data if len(data) == size else None
