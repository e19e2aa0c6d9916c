"""Which files of a folder are documents: by patterns, none that is hidden, too large, or leads out of it. Looks and reads only."""

import os
import re
import stat
from collections.abc import Iterable, Sequence
from fnmatch import translate
from pathlib import Path

from msgspec import Struct

from treadle.core.errors import SettingsError
from treadle.stores.passages.documents import Unreadable

PATTERNS = ("**/*.md", "**/*.yaml", "**/*.yml", "**/*.txt")
LARGEST = 1_000_000  # bytes of a file
_NEVER = frozenset(("node_modules", "__pycache__"))  # full of texts that nobody here has written


class File(Struct, frozen=True):
    """A file that may be a document, and the name it goes by."""

    source: str
    path: Path


class Skipped(Struct, frozen=True):
    """A file that is no document here, and why."""

    source: str
    reason: str


def named(folders: Sequence[Path | str]) -> dict[str, Path]:
    """The folders by the names that sources begin with: as much of the end of each path as tells them apart."""
    paths = list(dict.fromkeys(Path(folder).expanduser().resolve() for folder in folders))
    for path in paths:
        if not path.is_dir():
            raise SettingsError(f"There is no folder {path} to index; check the setting that names it.")
    names: dict[str, Path] = {}
    for path in paths:
        parts = [part for part in path.parts if part != path.anchor]
        endings = ["/".join(parts[-length:]) for length in range(1, len(parts) + 1)]
        others = [f"/{other.as_posix()}" for other in paths if other != path]
        names[next((ending for ending in endings if not any(o.endswith(f"/{ending}") for o in others)), str(path))] = path
    return names


def find(name: str, folder: Path, patterns: Iterable[str]) -> tuple[list[File], list[Skipped]]:
    """The files of a folder, in order, and those that were left out for a reason worth telling."""
    wanted = _matcher(patterns)
    files: list[File] = []
    skipped: list[Skipped] = []
    for place, inside, names in os.walk(folder):
        inside[:] = sorted(one for one in inside if not one.startswith(".") and one not in _NEVER)
        here = Path(place)
        links = [one for one in inside if (here / one).is_symlink()]  # of folders; `walk` doesn't go there
        for path in (here / one for one in (*links, *sorted(names)) if not one.startswith(".")):
            relative = path.relative_to(folder).as_posix()
            if path.name not in links and not wanted.match(relative):
                continue
            if not path.is_symlink():
                files.append(File(f"{name}/{relative}", path))
            elif not _beneath(path, folder):  # one that leads to something in the folder says nothing that this doesn't
                skipped.append(Skipped(f"{name}/{relative}", "a link that leads out of the folder, or nowhere"))
    return files, skipped


def read(path: Path, largest: int = LARGEST) -> bytes:
    """The bytes of a file; `Unreadable` where it is no plain file, or too large. A link put there meanwhile isn't followed."""
    opened = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    with os.fdopen(opened, "rb") as file:
        found = os.fstat(file.fileno())
        if not stat.S_ISREG(found.st_mode):
            raise Unreadable("no plain file")
        data = file.read(largest + 1)
    if len(data) > largest:
        raise Unreadable(f"over {largest:,} bytes")
    return data


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
