"""Backup and restore of a home as one file: `treadle backup` and `treadle restore`.

SQLite files are copied as a consistent snapshot while Treadle runs. The archive has a manifest with the hash of
every file, and nothing is put in place before all of it is verified. PostgreSQL stores have to be backed up by
PostgreSQL's own tools. The encryption key is included unless it is in the environment; the server's token isn't.

An archive is unpacked by hand: all headers are checked before anything is written, and links, special files, sparse files,
other names, or more data than the disk holds abort it. The filters of tarfile's own extraction can be bypassed by links
(CVE-2025-4517).
"""

import errno
import hashlib
import io
import os
import shutil
import sqlite3
import stat
import tarfile
import time
import zlib
from collections.abc import Iterator, Mapping
from contextlib import closing
from pathlib import Path, PurePosixPath
from tempfile import TemporaryDirectory
from typing import Any, cast

import msgspec
from msgspec import Struct

from treadle._version import __version__
from treadle.core.errors import SettingsError
from treadle.files.workspace_folders import WORKSPACE
from treadle.home import Home
from treadle.stores.blobs import FOLDER as BLOBS
from treadle.stores.disk_errors import is_unwritable, open_read_only
from treadle.stores.journal_key import load_environment_key
from treadle.stores.owner_access import TOKEN_FILE

FORMAT = 1
MANIFEST_FILE = "backup.json"  # the list of what is in an archive
SQLITE_HEADER = b"SQLite format 3\0"
# parts of other files, of this moment, or made anew from the workspace
SKIPPED_SUFFIXES = (".db-wal", ".db-shm", ".db-journal", ".db-mark", ".lock", ".sock", ".part", "symbols.db", TOKEN_FILE)
LOCK_TIMEOUT = 30.0  # seconds to wait for a process that has a database locked
MAX_MANIFEST = 64 * 1024 * 1024  # bytes


class BackupManifest(Struct, frozen=True):
    """The manifest of an archive: the hash of each file, by its path in the home."""

    format: int
    treadle: str
    made_at: float
    files: dict[str, str]


class BackupResult(Struct, frozen=True):
    """The result of a backup."""

    path: str
    files: int
    size: int
    elsewhere: str = ""  # the database that the stores are in, and aren't in the archive
    without_key: bool = False  # whether secrets are encrypted under a key in the environment, which isn't in it either


def create_backup(home: Home, path: Path) -> BackupResult:
    """Write a home into an archive that only its owner can read; raise where the file already exists."""
    if not home.folder.exists():
        raise SettingsError(f"There is nothing to back up: nothing is stored in {home.folder} yet.")
    if path.resolve().is_relative_to(home.folder.resolve()):
        raise SettingsError(f"{path} lies in the folder that is backed up; name a file elsewhere.")
    try:
        descriptor = os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600)
    except FileExistsError as error:
        raise SettingsError(f"{path} is there already; name another file, or remove it first.") from error
    try:
        with os.fdopen(descriptor, "wb") as file, TemporaryDirectory(prefix="treadle-backup-") as room:
            files = _write_archive(home.folder, file, Path(room))
            os.fsync(file.fileno())
    except BaseException:
        path.unlink(missing_ok=True)
        raise
    elsewhere = "" if home.database.name == str(home.folder / "treadle.db") else home.database.name
    return BackupResult(str(path), len(files), path.stat().st_size, elsewhere, load_environment_key() is not None)


def _write_archive(folder: Path, file: io.BufferedWriter, room: Path) -> Mapping[str, str]:
    hashes: dict[str, str] = {}
    with tarfile.open(fileobj=file, mode="w:gz") as archive:
        for name, opened in _iter_files(folder):
            with opened if not _is_sqlite(opened, name) else _copy_database(folder / name, room / "copy.db").open("rb") as source:
                hashes[name] = hashlib.file_digest(source, "sha256").hexdigest()
                source.seek(0)
                about = archive.gettarinfo(arcname=f"home/{name}", fileobj=source)
                archive.addfile(about, source)
            opened.close()
        listed = msgspec.json.encode(BackupManifest(FORMAT, __version__, time.time(), hashes))
        about = tarfile.TarInfo(MANIFEST_FILE)
        about.size, about.mode = len(listed), 0o600
        archive.addfile(about, io.BytesIO(listed))
    return hashes


