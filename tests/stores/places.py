"""Where stores are tested: a SQLite file, or a schema of its own in a real PostgreSQL."""

import asyncio
from pathlib import Path
from uuid import uuid4

from treadle.stores.database import Database, SqlDialect
from treadle.stores.postgres.database import PostgresDatabase
from treadle.stores.sqlite import SqliteDatabase


class Place:
    """One place, which any number of databases can be opened on, as any number of processes would."""

    def __init__(self, kind: str, folder: Path, url: str = "", schema: str = "") -> None:
        self.kind = kind
        self.path = folder / "data" / "treadle.db"
        self.url = url
        self.schema = schema
        self._opened: list[Database] = []

    @property
    def one(self) -> Database:
        """The first that was opened."""
        return self._opened[0] if self._opened else self.open()

    @property
    def words(self) -> SqlDialect:
        return self.one.words

    def open(self, **how: float) -> Database:
        """A database, closed at the end of the test."""
        database = PostgresDatabase(self.url, self.schema, **how) if self.url else SqliteDatabase(self.path)
        self._opened.append(database)
        return database

    def execute(self, sql: str, *values: object) -> list[tuple[object, ...]]:
        """What a statement gives, on a connection of its own."""
        with self.one.apart() as connection:
            cursor = connection.execute(sql, values)
            return cursor.fetchall() if sql.startswith("SELECT") else []

    def close(self) -> None:
        for database in self._opened:
            database.close()


def submit(database: Database, job):
    """One job, carried out."""

    async def submitted():
        return await database.submit(job)

    return asyncio.run(submitted())


def place_of(kind, tmp_path, request):
    """A new place, for a test that closes it."""
    if kind == "sqlite":
        return Place(kind, tmp_path)
    return Place(kind, tmp_path, request.getfixturevalue("postgres"), f"treadle_{uuid4().hex}")
