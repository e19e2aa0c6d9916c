"""The statistics of one database: updated and queried in a thread over their own connection, so that no run waits for them."""

import asyncio

from treadle.stores.database import Connection, Database
from treadle.stores.stats.aggregation import ProgressCallback, reset_stats, shadow_stats, update_stats
from treadle.stores.stats.reporting import build_report, empty_report
from treadle.stores.stats.values import StatsQuery, StatsReport


class DatabaseStats:
    """Statistics of a journal's database. Where there is none, querying doesn't create it."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._turn = asyncio.Lock()  # two who ask at once would only do the same work twice

    async def ask(self, question: StatsQuery, *, anew: bool = False, told: ProgressCallback | None = None) -> StatsReport:
        """Return the report of the whole journal; `anew` rebuilds the statistics. `progress` is called as runs are folded."""
        if not self._database.exists():
            return empty_report(question)
        async with self._turn:
            return await asyncio.to_thread(self._query, question, anew, told)

    def _query(self, question: StatsQuery, anew: bool, told: ProgressCallback | None) -> StatsReport:
        from sqlite3 import OperationalError

        with self._database.apart() as connection:
            try:
                unread = self._update(connection, anew, told)
            except OperationalError:  # the disk is full or read-only; PostgreSQL raises other errors
                shadow_stats(connection)
                unread = self._update(connection, anew, told)
            return build_report(connection, question, unread, self._database.words)

    def _update(self, connection: Connection, anew: bool, told: ProgressCallback | None) -> int:
        words = self._database.words
        if anew:
            reset_stats(connection, words)
        return update_stats(connection, told, words=words, cipher=self._database.cipher)
