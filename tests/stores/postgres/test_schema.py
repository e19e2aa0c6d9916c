"""Schemas are brought up step by step, by one process at a time, and never by an older Treadle."""

import asyncio
import sqlite3
import subprocess
from contextlib import closing
from pathlib import Path

import psycopg
import pytest

from cli.forkserver import Forked
from treadle import Agent, Runs, tool
from treadle.core.entries import Opened
from treadle.core.errors import JournalError
from treadle.engine.setup import Services
from treadle.loop.state import replay
from treadle.stores.audit import DatabaseAudit
from treadle.stores.journal import DatabaseJournal
from treadle.stores.migration import migrations_of
from treadle.stores.postgres.address import quote_identifier
from treadle.stores.postgres.schema import MIGRATIONS, migrate_schema
from treadle.testing import Scripted

FORMATS = Path(__file__).parents[1] / "formats"
STEPS = (
    "CREATE TABLE first (a INTEGER)",
    "ALTER TABLE first ADD COLUMN b INTEGER; INSERT INTO first VALUES (1, 2)",
    "DELETE FROM first",
)


def number(place):
    return place.execute("SELECT number FROM version")


async def append_one(database):
    await DatabaseJournal(database).append("r1", 0, [Opened()])


def migrated(place, *steps):
    with psycopg.connect(place.url, autocommit=True) as connection:
        connection.execute(f"SET search_path TO {quote_identifier(place.schema)}")
        migrate_schema(connection, place.schema, "here", steps)
        return connection.execute("SELECT (SELECT number FROM version), count(*) FROM first").fetchone()


def test_steps_are_taken_in_order_and_once(in_postgres):
    assert migrated(in_postgres, *STEPS[:1]) == (1, 0)
    assert migrated(in_postgres, *STEPS[:2]) == (2, 1)
    assert migrated(in_postgres, *STEPS[:2]) == (2, 1)
    assert migrated(in_postgres, *STEPS) == (3, 0)


def test_a_step_that_fails_leaves_things_as_they_were(in_postgres):
    migrated(in_postgres, *STEPS[:1])
    with pytest.raises(psycopg.Error):
        migrated(in_postgres, *STEPS[:2], "NONSENSE")
    assert migrated(in_postgres, *STEPS[:1]) == (1, 0)


def test_a_schema_of_a_newer_treadle_is_refused(in_postgres):
    asyncio.run(append_one(in_postgres.open()))
    assert number(in_postgres) == [(len(MIGRATIONS),)]
    in_postgres.execute("UPDATE version SET number = 99")
    with pytest.raises(JournalError, match=r"^postgresql:///\w+ was made by a newer Treadle; update Treadle to use it\.$"):
        asyncio.run(append_one(in_postgres.open()))


def test_a_schema_that_somebody_else_made_is_used(in_postgres):
    with psycopg.connect(in_postgres.url, autocommit=True) as connection:
        connection.execute(f"CREATE SCHEMA {quote_identifier(in_postgres.schema)}")
    asyncio.run(append_one(in_postgres.open()))
    assert number(in_postgres) == [(len(MIGRATIONS),)]


def kept_in(name):
    """The rows of a home in SQLite (`formats/README.md`); its tables have the columns of PostgreSQL's first format."""
    with closing(sqlite3.connect(":memory:")) as connection:
        connection.executescript((FORMATS / name / "treadle.sql").read_text())
        tables = ("runs", "entries", "audit", "audit_head")
        return {table: connection.execute(f"SELECT * FROM {table}").fetchall() for table in tables}


def test_a_schema_of_the_first_format_is_migrated_and_its_runs_go_on(in_postgres):
    with psycopg.connect(in_postgres.url, autocommit=True) as connection:
        connection.execute(f"SET search_path TO {quote_identifier(in_postgres.schema)}")
        migrate_schema(connection, in_postgres.schema, "here", MIGRATIONS[:1])
        connection.execute("DELETE FROM audit_head")
        for table, rows in kept_in("4-leases").items():
            for row in rows:
                connection.execute(f"INSERT INTO {table} VALUES ({', '.join(['%s'] * len(row))})", row)

    @tool(effect="write")
    def order(item: str, count: int) -> str:
        """Order more."""
        return f"ordered {count}"

    async def story():
        database = in_postgres.open()
        journal, audit = DatabaseJournal(database), DatabaseAudit(database)
        last = max([entry.at for info in await journal.list_runs() for entry in await journal.read(info.run_id)])
        services = Services(journal, audit, clock=lambda: last + 1)
        (approval,) = await Runs(services).approvals("waiting")
        await Runs(services).approve("waiting", approval.call_id, digest=approval.digest)
        result = await Agent(Scripted("Ordered."), tools=[order]).resume("waiting", journal=services)
        done = await database.submit(lambda connection: migrations_of(connection, database.words.has_table))
        return replay(await journal.read("answered")), result, await audit.verify(), done

    state, result, verified, done = asyncio.run(story())
    assert state.finished.text == "We have 40 of them."
    assert (result.stopped, result.output, verified.holds) == ("answered", "Ordered.", True)
    assert [(each.from_format, each.to_format) for each in done] == [(1, len(MIGRATIONS))]


OPENING = """
import asyncio, sys
from treadle.core.entries import Opened
from treadle.stores.journal import DatabaseJournal
from treadle.stores.postgres.database import PostgresDatabase
async def opening():
    database = PostgresDatabase(*sys.argv[1:3])
    import psycopg
    print("ready", flush=True)
    sys.stdin.readline()
    await DatabaseJournal(database).append(sys.argv[3], 0, [Opened()])
    database.close()
asyncio.run(opening())
"""


def test_processes_that_come_at_once_make_the_schema_once(in_postgres):
    args = [["-c", OPENING, in_postgres.url, in_postgres.schema, f"r{number}"] for number in range(3)]
    openers = [Forked(each, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) for each in args]
    for opener in openers:
        assert opener.stdout.readline() == "ready\n"
    for opener in openers:
        opener.stdin.write("go\n")
        opener.stdin.flush()
    for opener in openers:
        opener.communicate(timeout=60)
    assert [opener.returncode for opener in openers] == [0, 0, 0]
    assert in_postgres.execute("SELECT count(*) FROM runs") == [(3,)]
    assert number(in_postgres) == [(len(MIGRATIONS),)]
