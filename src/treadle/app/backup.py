"""A home in one file, and back again: `treadle backup` and `treadle restore`.

SQLite files are copied as of one moment, while Treadle goes on. What is in an archive is listed in it with its hash, and nothing
is put in place before all of it was found to be as listed. A home whose stores are in PostgreSQL has those backed up by PostgreSQL.
The key that secrets are encrypted under is among the files, unless it is in the environment; the token of the server isn't.
What `restore` takes is `app.archive`.
"""

import errno
import hashlib
import io
import os
import sqlite3
import stat
import tarfile
import time
import zlib
from collections.abc import Iterator, Mapping
from contextlib import closing
from pathlib import Path
from tempfile import TemporaryDirectory

import msgspec
from msgspec import Struct

from treadle._version import __version__
from treadle.app.archive import unpack
from treadle.app.home import Home
from treadle.core.errors import SettingsError
from treadle.files.places import WORKSPACE
from treadle.stores.blobs import FOLDER as BLOBS
from treadle.stores.journal_key import settled_key
from treadle.stores.owner import TOKEN_FILE

FORMAT = 1
LISTED = "backup.json"  # the list of what is in an archive
HEAD = b"SQLite format 3\0"
# parts of other files, or of this moment
AWAY = (".db-wal", ".db-shm", ".db-journal", ".db-mark", ".lock", ".sock", ".part", TOKEN_FILE)
MOST_LISTED = 64 * 1024 * 1024  # bytes


class Listed(Struct, frozen=True):
    """What is in an archive: the hash of each file, by its path in the home."""

    format: int
    treadle: str
    made_at: float
    files: dict[str, str]


class Backed(Struct, frozen=True):
    """What came of a backup."""

    path: str
    files: int
    size: int
    elsewhere: str = ""  # the database that the stores are in, and aren't in the archive
    without_key: bool = False  # whether secrets are encrypted under a key in the environment, which isn't in it either


def back_up(home: Home, path: Path) -> Backed:
    """Write a home into an archive that only its owner can read; a file that is there is not written over."""
    if not home.folder.exists():
        raise SettingsError(f"There is nothing to back up: nothing is kept in {home.folder} yet.")
    if path.resolve().is_relative_to(home.folder.resolve()):
        raise SettingsError(f"{path} lies in the folder that is backed up; name a file elsewhere.")
    try:
        descriptor = os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600)
    except FileExistsError as error:
        raise SettingsError(f"{path} is there already; name another file, or remove it first.") from error
    try:
        with os.fdopen(descriptor, "wb") as file, TemporaryDirectory(prefix="treadle-backup-") as room:
            files = _written(home.folder, file, Path(room))
            os.fsync(file.fileno())
    except BaseException:
        path.unlink(missing_ok=True)
        raise
    elsewhere = "" if home.database.name == str(home.folder / "treadle.db") else home.database.name
    return Backed(str(path), len(files), path.stat().st_size, elsewhere, settled_key() is not None)


def _written(folder: Path, file: io.BufferedWriter, room: Path) -> Mapping[str, str]:
    hashes: dict[str, str] = {}
    with tarfile.open(fileobj=file, mode="w:gz") as archive:
        for name, opened in _files(folder):
            with opened if not _is_sqlite(opened, name) else _copied(folder / name, room / "copy.db").open("rb") as source:
                hashes[name] = hashlib.file_digest(source, "sha256").hexdigest()
                source.seek(0)
                about = archive.gettarinfo(arcname=f"home/{name}", fileobj=source)
                archive.addfile(about, source)
            opened.close()
        listed = msgspec.json.encode(Listed(FORMAT, __version__, time.time(), hashes))
        about = tarfile.TarInfo(LISTED)
        about.size, about.mode = len(listed), 0o600
        archive.addfile(about, io.BytesIO(listed))
    return hashes


def _files(folder: Path) -> Iterator[tuple[str, io.BufferedReader]]:
    """Whatever is a file of its own, opened, by its path in the home. Links are left where they are, also one that was swapped in
    a moment ago: what they lead to isn't part of the home.

    Images and the like come last, and are looked for last: journals that were copied before have none that isn't there.
    """
    for is_last in (False, True):
        for root, folders, names, descriptor in os.fwalk(folder):
            folders.sort()
            place = Path(root).relative_to(folder)
            for name in sorted(names):
                path = place / name
                if (BLOBS in path.parts) is is_last and not name.endswith(AWAY) and (opened := _opened(name, descriptor)):
                    yield path.as_posix(), opened


