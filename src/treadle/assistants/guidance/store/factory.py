"""Open the project store. Light until it is called: SQLAlchemy, Alembic and the drivers are imported then, and not before."""

import asyncio
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from treadle.assistants.guidance.store.addresses import PostgresServer, SqliteFile, parse_store_address
from treadle.errors import SettingsError

if TYPE_CHECKING:
    from treadle.assistants.guidance.store.store import Store

_REQUIRED = ("sqlalchemy", "greenlet", "alembic")


async def open_store(address: Path | str) -> "Store":
    """Open the store at this address, and migrate it to the current schema.

    The address is a SQLite file, created if it doesn't exist, or `postgresql://USER@HOST/DATABASE`.
    Needs `pip install 'treadle[guidance]'`.
    """
    kept = parse_store_address(address)
    _require_packages(*_REQUIRED, "aiosqlite" if isinstance(kept, SqliteFile) else "psycopg")
    return await _open_database(kept)


def load_store_class() -> "type[Store]":
    """Return the `Store` class, for code that wants to name it."""
    _require_packages(*_REQUIRED)
    from treadle.assistants.guidance.store.store import Store

    return Store


async def _open_database(kept: SqliteFile | PostgresServer) -> "Store":
    from treadle.assistants.guidance.store.database import ProjectDatabase, create_database_file
    from treadle.assistants.guidance.store.migrate import migrate_database
    from treadle.assistants.guidance.store.store import Store

    if isinstance(kept, SqliteFile):
        await asyncio.to_thread(create_database_file, kept.path)
    database = ProjectDatabase(kept)
    try:
        await migrate_database(database)
    except BaseException:
        await database.close()
        raise
    return Store(database)


def _require_packages(*packages: str) -> None:
    missing = [package for package in packages if find_spec(package) is None]
    if missing:
        raise SettingsError(f"Projects are kept with {' and '.join(missing)}, not installed here: pip install 'treadle[guidance]'")
