"""A database in one schema of PostgreSQL, and the one connection that this process writes it with.

The server may go away at any moment. A batch is then executed again on a new connection, unless it was committed after all:
each batch writes its number, so that the new connection can check. It checks only when the old connection's transaction is
over, since both take the same lock.
"""

import random
import secrets
import time
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from datetime import datetime
from typing import TYPE_CHECKING, Any

from treadle.stores.database import Connection, Database, SqlDialect, Ticket
from treadle.stores.encryption import Cipher
from treadle.stores.postgres.address import OWNER_SCHEMA, redact_url
from treadle.stores.postgres.connection import PostgresConnection, connect_schema, load_driver
from treadle.stores.postgres.errors import classify_error, translate_postgres_error

if TYPE_CHECKING:
    import psycopg

WAIT = 30.0  # seconds that a batch waits for a server that is away
STATEMENT_TIMEOUT = 600.0  # seconds for one statement of a long look
IDLE_TIMEOUT = 20.0  # seconds after which an idle connection is closed: servers have few
PAUSES = (0.02, 1.0)  # seconds between tries, at first and at most
_FORGET = "DELETE FROM writers WHERE at < now() - interval '1 day'"  # their last batches won't be queried any more
QUARTER = 900  # seconds; the clocks of all places differ by so many of them


def _glob_condition(column: str, glob: str) -> tuple[str, str]:
    escaped = "".join([f"!{sign}" if sign in "%_!" else sign for sign in glob])
    return f"{column} LIKE ? ESCAPE '!'", escaped.replace("*", "%").replace("?", "_")


def _format_day(quarter: Any) -> str:
    return datetime.fromtimestamp(quarter).date().isoformat()


POSTGRES_DIALECT = SqlDialect(
    begin="BEGIN",
    snapshot="BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY",
    like="ILIKE",
    glob=_glob_condition,
    json_field=r"(replace(convert_from(line, 'UTF8'), '\u0000', '\ufffd')::json ->> '{}')",
    blob="BYTEA",
    now="extract(epoch FROM clock_timestamp())::double precision",
    day=f"(floor(facts.at / {QUARTER}) * {QUARTER})",  # the day is that of this place, which the server needn't know
    format_day=_format_day,
    join_hint="JOIN",
    lock_shared=" FOR SHARE",
    lock_exclusive=" FOR UPDATE",
    skip_locked=" FOR UPDATE SKIP LOCKED",
    text_codec=str.encode,
    has_table="SELECT 1 FROM pg_tables WHERE schemaname = current_schema() AND tablename = ?",
)


