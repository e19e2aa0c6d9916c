"""A folder that paths are opened beneath, never outside: not by `..`, an absolute path, a link, or a link swapped in meanwhile.

The one guard against path traversal. Where the kernel can resolve a path beneath a folder it does, and links that stay inside are
followed. Elsewhere each part of a path is opened by itself and no link is followed at all. A file is written beside the old one and
takes its name, so that a hard link to the old content keeps it. For POSIX systems.
"""

import os
import stat
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from posixpath import normpath
from typing import BinaryIO, Literal

from msgspec import Struct

from treadle.core.regular_files import NotRegular, open_regular
from treadle.files.environment import own_environment
from treadle.files.openat2 import Opener, load_opener
from treadle.files.problems import (
    BadPath,
    FileTooLarge,
    GuardedPath,
    MissingPath,
    NotAFile,
    SecretFile,
    SystemRefused,
    WorkspaceProblem,
    error_from_os,
    outside_error,
    printable_name,
)
from treadle.files.secret_files import is_secret_file

MAX_BYTES = 10_000_000
MAX_ENTRIES = 10_000
MAX_DEPTH = 200  # folders in one another that are walked
GUARDED = (".git",)

FileKind = Literal["file", "folder", "link", "other"]

_PATH: int = getattr(os, "O_PATH", os.O_RDONLY)
_FOLDER = _PATH | os.O_DIRECTORY | os.O_CLOEXEC
_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC


def _is_hidden(name: str) -> bool:
    return name.startswith(".")


class FileStatus(Struct, frozen=True):
    """Metadata of a file or folder."""

    kind: FileKind
    size: int
    mode: int
    links: int
    modified: float


class FolderEntry(Struct, frozen=True):
    """One entry of a folder."""

    name: str
    kind: FileKind
    size: int
    changed: int = 0  # nanoseconds


