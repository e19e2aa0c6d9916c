"""Users in the owner's schema. A connection is kept open for them: every request authenticates a user."""

import threading
from collections.abc import Generator
from contextlib import ExitStack, contextmanager

from treadle.core.errors import JournalError
from treadle.stores.database import Connection
from treadle.stores.postgres.connection import load_driver
from treadle.stores.postgres.database import PostgresDatabase
from treadle.stores.postgres.errors import translate_postgres_error
from treadle.stores.sqlite_users import UsersError

_ALONE = "LOCK TABLE users IN SHARE ROW EXCLUSIVE MODE"


class PostgresUserStore:
    """The users in one schema, for all threads of a process, one at a time."""

    def __init__(self, database: PostgresDatabase) -> None:
        self._database = database
        self._turn = threading.Lock()
        self._kept = ExitStack()
        self._connection: Connection | None = None

    @contextmanager
    def reading(self) -> Generator[Connection]:
        """Return a connection to the current state."""
        with self._turn, self._translate_errors():
            yield self._live_connection()

    @contextmanager
    def writing(self) -> Generator[Connection]:
        """Return a connection for one atomic change, exclusive of all others."""
        with self._turn, self._translate_errors():
            connection = self._live_connection()
            connection.execute("BEGIN")
            try:
                connection.execute(_ALONE)
                yield connection
                connection.execute("COMMIT")
            except BaseException:
                self.close()  # which undoes what wasn't committed
                raise

    def close(self) -> None:
        """Close the connection."""
        self._kept.close()
        self._connection = None

    def _live_connection(self) -> Connection:
        """Return the connection, a new one where the old one is broken."""
        if self._connection is not None:
            try:
                self._connection.execute("SELECT 1")
            except load_driver().Error:
                self.close()
        if self._connection is None:
            self._connection = self._kept.enter_context(self._database.apart())
        return self._connection

    @contextmanager
    def _translate_errors(self) -> Generator[None]:
        try:
            yield
        except (JournalError, load_driver().Error) as error:
            raise UsersError(f"Users can't be read or changed: {translate_postgres_error(error, self._database.url)}") from error
