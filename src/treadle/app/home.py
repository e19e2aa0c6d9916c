"""The folder a person's runs are kept in: TREADLE_HOME, else the system's own place for data. One file holds all stores."""

import os
from pathlib import Path

from msgspec import Struct

from treadle.engine.setup import Services
from treadle.stores.audit import SqliteAudit
from treadle.stores.cache import SqliteCache
from treadle.stores.database import Database
from treadle.stores.journal import SqliteJournal
from treadle.stores.results import SqliteResults

_homes: dict[Path, "Home"] = {}  # one writer a file in this process, whoever opens it: that is what lets runs share commits


class Home(Struct, frozen=True):
    """The stores of one folder."""

    folder: Path
    database: Database
    journal: SqliteJournal
    audit: SqliteAudit
    cache: SqliteCache
    results: SqliteResults

    def services(self, *, audit: bool = True) -> Services:
        """The stores, as the engine takes them."""
        return Services(self.journal, self.audit if audit else None, self.cache, self.results)


def home_folder() -> Path:
    """Where runs are kept."""
    chosen = os.environ.get("TREADLE_HOME")
    if chosen:
        return Path(chosen).expanduser()
    from platformdirs import user_data_path

    return user_data_path("treadle", appauthor=False)


def open_home(folder: Path | str | None = None) -> Home:
    """The stores of a folder. Nothing is made on disk before something is written."""
    path = (home_folder() if folder is None else Path(folder).expanduser()).absolute()
    if path not in _homes:
        database = Database(path / "treadle.db")
        stores = SqliteJournal(database), SqliteAudit(database), SqliteCache(database), SqliteResults(database)
        _homes[path] = Home(path, database, *stores)
    return _homes[path]


def close_home(home: Home) -> None:
    """Let go of one folder's files."""
    _homes.pop(home.folder, None)
    home.database.close()


def close_homes() -> None:
    """Let go of all files."""
    while _homes:
        _homes.popitem()[1].database.close()
