"""Conversations that survive a restart: questions with their answers and sources, in a file of their own. Each is one person's."""

import asyncio
import secrets
import time
from collections.abc import Callable, Collection, Generator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

import msgspec
from msgspec import Struct

from treadle import SettingsError, purge_sqlite, write_ahead
from treadle.assistants.courses.citations import Citation
from treadle.assistants.courses.sources import Source
from treadle.routes import redacted

if TYPE_CHECKING:
    from sqlite3 import Connection

FILE = "courses-sessions.db"
VERSION = 2
PATIENCE = 10  # seconds for another process to be done with the file
MOST_LISTED = 100
SCHEMA = """
CREATE TABLE sessions (id TEXT PRIMARY KEY, user TEXT NOT NULL, began REAL NOT NULL, last REAL NOT NULL);
CREATE INDEX sessions_by_user ON sessions (user, last);
CREATE TABLE exchanges (
    id INTEGER PRIMARY KEY, session TEXT NOT NULL REFERENCES sessions (id) ON DELETE CASCADE, at REAL NOT NULL,
    question TEXT NOT NULL, answer TEXT NOT NULL, sources TEXT NOT NULL, run_id TEXT NOT NULL
);
CREATE INDEX exchanges_by_session ON exchanges (session, id);
"""
CITED = "ALTER TABLE exchanges ADD COLUMN citations TEXT NOT NULL DEFAULT '[]'"  # from the first version to the second

T = TypeVar("T")


class Exchange(Struct, frozen=True):
    """A question and its answer."""

    question: str
    answer: str
    sources: tuple[Source, ...] = ()
    run_id: str = ""
    at: float = 0.0
    citations: tuple[Citation, ...] = ()


class Session(Struct, frozen=True):
    """A conversation in a list: what was asked first, and when it was used last."""

    id: str
    question: str
    last: float


class Sessions:
    """The conversations in one folder of a person's."""

    def __init__(self, folder: Path) -> None:
        self._path = folder / FILE

    async def begin(self, user: str, wanted: str = "") -> str:
        """The session that is wanted, where it is this person's; else a new one."""
        return await self._do(lambda connection: _begin(connection, user, wanted))

    async def has(self, user: str, session: str) -> bool:
        """Whether this person has such a session."""
        query = "SELECT 1 FROM sessions WHERE id = ? AND user = ?"
        return await self._do(lambda connection: connection.execute(query, (session, user)).fetchone() is not None)

    async def keep(self, session: str, exchange: Exchange) -> None:
        """Add a question, with its answer where there is one already."""
        await self._do(lambda connection: _keep(connection, session, exchange))

    async def answer(self, run_id: str, answer: str, sources: Sequence[Source], citations: Sequence[Citation] = ()) -> None:
        """Add the answer to a question that was kept with this run, once."""
        values = (redacted(answer), _json(sources), _json(citations), run_id)
        query = "UPDATE exchanges SET answer = ?, sources = ?, citations = ? WHERE run_id = ? AND answer = ''"
        await self._do(lambda connection: connection.execute(query, values))

    async def exchanges(self, user: str, session: str, last: int = -1) -> list[Exchange]:
        """The last questions and answers of a session, in order; all where none says how many."""
        query = (
            "SELECT question, answer, sources, citations, run_id, at FROM exchanges JOIN sessions ON sessions.id = session "
            "WHERE session = ? AND user = ? ORDER BY exchanges.id DESC LIMIT ?"
        )
        rows = await self._do(lambda connection: connection.execute(query, (session, user, last)).fetchall())
        return [_exchange(*row) for row in reversed(rows)]

    async def listed(self, user: str) -> list[Session]:
        """A person's sessions in which something was asked, the newest first."""
        first = "SELECT substr(question, 1, 300) FROM exchanges WHERE session = sessions.id ORDER BY exchanges.id LIMIT 1"
        query = f"SELECT id, ({first}) AS first, last FROM sessions WHERE user = ? AND first IS NOT NULL ORDER BY last DESC LIMIT ?"  # noqa: S608 - our own names
        rows = await self._do(lambda connection: connection.execute(query, (user, MOST_LISTED)).fetchall())
        return [Session(*row) for row in rows]

    async def remove(self, user: str, session: str) -> bool:
        """Delete a session; False where the person has no such one. Its runs are for the caller to delete."""
        query = "DELETE FROM sessions WHERE id = ? AND user = ?"
        return await self._do(lambda connection: connection.execute(query, (session, user)).rowcount > 0, purges=True)

    async def erase(self, run_ids: Collection[str]) -> None:
        """Delete the questions and answers of these runs, and the sessions in which nothing is left."""
        if self._path.exists():
            await self._do(lambda connection: _erase(connection, run_ids), purges=True)

    async def _do(self, work: "Callable[[Connection], T]", *, purges: bool = False) -> T:
        return await asyncio.to_thread(self._done, work, purges)

    def _done(self, work: "Callable[[Connection], T]", purges: bool) -> T:
        with _opened(self._path) as connection:
            connection.execute("BEGIN IMMEDIATE")
            with connection:
                done = work(connection)
            if purges:
                purge_sqlite(connection.execute, PATIENCE)
            return done