def _iter_files(folder: Path) -> Iterator[tuple[str, io.BufferedReader]]:
    """Yield every regular file, opened, by its path in the home.

    Symbolic links are skipped, also one swapped in concurrently: their targets aren't part of the home.

    Blobs come last, and are listed last: journals that were copied before refer to none that is missing.
    """
    for is_last in (False, True):
        for root, folders, names, descriptor in os.fwalk(folder):
            folders.sort()
            place = Path(root).relative_to(folder)
            for name in sorted(names):
                path = place / name
                if (
                    (BLOBS in path.parts) is is_last
                    and not name.endswith(SKIPPED_SUFFIXES)
                    and (opened := _open_regular(name, descriptor))
                ):
                    yield path.as_posix(), opened


def _open_regular(name: str, folder: int) -> io.BufferedReader | None:
    """Open a regular file in a folder; return None for anything else. Opening a pipe without a writer must not block."""
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
    """Whether a file is one of our databases. Files in a user's workspace are bytes to us: SQLite must not parse untrusted ones."""
    is_database = file.read(len(SQLITE_HEADER)) == SQLITE_HEADER
    file.seek(0)
    return is_database and WORKSPACE not in Path(name).parts


def _copy_database(path: Path, copy: Path) -> Path:
    """Copy a database as a consistent snapshot, whatever writes to it."""
    copy.unlink(missing_ok=True)
    with closing(_open_source(path)) as source, closing(sqlite3.connect(copy)) as target:
        source.backup(target)
        target.execute("PRAGMA journal_mode=DELETE")  # so that it is one file
    return copy


def _open_source(path: Path) -> sqlite3.Connection:
    """Open a database to copy it; read-only where its disk can't be written."""
    connection = sqlite3.connect(path, timeout=LOCK_TIMEOUT)
    try:
        connection.execute("SELECT count(*) FROM sqlite_master").fetchone()
    except sqlite3.OperationalError as error:
        connection.close()
        if not is_unwritable(error, path):
            raise
        return open_read_only(path, LOCK_TIMEOUT)
    return connection


