"""Definitions in damaged text, told by their lines where the tree has lost them; each ends where the indentation does."""

import re
from bisect import bisect_right
from collections.abc import Iterator, Sequence

from treadle.assistants.reading.outline.comments import Comments
from treadle.assistants.reading.outline.draft import Draft, Line, Point, last_row
from treadle.assistants.reading.outline.drafting import DEEPEST
from treadle.assistants.reading.outline.parsing import Parsed
from treadle.assistants.reading.outline.values import CONTAINERS, Kind

Headers = list[tuple["re.Pattern[bytes]", Kind]]

_MOST = 2000  # definitions are looked for
_LONGEST = 400  # bytes of a line are looked at
_CLOSES = re.compile(rb"[}\]]|end\b")
_GOES_ON = (b"{", b")")  # at the same indentation: the body, or the end of the parameters
_HOLDS = frozenset((*CONTAINERS, "module"))


def salvage(drafts: list[Draft], parsed: Parsed, comments: Comments) -> list[Draft]:
    """The drafts, and those found by their lines among them."""
    known = {draft.leads for draft in _all(drafts) if draft.kind != "statement"}
    lost = _lost(parsed, known | comments.rows())
    return _Placing(lost).into(drafts, lost) if lost else drafts


def _all(drafts: Sequence[Draft]) -> Iterator[Draft]:
    pending = list(drafts)
    while pending:
        draft = pending.pop()
        yield draft
        pending.extend(draft.children)


def _lost(parsed: Parsed, passed: set[int]) -> list[Draft]:
    """Definitions on damaged rows, except on those to be passed over; in the order of the file."""
    headers: Headers = [(re.compile(pattern.encode()), kind) for pattern, kind in parsed.grammar.headers]
    damaged = _Rows([(error.start_point.row, last_row(error)) for error in parsed.errors])
    found: list[Draft] = []
    unclosed = _Unclosed()
    start = 0
    for row, line in enumerate(parsed.source.split(b"\n")):
        unclosed.read(row, line, start)
        if row in damaged and row not in passed and len(found) < _MOST and (header := _header(line[:_LONGEST], headers)):
            indent = _indent(line)
            span = Line("ERROR", start + indent, start + len(line), Point(row, indent), Point(row, len(line)))
            draft = Draft(header[1], span, header[0])
            found.append(draft)
            unclosed.add(indent, draft)
        start += len(line) + 1
    unclosed.read(-1, b"end", start)
    return found


def _indent(line: bytes) -> int:
    return len(line) - len(line.lstrip())


def _header(line: bytes, headers: Headers) -> tuple[str, Kind] | None:
    for pattern, kind in headers:
        match = pattern.match(line)
        if match:
            return match["name"].decode("utf-8", "replace"), kind
    return None


class _Unclosed:
    """Definitions whose end isn't known yet, by their indentation."""

    def __init__(self) -> None:
        self._open: list[tuple[int, Draft]] = []
        self._last = (0, 0)  # the row and the end of the last line with words

    def add(self, indent: int, draft: Draft) -> None:
        self._open.append((indent, draft))

    def read(self, row: int, line: bytes, start: int) -> None:
        """One more line: it ends all that is indented as much as it is, or more."""
        words = line.strip()
        if not words or words.startswith(b"#"):  # neither comments nor what a preprocessor reads end anything
            return
        indent, end = _indent(line), start + len(line)
        while self._open and indent <= self._open[-1][0]:
            if indent == self._open[-1][0] and words.startswith(_GOES_ON):
                break
            same, draft = self._open.pop()
            included = row >= 0 and indent == same and _CLOSES.match(words)
            draft.end_row, draft.end = (
                (row, end) if included else (max(draft.end_row, self._last[0]), max(draft.end, self._last[1]))
            )
        self._last = (row, end)


class _Rows:
    """Rows in spans, which may overlap."""

    def __init__(self, spans: list[tuple[int, int]]) -> None:
        merged: list[tuple[int, int]] = []
        for start, end in sorted(spans):
            if merged and start <= merged[-1][1] + 1:
                merged[-1] = (merged[-1][0], max(merged[-1][1], end))
            else:
                merged.append((start, end))
        self._starts = [start for start, _ in merged]
        self._ends = [end for _, end in merged]

    def __contains__(self, row: int) -> bool:
        at = bisect_right(self._starts, row) - 1
        return at >= 0 and row <= self._ends[at]


class _Placing:
    """Puts what was lost among what was found: into the innermost container around it, and around what it contains itself."""

    def __init__(self, lost: Sequence[Draft]) -> None:
        self._lost = {id(draft) for draft in lost}

    def into(self, level: Sequence[Draft], lost: Sequence[Draft]) -> list[Draft]:
        """One level of drafts, with what was lost there."""
        found: list[Draft] = []
        around: list[Draft] = []  # what the next draft may lie in, the innermost last
        deeper: dict[int, tuple[Draft, list[Draft]]] = {}
        for draft in sorted([*level, *lost], key=_place):
            while around and not (draft.end_row <= around[-1].end_row):
                around.pop()
            holder = around[-1] if around else None
            if self._settle(draft, holder, found, deeper) and draft.kind != "statement" and len(around) < DEEPEST:
                around.append(draft)
        for holder, inner in deeper.values():
            holder.children = self.into(holder.children, inner)
        return found

    def _settle(self, draft: Draft, holder: Draft | None, found: list[Draft], deeper: dict[int, tuple[Draft, list[Draft]]]) -> bool:
        """Put one draft where it belongs; false where that is nowhere: what lies in a function isn't listed."""
        is_lost, holder_is_lost = id(draft) in self._lost, holder is not None and id(holder) in self._lost
        if holder is None or (not is_lost and not holder_is_lost):
            if is_lost and found and found[-1].kind == "statement" and found[-1].end_row >= draft.row:
                found.pop()  # damaged text that was taken for code
            found.append(draft)
            return True
        if holder.kind not in _HOLDS or draft.kind == "statement":
            return False
        if holder.kind in CONTAINERS and draft.kind == "function":
            draft.kind = "method"
        if holder_is_lost:
            holder.children.append(draft)
            return True
        deeper.setdefault(id(holder), (holder, []))[1].append(draft)
        return False


def _place(draft: Draft) -> tuple[int, int]:
    return draft.row, -draft.end_row
