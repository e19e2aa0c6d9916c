"""Full results that were too large for a conversation, by run and result id."""

from treadle.stores.database import Database, decode_stored_text


class DatabaseResults:
    """Results in a database."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def keep(self, run_id: str, result_id: str, content: str) -> None:
        """Store `content`."""
        row = (run_id, result_id, self._database.words.text_codec(content))
        await self._database.submit(lambda connection: connection.execute(_KEEP, row))

    async def fetch(self, run_id: str, result_id: str) -> str | None:
        """Return a stored result in full."""
        query = "SELECT content FROM results WHERE run_id = ? AND result_id = ?"
        row = await self._database.submit(lambda connection: connection.execute(query, (run_id, result_id)).fetchone())
        return decode_stored_text(row[0]) if row else None


_KEEP = "INSERT INTO results VALUES (?, ?, ?) ON CONFLICT (run_id, result_id) DO UPDATE SET content = excluded.content"
