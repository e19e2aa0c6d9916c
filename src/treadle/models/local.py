"""Where local models are kept: TREADLE_MODELS, else the system's own place for what can be fetched again. All runs share it.

A file has its own name only when it is whole; what has come so far of another is beside it. Fetching is `pull`.
"""

import os
import sys
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from treadle.core.errors import PullFailed
from treadle.models.catalogue import LocalModel


def models_folder() -> Path:
    """The folder of local models, whether it is there or not."""
    chosen = os.environ.get("TREADLE_MODELS")
    if chosen:
        return Path(chosen).expanduser().absolute()
    from platformdirs import user_cache_path

    return user_cache_path("treadle", appauthor=False) / "models"


def path_of(model: LocalModel) -> Path | None:
    """The model's file, where it is here and of the right size."""
    path = models_folder() / model.file
    return path if size_of(path) == model.size else None


def partial_path(model: LocalModel) -> Path:
    """Where what has come so far is kept. The hash in its name keeps the beginnings of two different files apart."""
    return models_folder() / f".{model.file}.{model.sha256[:12]}.partial"


def wheels_path(partial: Path) -> Path:
    """Where wheels are while they are read; a pull that was killed leaves one."""
    return partial.with_suffix(".wheels")


def size_of(path: Path) -> int:
    """How large a file is; 0 where there is none."""
    try:
        return path.stat().st_size
    except (FileNotFoundError, NotADirectoryError):
        return 0


def sized(count: float) -> str:
    """A number of bytes for people: `98.4 MB`."""
    if count < 1000:
        return f"{count:.0f} bytes"
    unit = "kB"
    for larger in ("MB", "GB", "TB"):
        if count < 999_950:
            break
        count, unit = count / 1000, larger
    return f"{count / 1000:.1f} {unit}"


def remove(model: LocalModel) -> int:
    """Remove a model's file and whatever has come of it; how many bytes that were."""
    from shutil import rmtree

    paths = [path for path in (models_folder() / model.file, partial_path(model)) if path.exists()]
    if not paths:
        return 0
    with held(model) as is_held:
        if not is_held:
            raise PullFailed(f"{model.name} is being pulled by another process; nothing was removed.")
        freed = sum(map(size_of, paths))
        for path in paths:
            path.unlink(missing_ok=True)
        rmtree(wheels_path(partial_path(model)), ignore_errors=True)
    return freed


@contextmanager
def held(model: LocalModel) -> Generator[bool]:
    """Have a model's files to yourself; False where another process has them. The system lets go of them when a process dies."""
    with (models_folder() / f".{model.file}.lock").open("ab") as file:
        yield _lock(file)


def _lock(file: IO[bytes]) -> bool:
    try:
        if sys.platform == "win32":
            import msvcrt

            file.seek(0)
            msvcrt.locking(file.fileno(), msvcrt.LK_NBLCK, 1)
        else:
            import fcntl

            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except (BlockingIOError, PermissionError):
        return False
    return True
