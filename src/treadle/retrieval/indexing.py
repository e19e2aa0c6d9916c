"""Indexes folders: adds new and changed files, removes deleted ones, and leaves everything else alone.

Documents are added in batches, each in one transaction: what a killed process has done is done, and the next run continues
from there. Memory grows neither with the number of files nor with their sizes beyond that of the largest.
"""

import asyncio
from collections.abc import Callable, Iterable, Iterator, Sequence
from hashlib import blake2b
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from treadle.core.errors import SettingsError
from treadle.retrieval.passages import Passages
from treadle.retrieval.source_files import (
    MAX_FILE_BYTES,
    PATTERNS,
    DocumentReader,
    FileContent,
    SkippedFile,
    SourceFile,
    SourceListing,
    TextReader,
    UnreadableDocument,
    folder_names,
    os_error_reason,
    read_source,
    reader_version,
    scan_folder,
)
from treadle.retrieval.values import DocumentVersion, SourceDocument

MAX_FILES = 64  # read at once
MAX_BYTES = 8_000_000  # of them
LARGE_FILE = 1_000_000  # bytes of a file that is read by itself, and told of before and after
MAX_PASSAGES = 256  # put in at once, or one document's


class IndexProgress(Struct, frozen=True):
    """Progress of indexing, in files; or in passages, while vectors are rebuilt (`what` is "vectors").

    `name` is the file that is read now, if it is a large one.
    """

    done: int
    total: int
    what: str = "files"
    name: str = ""


class IndexReport(Struct, frozen=True):
    """Result of indexing: how many documents were added, changed, unchanged and removed, and which files were skipped, and why."""

    added: int = 0
    changed: int = 0
    unchanged: int = 0
    removed: int = 0
    passages: int = 0  # of those that were added or changed
    renewed: int = 0  # vectors that were made for passages which hadn't changed
    skipped: tuple[SkippedFile, ...] = ()


async def index_folders(
    store: Passages,
    folders: Sequence[Path | str],
    *,
    patterns: Iterable[str] = PATTERNS,
    reader: DocumentReader | None = None,
    collection: str = "folders",
    largest: int = MAX_FILE_BYTES,
    progress: Callable[[IndexProgress], None] | None = None,
    thorough: bool = False,
) -> IndexReport:
    """Synchronize a collection of the store with the folders.

    A file may be given in place of a folder. Documents of the collection that are in none of the folders are removed; so pass
    all of its folders at once. A file with the same size and modification time isn't read; with `thorough`, all files are.
    """
    tell = progress or _ignore_progress
    known = await store.list_documents(collection)
    look, kept = await asyncio.to_thread(_scan_folders, folders, tuple(patterns), known)
    renewed = await store.renew(lambda done, total: tell(IndexProgress(done, total, "vectors")))
    work = _Indexer(store, _IndexOptions(reader or TextReader(), collection, largest, thorough), known, kept, look.skipped)
    new, total = await asyncio.to_thread(work.to_read, look.files), len(look.files)
    done = total - len(new)
    if done:
        tell(IndexProgress(done, total))
    for some in _batch_files(new):
        if some[0].size > LARGE_FILE:
            tell(IndexProgress(done, total, name=some[0].source))
        await work.take(some)
        done += len(some)
        tell(IndexProgress(done, total))
    return replace(await work.end({file.source for file in look.files}), renewed=renewed)


def _ignore_progress(_: IndexProgress) -> None:
    """Ignore progress."""


def _batch_files(files: Iterable[SourceFile]) -> Iterator[list[SourceFile]]:
    """Yield the files in batches that are read together."""
    group: list[SourceFile] = []
    size = 0
    for file in files:
        if group and (len(group) == MAX_FILES or size + file.size > MAX_BYTES or max(file.size, group[0].size) > LARGE_FILE):
            yield group
            group, size = [], 0
        group.append(file)
        size += file.size
    if group:
        yield group


