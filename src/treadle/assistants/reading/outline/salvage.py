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
_LONGEST = 200  # bytes of a line are looked at
_CLOSES = re.compile(rb"[}\]]|end\b")
_GOES_ON = (b"{", b")")  # at the same indentation: the body, or the end of the parameters
_HOLDS = frozenset((*CONTAINERS, "module"))


def salvage(drafts: list[Draft], parsed: Parsed, comments: Comments) -> list[Draft]:
    """The drafts, and those found by their lines among them."""
    lost = _Scan(parsed, comments, drafts).run()
    return _Placing(lost).into(drafts, lost) if lost else drafts


class _Scan:
    """Reads a damaged file line by line.

    A bracket too few lets a definition swallow all that follows it. So where brackets are wrong, a definition ends at the latest where the
    next one begins that isn't indented more.
    """

    def __init__(self, parsed: Parsed, comments: Comments, drafts: Sequence[Draft]) -> None:
        self._parsed = parsed
        self._headers: Headers = [(re.compile(pattern.encode()), kind) for pattern, kind in parsed.grammar.headers]
        self._known: dict[int, list[Draft]] = {}
        for draft in _all(drafts):
            if draft.kind not in ("statement", "import"):
                self._known.setdefault(draft.leads, []).append(draft)
        self._passed = comments.rows()
        self._everywhere = any(_is_about_brackets(error) for error in parsed.errors[:_MOST_ERRORS])
        self._damaged = _Rows([(error.start_point.row, last_row(error)) for error in parsed.errors])
        self._open: list[tuple[int, Draft, bool]] = []  # those that may end with the next line: indentation, draft, whether it was lost
        self._last = (0, 0)  # the row and the end of the last line with words

    def run(self) -> list[Draft]:
        """What was lost, in the order of the file; what was known ends where it should."""
        found: list[Draft] = []
        start = 0
        for row, line in enumerate(self._parsed.source.split(b"\n")):
            header = self._header(row, line, start) if len(found) < _MOST else None
            self._close(row, line, start, is_header=header is not None or row in self._known)
            indent = _indent(line)
            if header is not None:
                span = Line("ERROR", start + indent, start + len(line), Point(row, indent), Point(row, len(line)))
                found.append(Draft(header[1], span, header[0]))
                self._open.append((indent, found[-1], True))
            self._open.extend([(indent, draft, False) for draft in self._known.get(row, ()) if self._everywhere])
            start += len(line) + 1
        self._close(-1, b"end", start, is_header=False)
        return found

    def _header(self, row: int, line: bytes, start: int) -> tuple[str, Kind] | None:
        """What is defined on a line, unless that is known."""
        if row in self._known or row in self._passed or not (self._everywhere or row in self._damaged):
            return None
        words = line.strip()[:_LONGEST]
        for pattern, kind in self._headers:
            match = pattern.match(words) if line[:1].strip() or not pattern.pattern.startswith(b"^") else None
            if match and not self._is_text(start + _indent(line)):
                return match["name"].decode("utf-8", "replace"), kind
        return None

    def _is_text(self, at: int) -> bool:
        """Whether a place is inside a string."""
        node = self._parsed.root.descendant_for_byte_range(at, at + 1)
        return node is not None and any(word in node.type for word in ("string", "heredoc", "template_chars"))

    def _close(self, row: int, line: bytes, start: int, *, is_header: bool) -> None:
        """One more line: it ends all that is indented as much as it is, or more; what was known only where it is a header."""
        words = line.strip()
        if not words or (words.startswith(b"#") and not is_header):  # neither comments nor what a preprocessor reads end anything
            return
        indent, end = _indent(line), start + len(line)
        while self._open and indent <= self._open[-1][0]:
            same, draft, was_lost = self._open[-1]
            if indent == same and words.startswith(_GOES_ON) and row >= 0:
                break
            self._open.pop()
            if was_lost:
                included = row >= 0 and indent == same and _CLOSES.match(words)
                draft.end_row, draft.end = (row, end) if included else (max(draft.end_row, self._last[0]), max(draft.end, self._last[1]))
            elif is_header and draft.end_row >= row > draft.row:
                draft.end_row, draft.end = max(draft.row, self._last[0]), max(draft.start, self._last[1])
            elif draft.end_row >= row >= 0:
                self._waiting.append(self._waiting_of(same, draft))
        self._last = (row, end)


def _is_about_brackets(error: "Syntax") -> bool:
    return error.is_missing or any(child.type in _BRACKETS for child in error.children)


def _all(drafts: Sequence[Draft]) -> Iterator[Draft]:
    pending = list(drafts)
    while pending:
        draft = pending.pop()
        yield draft
        pending.extend(draft.children)


def _indent(line: bytes) -> int:
    return len(line) - len(line.lstrip())


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
