"""Where a workspace may never be: folders of the system, a home itself, where keys and settings are, where Treadle keeps its data.

`refusal` decides, by resolved paths alone; `check_workspace` finds out what it needs to know. Every face, tool and setting that
takes a workspace asks here.
"""

import os
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from treadle.core.errors import SettingsError

if TYPE_CHECKING:
    from treadle.files.workspace import Workspace

SYSTEM = (
    *("/bin", "/boot", "/dev", "/etc", "/lib", "/lib32", "/lib64", "/libx32", "/lost+found", "/nix", "/proc", "/run", "/sbin"),
    *("/snap", "/sys", "/usr", "/var", "/Applications", "/Library", "/System", "/Volumes/Recovery", "/private", "/cores"),
)
"""Nothing in these is a project, but for what lies in `WITHIN_SYSTEM`."""

WITHIN_SYSTEM = (
    *("/usr/src", "/usr/local/src", "/var/tmp", "/var/www", "/run/media"),  # noqa: S108 - nothing is put there
    *("/private/tmp", "/private/var/tmp", "/private/var/folders"),
)
SHARED = ("/", "/home", "/media", "/mnt", "/opt", "/root", "/srv", "/tmp", "/Users", "/Volumes")  # noqa: S108 - nothing is put there
"""These hold projects, and are none."""

KEYS = (
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

SETTINGS = (".config", ".local/bin", ".local/lib", ".local/state", "Library")
"""In a home, what decides what its programs do: with everything in it, no workspace."""

HOLDING = (".local", ".local/share", ".cache")
"""In a home, what holds much that isn't one project."""

SAMPLES, USERS, WORKSPACE, WORKSHOP, JOBS = "samples", "users", "workspace", "letterbox", "jobs"
"""In Treadle's own folder: samples to work on, the homes of a server's users, the folder each of them may work in, that of the
demonstration's, and jobs, each of which may have a private workspace."""

UNFINISHED = f"{WORKSPACE}.new"
"""A private workspace of a job that is being made."""


class NotAWorkspace(SettingsError):
    """A folder that is never worked in; says why, and what to name instead."""


def refusal(folder: Path, homes: Iterable[Path], data: Iterable[Path]) -> str:
    """Return why a folder is never a workspace, in a sentence; empty where it may be one. Paths are resolved. Pure."""
    why = _why(folder, tuple(homes), tuple(data))
    return f"{folder} is {why}: a job there could change far more than a project. Name a project's own folder." if why else ""


def _why(folder: Path, homes: tuple[Path, ...], data: tuple[Path, ...]) -> str:
    for own in data:
        if folder.is_relative_to(own):
            return "" if _is_lent(folder.relative_to(own).parts) else "where Treadle keeps its own data"
    if folder in homes:
        return "your home folder"
    if any(folder in home.parents for home in homes):
        return "a folder of the system"
    if any(folder in own.parents for own in data):
        return "where Treadle keeps its own data"
    inside = [_why_in_home(folder.relative_to(home)) for home in homes if folder.is_relative_to(home)]
    return next(filter(None, inside), "") if inside else _why_outside(folder)


def _is_lent(parts: tuple[str, ...]) -> bool:
    """Whether a path in Treadle's own folder is there to be worked in."""
    if len(parts) > 2 and parts[0] == USERS:
        return parts[2] == WORKSPACE or _is_lent(parts[2:])
    if len(parts) > 2 and parts[0] == JOBS:
        return parts[2] in (WORKSPACE, UNFINISHED)
    return (len(parts) > 1 and parts[0] == SAMPLES) or parts[:1] == (WORKSHOP,)


def _why_in_home(path: Path) -> str:
    text = path.as_posix().casefold()
    if any(f"{text}/".startswith(f"{key}/") for key in KEYS):
        return "where keys and passwords are kept"
    if any(f"{text}/".startswith(f"{name.casefold()}/") for name in SETTINGS):
        return "where settings of your programs are kept"
    return "a folder with much in it that is no project" if text in HOLDING else ""


def _why_outside(folder: Path) -> str:
    if any(part.casefold() in KEYS for part in folder.parts):
        return "where keys and passwords are kept"
    if str(folder.parent) in ("/home", "/Users"):
        return "somebody's home folder"
    is_system = any(folder.is_relative_to(path) for path in SYSTEM) and not any(
        Path(path) in folder.parents for path in WITHIN_SYSTEM
    )
    return "a folder of the system" if is_system or str(folder) in SHARED else ""


def check_workspace(folder: Path | str, *data: Path) -> Path:
    """Return the folder, resolved. Raises `NotAWorkspace` for one that can't be it; `data` are further homes of Treadle."""
    path = Path(folder)
    try:
        real = path.expanduser().resolve()
        own = [each.resolve() for each in (data_folder(), *data)]
    except (OSError, RuntimeError, ValueError) as error:  # a circle of links; no such user's home; a NUL
        raise NotAWorkspace(f"There is no folder {str(folder)[:200]!r}. Name a project's own folder.") from error
    if why := refusal(real, home_folders(), own):
        raise NotAWorkspace(why)
    return real


def workspace_at(folder: Path | str, *data: Path) -> "Workspace":
    """Return the workspace of a folder that may be one. Raises `NotAWorkspace`."""
    from treadle.files.workspace import Workspace

    real = check_workspace(folder, *data)
    if not real.is_dir():
        raise NotAWorkspace(f"There is no folder {str(folder)[:200]!r}. Name a project's own folder.")
    return Workspace(real)


def home_folders() -> tuple[Path, ...]:
    """The person's home, by the environment and by the system's list of users."""
    from pwd import getpwuid  # there is none elsewhere

    named = [os.environ.get("HOME", "")]
    with suppress(KeyError):  # a container's user that nobody listed
        named.append(getpwuid(os.getuid()).pw_dir)
    return tuple({Path(name).resolve() for name in named if name and name != "/"})


def data_folder() -> Path:
    """Where Treadle keeps its own data: TREADLE_HOME, or the system's own place for data."""
    chosen = os.environ.get("TREADLE_HOME")
    if chosen:
        return Path(chosen).expanduser()
    from platformdirs import user_data_path

    return user_data_path("treadle", appauthor=False)
