"""Text formatting for terminals: cleaned, shortened, laid out. Pure functions; output is `screen`.

Text from a model or a tool may hold control characters that move the cursor, rename the window or reverse what is
read. They are removed from text; JSON values show them as escapes, so that a person who approves a call sees what is there.
"""

import re
import time
from collections.abc import Iterable, Sequence
from typing import Any

import msgspec

from treadle.core.wrapping import display_width, fit_columns
from treadle.guard.visible_text import HIDDEN, escape_match, make_visible

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
_WORD = re.compile(r"\w")
_SURROGATES = re.compile("[\ud800-\udfff]")
_INVISIBLE = re.compile(f"[{HIDDEN}]")
MIN_COLUMN = 11  # to which a column of a table is truncated: a date
MIN_LAST = 16  # of the last column, before others are left out
_ENDS = {'"': '"', "[": "]", "{": "}"}
_MAX_HELD = 4096  # characters of an unfinished sequence before it is taken for words


def clean_for_terminal(text: str) -> str:
    """Return `text` without anything that a terminal would interpret."""
    if text.isprintable():
        return text
    return _SURROGATES.sub("\ufffd", _CONTROLS.sub("", _SEQUENCES.sub("", text)))


class StreamCleaner:
    """`clean_for_terminal` for a stream: a control sequence may begin in one chunk and end in another."""

    def __init__(self) -> None:
        self._held = ""

    def feed(self, text: str) -> str:
        """Return what can be shown after this chunk."""
        text = self._held + text
        self._held = ""
        if text.isprintable():
            return text
        unfinished = _UNFINISHED.search(text)
        if unfinished is not None and len(text) - unfinished.start() <= _MAX_HELD:
            self._held = text[unfinished.start() :]
            text = text[: unfinished.start()]
        return clean_for_terminal(text)


def to_terminal_json(value: Any, *, indent: int = 0) -> str:
    """Return a value as JSON in which every character is visible; it decodes to the same value."""
    try:
        encoded = msgspec.json.encode(value)
        text = (msgspec.json.format(encoded, indent=indent) if indent else encoded).decode()
    except UnicodeEncodeError:  # half of a surrogate pair: only ASCII can say it
        import json

        text = json.dumps(msgspec.to_builtins(value), indent=indent or None)
    return escape_invisible(text)


def escape_invisible(json_text: str) -> str:
    """Return JSON with invisible characters written as escapes."""
    return json_text if json_text.isprintable() else _INVISIBLE.sub(escape_match, json_text)


def to_visible_json(value: Any, *, indent: int = 0) -> str:
    """Return a value as it must be shown for a decision: nothing in it is hidden, or passes for something else."""
    return make_visible(to_terminal_json(value, indent=indent))


def to_one_line(text: str, most: int) -> str:
    """Return text on one line, truncated if it is too long."""
    words = " ".join(clean_for_terminal(text[: most * 8]).split())
    return fit_columns(words, most)


def fit_lines(text: str, most: int) -> str:
    """Return text on one line: of several lines the first, and how many more there are.

    They are joined only where the first has no word, as in JSON that is laid out.
    """
    lines = [line for line in text.splitlines() if line.strip()]
    if len(lines) < 2 or _WORD.search(lines[0]) is None:
        return to_one_line(text, most)
    more = f" [{format_count(len(lines) - 1, 'more line')}]"
    return to_one_line(lines[0], most - len(more)) + more


def fold_line(line: str, width: int | None, indent: str = "") -> list[str]:
    """Return a line in pieces of at most so many columns, all but the first indented. Nothing of it is left out.

    It is broken behind a blank, or within a word that is too long for a piece. Without a width it is one piece.
    """
    if width is None:
        return [line]
    pieces: list[str] = []
    at = 0
    while True:
        room = width - len(indent) if pieces else width
        part = line[at : at + 3 * width]
        end = len(part) if display_width(part) <= room else _find_break(part, room, width - len(indent))
        pieces.append((indent if pieces else "") + part[:end])
        at += end
        if at >= len(line):
            return pieces


def _find_break(text: str, room: int, longest: int) -> int:
    """Return where to break text that is too long: behind a blank, or as late as possible before a word that never fits."""
    fitting = max(len(fit_columns(text, room + 1)) - 1, 1)
    blank = text.rfind(" ", len(text) - len(text.lstrip()), fitting) + 1
    is_long = display_width(text[blank:].partition(" ")[0]) > longest
    return blank if blank and not is_long else fitting


def format_call(name: str, arguments: dict[str, Any], most: int = 100) -> str:
    """Format a call on one line: `stock(item="A-113")`, truncated if it is too long."""
    shown = ", ".join([f"{clean_for_terminal(key)}={_fit_value(to_terminal_json(value), 40)}" for key, value in arguments.items()])
    return fit_columns(to_one_line(f"{name}({shown})", most * 2), most)


def _fit_value(json_text: str, most: int) -> str:
    """Return as much of a JSON value as fits into so many columns, with the end of a text, a list or an object."""
    fitting = fit_columns(json_text, most)
    return fitting if fitting == json_text else fit_columns(json_text, most - 1) + _ENDS.get(json_text[0], "")


def format_count(number: int, one: str, many: str = "") -> str:
    """Format a number with its noun: `1 call`, `2 calls`."""
    return f"{number:,} {one if number == 1 else many or one + 's'}"


def format_time(at: float) -> str:
    """Format a timestamp in local time."""
    return time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(at)) if at else "-"


def format_seconds(spent: float) -> str:
    """Format a duration."""
    return f"{spent:.1f} s" if spent >= 1 else f"{spent * 1000:.0f} ms"


def format_table(rows: Iterable[Sequence[str]], width: int | None = None) -> list[str]:
    """Format rows as lines with aligned columns.

    Where `width` is too narrow for all of them, the columns between the first, which names the row, and the last, which says what
    it is about, are truncated and then left out, beginning with the rightmost; at the end the last one is truncated.
    """
    cleaned = [[" ".join(clean_for_terminal(cell).split()) for cell in row] for row in rows]
    if not cleaned:
        return []
    widths = [max(display_width(row[column]) for row in cleaned) for column in range(len(cleaned[0]))]
    shown = _fit_widths(widths, width)
    lines = ["  ".join([*[_pad(fit_columns(row[at], wide), wide) for at, wide in shown], row[-1]]) for row in cleaned]
    return [(line if width is None else fit_columns(line, width)).rstrip() for line in lines]


def _fit_widths(widths: Sequence[int], width: int | None) -> list[tuple[int, int]]:
    """Return the columns to show before the last one, each with its width."""
    shown = list(enumerate(widths[:-1]))
    if width is None:
        return shown
    room = width - min(widths[-1], MIN_LAST)
    for position in reversed(range(1, len(shown))):
        excess = sum([wide + len("  ") for _, wide in shown]) - room
        at, wide = shown[position]
        if excess > 0:
            shown[position] = (at, max(wide - excess, min(wide, MIN_COLUMN)))
    while len(shown) > 1 and sum([wide + len("  ") for _, wide in shown]) > room:
        shown.pop()
    return shown


def _pad(cell: str, width: int) -> str:
    return cell + " " * (width - display_width(cell))
