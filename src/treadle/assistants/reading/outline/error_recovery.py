"""Recover definitions in damaged text by their lines, where the tree has lost them; each ends by its indentation."""

import re
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from treadle.assistants.reading.outline.comments import Comments
from treadle.assistants.reading.outline.extraction import MAX_DEPTH
from treadle.assistants.reading.outline.node_draft import NodeDraft, Point, TextSpan, last_row
from treadle.assistants.reading.outline.nodes import CONTAINERS, Kind
from treadle.assistants.reading.outline.parsing import ParsedSource

if TYPE_CHECKING:
    from tree_sitter import Node as Syntax

_MOST = 2000  # definitions are looked for
_MOST_ERRORS = 100  # are looked at
_LONGEST = 200  # bytes of a line are looked at
_CLOSES = re.compile(rb"[}\]]|end\b")
_GOES_ON = (b"{", b")")  # at the same indentation: the body, or the end of the parameters
_ADORNING = (b"@", b"#[", b"[")
_BRACKETS = frozenset("(){}[]")
_HOLDS = frozenset((*CONTAINERS, "module"))


def recover_definitions(drafts: list[NodeDraft], parsed: ParsedSource, comments: Comments) -> list[NodeDraft]:
    """Return the drafts with those recovered by their lines inserted."""
    lost = _LineScanner(parsed, comments, drafts).run()
    return _Inserter(lost).into(_lift_misplaced(drafts), lost) if lost else drafts


class _LineScanner:
    """Scans a damaged file line by line.

    A missing bracket lets a definition swallow all that follows it. So a definition that was found ends at the latest
    where a lost one begins that isn't indented more; and where brackets are wrong, all lines are scanned.
    """

    def __init__(self, parsed: ParsedSource, comments: Comments, drafts: Sequence[NodeDraft]) -> None:
        self._parsed = parsed
        self._headers: list[tuple[re.Pattern[bytes], Kind]] = [
            (re.compile(pattern.encode()), kind) for pattern, kind in parsed.grammar.headers
        ]
        self._known: dict[int, list[NodeDraft]] = {}
        for draft in _walk_drafts(drafts):
            if draft.kind not in ("statement", "import"):
                self._known.setdefault(draft.leads, []).append(draft)
        self._passed = comments.rows()
        self._everywhere = any(_is_about_brackets(error) for error in parsed.errors[:_MOST_ERRORS])
        self._damaged = _Rows([(error.start_point.row, last_row(error)) for error in parsed.errors])

    def run(self) -> list[NodeDraft]:
        """Return the lost definitions in file order."""
        found: list[NodeDraft] = []
        ends = _EndFinder()
        adorned: tuple[int, int] | None = None  # where the annotations above the line begin
        start = 0
        for row, line in enumerate(self._parsed.source.split(b"\n")):
            header = self._match_header(row, line, start) if len(found) < _MOST else None
            ends.read(row, line, start, begins=header is not None)
            indent = _indent(line)
            if header is not None:
                span = TextSpan("ERROR", start + indent, start + len(line), Point(row, indent), Point(row, len(line)))
                found.append(NodeDraft(header[1], span, header[0]))
                found[-1].tail = start + (line.find(b"{") if b"{" in line[indent + 1 :] else len(line))
                found[-1].row, found[-1].start = adorned or (row, start + indent)
                ends.lost.append((indent, found[-1]))
            ends.known.extend([(indent, draft) for draft in self._known.get(row, ()) if draft.kind != "module"])
            adorned = (adorned or (row, start + indent)) if line.lstrip().startswith(_ADORNING) else None
            start += len(line) + 1
        ends.finish()
        return found

    def _match_header(self, row: int, line: bytes, start: int) -> tuple[str, Kind] | None:
        """Return what a line defines, unless that is already known."""
        if row in self._known or row in self._passed or not (self._everywhere or row in self._damaged):
            return None
        words = line.strip()[:_LONGEST]
        for pattern, kind in self._headers:
            match = pattern.match(words) if line[:1].strip() or not pattern.pattern.startswith(b"^") else None
            if match and not self._is_text(start + _indent(line)):
                return match["name"].decode("utf-8", "replace"), kind
        return None

    def _is_text(self, at: int) -> bool:
        """Return whether a position is inside a string; a string with an error in or around it counts as a stray quote."""
        node, text = self._parsed.root.descendant_for_byte_range(at, at + 1), False
        while node is not None and any(word in node.type for word in ("string", "heredoc", "template")):
            node, text = node.parent, not node.has_error
        return text and not (node is not None and node.is_error)


