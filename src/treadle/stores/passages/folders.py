"""Folders indexed: what is new or has changed is put in, what is gone is taken out, everything else is left alone.

Documents go in a few at a time, each group in one transaction: whoever is killed in between has done what is done, and the next
time goes on from there. Memory doesn't grow with the folders.
"""

import asyncio
from collections.abc import Callable, Iterable, Sequence
from hashlib import blake2b
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from treadle.stores.passages.documents import Reader, TextReader, Unreadable
from treadle.stores.passages.files import LARGEST, PATTERNS, File, Skipped, find, named, read
from treadle.stores.passages.passages import Passages
from treadle.stores.passages.values import Document

MOST_FILES = 64  # read at once
MOST_PASSAGES = 256  # put in at once, or one document's


class Progress(Struct, frozen=True):
    """How far indexing is, in files; or in passages, while vectors are made anew (`what` is "vectors")."""

    done: int
    total: int
    what: str = "files"


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
) -> Report:
    """Bring a collection of the store in line with what is in the folders now.

    Documents of the collection that are in none of the folders are removed; so name all of its folders at once.
    """
    tell = progress or _silent
    files, skipped = await asyncio.to_thread(_find, folders, tuple(patterns))
    renewed = await store.renew(lambda done, total: tell(Progress(done, total, "vectors")))
    work = _Work(store, reader or TextReader(), collection, largest, await store.sources(collection), skipped)
    for start in range(0, len(files), MOST_FILES):
        some = files[start : start + MOST_FILES]
        await work.take(some)
        tell(Progress(start + len(some), len(files)))
    return replace(await work.end({file.source for file in files}), renewed=renewed)


def _silent(_: Progress) -> None:
    """Nobody wants to know."""


def _find(folders: Sequence[Path | str], patterns: Sequence[str]) -> tuple[list[File], list[Skipped]]:
    found = [find(name, folder, patterns) for name, folder in named(folders).items()]
    return [file for files, _ in found for file in files], [one for _, skipped in found for one in skipped]


class _Work:
    """One indexing, while it goes on."""

    def __init__(
        self, store: Passages, reader: Reader, collection: str, largest: int, known: dict[str, str], skipped: list[Skipped]
    ) -> None:
        self._store, self._reader, self._collection, self._largest = store, reader, collection, largest
        self._known = known
        self._skipped = skipped
        self._kept: set[str] = set()  # sources whose documents stay, as they are or anew
        self._report = Report()

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

    async def end(self, sources: set[str]) -> Report:
        """Take out what is gone; what was done."""
        gone = [source for source in self._known if source not in self._kept]
        removed = await self._store.remove(*gone) if gone else 0
        unchanged = len(sources & self._kept) - self._report.added - self._report.changed
        return replace(self._report, removed=removed, unchanged=unchanged, skipped=tuple(self._skipped))

    def _read(self, file: File) -> Document | None:
        """The document in a file, unless it is in the store as it is. One that can't be read just now stays as it was."""
        try:
            data = read(file.path, self._largest)
            mark = blake2b(self._reader.version.encode() + b"\0" + data, digest_size=16).hexdigest()
            document = None if self._known.get(file.source) == mark else self._reader.read(file.source, data)
        except Unreadable as error:
            self._skipped.append(Skipped(file.source, str(error)))
            return None
        except OSError as error:
            self._skipped.append(Skipped(file.source, error.strerror or str(error)))
            self._kept |= {file.source} & self._known.keys()
            return None
        self._kept.add(file.source)
        return None if document is None else replace(document, source=file.source, hash=mark, collection=self._collection)

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
