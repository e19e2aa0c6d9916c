"""Git, run so that nothing but our own store decides what it does: an empty environment, no settings of the user or the system,
no hooks, no filters, no monitors. It is never taken from the folder it inspects.
"""

import os
import subprocess
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import IO

from treadle.checkpoints.values import CheckpointsError, CheckpointsMissing

GIT_FOLDERS = ("/usr/bin", "/bin", "/usr/local/bin", "/opt/homebrew/bin", "/run/current-system/sw/bin")
GIT_TIMEOUT = 120.0  # seconds

_ENVIRONMENT = {
    "PATH": "/usr/bin:/bin",
    "LC_ALL": "C",
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_CONFIG_SYSTEM": os.devnull,
    "GIT_CONFIG_GLOBAL": os.devnull,
    "GIT_ATTR_NOSYSTEM": "1",
    "GIT_DEFAULT_HASH": "sha1",
    "GIT_DEFAULT_REF_FORMAT": "files",
    "GIT_NO_REPLACE_OBJECTS": "1",
    "GIT_OPTIONAL_LOCKS": "0",
    "GIT_TERMINAL_PROMPT": "0",
}
_SETTINGS = (
    f"core.hooksPath={os.devnull}",
    f"core.attributesFile={os.devnull}",
    "core.autocrlf=false",
    "core.fsmonitor=false",
    "core.fsync=committed",
    "core.quotePath=false",
    "core.untrackedCache=false",
    "diff.ignoreSubmodules=all",
    "gc.auto=0",
    "submodule.recurse=false",
)


def find_git(folder: Path, places: Iterable[str] | None = None) -> Path:
    """Return the git to use: the system's, else one on PATH outside the folder. Raises `CheckpointsMissing`."""
    for place in (*GIT_FOLDERS, *os.environ.get("PATH", "").split(os.pathsep)) if places is None else places:
        path = Path(place, "git")
        if path.is_absolute() and path.is_file() and os.access(path, os.X_OK) and not path.resolve().is_relative_to(folder):
            return path
    raise CheckpointsMissing(
        "The state of a folder is kept by git, and there is none. Install it (apt install git, dnf install git, brew install git)."
    )


class GitRunner:
    """A git executable and the repository it is to use."""

    def __init__(self, program: Path, repository: Path) -> None:
        self.repository = repository
        self._program = program

    def run(
        self,
        *words: str,
        stdin: bytes = b"",
        cwd: Path | None = None,
        env: Mapping[str, str] | None = None,
        settings: Sequence[str] = (),
        codes: Sequence[int] = (0,),
    ) -> bytes:
        """Run git and return its output. Raises `CheckpointsError` where its exit code isn't one of `codes`."""
        try:
            done = subprocess.run(  # noqa: S603 - a program we chose, without a shell
                self._line(words, settings),
                input=stdin,
                capture_output=True,
                cwd=cwd or self.repository,
                env=self._environment(env),
                timeout=GIT_TIMEOUT,
                check=False,
            )
        except subprocess.TimeoutExpired as error:
            raise CheckpointsError(f"git {words[0]} took longer than {GIT_TIMEOUT:.0f} seconds, and was ended.") from error
        except OSError as error:
            raise CheckpointsError(f"git can't be run: {error.strerror}.") from error
        if done.returncode not in codes:
            raise git_error(" ".join(words[:2]), done.stderr)
        return done.stdout

    def start(self, *words: str, stderr: IO[bytes], inherited: Sequence[int] = ()) -> "subprocess.Popen[bytes]":
        """Start a git for a dialogue. It may inherit a lock, which then lasts until it has ended too, even if this process ends."""
        try:
            return subprocess.Popen(  # noqa: S603 - a program we chose, without a shell
                self._line(words, ()),
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=stderr,
                cwd=self.repository,
                env=self._environment(None),
                pass_fds=inherited,
            )
        except OSError as error:
            raise CheckpointsError(f"git can't be run: {error.strerror}.") from error

    def _line(self, words: Sequence[str], settings: Sequence[str]) -> list[str]:
        return [str(self._program), *(word for setting in (*_SETTINGS, *settings) for word in ("-c", setting)), *words]

    def _environment(self, more: Mapping[str, str] | None) -> dict[str, str]:
        return {**_ENVIRONMENT, "GIT_DIR": str(self.repository), **(more or {})}


def git_error(command: str, said: bytes) -> CheckpointsError:
    """Build the error for a failed git command."""
    words = " ".join(said.decode(errors="replace").split())
    return CheckpointsError(f"The state of the folder can't be kept or read: git {command} said {words[:500] or 'nothing'}.")
