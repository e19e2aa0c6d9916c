"""A database in one SQLite file. Write-ahead log, full synchronisation: committed means on disk. Stores define its content."""

import os
from collections.abc import Generator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from treadle.core.errors import JournalDamaged, JournalError
from treadle.stores.anchors import open_anchors
from treadle.stores.database import Connection, Database, SqlDialect, Ticket
from treadle.stores.disk_errors import ADVICE, classify_disk_error, is_unwritable, open_read_only
from treadle.stores.encryption import Cipher
from treadle.stores.migration import HAS_TABLE, execute_script, format_of, set_format
from treadle.stores.write_ahead import purge_sqlite, write_ahead
from treadle.stores.write_counter import WriteCounter, check_writes, count_write

if TYPE_CHECKING:
    import sqlite3


RESET_STATS = """
DELETE FROM stats_calls;
DELETE FROM stats_requests;
DELETE FROM stats_runs;
DELETE FROM stats_who;
INSERT INTO stats_new SELECT run_id FROM runs WHERE 1 = 1 ON CONFLICT DO NOTHING
"""


SCHEMA_VERSION = 12  # a file of an older one gets what it lacks
WAIT = 30.0  # seconds that a write waits for another process's lock
STATS_SINCE = 2  # what an older file has counted (stats_…) is counted anew
ANCHORS_SINCE = 4  # the audit of an older file has no anchors
SCHEMA = """
CREATE TABLE IF NOT EXISTS runs (
    run_id TEXT PRIMARY KEY, parent TEXT NOT NULL, agent TEXT NOT NULL, model TEXT NOT NULL, user TEXT NOT NULL,
    title TEXT NOT NULL, status TEXT NOT NULL, opened_at REAL NOT NULL, updated_at REAL NOT NULL
) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS runs_by_parent ON runs (parent) WHERE parent <> '';
CREATE INDEX IF NOT EXISTS runs_that_wait ON runs (run_id) WHERE status = 'waiting' AND parent = '';
CREATE TABLE IF NOT EXISTS entries (
    run_id TEXT NOT NULL, position INTEGER NOT NULL, next INTEGER NOT NULL, lines BLOB NOT NULL, PRIMARY KEY (run_id, position)
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS leases (
    run_id TEXT PRIMARY KEY, holder TEXT NOT NULL, token INTEGER NOT NULL, until REAL NOT NULL
) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS leases_held ON leases (run_id) WHERE holder <> '';
CREATE TABLE IF NOT EXISTS audit (seq INTEGER PRIMARY KEY, previous TEXT NOT NULL, line BLOB NOT NULL, hash TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS audit_head (one INTEGER PRIMARY KEY CHECK (one = 1), seq INTEGER NOT NULL, hash TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS cache (
    key TEXT PRIMARY KEY, grp TEXT NOT NULL, content TEXT NOT NULL, until REAL NOT NULL
) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS cache_by_group ON cache (grp);
CREATE TABLE IF NOT EXISTS results (
    run_id TEXT NOT NULL, result_id TEXT NOT NULL, content TEXT NOT NULL, PRIMARY KEY (run_id, result_id)
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS written (one INTEGER PRIMARY KEY CHECK (one = 1), number INTEGER NOT NULL);
INSERT OR IGNORE INTO written VALUES (1, 0);
CREATE TABLE IF NOT EXISTS stats_new (run_id TEXT PRIMARY KEY) WITHOUT ROWID;
CREATE TRIGGER IF NOT EXISTS stats_new_runs AFTER INSERT ON runs BEGIN INSERT OR IGNORE INTO stats_new VALUES (new.run_id); END;
CREATE TRIGGER IF NOT EXISTS stats_new_status AFTER UPDATE OF status ON runs BEGIN
    INSERT OR IGNORE INTO stats_new VALUES (new.run_id);
END;
CREATE TABLE IF NOT EXISTS stats_who (
    who INTEGER PRIMARY KEY, agent TEXT NOT NULL, model TEXT NOT NULL, user TEXT NOT NULL, UNIQUE (agent, model, user)
);
CREATE TABLE IF NOT EXISTS stats_runs (
    run_id TEXT PRIMARY KEY, who INTEGER NOT NULL, opened_at REAL NOT NULL, position INTEGER NOT NULL, carried BLOB NOT NULL
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS stats_calls (
    at REAL NOT NULL, who INTEGER NOT NULL, tool TEXT NOT NULL, problem TEXT, cached INTEGER NOT NULL, seconds REAL,
    tokens INTEGER NOT NULL, inner_tokens INTEGER NOT NULL
);
CREATE INDEX IF NOT EXISTS stats_calls_by_time ON stats_calls (at);
CREATE TABLE IF NOT EXISTS stats_requests (
    at REAL NOT NULL, who INTEGER NOT NULL, requests INTEGER NOT NULL, input_tokens INTEGER NOT NULL,
    output_tokens INTEGER NOT NULL, cache_read_tokens INTEGER NOT NULL, cost REAL
);
CREATE INDEX IF NOT EXISTS stats_requests_by_time ON stats_requests (at);
CREATE TABLE IF NOT EXISTS queue (
    run_id TEXT PRIMARY KEY, owner TEXT NOT NULL, model TEXT NOT NULL, at REAL NOT NULL, state TEXT NOT NULL, turn INTEGER NOT NULL,
    sent_at REAL NOT NULL, again INTEGER NOT NULL, queue TEXT NOT NULL DEFAULT 'default', priority INTEGER NOT NULL DEFAULT 0,
    failures INTEGER NOT NULL DEFAULT 0
) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS queue_by_time ON queue (state, at);
CREATE INDEX IF NOT EXISTS queue_by_priority ON queue (state, priority DESC, at);
CREATE TABLE IF NOT EXISTS queue_begun (owner TEXT NOT NULL, at REAL NOT NULL, queue TEXT NOT NULL DEFAULT 'default');
CREATE INDEX IF NOT EXISTS queue_begun_by_time ON queue_begun (at);
CREATE TABLE IF NOT EXISTS queue_gate (one INTEGER PRIMARY KEY CHECK (one = 1));
INSERT OR IGNORE INTO queue_gate VALUES (1);
CREATE TABLE IF NOT EXISTS schedules (
    name TEXT PRIMARY KEY, cron TEXT NOT NULL, zone TEXT NOT NULL, wanted TEXT NOT NULL, at REAL NOT NULL
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS waits (
    root TEXT NOT NULL, run_id TEXT NOT NULL, call_id TEXT NOT NULL, due REAL, event TEXT NOT NULL, key TEXT NOT NULL, value TEXT,
    asks INTEGER NOT NULL, PRIMARY KEY (root, run_id, call_id)
) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS waits_by_time ON waits (due) WHERE due IS NOT NULL;
CREATE INDEX IF NOT EXISTS waits_by_event ON waits (event, key) WHERE event <> '';
CREATE TABLE IF NOT EXISTS cancel_requests (run_id TEXT PRIMARY KEY, at REAL NOT NULL) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS run_sessions (run_id TEXT PRIMARY KEY, session TEXT NOT NULL) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS run_sessions_by_session ON run_sessions (session);
CREATE TABLE IF NOT EXISTS conversation_labels (id TEXT PRIMARY KEY, title TEXT NOT NULL, pinned_at REAL NOT NULL) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS feedback (
    run_id TEXT NOT NULL, message INTEGER NOT NULL, rating TEXT NOT NULL, comment TEXT NOT NULL, at REAL NOT NULL,
    PRIMARY KEY (run_id, message)
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS dead_letters (
    run_id TEXT PRIMARY KEY, queue TEXT NOT NULL, cause TEXT NOT NULL, failures INTEGER NOT NULL, at REAL NOT NULL
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS workers (
    worker TEXT PRIMARY KEY, queues TEXT NOT NULL, at_once INTEGER NOT NULL, version TEXT NOT NULL, draining INTEGER NOT NULL,
    until REAL NOT NULL, app_versions TEXT NOT NULL DEFAULT ''
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS run_versions (run_id TEXT PRIMARY KEY, version TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS outbox_on (one INTEGER PRIMARY KEY CHECK (one = 1));
CREATE TABLE IF NOT EXISTS outbox_new (run_id TEXT PRIMARY KEY, at REAL NOT NULL) WITHOUT ROWID;
CREATE TRIGGER IF NOT EXISTS outbox_new_runs AFTER INSERT ON runs
WHEN new.parent = '' AND new.status <> 'open' AND EXISTS (SELECT 1 FROM outbox_on) BEGIN
    INSERT OR REPLACE INTO outbox_new VALUES (new.run_id, new.updated_at);
END;
CREATE TRIGGER IF NOT EXISTS outbox_new_status AFTER UPDATE OF status ON runs
WHEN new.parent = '' AND new.status <> 'open' AND EXISTS (SELECT 1 FROM outbox_on) BEGIN
    INSERT OR REPLACE INTO outbox_new VALUES (new.run_id, new.updated_at);
END;
CREATE TABLE IF NOT EXISTS outbox (
    id TEXT PRIMARY KEY, run_id TEXT NOT NULL, channel TEXT NOT NULL, body TEXT NOT NULL, due REAL, tries INTEGER NOT NULL,
    problem TEXT NOT NULL
) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS outbox_by_time ON outbox (due) WHERE due IS NOT NULL;
"""

