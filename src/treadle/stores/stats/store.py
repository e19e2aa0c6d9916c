"""The figures of one database: kept up and asked in a thread, over a connection of their own, so that no run waits for them."""

import asyncio

from treadle.stores.database import Database
from treadle.stores.stats.asking import nothing, report
from treadle.stores.stats.keeping import Told, count_anew, keep_up
from treadle.stores.stats.values import Question, Report


class DatabaseStats:
    """Figures about what is in a journal's database. Where there is none, looking makes none."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._turn = asyncio.Lock()  # two who ask at once would only do the same work twice

    async def ask(self, question: Question, *, anew: bool = False, told: Told | None = None) -> Report:
        """The answer, with all that is in the journal by now; `anew` counts everything again. `told` hears how far it is."""
        if not self._database.exists():
            return nothing(question)
        async with self._turn:
            return await asyncio.to_thread(self._asked, question, anew, told)

    def _asked(self, question: Question, anew: bool, told: Told | None) -> Report:
        words = self._database.words
        with self._database.apart() as connection:
            if anew:
                count_anew(connection, words)
            return report(connection, question, keep_up(connection, told, words=words, cipher=self._database.cipher), words)
