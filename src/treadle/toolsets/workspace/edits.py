r"""Edits of a text by line numbers or by the text that is replaced, and their diff. Pure: text in, text or an error value out.

Lines are counted from 1 and end at `\n` alone. What isn't edited stays as it was, byte by byte: line endings, a missing end
of the last line. Text from a model gets the line endings of its file. Nothing is guessed: of several matches none is taken.
"""

import re
from bisect import bisect_left
from collections.abc import Iterable, Sequence
from itertools import islice

from msgspec import Struct

MAX_PLACES = 20
MAX_MATCHES = 10_000
MAX_COMPARED = 5_000
CONTEXT = 1
MAX_LINES = 80
MAX_DIFFED = 4_000
DIFF_CONTEXT = 3


class EditedText(Struct, frozen=True):
    """The text after the edit. The new lines are `start` to `end` of it; `end` is before `start` where lines were only removed."""

    text: str
    start: int
    end: int
    count: int = 1
    tolerant: bool = False


class EditSpan(Struct, frozen=True):
    """A line number, and the lines around it."""

    line: int
    context: str


class AmbiguousMatch(Struct, frozen=True):
    """The text occurs more than once, counted up to `MAX_MATCHES`; `places` are the first of them."""

    count: int
    places: tuple[EditSpan, ...]


class TextNotFound(Struct, frozen=True):
    """The text doesn't occur; `nearest` are similar places, `already` is where the new text is."""

    nearest: tuple[EditSpan, ...] = ()
    already: int = 0


class LinesOutOfRange(Struct, frozen=True):
    """Line numbers that the text doesn't have."""

    lines: int


def split_keeping_ends(text: str) -> list[str]:
    """Return the lines with their endings."""
    lines = text.split("\n")
    last = lines.pop()
    return [line + "\n" for line in lines] + ([last] if last else [])


def detect_line_ending(text: str) -> str:
    """Return the line ending of most lines."""
    return "\r\n" if text.count("\r\n") * 2 > text.count("\n") else "\n"


def match_line_endings(text: str, new: str) -> str:
    """Return new text with the line endings of `text`."""
    plain, ending = new.replace("\r\n", "\n"), detect_line_ending(text)
    return plain if ending == "\n" else plain.replace("\n", ending)


def replace_lines(text: str, start: int, end: int, new: str) -> EditedText | LinesOutOfRange:
    """Replace lines `start` to `end`, inclusive. An empty `new` removes them; a line break alone is one empty line."""
    lines = split_keeping_ends(text)
    if not 1 <= start <= end <= len(lines):
        return LinesOutOfRange(len(lines))
    return _replace_slice(text, lines, start - 1, end, new)


def insert_lines(text: str, line: int, new: str) -> EditedText | LinesOutOfRange:
    """Insert new lines before `line`; one more than there are lines puts them at the end."""
    lines = split_keeping_ends(text)
    if not 1 <= line <= len(lines) + 1:
        return LinesOutOfRange(len(lines))
    return _replace_slice(text, lines, line - 1, line - 1, new)


def delete_lines(text: str, start: int, end: int) -> EditedText | LinesOutOfRange:
    """Delete lines `start` to `end`, inclusive."""
    return replace_lines(text, start, end, "")


def append_lines(text: str, new: str) -> EditedText:
    """Append new lines; the text then ends as `new` does."""
    ending = detect_line_ending(text)
    before = text if not text or text.endswith("\n") else text + ending
    added = match_line_endings(text, new)
    return EditedText(
        before + added, len(split_keeping_ends(before)) + 1, len(split_keeping_ends(before)) + len(split_keeping_ends(added))
    )


def replace_text(text: str, old: str, new: str, line_hint: int | None = None) -> EditedText | AmbiguousMatch | TextNotFound:
    """Replace the only occurrence of `old`; of several, the match that has `line_hint` among its lines.

    Without an exact match, lines are tried that differ in trailing whitespace, or are all indented by the same amount
    more or less; then the new lines are indented alike.
    """
    if not old:
        return TextNotFound()
    plain, old, new = (each.replace("\r\n", "\n") for each in (text, old, new))
    exact = list(islice(_find_all(plain, old), MAX_MATCHES))
    if exact:
        return _replace_exact(text, plain, exact, old, new, line_hint)
    return _replace_tolerant(text, plain, old, new, line_hint) or _not_found(plain, old, new)


