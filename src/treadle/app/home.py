"""Where a person's runs are kept: a folder, TREADLE_HOME or the system's own place for data, with one file that holds all stores.

Where a PostgreSQL database is settled (TREADLE_DATABASE, or `database.url` in the person's treadle.toml), the stores are in that,
in a schema for each home; what else a home has stays in its folder.
"""

import os
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Struct

from treadle.engine.setup import Services
from treadle.stores.anchors import anchors_of
from treadle.stores.audit import DatabaseAudit
from treadle.stores.blobs import FOLDER as BLOBS
from treadle.stores.blobs import FileBlobs
from treadle.stores.cache import DatabaseCache
from treadle.stores.database import Database
from treadle.stores.encryption import Cipher
from treadle.stores.journal import DatabaseJournal
from treadle.stores.leases import Leases
from treadle.stores.results import DatabaseResults
from treadle.stores.sqlite import SqliteDatabase

if TYPE_CHECKING:
    from treadle.stores.users import Users

FILE = "treadle.db"
USERS = "users"  # the folder in a home that the homes of a server's users are in
WORKSPACE = "workspace"  # what a user's assistants may read and change, in their home

_homes: dict[tuple[Path, str], "Home"] = {}  # one writer a database in this process, whoever opens it: so runs share commits


class Home(Struct, frozen=True):
    """The stores of one folder, in a file of it or in a schema of a PostgreSQL database."""

    folder: Path
    database: Database
    journal: DatabaseJournal
    audit: DatabaseAudit
    cache: DatabaseCache
    results: DatabaseResults
    leases: Leases
    blobs: FileBlobs

    def services(self, *, audit: bool = True) -> Services:
        """The stores, as the engine takes them. Images and the like are files of the folder, also where PostgreSQL has the rest."""
        return Services(self.journal, self.audit if audit else None, self.cache, self.results, blobs=self.blobs)


def home_folder() -> Path:
    """Where runs are kept."""
    chosen = os.environ.get("TREADLE_HOME")
    if chosen:
        return Path(chosen).expanduser()
    from platformdirs import user_data_path

    return user_data_path("treadle", appauthor=False)


def open_home(folder: Path | str | None = None, *, database: str = "") -> Home:
    """The stores of a folder, in its file or in a PostgreSQL `database`; without a folder, those that are settled.

    Nothing is made before something is written.
    """
    if folder is None:
        from treadle.app.settings import database_url

        return _home(home_folder(), database or database_url())
    return _home(Path(folder).expanduser(), database)


def home_of_person(home: Home, name: str) -> Home:
    """The home of a server's user: a folder below the server's, or a schema beside its own. Secrets in it have the server's key."""
    return _home(home.folder / USERS / name, _url_of(home.database), name, home.database.cipher)


def users_in(home: Home) -> "Users":
    """Who may use a server with this home; nobody is in it where it has no users."""
    from treadle.stores.postgres.database import PostgresDatabase
    from treadle.stores.users import FILE, Users

    if isinstance(home.database, PostgresDatabase):
        from treadle.stores.postgres.users import UsersSchema

        return Users(UsersSchema(home.database))
    return Users(home.folder / FILE)


def _url_of(database: Database) -> str:
    from treadle.stores.postgres.database import PostgresDatabase

    return database.url if isinstance(database, PostgresDatabase) else ""


def cipher_of(folder: Path) -> Cipher:
    """What encrypts the secrets in a home's folder."""
    path = folder.absolute()
    return next((home.database.cipher for home in _homes.values() if home.folder == path), None) or Cipher(path)


def _home(folder: Path, url: str, person: str = "", cipher: Cipher | None = None) -> Home:
    path = folder.absolute()
    key = path, url
    if key not in _homes:
        cipher = cipher or Cipher(path)
        database = _postgres(url, person, cipher) if url else SqliteDatabase(path / FILE, cipher=cipher)
        _homes[key] = Home(
            path,
            database,
            DatabaseJournal(database),
            DatabaseAudit(database, anchors_of(path)),
            DatabaseCache(database),
            DatabaseResults(database),
            Leases(database),
            FileBlobs(path / BLOBS),
        )
    return _homes[key]


def _postgres(url: str, person: str, cipher: Cipher) -> Database:
    from treadle.app.settings import user_settings
    from treadle.stores.postgres.address import schema_of
    from treadle.stores.postgres.database import PostgresDatabase

    return PostgresDatabase(url, schema_of(person), wait=user_settings().database.wait, cipher=cipher)


def close_home(home: Home) -> None:
    """Let go of one home's files and connections."""
    for key in [key for key, kept in _homes.items() if kept is home]:
        del _homes[key]
    home.database.close()


def close_homes() -> None:
    """Let go of all files and connections."""
    while _homes:
        _homes.popitem()[1].database.close()
