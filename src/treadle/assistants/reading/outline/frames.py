"""What the outliner and its child process say to each other: values as MessagePack, each after its length in four bytes."""

from typing import IO, Any, Literal

import msgspec
from msgspec import Struct

_LENGTH = 4


class Job(Struct, frozen=True):
    """What the child is asked for."""

    what: Literal["outline", "seed_json", "metrics"]
    text: str
    language: str
    max_depth: int = 2


class Done(Struct, frozen=True, tag="done"):
    """What it found."""

    value: msgspec.Raw


class Refused(Struct, frozen=True, tag="refused"):
    """Why it found nothing: the name of an error, and its message."""

    error: str
    message: str


Answer = Done | Refused

encode = msgspec.msgpack.Encoder().encode
decode_job = msgspec.msgpack.Decoder(Job).decode
decode_answer = msgspec.msgpack.Decoder(Answer).decode


def send(pipe: IO[bytes], value: Any) -> None:
    """Write one value."""
    data = encode(value)
    pipe.write(len(data).to_bytes(_LENGTH, "big"))
    pipe.write(data)
    pipe.flush()


def receive(pipe: IO[bytes]) -> bytes | None:
    """Read one value, not decoded yet; None where the other side is gone."""
    length = pipe.read(_LENGTH)
    if len(length) < _LENGTH:
        return None
    size = int.from_bytes(length, "big")
    data = pipe.read(size)
    return data if len(data) == size else None
