"""Folders indexed: what is new or has changed is put in, what is gone is taken out, everything else is left alone.

Documents go in a few at a time, each group in one transaction: whoever is killed in between has done what is done, and the next
time goes on from there. Memory grows neither with the number of files nor with their sizes beyond that of the largest.
"""

import asyncio
from collections.abc import Callable, Iterable, Iterator, Sequence
from hashlib import blake2b
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from treadle.core.errors import SettingsError
from treadle.stores.passages.documents import Reader, TextReader, Unreadable, version_of
from treadle.stores.passages.files import LARGEST, PATTERNS, Content, File, Look, Skipped, find, named, read, reason_of
from treadle.stores.passages.passages import Passages
from treadle.stores.passages.values import Document, Kept

MOST_FILES = 64  # read at once
MOST_BYTES = 8_000_000  # of them
LARGE = 1_000_000  # bytes of a file that is read by itself, and told of before and after
MOST_PASSAGES = 256  # put in at once, or one document's


class Progress(Struct, frozen=True):
    """How far indexing is, in files; or in passages, while vectors are made anew (`what` is "vectors").

    `name` is the file that is begun now, where it is a large one.
    """

    done: int
    total: int
    what: str = "files"
    name: str = ""


class Report(Struct, frozen=True):
    """What indexing did: how many documents were added, changed, left alone and removed, and which files were skipped, with why."""

    added: int = 0
    changed: int = 0
    unchanged: int = 0
    removed: int = 0
    passages: int = 0  # of those that were added or changed
    renewed: int = 0  # vectors that were made for passages which hadn't changed
    skipped: tuple[Skipped, ...] = ()


async def index_folders(
    store: Passages,
    folders: Sequence[Path | str],
    *,
    patterns: Iterable[str] = PATTERNS,
    reader: Reader | None = None,
    collection: str = "folders",
    largest: int = LARGEST,
    progress: Callable[[Progress], None] | None = None,
    thorough: bool = False,
) -> Report:
    """Bring a collection of the store in line with what is in the folders now.

    A file may be named in place of a folder. Documents of the collection that are in none of the folders are removed; so name all
    of its folders at once. A file that looks as it did (by its size, and when it was changed) isn't read; if `thorough`, all are.
    """
    tell = progress or _silent
    known = await store.kept(collection)
    look, kept = await asyncio.to_thread(_find, folders, tuple(patterns), known)
    renewed = await store.renew(lambda done, total: tell(Progress(done, total, "vectors")))
    work = _Work(store, _Way(reader or TextReader(), collection, largest, thorough), known, kept, look.skipped)
    new, total = await asyncio.to_thread(work.to_read, look.files), len(look.files)
    done = total - len(new)
    if done:
        tell(Progress(done, total))
    for some in _groups(new):
        if some[0].size > LARGE:
            tell(Progress(done, total, name=some[0].source))
        await work.take(some)
        done += len(some)
        tell(Progress(done, total))
    return replace(await work.end({file.source for file in look.files}), renewed=renewed)


def _silent(_: Progress) -> None:
    """Nobody wants to know."""


def _groups(files: Iterable[File]) -> Iterator[list[File]]:
    """The files, as many at a time as are read at once."""
    group: list[File] = []
    size = 0
    for file in files:
        if group and (len(group) == MOST_FILES or size + file.size > MOST_BYTES or max(file.size, group[0].size) > LARGE):
            yield group
            group, size = [], 0
        group.append(file)
        size += file.size
    if group:
        yield group


