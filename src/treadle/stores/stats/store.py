"""The figures of one SQLite file: kept up and asked in a thread, over a connection of their own, so that no run waits for them."""

import asyncio
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from treadle.stores.database import open_database, translated
from treadle.stores.stats.asking import nothing, report
from treadle.stores.stats.keeping import Told, count_anew, keep_up
from treadle.stores.stats.values import Question, Report

if TYPE_CHECKING:
    from sqlite3 import Connection

Value = TypeVar("Value")


class SqliteStats:
    """Figures about what is in a journal's file. Where there is none, looking makes none."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._turn = asyncio.Lock()  # two who ask at once would only do the same work twice

    async def ask(self, question: Question, *, anew: bool = False, told: Told | None = None) -> Report:
        """The answer, with all that is in the journal by now; `anew` counts everything again. `told` hears how far it is."""

        def asked(connection: "Connection") -> Report:
            if anew:
                count_anew(connection)
            return report(connection, question, keep_up(connection, told))

        if not self._path.exists():
            return nothing(question)
        async with self._turn:
            return await asyncio.to_thread(self._with, asked)

    def _with(self, work: "Callable[[Connection], Value]") -> Value:
        from sqlite3 import Error

        try:
            with closing(open_database(self._path)) as connection:
                return work(connection)
        except (OSError, Error) as error:
            raise translated(error, self._path) from error
