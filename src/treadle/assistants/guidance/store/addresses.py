"""Parse the address of the project store: a SQLite file, or a PostgreSQL server. Pure.

An address is always shown without its password.
"""

import re
from pathlib import Path
from urllib.parse import unquote

from msgspec import Struct

from treadle.errors import SettingsError

_SCHEME = re.compile(r"\A([a-z][a-z0-9+]+):(?=/)", re.IGNORECASE)
_POSTGRES = {"postgresql", "postgres", "postgresql+psycopg"}
_SQLITE = {"sqlite", "sqlite+aiosqlite"}
_ADDRESS_HINT = "name a file, sqlite:///FILE, or postgresql://USER@HOST/DATABASE"


class SqliteFile(Struct, frozen=True):
    """A SQLite file."""

    path: Path


class PostgresServer(Struct, frozen=True):
    """A database on a PostgreSQL server, by the address that its driver expects."""

    address: str


def parse_store_address(address: Path | str) -> SqliteFile | PostgresServer:
    """Parse an address to a file or a server."""
    if isinstance(address, Path):
        return SqliteFile(address)
    scheme = _SCHEME.match(address)
    if scheme is None:
        return _sqlite_file(address)
    kind, rest = scheme[1].lower(), address[scheme.end() :]
    if kind in _SQLITE and rest.startswith("///"):
        return _sqlite_file(unquote(rest[3:].partition("?")[0]))
    if kind in _POSTGRES and rest.startswith("//"):
        return PostgresServer(f"postgresql+psycopg:{rest}")
    raise SettingsError(f"Projects can't be kept at an address that begins with {scheme[0]}; {_ADDRESS_HINT}.")


def _sqlite_file(path: str) -> SqliteFile:
    if not path.strip() or path == ":memory:":
        raise SettingsError(f"Projects have to be kept somewhere; {_ADDRESS_HINT}.")
    return SqliteFile(Path(path).expanduser())
