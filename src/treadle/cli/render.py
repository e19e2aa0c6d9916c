"""Text as it may reach a terminal: cleaned, shortened, laid out. Pure: what it is written to is `screen`.

Whatever a model or a tool says may hold control characters that move the cursor, rename the window or reverse what is read.
Words lose them; values in JSON show them as escapes, so that a person who approves a call sees what is there.
"""

import re
import time
from collections.abc import Iterable, Sequence
from typing import Any

import msgspec

from treadle.guard.visible import HIDDEN, escape, visible

_STRING = r"[^\x07\x1b\x80-\x9f]*"  # what a control string holds
_SEQUENCES = re.compile(
    rf"\x1b[\]PX^_]{_STRING}(?:\x07|\x1b\\|\x9c)"  # OSC, DCS, SOS, PM, APC
    rf"|[\x90\x98\x9d-\x9f]{_STRING}(?:\x07|\x1b\\|\x9c)"
    r"|(?:\x1b\[|\x9b)[0-?]*[ -/]*[@-~]"  # CSI
    r"|\x1b[ -/]*[0-~]"
)
_UNFINISHED = re.compile(
    rf"(?:\x1b[\]PX^_]|[\x90\x98\x9d-\x9f]){_STRING}\x1b?\Z|(?:\x1b\[|\x9b)[0-?]*[ -/]*\Z|\x1b[ -/]*\Z",
)
_CONTROLS = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")
_SURROGATES = re.compile("[\ud800-\udfff]")
_UNSEEN = re.compile(f"[{HIDDEN}]")
_MOST_HELD = 4096  # characters of an unfinished sequence before it is taken for words


def clean(text: str) -> str:
    """The words in `text`, without anything that a terminal would obey."""
    if text.isprintable():
        return text
    return _SURROGATES.sub("\ufffd", _CONTROLS.sub("", _SEQUENCES.sub("", text)))


class Cleaner:
    """`clean` for a stream: a sequence may begin in one piece and end in another."""

    def __init__(self) -> None:
        self._held = ""

    def feed(self, text: str) -> str:
        """What can be shown after this piece."""
        text = self._held + text
        self._held = ""
        if text.isprintable():
            return text
        unfinished = _UNFINISHED.search(text)
        if unfinished is not None and len(text) - unfinished.start() <= _MOST_HELD:
            self._held = text[unfinished.start() :]
            text = text[: unfinished.start()]
        return clean(text)


def to_json(value: Any, *, indent: int = 0) -> str:
    """A value as JSON in which every character can be seen; the same value when read back."""
    try:
        encoded = msgspec.json.encode(value)
        text = (msgspec.json.format(encoded, indent=indent) if indent else encoded).decode()
    except UnicodeEncodeError:  # half of a surrogate pair: only ASCII can say it
        import json

        text = json.dumps(msgspec.to_builtins(value), indent=indent or None)
    return seen(text)


def seen(json_text: str) -> str:
    """JSON with the characters that can't be seen written as escapes."""
    return json_text if json_text.isprintable() else _UNSEEN.sub(escape, json_text)


def card(value: Any) -> str:
    """A value as a person has to see it who decides about it: nothing in it hides, or passes for something else."""
    return visible(to_json(value, indent=2))


def one_line(text: str, most: int) -> str:
    """Words on one line, cut where they are too many."""
    words = " ".join(clean(text[: most * 8]).split())
    return fit(words, most)


def fit(text: str, most: int) -> str:
    """As much of a line as fits into so many columns."""
    if text.isascii():
        return text if len(text) <= most else text[: most - 1] + "…"
    if width_of(text) <= most:
        return text
    kept, width = 0, 0
    for character in text:
        width += width_of(character)
        if width > most - 1:
            break
        kept += 1
    return text[:kept] + "…"


def width_of(text: str) -> int:
    """How many columns a line takes."""
    if text.isascii():
        return len(text)
    from unicodedata import combining, east_asian_width

    return sum([0 if combining(character) else 2 if east_asian_width(character) in "WF" else 1 for character in text])


def call_label(name: str, arguments: dict[str, Any], most: int = 100) -> str:
    """A call on one line: `stock(item="A-113")`, cut where it is too long."""
    shown = ", ".join([f"{clean(key)}={fit(to_json(value), 40)}" for key, value in arguments.items()])
    return fit(one_line(f"{name}({shown})", most * 2), most)


def counted(number: int, one: str, many: str = "") -> str:
    """A number with its word: `1 call`, `2 calls`."""
    return f"{number:,} {one if number == 1 else many or one + 's'}"


def when(at: float) -> str:
    """A moment, in the time of this place."""
    return time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(at)) if at else "-"


def seconds(spent: float) -> str:
    """How long something took."""
    return f"{spent:.1f} s" if spent >= 1 else f"{spent * 1000:.0f} ms"


def table(rows: Iterable[Sequence[str]], width: int | None = None) -> list[str]:
    """Rows as lines with aligned columns; the last column is cut at `width`."""
    cleaned = [[" ".join(clean(cell).split()) for cell in row] for row in rows]
    if not cleaned:
        return []
    widths = [max(width_of(row[column]) for row in cleaned) for column in range(len(cleaned[0]) - 1)]
    lines = ["  ".join([*[_padded(cell, wide) for cell, wide in zip(row, widths, strict=False)], row[-1]]) for row in cleaned]
    return [(line if width is None else fit(line, width)).rstrip() for line in lines]


def _padded(cell: str, width: int) -> str:
    return cell + " " * (width - width_of(cell))
