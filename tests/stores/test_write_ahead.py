"""Files that are written ahead."""

import sqlite3
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from threading import Barrier

import pytest

from treadle.stores.write_ahead import open_private_sqlite, write_ahead


def test_of_many_who_open_a_new_file_at_once_nobody_is_turned_away(tmp_path):
    def open_it(path, together):
        with closing(sqlite3.connect(path, isolation_level=None)) as connection:
            together.wait()
            write_ahead(connection.execute)
            return connection.execute("PRAGMA journal_mode").fetchone()[0]

    with ThreadPoolExecutor(4) as pool:
        for number in range(60):  # without trying again, one in thirty fails
            together = Barrier(4)
            opened = [pool.submit(open_it, tmp_path / f"{number}.db", together) for _ in range(4)]
            assert [each.result() for each in opened] == ["wal"] * 4


def test_whoever_never_gets_it_is_told_in_the_end(tmp_path):
    with closing(sqlite3.connect(tmp_path / "a.db", isolation_level=None)) as holder:
        holder.execute("BEGIN EXCLUSIVE")
        with (
            closing(sqlite3.connect(tmp_path / "a.db", timeout=0)) as other,
            pytest.raises(sqlite3.OperationalError, match="locked"),
        ):
            write_ahead(other.execute, patience=0.05)


def test_what_else_is_wrong_is_told_at_once(tmp_path):
    (tmp_path / "a.db").write_bytes(b"no database at all, but long enough to be looked at" * 20)
    with (
        closing(sqlite3.connect(tmp_path / "a.db")) as connection,
        pytest.raises(sqlite3.DatabaseError, match="not a database"),
    ):
        write_ahead(connection.execute)


def test_a_file_is_created_for_its_owner_alone_and_closed_at_the_end(tmp_path):
    path = tmp_path / "new" / "notes.db"
    with open_private_sqlite(path) as connection:
        connection.execute("CREATE TABLE notes (text)")
        assert connection.execute("PRAGMA journal_mode").fetchone() == ("wal",)
    assert (path.stat().st_mode & 0o777, path.parent.stat().st_mode & 0o777) == (0o600, 0o700)
    with pytest.raises(sqlite3.ProgrammingError, match="closed"):
        connection.execute("SELECT 1")