def _hash_file(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def restore_backup(home: Home, path: Path, *, replace: bool = False) -> tuple[BackupManifest, Path | None]:
    """Put an archive in the place of a home and return its manifest.

    With `replace`, an existing home is moved aside first; also return where to.
    """
    is_there = home.folder.exists() and any(home.folder.iterdir())
    if is_there and not replace:
        raise SettingsError(f"There are things in {home.folder}. To have them moved aside and replaced, write --replace.")
    home.folder.parent.mkdir(parents=True, exist_ok=True)
    with TemporaryDirectory(prefix=".treadle-restore-", dir=home.folder.parent) as room:
        listed = _unpack_verified(path, Path(room))
        aside = _move_aside(home.folder) if is_there else None
        if home.folder.exists():
            home.folder.rmdir()
        fresh = Path(room) / "home"
        fresh.mkdir(exist_ok=True)
        fresh.chmod(0o700)
        fresh.rename(home.folder)
    return listed, aside


def _unpack_verified(path: Path, room: Path) -> BackupManifest:
    """Unpack everything and verify it against the manifest."""
    try:
        unpack_backup(path, room, MANIFEST_FILE)
    except (OSError, tarfile.TarError, EOFError, zlib.error) as error:
        raise SettingsError(
            f"{path} can't be unpacked ({error}); nothing was changed. Is it a file of `treadle backup`?"
        ) from error
    listed = _read_manifest(path, room / MANIFEST_FILE)
    there = {each.relative_to(room / "home").as_posix() for each in (room / "home").rglob("*") if each.is_file()}
    wrong = sorted(there ^ listed.files.keys()) or [
        name for name, known in listed.files.items() if _hash_file(room / "home" / name) != known
    ]
    if wrong:
        raise SettingsError(f"{path} is damaged: {wrong[0]} isn't as it was written. Nothing was changed; use another backup.")
    return listed


def _read_manifest(path: Path, file: Path) -> BackupManifest:
    try:
        with file.open("rb") as opened:
            listed = msgspec.json.decode(opened.read(MAX_MANIFEST), type=BackupManifest)
    except (OSError, msgspec.DecodeError) as error:
        raise SettingsError(f"{path} is no file of `treadle backup`, or was cut short; nothing was changed.") from error
    if listed.format > FORMAT:
        raise SettingsError(f"{path} was made by a newer Treadle ({listed.treadle}); update Treadle to restore it.")
    return listed


def _move_aside(folder: Path) -> Path:
    stamp = time.strftime("%Y%m%d-%H%M%S")
    for number in range(1000):
        aside = folder.with_name(f"{folder.name}.before-restore-{stamp}{f'-{number}' if number else ''}")
        if not aside.exists():
            folder.rename(aside)
            return aside
    raise SettingsError(f"There is no name left to move {folder} to; move it yourself.")


MAX_FILES = 5_000_000
MAX_HEADER = 64 * 1024  # bytes of what a long name or attributes may take, which is read as one piece
SPARE_BYTES = 256 * 1024 * 1024  # bytes that the disk keeps
_LONG = (tarfile.XHDTYPE, tarfile.XGLTYPE, tarfile.SOLARIS_XHDTYPE, tarfile.GNUTYPE_LONGNAME, tarfile.GNUTYPE_LONGLINK)


class ArchiveMember(tarfile.TarInfo):
    """A member whose header size is checked before it is read: tarfile would read a header of any length into memory."""

    def _proc_member(self, archive: tarfile.TarFile) -> tarfile.TarInfo:
        if self.type in _LONG and not 0 <= self.size <= MAX_HEADER:
            raise tarfile.ReadError("a header is too long")
        return cast("Any", super())._proc_member(archive)  # which tarfile means to be overridden

    def _refuse_sparse(self, *_: object) -> tarfile.TarInfo:
        raise tarfile.ReadError("a backup has no sparse files")

    _proc_sparse = _proc_gnusparse_00 = _proc_gnusparse_01 = _proc_gnusparse_10 = _refuse_sparse


def unpack_backup(path: Path, room: Path, listed: str) -> None:
    """Write the files of an archive below `room`; `listed` is the name of its manifest. Raises what tarfile raises."""
    with tarfile.open(path, "r:gz", tarinfo=ArchiveMember) as archive:
        _check_headers(archive, shutil.disk_usage(room).free - SPARE_BYTES, listed)
    with tarfile.open(path, "r:gz", tarinfo=ArchiveMember) as archive:
        for member in archive:
            _write_member(archive, member, room)


def _check_headers(archive: tarfile.TarFile, room: int, listed: str) -> None:
    """Check all headers without reading any content."""
    total = 0
    for count, member in enumerate(archive, 1):
        _check_member(member, listed)
        total += max(member.size, 512)
        if total > room:
            raise tarfile.TarError(f"it holds more than the {max(room, 0):,} bytes that are free for it")
        if count > MAX_FILES:
            raise tarfile.TarError(f"it has more than {MAX_FILES:,} files")
        cast("Any", archive).members.clear()  # else all of them are kept


def _check_member(member: tarfile.TarInfo, listed: str) -> None:
    parts = PurePosixPath(member.name).parts
    is_ours = member.name == listed or (parts[:1] == ("home",) and ".." not in parts and "\0" not in member.name)
    if not is_ours or not (member.isreg() or member.isdir()) or member.size < 0:
        raise tarfile.TarError(f"{member.name[:200]!r} is no file of a backup")


def _write_member(archive: tarfile.TarFile, member: tarfile.TarInfo, room: Path) -> None:
    """Write one file or create one folder. Never overwrites."""
    target = room.joinpath(*PurePosixPath(member.name).parts)
    if member.isdir():
        target.mkdir(parents=True, exist_ok=True)
        return
    source = archive.extractfile(member)
    assert source is not None  # it is a regular file
    target.parent.mkdir(parents=True, exist_ok=True)
    with source, target.open("xb") as file:
        shutil.copyfileobj(source, file)
    target.chmod(member.mode & 0o700 | 0o600)
