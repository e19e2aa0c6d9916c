"""Opening a store: what it leaves on disk, what it needs, and what it says where it can't be opened."""

import asyncio
import sqlite3
import stat
import subprocess
import sys

import pytest

from assistants.guidance.store.stage import SPEC, WHY, keeping
from treadle.assistants.guidance.store import StoreError, open_store
from treadle.assistants.guidance.store import store as store_module
from treadle.errors import SettingsError

MISSING = """
import asyncio, sys
sys.modules["{package}"] = None
from treadle.assistants.guidance.store import open_store
asyncio.run(open_store("{address}"))
"""


async def create(store):
    return await store.create_project("ada", "Bridge")


def test_only_its_owner_can_read_the_file(tmp_path):
    path = tmp_path / "new" / "projects.db"

    async def look(store):
        await create(store)
        return {each.name: stat.S_IMODE(each.stat().st_mode) for each in path.parent.iterdir()}

    modes = keeping(path, look)
    assert modes == {"projects.db": 0o600, "projects.db-wal": 0o600, "projects.db-shm": 0o600}
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700


def test_a_file_may_have_any_name(tmp_path):
    path = tmp_path / "50% of ?#é.db"
    project = keeping(path, create)
    assert keeping(path, lambda store: store.list_projects("ada")) == [project]
    assert path.exists()


def test_the_file_is_a_write_ahead_log_that_holds_to_what_belongs_together(tmp_path):
    path = tmp_path / "projects.db"
    keeping(path, create)
    with sqlite3.connect(path) as connection:
        assert connection.execute("PRAGMA journal_mode").fetchone() == ("wal",)
    connection.close()

    async def stray(store):
        async with store._database.writing() as connection:
            await connection.exec_driver_sql("INSERT INTO guidance_members VALUES ('nowhere', 'ada')")

    with pytest.raises(StoreError, match="FOREIGN KEY"):
        keeping(path, stray)


def test_what_was_written_is_there_when_opened_again(new_address):
    async def write(store):
        project = await create(store)
        return project, await store.put_problem_spec("ada", project.id, SPEC, expected=0, why=WHY)

    project, spec = keeping(new_address, write)
    assert keeping(new_address, lambda store: store.get_problem_spec("ada", project.id)) == spec


def test_a_file_that_is_no_database_is_refused(tmp_path):
    path = tmp_path / "notes.txt"
    path.write_text("These are my notes." * 100)
    with pytest.raises(StoreError, match=r"notes\.txt is damaged, or is no database"):
        asyncio.run(open_store(path))
    assert path.read_text() == "These are my notes." * 100


def test_a_folder_is_refused(tmp_path):
    with pytest.raises(StoreError, match="can't be used"):
        asyncio.run(open_store(tmp_path))


def test_a_server_that_is_not_there_is_named_without_its_password():
    with pytest.raises(StoreError, match=r"^postgresql://ada:\*\*\*@127\.0\.0\.1:1/p can't be used") as refused:
        asyncio.run(open_store("postgresql://ada:secret@127.0.0.1:1/p?connect_timeout=5"))
    assert "secret" not in str(refused.value)


def test_an_address_that_makes_no_sense_is_refused():
    with pytest.raises(SettingsError, match="no address of a database"):
        asyncio.run(open_store("postgresql://ada:secret@host:port/p"))


@pytest.mark.parametrize(
    ("package", "given"),
    [("sqlalchemy", "p.db"), ("alembic", "p.db"), ("aiosqlite", "p.db"), ("psycopg", "postgresql://localhost/p")],
)
def test_where_a_package_is_missing_a_sentence_says_how_to_get_it(package, given, tmp_path):
    script = MISSING.format(package=package, address=given)
    said = subprocess.run([sys.executable, "-c", script], cwd=tmp_path, capture_output=True, text=True)
    assert said.returncode
    assert f"Projects are kept with {package}, not installed here: pip install 'treadle[guidance]'" in said.stderr


def test_importing_the_store_imports_nothing_heavy():
    heavy = "{'sqlalchemy', 'alembic', 'greenlet', 'aiosqlite', 'psycopg', 'sqlite3', 'dataclasses'}"
    script = f"import sys, treadle.assistants.guidance.store; print({heavy} & set(sys.modules) or 'none')"
    assert subprocess.run([sys.executable, "-c", script], capture_output=True, text=True).stdout == "none\n"


def test_the_class_can_be_named_and_nothing_else_that_is_not_there():
    from treadle.assistants.guidance import store

    assert store.Store is store_module.Store
    with pytest.raises(AttributeError, match="Shop"):
        _ = store.Shop
