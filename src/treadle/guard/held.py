r"""Whether a line of the journal holds a secret, and what an entry looks like without those it holds.

A call as a model wrote it is text that stands for values: letters may be spelled (`\u0041`), and names count where they are names
of JSON. So it is read as well as looked at. What is done with a line that holds a secret is the stores' business.
"""

import re
from typing import Any, cast

import msgspec

from treadle.guard.redaction import Redactor

_SPELLED = re.compile(r"\\+(?:u00|x)([2-7][0-9A-Fa-f])|\\+(/)")  # an ASCII letter or a slash, however often it was escaped

_decode = msgspec.json.Decoder().decode


def holds_secret(line: bytes, redactor: Redactor) -> bool:
    """Whether there is a secret in a line of JSON, or in one that was meant to be."""
    try:
        entry = _decode(line)
    except (msgspec.DecodeError, UnicodeError):
        return redactor.finds(line.decode(errors="replace"))
    return redactor.finds([entry, *[meant for call in _written(entry) for meant in _meant(call["text"])]])


def masked_entry(entry: dict[str, Any], redactor: Redactor) -> dict[str, Any]:
    """An entry, as JSON, without secrets."""
    masked = redactor.value(entry)
    for before, after in zip(_written(entry), _written(masked), strict=True):
        after["text"] = masked_call(before["text"], redactor)
    return masked


def _written(entry: Any) -> list[dict[str, Any]]:
    """The calls in a reply, as the model wrote them."""
    if not isinstance(entry, dict):
        return []
    parts = cast("list[dict[str, Any]]", cast("dict[str, Any]", entry).get("parts", ()))
    return [part for part in parts if part.get("part") == "written"]


def masked_call(text: str, redactor: Redactor) -> str:
    """The arguments of a call as a model wrote them, without secrets."""
    try:
        arguments = _decode(text)
    except (msgspec.DecodeError, UnicodeError):
        return _masked_text(text, redactor)
    if redactor.finds(arguments):
        text = msgspec.json.encode(redactor.value(arguments)).decode()
    return _masked_text(text, redactor)


def _meant(text: str) -> list[Any]:
    """What else a call as it was written may come to: its arguments, and its text with no letter spelled."""
    plain = [_plain(text)] if "\\" in text else []
    try:
        return [_decode(text), *plain]
    except (msgspec.DecodeError, UnicodeError):
        return plain


def _masked_text(text: str, redactor: Redactor) -> str:
    plain = _plain(text)
    masked = redactor.text(plain)
    return text if masked == plain else masked


def _plain(text: str) -> str:
    return _SPELLED.sub(_letter, text)


def _letter(spelled: re.Match[str]) -> str:
    return spelled[2] or chr(int(spelled[1], 16))
