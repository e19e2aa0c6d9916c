"""Migrations: from nothing, from the first released schema, at the same time, and never from the future."""

import asyncio
import shutil
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import inspect, text

import postgres
from assistants.guidance.store.stage import bridge, keeping
from treadle.assistants.guidance.store import StoreError, open_store
from treadle.assistants.guidance.store.addresses import parse_store_address
from treadle.assistants.guidance.store.database import ProjectDatabase
from treadle.assistants.guidance.store.migrate import HEAD, MIGRATIONS, migrate_database, schema_version_of
from treadle.assistants.guidance.store.tables import VERSIONS, metadata

FIRST = Path(__file__).with_name("first_schema.sql")
SECOND = '''
"""A step as a later release may have one: a table made anew, while other rows belong to its own."""

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"


def upgrade():
    with op.batch_alter_table("guidance_projects", recreate="auto") as table:
        table.add_column(sa.Column("colour", sa.Text, nullable=False, server_default="blue"))
        table.alter_column("title", new_column_name="name")
'''


def inside(address, look):
    """What a function sees in a database, without opening a store."""

    async def main():
        database = ProjectDatabase(parse_store_address(address))
        try:
            async with database.writing() as connection:
                return await connection.run_sync(look)
        finally:
            await database.close()

    return asyncio.run(main())


def schema(path):
    with closing(sqlite3.connect(path)) as connection:
        found = connection.execute("SELECT name, sql FROM sqlite_master WHERE sql IS NOT NULL")
        return {name: " ".join(sql.split()) for name, sql in found}


@pytest.fixture
def first(tmp_path):
    """A file as the first release left it, with a project of ada's that bob is a member of."""
    path = tmp_path / "first.db"
    with closing(sqlite3.connect(path)) as connection:
        connection.executescript(FIRST.read_text())
    return path


@pytest.fixture
def later(tmp_path):
    """The steps of a release to come."""
    steps = tmp_path / "100% later"
    shutil.copytree(MIGRATIONS, steps, ignore=shutil.ignore_patterns("__pycache__"))
    (steps / "versions" / "second.py").write_text(SECOND)
    return steps


async def upgrade(address, steps):
    database = ProjectDatabase(parse_store_address(address))
    try:
        await migrate_database(database, "0002", steps)
    finally:
        await database.close()


def test_an_empty_database_comes_to_have_the_tables_the_code_knows(new_address):
    keeping(new_address, bridge)

    def look(connection):
        context = MigrationContext.configure(connection, opts={"compare_type": True, "compare_server_default": True})
        ours = [each for each in compare_metadata(context, metadata) if VERSIONS not in str(each)]
        return schema_version_of(connection), ours

    assert inside(new_address, look) == (HEAD, [])


def test_the_last_step_is_the_one_the_code_knows_and_there_is_one_way_to_it():
    steps = ScriptDirectory(str(MIGRATIONS))
    assert steps.get_heads() == [HEAD]


def test_the_first_released_schema_is_what_its_step_makes(first, tmp_path):
    keeping(tmp_path / "new.db", bridge)
    step = schema(tmp_path / "new.db")
    assert HEAD == "0001", "the schema has moved on: compare with a database that only the first step has made"
    assert schema(first) == step


def test_a_file_of_the_first_release_comes_up_to_date_with_all_that_is_in_it(first):
    async def look(store):
        (project,) = await store.list_projects("bob")
        return project, await store.export_project("ada", project.id)

    project, exported = keeping(first, look)
    assert (project.title, project.owner, project.members) == ("Bridge", "ada", ("bob",))
    assert exported["problem_spec"]["constraints"] == [{"name": "Budget", "description": "at most 10k", "weight": 80}]
    assert [each["content"] for each in exported["messages"]] == ["What next?", "Run it."]
    assert len(exported["candidates"]) == 2
    assert inside(first, schema_version_of) == HEAD


def test_a_step_that_makes_a_table_anew_keeps_what_belongs_to_its_rows(new_address, later):
    project = keeping(new_address, bridge)
    before = keeping(new_address, lambda store: store.export_project("ada", project.id))
    asyncio.run(upgrade(new_address, later))

    def look(connection):
        names = connection.execute(text("SELECT name, colour FROM guidance_projects")).all()
        said = connection.execute(text("SELECT content FROM guidance_messages ORDER BY number")).scalars().all()
        return schema_version_of(connection), names, said

    assert inside(new_address, look) == ("0002", [("Bridge", "blue")], [each["content"] for each in before["messages"]])


def test_a_step_that_fails_leaves_the_database_as_it_was(new_address, later):
    project = keeping(new_address, bridge)
    (later / "versions" / "second.py").write_text(SECOND + '    op.execute("SELECT nonsense FROM nowhere")\n')
    with pytest.raises(StoreError, match="nowhere"):
        asyncio.run(upgrade(new_address, later))
    assert inside(new_address, schema_version_of) == HEAD
    assert keeping(new_address, lambda store: store.get_project("ada", project.id)) == project


def test_a_step_that_would_leave_strays_is_not_kept(tmp_path, later):
    path = tmp_path / "projects.db"
    project = keeping(path, bridge)
    (later / "versions" / "second.py").write_text(SECOND + '    op.execute("DELETE FROM guidance_projects")\n')
    with pytest.raises(AssertionError, match="guidance_"):
        asyncio.run(upgrade(path, later))
    assert keeping(path, lambda store: store.get_project("ada", project.id)) == project


def test_a_database_of_a_newer_treadle_is_refused_and_left_alone(new_address, later):
    asyncio.run(upgrade(new_address, later))
    with pytest.raises(StoreError, match=r"was made by a newer Treadle; update Treadle to use it\.$"):
        asyncio.run(open_store(new_address))
    assert inside(new_address, schema_version_of) == "0002"


def test_any_number_may_open_an_empty_database_at_once(new_address):
    async def main():
        stores = await asyncio.gather(*(open_store(new_address) for _ in range(6)))
        for number, store in enumerate(stores):
            await store.create_project("ada", f"Project {number}")
        seen = await stores[0].list_projects("ada")
        for store in stores:
            await store.close()
        return len(seen)

    assert asyncio.run(main()) == 6


def test_a_file_of_another_program_is_not_written_to(tmp_path):
    path = tmp_path / "other.db"
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("CREATE TABLE recipes (name TEXT)")
    with pytest.raises(StoreError, match=r"other\.db holds something else; name another file for the projects\.$"):
        asyncio.run(open_store(path))
    assert list(schema(path)) == ["recipes"]


def test_on_a_server_the_tables_of_others_stay_beside_ours():
    with postgres.database() as address:
        inside(address, lambda connection: connection.execute(text("CREATE TABLE recipes (name TEXT)")))
        keeping(address, bridge)
        assert "recipes" in inside(address, lambda connection: inspect(connection).get_table_names())
