"""The SQLite file: its owner's alone, and whatever is wrong with it is told in a sentence."""

import asyncio
import sqlite3
import stat

import pytest

from treadle.core.entries import Opened, Said
from treadle.core.errors import JournalDamaged, JournalError
from treadle.stores.journal import DatabaseJournal
from treadle.stores.sqlite import SCHEMA_VERSION, SqliteDatabase, open_sqlite


@pytest.fixture
def database(in_sqlite):
    return in_sqlite.open()


async def append_one(database):
    await DatabaseJournal(database).append("r1", 0, [Opened()])


def test_the_file_is_its_owners_alone(database):
    asyncio.run(append_one(database))
    assert stat.S_IMODE(database.path.stat().st_mode) == 0o600
    assert stat.S_IMODE(database.path.parent.stat().st_mode) == 0o700


def test_a_damaged_file_is_refused_with_a_sentence_and_left_as_it_is(tmp_path):
    path = tmp_path / "t.db"
    path.write_bytes(b"this is no database, whatever its name says" * 100)
    database = SqliteDatabase(path)
    with pytest.raises(JournalDamaged, match="Move it aside or restore a backup"):
        asyncio.run(append_one(database))
    with pytest.raises(JournalDamaged, match="Move it aside"), database.apart():
        pass
    database.close()
    assert path.read_bytes().startswith(b"this is no database")


def test_a_file_of_a_newer_treadle_is_refused(tmp_path):
    connection = sqlite3.connect(tmp_path / "t.db")
    connection.execute(f"PRAGMA user_version={SCHEMA_VERSION + 1}")
    connection.close()
    database = SqliteDatabase(tmp_path / "t.db")
    with pytest.raises(JournalError, match="was made by a newer Treadle; update Treadle to use it"):
        asyncio.run(append_one(database))
    database.close()


def test_a_folder_that_cannot_be_written_is_told_in_a_sentence(tmp_path):
    (tmp_path / "file").write_text("in the way")
    database = SqliteDatabase(tmp_path / "file" / "t.db")
    with pytest.raises(JournalError, match="TREADLE_HOME"):
        asyncio.run(append_one(database))
    database.close()


def test_a_full_disk_fails_the_write_and_the_run_can_go_on_once_there_is_room(database):
    async def story():
        await append_one(database)
        await database.submit(lambda connection: connection.execute("PRAGMA max_page_count=1"))
        journal = DatabaseJournal(database)
        with pytest.raises(JournalError, match="Make room"):
            await journal.append("r1", 1, [Said(text="x" * 1_000_000)])
        await database.submit(lambda connection: connection.execute("PRAGMA max_page_count=1000000"))
        await journal.append("r1", 1, [Said(text="x" * 1_000_000)])
        return len(await journal.read("r1"))

    assert asyncio.run(story()) == 2


def test_opening_an_existing_file_keeps_what_is_in_it(tmp_path):
    open_sqlite(tmp_path / "t.db").close()
    connection = open_sqlite(tmp_path / "t.db")
    assert connection.execute("PRAGMA journal_mode").fetchone()[0] == "wal"
    assert connection.execute("PRAGMA synchronous").fetchone()[0] == 2
    connection.close()
