"""A unified diff of git's as a page shows it: file by file, counted, and of a bounded size. Pure."""

import re
from collections.abc import Iterator
from typing import Literal

from msgspec import Struct

MOST_FILES = 200
MOST_LINES = 1_500  # of one file
MOST_CHARACTERS = 400_000  # of all files
LONGEST = 2_000  # characters of a line
_ESCAPED = re.compile(rb"\\([0-7]{3}|.)", re.DOTALL)
_LETTERS = {b"a": b"\a", b"b": b"\b", b"f": b"\f", b"n": b"\n", b"r": b"\r", b"t": b"\t", b"v": b"\v"}

Kind = Literal["added", "modified", "deleted", "renamed"]


class FilePatch(Struct, frozen=True):
    """What changed in a file. `lines` are its hunks as git writes them; `left_out` counts those that were too many to show."""

    path: str
    kind: Kind = "modified"
    was: str = ""
    added: int = 0
    removed: int = 0
    lines: tuple[str, ...] = ()
    left_out: int = 0
    is_binary: bool = False


class Patch(Struct, frozen=True):
    """What changed. `left_out` counts the files that were too many to show."""

    files: tuple[FilePatch, ...] = ()
    left_out: int = 0


def patch_in(diff: str) -> Patch:
    """The files of a diff."""
    files: list[FilePatch] = []
    room, more = MOST_CHARACTERS, 0
    for section in _sections(diff):
        if len(files) == MOST_FILES:
            more += 1
            continue
        files.append(_file(section, room))
        room -= sum(map(len, files[-1].lines))
    return Patch(tuple(files), more)


def _sections(diff: str) -> Iterator[list[str]]:
    """The lines of each file. Lines of a hunk begin with a sign of their own, so none of them is taken for a heading."""
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


def _file(section: list[str], room: int) -> FilePatch:
    start = next((at for at, line in enumerate(section) if line.startswith("@@")), len(section))
    heading, hunks = section[:start], section[start:]
    if hunks and not hunks[-1]:
        hunks.pop()  # after the last line's end
    shown = _bounded(hunks, room)
    kind, path, was = _named(heading)
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


def _bounded(hunks: list[str], room: int) -> tuple[str, ...]:
    shown: list[str] = []
    for line in hunks[:MOST_LINES]:
        short = line if len(line) <= LONGEST else f"{line[:LONGEST]}…"
        room -= len(short)
        if room < 0:
            break
        shown.append(short)
    return tuple(shown)


def _named(heading: list[str]) -> tuple[Kind, str, str]:
    """What happened to the file, its path, and the path it had before where that was another."""
    said = {name: path for line in heading for name, path in [_said(line)]}
    if "rename to" in said:
        return "renamed", said["rename to"], said["rename from"]
    path = said.get("+++", said.get("---", "")) or _twice(heading[0])
    if any(line.startswith("new file mode") for line in heading):
        return "added", path, ""
    if any(line.startswith("deleted file mode") for line in heading):
        return "deleted", said.get("---", "") or path, ""
    return "modified", path, ""


def _said(line: str) -> tuple[str, str]:
    for name, prefix in (("+++", "b/"), ("---", "a/"), ("rename to", ""), ("rename from", "")):
        if line.startswith(f"{name} "):
            path = unquoted(line.removeprefix(f"{name} ").removesuffix("\t"))
            return name, "" if path == "/dev/null" else path.removeprefix(prefix)
    return "", ""


def _twice(line: str) -> str:
    """The path of a heading that names it twice, `diff --git a/x b/x`: all there is of a file that is binary or empty."""
    both = line.removeprefix("diff --git ")
    first = both[: len(both) // 2]
    return unquoted(first).removeprefix("a/")


def unquoted(path: str) -> str:
    """A path as it is, of one that git has written in quotes."""
    if len(path) < 2 or not (path.startswith('"') and path.endswith('"')):
        return path

    def letter(found: "re.Match[bytes]") -> bytes:
        said = found[1]
        return bytes([int(said, 8) & 0xFF]) if len(said) == 3 else _LETTERS.get(said, said)

    return _ESCAPED.sub(letter, path[1:-1].encode()).decode(errors="replace")
