"""Finds the documents in a folder: by patterns, without hidden or too large files, and without links out of it. Read-only."""

import os
import re
import time
from collections.abc import Iterable, Sequence
from fnmatch import translate
from pathlib import Path

from msgspec import Struct

from treadle.core.regular_files import NotRegular
from treadle.files.problems import WorkspaceProblem
from treadle.files.workspace import MAX_DEPTH, Workspace, open_without_links
from treadle.retrieval.readers import UnreadableDocument

PATTERNS = ("**/*.md", "**/*.yaml", "**/*.yml", "**/*.txt")
MAX_FILE_BYTES = 1_000_000  # bytes of a file
MAX_NAMES = 1_000_000  # in one folder
MIN_AGE_NS = 2_000_000_000  # nanoseconds: some file systems tell changes apart by no less
_NEVER = frozenset(("node_modules", "__pycache__"))  # generated or installed, not written here


class SourceFile(Struct, frozen=True):
    """A file that may be a document: its source name, its path, its size, and when it was modified (nanoseconds)."""

    source: str
    folder: Path
    path: str
    size: int = 0
    changed: int = 0


class SkippedFile(Struct, frozen=True):
    """A file that isn't indexed, or a folder that can't be read, and why."""

    source: str
    reason: str


class SourceListing(Struct, frozen=True):
    """The content of a folder: the files in order, what was skipped, and the folders that can't be read at the moment."""

    files: list[SourceFile] = []
    skipped: list[SkippedFile] = []
    closed: list[SkippedFile] = []


class FileContent(Struct, frozen=True):
    """The content of a file. `settled`: its last change was long enough before the read that a later one will be noticed."""

    data: bytes
    changed: int
    settled: bool


def folder_names(folders: Sequence[Path | str]) -> dict[str, Path]:
    """Return the folders and files by the names that sources begin with: the shortest unique suffix of each path."""
    paths = list(dict.fromkeys(Path(folder).expanduser().resolve() for folder in folders))
    names: dict[str, Path] = {}
    for path in paths:
        parts = [_printable_name(part) for part in path.parts if part != path.anchor]
        endings = ["/".join(parts[-length:]) for length in range(1, len(parts) + 1)]
        others = [f"/{_printable_name(other.as_posix())}" for other in paths if other != path]
        names[next((ending for ending in endings if not any(o.endswith(f"/{ending}") for o in others)), _printable_name(path))] = (
            path
        )
    return names


def scan_folder(name: str, folder: Path, patterns: Iterable[str]) -> SourceListing:
    """Scan a folder under a name. A file is its own only document."""
    if reason := _explain_absence(folder):
        return SourceListing(closed=[SkippedFile(name, reason)])
    if not folder.is_dir():
        return SourceListing([_single_file(name, folder)])
    look, wanted = SourceListing(), _compile_patterns(patterns)
    workspace = Workspace(folder, links=False, secrets=True)
    below = ["."]
    while below:
        here = below.pop()
        try:
            entries = workspace.listing(here, MAX_NAMES)
        except WorkspaceProblem as problem:
            look.closed.append(SkippedFile(_printable_name(name if here == "." else f"{name}/{here}"), _explain_problem(problem)))
            continue
        seen = [(entry, entry.name if here == "." else f"{here}/{entry.name}") for entry in entries if not _is_ignored(entry.name)]
        for entry, path in seen:
            if entry.kind == "link" and _leads_out(folder, path, wanted):
                look.skipped.append(
                    SkippedFile(_printable_name(f"{name}/{path}"), "a link that leads out of the folder, or nowhere")
                )
            elif entry.kind in ("file", "other") and wanted.match(path):
                look.files.append(SourceFile(_printable_name(f"{name}/{path}"), folder, path, entry.size, entry.changed))
        folders = [path for entry, path in seen if entry.kind == "folder"]
        if here.count("/") >= MAX_DEPTH:  # each costs time by its depth
            look.skipped.extend(
                SkippedFile(_printable_name(f"{name}/{path}"), "its folders are nested too deeply") for path in folders
            )
        else:
            below += reversed(folders)
    return look


def read_source(file: SourceFile, largest: int = MAX_FILE_BYTES) -> FileContent:
    """Return the content of a file. Raises `UnreadableDocument` for one that isn't regular or is too large. Follows no links."""
    try:
        opened = open_without_links(file.folder, file.path)
    except NotRegular as error:
        raise UnreadableDocument("no plain file") from error
    with os.fdopen(opened, "rb") as content:
        now, found = time.time_ns(), os.fstat(opened)
        data = content.read(largest + 1) if found.st_size <= largest else b""
    if max(len(data), found.st_size) > largest:
        raise UnreadableDocument(f"over {largest:,} bytes")
    settled = len(data) == found.st_size and now - found.st_mtime_ns >= MIN_AGE_NS
    return FileContent(data, found.st_mtime_ns, settled)


def os_error_reason(error: OSError) -> str:
    """Return the operating system's message, for the report."""
    return error.strerror or str(error)


def _explain_absence(folder: Path) -> str:
    """Return why a folder or file can't be accessed; empty where it can."""
    try:
        folder.stat()
    except FileNotFoundError:
        return "isn't there"
    except OSError as error:
        return os_error_reason(error)
    return ""


def _printable_name(name: Path | str) -> str:
    """Return a name that can be stored: bytes that aren't UTF-8 are escaped, so that each file has one stable name."""
    return os.fsencode(name).decode(errors="backslashreplace")


def _single_file(source: str, path: Path) -> SourceFile:
    """Return a file that was given by itself. One that can't be examined is left to the reader."""
    try:
        found = path.lstat()
    except OSError:
        return SourceFile(source, path.parent, path.name)
    return SourceFile(source, path.parent, path.name, found.st_size, found.st_mtime_ns)


def _explain_problem(problem: WorkspaceProblem) -> str:
    return os_error_reason(problem.__cause__) if isinstance(problem.__cause__, OSError) else str(problem)


def _is_ignored(name: str) -> bool:
    return name.startswith(".") or name in _NEVER


def _leads_out(folder: Path, path: str, wanted: re.Pattern[str]) -> bool:
    """Return whether a link leads out of the folder, or nowhere; targets inside the folder are found there."""
    return (bool(wanted.match(path)) or (folder / path).is_dir()) and not _is_beneath(folder / path, folder)


def _is_beneath(path: Path, folder: Path) -> bool:
    try:
        return path.resolve(strict=True).is_relative_to(folder)
    except (OSError, RuntimeError):
        return False


def _compile_patterns(patterns: Iterable[str]) -> re.Pattern[str]:
    """Compile patterns into one expression: `**/` is any number of folders, `*` and `?` stay within a name. Ignores case."""
    parts = [
        "(?:.*/)?".join("[^/]*".join(_translate_glob(one) for one in part.split("*")) for part in pattern.split("**/"))
        for pattern in patterns
    ]
    return re.compile("|".join(f"(?:{part})\\Z" for part in parts) or r"(?!)", re.IGNORECASE)


def _translate_glob(text: str) -> str:
    return translate(text).removeprefix("(?s:").removesuffix(")\\Z").replace("(?s:.)", "[^/]")
