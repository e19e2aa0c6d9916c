"""Storage of local models: TREADLE_MODELS, else the system's cache folder. All runs share it.

A file has its final name only when it is complete; a partial download is stored beside it. `pull` downloads.
"""

import os
import sys
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from treadle.core.errors import PullFailed
from treadle.models.downloads.catalogue import LocalModel


def models_folder() -> Path:
    """Return the folder of local models, whether it exists or not."""
    chosen = os.environ.get("TREADLE_MODELS")
    if chosen:
        return Path(chosen).expanduser().absolute()
    from platformdirs import user_cache_path

    return user_cache_path("treadle", appauthor=False) / "models"


def find_model_file(model: LocalModel) -> Path | None:
    """Return the model's file, if it exists and has the right size."""
    path = models_folder() / model.file
    return path if file_size(path) == model.size else None


def partial_path(model: LocalModel) -> Path:
    """Return the path of a partial download. The hash in its name keeps the beginnings of two different files apart."""
    return models_folder() / f".{model.file}.{model.sha256[:12]}.partial"


def wheels_path(partial: Path) -> Path:
    """Return the folder for wheels while they are read; a killed pull leaves one."""
    return partial.with_suffix(".wheels")


def file_size(path: Path) -> int:
    """Return the size of a file; 0 if there is none."""
    try:
        return path.stat().st_size
    except (FileNotFoundError, NotADirectoryError):
        return 0


def format_bytes(count: float) -> str:
    """Format a number of bytes for people: `98.4 MB`."""
    if count < 1000:
        return f"{count:.0f} bytes"
    unit = "kB"
    for larger in ("MB", "GB", "TB"):
        if count < 999_950:
            break
        count, unit = count / 1000, larger
    return f"{count / 1000:.1f} {unit}"


def remove_model(model: LocalModel) -> int:
    """Remove a model's file and its partial download; return how many bytes that were."""
    from shutil import rmtree

    paths = [path for path in (models_folder() / model.file, partial_path(model)) if path.exists()]
    if not paths:
        return 0
    with lock_model(model) as is_held:
        if not is_held:
            raise PullFailed(f"{model.name} is being pulled by another process; nothing was removed.")
        freed = sum(map(file_size, paths))
        for path in paths:
            path.unlink(missing_ok=True)
        rmtree(wheels_path(partial_path(model)), ignore_errors=True)
    return freed


@contextmanager
def lock_model(model: LocalModel) -> Generator[bool]:
    """Lock a model's files; yields False if another process has the lock. The system releases it when a process dies."""
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
