"""What a command could leave in the workspace that acts outside the sandbox later; found after each command, and disarmed.

Set-user-ID programs lose that bit. A repository that is new, or whose config changed, is set aside under another name
unless it is harmless: git would run what it says. What was there before the command stays as it is.

Git starts programs that a repository's config and hooks name, at a mere `git status`; some editors and prompts run that by
themselves. So the check of a config is strict: what isn't known to be harmless isn't.
"""

import os
import re
import stat
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from secrets import token_hex

from msgspec import Struct

from treadle.files.problems import printable_name
from treadle.sandbox.values import CommandResult
from treadle.sandbox.walk import OpenFolder, is_git_name, walk_folders

GIT_TOOL = "Stage, commit and change branches with the git tool; ask the person for what it doesn't do."
_MAX_NAMED = 5


def format_disarmed(ran: CommandResult) -> list[str]:
    """Return a sentence for each kind of thing; none where nothing was left."""
    sentences: list[str] = []
    if ran.set_aside:
        sentences.append(f"Git could run programs by the settings of {_join_paths(ran.set_aside)}, so it was renamed. {GIT_TOOL}")
    if ran.stripped:
        sentences.append(f"No program may run as its owner: that bit was taken from {_join_paths(ran.stripped)}.")
    return sentences


def _join_paths(paths: Sequence[str]) -> str:
    more = f" and {len(paths) - _MAX_NAMED} more" if len(paths) > _MAX_NAMED else ""
    return f"{', '.join(map(printable_name, paths[:_MAX_NAMED]))}{more}"


MAX_CONFIG = 100_000  # bytes
REDIRECTING_FILES = ("commondir", "config.worktree", "gitdir")  # files that name or are the settings of another repository
NESTED_FOLDERS = ("modules", "worktrees")  # folders with repositories of their own
REPOSITORY_PARTS = frozenset(("HEAD", "objects", "refs"))  # what makes a folder a repository

_SECTION = re.compile(r'\[(?P<name>[a-z]+)(?: "[^"\\\n]*")?\]')
_SETTING = re.compile(r"(?P<name>[a-z]+) *= *(?P<value>[^\\\"#;\n]*)", re.IGNORECASE)
_ADDRESS = re.compile(r"https?://[^\s:]+(?::\d+)?(?:/\S*)?")
_HARMLESS = {
    "core": {"repositoryformatversion", "filemode", "bare", "logallrefupdates", "ignorecase", "precomposeunicode", "symlinks"},
    "extensions": {"objectformat", "refstorage"},
    "remote": {"url", "fetch"},
    "branch": {"remote", "merge"},
    "user": {"name", "email"},
}


def is_harmless_config(settings: str) -> bool:
    """Return whether the text of a `config` has only settings that start no program."""
    section = ""
    for line in map(str.strip, settings.splitlines()):
        if not line:
            continue
        if heading := _SECTION.fullmatch(line):
            section = heading["name"]
            if section not in _HARMLESS:
                return False
            continue
        setting = _SETTING.fullmatch(line)
        if setting is None or setting["name"].lower() not in _HARMLESS.get(section, ()):
            return False
        if setting["name"].lower() == "url" and not _ADDRESS.fullmatch(setting["value"].strip()):
            return False
    return True


def is_active_hook(name: str) -> bool:
    """Return whether git may run a file of the folder `hooks`; those that `git init` puts there are only examples."""
    return not name.endswith(".sample")


SET_ID = stat.S_ISUID | stat.S_ISGID
CLOCK_SLACK = 1_000_000_000  # nanoseconds by which the clock of a file system may be late
FIXED_PARTS = (
    "hooks",
    "config",
    *REDIRECTING_FILES[:2],
    *NESTED_FOLDERS,
)  # what in a repository's folder runs programs, or leads to more that does

_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_FILE = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC

Stamp = tuple[int, ...]


class WorkspaceSurvey(Struct, frozen=True):
    """State of a workspace before a command: repositories, by what identifies each, and sockets. Paths are relative."""

    repositories: dict[str, Stamp] = {}
    sockets: tuple[str, ...] = ()


class DisarmReport(Struct, frozen=True):
    """What was disarmed after a command: repositories that were set aside, and set-user-ID programs."""

    set_aside: tuple[str, ...] = ()
    stripped: tuple[str, ...] = ()


def survey_workspace(workspace: Path) -> WorkspaceSurvey:
    """Walk a workspace before a command."""
    repositories: dict[str, Stamp] = {}
    sockets: list[str] = []
    for folder in walk_folders(workspace):
        for door in _find_entries(folder):
            repositories[folder.path(door)] = _read_stamp(folder.descriptor, door)
        sockets += [folder.path(name) for name in folder.others if _is_socket(folder.descriptor, name)]
    return WorkspaceSurvey(repositories, tuple(sockets))


def disarm_workspace(workspace: Path, before: WorkspaceSurvey, since: int, *, everywhere: bool = False) -> DisarmReport:
    """Walk it again after the command, which began at `since`, in nanoseconds; disarm what it left.

    The seccomp filter refuses such programs. So they are searched for in folders with new names only, unless `everywhere`.
    """
    known = set(before.repositories.values())
    set_aside: list[str] = []
    stripped: list[str] = []
    for folder in walk_folders(workspace, opening=since - CLOCK_SLACK):
        for door in _find_entries(folder):
            if _read_stamp(folder.descriptor, door) not in known and not _is_harmless_repository(folder.descriptor, door):
                set_aside += [folder.path(door)] if _rename_untrusted(folder.descriptor, door) else []
        if everywhere or os.fstat(folder.descriptor).st_ctime_ns >= since - CLOCK_SLACK:
            stripped += [folder.path(name) for name in folder.files if _strip_set_id(folder.descriptor, name, since)]
    return DisarmReport(tuple(set_aside), tuple(stripped))


