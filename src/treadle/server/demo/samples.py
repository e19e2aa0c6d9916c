"""The samples: something for each assistant to work on, created once and then left alone.

A failure doesn't affect the others.
"""

from collections.abc import Awaitable, Callable
from pathlib import Path

import msgspec

from treadle.core.errors import TreadleError
from treadle.core.log import log
from treadle.files.workspace_folders import WORKSHOP
from treadle.plugins.assistant import Host
from treadle.server.demo import letterbox

CREATED_FILE = "samples.json"  # which samples were made
CreateSample = Callable[[Host], Awaitable[None]]


async def create_demo_samples(host: Host) -> list[str]:
    """Create the missing samples and return a sentence for each failure. Those are retried at the next start."""
    problems: list[str] = []
    for name, make in SAMPLES.items():
        if name in created_samples(host.home.folder):
            continue
        try:
            await make(host)
        except Exception as error:  # noqa: BLE001 - whatever is broken or not installed, the other samples still come
            problems.append(f"There is no sample of {name}: {_describe_error(error)}")
            log.info("the sample of %s can't be made", name, exc_info=True)
        else:
            _record_created(host.home.folder, name)
    return problems


def created_samples(folder: Path) -> list[str]:
    """Return the names of the samples that were created in a home."""
    try:
        return msgspec.json.decode((folder / CREATED_FILE).read_bytes(), type=list[str])
    except (FileNotFoundError, msgspec.DecodeError):
        return []


def _record_created(folder: Path, name: str) -> None:
    part = folder / f"{CREATED_FILE}.part"
    part.write_bytes(msgspec.json.encode([*created_samples(folder), name]))
    part.replace(folder / CREATED_FILE)


def _describe_error(error: Exception) -> str:
    return str(error) if isinstance(error, TreadleError) else f"{type(error).__name__}: {error}"


async def _create_letterbox(host: Host) -> None:
    letterbox.write_letterbox(host.home.folder / WORKSHOP)


async def _create_cart(host: Host) -> None:
    from treadle.assistants.coding.sample import make_coding_sample
    from treadle.files import SAMPLES_FOLDER

    await make_coding_sample(host.home.folder / SAMPLES_FOLDER, set())


async def _create_courses(host: Host) -> None:
    from treadle.assistants.courses.command import SAMPLE
    from treadle.assistants.courses.library import open_library

    async with open_library(host) as library:
        library.add(SAMPLE)
        await library.refresh()


async def _create_project(host: Host) -> None:
    """Create the sample project. One that a killed start has left incomplete is created anew."""
    from treadle.assistants.guidance.command import make_sample_project
    from treadle.assistants.guidance.projects import open_projects, project_user_of
    from treadle.assistants.guidance.sample import SAMPLE_TITLE

    user = project_user_of(host)
    async with open_projects(host) as store:
        same = [each for each in await store.list_projects(user) if each.title == SAMPLE_TITLE]
        halves = [each for each in same if await store.get_world_model(user, each.id) is None]
        for half in halves:
            await store.delete_project(user, half.id)
        if len(same) == len(halves):
            await make_sample_project(store, user)


SAMPLES: dict[str, CreateSample] = {
    "reading": _create_letterbox,
    "coding": _create_cart,
    "courses": _create_courses,
    "guidance": _create_project,
}
