"""One schema of a PostgreSQL database, and the one connection that this process writes it with.

The server may go away at any moment. A batch is then carried out again on a new connection, unless it was committed after all:
with each batch its number is written, so that the new connection can look. It looks only when the old one's transaction is over,
since both hold the same lock.
"""

import random
import secrets
import time
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from datetime import datetime
from typing import TYPE_CHECKING, Any

from treadle.stores.database import Connection, Database, Ticket, Words
from treadle.stores.encryption import Cipher
from treadle.stores.postgres.address import OWNERS, shown
from treadle.stores.postgres.connection import PostgresConnection, connect, driver
from treadle.stores.postgres.troubles import translated, trouble_of

if TYPE_CHECKING:
    import psycopg

WAIT = 30.0  # seconds that a batch waits for a server that is away
LONG = 600.0  # seconds for one statement of a long look
REST = 20.0  # seconds after which a connection that nobody uses is given back: servers have few
PAUSES = (0.02, 1.0)  # seconds between tries, at first and at most
_FORGET = "DELETE FROM writers WHERE at < now() - interval '1 day'"  # nobody will ask for their last batches any more
QUARTER = 900  # seconds; the clocks of all places differ by so many of them


def _glob(column: str, glob: str) -> tuple[str, str]:
    escaped = "".join([f"!{sign}" if sign in "%_!" else sign for sign in glob])
    return f"{column} LIKE ? ESCAPE '!'", escaped.replace("*", "%").replace("?", "_")


def _day_of(quarter: Any) -> str:
    return datetime.fromtimestamp(quarter).date().isoformat()


WORDS = Words(
    begin="BEGIN",
    snapshot="BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY",
    like="ILIKE",
    glob=_glob,
    said=r"(replace(convert_from(line, 'UTF8'), '\u0000', '\ufffd')::json ->> '{}')",
    blob="BYTEA",
    now="extract(epoch FROM clock_timestamp())::double precision",
    day=f"(floor(facts.at / {QUARTER}) * {QUARTER})",  # the day is that of this place, which the server needn't know
    day_of=_day_of,
    beside="JOIN",
    share=" FOR SHARE",
    lock=" FOR UPDATE",
    skip=" FOR UPDATE SKIP LOCKED",
    kept=str.encode,
    has_table="SELECT 1 FROM pg_tables WHERE schemaname = current_schema() AND tablename = ?",
)


class PostgresDatabase(Database):
    """A schema, made when something is first looked for or written in it."""

    words = WORDS
    rests_after = REST

    def __init__(self, url: str, schema: str = OWNERS, *, wait: float = WAIT, cipher: Cipher | None = None) -> None:
        super().__init__(cipher or Cipher())
        self.url = url
        self.schema = schema
        self.wait = wait
        self._name = shown(url)
        self._connection: PostgresConnection | None = None
        self._writer = secrets.randbits(62)
        self._batch = 0
        self._doubt = False  # whether the batch may have been committed without our hearing of it

    @property
    def name(self) -> str:
        """The servers and the database."""
        return self._name

    def exists(self) -> bool:
        """Always: it isn't looked for before it is used."""
        return True

    @contextmanager
    def apart(self) -> Generator[Connection]:
        """Another connection to the schema."""
        import psycopg

        try:
            with self._patiently(statement=LONG) as raw:
                yield PostgresConnection(raw)
        except psycopg.Error as error:
            raise translated(error, self.url) from error

    def purge(self) -> bool:
        """Have PostgreSQL drop the rows that were deleted. Its own log and backups are its operator's."""
        with self.apart() as connection:
            for table in ("entries", "results", "runs", "cache", "audit"):
                connection.execute(f"VACUUM {table}")
        return True

    # the writer's

    def _commit(self, batch: Sequence[Ticket[Any]]) -> None:
        tries = Tries(self.wait)
        self._batch += 1
        self._doubt = False
        while True:
            try:
                return self._tried(batch, tries)
            except driver().Error as error:
                trouble = trouble_of(error)
                self._doubt = self._doubt and trouble == "gone"
                self._undo(gone=trouble != "crossed")
                if trouble == "refused" or not tries.again():
                    raise
            except BaseException:
                self._undo()
                raise

    def _tried(self, batch: Sequence[Ticket[Any]], tries: "Tries") -> None:
        """One try. A batch that is there already isn't carried out again."""
        connection = self._connected(tries)
        self._begin(connection)
        if not (self._doubt and self._is_written(connection)):
            self._doubt = False
            for ticket in batch:
                ticket.carry_out(connection)
            self._doubt = connection.wrote
        self._end(connection)

    def _connected(self, tries: "Tries") -> PostgresConnection:
        if self._connection is None:
            self._connection = PostgresConnection(connect(self.url, self.schema, wait=tries.left, statement=self.wait))
            self._connection.plainly(_FORGET)
        return self._connection

    def _begin(self, connection: PostgresConnection) -> None:
        connection.plainly(f"BEGIN; SELECT pg_advisory_xact_lock({self._writer})")
        connection.wrote = False

    def _is_written(self, connection: PostgresConnection) -> bool:
        row = connection.execute("SELECT batch FROM writers WHERE writer = ?", (self._writer,)).fetchone()
        return row == (self._batch,)

    def _end(self, connection: PostgresConnection) -> None:
        """Commit, with the number of the batch where there is anything to be found again."""
        note = (
            f"INSERT INTO writers VALUES ({self._writer}, {self._batch}) ON CONFLICT (writer)"  # noqa: S608 - our own numbers
            " DO UPDATE SET batch = excluded.batch, at = excluded.at; "
        )
        connection.plainly(f"{note if connection.wrote else ''}COMMIT")

    def _undo(self, *, gone: bool = False) -> None:
        """Leave the transaction; and the connection too, where it may be no good any more."""
        if self._connection is None:
            return
        try:
            if not gone:
                self._connection.plainly("ROLLBACK")
                return
        except driver().Error:
            pass
        self._let_go()

    def _translated(self, error: Exception) -> Exception:
        return translated(error, self.url)

    def _let_go(self) -> None:
        if self._connection is not None:
            self._connection.raw.close()
            self._connection = None

    @contextmanager
    def _patiently(self, statement: float) -> "Generator[psycopg.Connection[Any]]":
        """A connection, as soon as there is one to be had."""
        tries = Tries(self.wait)
        while True:
            try:
                raw = connect(self.url, self.schema, wait=tries.left, statement=statement)
                break
            except driver().Error as error:
                if trouble_of(error) == "refused" or not tries.again():
                    raise
        try:
            yield raw
        finally:
            raw.close()


class Tries:
    """How long something is still tried, and the pauses in between, which grow."""

    def __init__(self, wait: float) -> None:
        self._until = time.monotonic() + wait
        self._pause, self._most = PAUSES

    @property
    def left(self) -> float:
        """Seconds."""
        return max(0.0, self._until - time.monotonic())

    def again(self) -> bool:
        """Pause; False where the time is over. No two that wait come back at the same moment."""
        if self.left <= 0:
            return False
        time.sleep(min(self.left, self._pause * random.uniform(0.5, 1.0)))  # noqa: S311 - nothing secret
        self._pause = min(self._most, self._pause * 2)
        return True
