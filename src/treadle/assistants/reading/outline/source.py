"""Bytes made text: which encoding they are in, and where their lines end.

A line ends with a line feed, a carriage return, or both; all become one line feed, so that line numbers are those of an editor.
Form feeds and the separators of Unicode end no line.
"""

import codecs
import re

from msgspec import Struct

from treadle.assistants.reading.outline.errors import NotText

_MARKS = (  # the longer first: that of UTF-32 begins with that of UTF-16
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
_SEEN = 4096  # bytes that tell whether something is text
_LONG_LINE = 500
_FEW_LINES = 3
_LONG_AVERAGE = 250
_CONTROLS = re.compile(rb"[\x00-\x08\x0e-\x1a\x1c-\x1f]")
_DECLARED = re.compile(rb"(?:[^\n\r]*[\n\r]+)?[ \t\f]*#[^\n\r]*?coding[:=][ \t]*([-\w.]+)")
_GENERATED = re.compile(r"(?i)do not edit|auto-?generated|generated (?:by|from|code)|@generated")


class Decoded(Struct, frozen=True):
    """A file's text with line feeds only, its lines without them, the encoding it was in, and what a reader should know of that."""

    text: str
    lines: tuple[str, ...]
    encoding: str
    note: str = ""


def read_source(data: bytes) -> Decoded:
    """The text in `data`; `NotText` where there is none."""
    text, encoding, note = _decoded(data)
    text = with_line_feeds(text)
    return Decoded(text, lines_of(text), encoding, note)


def with_line_feeds(text: str) -> str:
    """The same lines, each ended by a line feed alone."""
    return text.replace("\r\n", "\n").replace("\r", "\n") if "\r" in text else text


def lines_of(text: str) -> tuple[str, ...]:
    """The lines of a text whose lines end with line feeds. One at the very end opens no further line."""
    lines = text.split("\n")
    if not lines[-1]:
        lines.pop()
    return tuple(lines)


def is_minified(text: str) -> bool:
    """Whether people are not meant to read it: few lines, one of them very long, or long lines all along."""
    lines = lines_of(text)
    if not lines:
        return False
    longest = max(map(len, lines))
    return longest > _LONG_LINE and (len(lines) < _FEW_LINES or len(text) / len(lines) > _LONG_AVERAGE)


def is_generated(text: str) -> bool:
    """Whether its first lines say that a program wrote it."""
    return bool(_GENERATED.search(text[:1000]))


def _decoded(data: bytes) -> tuple[str, str, str]:
    for mark, encoding in _MARKS:
        if data.startswith(mark):
            return _by_mark(data[len(mark) :], encoding)
    if encoding := _wide(data[:_SEEN]):
        return _by_mark(data, encoding)
    _refuse_binary(data)
    try:
        return data.decode("utf-8"), "utf-8", ""
    except UnicodeDecodeError:
        return _not_utf8(data)


def _not_utf8(data: bytes) -> tuple[str, str, str]:
    """Text in the encoding that its first lines name, else with stray surrogates left out, else Latin-1, which fits any bytes."""
    declared = _DECLARED.match(data)
    for encoding, errors in ((declared[1].decode() if declared else "utf-8", "strict"), ("utf-8", "surrogatepass")):
        try:
            return data.decode(encoding, errors).encode("utf-8", "replace").decode(), encoding.lower(), ""
        except (UnicodeDecodeError, LookupError):
            continue
    return data.decode("latin-1"), "latin-1", "It isn't UTF-8 and was read as Latin-1, so some letters may be wrong."


def _by_mark(data: bytes, encoding: str) -> tuple[str, str, str]:
    try:
        return data.decode(encoding), encoding, ""
    except UnicodeDecodeError:
        note = f"It begins like {encoding.upper()}, but some of it isn't; what can't be read is shown as �."
        return data.decode(encoding, "replace"), encoding, note


def _wide(head: bytes) -> str:
    """The encoding of text in which each letter takes two or four bytes, told by where its zeros are."""
    if len(head) < 4 or len(head) % 2 or b"\x00" not in head:
        return ""
    shares = [head[at::4].count(0) / len(head[at::4]) for at in range(4)]
    pattern = "".join(["0" if share > 0.7 else "x" if share < 0.2 else "?" for share in shares])
    return {"x000": "utf-32-le", "000x": "utf-32-be", "x0x0": "utf-16-le", "0x0x": "utf-16-be"}.get(pattern, "")


def _refuse_binary(data: bytes) -> None:
    head = data[:_SEEN]
    if b"\x00" in data or len(_CONTROLS.findall(head)) > len(head) // 10:
        raise NotText("It is binary, so there is nothing to read.")
