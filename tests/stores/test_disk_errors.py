"""What an error of SQLite or of the disk means, and what to do about it."""

import errno
import os
import sqlite3
from contextlib import closing

import pytest

from treadle.core.errors import JournalDamaged, JournalError
from treadle.stores.disk_errors import classify_disk_error, examine_disk, is_unwritable, open_read_only
from treadle.stores.sqlite import open_sqlite, translate_sqlite_error


def sqlite_error(code):
    error = sqlite3.OperationalError("an error")
    error.sqlite_errorcode = code
    return error


@pytest.mark.parametrize(
    ("error", "fault"),
    [
        (sqlite_error(sqlite3.SQLITE_CORRUPT), "damaged"),
        (sqlite_error(sqlite3.SQLITE_NOTADB), "damaged"),
        (sqlite_error(sqlite3.SQLITE_BUSY_SNAPSHOT), "locked"),
        (sqlite_error(sqlite3.SQLITE_FULL), "full"),
        (sqlite_error(sqlite3.SQLITE_IOERR_WRITE), "unknown"),
        (sqlite3.OperationalError("no such table: x"), "unknown"),
        (OSError(errno.ENOSPC, "No space left on device"), "full"),
        (OSError(errno.EROFS, "Read-only file system"), "read-only"),
        (OSError(errno.EACCES, "Permission denied"), "forbidden"),
        (OSError(errno.EIO, "Input/output error"), "unknown"),
    ],
)
def test_only_a_damaged_file_is_said_to_be_damaged(tmp_path, error, fault):
    path = tmp_path / "t.db"
    path.touch()
    assert classify_disk_error(error, path) == fault
    told = translate_sqlite_error(error, path)
    assert isinstance(told, JournalDamaged) is (fault == "damaged")
    assert ("aside" in str(told)) is (fault == "damaged")
    assert is_unwritable(error, path) is (fault in ("full", "read-only", "forbidden"))
    assert not is_unwritable(error, tmp_path / "missing.db")


def test_an_error_of_our_own_stays_what_it_is(tmp_path):
    error = ValueError("x")
    assert translate_sqlite_error(error, tmp_path) is error


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_folder_that_may_not_be_written_is_found(tmp_path):
    tmp_path.chmod(0o500)
    assert examine_disk(tmp_path / "t.db") == "forbidden"
    tmp_path.chmod(0o700)


def test_a_file_is_opened_for_reading_without_a_change(tmp_path):
    path = tmp_path / "a ?#% name.db"
    open_sqlite(path).close()
    with closing(open_read_only(path)) as connection:
        assert connection.execute("SELECT count(*) FROM runs").fetchone() == (0,)
        with pytest.raises(sqlite3.OperationalError, match="readonly"):
            connection.execute("DELETE FROM runs")


def test_a_file_that_is_none_is_not_opened(tmp_path):
    (tmp_path / "t.db").write_bytes(b"this is no database" * 100)
    with pytest.raises(sqlite3.DatabaseError, match="not a database"):
        open_read_only(tmp_path / "t.db")
    with pytest.raises((sqlite3.OperationalError, JournalError)):
        open_read_only(tmp_path / "missing.db")
