"""`Passages`: the store of documents and its search. Safe to use from many tasks and processes at once.

A document is in the file wholly or not at all. Vectors are computed before anything is written, so that nothing waits for an
embedder.
"""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any

from treadle.core.errors import ModelError, SettingsError
from treadle.core.log import log
from treadle.core.seams import Embedder
from treadle.retrieval import rows
from treadle.retrieval.connections import PassageConnections
from treadle.retrieval.query import MAX_QUERY, build_tag_filter, clean_text, split_query
from treadle.retrieval.search import RELATED, PassageQuery, SearchMode, search_passages
from treadle.retrieval.values import DocumentVersion, Passage, PassageHit, PassagesState, SourceDocument, TagQuery
from treadle.retrieval.vector_index import VectorIndex, has_numpy

if TYPE_CHECKING:
    from sqlite3 import Connection

EMBED_BATCH = 128  # passages that are embedded together


class Passages:
    """Passages in a file. Without an embedder only full text is searched."""

    def __init__(self, path: Path | str, embedder: Embedder | None = None) -> None:
        self.path = Path(path)
        self.embedder = embedder
        self._file = PassageConnections(self.path)
        self._vectors = VectorIndex()

    async def __aenter__(self) -> "Passages":
        return self

    async def __aexit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()

    def close(self) -> None:
        """Close the file."""
        self._file.close()

    async def put(self, *documents: SourceDocument) -> None:
        """Store documents, each replacing the one with its source; all of them or, where something fails, none."""
        titled = [(passage, document.title) for document in documents for passage in document.passages]
        vectors: list[rows.PackedVector] = []
        for start in range(0, len(titled), EMBED_BATCH):
            some = titled[start : start + EMBED_BATCH]
            vectors += await self._embed(
                [rows.format_for_embedding(rows.format_heading(one, title), clean_text(one.text)) for one, title in some]
            )
        await self._file.write(lambda connection: self._put(connection, documents, vectors))

    async def _embed(self, texts: Sequence[str]) -> list[rows.PackedVector]:
        """Return the vectors of texts, packed for storage: those of a large document would fill the memory otherwise."""
        if self.embedder is None:
            return []
        vectors = await self.embedder.embed(texts)
        return await asyncio.to_thread(rows.pack_vectors, vectors)

    def _put(self, connection: "Connection", documents: Sequence[SourceDocument], vectors: Sequence[rows.PackedVector]) -> None:
        dimensions = {len(vector.numbers) for vector in vectors}
        usable = len(dimensions) == 1 and self._accepts_vectors(connection, *dimensions)
        start = 0
        for document in documents:
            end = start + len(document.passages)
            rows.add_document(connection, document, vectors[start:end] if usable else None)
            start = end

    def _accepts_vectors(self, connection: "Connection", dimension: int) -> bool:
        """Return whether vectors of our embedder belong in the file; in one that has none yet they do."""
        told, name = rows.load_embedder_info(connection), self._name
        if told in (("", 0), (name, 0)):
            rows.set_embedder_info(connection, name, dimension)
            return True
        return told == (name, dimension)

    async def remove(self, *sources: str) -> int:
        """Remove documents; return how many of them there were."""
        names = [(clean_text(source),) for source in sources]
        query = "DELETE FROM documents WHERE source = ?"
        return await self._file.write(lambda connection: sum(connection.execute(query, name).rowcount for name in names))

    async def purge(self) -> None:
        """Purge removed documents from the file: until then SQLite keeps them in free pages and in the full text index."""
        await self._file.rewrite()

    async def sources(self, collection: str | None = None) -> dict[str, str]:
        """Return the documents, or those of a collection, each with its hash."""
        query = "SELECT source, hash FROM documents WHERE collection = coalesce(?, collection) ORDER BY source"
        return await self._file.read(lambda connection: dict(connection.execute(query, (collection,))))

    async def list_documents(self, collection: str | None = None) -> dict[str, DocumentVersion]:
        """Return the documents, or those of a collection, each with its version."""
        return await self._file.read(lambda connection: rows.load_versions(connection, collection))

    async def see(self, looks: Mapping[str, DocumentVersion]) -> None:
        """Store how the files of unchanged documents look now, by their sources."""
        await self._file.write(lambda connection: rows.update_seen_files(connection, looks))

    async def abouts(self, collection: str | None = None) -> dict[str, dict[str, Any]]:
        """Return the metadata of the documents, or of those of a collection."""
        return await self._file.read(lambda connection: rows.load_metadata(connection, collection))

    async def search(
        self, query: str, *, limit: int = 3, floor: float = RELATED, where: TagQuery | None = None, how: SearchMode = "both"
    ) -> list[PassageHit]:
        """Return the passages that match a query best, none below the floor.

        Any text can be a query. `where` filters by tags: `{"course": "MCP", "lesson": [0, 1]}`. Where the embedder can't be
        reached, only full text is searched, unless `how` is "meaning".
        """
        if limit < 1:
            raise SettingsError(f"A search for {limit} passages finds nothing; ask for at least one.")
        if how not in ("both", "words", "meaning"):
            raise SettingsError(f'There is no search by {how!r}; it is "both", "words" or "meaning".')
        allowed = build_tag_filter(where)
        if not split_query(query):
            return []
        vector = await self._embed_query(query, how)
        meaning_floor = self.embedder.floor if self.embedder is not None else 0.0
        question = PassageQuery(query, limit, floor, how, allowed, vector, self._name, meaning_floor)
        return await self._file.read(lambda connection: search_passages(connection, question, self._vectors))

    async def _embed_query(self, query: str, how: SearchMode) -> bytes | None:
        if how == "words":
            return None
        if self.embedder is None:
            if how == "meaning":
                raise SettingsError("To search by meaning, open the passages with an embedder.")
            return None
        try:
            return (await self.embedder.embed([clean_text(query[:MAX_QUERY])]))[0]
        except ModelError as error:
            if how == "meaning":
                raise
            log.warning("searched by words alone: %s", error)
            return None

    async def passage(self, passage_id: str) -> Passage | None:
        """Return the passage with this id, or None where it is gone."""
        source, _, number = passage_id.rpartition("#")
        return await self._file.read(lambda connection: rows.load_passage(connection, source, number))

    async def document(self, source: str) -> list[Passage]:
        """Return the passages of a document, in order."""
        return await self._file.read(lambda connection: rows.load_document_passages(connection, source))

    async def passages_with(self, where: TagQuery, *, limit: int = 100, after: int = 0) -> list[Passage]:
        """Return passages by their tags, in the order of their documents: all of a lesson, say. `after` is the offset."""
        if limit < 1 or after < 0:
            raise SettingsError(f"There are no {limit} passages after {after}; ask for at least one, after none or more.")
        allowed = build_tag_filter(where)
        return await self._file.read(lambda connection: rows.load_tagged_passages(connection, allowed, limit, after))

    async def around(self, passage: Passage) -> tuple[Passage | None, Passage | None]:
        """Return the passages before and after a passage in its document, of those with the same tags."""
        return await self._file.read(
            lambda connection: (rows.load_neighbour(connection, passage, "DESC"), rows.load_neighbour(connection, passage, "ASC"))
        )

    async def values(self, tag: str) -> dict[str, int]:
        """Return the values of a tag, with how many passages have each."""
        query = "SELECT value, count(*) FROM tags WHERE key = ? GROUP BY value ORDER BY value"
        return await self._file.read(lambda connection: dict(connection.execute(query, (clean_text(tag),))))

    async def state(self) -> PassagesState:
        """Return the state of the store."""
        return await self._file.read(_load_state)

    async def renew(self, progress: Callable[[int, int], None] | None = None) -> int:
        """Compute missing vectors; all of them, where those in the file are another embedder's. Returns how many were computed.

        `progress` is called with how many are done and how many there are to do. What a killed process has done stays done.
        """
        if self.embedder is None:
            return 0
        if await self._file.read(self._is_stale):
            await self._file.write(self._reset_vectors)
        missing, done, after = (await self.state()).without_vector, 0, 0
        while some := await self._file.read(lambda connection, after=after: _list_without_vector(connection, after)):
            vectors = await self._embed([text for _, text in some])
            made = dict(zip((passage for passage, _ in some), vectors, strict=True))
            again = await self._file.write(lambda connection, made=made: self._add_vectors(connection, made))
            done, after = done + len(some), 0 if again else some[-1][0]
            if progress is not None:
                progress(done, max(missing, done))
        return done

    @property
    def _name(self) -> str:
        return self.embedder.name if self.embedder is not None else ""

    def _is_stale(self, connection: "Connection") -> bool:
        return rows.load_embedder_info(connection)[0] not in ("", self._name)

    def _reset_vectors(self, connection: "Connection") -> None:
        log.warning("%s: vectors are made anew, because the embedder is another one now", self.path.name)
        rows.set_embedder_info(connection, self._name, 0)

    def _add_vectors(self, connection: "Connection", vectors: dict[int, rows.PackedVector]) -> bool:
        """Store vectors. Where those in the file have another dimension they are dropped, and True is returned."""
        dimension = len(next(iter(vectors.values())).numbers)
        if self._is_stale(connection):
            raise SettingsError(f"{self.path} is being filled by another embedder; let all who use it have the same one.")
        other = not self._accepts_vectors(connection, dimension)
        if other:
            self._reset_vectors(connection)
            self._accepts_vectors(connection, dimension)
        rows.add_vectors(connection, vectors)
        return other


def _load_state(connection: "Connection") -> PassagesState:
    name, dimension = rows.load_embedder_info(connection)
    passages = rows.count_rows(connection, "passages")
    by = ("numpy" if has_numpy() else "python") if name else ""
    return PassagesState(
        rows.count_rows(connection, "documents"), passages, passages - rows.count_rows(connection, "signs"), name, dimension, by
    )


def _list_without_vector(connection: "Connection", after: int) -> list[tuple[int, str]]:
    query = (
        "SELECT id, heading, text FROM passages WHERE id > ? AND NOT EXISTS (SELECT 1 FROM signs WHERE passage = passages.id) "
        "ORDER BY id LIMIT ?"
    )
    return [
        (passage, rows.format_for_embedding(heading, text))
        for passage, heading, text in connection.execute(query, (after, EMBED_BATCH))
    ]