def _scan_folders(folders: Sequence[Path | str], patterns: Sequence[str], known: Iterable[str]) -> tuple[SourceListing, set[str]]:
    """Scan the folders; also return the documents of folders that can't be read now: a disk that is offline loses nothing."""
    names = folder_names(folders)
    looks = {name: scan_folder(name, folder, patterns) for name, folder in names.items()}
    files = [file for look in looks.values() for file in look.files]
    skipped = [one for look in looks.values() for one in look.skipped]
    closed = {one.source: one.reason for look in looks.values() for one in look.closed}
    kept: set[str] = set()
    for place, reason in closed.items():
        before = {source for source in known if source == place or source.startswith(f"{place}/")}
        skipped.append(SkippedFile(place, f"{reason}; what was read before is kept" if before else reason))
        kept |= before
    if names and names.keys() <= closed.keys() and not kept:
        places = ", ".join(f"{folder} ({closed[name]})" for name, folder in names.items())
        raise SettingsError(f"There is no folder to index: {places}; check the setting that names it.")
    return SourceListing(files, skipped), kept


class _IndexOptions(Struct, frozen=True):
    """How files are read, and which collection their documents belong to."""

    reader: DocumentReader
    collection: str
    largest: int
    thorough: bool


class _Indexer:
    """One indexing in progress."""

    def __init__(
        self, store: Passages, way: _IndexOptions, known: dict[str, DocumentVersion], kept: set[str], skipped: list[SkippedFile]
    ) -> None:
        self._store, self._way, self._known = store, way, known
        self._kept = kept  # sources whose documents stay, as they are or anew
        self._skipped = skipped
        self._looks: dict[str, DocumentVersion] = {}  # of files that look different and say the same
        self._report = IndexReport()

    def to_read(self, files: Sequence[SourceFile]) -> list[SourceFile]:
        """Return the files that look different from when they were read."""
        new = [file for file in files if self._way.thorough or not self._is_unchanged(file)]
        self._kept |= {file.source for file in files} - {file.source for file in new}
        return new

    async def take(self, files: Sequence[SourceFile]) -> None:
        """Index the changes in some files."""
        documents = [
            one for one in await asyncio.to_thread(lambda: [self._read_document(file) for file in files]) if one is not None
        ]
        group: list[SourceDocument] = []
        for document in documents:
            group.append(document)
            if sum(len(one.passages) for one in group) >= MAX_PASSAGES:
                await self._put_documents(group)
                group = []
        await self._put_documents(group)
        if self._looks:
            await self._store.see(self._looks)
            self._looks = {}

    async def end(self, sources: set[str]) -> IndexReport:
        """Remove deleted documents and return the report."""
        gone = [source for source in self._known if source not in self._kept]
        removed = await self._store.remove(*gone) if gone else 0
        unchanged = len(sources & self._kept) - self._report.added - self._report.changed
        return replace(self._report, removed=removed, unchanged=unchanged, skipped=tuple(self._skipped))

    def _is_unchanged(self, file: SourceFile) -> bool:
        known = self._known.get(file.source, DocumentVersion()).seen
        return bool(known) and file.size <= self._way.largest and known == self._file_version(file.source, file.size, file.changed)

    def _file_version(self, source: str, size: int, changed: int) -> str:
        return f"{size} {changed} {_digest(reader_version(self._way.reader, source).encode())}"

    def _read_document(self, file: SourceFile) -> SourceDocument | None:
        """Return the document in a file, unless the store has it unchanged. One that can't be read now stays as it was."""
        try:
            document = self._document(file.source, read_source(file, self._way.largest))
        except UnreadableDocument as error:
            self._skipped.append(SkippedFile(file.source, str(error)))
            return None
        except OSError as error:
            self._skipped.append(SkippedFile(file.source, os_error_reason(error)))
            self._kept |= {file.source} & self._known.keys()
            return None
        self._kept.add(file.source)
        return document

    def _document(self, source: str, content: FileContent) -> SourceDocument | None:
        version = reader_version(self._way.reader, source).encode()
        look = DocumentVersion(
            _digest(version + b"\0" + content.data),
            self._file_version(source, len(content.data), content.changed) if content.settled else "",
        )
        known = self._known.get(source)
        if known is not None and known.hash == look.hash:
            if known.seen != look.seen:
                self._looks[source] = look
            return None
        document = self._way.reader.read(source, content.data)
        return replace(document, source=source, hash=look.hash, collection=self._way.collection, seen=look.seen)

    async def _put_documents(self, documents: Sequence[SourceDocument]) -> None:
        if not documents:
            return
        await self._store.put(*documents)
        added = sum(document.source not in self._known for document in documents)
        self._report = replace(
            self._report,
            added=self._report.added + added,
            changed=self._report.changed + len(documents) - added,
            passages=self._report.passages + sum(len(document.passages) for document in documents),
        )


def _digest(data: bytes) -> str:
    return blake2b(data, digest_size=16).hexdigest()
