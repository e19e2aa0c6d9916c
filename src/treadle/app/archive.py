"""Unpacks an archive of `treadle backup`: regular files and folders below `home/`, and its list. Everything else is refused.

All headers are looked at before anything is written: links, special files, sparse files, other names, and more than the disk holds
end it there. tarfile's own extraction, whose filters can be talked round by links (CVE-2025-4517), isn't used.
"""

import shutil
import tarfile
from pathlib import Path, PurePosixPath
from typing import Any, cast

MOST_FILES = 5_000_000
MOST_HEADER = 64 * 1024  # bytes of what a long name or attributes may take, which is read as one piece
SPARE = 256 * 1024 * 1024  # bytes that the disk keeps
_LONG = (tarfile.XHDTYPE, tarfile.XGLTYPE, tarfile.SOLARIS_XHDTYPE, tarfile.GNUTYPE_LONGNAME, tarfile.GNUTYPE_LONGLINK)


class Member(tarfile.TarInfo):
    """A member whose header is looked at before it is followed: tarfile would read any length of one into memory."""

    def _proc_member(self, archive: tarfile.TarFile) -> tarfile.TarInfo:
        if self.type in _LONG and not 0 <= self.size <= MOST_HEADER:
            raise tarfile.ReadError("a header is too long")
        return cast("Any", super())._proc_member(archive)  # which tarfile means to be overridden

    def _refuse(self, *_: object) -> tarfile.TarInfo:
        raise tarfile.ReadError("a backup has no sparse files")

    _proc_sparse = _proc_gnusparse_00 = _proc_gnusparse_01 = _proc_gnusparse_10 = _refuse


def unpack(path: Path, room: Path, listed: str) -> None:
    """Write the files of an archive below `room`; `listed` is the name of its list. Raises what tarfile raises."""
    with tarfile.open(path, "r:gz", tarinfo=Member) as archive:
        _check(archive, shutil.disk_usage(room).free - SPARE, listed)
    with tarfile.open(path, "r:gz", tarinfo=Member) as archive:
        for member in archive:
            _write(archive, member, room)


def _check(archive: tarfile.TarFile, room: int, listed: str) -> None:
    """Look at all headers, and at no content."""
    total = 0
    for count, member in enumerate(archive, 1):
        _check_member(member, listed)
        total += max(member.size, 512)
        if total > room:
            raise tarfile.TarError(f"it holds more than the {max(room, 0):,} bytes that are free for it")
        if count > MOST_FILES:
            raise tarfile.TarError(f"it has more than {MOST_FILES:,} files")
        cast("Any", archive).members.clear()  # else all of them are kept


def _check_member(member: tarfile.TarInfo, listed: str) -> None:
    parts = PurePosixPath(member.name).parts
    is_ours = member.name == listed or (parts[:1] == ("home",) and ".." not in parts and "\0" not in member.name)
    if not is_ours or not (member.isreg() or member.isdir()) or member.size < 0:
        raise tarfile.TarError(f"{member.name[:200]!r} is no file of a backup")


def _write(archive: tarfile.TarFile, member: tarfile.TarInfo, room: Path) -> None:
    """Write one file or make one folder. Nothing is written over."""
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
