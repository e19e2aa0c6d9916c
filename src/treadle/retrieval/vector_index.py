"""The vectors of a store in memory, if numpy is installed: loaded at the first search, and after that only what has changed.

They are cached as stored, one byte per number, and all are compared. Of a store whose vectors would take more than
`MAX_BYTES` only the signs are cached, an eighth of that: they are compared first, and then the best of them in the file.
"""

import threading
from collections.abc import Sequence
from functools import cache
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from msgspec import Struct

from treadle.retrieval.connections import read_stamp
from treadle.retrieval.query import TagFilter
from treadle.retrieval.stored_vectors import FileVectors, load_vectors, pack_signs

if TYPE_CHECKING:
    from sqlite3 import Connection

    from numpy import dtype, float32, int64
    from numpy.typing import NDArray

    Places = NDArray[int64] | slice

MAX_BYTES = 64_000_000  # bytes of numbers: 250,000 passages of the built-in embedder's
CANDIDATES = 3_000  # passages that are compared exactly where signs are held; of the ten nearest of 45,000 one in a hundred is lost
MAX_STAMPS = 100  # that are remembered; each is of one connection


@cache
def has_numpy() -> bool:
    """Return whether numpy is installed."""
    return find_spec("numpy") is not None


class CachedVectors(Struct, frozen=True, eq=False):
    """The cached vectors of one state of the file: a row for each passage that has a vector, ordered by id."""

    about: tuple[tuple[str, str], ...]  # whose vectors these are
    exact: bool  # the rows are numbers; else signs, as bits
    ids: "NDArray[int64]"
    rows: "NDArray[Any]"
    lengths: "NDArray[float32]"  # of the numbers


class VectorIndex:
    """The vector cache of one store, shared by concurrent searches."""

    def __init__(self, most: int = MAX_BYTES) -> None:
        self._most = most
        self._held: CachedVectors | None = None
        self._same: set[tuple[str, int]] = set()  # the stamps of connections that see the file as it is held
        self._reading = threading.Lock()

    def seen_by(self, connection: "Connection") -> "MemoryVectors | FileVectors":
        """Return the vectors in the state of the file that a connection sees in its transaction."""
        if not has_numpy():
            return FileVectors(connection)
        seen = read_stamp(connection)
        with self._reading:
            if self._held is None or seen not in self._same:
                held = refresh_vectors(connection, self._held, self._most)
                if held is not self._held or len(self._same) >= MAX_STAMPS:
                    self._same.clear()
                self._same.add(seen)
                self._held = held
            return MemoryVectors(connection, self._held)


class MemoryVectors(Struct, frozen=True, eq=False):
    """Cached vectors, compared by numpy: each step is one call that releases the GIL."""

    connection: "Connection"
    held: CachedVectors

    def nearest(self, vector: bytes, most: int, allowed: TagFilter) -> list[tuple[int, float]]:
        """Return the `most` nearest passages with their cosines, nearest first."""
        among: Places = _find_positions(self.held.ids, _load_ids(self.connection, allowed)) if allowed.keys else slice(None)
        if self.held.exact:
            return _select_best(
                self.held.ids[among], _compute_cosines(self.held.rows[among], self.held.lengths[among], vector), most
            )
        some = _preselect(self.held.ids[among], self.held.rows[among], vector, max(CANDIDATES, 4 * most))
        found = self.cosines(vector, some)
        return sorted(found.items(), key=lambda one: (-one[1], one[0]))[:most]

    def cosines(self, vector: bytes, passages: Sequence[int]) -> dict[int, float]:
        """Return the cosines of these passages; those without a vector are left out."""
        import numpy as np

        if not self.held.exact:
            return _cosines_in_file(self.connection, vector, passages)
        at = _find_positions(self.held.ids, np.asarray(passages, dtype=np.int64))
        found = _compute_cosines(self.held.rows[at], self.held.lengths[at], vector)
        return dict(zip(self.held.ids[at].tolist(), found.tolist(), strict=True))