def _find(folders: Sequence[Path | str], patterns: Sequence[str], known: Iterable[str]) -> tuple[Look, set[str]]:
    """What is in the folders, and the documents of those that can't be looked into just now: a disk that is away loses nothing."""
    names = named(folders)
    looks = {name: find(name, folder, patterns) for name, folder in names.items()}
    files = [file for look in looks.values() for file in look.files]
    skipped = [one for look in looks.values() for one in look.skipped]
    closed = {one.source: one.reason for look in looks.values() for one in look.closed}
    kept: set[str] = set()
    for place, reason in closed.items():
        before = {source for source in known if source == place or source.startswith(f"{place}/")}
        skipped.append(Skipped(place, f"{reason}; what was read before is kept" if before else reason))
        kept |= before
    if names and names.keys() <= closed.keys() and not kept:
        places = ", ".join(f"{folder} ({closed[name]})" for name, folder in names.items())
        raise SettingsError(f"There is no folder to index: {places}; check the setting that names it.")
    return Look(files, skipped), kept


class _Way(Struct, frozen=True):
    """How files are read, and whose documents they become."""

    reader: Reader
    collection: str
    largest: int
    thorough: bool


class _Work:
    """One indexing, while it goes on."""

    def __init__(self, store: Passages, way: _Way, known: dict[str, Kept], kept: set[str], skipped: list[Skipped]) -> None:
        self._store, self._way, self._known = store, way, known
        self._kept = kept  # sources whose documents stay, as they are or anew
        self._skipped = skipped
        self._looks: dict[str, Kept] = {}  # of files that look different and say the same
        self._report = Report()

    def to_read(self, files: Sequence[File]) -> list[File]:
        """The files that look different from when they were read."""
        new = [file for file in files if self._way.thorough or not self._same(file)]
        self._kept |= {file.source for file in files} - {file.source for file in new}
        return new

    async def take(self, files: Sequence[File]) -> None:
        """Put in what is new in some files."""
        documents = [one for one in await asyncio.to_thread(lambda: [self._read(file) for file in files]) if one is not None]
        group: list[Document] = []
        for document in documents:
            group.append(document)
            if sum(len(one.passages) for one in group) >= MOST_PASSAGES:
                await self._put(group)
                group = []
        await self._put(group)
        if self._looks:
            await self._store.see(self._looks)
            self._looks = {}

    async def end(self, sources: set[str]) -> Report:
        """Take out what is gone; what was done."""
        gone = [source for source in self._known if source not in self._kept]
        removed = await self._store.remove(*gone) if gone else 0
        unchanged = len(sources & self._kept) - self._report.added - self._report.changed
        return replace(self._report, removed=removed, unchanged=unchanged, skipped=tuple(self._skipped))

    def _same(self, file: File) -> bool:
        known = self._known.get(file.source, Kept()).seen
        return bool(known) and file.size <= self._way.largest and known == self._seen(file.source, file.size, file.changed)

    def _seen(self, source: str, size: int, changed: int) -> str:
        return f"{size} {changed} {_mark(version_of(self._way.reader, source).encode())}"

    def _read(self, file: File) -> Document | None:
        """The document in a file, unless it is in the store as it is. One that can't be read just now stays as it was."""
        try:
            document = self._document(file.source, read(file, self._way.largest))
        except Unreadable as error:
            self._skipped.append(Skipped(file.source, str(error)))
            return None
        except OSError as error:
            self._skipped.append(Skipped(file.source, reason_of(error)))
            self._kept |= {file.source} & self._known.keys()
            return None
        self._kept.add(file.source)
        return document

    def _document(self, source: str, content: Content) -> Document | None:
        version = version_of(self._way.reader, source).encode()
        look = Kept(
            _mark(version + b"\0" + content.data),
            self._seen(source, len(content.data), content.changed) if content.settled else "",
        )
        known = self._known.get(source)
        if known is not None and known.hash == look.hash:
            if known.seen != look.seen:
                self._looks[source] = look
            return None
        document = self._way.reader.read(source, content.data)
        return replace(document, source=source, hash=look.hash, collection=self._way.collection, seen=look.seen)

    async def _put(self, documents: Sequence[Document]) -> None:
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


def _mark(data: bytes) -> str:
    return blake2b(data, digest_size=16).hexdigest()
