"""Folders that may never be a workspace: system folders, a home itself, folders of keys and settings, Treadle's own data.

`explain_workspace_refusal` decides, by resolved paths alone; `check_workspace` collects what it needs. Every interface, tool
and setting that takes a workspace checks it here.
"""

import os
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from treadle.core.errors import SettingsError

if TYPE_CHECKING:
    from treadle.files.workspace import Workspace

SYSTEM_FOLDERS = (
    *("/bin", "/boot", "/dev", "/etc", "/lib", "/lib32", "/lib64", "/libx32", "/lost+found", "/nix", "/proc", "/run", "/sbin"),
    *("/snap", "/sys", "/usr", "/var", "/Applications", "/Library", "/System", "/Volumes/Recovery", "/private", "/cores"),
)
"""Nothing in these is a project, but for what lies in `WITHIN_SYSTEM`."""

WITHIN_SYSTEM = (
    *("/usr/src", "/usr/local/src", "/var/tmp", "/var/www", "/run/media"),  # noqa: S108 - nothing is put there
    *("/private/tmp", "/private/var/tmp", "/private/var/folders"),
)
SHARED_FOLDERS = ("/", "/home", "/media", "/mnt", "/opt", "/root", "/srv", "/tmp", "/Users", "/Volumes")  # noqa: S108 - nothing is put there
"""These hold projects, and are none."""

KEY_FOLDERS = (
    *(".ssh", ".aws", ".azure", ".gnupg", ".kube", ".docker", ".netrc", ".npmrc", ".pypirc", ".git-credentials", ".password-store"),
    *(
        ".config/gcloud",
        ".config/gh",
        ".config/op",
        ".config/rclone",
        ".config/pip",
        ".config/git/credentials",
        ".cargo/credentials",
    ),
    *(
        ".cargo/credentials.toml",
        ".local/share/keyrings",
        ".mozilla",
        ".config/google-chrome",
        ".config/chromium",
        ".m2/settings.xml",
    ),
    *(".bash_history", ".zsh_history", ".python_history", ".pgpass", ".my.cnf", ".vault-token", ".terraform.d"),
)
"""In a home, what holds keys and passwords: the sandbox hides it, too."""

SETTINGS_FOLDERS = (".config", ".local/bin", ".local/lib", ".local/state", "Library")
"""In a home, what decides what its programs do: with everything in it, no workspace."""

PARENT_FOLDERS = (".local", ".local/share", ".cache")
"""In a home, what holds much that isn't one project."""

SAMPLES, USERS, WORKSPACE, WORKSHOP, JOBS = "samples", "users", "workspace", "letterbox", "jobs"
"""In Treadle's own folder: samples to work on, the homes of a server's users, the folder each of them may work in, that of the
demonstration's, and jobs, each of which may have a private workspace."""

UNFINISHED = f"{WORKSPACE}.new"
"""A private workspace of a job that is being made."""


class NotAWorkspace(SettingsError):
    """A folder that can't be a workspace; says why, and what to name instead."""


def explain_workspace_refusal(folder: Path, homes: Iterable[Path], data: Iterable[Path]) -> str:
    """Return why a folder can't be a workspace, as a sentence; empty where it can. Paths are resolved. Pure."""
    why = _find_reason(folder, tuple(homes), tuple(data))
    return f"{folder} is {why}: a job there could change far more than a project. Name a project's own folder." if why else ""


def _find_reason(folder: Path, homes: tuple[Path, ...], data: tuple[Path, ...]) -> str:
    for own in data:
        if folder.is_relative_to(own):
            return "" if _is_workspace_path(folder.relative_to(own).parts) else "where Treadle keeps its own data"
    if folder in homes:
        return "your home folder"
    if any(folder in home.parents for home in homes):
        return "a folder of the system"
    if any(folder in own.parents for own in data):
        return "where Treadle keeps its own data"
    inside = [_find_home_reason(folder.relative_to(home)) for home in homes if folder.is_relative_to(home)]
    return next(filter(None, inside), "") if inside else _find_system_reason(folder)


