"""Which files of a folder are documents: by patterns, none that is hidden, too large, or leads out of it. Looks and reads only."""

import os
import re
import time
from collections.abc import Iterable, Sequence
from fnmatch import translate
from pathlib import Path

from msgspec import Struct

from treadle.core.regular import NotRegular
from treadle.files.problems import WorkspaceProblem
from treadle.files.workspace import DEEPEST, Workspace, open_without_links
from treadle.stores.passages.documents import Unreadable

PATTERNS = ("**/*.md", "**/*.yaml", "**/*.yml", "**/*.txt")
LARGEST = 1_000_000  # bytes of a file
MOST_NAMES = 1_000_000  # in one folder
SETTLED = 2_000_000_000  # nanoseconds: some file systems tell changes apart by no less
_NEVER = frozenset(("node_modules", "__pycache__"))  # full of texts that nobody here has written


class File(Struct, frozen=True):
    """A file that may be a document: the name it goes by, where it is, its bytes, and when it was changed (nanoseconds)."""

    source: str
    folder: Path
    path: str
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
    if not folder.is_dir():
        return Look([_named(name, folder)])
    look, wanted = Look(), _matcher(patterns)
    workspace = Workspace(folder, links=False, secrets=True)
    below = ["."]
    while below:
        here = below.pop()
        try:
            entries = workspace.listing(here, MOST_NAMES)
        except WorkspaceProblem as problem:
            look.closed.append(Skipped(_written(name if here == "." else f"{name}/{here}"), _reason(problem)))
            continue
        seen = [(entry, entry.name if here == "." else f"{here}/{entry.name}") for entry in entries if not _is_passed(entry.name)]
        for entry, path in seen:
            if entry.kind == "link" and _leads_out(folder, path, wanted):
                look.skipped.append(Skipped(_written(f"{name}/{path}"), "a link that leads out of the folder, or nowhere"))
            elif entry.kind in ("file", "other") and wanted.match(path):
                look.files.append(File(_written(f"{name}/{path}"), folder, path, entry.size, entry.changed))
        folders = [path for entry, path in seen if entry.kind == "folder"]
        if here.count("/") >= DEEPEST:  # each costs time by its depth
            look.skipped.extend(Skipped(_written(f"{name}/{path}"), "its folders are nested too deeply") for path in folders)
        else:
            below += reversed(folders)
    return look


def read(file: File, largest: int = LARGEST) -> Content:
    """What is in a file; `Unreadable` where it is no plain file, or too large. A link put there meanwhile isn't followed."""
    try:
        opened = open_without_links(file.folder, file.path)
    except NotRegular as error:
        raise Unreadable("no plain file") from error
    with os.fdopen(opened, "rb") as content:
        now, found = time.time_ns(), os.fstat(opened)
        data = content.read(largest + 1) if found.st_size <= largest else b""
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


def _named(source: str, path: Path) -> File:
    """A file that was named by itself. One that the system says nothing of is left to whoever reads it."""
    try:
        found = path.lstat()
    except OSError:
        return File(source, path.parent, path.name)
    return File(source, path.parent, path.name, found.st_size, found.st_mtime_ns)


def _reason(problem: WorkspaceProblem) -> str:
    return reason_of(problem.__cause__) if isinstance(problem.__cause__, OSError) else str(problem)


def _is_passed(name: str) -> bool:
    return name.startswith(".") or name in _NEVER


def _leads_out(folder: Path, path: str, wanted: re.Pattern[str]) -> bool:
    """Whether a link leads out of the folder, or nowhere; what it leads to within the folder is found there."""
    return (bool(wanted.match(path)) or (folder / path).is_dir()) and not _beneath(folder / path, folder)


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
