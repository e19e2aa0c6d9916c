"""The store of a person's projects, and what is done with a project as a whole: found by its name, shared, deleted.

Everybody in the process who uses a store at the same time shares it; the last one closes it.
"""

import asyncio
import shutil
from collections.abc import Collection
from contextlib import AbstractAsyncContextManager, suppress
from typing import TYPE_CHECKING, Any

from treadle import Home, Host, Jobs, RunNotFound, Runs, SettingsError, SharedResources, settings_of
from treadle.assistants.guidance.settings import GuidanceSettings
from treadle.assistants.guidance.stages import State
from treadle.assistants.guidance.store import Project, open_store
from treadle.assistants.guidance.store.errors import BadValue

if TYPE_CHECKING:
    from treadle.assistants.guidance.store.store import Store

FILE = "guidance.db"
MOST_RUNS = 100_000  # of a home, among which those about a project are looked for
NONE_YET = "There are no projects yet: `treadle guide new TITLE` begins one, `treadle guide demo` makes a sample."
_stores: "SharedResources[Store]" = SharedResources(lambda store: store.close())


def user_of(host: Host) -> str:
    """The owner of the projects: the host's user, else the one person at this machine."""
    return host.user or "local"


def open_projects(host: Host) -> "AbstractAsyncContextManager[Store]":
    """The store that the projects of a host's person are in."""
    settings: GuidanceSettings = host.settings.assistant("guidance")
    address = settings.database or str(host.home.folder / FILE)
    return _stores.use(address, lambda: open_store(address))


async def state_of(store: "Store", user: str, project_id: str) -> State:
    """How far a project is."""
    project, spec, world, runs, candidates = await asyncio.gather(
        store.get_project(user, project_id),
        store.get_problem_spec(user, project_id),
        store.get_world_model(user, project_id),
        store.list_runs(user, project_id),
        store.list_project_candidates(user, project_id),
    )
    return State(
        title=project.title,
        description=project.description,
        has_problem_spec=spec is not None,
        has_world_model=world is not None,
        runs=len(runs),
        running=sum(run.status == "running" for run in runs),
        completed=sum(run.status == "completed" for run in runs),
        candidates=len(candidates),
    )


async def find_project(store: "Store", user: str, named: str) -> Project:
    """The project that is meant: by its id, by its title, or the one that changed last."""
    found = await store.list_projects(user)
    if not found:
        raise SettingsError(NONE_YET)
    if not named:
        return max(found, key=lambda project: project.updated_at)
    fitting = [each for each in found if named == each.id or named.casefold() == each.title.casefold()]
    if len(fitting) == 1:
        return fitting[0]
    if fitting:
        ids = ", ".join([each.id for each in fitting])
        raise SettingsError(f"Several projects are called {named!r}; name one by its id: {ids}.")
    titles = ", ".join([each.title for each in found[:20]])
    raise SettingsError(f"There is no project {named!r}. There are: {titles}.")


async def share_project(host: Host, store: "Store", project_id: str, *others: str) -> Project:
    """Let others see and change a project. On a server with users, their projects have to be kept in one database."""
    settings: GuidanceSettings = host.settings.assistant("guidance")
    if host.shared and not settings.database:
        raise BadValue(
            "Here the projects of each user are kept in a file of their own, so they can't be shared. "
            "Name one database for all of them: `database` under [assistants.guidance] in the server's treadle.toml."
        )
    return await store.share_project(user_of(host), project_id, *others)


async def delete_project(host: Host, store: "Store", project_id: str) -> None:
    """Delete a project with all that is in it, and the person's own runs and jobs that were about it."""
    runs = [each.id for each in await store.list_runs(user_of(host), project_id)]
    await store.delete_project(user_of(host), project_id)
    jobs = Jobs(host.home.folder)
    for run_id in runs:
        if jobs.has(run_id):
            await asyncio.to_thread(jobs.cancel, run_id)
            await asyncio.to_thread(shutil.rmtree, jobs.folder_of(run_id), ignore_errors=True)
    kept = [run_id for run_id in [*runs, *await _conversations(host, project_id)] if await _is_kept(host, run_id)]
    if kept:
        await Runs(host.home).delete(*kept, by=user_of(host), force=True)


async def erase(home: Home, run_ids: Collection[str]) -> None:
    """Delete the messages of runs that are deleted; the projects stay."""
    settings: GuidanceSettings = settings_of(home.folder).assistant("guidance")
    if settings.database or (home.folder / FILE).exists():
        address = settings.database or str(home.folder / FILE)
        async with _stores.use(address, lambda: open_store(address)) as store:
            await store.erase_messages(run_ids)


async def _is_kept(host: Host, run_id: str) -> bool:
    with suppress(RunNotFound):
        return host.home.database.exists() and bool(await host.home.journal.info(run_id))
    return False


async def _conversations(host: Host, project_id: str) -> list[str]:
    """The runs of this home whose context was a project."""
    if not host.home.database.exists():
        return []
    found: list[str] = []
    for info in await Runs(host.home).list(MOST_RUNS, agent="guidance"):
        opened = (await host.home.journal.read(info.run_id))[0]
        origin: dict[str, Any] = getattr(opened, "origin", {})
        about: dict[str, Any] = origin.get("about") or {}
        if about.get("project_id") == project_id:
            found.append(info.run_id)
    return found
