r"""Edits of a text by line numbers or by the text that is replaced. Pure: text in, text or the reason why not out.

Lines are counted from 1 and end at `\n` alone. What isn't edited stays as it was, byte by byte: line endings, a missing end of the
last line. Text from a model gets the line endings of the file it goes into. Nothing is guessed: of several matches none is taken.
"""

import re
from bisect import bisect_left
from collections.abc import Iterable, Sequence
from itertools import islice

from msgspec import Struct

MOST_PLACES = 20
MOST_MATCHES = 10_000
MOST_COMPARED = 5_000
CONTEXT = 1


class Edited(Struct, frozen=True):
    """The text after the edit. The new lines are `start` to `end` of it; `end` is before `start` where lines only went."""

    text: str
    start: int
    end: int
    count: int = 1
    tolerant: bool = False


class Place(Struct, frozen=True):
    """A line number, and the lines around it."""

    line: int
    context: str


class Ambiguous(Struct, frozen=True):
    """The text is there more than once, counted up to `MOST_MATCHES`; `places` are the first of them."""

    count: int
    places: tuple[Place, ...]


class NotFound(Struct, frozen=True):
    """The text isn't there; `nearest` are places that look like it, `already` where the new text is."""

    nearest: tuple[Place, ...] = ()
    already: int = 0


class OutOfRange(Struct, frozen=True):
    """Line numbers that the text doesn't have."""

    lines: int


def lines_of(text: str) -> list[str]:
    """The lines with their endings."""
    lines = text.split("\n")
    last = lines.pop()
    return [line + "\n" for line in lines] + ([last] if last else [])


def ending_of(text: str) -> str:
    """The line ending that most lines have."""
    return "\r\n" if text.count("\r\n") * 2 > text.count("\n") else "\n"


def ended_like(text: str, new: str) -> str:
    """New text with the line endings of `text`."""
    plain, ending = new.replace("\r\n", "\n"), ending_of(text)
    return plain if ending == "\n" else plain.replace("\n", ending)


def replace_lines(text: str, start: int, end: int, new: str) -> Edited | OutOfRange:
    """Lines `start` to `end`, both included, replaced. An empty `new` takes them away; a line break alone is one empty line."""
    lines = lines_of(text)
    if not 1 <= start <= end <= len(lines):
        return OutOfRange(len(lines))
    return _put(text, lines, start - 1, end, new)


def insert_at(text: str, line: int, new: str) -> Edited | OutOfRange:
    """New lines before `line`; one more than there are lines puts them at the end."""
    lines = lines_of(text)
    if not 1 <= line <= len(lines) + 1:
        return OutOfRange(len(lines))
    return _put(text, lines, line - 1, line - 1, new)


def delete_lines(text: str, start: int, end: int) -> Edited | OutOfRange:
    """Without lines `start` to `end`, both included."""
    return replace_lines(text, start, end, "")


def append(text: str, new: str) -> Edited:
    """New lines at the end, which then ends as `new` does."""
    ending = ending_of(text)
    before = text if not text or text.endswith("\n") else text + ending
    added = ended_like(text, new)
    return Edited(before + added, len(lines_of(before)) + 1, len(lines_of(before)) + len(lines_of(added)))


def replace_text(text: str, old: str, new: str, line_hint: int | None = None) -> Edited | Ambiguous | NotFound:
    """The one place where `old` is replaced; the match that has `line_hint` among its lines, where there are several.

    Where the text isn't there as it is, lines are tried that differ in the whitespace at their ends, or are all indented by as much
    more or less; then the new lines are indented alike.
    """
    if not old:
        return NotFound()
    plain, old, new = (each.replace("\r\n", "\n") for each in (text, old, new))
    exact = list(islice(_found(plain, old), MOST_MATCHES))
    if exact:
        return _exact(text, plain, exact, old, new, line_hint)
    return _tolerant(text, plain, old, new, line_hint) or _not_found(plain, old, new)


def replace_every(text: str, old: str, new: str) -> Edited | NotFound:
    """Every place where `old` is, exactly, replaced."""
    plain, old, new = (each.replace("\r\n", "\n") for each in (text, old, new))
    starts = [match.start() for match in re.finditer(re.escape(old), plain)] if old else []
    if not starts:
        return _not_found(plain, old, new) if old else NotFound()
    after = _spliced(text, [(start, start + len(old)) for start in starts], new)
    first = _line_at(plain, starts[0])
    last = _line_at(plain, starts[-1]) + new.count("\n") + (new.count("\n") - old.count("\n")) * (len(starts) - 1)
    return Edited(after, first, last, len(starts))


# By line


def _put(text: str, lines: list[str], start: int, end: int, new: str) -> Edited:
    """The lines with `[start:end]` replaced, ending as the text ended."""
    ending = ending_of(text)
    added = lines_of(ended_like(text, new))
    result = [*lines[:start], *added, *lines[end:]]
    ends_open = not text.endswith("\n") if text else not new.endswith("\n")
    closed = [line if line.endswith("\n") else line + ending for line in result]
    if ends_open and closed and closed[-1].rstrip("\r\n"):  # an empty line without an ending would be none
        closed[-1] = closed[-1].removesuffix("\n").removesuffix("\r")
    return Edited("".join(closed), start + 1, start + len(added))


# By text, exactly


def _found(text: str, old: str) -> Iterable[int]:
    """Where `old` begins, also where two of it overlap."""
    at = text.find(old)
    while at >= 0:
        yield at
        at = text.find(old, at + 1)


