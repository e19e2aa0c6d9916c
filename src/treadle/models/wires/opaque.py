"""Helpers for provider data that is sent back unchanged (`core.calls.Opaque`): inserted into messages, collected from streams.

Pure. The data isn't interpreted here; it is only returned unchanged.
"""

from collections.abc import Sequence
from typing import Any

from msgspec.json import decode

from treadle.core.calls import Opaque
from treadle.models.encoding import encode

_GROWING = ("text", "summary", "data")  # fields of a reasoning detail that come in pieces


def encode_inner_fields(json: str) -> bytes:
    """Return the fields of a JSON object, with a comma before them, to insert into another one."""
    fields = json.strip()[1:-1].strip()
    return f",{fields}".encode() if fields else b""


def merge_inner_fields(objects: Sequence[str]) -> bytes:
    """Return the fields of several objects as `encode_inner_fields` does; lists under the same name are joined."""
    if len(objects) < 2:
        return encode_inner_fields(objects[0]) if objects else b""
    whole: dict[str, Any] = {}
    for json in objects:
        for name, value in decode(json, type=dict[str, Any]).items():
            both = isinstance(value, list) and isinstance(whole.get(name), list)
            whole[name] = [*whole[name], *value] if both else value
    return encode_inner_fields(encode(whole).decode())


class ReasoningDetails:
    """Collects `reasoning_details` as they stream: pieces of one block become that block."""

    def __init__(self, wire: str) -> None:
        self._wire = wire
        self._blocks: list[dict[str, Any]] = []

    def add(self, pieces: Sequence[dict[str, Any]]) -> None:
        """Add pieces in the order in which they came."""
        for piece in pieces:
            last = self._blocks[-1] if self._blocks else None
            if last is not None and _is_continuation(last, piece):
                _extend_block(last, piece)
            else:
                self._blocks.append(dict(piece))

    def take(self) -> list[Opaque]:
        """Return what was collected since the last call, if anything."""
        blocks, self._blocks = self._blocks, []
        return [Opaque(self._wire, encode({"reasoning_details": blocks}).decode())] if blocks else []


def _is_continuation(block: dict[str, Any], piece: dict[str, Any]) -> bool:
    """Return whether a piece belongs to a block: the same type and index, and no signature has closed the block yet."""
    same = block.get("type") == piece.get("type") and block.get("index") == piece.get("index")
    return same and not block.get("signature") and piece.get("id") in (None, block.get("id"))


def _extend_block(block: dict[str, Any], piece: dict[str, Any]) -> None:
    for name, value in piece.items():
        if name in _GROWING and isinstance(value, str) and isinstance(block.get(name), str):
            block[name] += value
        elif value is not None:
            block[name] = value
