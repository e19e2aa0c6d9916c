"""Unpack a `treadle backup` archive: regular files and folders below `home/`, and its manifest. Everything else is refused.

All headers are checked before anything is written: links, special files, sparse files, other names, or more data
than the disk holds abort it. tarfile's own extraction isn't used: its filters can be bypassed by links
(CVE-2025-4517).
"""

import shutil
import tarfile
from pathlib import Path, PurePosixPath
from typing import Any, cast

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
