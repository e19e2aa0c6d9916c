"""Searching without ripgrep: a small program of its own that takes those of its options we use, and prints alike.

A program and no function, because a pattern that takes forever can be stopped only from outside. It needs Python alone, follows no
link and skips hidden files and the usual folders of dependencies; it doesn't know what git ignores.
"""

import os
import re
import sys
from collections.abc import Iterable, Iterator
from fnmatch import fnmatchcase
from pathlib import Path

SKIPPED = frozenset({"node_modules", "vendor", "__pycache__", "target", "dist", "build"})
MOST_BYTES = 10_000_000


def main(arguments: list[str]) -> int:
    """Search as the arguments say. 0 if something was found, 1 if not, 2 if the pattern is wrong."""
    *options, _, where = arguments  # the last but one is `--`
    try:
        pattern = re.compile(os.fsencode("".join(_values(options, "--regexp="))), re.IGNORECASE * ("--ignore-case" in options))
    except re.error as error:
        sys.stderr.write(f"regex parse error: {error}\n")
        return 2
    if where == "-":
        return _print(b"", _hits(pattern, sys.stdin.buffer.read()))
    found = 1
    for path in _paths(Path(where), _values(options, "--glob=")):
        name = os.fsencode(str(path))
        found &= _write(name + b"\0") if "--files" in options else _print(name, _hits(pattern, _content(path)))
    return found


def _values(options: list[str], name: str) -> list[str]:
    return [option.removeprefix(name) for option in options if option.startswith(name)]


def _paths(where: Path, globs: list[str]) -> Iterator[Path]:
    for folder, folders, names in os.walk(where):
        folders[:] = sorted([each for each in folders if not each.startswith(".") and each not in SKIPPED])
        for name in sorted(names):
            path = Path(folder, name)
            if not name.startswith(".") and path.is_file() and not path.is_symlink() and _wanted(path, globs):
                yield path


def _wanted(path: Path, globs: list[str]) -> bool:
    picked = [glob for glob in globs if not glob.startswith("!")]
    return (not picked or any(_fits(path, glob) for glob in picked)) and not any(
        _fits(path, glob[1:]) for glob in {*globs} - {*picked}
    )


def _fits(path: Path, glob: str) -> bool:
    if "/" not in glob:
        return fnmatchcase(path.name, glob)
    return fnmatchcase(str(path), glob) or fnmatchcase(str(path), glob.replace("**/", ""))


def _content(path: Path) -> bytes:
    try:
        with path.open("rb") as file:
            data = file.read(MOST_BYTES)
    except OSError:
        return b""
    return b"" if b"\0" in data[:8_000] else data


def _hits(pattern: "re.Pattern[bytes]", data: bytes) -> Iterable[int]:
    return [number for number, line in enumerate(data.split(b"\n"), 1) if line and pattern.search(line.rstrip(b"\r"))]


def _print(name: bytes, lines: Iterable[int]) -> int:
    found = 1
    for line in lines:
        found = _write((name + b"\0" if name else b"") + b"%d:\n" % line)
    return found


def _write(data: bytes) -> int:
    sys.stdout.buffer.write(data)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
