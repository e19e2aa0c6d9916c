"""Connections to PostgreSQL, as jobs see them: the driver behind the few calls that all databases have."""

from collections.abc import Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from treadle.core.errors import SettingsError
from treadle.stores.database import Cursor
from treadle.stores.postgres.address import checked, quoted, shown
from treadle.stores.postgres.schema import migrate

if TYPE_CHECKING:
    import psycopg

IDLE = 10  # seconds that a transaction may do nothing: whoever was frozen in one must not hold up everybody else
MISSING = "Runs are kept in PostgreSQL with psycopg, not installed here: pip install 'treadle[cluster]'"

_READS = ("SELECT", "WITH")


class PostgresConnection:
    """One connection. Values stand where a statement has a `?`."""

    def __init__(self, raw: "psycopg.Connection[Any]") -> None:
        self.raw = raw
        self.wrote = False  # whether there is anything that a commit would keep

    def execute(self, sql: str, parameters: Sequence[Any] = (), /) -> Cursor:
        """Carry a statement out."""
        self.wrote = self.wrote or not sql.lstrip().startswith(_READS)
        return self.raw.execute(_marked(sql), [_plain(value) for value in parameters])

    def executemany(self, sql: str, parameters: Sequence[Sequence[Any]], /) -> Cursor:
        """Carry a statement out for each of these."""
        self.wrote = True
        cursor = self.raw.cursor()
        cursor.executemany(_marked(sql), [[_plain(value) for value in row] for row in parameters])
        return cursor

    def plainly(self, sql: str) -> None:
        """Carry out several statements at once, which have no values: one way to the server and back."""
        self.raw.execute(sql.encode(), prepare=False)


@lru_cache(maxsize=512)
def _marked(sql: str) -> bytes:
    """A statement with the driver's marks in place of ours."""
    return sql.replace("%", "%%").replace("?", "%s").encode()


def _plain(value: Any) -> Any:
    """PostgreSQL's texts have no NUL; what has one gets the sign for what can't be shown."""
    return value.replace("\0", "\ufffd") if isinstance(value, str) and "\0" in value else value


def connect(url: str, schema: str, *, wait: float, statement: float) -> "psycopg.Connection[Any]":
    """A connection to one schema, which is brought up to date; a statement may take so many seconds.

    Raises what the driver raises; a connection that can't be had is one that may be tried again.
    """
    raw: psycopg.Connection[Any] = driver().connect(url, autocommit=True, **_options(url, wait))
    try:
        raw.execute(_settings(schema, statement).encode(), prepare=False)
        migrate(raw, schema, shown(url))
    except BaseException:
        raw.close()
        raise
    return raw


def driver() -> Any:
    """The driver; a sentence where it isn't installed."""
    try:
        import psycopg
    except ImportError as error:
        raise SettingsError(MISSING) from error
    return psycopg


def _options(url: str, wait: float) -> dict[str, Any]:
    """What an address leaves open: how long to wait, and how to notice that nobody is there any more."""
    driver()
    from psycopg import ProgrammingError
    from psycopg.conninfo import conninfo_to_dict

    try:
        said = conninfo_to_dict(checked(url))
    except (ProgrammingError, UnicodeError):
        raise SettingsError(
            "The address of the database can't be read; write postgresql://USER:PASSWORD@HOST/DATABASE,"
            " with signs in the password as %-codes."
        ) from None  # the cause may quote the password
    ours = {
        "connect_timeout": max(2, round(wait)),
        "tcp_user_timeout": max(2, round(wait)) * 1000,
        "keepalives_idle": 10,
        "keepalives_interval": 5,
        "keepalives_count": 3,
        "application_name": "treadle",
        "client_encoding": "utf8",
    }
    return {name: value for name, value in ours.items() if name not in said}


def _settings(schema: str, statement: float) -> str:
    """What holds for a whole connection. Committed means on the disk, whatever the server's habit is."""
    return (
        f"SET search_path TO {quoted(schema)}; SET statement_timeout = {round(statement * 1000)};"
        f" SET idle_in_transaction_session_timeout = {IDLE * 1000};"
        " SELECT set_config('synchronous_commit', 'on', false) WHERE current_setting('synchronous_commit') = 'off'"
    )