# Columns that tables of older files lack.
_COLUMNS = (
    ("queue", "queue", "TEXT NOT NULL DEFAULT 'default'"),
    ("queue", "priority", "INTEGER NOT NULL DEFAULT 0"),
    ("queue", "failures", "INTEGER NOT NULL DEFAULT 0"),
    ("queue_begun", "queue", "TEXT NOT NULL DEFAULT 'default'"),
    ("workers", "app_versions", "TEXT NOT NULL DEFAULT ''"),
)

# The first files have a row for each line of the journal.
_ROWS_OF_LINES = """
ALTER TABLE entries RENAME TO entries_by_line;
CREATE TABLE entries (
    run_id TEXT NOT NULL, position INTEGER NOT NULL, next INTEGER NOT NULL, lines BLOB NOT NULL, PRIMARY KEY (run_id, position)
) WITHOUT ROWID;
INSERT INTO entries SELECT run_id, position, position + 1, line FROM entries_by_line;
DROP TABLE entries_by_line;
DROP INDEX IF EXISTS runs_by_time;
"""


def _glob_condition(column: str, glob: str) -> tuple[str, str]:
    return f"{column} GLOB ?", glob.replace("[", "[[]")  # there are no brackets in our globs


SQLITE_DIALECT = SqlDialect(
    begin="BEGIN IMMEDIATE",
    snapshot="BEGIN",
    like="LIKE",
    glob=_glob_condition,
    json_field="json_extract(CAST(line AS TEXT), '$.{}')",
    blob="BLOB",
    now="((julianday('now') - 2440587.5) * 86400.0)",
    day="date(facts.at, 'unixepoch', 'localtime')",
    format_day=str,
    join_hint="CROSS JOIN",  # which keeps SQLite from beginning with the small one
    lock_shared="",  # no other writer before a transaction ends
    lock_exclusive="",
    skip_locked="",
    text_codec=str,
    has_table=HAS_TABLE,
)