def replace_all(text: str, old: str, new: str) -> EditedText | TextNotFound:
    """Replace every exact occurrence of `old`."""
    plain, old, new = (each.replace("\r\n", "\n") for each in (text, old, new))
    starts = [match.start() for match in re.finditer(re.escape(old), plain)] if old else []
    if not starts:
        return _not_found(plain, old, new) if old else TextNotFound()
    after = _splice(text, [(start, start + len(old)) for start in starts], new)
    first = _line_at(plain, starts[0])
    last = _line_at(plain, starts[-1]) + new.count("\n") + (new.count("\n") - old.count("\n")) * (len(starts) - 1)
    return EditedText(after, first, last, len(starts))


# By line


def _replace_slice(text: str, lines: list[str], start: int, end: int, new: str) -> EditedText:
    """Replace the lines `[start:end]`, ending as the text ended."""
    ending = detect_line_ending(text)
    added = split_keeping_ends(match_line_endings(text, new))
    result = [*lines[:start], *added, *lines[end:]]
    ends_open = not text.endswith("\n") if text else not new.endswith("\n")
    closed = [line if line.endswith("\n") else line + ending for line in result]
    if ends_open and closed and closed[-1].rstrip("\r\n"):  # an empty line without an ending would be none
        closed[-1] = closed[-1].removesuffix("\n").removesuffix("\r")
    return EditedText("".join(closed), start + 1, start + len(added))


# By text, exactly


def _find_all(text: str, old: str) -> Iterable[int]:
    """Yield where `old` begins, including overlapping occurrences."""
    at = text.find(old)
    while at >= 0:
        yield at
        at = text.find(old, at + 1)


def _replace_exact(text: str, plain: str, starts: list[int], old: str, new: str, hint: int | None) -> EditedText | AmbiguousMatch:
    lines = _line_numbers(plain, starts)
    height = old.removesuffix("\n").count("\n")
    chosen = _choose_match([(line, line + height) for line in lines], hint)
    if chosen is None:
        return AmbiguousMatch(len(starts), _make_spans(plain, lines))
    start = starts[chosen]
    return EditedText(
        _splice(text, [(start, start + len(old))], new), lines[chosen], lines[chosen] + len(split_keeping_ends(new)) - 1
    )


def _choose_match(spans: Sequence[tuple[int, int]], hint: int | None) -> int | None:
    """Return the index of the match to use: the only one, or the only one with the hinted line in it."""
    if len(spans) == 1:
        return 0
    hit = [number for number, (first, last) in enumerate(spans) if hint is not None and first <= hint <= last]
    return hit[0] if len(hit) == 1 else None


def _splice(text: str, spans: Iterable[tuple[int, int]], new: str) -> str:
    """Replace spans of the text, which are given as positions in the text where every line ends in one character."""
    taken = [match.start() - number for number, match in enumerate(re.finditer("\r\n", text))]
    put, pieces, after = match_line_endings(text, new), list[str](), 0
    for start, end in spans:
        pieces += [text[after : start + bisect_left(taken, start)], put]
        after = end + bisect_left(taken, end)
    return "".join([*pieces, text[after:]])


# By text, with other whitespace


def _replace_tolerant(text: str, plain: str, old: str, new: str, hint: int | None) -> EditedText | AmbiguousMatch | None:
    wanted = [line.rstrip() for line in old.removesuffix("\n").split("\n")]
    if not any(wanted):
        return None
    have = [line.rstrip() for line in split_keeping_ends(plain)]
    starts = list(_find_alike(have, wanted))
    if not starts:
        return None
    chosen = _choose_match([(start + 1, start + len(wanted)) for start in starts], hint)
    if chosen is None:
        return AmbiguousMatch(len(starts), _make_spans(plain, [start + 1 for start in starts]))
    start = starts[chosen]
    shift = _find_shift(have[start : start + len(wanted)], wanted)
    assert shift is not None  # that is how the place was found
    body = new.removesuffix("\n") if old.endswith("\n") else new
    shifted = "\n".join([_apply_shift(line, shift) for line in body.split("\n")]) + "\n" if body else ""
    made = _replace_slice(text, split_keeping_ends(text), start, start + len(wanted), shifted)
    return EditedText(made.text, made.start, made.end, tolerant=True)


