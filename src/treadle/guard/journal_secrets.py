r"""Detects and masks secrets in journal lines.

A call as a model wrote it is text that encodes values: letters may be escaped (`\u0041`), and names count where they are JSON
names. So it is parsed as well as scanned. The stores decide what to do with a line that contains a secret.
"""

import re
from collections.abc import Sequence
from typing import Any, cast

import msgspec

from treadle.guard.redaction import Redactor

_SPELLED = re.compile(r"\\+(?:u00|x)([2-7][0-9A-Fa-f])|\\+(/)")  # an ASCII letter or a slash, however often it was escaped

_decode = msgspec.json.Decoder().decode


def holds_secret(line: bytes, redactor: Redactor) -> bool:
    """Return whether a line of JSON, or of attempted JSON, contains a secret."""
    return redactor.finds(_read_line(line))


def hold_secrets(lines: Sequence[bytes], redactor: Redactor) -> list[bool]:
    """Return of each line whether it contains a secret. All are scanned at once; few lines contain one."""
    values = [_read_line(line) for line in lines]
    return [redactor.finds(value) for value in values] if redactor.may_find(values) else [False] * len(lines)


def _read_line(line: bytes) -> Any:
    """Return what a line says: its entry with the arguments of the calls in it, or its text where it is no JSON."""
    try:
        entry = _decode(line)
    except (msgspec.DecodeError, UnicodeError):
        return line.decode(errors="replace")
    return [entry, *[meant for call in _find_written_calls(entry) for meant in _decode_variants(call["text"])]]


def mask_entry(entry: dict[str, Any], redactor: Redactor) -> dict[str, Any]:
    """Return an entry, as JSON, with its secrets masked."""
    masked = redactor.value(entry)
    for before, after in zip(_find_written_calls(entry), _find_written_calls(masked), strict=True):
        after["text"] = mask_call(before["text"], redactor)
    return masked


def _find_written_calls(entry: Any) -> list[dict[str, Any]]:
    """Return the calls in a reply, as the model wrote them."""
    if not isinstance(entry, dict):
        return []
    parts = cast("list[dict[str, Any]]", cast("dict[str, Any]", entry).get("parts", ()))
    return [part for part in parts if part.get("part") == "written"]


def mask_call(text: str, redactor: Redactor) -> str:
    """Return the arguments of a call as a model wrote them, with secrets masked."""
    try:
        arguments = _decode(text)
    except (msgspec.DecodeError, UnicodeError):
        return _mask_text(text, redactor)
    if redactor.finds(arguments):
        text = msgspec.json.encode(redactor.value(arguments)).decode()
    return _mask_text(text, redactor)


def _decode_variants(text: str) -> list[Any]:
    """Return what else the text of a call may decode to: its arguments, and its text without escapes."""
    plain = [_unescape(text)] if "\\" in text else []
    try:
        return [_decode(text), *plain]
    except (msgspec.DecodeError, UnicodeError):
        return plain


def _mask_text(text: str, redactor: Redactor) -> str:
    plain = _unescape(text)
    masked = redactor.text(plain)
    return text if masked == plain else masked


def _unescape(text: str) -> str:
    return _SPELLED.sub(_unescape_letter, text)


def _unescape_letter(spelled: re.Match[str]) -> str:
    return spelled[2] or chr(int(spelled[1], 16))
