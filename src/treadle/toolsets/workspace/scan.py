"""Search without ripgrep: a small standalone program that takes the ripgrep options we use, and prints the same format.

A program and not a function, because a pattern that takes forever can be stopped only from outside. It needs Python alone,
follows no symlink and skips hidden files and the usual dependency folders; it doesn't know what git ignores.
"""

import os
import re
import sys
from collections.abc import Iterable, Iterator
from fnmatch import fnmatchcase
from pathlib import Path

SKIPPED = frozenset({"node_modules", "vendor", "__pycache__", "target", "dist", "build"})
MAX_BYTES = 10_000_000


def main(arguments: list[str]) -> int:
    """Search as the arguments say. Return 0 if something was found, 1 if not, 2 if the pattern is invalid."""
    *options, _, where = arguments  # the last but one is `--`
    try:
        pattern = re.compile(
            os.fsencode("".join(_option_values(options, "--regexp="))), re.IGNORECASE * ("--ignore-case" in options)
        )
    except re.error as error:
        sys.stderr.write(f"regex parse error: {error}\n")
        return 2
    if where == "-":
        return _print(b"", _find_hits(pattern, sys.stdin.buffer.read()))
    found = 1
    for path in _find_paths(Path(where), _option_values(options, "--glob=")):
        name = os.fsencode(str(path))
        if "--files" in options:
            found &= _write(name + b"\0")
        elif "--files-with-matches" in options:
            found &= _write(name + b"\0") if _find_hits(pattern, _read_content(path)) else 1
        else:
            found &= _print(name, _find_hits(pattern, _read_content(path)))
    return found


def _option_values(options: list[str], name: str) -> list[str]:
    return [option.removeprefix(name) for option in options if option.startswith(name)]


def _find_paths(where: Path, globs: list[str]) -> Iterator[Path]:
    for folder, folders, names in os.walk(where):
        folders[:] = sorted([each for each in folders if not each.startswith(".") and each not in SKIPPED])
        for name in sorted(names):
            path = Path(folder, name)
            if not name.startswith(".") and path.is_file() and not path.is_symlink() and _is_wanted(path, globs):
                yield path


def _is_wanted(path: Path, globs: list[str]) -> bool:
    picked = [glob for glob in globs if not glob.startswith("!")]
    return (not picked or any(_matches_glob(path, glob) for glob in picked)) and not any(
        _matches_glob(path, glob[1:]) for glob in {*globs} - {*picked}
    )


def _matches_glob(path: Path, glob: str) -> bool:
    if "/" not in glob:
        return fnmatchcase(path.name, glob)
    return fnmatchcase(str(path), glob) or fnmatchcase(str(path), glob.replace("**/", ""))


def _read_content(path: Path) -> bytes:
    try:
        with path.open("rb") as file:
            data = file.read(MAX_BYTES)
    except OSError:
        return b""
    return b"" if b"\0" in data[:8_000] else data


def _find_hits(pattern: "re.Pattern[bytes]", data: bytes) -> list[int]:
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
