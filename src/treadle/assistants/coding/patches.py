"""Parse git's unified diffs for the web page: file by file, with counts, and of bounded size. Pure.

Diffs for a review: files, hunks, and the number that each line has in the new file.

Reads what git writes, and plain unified diffs. Lines of a hunk are counted by its header, so none of them is taken for a heading.
"""

import re
from collections.abc import Iterator, Sequence
from typing import Literal

from msgspec import Struct

MAX_FILES = 200
MAX_LINES = 1_500  # of one file
MAX_CHARACTERS = 400_000  # of all files
MAX_LINE_LENGTH = 2_000  # characters of a line
_ESCAPED = re.compile(rb"\\([0-7]{3}|.)", re.DOTALL)
_LETTERS = {b"a": b"\a", b"b": b"\b", b"f": b"\f", b"n": b"\n", b"r": b"\r", b"t": b"\t", b"v": b"\v"}

ChangeKind = Literal["added", "modified", "deleted", "renamed"]
_HUNK = re.compile(r"@@ -(\d{1,9})(?:,(\d{1,9}))? \+(\d{1,9})(?:,(\d{1,9}))? @@")

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
    for section in _split_files(diff):
        if len(files) == MAX_FILES:
            more += 1
            continue
        files.append(_parse_file(section, room))
        room -= sum(map(len, files[-1].lines))
    return ParsedPatch(tuple(files), more)


def _split_files(diff: str) -> Iterator[list[str]]:
    """Yield the lines of each file. Lines of a hunk begin with their own sign, so none of them is taken for a heading."""
    section: list[str] = []
    for line in diff.split("\n"):
        if line.startswith("diff --git "):
            if section:
                yield section
            section = []
        if section or line.startswith("diff --git "):
            section.append(line)
    if section:
        yield section


def _parse_file(section: list[str], room: int) -> FilePatch:
    start = next((at for at, line in enumerate(section) if line.startswith("@@")), len(section))
    heading, hunks = section[:start], section[start:]
    if hunks and not hunks[-1]:
        hunks.pop()  # after the last line's end
    shown = _truncate_hunks(hunks, room)
    kind, path, was = parse_diff_heading(heading)
    return FilePatch(
        path,
        kind,
        was,
        added=sum(line.startswith("+") for line in hunks),
        removed=sum(line.startswith("-") for line in hunks),
        lines=shown,
        left_out=len(hunks) - len(shown),
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