def record_fixed_parts(repository: Path | None) -> dict[str, Stamp]:
    """Record those parts of a repository that no command of ours may create or replace, where they can't be mounted read-only."""
    if repository is None:
        return {}
    hidden = () if os.path.lexists(repository / "hooks") else ("hooks",)  # a folder of the sandbox's own lies over it
    return {
        name: _read_identity(repository / name)
        for name in FIXED_PARTS
        if name not in hidden and not _is_mountable(repository / name)
    }


def set_aside_changed_parts(repository: Path | None, before: dict[str, Stamp]) -> tuple[str, ...]:
    """Set aside parts that have been created since."""
    if repository is None:
        return ()
    try:
        folder = os.open(repository, _FOLDER)
    except OSError:
        return ()
    try:
        changed = [name for name, mark in before.items() if _read_identity(repository / name) not in ((), mark)]
        return tuple(f"{repository.name}/{name}" for name in changed if _rename_untrusted(folder, name))
    finally:
        os.close(folder)


def list_fixed_parts(repository: Path) -> tuple[Path, ...]:
    """Return the parts that can be mounted read-only."""
    return tuple(path for name in FIXED_PARTS if _is_mountable(path := repository / name))


def _is_mountable(path: Path) -> bool:
    return path.exists() and not path.is_symlink()


def _read_identity(path: Path) -> Stamp:
    with suppress(OSError):
        known = path.lstat()
        return known.st_dev, known.st_ino
    return ()


def _find_entries(folder: OpenFolder) -> list[str]:
    """Return what makes a folder a repository: its `.git`, or where it is one itself, its `HEAD`."""
    names = (*folder.folders, *folder.others, *folder.files)
    doors = [name for name in names if len(name) == len(".git") and is_git_name(name)]
    return [*doors, "HEAD"] if set(names) >= REPOSITORY_PARTS else doors


def _read_stamp(parent: int, door: str) -> Stamp:
    """Return what identifies a repository. A `.git` is read-only to commands; others get a new stamp when they change, too."""
    known = _stat(parent, door)
    if known is None:
        return ()
    place = (known.st_dev, known.st_ino, stat.S_IFMT(known.st_mode))
    if stat.S_ISLNK(known.st_mode):
        return (*place, known.st_ctime_ns)
    settings = _stat(parent, "config") if door == "HEAD" else None
    return place if settings is None else (*place, settings.st_ino, settings.st_ctime_ns)


def _stat(parent: int, name: str) -> os.stat_result | None:
    try:
        return os.stat(name, dir_fd=parent, follow_symlinks=False)
    except OSError:
        return None


def _is_harmless_repository(parent: int, door: str) -> bool:
    """Return whether a repository starts no program. One that lies elsewhere, or can't be read, isn't harmless."""
    try:
        repository = os.dup(parent) if door == "HEAD" else os.open(door, _FOLDER, dir_fd=parent)
    except OSError:
        return False
    try:
        names = set(os.listdir(repository))  # noqa: PTH208 - a descriptor
        held = [name for name in NESTED_FOLDERS if name in names and _list_names(repository, name)]
        hooks = [name for name in _list_names(repository, "hooks") if is_active_hook(name)] if "hooks" in names else []
        return not (names & set(REDIRECTING_FILES) or held or hooks) and is_harmless_config(_read_text(repository, "config"))
    except (OSError, UnicodeDecodeError):
        return False
    finally:
        os.close(repository)


def _list_names(parent: int, name: str) -> list[str]:
    folder = os.open(name, _FOLDER, dir_fd=parent)
    try:
        return os.listdir(folder)  # noqa: PTH208 - a descriptor
    finally:
        os.close(folder)


def _read_text(parent: int, name: str) -> str:
    with os.fdopen(os.open(name, _FILE, dir_fd=parent), "rb") as file:
        text = file.read(MAX_CONFIG + 1)
    if len(text) > MAX_CONFIG:
        raise OSError("too long for settings")
    return text.decode()


def _rename_untrusted(parent: int, name: str) -> bool:
    """Rename an entry, also in a folder that a command made read-only."""
    other = f"{name}-untrusted-{token_hex(4)}"
    with suppress(OSError):
        os.fchmod(parent, stat.S_IMODE(os.fstat(parent).st_mode) | stat.S_IRWXU)
    try:
        os.rename(name, other, src_dir_fd=parent, dst_dir_fd=parent)
    except OSError:
        return False
    return True


def _is_socket(parent: int, name: str) -> bool:
    known = _stat(parent, name)
    return known is not None and stat.S_ISSOCK(known.st_mode)


def _strip_set_id(parent: int, name: str, since: int) -> bool:
    """Strip the set-ID bits from a changed file that has them; it is held open, so that it is the file that was checked."""
    known = _stat(parent, name)
    if known is None or not known.st_mode & SET_ID or known.st_ctime_ns < since - CLOCK_SLACK:
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
