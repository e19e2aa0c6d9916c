"""A SQLite file that has lost what was last written to it is noticed, and not written to; others aren't suspected."""

import asyncio
import shutil
import sqlite3
from contextlib import closing

import pytest

from treadle.core.entries import Opened, Said
from treadle.core.errors import JournalDamaged, JournalError
from treadle.stores.journal import DatabaseJournal
from treadle.stores.sqlite import SqliteDatabase


@pytest.fixture
def path(tmp_path):
    return tmp_path / "treadle.db"


async def written(database, entries=3):
    for position in range(entries):
        await DatabaseJournal(database).append("r", position, [Said(text=str(position))])


async def read(database):
    return len(await DatabaseJournal(database).read("r"))


def with_database(path, work, **how):
    database = SqliteDatabase(path, **how)
    try:
        return asyncio.run(work(database))
    finally:
        database.close()


def killed_after(path, entries=3):
    """The files of a process that was killed: nobody has taken the log into the database."""
    database = SqliteDatabase(path)
    asyncio.run(written(database, entries))
    for ending in ("", "-wal", "-mark"):
        shutil.copy(f"{path}{ending}", f"{path}{ending}.kept")
    database.close()
    for ending in ("", "-wal", "-mark"):
        shutil.move(f"{path}{ending}.kept", f"{path}{ending}")


def cut(path, share):
    log = path.with_name(f"{path.name}-wal")
    with log.open("r+b") as file:
        file.truncate(int(log.stat().st_size * share))


def test_what_a_killed_process_had_written_is_there(path):
    killed_after(path)
    assert with_database(path, read) == 3


@pytest.mark.parametrize("share", [0.9, 0.5, 0.0])
def test_a_log_that_was_cut_short_is_noticed(path, share):
    killed_after(path)
    cut(path, share)
    with pytest.raises(JournalDamaged, match=r"has lost its last \d+ writes?: treadle.db or treadle.db-wal was cut short"):
        with_database(path, read)


def test_a_log_that_was_removed_is_noticed(path):
    killed_after(path)
    path.with_name("treadle.db-wal").unlink()
    with pytest.raises(JournalDamaged, match="Put both back as they were"):
        with_database(path, read)


def test_a_database_that_was_removed_is_noticed_and_none_is_begun_in_its_place(path):
    killed_after(path)
    path.unlink()
    path.with_name("treadle.db-wal").unlink()
    for _ in range(2):
        with pytest.raises(JournalDamaged, match="removed or replaced"):
            with_database(path, written)


def test_with_the_log_put_back_it_goes_on(path, tmp_path):
    killed_after(path)
    shutil.copy(f"{path}-wal", tmp_path / "whole")
    cut(path, 0.5)
    with pytest.raises(JournalDamaged):
        with_database(path, read)
    shutil.copy(tmp_path / "whole", f"{path}-wal")
    assert with_database(path, read) == 3


def test_whoever_removes_the_mark_goes_on_with_what_is_there(path):
    killed_after(path, 30)
    cut(path, 0.8)
    path.with_name("treadle.db-mark").unlink()
    assert 0 < with_database(path, read) < 30
    assert path.with_name("treadle.db-mark").stat().st_mode & 0o777 == 0o600


def test_looking_is_no_write_and_every_write_counts(path):
    with_database(path, written)
    with_database(path, read)
    with closing(sqlite3.connect(path)) as connection:
        assert connection.execute("SELECT number FROM written").fetchone() == (3,)
    assert int(path.with_name("treadle.db-mark").read_bytes()) == 3


def test_a_mark_that_cannot_be_read_is_written_anew(path):
    with_database(path, written)
    path.with_name("treadle.db-mark").write_bytes(b"?")
    assert with_database(path, read) == 3
    assert int(path.with_name("treadle.db-mark").read_bytes()) == 3


def test_where_no_mark_can_be_made_nothing_is_written(path):
    path.with_name("treadle.db-mark").mkdir()
    with pytest.raises(JournalError, match="can't be written"):
        with_database(path, written)


def test_two_that_write_at_once_are_not_suspected(path):
    first, second = SqliteDatabase(path), SqliteDatabase(path)

    async def both():
        for number in range(20):
            await DatabaseJournal(first).append(f"a{number}", 0, [Opened()])
            await DatabaseJournal(second).append(f"b{number}", 0, [Opened()])

    asyncio.run(both())
    first.close()
    second.close()
    assert int(path.with_name("treadle.db-mark").read_bytes()) == 40


def test_a_file_that_somebody_keeps_locked_is_told_in_a_sentence(path):
    with_database(path, written)
    with closing(sqlite3.connect(path, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(JournalError, match=r"Another program keeps .*treadle.db locked. Wait until it is done, or end it"):
            with_database(path, read, wait=0.05)
