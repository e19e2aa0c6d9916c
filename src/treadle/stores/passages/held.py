"""The vectors of a store in memory, where numpy is there: read at the first search, and after that only what has changed.

They are held as the file has them, a byte for each number, and all are compared. Of a store whose vectors would take more than
`MOST` bytes the signs are held, an eighth of that: they are compared first, and then the best of them in the file.
"""

import threading
from collections.abc import Sequence
from functools import cache
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from msgspec import Struct

from treadle.stores.passages.connections import stamp
from treadle.stores.passages.filters import Filter
from treadle.stores.passages.nearest import InFile, signs, vectors_of

if TYPE_CHECKING:
    from sqlite3 import Connection

    from numpy import dtype, float32, int64
    from numpy.typing import NDArray

    Places = NDArray[int64] | slice

MOST = 64_000_000  # bytes of numbers: 250,000 passages of the built-in embedder's
LOOKED_AT = 3_000  # passages that are compared exactly where signs are held; of the ten nearest of 45,000 one in a hundred is lost
STAMPS = 100  # that are remembered; each is of one connection


@cache
def has_numpy() -> bool:
    """Whether numpy is installed."""
    return find_spec("numpy") is not None


class Held(Struct, frozen=True, eq=False):
    """What is held of one state of the file: a row for each passage that has a vector, in the order of their ids."""

    about: tuple[tuple[str, str], ...]  # whose vectors these are
    exact: bool  # the rows are numbers; else signs, as bits
    ids: "NDArray[int64]"
    rows: "NDArray[Any]"
    lengths: "NDArray[float32]"  # of the numbers


class Vectors:
    """What is held of the vectors of one store, for all who search in it at once."""

    def __init__(self, most: int = MOST) -> None:
        self._most = most
        self._held: Held | None = None
        self._same: set[tuple[str, int]] = set()  # the stamps of connections that see the file as it is held
        self._reading = threading.Lock()

    def seen_by(self, connection: "Connection") -> "InMemory | InFile":
        """The vectors in the state of the file that a connection sees in its transaction."""
        if not has_numpy():
            return InFile(connection)
        seen = stamp(connection)
        with self._reading:
            if self._held is None or seen not in self._same:
                held = brought_up(connection, self._held, self._most)
                if held is not self._held or len(self._same) >= STAMPS:
                    self._same.clear()
                self._same.add(seen)
                self._held = held
            return InMemory(connection, self._held)


class InMemory(Struct, frozen=True, eq=False):
    """The vectors that are held, compared by numpy: each step is one call, for which nothing else has to wait."""

    connection: "Connection"
    held: Held

    def nearest(self, vector: bytes, most: int, allowed: Filter) -> list[tuple[int, float]]:
        """The `most` nearest passages with their cosines, the nearest first."""
        among: Places = _places(self.held.ids, _ids(self.connection, allowed)) if allowed.keys else slice(None)
        if self.held.exact:
            return _first(self.held.ids[among], _cosines(self.held.rows[among], self.held.lengths[among], vector), most)
        some = _roughly(self.held.ids[among], self.held.rows[among], vector, max(LOOKED_AT, 4 * most))
        found = self.cosines(vector, some)
        return sorted(found.items(), key=lambda one: (-one[1], one[0]))[:most]

    def cosines(self, vector: bytes, passages: Sequence[int]) -> dict[int, float]:
        """How nearly these passages' vectors point where this one does; those without a vector are left out."""
        import numpy as np

        if not self.held.exact:
            return _cosines_in_file(self.connection, vector, passages)
        at = _places(self.held.ids, np.asarray(passages, dtype=np.int64))
        found = _cosines(self.held.rows[at], self.held.lengths[at], vector)
        return dict(zip(self.held.ids[at].tolist(), found.tolist(), strict=True))


