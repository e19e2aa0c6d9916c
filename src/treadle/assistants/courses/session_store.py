"""Persistent conversations: questions with their answers and sources, in a database of their own. Each belongs to one user."""

import asyncio
import secrets
import time
from collections.abc import Callable, Collection, Generator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

import msgspec
from msgspec import Struct

from treadle.assistant import open_private_sqlite, purge_sqlite
from treadle.assistants.courses.sources import AnswerSource, Citation
from treadle.errors import SettingsError
from treadle.routes import redact

if TYPE_CHECKING:
    from sqlite3 import Connection

FILE = "courses-sessions.db"
VERSION = 2
LOCK_TIMEOUT = 10  # seconds for another process to be done with the file
MAX_LISTED = 100
SCHEMA = """
CREATE TABLE sessions (id TEXT PRIMARY KEY, user TEXT NOT NULL, began REAL NOT NULL, last REAL NOT NULL);
CREATE INDEX sessions_by_user ON sessions (user, last);
CREATE TABLE exchanges (
    id INTEGER PRIMARY KEY, session TEXT NOT NULL REFERENCES sessions (id) ON DELETE CASCADE, at REAL NOT NULL,
    question TEXT NOT NULL, answer TEXT NOT NULL, sources TEXT NOT NULL, run_id TEXT NOT NULL
);
CREATE INDEX exchanges_by_session ON exchanges (session, id);
"""
ADD_CITATIONS = "ALTER TABLE exchanges ADD COLUMN citations TEXT NOT NULL DEFAULT '[]'"  # from the first version to the second

T = TypeVar("T")


class CourseExchange(Struct, frozen=True):
    """A question and its answer."""

    question: str
    answer: str
    sources: tuple[AnswerSource, ...] = ()
    run_id: str = ""
    at: float = 0.0
    citations: tuple[Citation, ...] = ()


class CourseSession(Struct, frozen=True):
    """A conversation in a list: its first question, and when it was used last."""

    id: str
    question: str
    last: float


class CourseSessionStore:
    """The conversations stored in one folder."""

    def __init__(self, folder: Path) -> None:
        self._path = folder / FILE

    async def begin(self, user: str, wanted: str = "") -> str:
        """Return the requested session if it is this user's; else a new one."""
        return await self._execute(lambda connection: _begin_session(connection, user, wanted))

    async def has(self, user: str, session: str) -> bool:
        """Return whether this user has such a session."""
        query = "SELECT 1 FROM sessions WHERE id = ? AND user = ?"
        return await self._execute(lambda connection: connection.execute(query, (session, user)).fetchone() is not None)

    async def keep(self, session: str, exchange: CourseExchange) -> None:
        """Add a question, with its answer if there is one already."""
        await self._execute(lambda connection: _insert_exchange(connection, session, exchange))

    async def answer(self, run_id: str, answer: str, sources: Sequence[AnswerSource], citations: Sequence[Citation] = ()) -> None:
        """Add the answer to a question that was stored with this run, once."""
        values = (redact(answer), _to_json(sources), _to_json(citations), run_id)
        query = "UPDATE exchanges SET answer = ?, sources = ?, citations = ? WHERE run_id = ? AND answer = ''"
        await self._execute(lambda connection: connection.execute(query, values))

    async def exchanges(self, user: str, session: str, last: int = -1) -> list[CourseExchange]:
        """Return the last questions and answers of a session in order; all by default."""
        query = (
            "SELECT question, answer, sources, citations, run_id, at FROM exchanges JOIN sessions ON sessions.id = session "
            "WHERE session = ? AND user = ? ORDER BY exchanges.id DESC LIMIT ?"
        )
        rows = await self._execute(lambda connection: connection.execute(query, (session, user, last)).fetchall())
        return [_to_exchange(*row) for row in reversed(rows)]

    async def list_sessions(self, user: str) -> list[CourseSession]:
        """Return a user's sessions that contain a question, the newest first."""
        first = "SELECT substr(question, 1, 300) FROM exchanges WHERE session = sessions.id ORDER BY exchanges.id LIMIT 1"
        query = f"SELECT id, ({first}) AS first, last FROM sessions WHERE user = ? AND first IS NOT NULL ORDER BY last DESC LIMIT ?"  # noqa: S608 - our own names
        rows = await self._execute(lambda connection: connection.execute(query, (user, MAX_LISTED)).fetchall())
        return [CourseSession(*row) for row in rows]

    async def remove(self, user: str, session: str) -> bool:
        """Delete a session; False if the user has no such session. The caller deletes its runs."""
        query = "DELETE FROM sessions WHERE id = ? AND user = ?"
        return await self._execute(lambda connection: connection.execute(query, (session, user)).rowcount > 0, purges=True)

    async def erase(self, run_ids: Collection[str]) -> None:
        """Delete the questions and answers of these runs, and sessions that are empty afterwards."""
        if self._path.exists():
            await self._execute(lambda connection: _erase_runs(connection, run_ids), purges=True)

    async def _execute(self, work: "Callable[[Connection], T]", *, purges: bool = False) -> T:
        return await asyncio.to_thread(self._execute_sync, work, purges)

    def _execute_sync(self, work: "Callable[[Connection], T]", purges: bool) -> T:
        with _connect(self._path) as connection:
            connection.execute("BEGIN IMMEDIATE")
            with connection:
                done = work(connection)
            if purges:
                purge_sqlite(connection.execute, LOCK_TIMEOUT)
            return done


