"""Keys and tokens in a text, known by their looks alone. Pure, and a net rather than a wall.

Names such as `password = …` say too little here: code is full of them. What is plainly an example counts for nothing.
"""

import re
from collections.abc import Iterator

from msgspec import Struct

from treadle.guard.formats import FORMATS, PRIVATE_KEY, Format, compiled, end_of

FEWEST = 8  # different characters in the random part of a real one
KEY = 64  # characters that tell one private key from another
_EXAMPLE = re.compile(r"example|sample|dummy|fake|placeholder|redacted|x{6}|1234567|abcdef", re.IGNORECASE)


class Leak(Struct, frozen=True):
    """A secret in a text: what it is, where, and itself, to compare."""

    kind: str
    line: int
    secret: str


def leaks(text: str, before: str = "") -> list[Leak]:
    """The secrets in a text that weren't in the text before it."""
    known = {leak.secret for leak in _leaks(before)}
    return [leak for leak in _leaks(text) if leak.secret not in known]


def _leaks(text: str) -> Iterator[Leak]:
    for form in (PRIVATE_KEY, *FORMATS):
        if any(trigger in text for trigger in form.triggers):
            yield from _of(form, text)


def _of(form: Format, text: str) -> Iterator[Leak]:
    for found in compiled(form.head).finditer(text):
        start = found.start(1)
        if form.alone and start and text[start - 1].isalnum():
            continue
        end = found.end() + KEY if form is PRIVATE_KEY else end_of(form.tail, text, found.end(1), len(text))
        secret = text[start:end]
        if len(set(secret)) >= FEWEST and not _EXAMPLE.search(secret):
            yield Leak(form.kind.replace("_", " "), text.count("\n", 0, start) + 1, secret)