class PostgresDatabase(Database):
    """A PostgreSQL schema, created at the first access."""

    words = POSTGRES_DIALECT
    rests_after = IDLE_TIMEOUT

    def __init__(self, url: str, schema: str = OWNER_SCHEMA, *, wait: float = WAIT, cipher: Cipher | None = None) -> None:
        super().__init__(cipher or Cipher())
        self.url = url
        self.schema = schema
        self.wait = wait
        self._name = redact_url(url)
        self._connection: PostgresConnection | None = None
        self._writer = secrets.randbits(62)
        self._batch = 0
        self._doubt = False  # whether the batch may have been committed without our hearing of it

    @property
    def name(self) -> str:
        """The servers and the database."""
        return self._name

    def exists(self) -> bool:
        """Return True: the server isn't contacted before it is used."""
        return True

    @contextmanager
    def apart(self) -> Generator[Connection]:
        """Open another connection to the schema."""
        import psycopg

        try:
            with self._connect_with_retries(statement=STATEMENT_TIMEOUT) as raw:
                yield PostgresConnection(raw)
        except psycopg.Error as error:
            raise translate_postgres_error(error, self.url) from error

    def purge(self) -> bool:
        """Vacuum the tables of deleted rows. PostgreSQL's own log and backups are its operator's responsibility."""
        with self.apart() as connection:
            for table in ("entries", "results", "runs", "cache", "audit"):
                connection.execute(f"VACUUM {table}")
        return True

    # the writer's

    def _commit(self, batch: Sequence[Ticket[Any]]) -> None:
        tries = RetryBudget(self.wait)
        self._batch += 1
        self._doubt = False
        while True:
            try:
                return self._try_commit(batch, tries)
            except load_driver().Error as error:
                trouble = classify_error(error)
                self._doubt = self._doubt and trouble == "gone"
                self._roll_back(gone=trouble != "crossed")
                if trouble == "refused" or not tries.again():
                    raise
            except BaseException:
                self._roll_back()
                raise

    def _try_commit(self, batch: Sequence[Ticket[Any]], tries: "RetryBudget") -> None:
        """Try once. A batch that is already committed isn't executed again."""
        connection = self._connect(tries)
        self._begin(connection)
        if not (self._doubt and self._is_committed(connection)):
            self._doubt = False
            for ticket in batch:
                ticket.carry_out(connection)
            self._doubt = connection.wrote
        self._commit_transaction(connection)

    def _connect(self, tries: "RetryBudget") -> PostgresConnection:
        if self._connection is None:
            self._connection = PostgresConnection(connect_schema(self.url, self.schema, wait=tries.left, statement=self.wait))
            self._connection.plainly(_FORGET)
        return self._connection

    def _begin(self, connection: PostgresConnection) -> None:
        connection.plainly(f"BEGIN; SELECT pg_advisory_xact_lock({self._writer})")
        connection.wrote = False

    def _is_committed(self, connection: PostgresConnection) -> bool:
        row = connection.execute("SELECT batch FROM writers WHERE writer = ?", (self._writer,)).fetchone()
        return row == (self._batch,)

    def _commit_transaction(self, connection: PostgresConnection) -> None:
        """Commit, with the number of the batch if it wrote anything."""
        note = (
            f"INSERT INTO writers VALUES ({self._writer}, {self._batch}) ON CONFLICT (writer)"  # noqa: S608 - our own numbers
            " DO UPDATE SET batch = excluded.batch, at = excluded.at; "
        )
        connection.plainly(f"{note if connection.wrote else ''}COMMIT")

    def _roll_back(self, *, gone: bool = False) -> None:
        """Roll back; close the connection too, where it may be unusable."""
        if self._connection is None:
            return
        try:
            if not gone:
                self._connection.plainly("ROLLBACK")
                return
        except load_driver().Error:
            pass
        self._disconnect()

    def _translate_error(self, error: Exception) -> Exception:
        return translate_postgres_error(error, self.url)

    def _disconnect(self) -> None:
        if self._connection is not None:
            self._connection.raw.close()
            self._connection = None

    @contextmanager
    def _connect_with_retries(self, statement: float) -> "Generator[psycopg.Connection[Any]]":
        """Connect, with retries."""
        tries = RetryBudget(self.wait)
        while True:
            try:
                raw = connect_schema(self.url, self.schema, wait=tries.left, statement=statement)
                break
            except load_driver().Error as error:
                if classify_error(error) == "refused" or not tries.again():
                    raise
        try:
            yield raw
        finally:
            raw.close()


class RetryBudget:
    """A deadline for retries, with growing pauses in between."""

    def __init__(self, wait: float) -> None:
        self._until = time.monotonic() + wait
        self._pause, self._most = PAUSES

    @property
    def left(self) -> float:
        """Seconds left."""
        return max(0.0, self._until - time.monotonic())

    def again(self) -> bool:
        """Pause; return False where the time is over. Pauses are jittered, so that no two waiters return at the same moment."""
        if self.left <= 0:
            return False
        time.sleep(min(self.left, self._pause * random.uniform(0.5, 1.0)))  # noqa: S311 - nothing secret
        self._pause = min(self._most, self._pause * 2)
        return True