class _EndFinder:
    """Finds where definitions end by indentation: lost ones at any line, known ones where a lost one begins."""

    def __init__(self) -> None:
        self.lost: list[tuple[int, NodeDraft]] = []
        self.known: list[tuple[int, NodeDraft]] = []
        self._last = (0, 0)  # the row and the end of the last line with words

    def read(self, row: int, line: bytes, start: int, *, begins: bool) -> None:
        """Process a line; `begins` means that it begins a lost definition."""
        words = line.strip()
        if not words or (words.startswith(b"#") and not begins):  # neither comments nor what a preprocessor reads end anything
            return
        indent, end = _indent(line), start + len(line)
        while self.lost and indent <= self.lost[-1][0] and not (indent == self.lost[-1][0] and words.startswith(_GOES_ON)):
            same, draft = self.lost.pop()
            draft.end_row, draft.end = (row, end) if indent == same and _CLOSES.match(words) else self._last_position(draft)
        if begins:
            self.known = [(same, draft) for same, draft in self.known if draft.end_row >= row]
            for _, draft in [known for known in self.known if indent <= known[0]]:
                draft.end_row, draft.end = self._last_position(draft)
        self._last = (row, end)

    def finish(self) -> None:
        """End the open definitions at the end of the file."""
        for _, draft in self.lost:
            draft.end_row, draft.end = self._last_position(draft)

    def _last_position(self, draft: NodeDraft) -> tuple[int, int]:
        return max(draft.leads, self._last[0]), max(draft.head, self._last[1])


def _is_about_brackets(error: "Syntax | TextSpan") -> bool:
    return error.is_missing or any(child.type in _BRACKETS for child in error.children)


def _walk_drafts(drafts: Sequence[NodeDraft]) -> Iterator[NodeDraft]:
    pending = list(drafts)
    while pending:
        draft = pending.pop()
        yield draft
        pending.extend(draft.children)


def _indent(line: bytes) -> int:
    return len(line) - len(line.lstrip())


def _lift_misplaced(level: Sequence[NodeDraft]) -> list[NodeDraft]:
    """Return the drafts, moving those behind the end of their container beside it."""
    found: list[NodeDraft] = []
    for draft in level:
        children = _lift_misplaced(draft.children)
        draft.children = [child for child in children if child.row <= draft.end_row]
        found += [draft, *[child for child in children if child.row > draft.end_row]]
    return found


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


class _Inserter:
    """Inserts lost definitions: into the innermost container around each, and around what it contains itself."""

    def __init__(self, lost: Sequence[NodeDraft]) -> None:
        self._lost = {id(draft) for draft in lost}

    def into(self, level: Sequence[NodeDraft], lost: Sequence[NodeDraft]) -> list[NodeDraft]:
        """Return one level of drafts with the lost ones inserted."""
        found: list[NodeDraft] = []
        around: list[NodeDraft] = []  # what the next draft may lie in, the innermost last
        deeper: dict[int, tuple[NodeDraft, list[NodeDraft]]] = {}
        for draft in sorted([*level, *lost], key=_sort_key):
            while around and around[-1].end_row < draft.end_row:
                around.pop()
            holder = around[-1] if around else None
            if self._place_draft(draft, holder, found, deeper) and draft.kind != "statement" and len(around) < MAX_DEPTH:
                around.append(draft)
        for holder, inner in deeper.values():
            holder.children = self.into(holder.children, inner)
        return found

    def _place_draft(
        self,
        draft: NodeDraft,
        holder: NodeDraft | None,
        found: list[NodeDraft],
        deeper: dict[int, tuple[NodeDraft, list[NodeDraft]]],
    ) -> bool:
        """Insert one draft where it belongs; False if it can't be nested here: the content of a function isn't listed."""
        is_lost, holder_is_lost = id(draft) in self._lost, id(holder) in self._lost
        if holder is None or not (is_lost or holder_is_lost):
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


def _sort_key(draft: NodeDraft) -> tuple[int, int]:
    return draft.row, -draft.end_row
