"""The demo platform's storage: one SQLite file, or memory. One transaction at a time."""

import os
import sqlite3
import threading
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from treadle.errors import SettingsError

SCHEMA = """
CREATE TABLE IF NOT EXISTS users (
    username TEXT PRIMARY KEY, team TEXT NOT NULL, role TEXT NOT NULL, salt BLOB NOT NULL, password BLOB NOT NULL);
CREATE TABLE IF NOT EXISTS api_keys (
    hash TEXT PRIMARY KEY, username TEXT NOT NULL, name TEXT NOT NULL, masked_key TEXT NOT NULL,
    created_at TEXT NOT NULL, last_used_at TEXT, expires_at TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS sessions (hash TEXT PRIMARY KEY, username TEXT NOT NULL, expires_at TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS login_failures (address TEXT NOT NULL, at TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS applications (
    id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE, team TEXT NOT NULL, created_by TEXT NOT NULL,
    created_at TEXT NOT NULL, updated_at TEXT NOT NULL, spec BLOB NOT NULL);
CREATE TABLE IF NOT EXISTS executions (
    id INTEGER PRIMARY KEY, application_name TEXT NOT NULL, workflow_name TEXT NOT NULL, team TEXT NOT NULL,
    status TEXT NOT NULL, started_at TEXT NOT NULL, completed_at TEXT, error_message TEXT, parent_execution_id INTEGER,
    retry_count INTEGER NOT NULL, resume_from_step INTEGER, created_at TEXT NOT NULL, updated_at TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS steps (
    id INTEGER PRIMARY KEY, execution_id INTEGER NOT NULL, step_number INTEGER NOT NULL, step_name TEXT NOT NULL,
    step_type TEXT NOT NULL, status TEXT NOT NULL, started_at TEXT, completed_at TEXT, error_message TEXT,
    step_config TEXT NOT NULL, output_logs TEXT NOT NULL, resource_id INTEGER, failure TEXT, takes REAL);
CREATE INDEX IF NOT EXISTS steps_by_execution ON steps (execution_id, step_number);
CREATE TABLE IF NOT EXISTS resources (
    id INTEGER PRIMARY KEY, application_name TEXT NOT NULL, resource_name TEXT NOT NULL, resource_type TEXT NOT NULL,
    team TEXT NOT NULL, state TEXT NOT NULL, health_status TEXT NOT NULL, configuration TEXT NOT NULL, type TEXT NOT NULL,
    provider TEXT NOT NULL, workflow_execution_id INTEGER, desired_operation TEXT NOT NULL,
    created_at TEXT NOT NULL, updated_at TEXT NOT NULL, error_message TEXT);
CREATE INDEX IF NOT EXISTS resources_by_application ON resources (application_name);
CREATE TABLE IF NOT EXISTS transitions (
    id INTEGER PRIMARY KEY, resource_id INTEGER NOT NULL, from_state TEXT NOT NULL, to_state TEXT NOT NULL,
    reason TEXT NOT NULL, transitioned_by TEXT NOT NULL, transitioned_at TEXT NOT NULL);
CREATE INDEX IF NOT EXISTS transitions_by_resource ON transitions (resource_id);
CREATE TABLE IF NOT EXISTS answers (
    username TEXT NOT NULL, key TEXT NOT NULL, request TEXT NOT NULL, at TEXT NOT NULL,
    status INTEGER NOT NULL, media TEXT NOT NULL, body BLOB NOT NULL, headers BLOB NOT NULL, PRIMARY KEY (username, key));
"""

Row = dict[str, Any]


class DemoStore:
    """The database, readable by its owner only; in memory without a path."""

    def __init__(self, path: Path | None = None) -> None:
        self._one = threading.Lock()
        try:
            self._db = _connect(path)
        except (OSError, sqlite3.Error) as error:
            raise SettingsError(f"{path} can't be the demo platform's file ({error}); name another.") from error

    @contextmanager
    def transaction(self) -> Generator[sqlite3.Connection]:
        """Run the block in a transaction: all of it or nothing."""
        with self._one:
            self._db.execute("BEGIN IMMEDIATE")
            try:
                yield self._db
            except BaseException:
                self._db.execute("ROLLBACK")
                raise
            self._db.execute("COMMIT")

    def close(self) -> None:
        """Close the database after the current transaction."""
        with self._one:
            self._db.close()


def _connect(path: Path | None) -> sqlite3.Connection:
    if path is not None:
        path.parent.mkdir(parents=True, exist_ok=True)
        os.close(os.open(path, os.O_CREAT | os.O_RDWR, 0o600))
    db = sqlite3.connect(path or ":memory:", isolation_level=None, check_same_thread=False)
    db.row_factory = sqlite3.Row
    try:
        db.executescript(f"PRAGMA journal_mode=WAL; {SCHEMA}")
    except BaseException:
        db.close()
        raise
    return db


def fetch_rows(db: sqlite3.Connection, query: str, *values: Any) -> list[Row]:
    """Return the rows of a query."""
    return [dict(row) for row in db.execute(query, values)]


def fetch_row(db: sqlite3.Connection, query: str, *values: Any) -> Row | None:
    """Return the first row of a query."""
    return next(iter(fetch_rows(db, query, *values)), None)


def fetch_number(db: sqlite3.Connection, query: str, *values: Any) -> int:
    """Return the number that a query counts."""
    return int(db.execute(query, values).fetchone()[0])


def insert_row(db: sqlite3.Connection, table: str, values: Mapping[str, Any]) -> int:
    """Insert a row; return its id."""
    marks = ", ".join("?" * len(values))
    added = db.execute(f"INSERT INTO {table} ({', '.join(values)}) VALUES ({marks})", tuple(values.values()))  # noqa: S608 - our own names
    return added.lastrowid or 0


def update_row(db: sqlite3.Connection, table: str, row_id: int, **values: Any) -> None:
    """Update a row."""
    changes = ", ".join(f"{name} = ?" for name in values)
    db.execute(f"UPDATE {table} SET {changes} WHERE id = ?", (*values.values(), row_id))  # noqa: S608 - our own names
