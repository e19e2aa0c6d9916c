"""Diffs for a review: files, hunks, and the number that each line has in the new file. Pure.

Reads what git writes, and plain unified diffs. Lines of a hunk are counted by its header, so none of them is taken for a heading.
"""

import re
from collections.abc import Iterator, Sequence
from typing import Literal

from msgspec import Struct

from treadle.assistants.coding.patches import ChangeKind, parse_diff_heading

_HUNK = re.compile(r"@@ -(\d{1,9})(?:,(\d{1,9}))? \+(\d{1,9})(?:,(\d{1,9}))? @@")

DiffSign = Literal[" ", "+", "-"]


class DiffLine(Struct, frozen=True):
    """A line of a hunk. `number` is its line in the new file; of a removed line, that of the line which follows there."""

    sign: DiffSign
    text: str
    number: int


class DiffHunk(Struct, frozen=True):
    """A hunk: its file, and the lines `start` to `end` of the new file; a hunk that only removes lines has `end` before `start`."""

    path: str
    start: int
    end: int
    lines: tuple[DiffLine, ...]

    @property
    def name(self) -> str:
        """The hunk, for people."""
        return f"{self.path}:{self.start}-{max(self.start, self.end)}"

    @property
    def new_lines(self) -> list[DiffLine]:
        """The lines that the new file has: those that were added, and those around them."""
        return [line for line in self.lines if line.sign != "-"]

    @property
    def added_lines(self) -> list[DiffLine]:
        """The lines that were added."""
        return [line for line in self.lines if line.sign == "+"]


class FileDiff(Struct, frozen=True):
    """The changes of a file."""

    path: str
    kind: ChangeKind
    hunks: tuple[DiffHunk, ...] = ()


def parse_diff(text: str) -> tuple[FileDiff, ...]:
    """Parse the files of a diff; what isn't part of one, such as a commit message above it, is skipped."""
    lines = text.split("\n")
    found: list[FileDiff] = []
    heading: list[str] = []
    hunks: list[DiffHunk] = []
    at = 0
    while at < len(lines):
        line = lines[at].rstrip("\r")
        is_open = not hunks and bool(heading) and heading[0].startswith("diff --git ")
        if _begins_file(lines, at, is_open=is_open):
            found += _finish_file(heading, hunks)
            heading, hunks = [line], []
            at += 1
        elif heading and (header := _HUNK.match(line)):
            hunk, at = _parse_hunk(lines, at + 1, parse_diff_heading(heading)[1], header)
            hunks.append(hunk)
        else:
            if heading and not hunks:
                heading.append(line)
            at += 1
    return (*found, *_finish_file(heading, hunks))


def _begins_file(lines: Sequence[str], at: int, *, is_open: bool) -> bool:
    """Return whether a file begins at a line: with git's heading; or with both of its names, unless they belong to one."""
    if lines[at].startswith("diff --git "):
        return True
    return not is_open and lines[at].startswith("--- ") and any(line.startswith("+++ ") for line in lines[at + 1 : at + 2])


def _finish_file(heading: list[str], hunks: list[DiffHunk]) -> list[FileDiff]:
    if not heading:
        return []
    kind, path, _ = parse_diff_heading(heading)
    return [FileDiff(path, kind, tuple(hunks))] if path else []


def _parse_hunk(lines: Sequence[str], at: int, path: str, header: "re.Match[str]") -> tuple[DiffHunk, int]:
    """Return a hunk, and the position after its last line."""
    old, new = int(header[2] or 1), int(header[4] or 1)
    start = int(header[3])
    number, found = start if new else start + 1, list[DiffLine]()
    first = number
    while at < len(lines) and (old > 0 or new > 0):
        line = lines[at]
        sign, text = line[:1] or " ", line[1:].rstrip("\r")
        if sign not in (" ", "+", "-", "\\"):
            break
        at += 1
        if sign == "\\":  # "No newline at end of file"
            continue
        found.append(DiffLine(sign, text, number))  # pyright: ignore[reportArgumentType] - checked above
        old, new, number = old - (sign != "+"), new - (sign != "-"), number + (sign != "-")
    return DiffHunk(path, first, number - 1, tuple(found)), at


def list_hunks(files: Sequence[FileDiff]) -> list[DiffHunk]:
    """Return the hunks of all files, in their order."""
    return [hunk for file in files for hunk in file.hunks]


def format_numbered_diff(files: Sequence[FileDiff], most: int) -> tuple[str, tuple[str, ...]]:
    """Return a diff with line numbers, for a model, and the names of what is left out to keep it below a length."""
    parts: list[str] = []
    left_out: list[str] = []
    room = most
    for file in files:
        shown: list[str] = []
        for hunk in file.hunks:
            text = "\n".join(format_hunk_lines(hunk))
            if len(text) > room:
                left_out.append(hunk.name)
                continue
            room -= len(text)
            shown.append(text)
        if shown or not file.hunks:
            parts.append("\n".join([f"{file.path} ({file.kind})", *shown]))
    return "\n\n".join(parts), tuple(left_out)


def format_hunk_lines(hunk: DiffHunk) -> Iterator[str]:
    """Yield a hunk's lines: the line in the new file, the sign, and the text."""
    yield f"@@ lines {hunk.start}-{max(hunk.start, hunk.end)} @@"
    for line in hunk.lines:
        number = "" if line.sign == "-" else str(line.number)
        yield f"{number:>5} {line.sign}{line.text}"
