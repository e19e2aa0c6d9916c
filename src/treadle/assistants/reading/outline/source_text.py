"""Decode bytes to text: encoding, line ends, and what kind of text it is.

A line ends with a line feed, a carriage return, or both; all become one line feed, so that line numbers are those of
an editor. Form feeds and the separators of Unicode end no line.
"""

import codecs
import re

from msgspec import Struct

from treadle.assistants.reading.outline.errors import NotText

_PIECES = re.compile(r"[A-Z]?[a-z]{1,9}|[A-Z]{1,4}|[^\W\d_]|\d|[^\w\s]{1,2}|\n\s*")
_SAMPLE = 6000  # characters looked at at once
_SAMPLES = 8


def estimate_tokens(text: str) -> int:
    """Estimate the number of tokens of a text. Of a long one, only samples are examined."""
    if len(text) <= _SAMPLE * _SAMPLES:
        return len(_PIECES.findall(text))
    step = len(text) // _SAMPLES
    seen = "".join([text[at : at + _SAMPLE] for at in range(0, step * _SAMPLES, step)])
    return len(_PIECES.findall(seen)) * len(text) // len(seen)


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


class DecodedSource(Struct, frozen=True):
    """A file's text with line feeds only, its lines without them, its encoding, and a note about the decoding for the reader."""

    text: str
    lines: tuple[str, ...]
    encoding: str
    note: str = ""


def decode_source(data: bytes) -> DecodedSource:
    """Decode `data`; raises `NotText` if it is binary."""
    text, encoding, note = _decode(data)
    text = normalize_line_feeds(text)
    return DecodedSource(text, split_source_lines(text), encoding, note)


def normalize_line_feeds(text: str) -> str:
    """Replace every line end by a line feed."""
    return text.replace("\r\n", "\n").replace("\r", "\n") if "\r" in text else text


def split_source_lines(text: str) -> tuple[str, ...]:
    """Split a text at line feeds. One at the very end starts no further line."""
    lines = text.split("\n")
    if not lines[-1]:
        lines.pop()
    return tuple(lines)


def is_minified(text: str) -> bool:
    """Return whether the text isn't meant to be read: few lines, one of them very long, or long lines throughout."""
    lines = split_source_lines(text)
    if not lines:
        return False
    longest = max(map(len, lines))
    return longest > _LONG_LINE and (len(lines) < _FEW_LINES or len(text) / len(lines) > _LONG_AVERAGE)


def _decode(data: bytes) -> tuple[str, str, str]:
    for mark, encoding in _MARKS:
        if data.startswith(mark):
            return _decode_with_bom(data[len(mark) :], encoding)
    if encoding := _detect_wide_encoding(data[:_SEEN]):
        return _decode_with_bom(data, encoding)
    _refuse_binary(data)
    try:
        return data.decode("utf-8"), "utf-8", ""
    except UnicodeDecodeError:
        return _decode_legacy(data)


def _decode_legacy(data: bytes) -> tuple[str, str, str]:
    """Decode by the encoding that the first lines declare, else without stray surrogates, else as Latin-1, which fits any bytes."""
    declared = _DECLARED.match(data)
    for encoding, errors in ((declared[1].decode() if declared else "utf-8", "strict"), ("utf-8", "surrogatepass")):
        try:
            return data.decode(encoding, errors).encode("utf-8", "replace").decode(), encoding.lower(), ""
        except (UnicodeDecodeError, LookupError):
            continue
    return data.decode("latin-1"), "latin-1", "It isn't UTF-8 and was read as Latin-1, so some letters may be wrong."


def _decode_with_bom(data: bytes, encoding: str) -> tuple[str, str, str]:
    try:
        return data.decode(encoding), encoding, ""
    except UnicodeDecodeError:
        note = f"It begins like {encoding.upper()}, but some of it isn't; what can't be read is shown as �."
        return data.decode(encoding, "replace"), encoding, note


def _detect_wide_encoding(head: bytes) -> str:
    """Return the encoding of text with two or four bytes per letter, detected by the position of its zeros."""
    if len(head) < 4 or len(head) % 2 or b"\x00" not in head:
        return ""
    shares = [head[at::4].count(0) / len(head[at::4]) for at in range(4)]
    pattern = "".join(["0" if share > 0.7 else "x" if share < 0.2 else "?" for share in shares])
    return {"x000": "utf-32-le", "000x": "utf-32-be", "x0x0": "utf-16-le", "0x0x": "utf-16-be"}.get(pattern, "")


def _refuse_binary(data: bytes) -> None:
    head = data[:_SEEN]
    if b"\x00" in data or len(_CONTROLS.findall(head)) > len(head) // 10:
        raise NotText("It is binary, so there is nothing to read.")
