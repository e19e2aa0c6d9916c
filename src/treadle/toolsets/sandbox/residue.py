"""What a command could leave in the workspace that acts outside of the sandbox later; looked for after each command, and disarmed.

Programs that run as their owner lose that bit. A repository that is new, or whose settings changed, is set aside under another name
unless it is plain: git would run what it says. What was there before the command stays as it is.
"""

import os
import stat
from contextlib import suppress
from pathlib import Path
from secrets import token_hex

from msgspec import Struct

from treadle.toolsets.sandbox.repositories import HOLDING, LEADING, MOST_SETTINGS, PARTS, harmless, hook_runs
from treadle.toolsets.sandbox.walk import Folder, folders, is_git

SET_ID = stat.S_ISUID | stat.S_ISGID
SLACK = 1_000_000_000  # nanoseconds by which the clock of a file system may be late
FIXED = ("hooks", "config", *LEADING[:2], *HOLDING)  # what in a repository's folder runs programs, or leads to more that does

_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_FILE = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC

Stamp = tuple[int, ...]


class Survey(Struct, frozen=True):
    """What a workspace has before a command: repositories, by what tells each from another, and sockets. Paths are relative."""

    repositories: dict[str, Stamp] = {}
    sockets: tuple[str, ...] = ()


class Residue(Struct, frozen=True):
    """What was disarmed after a command: repositories that were set aside, and programs that ran as their owner."""

    set_aside: tuple[str, ...] = ()
    stripped: tuple[str, ...] = ()


def survey(workspace: Path) -> Survey:
    """Look through a workspace before a command."""
    repositories: dict[str, Stamp] = {}
    sockets: list[str] = []
    for folder in folders(workspace):
        for door in _doors(folder):
            repositories[folder.path(door)] = _stamp(folder.descriptor, door)
        sockets += [folder.path(name) for name in folder.others if _is_socket(folder.descriptor, name)]
    return Survey(repositories, tuple(sockets))


def disarm(workspace: Path, before: Survey, since: int, *, everywhere: bool = False) -> Residue:
    """Look through it again after the command, which began at `since`, in nanoseconds; disarm what it left.

    The filter of system calls refuses such programs. So they are looked for in folders with new names only, unless `everywhere`.
    """
    known = set(before.repositories.values())
    set_aside: list[str] = []
    stripped: list[str] = []
    for folder in folders(workspace, opening=since - SLACK):
        for door in _doors(folder):
            if _stamp(folder.descriptor, door) not in known and not _is_plain(folder.descriptor, door):
                set_aside += [folder.path(door)] if _renamed(folder.descriptor, door) else []
        if everywhere or os.fstat(folder.descriptor).st_ctime_ns >= since - SLACK:
            stripped += [folder.path(name) for name in folder.files if _is_stripped(folder.descriptor, name, since)]
    return Residue(tuple(set_aside), tuple(stripped))


def marks(repository: Path | None) -> dict[str, Stamp]:
    """What a repository has of those parts that no command of ours may make or replace, where they can't be mounted read-only."""
    if repository is None:
        return {}
    hidden = () if os.path.lexists(repository / "hooks") else ("hooks",)  # a folder of the sandbox's own lies over it
    return {name: _identity(repository / name) for name in FIXED if name not in hidden and not _mounts(repository / name)}


def restore(repository: Path | None, before: dict[str, Stamp]) -> tuple[str, ...]:
    """Set aside what has come to be there since."""
    if repository is None:
        return ()
    try:
        folder = os.open(repository, _FOLDER)
    except OSError:
        return ()
    try:
        changed = [name for name, mark in before.items() if _identity(repository / name) not in ((), mark)]
        return tuple(f"{repository.name}/{name}" for name in changed if _renamed(folder, name))
    finally:
        os.close(folder)


def fixed(repository: Path) -> tuple[Path, ...]:
    """The parts that can be mounted read-only."""
    return tuple(path for name in FIXED if _mounts(path := repository / name))


