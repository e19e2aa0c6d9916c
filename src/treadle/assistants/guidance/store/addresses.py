"""Where projects are kept, read from what a person wrote: a SQLite file, or a PostgreSQL server by its address. Pure.

An address is shown without its password, wherever it is shown.
"""

import re
from pathlib import Path
from urllib.parse import unquote

from msgspec import Struct

from treadle import SettingsError

_SCHEME = re.compile(r"\A([a-z][a-z0-9+]+):(?=/)", re.IGNORECASE)
_POSTGRES = {"postgresql", "postgres", "postgresql+psycopg"}
_SQLITE = {"sqlite", "sqlite+aiosqlite"}
_WORDS = "name a file, sqlite:///FILE, or postgresql://USER@HOST/DATABASE"


class File(Struct, frozen=True):
    """A SQLite file."""

    path: Path


class Server(Struct, frozen=True):
    """A database on a PostgreSQL server, by the address that its driver takes."""

    address: str


def where(address: Path | str) -> File | Server:
    """The file or server that is meant."""
    if isinstance(address, Path):
        return File(address)
    scheme = _SCHEME.match(address)
    if scheme is None:
        return _file(address)
    kind, rest = scheme[1].lower(), address[scheme.end() :]
    if kind in _SQLITE and rest.startswith("///"):
        return _file(unquote(rest[3:].partition("?")[0]))
    if kind in _POSTGRES and rest.startswith("//"):
        return Server(f"postgresql+psycopg:{rest}")
    raise SettingsError(f"Projects can't be kept at an address that begins with {scheme[0]}; {_WORDS}.")


def _file(path: str) -> File:
    if not path.strip() or path == ":memory:":
        raise SettingsError(f"Projects have to be kept somewhere; {_WORDS}.")
    return File(Path(path).expanduser())
