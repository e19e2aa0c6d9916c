"""Where projects are kept in the tests of the guidance assistant: a SQLite file, or a real PostgreSQL.

The store's own tests run on both; of the others, those marked with `on_both_stores` do. Tables are made once for a session: each
test gets a copy of the file, or the one database, which is emptied after it. What is about making the tables has a `new_address`.
"""

import asyncio
import shutil

import pytest

import postgres
from assistants.guidance.table import BOTH, Table
from treadle.assistants.guidance.store import open_store


async def _make_tables(address):
    async with await open_store(address):
        pass


@pytest.fixture(scope="session")
def store_file(tmp_path_factory):
    """A SQLite file that has the tables, and nothing in them."""
    path = tmp_path_factory.mktemp("guidance") / "projects.db"
    asyncio.run(_make_tables(path))
    return path


@pytest.fixture(scope="session")
def store_database():
    """The address of a PostgreSQL database that has the tables, and nothing in them."""
    with postgres.database() as address:
        asyncio.run(_make_tables(address))
        yield address


@pytest.fixture
def _emptied_database(store_database):
    yield store_database
    import psycopg  # it is there, or the database weren't

    from treadle.assistants.guidance.store.tables import projects

    with psycopg.connect(store_database, autocommit=True) as connection:
        connection.execute("SET lock_timeout = '20s'")  # a test that leaves a transaction open fails
        connection.execute(f"DELETE FROM {projects.name}")  # everything else belongs to a project and goes with it


@pytest.fixture
def address(request, tmp_path):
    """The address of a store that has nothing in it."""
    if getattr(request, "param", "sqlite") == "postgresql":
        return request.getfixturevalue("_emptied_database")
    shutil.copy(request.getfixturevalue("store_file"), tmp_path / "projects.db")
    return f"sqlite:///{tmp_path / 'projects.db'}"


@pytest.fixture(params=BOTH)
def new_address(request, tmp_path):
    """Where a new store can be opened."""
    if request.param == "sqlite":
        yield f"sqlite:///{tmp_path / 'projects.db'}"
    else:
        with postgres.database() as found:
            yield found


@pytest.fixture
def table(address, tmp_path, monkeypatch):
    """A person at the sample project."""
    return Table(tmp_path, address, monkeypatch)
