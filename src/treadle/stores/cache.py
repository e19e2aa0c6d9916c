"""Results that may be reused for a while. Keys and groups are made by the engine; here they are just strings."""

from msgspec import Struct

from treadle.stores.database import Database, text_of


class _Kept(Struct, frozen=True):
    group: str
    content: str
    until: float


class MemoryCache:
    """In this process only; what is out of date goes when room is needed."""

    def __init__(self, most: int = 1000) -> None:
        self._kept: dict[str, _Kept] = {}
        self._most = most

    async def get(self, key: str, now: float) -> str | None:
        """What was kept under `key`, unless its time is over."""
        kept = self._kept.get(key)
        return kept.content if kept is not None and now < kept.until else None

    async def put(self, key: str, group: str, content: str, until: float) -> None:
        """Keep `content`."""
        self._kept.pop(key, None)
        while len(self._kept) >= self._most:
            del self._kept[next(iter(self._kept))]
        self._kept[key] = _Kept(group, content, until)

    async def forget(self, group: str) -> None:
        """Drop all of a group."""
        self._kept = {key: kept for key, kept in self._kept.items() if kept.group != group}


class DatabaseCache:
    """In a database, so that processes share it."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def get(self, key: str, now: float) -> str | None:
        """What was kept under `key`, unless its time is over."""
        query = "SELECT content FROM cache WHERE key = ? AND until > ?"
        row = await self._database.submit(lambda connection: connection.execute(query, (key, now)).fetchone())
        return text_of(row[0]) if row else None

    async def put(self, key: str, group: str, content: str, until: float) -> None:
        """Keep `content`."""
        row = (key, group, self._database.words.kept(content), until)
        await self._database.submit(lambda connection: connection.execute(_PUT, row))

    async def forget(self, group: str) -> None:
        """Drop all of a group."""
        await self._database.submit(lambda connection: connection.execute("DELETE FROM cache WHERE grp = ?", (group,)))


_PUT = (
    "INSERT INTO cache VALUES (?, ?, ?, ?)"
    " ON CONFLICT (key) DO UPDATE SET grp = excluded.grp, content = excluded.content, until = excluded.until"
)