def _opened(name: str, folder: int) -> io.BufferedReader | None:
    """A regular file in a folder; None for anything else. Opening a pipe that nobody writes to mustn't wait."""
    try:
        descriptor = os.open(name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, dir_fd=folder)
    except OSError as error:
        if error.errno in (errno.ELOOP, errno.ENXIO, errno.ENOENT):  # a link, a socket, or gone
            return None
        raise
    if stat.S_ISREG(os.fstat(descriptor).st_mode):
        return os.fdopen(descriptor, "rb")
    os.close(descriptor)
    return None


def _is_sqlite(file: io.BufferedReader, name: str) -> bool:
    """Whether it is a database of ours. What is in a user's workspace is bytes to us: SQLite isn't to read what others wrote."""
    is_database = file.read(len(HEAD)) == HEAD
    file.seek(0)
    return is_database and WORKSPACE not in Path(name).parts


def _copied(path: Path, copy: Path) -> Path:
    """The database as of one moment, whoever writes to it."""
    copy.unlink(missing_ok=True)
    with closing(sqlite3.connect(path, timeout=30)) as source, closing(sqlite3.connect(copy)) as target:
        source.backup(target)
        target.execute("PRAGMA journal_mode=DELETE")  # so that it is one file
    return copy


def _hash(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def restore(home: Home, path: Path, *, replace: bool = False) -> tuple[Listed, Path | None]:
    """Put an archive in the place of a home. What was there is moved aside, if that is wanted; returns the list and where to."""
    is_there = home.folder.exists() and any(home.folder.iterdir())
    if is_there and not replace:
        raise SettingsError(f"There are things in {home.folder}. To have them moved aside and replaced, write --replace.")
    home.folder.parent.mkdir(parents=True, exist_ok=True)
    with TemporaryDirectory(prefix=".treadle-restore-", dir=home.folder.parent) as room:
        listed = _unpacked(path, Path(room))
        aside = _moved_aside(home.folder) if is_there else None
        if home.folder.exists():
            home.folder.rmdir()
        fresh = Path(room) / "home"
        fresh.mkdir(exist_ok=True)
        fresh.chmod(0o700)
        fresh.rename(home.folder)
    return listed, aside


def _unpacked(path: Path, room: Path) -> Listed:
    """Everything, found to be as listed."""
    try:
        unpack(path, room, LISTED)
    except (OSError, tarfile.TarError, EOFError, zlib.error) as error:
        raise SettingsError(
            f"{path} can't be unpacked ({error}); nothing was changed. Is it a file of `treadle backup`?"
        ) from error
    listed = _listed(path, room / LISTED)
    there = {each.relative_to(room / "home").as_posix() for each in (room / "home").rglob("*") if each.is_file()}
    wrong = sorted(there ^ listed.files.keys()) or [
        name for name, known in listed.files.items() if _hash(room / "home" / name) != known
    ]
    if wrong:
        raise SettingsError(f"{path} is damaged: {wrong[0]} isn't as it was written. Nothing was changed; use another backup.")
    return listed


def _listed(path: Path, file: Path) -> Listed:
    try:
        with file.open("rb") as opened:
            listed = msgspec.json.decode(opened.read(MOST_LISTED), type=Listed)
    except (OSError, msgspec.DecodeError) as error:
        raise SettingsError(f"{path} is no file of `treadle backup`, or was cut short; nothing was changed.") from error
    if listed.format > FORMAT:
        raise SettingsError(f"{path} was made by a newer Treadle ({listed.treadle}); update Treadle to restore it.")
    return listed


def _moved_aside(folder: Path) -> Path:
    stamp = time.strftime("%Y%m%d-%H%M%S")
    for number in range(1000):
        aside = folder.with_name(f"{folder.name}.before-restore-{stamp}{f'-{number}' if number else ''}")
        if not aside.exists():
            folder.rename(aside)
            return aside
    raise SettingsError(f"There is no name left to move {folder} to; move it yourself.")