def _mounts(path: Path) -> bool:
    return path.exists() and not path.is_symlink()


def _identity(path: Path) -> Stamp:
    with suppress(OSError):
        known = path.lstat()
        return known.st_dev, known.st_ino
    return ()


def _doors(folder: Folder) -> list[str]:
    """What makes a repository of a folder: its `.git`, or where it is one itself, its `HEAD`."""
    names = (*folder.folders, *folder.others, *folder.files)
    doors = [name for name in names if len(name) == len(".git") and is_git(name)]
    return [*doors, "HEAD"] if set(names) >= PARTS else doors


def _stamp(parent: int, door: str) -> Stamp:
    """What tells a repository from another. A `.git` is read-only to commands; the others are told from themselves changed, too."""
    known = _known(parent, door)
    if known is None:
        return ()
    place = (known.st_dev, known.st_ino, stat.S_IFMT(known.st_mode))
    if stat.S_ISLNK(known.st_mode):
        return (*place, known.st_ctime_ns)
    settings = _known(parent, "config") if door == "HEAD" else None
    return place if settings is None else (*place, settings.st_ino, settings.st_ctime_ns)


def _known(parent: int, name: str) -> os.stat_result | None:
    try:
        return os.stat(name, dir_fd=parent, follow_symlinks=False)
    except OSError:
        return None


def _is_plain(parent: int, door: str) -> bool:
    """Whether a repository starts no program. One that lies elsewhere, or can't be looked at, isn't plain."""
    try:
        repository = os.dup(parent) if door == "HEAD" else os.open(door, _FOLDER, dir_fd=parent)
    except OSError:
        return False
    try:
        names = set(os.listdir(repository))  # noqa: PTH208 - a descriptor
        held = [name for name in HOLDING if name in names and _listed(repository, name)]
        hooks = [name for name in _listed(repository, "hooks") if hook_runs(name)] if "hooks" in names else []
        return not (names & set(LEADING) or held or hooks) and harmless(_text(repository, "config"))
    except (OSError, UnicodeDecodeError):
        return False
    finally:
        os.close(repository)


def _listed(parent: int, name: str) -> list[str]:
    folder = os.open(name, _FOLDER, dir_fd=parent)
    try:
        return os.listdir(folder)  # noqa: PTH208 - a descriptor
    finally:
        os.close(folder)


def _text(parent: int, name: str) -> str:
    with os.fdopen(os.open(name, _FILE, dir_fd=parent), "rb") as file:
        text = file.read(MOST_SETTINGS + 1)
    if len(text) > MOST_SETTINGS:
        raise OSError("too long for settings")
    return text.decode()


def _renamed(parent: int, name: str) -> bool:
    """Give something another name, also in a folder that a command made read-only."""
    other = f"{name}-untrusted-{token_hex(4)}"
    with suppress(OSError):
        os.fchmod(parent, stat.S_IMODE(os.fstat(parent).st_mode) | stat.S_IRWXU)
    try:
        os.rename(name, other, src_dir_fd=parent, dst_dir_fd=parent)
    except OSError:
        return False
    return True


def _is_socket(parent: int, name: str) -> bool:
    known = _known(parent, name)
    return known is not None and stat.S_ISSOCK(known.st_mode)


def _is_stripped(parent: int, name: str, since: int) -> bool:
    """Take the bit from a file that has it and changed; it is held, so that it is the file that was looked at."""
    known = _known(parent, name)
    if known is None or not known.st_mode & SET_ID or known.st_ctime_ns < since - SLACK:
        return False
    try:
        held = os.open(name, os.O_PATH | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=parent)
    except OSError:
        return False
    try:
        mode = os.fstat(held).st_mode
        if stat.S_ISREG(mode):
            Path(f"/proc/self/fd/{held}").chmod(stat.S_IMODE(mode) & ~SET_ID)
        return stat.S_ISREG(mode)
    except OSError:
        return False
    finally:
        os.close(held)
