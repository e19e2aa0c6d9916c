"""The storage of a user's runs: a folder, TREADLE_HOME or the system's data folder, with one database file for all stores.

Where a PostgreSQL database is configured (TREADLE_DATABASE, or `database.url` in the user's treadle.toml), the
stores are in it, in a schema for each home; everything else stays in the folder.
"""

from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Struct

from treadle.core.errors import SettingsError
from treadle.engine.setup import Services
from treadle.files.workspace_folders import USERS, data_folder
from treadle.stores.anchors import open_anchors
from treadle.stores.audit import DatabaseAudit
from treadle.stores.blobs import FOLDER as BLOBS
from treadle.stores.blobs import FileBlobs
from treadle.stores.cache import DatabaseCache
from treadle.stores.cancellation import CancelRequests
from treadle.stores.database import Database
from treadle.stores.encryption import Cipher
from treadle.stores.journal import DatabaseJournal
from treadle.stores.leases import Leases
from treadle.stores.permissions import PERMISSIONS_FILE, PermissionFile
from treadle.stores.results import DatabaseResults
from treadle.stores.sqlite import SqliteDatabase
from treadle.stores.waits import DatabaseWaits

if TYPE_CHECKING:
    from treadle.stores.users import Users

DATABASE_FILE = "treadle.db"
_homes: dict[tuple[Path, str], "Home"] = {}  # one writer per database in this process, so that runs share commits


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
    permissions: PermissionFile
    waits: DatabaseWaits
    cancel_requests: CancelRequests

    def services(self, *, audit: bool = True) -> Services:
        """Return the stores as the engine takes them. Blobs are files in the folder, also with PostgreSQL."""
        return Services(
            self.journal,
            self.audit if audit else None,
            self.cache,
            self.results,
            blobs=self.blobs,
            grants=self.permissions,
            waits=self.waits,
        )


def home_folder() -> Path:
    """Return the data folder. Raises where something else has its place."""
    folder = data_folder()
    there = next((path for path in (folder, *folder.absolute().parents) if path.exists()), folder)
    if there.exists() and not there.is_dir():
        raise SettingsError(f"The data folder can't be {folder}: {there} is a file. Set TREADLE_HOME to a folder.")
    return folder


def open_home(folder: Path | str | None = None, *, database: str = "") -> Home:
    """Open the stores of a folder, in its file or in a PostgreSQL `database`; without a folder, the configured ones.

    Nothing is created before the first write.
    """
    if folder is None:
        from treadle.settings.loader import database_url

        return _open_cached_home(home_folder(), database or database_url())
    return _open_cached_home(Path(folder).expanduser(), database)


def open_user_home(home: Home, name: str) -> Home:
    """Open the home of a server's user: a subfolder of the server's, or a schema beside its own. Secrets use the server's key."""
    return _open_cached_home(home.folder / USERS / name, _database_url(home.database), name, home.database.cipher)


def open_users(home: Home) -> "Users":
    """Return the users of a server with this home; empty where it has none."""
    from treadle.stores.postgres.database import PostgresDatabase
    from treadle.stores.users import USERS_FILE, Users

    if isinstance(home.database, PostgresDatabase):
        from treadle.stores.postgres.users import PostgresUserStore

        return Users(PostgresUserStore(home.database))
    return Users(home.folder / USERS_FILE)


def _database_url(database: Database) -> str:
    from treadle.stores.postgres.database import PostgresDatabase

    return database.url if isinstance(database, PostgresDatabase) else ""


def cipher_of(folder: Path) -> Cipher:
    """Return the cipher of a home's folder."""
    path = folder.absolute()
    return next((home.database.cipher for home in _homes.values() if home.folder == path), None) or Cipher(path)


def _open_cached_home(folder: Path, url: str, person: str = "", cipher: Cipher | None = None) -> Home:
    path = folder.absolute()
    key = path, url
    if key not in _homes:
        cipher = cipher or Cipher(path)
        database = _postgres_database(url, person, cipher) if url else SqliteDatabase(path / DATABASE_FILE, cipher=cipher)
        _homes[key] = Home(
            path,
            database,
            DatabaseJournal(database),
            DatabaseAudit(database, open_anchors(path)),
            DatabaseCache(database),
            DatabaseResults(database),
            Leases(database),
            FileBlobs(path / BLOBS),
            PermissionFile(path / PERMISSIONS_FILE),
            DatabaseWaits(database),
            CancelRequests(database),
        )
    return _homes[key]


def _postgres_database(url: str, person: str, cipher: Cipher) -> Database:
    from treadle.settings.loader import user_settings
    from treadle.stores.postgres.address import schema_name
    from treadle.stores.postgres.database import PostgresDatabase

    return PostgresDatabase(url, schema_name(person), wait=user_settings().database.wait, cipher=cipher)


def close_home(home: Home) -> None:
    """Close one home's files and connections."""
    for key in [key for key, kept in _homes.items() if kept is home]:
        del _homes[key]
    home.database.close()


def close_homes() -> None:
    """Close all files and connections."""
    while _homes:
        _homes.popitem()[1].database.close()
