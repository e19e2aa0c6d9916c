"""The cache of tool results in a database. Keys and groups are made by the engine; here they are opaque strings."""

from treadle.stores.database import Database, decode_stored_text


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
