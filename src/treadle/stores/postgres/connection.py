"""Connections to PostgreSQL behind the few methods that all databases share."""

from collections.abc import Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from treadle.core.errors import SettingsError
from treadle.stores.database import Cursor
from treadle.stores.postgres.address import check_postgres_url, quote_identifier, redact_url
from treadle.stores.postgres.schema import migrate_schema

if TYPE_CHECKING:
    import psycopg

IDLE = 10  # seconds that a transaction may be idle: a frozen process must not block the others
DRIVER_MISSING = "Runs are kept in PostgreSQL with psycopg, not installed here: pip install 'treadle[cluster]'"

_READS = ("SELECT", "WITH")


class PostgresConnection:
    """A connection. Placeholders are written as `?`."""

    def __init__(self, raw: "psycopg.Connection[Any]") -> None:
        self.raw = raw
        self.wrote = False  # whether there is anything that a commit would keep

    def execute(self, sql: str, parameters: Sequence[Any] = (), /) -> Cursor:
        """Execute a statement."""
        self.wrote = self.wrote or not sql.lstrip().startswith(_READS)
        return self.raw.execute(_convert_placeholders(sql), [_replace_nul(value) for value in parameters])

    def executemany(self, sql: str, parameters: Sequence[Sequence[Any]], /) -> Cursor:
        """Execute a statement once for each sequence of parameters."""
        self.wrote = True
        cursor = self.raw.cursor()
        cursor.executemany(_convert_placeholders(sql), [[_replace_nul(value) for value in row] for row in parameters])
        return cursor

    def plainly(self, sql: str) -> None:
        """Execute several statements without parameters in one round trip."""
        self.raw.execute(sql.encode(), prepare=False)


@lru_cache(maxsize=512)
def _convert_placeholders(sql: str) -> bytes:
    """Return a statement with the driver's placeholders in place of ours."""
    return sql.replace("%", "%%").replace("?", "%s").encode()


def _replace_nul(value: Any) -> Any:
    """Replace NUL with the replacement character: PostgreSQL's texts have no NUL."""
    return value.replace("\0", "\ufffd") if isinstance(value, str) and "\0" in value else value


def connect_schema(url: str, schema: str, *, wait: float, statement: float) -> "psycopg.Connection[Any]":
    """Connect to one schema and migrate it; a statement may take so many seconds.

    Raises the driver's errors; failing to get a connection may be retried.
    """
    raw: psycopg.Connection[Any] = load_driver().connect(url, autocommit=True, **_connection_options(url, wait))
    try:
        raw.execute(_session_settings(schema, statement).encode(), prepare=False)
        migrate_schema(raw, schema, redact_url(url))
    except BaseException:
        raw.close()
        raise
    return raw


def load_driver() -> Any:
    """Return the driver. Raises `SettingsError` where it isn't installed."""
    try:
        import psycopg
    except ImportError as error:
        raise SettingsError(DRIVER_MISSING) from error
    return psycopg


def _connection_options(url: str, wait: float) -> dict[str, Any]:
    """Return the connection options that a URL leaves open: timeouts, and keepalives that detect a dead peer."""
    load_driver()
    from psycopg import ProgrammingError
    from psycopg.conninfo import conninfo_to_dict

    try:
        said = conninfo_to_dict(check_postgres_url(url))
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


def _session_settings(schema: str, statement: float) -> str:
    """Return the settings of a whole session. Committed means on disk, whatever the server's default is."""
    return (
        f"SET search_path TO {quote_identifier(schema)}; SET statement_timeout = {round(statement * 1000)};"
        f" SET idle_in_transaction_session_timeout = {IDLE * 1000};"
        " SELECT set_config('synchronous_commit', 'on', false) WHERE current_setting('synchronous_commit') = 'off'"
    )