@contextmanager
def _connect(path: Path) -> "Generator[Connection]":
    """Open the database for one operation."""
    import sqlite3

    try:
        with open_private_sqlite(path, LOCK_TIMEOUT) as connection:
            _prepare(connection)
            yield connection
    except (sqlite3.Error, OSError) as error:
        raise SettingsError(
            f"The conversations in {path} can't be used ({error}); check that there is room and that you may write there."
        ) from error


def _prepare(connection: "Connection") -> None:
    connection.execute("PRAGMA foreign_keys=ON")
    if connection.execute("PRAGMA user_version").fetchone()[0] == VERSION:
        return
    connection.execute("BEGIN IMMEDIATE")
    with connection:
        version = connection.execute("PRAGMA user_version").fetchone()[0]
        if version > VERSION:
            raise SettingsError(f"The conversations in {FILE} were kept by a newer Treadle; update Treadle to use them.")
        for statement in (*(SCHEMA.strip().split(";\n") if version == 0 else ()), *([ADD_CITATIONS] if version < VERSION else ())):
            connection.execute(statement)
        connection.execute(f"PRAGMA user_version={VERSION}")


def _begin_session(connection: "Connection", user: str, wanted: str) -> str:
    if connection.execute("SELECT 1 FROM sessions WHERE id = ? AND user = ?", (wanted, user)).fetchone():
        return wanted
    name, now = f"session_{secrets.token_hex(8)}", time.time()
    connection.execute("INSERT INTO sessions VALUES (?, ?, ?, ?)", (name, user, now, now))
    return name


def _insert_exchange(connection: "Connection", session: str, exchange: CourseExchange) -> None:
    now = exchange.at or time.time()
    found = connection.execute("UPDATE sessions SET last = ? WHERE id = ?", (now, session))
    if not found.rowcount:  # it was removed while the answer was made
        return
    told = (redact(exchange.question), redact(exchange.answer), _to_json(exchange.sources), _to_json(exchange.citations))
    insert = "INSERT INTO exchanges (session, at, question, answer, sources, citations, run_id) VALUES (?, ?, ?, ?, ?, ?, ?)"
    connection.execute(insert, (session, now, *told, exchange.run_id))


def _erase_runs(connection: "Connection", run_ids: Collection[str]) -> None:
    found = [(run_id,) for run_id in run_ids]
    sessions = {row for run in found for row in connection.execute("SELECT session FROM exchanges WHERE run_id = ?", run)}
    connection.executemany("DELETE FROM exchanges WHERE run_id = ?", found)
    empty = "DELETE FROM sessions WHERE id = ? AND NOT EXISTS (SELECT 1 FROM exchanges WHERE session = sessions.id)"
    connection.executemany(empty, sorted(sessions))


def _to_json(values: Sequence[Struct]) -> str:
    return msgspec.json.encode(redact(msgspec.to_builtins(values))).decode()


def _to_exchange(question: str, answer: str, sources: str, citations: str, run_id: str, at: float) -> CourseExchange:
    cited = msgspec.json.decode(citations, type=tuple[Citation, ...])
    return CourseExchange(question, answer, msgspec.json.decode(sources, type=tuple[AnswerSource, ...]), run_id, at, cited)
