"""The documents in a folder: found without hidden or too large files and links out of it, and read by their format. Read-only."""

import os
import re
import time
from collections.abc import Iterable, Sequence
from fnmatch import translate
from pathlib import Path, PurePosixPath
from typing import Protocol, runtime_checkable

from msgspec import Struct

from treadle.core.regular_files import NotRegular
from treadle.files.problems import WorkspaceProblem
from treadle.files.workspace import MAX_DEPTH, Workspace, open_without_links
from treadle.retrieval.format_splitting import split_markdown, split_yaml
from treadle.retrieval.splitting import OVERLAP, SIZE, Split, split_text
from treadle.retrieval.values import Passage, SourceDocument, TagValue

PATTERNS = ("**/*.md", "**/*.yaml", "**/*.yml", "**/*.txt")
MAX_FILE_BYTES = 1_000_000  # bytes of a file
MAX_NAMES = 1_000_000  # in one folder
MIN_AGE_NS = 2_000_000_000  # nanoseconds: some file systems tell changes apart by no less
_NEVER = frozenset(("node_modules", "__pycache__"))  # generated or installed, not written here


class UnreadableDocument(Exception):
    """Raised by a reader for a file that isn't valid. The message says why, for the report."""


class DocumentReader(Protocol):
    """Turns the bytes of a file into a document. May also have `version_of(source)`."""

    @property
    def version(self) -> str:
        """Changes whenever the same bytes would be read differently: then unchanged files are read again."""
        ...

    def read(self, source: str, data: bytes) -> SourceDocument:
        """Return the document. Raises `UnreadableDocument`. Called in a thread."""
        ...


@runtime_checkable
class FileVersionedReader(Protocol):
    """A reader that knows which of its settings apply to a file: when others change, that file isn't read again."""

    def version_of(self, source: str) -> str:
        """Return the `version` for this file alone."""
        ...


def reader_version(reader: DocumentReader, source: str) -> str:
    """Return the version with which a reader would read this file."""
    return reader.version_of(source) if isinstance(reader, FileVersionedReader) else reader.version


class TextReader(Struct, frozen=True):
    """Reads text files by their extension. Every passage gets the tags, and `link` with its placeholders filled in.

    `{source}`, `{first_line}` and `{last_line}` are those of the passage: `https://docs.example.org/{source}#L{first_line}`.
    """

    size: int = SIZE
    overlap: int = OVERLAP
    link: str = ""
    tags: dict[str, TagValue] = {}

    @property
    def version(self) -> str:
        """All settings, and the version of the splitting."""
        return f"text 1 {self.size} {self.overlap} {self.link} {sorted(self.tags.items())}"

    def read(self, source: str, data: bytes) -> SourceDocument:
        """Return the document in a text file."""
        text = decode_document(data)
        split = self._split(source, text)
        title = split.title or PurePosixPath(source).stem
        passages = tuple(
            Passage(
                piece.text,
                source,
                number,
                title,
                piece.headings,
                piece.first_line,
                piece.last_line,
                link=self._link(source, piece.first_line, piece.last_line),
                tags=self.tags,
            )
            for number, piece in enumerate(split.pieces)
        )
        return SourceDocument(source, title, passages=passages)

    def _split(self, source: str, text: str) -> Split:
        match PurePosixPath(source).suffix.lower():
            case ".md" | ".markdown" | ".mdx":
                return split_markdown(text, size=self.size, overlap=self.overlap)
            case ".yaml" | ".yml":
                return split_yaml(text, size=self.size)
            case _:
                return split_text(text, size=self.size, overlap=self.overlap)

    def _link(self, source: str, first: int, last: int) -> str:
        link = self.link.replace("{first_line}", str(first)).replace("{last_line}", str(last))
        return link.replace("{source}", source)


def decode_document(data: bytes) -> str:
    """Decode bytes: UTF-8, or UTF-16 with a byte order mark. Raises `UnreadableDocument` otherwise."""
    marked = data.startswith((b"\xff\xfe", b"\xfe\xff"))
    if not marked and b"\0" in data:
        raise UnreadableDocument("not text")
    try:
        return data.decode("utf-16" if marked else "utf-8-sig")
    except UnicodeDecodeError as error:
        raise UnreadableDocument(f"not UTF-8 (byte {error.start})") from error


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