def _is_workspace_path(parts: tuple[str, ...]) -> bool:
    """Return whether a path in Treadle's own data folder is meant as a workspace."""
    if len(parts) > 2 and parts[0] == USERS:
        return parts[2] == WORKSPACE or _is_workspace_path(parts[2:])
    if len(parts) > 2 and parts[0] == JOBS:
        return parts[2] in (WORKSPACE, UNFINISHED)
    return (len(parts) > 1 and parts[0] == SAMPLES) or parts[:1] == (WORKSHOP,)


def _find_home_reason(path: Path) -> str:
    text = path.as_posix().casefold()
    if any(f"{text}/".startswith(f"{key}/") for key in KEY_FOLDERS):
        return "where keys and passwords are kept"
    if any(f"{text}/".startswith(f"{name.casefold()}/") for name in SETTINGS_FOLDERS):
        return "where settings of your programs are kept"
    return "a folder with much in it that is no project" if text in PARENT_FOLDERS else ""


def _find_system_reason(folder: Path) -> str:
    if any(part.casefold() in KEY_FOLDERS for part in folder.parts):
        return "where keys and passwords are kept"
    if str(folder.parent) in ("/home", "/Users"):
        return "a user's home folder"
    is_system = any(folder.is_relative_to(path) for path in SYSTEM_FOLDERS) and not any(
        Path(path) in folder.parents for path in WITHIN_SYSTEM
    )
    return "a folder of the system" if is_system or str(folder) in SHARED_FOLDERS else ""


def check_workspace(folder: Path | str, *data: Path) -> Path:
    """Return the folder, resolved. Raises `NotAWorkspace` for one that can't be used; `data` are further homes of Treadle."""
    path = Path(folder)
    try:
        real = path.expanduser().resolve()
        own = [each.resolve() for each in (data_folder(), *data)]
    except (OSError, RuntimeError, ValueError) as error:  # a circle of links; no such user's home; a NUL
        raise NotAWorkspace(f"There is no folder {str(folder)[:200]!r}. Name a project's own folder.") from error
    if why := explain_workspace_refusal(real, home_folders(), own):
        raise NotAWorkspace(why)
    return real


def repository_root(folder: Path) -> Path:
    """Return the root of the git repository that a resolved folder is in; the folder itself where there is none.

    A root that can't be a workspace, such as a home with settings under git, doesn't count.
    """
    homes, data = home_folders(), (data_folder().resolve(),)
    for path in (folder, *folder.parents):
        if path != folder and explain_workspace_refusal(path, homes, data):
            break
        if (path / ".git").exists():
            return path
    return folder


def workspace_at(folder: Path | str, *data: Path) -> "Workspace":
    """Return the workspace of a folder that may be one. Raises `NotAWorkspace`."""
    from treadle.files.workspace import Workspace

    real = check_workspace(folder, *data)
    if not real.is_dir():
        raise NotAWorkspace(f"There is no folder {str(folder)[:200]!r}. Name a project's own folder.")
    return Workspace(real)


def home_folders() -> tuple[Path, ...]:
    """Return the user's home folders, by the environment and by the system's user database."""
    from pwd import getpwuid  # there is none elsewhere

    named = [os.environ.get("HOME", "")]
    with suppress(KeyError):  # a container's user without a passwd entry
        named.append(getpwuid(os.getuid()).pw_dir)
    return tuple({Path(name).resolve() for name in named if name and name != "/"})


def data_folder() -> Path:
    """Return Treadle's data folder: TREADLE_HOME, or the system's folder for application data."""
    chosen = os.environ.get("TREADLE_HOME")
    if chosen:
        return Path(chosen).expanduser()
    from platformdirs import user_data_path

    return user_data_path("treadle", appauthor=False)