def _find_alike(have: list[str], wanted: list[str]) -> Iterable[int]:
    """Yield where the wanted lines begin, with any whitespace before all of them."""
    first = next(number for number, line in enumerate(wanted) if line)
    anchor = wanted[first].lstrip()
    for number, line in enumerate(have):
        start = number - first
        fits = line.endswith(anchor) and 0 <= start <= len(have) - len(wanted)
        if fits and _find_shift(have[start : start + len(wanted)], wanted) is not None:
            yield start


def _find_shift(have: list[str], wanted: list[str]) -> tuple[str, str] | None:
    """Return the indentation to remove from the wanted lines and to add, to get the existing ones; None if that is impossible."""
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


def _apply_shift(line: str, shift: tuple[str, str]) -> str:
    take, put = shift
    if not line.strip():
        return line
    return put + (line.removeprefix(take) if line.startswith(take) else line.lstrip())


def _indent(line: str) -> str:
    return line[: len(line) - len(line.lstrip())]


# Where to look instead


def _not_found(plain: str, old: str, new: str) -> TextNotFound:
    already = plain.find(new) if new.strip() else -1
    return TextNotFound(
        _make_spans(plain, _find_nearest(split_keeping_ends(plain), old)), _line_at(plain, already) if already >= 0 else 0
    )


def _find_nearest(lines: list[str], old: str) -> list[int]:
    """Return up to three lines that are similar to the longest line of the text."""
    import difflib

    anchor = max(old.split("\n"), key=lambda line: len(line.strip())).strip()[:200]
    looked = [line.strip()[:200] for line in lines[:MAX_COMPARED]]
    close = set(difflib.get_close_matches(anchor, dict.fromkeys(looked), n=3, cutoff=0.6)) if anchor else set[str]()
    return [number for number, line in enumerate(looked, 1) if line in close][:3]


def _make_spans(plain: str, lines: Sequence[int]) -> tuple[EditSpan, ...]:
    all_lines = split_keeping_ends(plain)
    return tuple([EditSpan(line, _context(all_lines, line)) for line in lines[:MAX_PLACES]])


def _context(lines: list[str], line: int) -> str:
    shown = range(max(1, line - CONTEXT), min(len(lines), line + CONTEXT) + 1)
    return "\n".join([f"{number}|{lines[number - 1].rstrip()[:200]}" for number in shown])


def _line_at(text: str, at: int) -> int:
    return text.count("\n", 0, at) + 1


def _line_numbers(text: str, places: Sequence[int]) -> list[int]:
    breaks = [match.start() for match in re.finditer("\n", text)]
    return [bisect_left(breaks, place) + 1 for place in places]


def format_edit_diff(before: str, after: str, most: int | None = MAX_LINES) -> str:
    """Return the hunks without file names, at most `most` lines; only counts where more lines differ than can be compared.

    Without `most` nothing is left out: lines that can't be compared are all removed and all added.
    """
    old, new = split_keeping_ends(before), split_keeping_ends(after)
    same = _count_same(old, new)
    tail = _count_same(old[same:][::-1], new[same:][::-1])
    first, last = max(same - DIFF_CONTEXT, 0), max(tail - DIFF_CONTEXT, 0)
    old, new = old[first : len(old) - last], new[first : len(new) - last]
    if len(old) + len(new) > MAX_DIFFED:
        if most is None:
            return "\n".join([*[f"-{line}".rstrip("\r\n") for line in old], *[f"+{line}".rstrip("\r\n") for line in new]])
        return f"[{len(old)} lines became {len(new)} lines]"
    lines = _build_hunks(old, new, first)
    left = 0 if most is None else len(lines) - most
    return "\n".join([*lines[:most], f"[{left} more lines of the difference]"] if left > 0 else lines)


def _build_hunks(old: list[str], new: list[str], skipped: int) -> list[str]:
    import difflib

    lines = list(difflib.unified_diff(old, new, n=DIFF_CONTEXT))[2:]
    return [_shift_header(line, skipped) if line.startswith("@@") else line.rstrip("\r\n") for line in lines]


def _shift_header(header: str, skipped: int) -> str:
    """Return a header whose line numbers include the lines before the compared ones."""
    return re.sub(r"([-+])(\d+)", lambda match: f"{match[1]}{int(match[2]) + skipped}", header.rstrip("\n"))


def _count_same(old: list[str], new: list[str]) -> int:
    """Count the equal lines at the beginning."""
    count = 0
    for one, other in zip(old, new, strict=False):
        if one != other:
            break
        count += 1
    return count