@contextmanager
def _opened(path: Path) -> "Generator[Connection]":
    """The file, for one piece of work."""
    import sqlite3

    try:
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        path.touch(mode=0o600)
        connection = sqlite3.connect(path, timeout=PATIENCE, isolation_level=None)
        try:
            _prepare(connection)
            yield connection
        finally:
            connection.close()
    except (sqlite3.Error, OSError) as error:
        raise SettingsError(
            f"The conversations in {path} can't be used ({error}); check that there is room, or move it away."
        ) from error


def _prepare(connection: "Connection") -> None:
    write_ahead(connection.execute, PATIENCE)
    connection.execute("PRAGMA foreign_keys=ON")
    if connection.execute("PRAGMA user_version").fetchone()[0] == VERSION:
        return
    connection.execute("BEGIN IMMEDIATE")
    with connection:
        version = connection.execute("PRAGMA user_version").fetchone()[0]
        if version > VERSION:
            raise SettingsError(f"The conversations in {FILE} were kept by a newer Treadle; update Treadle to use them.")
        for statement in (*(SCHEMA.strip().split(";\n") if version == 0 else ()), *([CITED] if version < VERSION else ())):
            connection.execute(statement)
        connection.execute(f"PRAGMA user_version={VERSION}")


def _begin(connection: "Connection", user: str, wanted: str) -> str:
    if connection.execute("SELECT 1 FROM sessions WHERE id = ? AND user = ?", (wanted, user)).fetchone():
        return wanted
    name, now = f"session_{secrets.token_hex(8)}", time.time()
    connection.execute("INSERT INTO sessions VALUES (?, ?, ?, ?)", (name, user, now, now))
    return name


def _keep(connection: "Connection", session: str, exchange: Exchange) -> None:
    now = exchange.at or time.time()
    found = connection.execute("UPDATE sessions SET last = ? WHERE id = ?", (now, session))
    if not found.rowcount:  # it was removed while the answer was made
        return
    told = (redacted(exchange.question), redacted(exchange.answer), _json(exchange.sources), _json(exchange.citations))
    insert = "INSERT INTO exchanges (session, at, question, answer, sources, citations, run_id) VALUES (?, ?, ?, ?, ?, ?, ?)"
    connection.execute(insert, (session, now, *told, exchange.run_id))


def _erase(connection: "Connection", run_ids: Collection[str]) -> None:
    found = [(run_id,) for run_id in run_ids]
    sessions = {row for run in found for row in connection.execute("SELECT session FROM exchanges WHERE run_id = ?", run)}
    connection.executemany("DELETE FROM exchanges WHERE run_id = ?", found)
    empty = "DELETE FROM sessions WHERE id = ? AND NOT EXISTS (SELECT 1 FROM exchanges WHERE session = sessions.id)"
    connection.executemany(empty, sorted(sessions))


def _json(values: Sequence[Struct]) -> str:
    return msgspec.json.encode(redacted(msgspec.to_builtins(values))).decode()


def _exchange(question: str, answer: str, sources: str, citations: str, run_id: str, at: float) -> Exchange:
    cited = msgspec.json.decode(citations, type=tuple[Citation, ...])
    return Exchange(question, answer, msgspec.json.decode(sources, type=tuple[Source, ...]), run_id, at, cited)