class Workspace:
    """The folder a job may access. `links=False` follows no links; `secrets=True` allows reading files with secrets.

    `alias` is another absolute path for it.
    """

    def __init__(self, folder: str | Path, *, links: bool = True, secrets: bool = False, alias: Path | None = None) -> None:
        self.folder = Path(folder).resolve(strict=True)
        names = [self.folder, Path(folder).absolute(), *([] if alias is None else [alias])]
        self._spelled = tuple(dict.fromkeys(map(str, names)))
        self._secrets = secrets
        self._environment = tuple(str(path.relative_to(self.folder)) for path in own_environment(self.folder))
        following = load_opener() if links and _can_locate(self.folder) else None
        self._follows = following is not None
        self._open: Opener = following or _open_walking

    def relative(self, path: str) -> str:
        """Return the path relative to the folder, `.` for the folder itself. Purely textual: nothing is looked up."""
        _check_name(path)
        plain = normpath(path or ".")
        if plain.startswith("/"):
            plain = self._inside("/" + plain.lstrip("/"), path)
        if plain == ".." or plain.startswith("../"):
            raise outside_error(path)
        return plain

    def _inside(self, absolute: str, path: str) -> str:
        for root in self._spelled:
            if absolute == root:
                return "."
            if absolute.startswith(root.rstrip("/") + "/"):
                return absolute[len(root.rstrip("/")) + 1 :]
        raise outside_error(path)

    def open_read(self, path: str) -> BinaryIO:
        """Open a file for reading. Close it."""
        where = self.relative(path)
        self._check_secret(where, path)
        with _translate_errors(where), self._root() as root:
            descriptor = open_regular(where, lambda name, flags: self._open(root, name, flags))
        try:
            self._check_secret(self._locate(descriptor, where), path)
        except BaseException:
            os.close(descriptor)
            raise
        return os.fdopen(descriptor, "rb")

    def read_bytes(self, path: str, most: int = MAX_BYTES) -> bytes:
        """Return the content of a file. Raises `FileTooLarge` if it has more than `most` bytes."""
        with self.open_read(path) as file:
            size = os.fstat(file.fileno()).st_size
            data = file.read(most + 1) if size <= most else b""
        if size > most or len(data) > most:
            raise FileTooLarge(
                f"{printable_name(path)} has {max(size, len(data)):,} bytes; at most {most:,} are read. Search in it instead."
            )
        return data

    def write_bytes(self, path: str, data: bytes) -> None:
        """Write a file atomically: either the old content is there or the new, never a part. Creates missing folders."""
        where = self._target(path)
        folder, _, name = where.rpartition("/")
        if name in {"", "."}:
            raise NotAFile(f"{printable_name(path)} is a folder.")
        self._check_guarded(where)
        self.make_folder(folder)
        with self._open_path(folder or ".", _FOLDER) as parent:
            self._check_guarded(f"{self._locate(parent, folder)}/{name}")
            _replace_file(parent, name, data, _stat_writable(parent, name, path))

    def make_folder(self, path: str) -> None:
        """Create a folder and its parents. It may exist already."""
        where = self.relative(path)
        self._check_guarded(where)
        made = "."
        for part in [] if where == "." else where.split("/"):
            there = f"{made}/{part}" if made != "." else part
            with self._open_path(made, _FOLDER) as parent:
                self._check_guarded(f"{self._locate(parent, made)}/{part}")
                with _translate_errors(there), suppress(FileExistsError):
                    os.mkdir(part, dir_fd=parent)
            made = there
        with self._open_path(made, _FOLDER):
            return

    def remove(self, path: str) -> None:
        """Remove a file, a link (not its target) or an empty folder."""
        where = self.relative(path)
        folder, _, name = where.rpartition("/")
        if name == ".":
            raise GuardedPath("The workspace's own folder can't be deleted.")
        with self._open_path(folder or ".", _FOLDER) as parent:
            self._check_guarded(f"{self._locate(parent, folder)}/{name}")
            with _translate_errors(path):
                if stat.S_ISDIR(os.stat(name, dir_fd=parent, follow_symlinks=False).st_mode):
                    os.rmdir(name, dir_fd=parent)
                else:
                    os.unlink(name, dir_fd=parent)

    def listing(self, path: str = ".", most: int = MAX_ENTRIES) -> list[FolderEntry]:
        """Return the entries of a folder, by name; at most `most`."""
        where = self.relative(path)
        with self._open_path(where, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC) as folder, os.scandir(folder) as found:
            entries = [_to_entry(each) for each, _ in zip(found, range(most), strict=False)]
        return sorted(entries, key=lambda entry: entry.name)

    def files(self, path: str = ".", *, passed: Callable[[str], bool] = _is_hidden) -> Iterator[str]:
        """Yield the paths of the regular files beneath a folder, in order. Names that `passed` accepts are left out.

        A link counts where it leads to a file inside; what lies behind links to folders is found where it is. Folders nested
        deeper than anyone would make by hand are left out: each costs time by its depth.
        """
        folders = [self.relative(path)]
        self.listing(folders[0], most=1)  # a problem with the folder itself is raised, not skipped
        while folders:
            here = folders.pop()
            below: list[str] = []
            for entry in self._entries(here):
                there = entry.name if here == "." else f"{here}/{entry.name}"
                if passed(entry.name):
                    continue
                if entry.kind == "folder":
                    below += [there] if there.count("/") < MAX_DEPTH else []
                elif entry.kind == "file" or (entry.kind == "link" and self._leads_to_file(there)):
                    yield there
            folders += reversed(below)

    def _entries(self, folder: str) -> list[FolderEntry]:
        try:
            return self.listing(folder)
        except WorkspaceProblem:  # gone meanwhile, closed to us, or nested more deeply than a path can say
            return []

    def _leads_to_file(self, path: str) -> bool:
        try:
            return self.stat(path).kind == "file" and (self._secrets or not is_secret_file(self.real(path)))
        except WorkspaceProblem:
            return False

    def stat(self, path: str) -> FileStatus:
        """Return the metadata of a file or folder."""
        with self._open_path(self.relative(path), _PATH | os.O_CLOEXEC) as descriptor:
            found = os.fstat(descriptor)
        return FileStatus(_kind_of_mode(found.st_mode), found.st_size, stat.S_IMODE(found.st_mode), found.st_nlink, found.st_mtime)

    def real(self, path: str) -> str:
        """Return the path relative to the folder, with all links followed. Raises `MissingPath` where nothing exists."""
        where = self.relative(path)
        with self._open_path(where, _PATH | os.O_CLOEXEC) as descriptor:
            return self._locate(descriptor, where)

    def _target(self, path: str) -> str:
        """Return where a file is really written: through links that stay inside, if they lead anywhere."""
        try:
            return self.real(path)
        except MissingPath:
            return self.relative(path)

    def _locate(self, descriptor: int, where: str) -> str:
        """Return the real path of an open descriptor."""
        if not self._follows:
            return where or "."
        found = _descriptor_path(descriptor).removesuffix(" (deleted)")
        return self._inside(found, where)

    def _check_secret(self, where: str, path: str) -> None:
        if not self._secrets and is_secret_file(where):
            raise SecretFile(
                f"{printable_name(path)} may hold secrets and is not shown. Go on without it, or ask the person for what you need."
            )

    def _check_guarded(self, where: str) -> None:
        plain = where.removeprefix("./")
        if any(part.casefold() in GUARDED for part in plain.split("/")):
            raise GuardedPath(f"{printable_name(plain)} is not written: what is in .git changes through git alone.")
        if any(plain == own or plain.startswith(f"{own}/") for own in self._environment):
            raise GuardedPath(f"{printable_name(plain)} is not written: it belongs to the Python environment that runs you.")

    @contextmanager
    def _open_path(self, where: str, flags: int) -> Generator[int]:
        with _translate_errors(where), self._root() as root:
            descriptor = self._open(root, where, flags)
        try:
            yield descriptor
        finally:
            os.close(descriptor)

    @contextmanager
    def _root(self) -> Generator[int]:
        root = os.open(self.folder, _FOLDER | os.O_NOFOLLOW)
        try:
            yield root
        finally:
            os.close(root)