def _exact(text: str, plain: str, starts: list[int], old: str, new: str, hint: int | None) -> Edited | Ambiguous:
    lines = _line_numbers(plain, starts)
    height = old.removesuffix("\n").count("\n")
    chosen = _chosen([(line, line + height) for line in lines], hint)
    if chosen is None:
        return Ambiguous(len(starts), _places(plain, lines))
    start = starts[chosen]
    return Edited(_spliced(text, [(start, start + len(old))], new), lines[chosen], lines[chosen] + len(lines_of(new)) - 1)


def _chosen(spans: Sequence[tuple[int, int]], hint: int | None) -> int | None:
    """Which match is meant: the only one, or the only one with the hinted line in it."""
    if len(spans) == 1:
        return 0
    hit = [number for number, (first, last) in enumerate(spans) if hint is not None and first <= hint <= last]
    return hit[0] if len(hit) == 1 else None


def _spliced(text: str, spans: Iterable[tuple[int, int]], new: str) -> str:
    """The text with spans of it replaced, which are given as places in the text where every line ends in one character."""
    taken = [match.start() - number for number, match in enumerate(re.finditer("\r\n", text))]
    put, pieces, after = ended_like(text, new), list[str](), 0
    for start, end in spans:
        pieces += [text[after : start + bisect_left(taken, start)], put]
        after = end + bisect_left(taken, end)
    return "".join([*pieces, text[after:]])


# By text, with other whitespace


def _tolerant(text: str, plain: str, old: str, new: str, hint: int | None) -> Edited | Ambiguous | None:
    wanted = [line.rstrip() for line in old.removesuffix("\n").split("\n")]
    if not any(wanted):
        return None
    have = [line.rstrip() for line in lines_of(plain)]
    starts = list(_alike(have, wanted))
    if not starts:
        return None
    chosen = _chosen([(start + 1, start + len(wanted)) for start in starts], hint)
    if chosen is None:
        return Ambiguous(len(starts), _places(plain, [start + 1 for start in starts]))
    start = starts[chosen]
    shift = _shift(have[start : start + len(wanted)], wanted)
    assert shift is not None  # that is how the place was found
    body = new.removesuffix("\n") if old.endswith("\n") else new
    shifted = "\n".join([_shifted(line, shift) for line in body.split("\n")]) + "\n" if body else ""
    made = _put(text, lines_of(text), start, start + len(wanted), shifted)
    return Edited(made.text, made.start, made.end, tolerant=True)


def _alike(have: list[str], wanted: list[str]) -> Iterable[int]:
    """Where the wanted lines begin, whatever whitespace is before all of them."""
    first = next(number for number, line in enumerate(wanted) if line)
    anchor = wanted[first].lstrip()
    for number, line in enumerate(have):
        start = number - first
        fits = line.endswith(anchor) and 0 <= start <= len(have) - len(wanted)
        if fits and _shift(have[start : start + len(wanted)], wanted) is not None:
            yield start


def _shift(have: list[str], wanted: list[str]) -> tuple[str, str] | None:
    """What to take from the wanted lines' beginnings and what to put there, to get those we have; None if that can't be done."""
    pair = next((mine, theirs) for mine, theirs in zip(have, wanted, strict=True) if theirs)
    mine, theirs = _indent(pair[0]), _indent(pair[1])
    if mine.endswith(theirs):
        shift = ("", mine.removesuffix(theirs))
    elif theirs.endswith(mine):
        shift = (theirs.removesuffix(mine), "")
    else:
        shift = (theirs, mine)
    take, put = shift
    same = all(
        other == (put + line.removeprefix(take) if line else "") and line.startswith(take if line else "")
        for line, other in zip(wanted, have, strict=True)
    )
    return shift if same else None


def _shifted(line: str, shift: tuple[str, str]) -> str:
    take, put = shift
    if not line.strip():
        return line
    return put + (line.removeprefix(take) if line.startswith(take) else line.lstrip())


def _indent(line: str) -> str:
    return line[: len(line) - len(line.lstrip())]


# Where to look instead


def _not_found(plain: str, old: str, new: str) -> NotFound:
    already = plain.find(new) if new.strip() else -1
    return NotFound(_places(plain, _nearest(lines_of(plain), old)), _line_at(plain, already) if already >= 0 else 0)


def _nearest(lines: list[str], old: str) -> list[int]:
    """Up to three lines that look like the longest line of the text."""
    import difflib

    anchor = max(old.split("\n"), key=lambda line: len(line.strip())).strip()[:200]
    looked = [line.strip()[:200] for line in lines[:MOST_COMPARED]]
    close = set(difflib.get_close_matches(anchor, dict.fromkeys(looked), n=3, cutoff=0.6)) if anchor else set[str]()
    return [number for number, line in enumerate(looked, 1) if line in close][:3]


def _places(plain: str, lines: Sequence[int]) -> tuple[Place, ...]:
    all_lines = lines_of(plain)
    return tuple([Place(line, _around(all_lines, line)) for line in lines[:MOST_PLACES]])


def _around(lines: list[str], line: int) -> str:
    shown = range(max(1, line - CONTEXT), min(len(lines), line + CONTEXT) + 1)
    return "\n".join([f"{number}|{lines[number - 1].rstrip()[:200]}" for number in shown])


def _line_at(text: str, at: int) -> int:
    return text.count("\n", 0, at) + 1


def _line_numbers(text: str, places: Sequence[int]) -> list[int]:
    breaks = [match.start() for match in re.finditer("\n", text)]
    return [bisect_left(breaks, place) + 1 for place in places]
