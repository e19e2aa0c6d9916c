"""Users in the owner's schema. A connection is kept for them: every request asks who somebody is."""

import threading
from collections.abc import Generator
from contextlib import ExitStack, contextmanager

from treadle.core.errors import JournalError
from treadle.stores.database import Connection
from treadle.stores.postgres.connection import driver
from treadle.stores.postgres.database import PostgresDatabase
from treadle.stores.postgres.troubles import translated
from treadle.stores.users_file import UsersError

_ALONE = "LOCK TABLE users IN SHARE ROW EXCLUSIVE MODE"


class UsersSchema:
    """The users in one schema, for all threads of a process, one at a time."""

    def __init__(self, database: PostgresDatabase) -> None:
        self._database = database
        self._turn = threading.Lock()
        self._kept = ExitStack()
        self._connection: Connection | None = None

    @contextmanager
    def reading(self) -> Generator[Connection]:
        """What is there now."""
        with self._turn, self._told():
            yield self._usable()

    @contextmanager
    def writing(self) -> Generator[Connection]:
        """For a change that happens wholly or not at all, and beside no other."""
        with self._turn, self._told():
            connection = self._usable()
            connection.execute("BEGIN")
            try:
                connection.execute(_ALONE)
                yield connection
                connection.execute("COMMIT")
            except BaseException:
                self.close()  # which undoes what wasn't committed
                raise

    def close(self) -> None:
        """Give the connection back."""
        self._kept.close()
        self._connection = None

    def _usable(self) -> Connection:
        """The connection, a new one where the old one is gone."""
        if self._connection is not None:
            try:
                self._connection.execute("SELECT 1")
            except driver().Error:
                self.close()
        if self._connection is None:
            self._connection = self._kept.enter_context(self._database.apart())
        return self._connection

    @contextmanager
    def _told(self) -> Generator[None]:
        try:
            yield
        except (JournalError, driver().Error) as error:
            raise UsersError(f"Users can't be read or changed: {translated(error, self._database.url)}") from error
