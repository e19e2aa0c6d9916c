"""Parse unified diffs of git and plain ones: as files of bounded size for the web page, as numbered lines for a review. Pure.

Lines of a hunk are counted by its header, so none of them is taken for a heading.
"""

import re
from collections.abc import Iterator, Sequence
from typing import Any, Literal

from msgspec import Struct

MAX_FILES = 200
MAX_LINES = 1_500  # of one file
MAX_CHARACTERS = 400_000  # of all files
MAX_LINE_LENGTH = 2_000  # characters of a line
_ESCAPED = re.compile(rb"\\([0-7]{3}|.)", re.DOTALL)
_LETTERS = {b"a": b"\a", b"b": b"\b", b"f": b"\f", b"n": b"\n", b"r": b"\r", b"t": b"\t", b"v": b"\v"}

ChangeKind = Literal["added", "modified", "deleted", "renamed"]
_HUNK = re.compile(r"@@ -(\d{1,9})(?:,(\d{1,9}))? \+(\d{1,9})(?:,(\d{1,9}))? @@")

_Hunk = tuple["re.Match[str]", list[str]]  # its header, and its lines, with the header as the first
DiffSign = Literal[" ", "+", "-"]


class FilePatch(Struct, frozen=True):
    """The changes of a file. `lines` are its hunks as git writes them; `left_out` counts those that were too many to show."""

    path: str
    kind: ChangeKind = "modified"
    was: str = ""
    added: int = 0
    removed: int = 0
    lines: tuple[str, ...] = ()
    left_out: int = 0
    is_binary: bool = False


class ParsedPatch(Struct, frozen=True):
    """The changed files. `left_out` counts the files that were too many to show."""

    files: tuple[FilePatch, ...] = ()
    left_out: int = 0


def parse_patch(diff: str) -> ParsedPatch:
    """Parse the files of a diff."""
    files: list[FilePatch] = []
    room, more = MAX_CHARACTERS, 0
    for heading, hunks in _split_files(diff):
        if len(files) == MAX_FILES:
            more += 1
            continue
        files.append(_to_file_patch(heading, [line for _, lines in hunks for line in lines], room))
        room -= sum(map(len, files[-1].lines))
    return ParsedPatch(tuple(files), more)


def _split_files(diff: str) -> Iterator[tuple[list[str], list[_Hunk]]]:
    """Yield the heading and the hunks of each file; what isn't part of one, such as a commit message, is skipped."""
    lines = diff.removesuffix("\n").split("\n")
    heading: list[str] = []
    hunks: list[_Hunk] = []
    at = 0
    while at < len(lines):
        line = lines[at].rstrip("\r")
        is_open = not hunks and bool(heading) and heading[0].startswith("diff --git ")
        if _begins_file(lines, at, is_open=is_open):
            if heading:
                yield heading, hunks
            heading, hunks = [line], []
        elif heading and (header := _HUNK.match(line)):
            end = _find_hunk_end(lines, at + 1, header)
            hunks.append((header, lines[at:end]))
            at = end
            continue
        elif heading and not hunks:
            heading.append(line)
        at += 1
    if heading:
        yield heading, hunks


def _begins_file(lines: Sequence[str], at: int, *, is_open: bool) -> bool:
    """Return whether a file begins at a line: with git's heading; or with both of its names, unless they belong to one."""
    if lines[at].startswith("diff --git "):
        return True
    return not is_open and lines[at].startswith("--- ") and any(line.startswith("+++ ") for line in lines[at + 1 : at + 2])


def _find_hunk_end(lines: Sequence[str], at: int, header: "re.Match[str]") -> int:
    """Return the position after a hunk's last line, which may say that the file has no newline at its end."""
    old, new = int(header[2] or 1), int(header[4] or 1)
    while at < len(lines):
        sign = lines[at][:1] or " "
        if sign not in " +-\\" or (sign != "\\" and old <= 0 and new <= 0):
            break
        old, new, at = old - (sign in " -"), new - (sign in " +"), at + 1
    return at


def _to_file_patch(heading: list[str], lines: list[str], room: int) -> FilePatch:
    shown = _truncate_hunks(lines, room)
    kind, path, was = parse_diff_heading(heading)
    return FilePatch(
        path,
        kind,
        was,
        added=sum(line.startswith("+") for line in lines),
        removed=sum(line.startswith("-") for line in lines),
        lines=shown,
        left_out=len(lines) - len(shown),
        is_binary=any(line.startswith(("Binary files ", "GIT binary patch")) for line in heading),
    )


def _truncate_hunks(hunks: list[str], room: int) -> tuple[str, ...]:
    shown: list[str] = []
    for line in hunks[:MAX_LINES]:
        short = line if len(line) <= MAX_LINE_LENGTH else f"{line[:MAX_LINE_LENGTH]}…"
        room -= len(short)
        if room < 0:
            break
        shown.append(short)
    return tuple(shown)


def parse_diff_heading(heading: list[str]) -> tuple[ChangeKind, str, str]:
    """Return the kind of change, the file's path, and its earlier path if that differs, from the lines above its hunks."""
    said = {name: path for line in heading for name, path in [_parse_heading_line(line)]}
    if "rename to" in said:
        return "renamed", said["rename to"], said["rename from"]
    path = said.get("+++", said.get("---", "")) or _path_from_git_line(heading[0])
    if any(line.startswith("new file mode") for line in heading):
        return "added", path, ""
    if any(line.startswith("deleted file mode") for line in heading):
        return "deleted", said.get("---", "") or path, ""
    return "modified", path, ""


def _parse_heading_line(line: str) -> tuple[str, str]:
    for name, prefix in (("+++", "b/"), ("---", "a/"), ("rename to", ""), ("rename from", "")):
        if line.startswith(f"{name} "):
            path = unquote_diff_path(line.removeprefix(f"{name} ").partition("\t")[0])  # plain diffs have a time after it
            return name, "" if path == "/dev/null" else path.removeprefix(prefix)
    return "", ""


def _path_from_git_line(line: str) -> str:
    """Return the path of a heading that names it twice, `diff --git a/x b/x`: all there is for a binary or empty file."""
    both = line.removeprefix("diff --git ")
    first = both[: len(both) // 2]
    return unquote_diff_path(first).removeprefix("a/")


def unquote_diff_path(path: str) -> str:
    """Unquote a path that git has written in quotes."""
    if len(path) < 2 or not (path.startswith('"') and path.endswith('"')):
        return path

    def letter(found: "re.Match[bytes]") -> bytes:
        said = found[1]
        return bytes([int(said, 8) & 0xFF]) if len(said) == 3 else _LETTERS.get(said, said)

    return _ESCAPED.sub(letter, path[1:-1].encode()).decode(errors="replace")


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
    """Parse the files of a diff, with the number that each line has in the new file."""
    files: list[FileDiff] = []
    for heading, hunks in _split_files(text):
        kind, path, _ = parse_diff_heading(heading)
        if path:
            files.append(FileDiff(path, kind, tuple([_parse_hunk(path, header, lines[1:]) for header, lines in hunks])))
    return tuple(files)


def _parse_hunk(path: str, header: "re.Match[str]", lines: Sequence[str]) -> DiffHunk:
    first = number = int(header[3]) if int(header[4] or 1) else int(header[3]) + 1
    found: list[DiffLine] = []
    for line in lines:
        sign: Any = line[:1] or " "
        if sign == "\\":  # "No newline at end of file"
            continue
        found.append(DiffLine(sign, line[1:].rstrip("\r"), number))
        number += sign != "-"
    return DiffHunk(path, first, number - 1, tuple(found))


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
