"""Parse git's unified diffs for the web page: file by file, with counts, and of bounded size. Pure."""

import re
from collections.abc import Iterator
from typing import Literal

from msgspec import Struct

MAX_FILES = 200
MAX_LINES = 1_500  # of one file
MAX_CHARACTERS = 400_000  # of all files
MAX_LINE_LENGTH = 2_000  # characters of a line
_ESCAPED = re.compile(rb"\\([0-7]{3}|.)", re.DOTALL)
_LETTERS = {b"a": b"\a", b"b": b"\b", b"f": b"\f", b"n": b"\n", b"r": b"\r", b"t": b"\t", b"v": b"\v"}

ChangeKind = Literal["added", "modified", "deleted", "renamed"]


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
