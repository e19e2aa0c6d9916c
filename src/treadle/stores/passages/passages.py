"""`Passages`: documents put in and taken out, passages found. Everything is safe to do from many tasks and processes at once.

A document is in the file wholly or not at all. Vectors are made before anything is written, so that nobody waits for an embedder.
"""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any

from treadle.core.errors import ModelError, SettingsError
from treadle.core.log import log
from treadle.core.seams import Embedder
from treadle.stores.passages import rows
from treadle.stores.passages.asked import LONGEST, plain, words_of
from treadle.stores.passages.connections import Connections
from treadle.stores.passages.filters import filter_of
from treadle.stores.passages.held import Vectors, has_numpy
from treadle.stores.passages.ranking import RELATED
from treadle.stores.passages.searching import How, Question, search
from treadle.stores.passages.values import Document, Found, Kept, Passage, State, Where

if TYPE_CHECKING:
    from sqlite3 import Connection

AT_ONCE = 128  # passages that are embedded together


class Passages:
    """Passages in a file. Without an embedder they are found by their words alone."""

    def __init__(self, path: Path | str, embedder: Embedder | None = None) -> None:
        self.path = Path(path)
        self.embedder = embedder
        self._file = Connections(self.path)
        self._vectors = Vectors()

    async def __aenter__(self) -> "Passages":
        return self

    async def __aexit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()

    def close(self) -> None:
        """Let go of the file."""
        self._file.close()

    async def put(self, *documents: Document) -> None:
        """Keep documents, each in place of what had its source; all of them or, where something fails, none."""
        titled = [(passage, document.title) for document in documents for passage in document.passages]
        vectors: list[rows.Packed] = []
        for start in range(0, len(titled), AT_ONCE):
            some = titled[start : start + AT_ONCE]
            vectors += await self._embedded([rows.embedded(rows.told(one, title), plain(one.text)) for one, title in some])
        await self._file.write(lambda connection: self._put(connection, documents, vectors))

    async def _embedded(self, texts: Sequence[str]) -> list[rows.Packed]:
        """The vectors of some texts, as they are kept: a large document's would fill the memory as they come."""
        if self.embedder is None:
            return []
        vectors = await self.embedder.embed(texts)
        return await asyncio.to_thread(rows.packed, vectors)

    def _put(self, connection: "Connection", documents: Sequence[Document], vectors: Sequence[rows.Packed]) -> None:
        dimensions = {len(vector.numbers) for vector in vectors}
        usable = len(dimensions) == 1 and self._ours(connection, *dimensions)
        start = 0
        for document in documents:
            end = start + len(document.passages)
            rows.add_document(connection, document, vectors[start:end] if usable else None)
            start = end

    def _ours(self, connection: "Connection", dimension: int) -> bool:
        """Whether vectors of our embedder belong into the file; in one that has none yet they do."""
        told, name = rows.about(connection), self._name
        if told in (("", 0), (name, 0)):
            rows.set_about(connection, name, dimension)
            return True
        return told == (name, dimension)

    async def remove(self, *sources: str) -> int:
        """Forget documents; how many of them there were."""
        names = [(plain(source),) for source in sources]
        query = "DELETE FROM documents WHERE source = ?"
        return await self._file.write(lambda connection: sum(connection.execute(query, name).rowcount for name in names))

    async def purge(self) -> None:
        """Have the file hold nothing of what was removed: SQLite keeps it in free pages and in the index of words until then."""
        await self._file.rewrite()

    async def sources(self, collection: str | None = None) -> dict[str, str]:
        """The documents there are, or those of a collection, each with its hash."""
        query = "SELECT source, hash FROM documents WHERE collection = coalesce(?, collection) ORDER BY source"
        return await self._file.read(lambda connection: dict(connection.execute(query, (collection,))))

    async def kept(self, collection: str | None = None) -> dict[str, Kept]:
        """The documents there are, or those of a collection, each with what it is known by."""
        return await self._file.read(lambda connection: rows.kept(connection, collection))

    async def see(self, looks: Mapping[str, Kept]) -> None:
        """Keep how the files of documents look now that haven't changed, by their sources."""
        await self._file.write(lambda connection: rows.see(connection, looks))

    async def abouts(self, collection: str | None = None) -> dict[str, dict[str, Any]]:
        """The documents there are, or those of a collection, each with what else is known of it."""
        return await self._file.read(lambda connection: rows.abouts(connection, collection))

    async def search(
        self, query: str, *, limit: int = 3, floor: float = RELATED, where: Where | None = None, how: How = "both"
    ) -> list[Found]:
        """The passages that fit a question best, none below the floor.

        Any text can be asked. `where` says which tags a passage has to have: `{"course": "MCP", "lesson": [0, 1]}`. Where the
        embedder can't be reached, words alone are searched, unless `how` is "meaning".
        """
        if limit < 1:
            raise SettingsError(f"A search for {limit} passages finds nothing; ask for at least one.")
        if how not in ("both", "words", "meaning"):
            raise SettingsError(f'There is no search by {how!r}; it is "both", "words" or "meaning".')
        allowed = filter_of(where)
        if not words_of(query):
            return []
        vector = await self._vector(query, how)
        meaning_floor = self.embedder.floor if self.embedder is not None else 0.0
        question = Question(query, limit, floor, how, allowed, vector, self._name, meaning_floor)
        return await self._file.read(lambda connection: search(connection, question, self._vectors))

    async def _vector(self, query: str, how: How) -> bytes | None:
        if how == "words":
            return None
        if self.embedder is None:
            if how == "meaning":
                raise SettingsError("To search by meaning, open the passages with an embedder.")
            return None
        try:
            return (await self.embedder.embed([plain(query[:LONGEST])]))[0]
        except ModelError as error:
            if how == "meaning":
                raise
            log.warning("searched by words alone: %s", error)
            return None

    async def passage(self, passage_id: str) -> Passage | None:
        """The passage by its id, or None where it is gone."""
        source, _, number = passage_id.rpartition("#")
        return await self._file.read(lambda connection: rows.passage_at(connection, source, number))

    async def document(self, source: str) -> list[Passage]:
        """The passages of a document, in order."""
        return await self._file.read(lambda connection: rows.passages_of(connection, source))

    async def passages_with(self, where: Where, *, limit: int = 100, after: int = 0) -> list[Passage]:
        """Passages by their tags, in the order of their documents: all of a lesson, say. `after` is how many to leave out first."""
        if limit < 1 or after < 0:
            raise SettingsError(f"There are no {limit} passages after {after}; ask for at least one, after none or more.")
        allowed = filter_of(where)
        return await self._file.read(lambda connection: rows.passages_with(connection, allowed, limit, after))

    async def around(self, passage: Passage) -> tuple[Passage | None, Passage | None]:
        """What stands before and after a passage in its document, of what has the same tags."""
        return await self._file.read(
            lambda connection: (rows.beside(connection, passage, "DESC"), rows.beside(connection, passage, "ASC"))
        )

    async def values(self, tag: str) -> dict[str, int]:
        """The values that a tag has, with how many passages have each."""
        query = "SELECT value, count(*) FROM tags WHERE key = ? GROUP BY value ORDER BY value"
        return await self._file.read(lambda connection: dict(connection.execute(query, (plain(tag),))))

    async def state(self) -> State:
        """What there is."""
        return await self._file.read(_state)

    async def renew(self, progress: Callable[[int, int], None] | None = None) -> int:
        """Make the vectors that are missing; all of them, where those in the file are another embedder's. How many were made.

        Told are how many are done and how many there are to do. What a killed process has done of it stays done.
        """
        if self.embedder is None:
            return 0
        if await self._file.read(self._stale):
            await self._file.write(self._begin_anew)
        missing, done, after = (await self.state()).without_vector, 0, 0
        while some := await self._file.read(lambda connection, after=after: _without_vector(connection, after)):
            vectors = await self._embedded([text for _, text in some])
            made = dict(zip((passage for passage, _ in some), vectors, strict=True))
            again = await self._file.write(lambda connection, made=made: self._add(connection, made))
            done, after = done + len(some), 0 if again else some[-1][0]
            if progress is not None:
                progress(done, max(missing, done))
        return done

    @property
    def _name(self) -> str:
        return self.embedder.name if self.embedder is not None else ""

    def _stale(self, connection: "Connection") -> bool:
        return rows.about(connection)[0] not in ("", self._name)

    def _begin_anew(self, connection: "Connection") -> None:
        log.warning("%s: vectors are made anew, because the embedder is another one now", self.path.name)
        rows.set_about(connection, self._name, 0)

    def _add(self, connection: "Connection", vectors: dict[int, rows.Packed]) -> bool:
        """Keep vectors. Where those in the file are of another dimension they go, and True is said."""
        dimension = len(next(iter(vectors.values())).numbers)
        if self._stale(connection):
            raise SettingsError(f"{self.path} is being filled by another embedder; let all who use it have the same one.")
        other = not self._ours(connection, dimension)
        if other:
            self._begin_anew(connection)
            self._ours(connection, dimension)
        rows.add_vectors(connection, vectors)
        return other


def _state(connection: "Connection") -> State:
    name, dimension = rows.about(connection)
    passages = rows.count(connection, "passages")
    by = ("numpy" if has_numpy() else "python") if name else ""
    return State(rows.count(connection, "documents"), passages, passages - rows.count(connection, "signs"), name, dimension, by)


def _without_vector(connection: "Connection", after: int) -> list[tuple[int, str]]:
    query = (
        "SELECT id, heading, text FROM passages WHERE id > ? AND NOT EXISTS (SELECT 1 FROM signs WHERE passage = passages.id) "
        "ORDER BY id LIMIT ?"
    )
    return [(passage, rows.embedded(heading, text)) for passage, heading, text in connection.execute(query, (after, AT_ONCE))]