class SqliteDatabase(Database):
    """A SQLite file, created at the first write. The key of its secrets lies beside it, unless `cipher` has another."""

    words = SQLITE_DIALECT

    def __init__(self, path: Path | str, *, wait: float = WAIT, cipher: Cipher | None = None) -> None:
        self.path = Path(path)
        super().__init__(cipher or Cipher(self.path.parent))
        self.wait = wait
        self._connection: sqlite3.Connection | None = None
        self._mark: WriteCounter | None = None

    @property
    def name(self) -> str:
        """The file's path."""
        return str(self.path)

    def exists(self) -> bool:
        """Return whether the file exists."""
        return self.path.exists()

    @contextmanager
    def apart(self) -> Generator[Connection]:
        """Open another connection to the file; one that only reads, where its disk can't be written."""
        from sqlite3 import Error

        try:
            with closing(self._open_apart()) as connection:
                yield connection
        except (OSError, Error) as error:
            raise translate_sqlite_error(error, self.path) from error

    def _open_apart(self) -> "sqlite3.Connection":
        from sqlite3 import Error

        try:
            return open_sqlite(self.path, self.wait)
        except (OSError, Error) as error:
            if not is_unwritable(error, self.path):
                raise
        return _open_reader(self.path, self.wait)

    def purge(self) -> bool:
        """Rewrite the file without deleted data, and empty its write-ahead log."""
        with self.apart() as connection:
            return purge_sqlite(connection.execute, self.wait)

    def _commit(self, batch: Sequence[Ticket[Any]]) -> None:
        from sqlite3 import Error

        try:
            connection, mark = self._open()
        except (OSError, Error) as error:
            if not is_unwritable(error, self.path):
                raise
            self._read(batch, error)
            return
        try:
            connection.execute("BEGIN IMMEDIATE")
            before = connection.total_changes
            for ticket in batch:
                ticket.carry_out(connection)
            written = count_write(connection) if connection.total_changes != before else None
            connection.execute("COMMIT")
        except BaseException:
            if connection.in_transaction:
                connection.execute("ROLLBACK")
            raise
        if written is not None:
            mark.note(written)

    def _read(self, batch: Sequence[Ticket[Any]], refused: Exception) -> None:
        """Run jobs on a disk that can't be written: reads succeed, a write raises `refused`. The next batch may write again."""
        from sqlite3 import OperationalError

        with closing(_open_reader(self.path, self.wait)) as connection:
            connection.execute("BEGIN")
            try:
                for ticket in batch:
                    ticket.carry_out(connection)
            except OperationalError as error:
                raise refused from error
            finally:
                connection.execute("ROLLBACK")

    def _open(self) -> "tuple[sqlite3.Connection, WriteCounter]":
        """Open the writer's connection. Raises for a file that has lost writes."""
        if self._connection is None or self._mark is None:
            self._connection = open_sqlite(self.path, self.wait)
            try:
                self._mark = WriteCounter(self.path)
                self._mark.check(self._connection)
            except BaseException:
                self._disconnect()
                raise
        return self._connection, self._mark

    def _translate_error(self, error: Exception) -> Exception:
        return translate_sqlite_error(error, self.path)

    def _disconnect(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None
        if self._mark is not None:
            self._mark.close()
            self._mark = None


def translate_sqlite_error(error: Exception, path: Path) -> Exception:
    """Return an error of SQLite or of the disk with a message for the user."""
    import sqlite3

    if not isinstance(error, OSError | sqlite3.Error):
        return error
    match classify_disk_error(error, path):
        case "damaged":
            return JournalDamaged(f"{path} is damaged ({error}). Move it aside or restore a backup; nothing was written to it.")
        case "locked":
            return JournalError(f"Another program keeps {path} locked. Wait until it is done, or end it, then resume.")
        case "unknown":
            return JournalError(f"{path} can't be written ({error}). Check its disk, or set TREADLE_HOME to another folder.")
        case fault:
            return JournalError(f"{path} can't be written ({error}). {ADVICE[fault]}")


def _open_reader(path: Path, wait: float) -> "sqlite3.Connection":
    """Open a file that can't be written. Raises for one of another format, which would have to be migrated first."""
    connection = open_read_only(path, wait)
    try:
        version = format_of(connection)
        _check_not_newer(version, path)
        _check_not_older(version, path)
        check_writes(path, connection)
    except BaseException:
        connection.close()
        raise
    return connection


def _check_not_older(version: int, path: Path) -> None:
    if version < SCHEMA_VERSION:
        raise JournalError(f"{path} has format {version}, and can't be migrated to {SCHEMA_VERSION} where it can't be written.")


def _check_not_newer(version: int, path: Path) -> None:
    if version > SCHEMA_VERSION:
        raise JournalError(f"{path} was made by a newer Treadle; update Treadle to use it.")


def open_sqlite(path: Path, wait: float = WAIT) -> "sqlite3.Connection":
    """Open the file, creating it with its tables if needed, readable by its owner only."""
    import sqlite3

    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    os.close(os.open(path, os.O_CREAT | os.O_RDWR, 0o600))
    connection = sqlite3.connect(path, isolation_level=None, timeout=wait)
    try:
        _prepare(connection, path, wait)
    except BaseException:
        connection.close()
        raise
    return connection


def _prepare(connection: "sqlite3.Connection", path: Path, wait: float) -> None:
    write_ahead(connection.execute, wait)
    connection.execute("PRAGMA synchronous=FULL")
    version = format_of(connection)
    _check_not_newer(version, path)
    if version < SCHEMA_VERSION:
        connection.execute("BEGIN IMMEDIATE")
        _migrate(connection, path)
        connection.execute("COMMIT")


def _migrate(connection: "sqlite3.Connection", path: Path) -> None:
    version = format_of(connection)  # another process may have been quicker
    if version == SCHEMA_VERSION:
        return
    if "line" in _list_columns(connection, "entries"):
        execute_script(connection, _ROWS_OF_LINES)
    if "entries" in _list_columns(connection, "runs"):
        connection.execute("ALTER TABLE runs DROP COLUMN entries")
    for table, column, kind in _COLUMNS:
        if (there := _list_columns(connection, table)) and column not in there:
            connection.execute(f"ALTER TABLE {table} ADD COLUMN {column} {kind}")
    execute_script(connection, SCHEMA)
    if version < STATS_SINCE:
        execute_script(connection, RESET_STATS)
    if version < ANCHORS_SINCE:
        _anchor_audit(connection, path)
    set_format(connection, SCHEMA_VERSION)


def _list_columns(connection: "sqlite3.Connection", table: str) -> set[str]:
    return {row[0] for row in connection.execute("SELECT name FROM pragma_table_info(?)", (table,))}


def _anchor_audit(connection: "sqlite3.Connection", path: Path) -> None:
    """Anchor an audit that is older than anchors: from now on it can't be truncated unnoticed."""
    anchors = open_anchors(path.parent)
    run_id = SQLITE_DIALECT.json_field.format("run_id")
    query = f"SELECT audit_head.seq, audit_head.hash, {run_id} FROM audit_head JOIN audit USING (seq)"  # noqa: S608 - our own words
    last = connection.execute(query).fetchone()
    if last is not None and not anchors.all():
        anchors.add(*last)
