"""Which files of a folder are documents: by patterns, none that is hidden, too large, or leads out of it. Looks and reads only."""

import os
import re
import stat
import time
from collections.abc import Iterable, Sequence
from fnmatch import translate
from pathlib import Path

from msgspec import Struct

from treadle.stores.passages.documents import Unreadable

PATTERNS = ("**/*.md", "**/*.yaml", "**/*.yml", "**/*.txt")
LARGEST = 1_000_000  # bytes of a file
SETTLED = 2_000_000_000  # nanoseconds: some file systems tell changes apart by no less
_NEVER = frozenset(("node_modules", "__pycache__"))  # full of texts that nobody here has written


class File(Struct, frozen=True):
    """A file that may be a document, the name it goes by, and how it looked: its bytes, and when it was changed (nanoseconds)."""

    source: str
    path: Path
    size: int = 0
    changed: int = 0


class Skipped(Struct, frozen=True):
    """A file that is no document here, or a folder that can't be looked into, and why."""

    source: str
    reason: str


class Look(Struct, frozen=True):
    """What is in a folder: the files in order, what was left out, and the folders whose files can't be known just now."""

    files: list[File] = []
    skipped: list[Skipped] = []
    closed: list[Skipped] = []


class Content(Struct, frozen=True):
    """What was in a file. `settled`: when it was read, its last change was so long ago that the next one can be told from it."""

    data: bytes
    changed: int
    settled: bool


def named(folders: Sequence[Path | str]) -> dict[str, Path]:
    """The folders and files by the names that sources begin with: as much of the end of each path as tells them apart."""
    paths = list(dict.fromkeys(Path(folder).expanduser().resolve() for folder in folders))
    names: dict[str, Path] = {}
    for path in paths:
        parts = [_written(part) for part in path.parts if part != path.anchor]
        endings = ["/".join(parts[-length:]) for length in range(1, len(parts) + 1)]
        others = [f"/{_written(other.as_posix())}" for other in paths if other != path]
        names[next((ending for ending in endings if not any(o.endswith(f"/{ending}") for o in others)), _written(path))] = path
    return names


def find(name: str, folder: Path, patterns: Iterable[str]) -> Look:
    """What is in a folder that goes by a name. A file is its own only one."""
    if reason := _absent(folder):
        return Look(closed=[Skipped(name, reason)])
    if folder.is_file():
        return Look([_looked_at(name, folder)[0]])
    look, wanted = Look(), _matcher(patterns)

    def closed(error: OSError) -> None:
        within = Path(error.filename or folder).relative_to(folder).parts
        look.closed.append(Skipped(_written("/".join((name, *within))), reason_of(error)))

    for place, inside, names in os.walk(folder, onerror=closed):
        inside[:] = sorted(one for one in inside if not one.startswith(".") and one not in _NEVER)
        folders, within = set(inside), Path(place).relative_to(folder).parts
        for one in (*inside, *sorted(one for one in names if not one.startswith("."))):
            relative, path = "/".join((*within, one)), Path(place, one)
            if one not in folders and not wanted.match(relative):
                continue
            file, link = _looked_at(_written(f"{name}/{relative}"), path)
            if link and not _beneath(path, folder):  # one that leads to something in the folder says nothing that this doesn't
                look.skipped.append(Skipped(file.source, "a link that leads out of the folder, or nowhere"))
            elif not link and one not in folders:
                look.files.append(file)
    return look


def read(path: Path, largest: int = LARGEST) -> Content:
    """What is in a file; `Unreadable` where it is no plain file, or too large. A link put there meanwhile isn't followed."""
    opened = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    with os.fdopen(opened, "rb") as file:
        now, found = time.time_ns(), os.fstat(file.fileno())
        if not stat.S_ISREG(found.st_mode):
            raise Unreadable("no plain file")
        data = file.read(largest + 1) if found.st_size <= largest else b""
    if max(len(data), found.st_size) > largest:
        raise Unreadable(f"over {largest:,} bytes")
    settled = len(data) == found.st_size and now - found.st_mtime_ns >= SETTLED
    return Content(data, found.st_mtime_ns, settled)


def reason_of(error: OSError) -> str:
    """What the system says, for the report."""
    return error.strerror or str(error)


def _absent(folder: Path) -> str:
    """Why a folder or file can't be looked at; nothing where it can."""
    try:
        folder.stat()
    except FileNotFoundError:
        return "isn't there"
    except OSError as error:
        return reason_of(error)
    return ""


def _written(name: Path | str) -> str:
    """A name as it can be kept: bytes that are no UTF-8 are spelled out, so that each has one name, the same at every look."""
    return os.fsencode(name).decode(errors="backslashreplace")


def _looked_at(source: str, path: Path) -> tuple[File, bool]:
    """A file as it looks, and whether it is a link. One that the system says nothing of is left to whoever reads it."""
    try:
        found = path.lstat()
    except OSError:
        return File(source, path), False
    return File(source, path, found.st_size, found.st_mtime_ns), stat.S_ISLNK(found.st_mode)


def _beneath(path: Path, folder: Path) -> bool:
    try:
        return path.resolve(strict=True).is_relative_to(folder)
    except (OSError, RuntimeError):
        return False


def _matcher(patterns: Iterable[str]) -> re.Pattern[str]:
    """Patterns as one expression: `**/` is any number of folders, `*` and `?` stay within a name. Case doesn't count."""
    parts = [
        "(?:.*/)?".join("[^/]*".join(_piece(one) for one in part.split("*")) for part in pattern.split("**/"))
        for pattern in patterns
    ]
    return re.compile("|".join(f"(?:{part})\\Z" for part in parts) or r"(?!)", re.IGNORECASE)


def _piece(text: str) -> str:
    return translate(text).removeprefix("(?s:").removesuffix(")\\Z").replace("(?s:.)", "[^/]")
