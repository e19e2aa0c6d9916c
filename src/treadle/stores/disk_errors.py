"""What is wrong when a SQLite file can't be used: the file, or the disk. And opening it for reading where it can't be written.

A damaged file has to be replaced; a full or read-only disk loses nothing, and reading still works.
"""

import errno
import os
import shutil
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from treadle.core.errors import JournalError

if TYPE_CHECKING:
    import sqlite3

DiskFault = Literal["damaged", "locked", "full", "read-only", "forbidden", "unknown"]

ROOM = 100_000  # bytes below which SQLite can't even create the files beside a database
_FULL_ERRORS = (errno.ENOSPC, errno.EDQUOT)
_UNWRITABLE: tuple[DiskFault, ...] = ("full", "read-only", "forbidden")
ADVICE: dict[DiskFault, str] = {
    "full": "Make room on its disk, which is full, then resume. Nothing is lost, and reading still works.",
    "read-only": "Its disk is read-only: mount it writable, or set TREADLE_HOME to another folder. Reading still works.",
    "forbidden": "You may not write there: change its permissions, or set TREADLE_HOME to another folder.",
}


def classify_disk_error(error: Exception, path: Path) -> DiskFault:
    """Return what an error of SQLite or of the operating system about this file means."""
    import sqlite3

    if isinstance(error, OSError):
        return _classify_errno(error.errno, path)
    code = getattr(error, "sqlite_errorcode", None) or 0
    match code & 0xFF:  # the rest says more about the same
        case sqlite3.SQLITE_CORRUPT | sqlite3.SQLITE_NOTADB:
            return "damaged"
        case sqlite3.SQLITE_BUSY | sqlite3.SQLITE_LOCKED:
            return "locked"
        case sqlite3.SQLITE_FULL:
            return "full"
        case sqlite3.SQLITE_READONLY | sqlite3.SQLITE_CANTOPEN | sqlite3.SQLITE_IOERR | sqlite3.SQLITE_PERM:
            return examine_disk(path)
        case _:
            return "unknown"


def _classify_errno(number: int | None, path: Path) -> DiskFault:
    if number in _FULL_ERRORS:
        return "full"
    if number == errno.EROFS:
        return "read-only"
    return "forbidden" if number in (errno.EACCES, errno.EPERM) else examine_disk(path)


def examine_disk(path: Path) -> DiskFault:
    """Return what keeps the folder of a file from being written; "unknown" where nothing does."""
    folder = next((each for each in path.parents if each.is_dir()), Path("/"))
    try:
        if os.statvfs(folder).f_flag & os.ST_RDONLY:
            return "read-only"
        if shutil.disk_usage(folder).free < ROOM:
            return "full"
    except OSError:
        return "unknown"
    return "unknown" if os.access(folder, os.W_OK) and (not path.exists() or os.access(path, os.W_OK)) else "forbidden"


def is_unwritable(error: Exception, path: Path) -> bool:
    """Return whether the file is there and only writing it failed, because of its disk or its permissions."""
    return path.exists() and classify_disk_error(error, path) in _UNWRITABLE


def open_read_only(path: Path, wait: float = 5.0) -> "sqlite3.Connection":
    """Open a file without changing anything, on a disk that may be full or read-only.

    SQLite can't create the files beside it there, which it needs for a write-ahead log. Without such a log no process has the
    file open for writing, so that it can be read as it is.
    """
    import sqlite3

    try:
        return _connect(path, "mode=ro", wait)
    except sqlite3.OperationalError as error:
        if classify_disk_error(error, path) not in _UNWRITABLE:
            raise
        log = path.with_name(f"{path.name}-wal")
        if log.exists() and log.stat().st_size:
            raise JournalError(
                f"{path} has changes in {log.name}, which can't be read on this disk ({error}). Copy the folder to another disk, "
                "and set TREADLE_HOME to it."
            ) from error
        return _connect(path, "mode=ro&immutable=1", wait)


def _connect(path: Path, how: str, wait: float) -> "sqlite3.Connection":
    import sqlite3

    from_path = str(path.absolute()).replace("%", "%25").replace("?", "%3f").replace("#", "%23")
    connection = sqlite3.connect(f"file:{from_path}?{how}", uri=True, timeout=wait, isolation_level=None)
    try:
        connection.execute("SELECT count(*) FROM sqlite_master").fetchone()  # opening alone reads nothing
    except BaseException:
        connection.close()
        raise
    return connection
