"""Caches of tool results. Keys and groups are made by the engine; here they are opaque strings."""

from msgspec import Struct

from treadle.stores.database import Database, decode_stored_text


class _CacheEntry(Struct, frozen=True):
    group: str
    content: str
    until: float


class MemoryCache:
    """A cache in this process only; expired entries are dropped when room is needed."""

    def __init__(self, most: int = 1000) -> None:
        self._kept: dict[str, _CacheEntry] = {}
        self._most = most

    async def get(self, key: str, now: float) -> str | None:
        """Return the content under `key`, unless it has expired."""
        kept = self._kept.get(key)
        return kept.content if kept is not None and now < kept.until else None

    async def put(self, key: str, group: str, content: str, until: float) -> None:
        """Store `content`."""
        self._kept.pop(key, None)
        while len(self._kept) >= self._most:
            del self._kept[next(iter(self._kept))]
        self._kept[key] = _CacheEntry(group, content, until)

    async def forget(self, group: str) -> None:
        """Drop all entries of a group."""
        self._kept = {key: kept for key, kept in self._kept.items() if kept.group != group}


class DatabaseCache:
    """A cache in a database, shared between processes."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def get(self, key: str, now: float) -> str | None:
        """Return the content under `key`, unless it has expired."""
        query = "SELECT content FROM cache WHERE key = ? AND until > ?"
        row = await self._database.submit(lambda connection: connection.execute(query, (key, now)).fetchone())
        return decode_stored_text(row[0]) if row else None

    async def put(self, key: str, group: str, content: str, until: float) -> None:
        """Store `content`."""
        row = (key, group, self._database.words.text_codec(content), until)
        await self._database.submit(lambda connection: connection.execute(_PUT, row))

    async def forget(self, group: str) -> None:
        """Drop all entries of a group."""
        await self._database.submit(lambda connection: connection.execute("DELETE FROM cache WHERE grp = ?", (group,)))


_PUT = (
    "INSERT INTO cache VALUES (?, ?, ?, ?)"
    " ON CONFLICT (key) DO UPDATE SET grp = excluded.grp, content = excluded.content, until = excluded.until"
)
