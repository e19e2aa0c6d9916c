"""The statistics of one database: updated and queried in a thread over their own connection, so that no run waits for them."""

import asyncio

from treadle.stores.database import Database
from treadle.stores.stats.aggregation import ProgressCallback, reset_stats, update_stats
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
        words = self._database.words
        with self._database.apart() as connection:
            if anew:
                reset_stats(connection, words)
            return build_report(
                connection, question, update_stats(connection, told, words=words, cipher=self._database.cipher), words
            )
