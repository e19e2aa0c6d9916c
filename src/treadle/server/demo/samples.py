"""The samples: something of each assistant's to try it on, made once and then left alone. None keeps another from being made."""

from collections.abc import Awaitable, Callable
from pathlib import Path

import msgspec

from treadle.app.assistant import Host
from treadle.core.errors import TreadleError
from treadle.core.log import log
from treadle.files.places import WORKSHOP
from treadle.server.demo import letterbox

MADE = "samples.json"  # which samples were made
Make = Callable[[Host], Awaitable[None]]


async def fill(host: Host) -> list[str]:
    """Make what wasn't made yet; a sentence for each that can't be. Those are tried again at the next start."""
    problems: list[str] = []
    for name, make in SAMPLES.items():
        if name in made_in(host.home.folder):
            continue
        try:
            await make(host)
        except Exception as error:  # noqa: BLE001 - whatever is broken or not installed, the other samples still come
            problems.append(f"There is no sample of {name}: {_why(error)}")
            log.info("the sample of %s can't be made", name, exc_info=True)
        else:
            _note(host.home.folder, name)
    return problems


def made_in(folder: Path) -> list[str]:
    """The names of the samples that were made in a home."""
    try:
        return msgspec.json.decode((folder / MADE).read_bytes(), type=list[str])
    except (FileNotFoundError, msgspec.DecodeError):
        return []


def _note(folder: Path, name: str) -> None:
    part = folder / f"{MADE}.part"
    part.write_bytes(msgspec.json.encode([*made_in(folder), name]))
    part.replace(folder / MADE)


def _why(error: Exception) -> str:
    return str(error) if isinstance(error, TreadleError) else f"{type(error).__name__}: {error}"


async def _letterbox(host: Host) -> None:
    letterbox.write(host.home.folder / WORKSHOP)


async def _cart(host: Host) -> None:
    from treadle.assistants.coding.places import SAMPLES
    from treadle.assistants.coding.sample import make_sample

    await make_sample(host.home.folder / SAMPLES, set())


async def _courses(host: Host) -> None:
    from treadle.assistants.courses.command import SAMPLE
    from treadle.assistants.courses.library import open_library

    async with open_library(host) as library:
        library.add(SAMPLE)
        await library.refresh()


async def _project(host: Host) -> None:
    """The sample project. One that a killed start has left without its world is made anew."""
    from treadle.assistants.guidance.command import make_sample
    from treadle.assistants.guidance.projects import open_projects, user_of
    from treadle.assistants.guidance.sample import TITLE

    user = user_of(host)
    async with open_projects(host) as store:
        same = [each for each in await store.list_projects(user) if each.title == TITLE]
        halves = [each for each in same if await store.get_world_model(user, each.id) is None]
        for half in halves:
            await store.delete_project(user, half.id)
        if len(same) == len(halves):
            await make_sample(store, user)


SAMPLES: dict[str, Make] = {"reading": _letterbox, "coding": _cart, "courses": _courses, "guidance": _project}
