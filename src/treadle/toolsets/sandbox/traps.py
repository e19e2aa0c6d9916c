"""Files that a command could leave in a repository to run its own code outside the sandbox, when the person next uses git.

Most of `.git` that does so is read-only inside (`find`). These two can't be mounted over, because git minds an empty one; so what a
command made is taken away after it.
"""

from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

NAMES = ("commondir", "config.worktree")  # both name or are another config, which may name programs


def traps(repository: Path | None) -> list[Path]:
    """The ones that aren't there yet, and must not be afterwards."""
    if repository is None or not repository.is_dir():
        return []
    return [path for name in NAMES if not (path := repository / name).exists() and not path.is_symlink()]


def disarm(paths: Sequence[Path]) -> None:
    """Take away what has come to be there."""
    for path in paths:
        with suppress(FileNotFoundError, IsADirectoryError, NotADirectoryError, PermissionError):
            path.unlink()