def brought_up(connection: "Connection", held: Held | None, most: int = MOST) -> Held:
    """What is held, as the file is now: what is new is read, what is gone let go of. The very same where nothing has changed."""
    import numpy as np

    about, ids = tuple(connection.execute("SELECT key, value FROM about ORDER BY key")), _ids(connection, Filter())
    dimension = int(dict(about).get("dimension", "0"))
    exact = len(ids) * dimension <= most
    if held is None or (held.about, held.exact) != (about, exact):
        width, kind = (dimension, np.int8) if exact else ((dimension + 7) // 8, np.uint8)
        held = Held(about, exact, ids[:0], np.empty((0, width), kind), np.empty(0, np.float32))
    stays, new = np.isin(held.ids, ids, assume_unique=True), np.setdiff1d(ids, held.ids, assume_unique=True)
    if stays.all() and not len(new):
        return held
    rows, lengths = np.zeros((len(ids), held.rows.shape[1]), held.rows.dtype), np.zeros(len(ids), np.float32)
    kept = _places(ids, held.ids[stays])
    rows[kept], lengths[kept] = held.rows[stays], held.lengths[stays]
    for some in vectors_of(connection, new.tolist(), "vector" if exact else "bits"):
        at, read = _places(ids, np.array([passage for passage, _ in some])), _rows(some, rows.shape[1], rows.dtype)
        rows[at], lengths[at] = read, _lengths(read)
    return Held(about, exact, ids, rows, lengths)


def _ids(connection: "Connection", allowed: Filter) -> "NDArray[int64]":
    """The passages that have a vector and are allowed, in order. As one text: row by row takes three times as long."""
    import numpy as np

    query = f"SELECT group_concat(passage) FROM signs WHERE 1{allowed.condition('passage')}"  # noqa: S608 - our own names
    (written,) = connection.execute(query, allowed.filling).fetchone()
    return np.sort(np.fromstring(written or "", dtype=np.int64, sep=","))


def _places(ids: "NDArray[int64]", wanted: "NDArray[int64]") -> "NDArray[int64]":
    """Where among ids, which are in order, the wanted ones stand; without those that don't."""
    at = ids.searchsorted(wanted)
    return at[ids.searchsorted(wanted, side="right") > at]


def _rows(some: list[tuple[int, bytes]], width: int, kind: "dtype[Any]") -> "NDArray[Any]":
    """Vectors or signs as the file has them, one below the other."""
    import numpy as np

    return np.frombuffer(b"".join(row for _, row in some), kind).reshape(len(some), width)


def _lengths(rows: "NDArray[Any]") -> "NDArray[float32]":
    """How long vectors are."""
    import numpy as np

    return np.sqrt(np.einsum("ij,ij->i", rows, rows, dtype=np.float32))


def _cosines(rows: "NDArray[Any]", lengths: "NDArray[float32]", vector: bytes) -> "NDArray[float32]":
    """How nearly vectors point where this one does; zero where either has no direction."""
    import numpy as np

    wanted = np.frombuffer(vector, np.float32)
    length = lengths * np.linalg.norm(wanted)
    return np.einsum("ij,j->i", rows, wanted, dtype=np.float32) / np.where(length > 0, length, 1)


def _first(ids: "NDArray[int64]", cosines: "NDArray[float32]", most: int) -> list[tuple[int, float]]:
    """The best, of equals those that were put in first."""
    import numpy as np

    some = np.arange(len(ids)) if len(ids) <= most else np.flatnonzero(cosines >= np.partition(cosines, -most)[-most])
    best = some[np.lexsort((ids[some], -cosines[some]))[:most]]
    return list(zip(ids[best].tolist(), cosines[best].tolist(), strict=True))


def _roughly(ids: "NDArray[int64]", rows: "NDArray[Any]", vector: bytes, most: int) -> list[int]:
    """The passages that have the most signs in common with a vector, and those that have as many as the last of them."""
    import numpy as np

    far = np.einsum("ij->i", np.bitwise_count(rows ^ np.frombuffer(signs(vector), np.uint8)), dtype=np.uint16)
    some = ids if len(ids) <= most else ids[far <= np.partition(far, most)[most]]
    return some.tolist()


def _cosines_in_file(connection: "Connection", vector: bytes, passages: Sequence[int]) -> dict[int, float]:
    """The cosines of vectors that aren't held."""
    import numpy as np

    found: dict[int, float] = {}
    for some in vectors_of(connection, passages):
        rows = _rows(some, len(vector) // 4, np.dtype(np.int8))
        found.update(zip((passage for passage, _ in some), _cosines(rows, _lengths(rows), vector).tolist(), strict=True))
    return found
