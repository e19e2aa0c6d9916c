"""The SQLite library that passages are kept with: Python's own where it can load sqlite-vec, else pysqlite3 if that is installed.

Where neither can, vectors are compared in Python. One process uses one library for a file: their locks don't know of each other.
"""

from functools import cache
from importlib.util import find_spec
from types import ModuleType
from typing import TYPE_CHECKING, cast

if TYPE_CHECKING:
    from sqlite3 import Connection


@cache
def library() -> ModuleType:
    """The module to use, by the names of Python's own."""
    import sqlite3

    if not hasattr(sqlite3.Connection, "enable_load_extension") and find_spec("pysqlite3") and find_spec("sqlite_vec"):
        from importlib import import_module

        return import_module("pysqlite3")
    return sqlite3


@cache
def loads_vectors() -> bool:
    """Whether sqlite-vec can be had here."""
    if not hasattr(library().Connection, "enable_load_extension") or find_spec("sqlite_vec") is None:
        return False
    connection = cast("Connection", library().connect(":memory:"))
    try:
        load_vectors(connection)
    except (library().Error, OSError):
        return False
    finally:
        connection.close()
    return True


def load_vectors(connection: "Connection") -> None:
    """Make the functions of sqlite-vec known to a connection; nothing else can be loaded afterwards."""
    import sqlite_vec

    connection.enable_load_extension(True)
    try:
        sqlite_vec.load(connection)
    finally:
        connection.enable_load_extension(False)