def refresh_vectors(connection: "Connection", held: CachedVectors | None, most: int = MAX_BYTES) -> CachedVectors:
    """Bring the cache up to date: load new vectors, drop deleted ones. Returns the same object where nothing has changed."""
    import numpy as np

    about, ids = tuple(connection.execute("SELECT key, value FROM about ORDER BY key")), _load_ids(connection, TagFilter())
    dimension = int(dict(about).get("dimension", "0"))
    exact = len(ids) * dimension <= most
    if held is None or (held.about, held.exact) != (about, exact):
        width, kind = (dimension, np.int8) if exact else ((dimension + 7) // 8, np.uint8)
        held = CachedVectors(about, exact, ids[:0], np.empty((0, width), kind), np.empty(0, np.float32))
    stays, new = np.isin(held.ids, ids, assume_unique=True), np.setdiff1d(ids, held.ids, assume_unique=True)
    if stays.all() and not len(new):
        return held
    rows, lengths = np.zeros((len(ids), held.rows.shape[1]), held.rows.dtype), np.zeros(len(ids), np.float32)
    kept = _find_positions(ids, held.ids[stays])
    rows[kept], lengths[kept] = held.rows[stays], held.lengths[stays]
    for some in load_vectors(connection, new.tolist(), "vector" if exact else "bits"):
        at, read = _find_positions(ids, np.array([passage for passage, _ in some])), _to_matrix(some, rows.shape[1], rows.dtype)
        rows[at], lengths[at] = read, _compute_norms(read)
    return CachedVectors(about, exact, ids, rows, lengths)


def _load_ids(connection: "Connection", allowed: TagFilter) -> "NDArray[int64]":
    """Return the allowed passages that have a vector, in order. Selected as one text: row by row takes three times as long."""
    import numpy as np

    query = f"SELECT group_concat(passage) FROM signs WHERE 1{allowed.condition('passage')}"  # noqa: S608 - our own names
    (written,) = connection.execute(query, allowed.filling).fetchone()
    return np.sort(np.fromstring(written or "", dtype=np.int64, sep=","))


def _find_positions(ids: "NDArray[int64]", wanted: "NDArray[int64]") -> "NDArray[int64]":
    """Return the positions of the wanted ids among sorted ids; missing ones are left out."""
    at = ids.searchsorted(wanted)
    return at[ids.searchsorted(wanted, side="right") > at]


def _to_matrix(some: list[tuple[int, bytes]], width: int, kind: "dtype[Any]") -> "NDArray[Any]":
    """Stack stored vectors or signs into a matrix."""
    import numpy as np

    return np.frombuffer(b"".join(row for _, row in some), kind).reshape(len(some), width)


def _compute_norms(rows: "NDArray[Any]") -> "NDArray[float32]":
    """Return the norms of vectors."""
    import numpy as np

    return np.sqrt(np.einsum("ij,ij->i", rows, rows, dtype=np.float32))


def _compute_cosines(rows: "NDArray[Any]", lengths: "NDArray[float32]", vector: bytes) -> "NDArray[float32]":
    """Return the cosines to a vector; zero where either has no direction."""
    import numpy as np

    wanted = np.frombuffer(vector, np.float32)
    length = lengths * np.linalg.norm(wanted)
    return np.einsum("ij,j->i", rows, wanted, dtype=np.float32) / np.where(length > 0, length, 1)


def _select_best(ids: "NDArray[int64]", cosines: "NDArray[float32]", most: int) -> list[tuple[int, float]]:
    """Return the best, of equals those that were added first."""
    import numpy as np

    some = np.arange(len(ids)) if len(ids) <= most else np.flatnonzero(cosines >= np.partition(cosines, -most)[-most])
    best = some[np.lexsort((ids[some], -cosines[some]))[:most]]
    return list(zip(ids[best].tolist(), cosines[best].tolist(), strict=True))


def _preselect(ids: "NDArray[int64]", rows: "NDArray[Any]", vector: bytes, most: int) -> list[int]:
    """Return the passages with the most signs in common with a vector, including ties with the last of them."""
    import numpy as np

    far = np.einsum("ij->i", np.bitwise_count(rows ^ np.frombuffer(pack_signs(vector), np.uint8)), dtype=np.uint16)
    some = ids if len(ids) <= most else ids[far <= np.partition(far, most)[most]]
    return some.tolist()


def _cosines_in_file(connection: "Connection", vector: bytes, passages: Sequence[int]) -> dict[int, float]:
    """Return the cosines of vectors that aren't cached."""
    import numpy as np

    found: dict[int, float] = {}
    for some in load_vectors(connection, passages):
        rows = _to_matrix(some, len(vector) // 4, np.dtype(np.int8))
        found.update(
            zip((passage for passage, _ in some), _compute_cosines(rows, _compute_norms(rows), vector).tolist(), strict=True)
        )
    return found