def open_without_links(folder: Path, path: str) -> int:
    """Return a descriptor of a regular file beneath a folder, following no link. Raises `NotRegular` or the system's `OSError`."""
    root = os.open(folder, _FOLDER | os.O_NOFOLLOW)
    try:
        return open_regular(path, lambda name, flags: _open_walking(root, name, flags))
    finally:
        os.close(root)


def _open_walking(root: int, where: str, flags: int) -> int:
    """Open a path part by part, following no link."""
    *folders, last = where.split("/")
    here = os.dup(root)
    try:
        for part in folders:
            there = os.open(part, _FOLDER | os.O_NOFOLLOW, dir_fd=here)
            os.close(here)
            here = there
        return os.open(last, flags | os.O_NOFOLLOW, dir_fd=here)
    finally:
        os.close(here)


def _descriptor_path(descriptor: int) -> str:
    return str(Path(f"/proc/self/fd/{descriptor}").readlink())


def _can_locate(folder: Path) -> bool:
    """Return whether the system tells the real path of a descriptor: without that no link can be checked."""
    descriptor = os.open(folder, _FOLDER)
    try:
        return _descriptor_path(descriptor) == str(folder)
    except OSError:
        return False
    finally:
        os.close(descriptor)


@contextmanager
def _translate_errors(path: str) -> Generator[None]:
    try:
        yield
    except NotRegular as error:
        raise _not_a_file_error(error.mode, path) from error
    except OSError as error:
        raise error_from_os(error, path) from error


def _check_name(path: str) -> None:
    try:
        encoded = os.fsencode(path)
    except UnicodeEncodeError as error:
        raise BadPath("The path has characters that no file name can have.") from error
    if b"\0" in encoded:
        raise BadPath("The path has a zero character in it, which no file name can have.")


def _stat_writable(parent: int, name: str, path: str) -> os.stat_result | None:
    """Return the metadata of the file that is about to be replaced, if there is one."""
    try:
        before = os.stat(name, dir_fd=parent, follow_symlinks=False)
    except FileNotFoundError:
        return None
    if not stat.S_ISREG(before.st_mode):
        raise _not_a_file_error(before.st_mode, path)
    if not before.st_mode & 0o222:
        raise SystemRefused(f"{printable_name(path)} is read-only. Leave it as it is, or ask the person to make it writable.")
    return before


def _replace_file(parent: int, name: str, data: bytes, before: os.stat_result | None) -> None:
    """Write the data beside the file, then rename it to the file's name."""
    beside = f".treadle-{os.urandom(8).hex()}"
    with _translate_errors(name):
        descriptor = os.open(beside, _NEW, 0o666, dir_fd=parent)
        try:
            with os.fdopen(descriptor, "wb") as file:
                file.write(data)
                file.flush()
                if before is not None:
                    _copy_ownership(file.fileno(), before)
                os.fsync(file.fileno())
            os.rename(beside, name, src_dir_fd=parent, dst_dir_fd=parent)
        except BaseException:
            with suppress(OSError):
                os.unlink(beside, dir_fd=parent)
            raise


def _copy_ownership(descriptor: int, before: os.stat_result) -> None:
    """Copy the owner, where permitted, and the mode."""
    with suppress(PermissionError):
        os.fchown(descriptor, before.st_uid, before.st_gid)
    os.fchmod(descriptor, stat.S_IMODE(before.st_mode) & 0o777)


def _not_a_file_error(mode: int, path: str) -> NotAFile:
    if stat.S_ISDIR(mode):
        return NotAFile(f"{printable_name(path)} is a folder. List it, and name a file in it.")
    if stat.S_ISLNK(mode):
        return NotAFile(f"{printable_name(path)} is a symbolic link that is not followed. Use the path of the file itself.")
    return NotAFile(
        f"{printable_name(path)} is no ordinary file but a pipe, a socket or a device, which is neither read nor written."
    )


def _kind_of_mode(mode: int) -> FileKind:
    if stat.S_ISREG(mode):
        return "file"
    if stat.S_ISDIR(mode):
        return "folder"
    return "link" if stat.S_ISLNK(mode) else "other"


def _to_entry(found: "os.DirEntry[str]") -> FolderEntry:
    try:
        known = found.stat(follow_symlinks=False)
    except OSError:  # gone meanwhile
        return FolderEntry(found.name, "other", 0)
    return FolderEntry(found.name, _kind_of_mode(known.st_mode), known.st_size, known.st_mtime_ns)
