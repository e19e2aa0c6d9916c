"""The version of the application that a worker executes: as named, or of the installed package or the commit it is from."""

import re
import subprocess
from collections.abc import Sequence
from importlib.metadata import PackageNotFoundError, packages_distributions, version
from importlib.util import find_spec
from pathlib import Path

from treadle._version import __version__
from treadle.core.errors import SettingsError

AUTO = "auto"
GIT_SECONDS = 10.0
_VERSION = re.compile(r"[A-Za-z0-9._+-]{1,100}")


def resolve_app_version(name: str, modules: Sequence[str]) -> str:
    """Return the version that a setting names; with "auto", that of the first module's package or commit, else Treadle's."""
    if name != AUTO:
        return check_app_version(name) if name else ""
    return _find_version(modules[0]) if modules else __version__


def check_app_version(name: str) -> str:
    """Return a version; raise with a sentence where it can't be one."""
    if not _VERSION.fullmatch(name):
        raise SettingsError(f"{name[:100]!r} can't be a version: up to 100 letters, digits and . _ + - can.")
    return name


def format_unserved(version: str, count: int) -> str:
    """Say that runs wait for a version that no worker has, and what to do."""
    runs = "1 run waits" if count == 1 else f"{count:,} runs wait"
    return (
        f"{runs} for version {version}, which no worker has: start one with --app-version {version}, or, if its code can"
        f" continue them, with --compatible {version}."
    )


def _find_version(module: str) -> str:
    package = module.partition(".")[0]
    try:
        return version(packages_distributions()[package][0])
    except (KeyError, PackageNotFoundError):
        pass
    try:
        spec = find_spec(package)
    except ValueError:
        spec = None
    folder = None if spec is None or spec.origin is None else Path(spec.origin).parent
    commit = "" if folder is None else _read_commit(folder)
    if not commit:
        raise SettingsError(
            f"The version of {package} can't be found: it is no installed package, and in no git repository. Name it."
        )
    return commit


def _read_commit(folder: Path) -> str:
    """Return the short id of the commit that a folder is checked out from, with `-dirty` where files differ; empty without one."""
    command = ["git", "-C", str(folder), "describe", "--always", "--dirty", "--exclude=*"]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=GIT_SECONDS, check=False)  # noqa: S603 - a program we chose
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return done.stdout.strip() if done.returncode == 0 else ""
