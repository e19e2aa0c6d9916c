"""Opens the store of projects. Light until it is called: SQLAlchemy, Alembic and the drivers are imported then, and not before."""

import asyncio
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from treadle import SettingsError
from treadle.assistants.guidance.store.addresses import File, Server, where

if TYPE_CHECKING:
    from treadle.assistants.guidance.store.store import Store

_COMMON = ("sqlalchemy", "greenlet", "alembic")


async def open_store(address: Path | str) -> "Store":
    """The store at this address, brought up to date: a SQLite file, made if it isn't there, or `postgresql://USER@HOST/DATABASE`.

    Needs `pip install 'treadle[guidance]'`.
    """
    kept = where(address)
    _need(*_COMMON, "aiosqlite" if isinstance(kept, File) else "psycopg")
    return await _opened(kept)


def store_type() -> "type[Store]":
    """The class of stores, for whoever wants to name it."""
    _need(*_COMMON)
    from treadle.assistants.guidance.store.store import Store

    return Store


async def _opened(kept: File | Server) -> "Store":
    from treadle.assistants.guidance.store.database import Database, make_file
    from treadle.assistants.guidance.store.migrate import migrate
    from treadle.assistants.guidance.store.store import Store

    if isinstance(kept, File):
        await asyncio.to_thread(make_file, kept.path)
    database = Database(kept)
    try:
        await migrate(database)
    except BaseException:
        await database.close()
        raise
    return Store(database)


def _need(*packages: str) -> None:
    missing = [package for package in packages if find_spec(package) is None]
    if missing:
        raise SettingsError(f"Projects are kept with {' and '.join(missing)}, not installed here: pip install 'treadle[guidance]'")
