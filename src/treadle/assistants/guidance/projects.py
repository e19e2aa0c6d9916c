"""The store of a user's projects, and operations on a project as a whole: find by name, share, delete.

All users of a store in the process share one instance; the last one closes it.
"""

import asyncio
import shutil
from collections.abc import Collection
from contextlib import AbstractAsyncContextManager, suppress
from typing import TYPE_CHECKING, Any

from treadle import Home, Runs
from treadle.assistant import Host, Jobs, SharedResources, settings_for
from treadle.assistants.guidance.settings import GuidanceSettings
from treadle.assistants.guidance.stages import ProjectState
from treadle.assistants.guidance.store import Project, open_store
from treadle.assistants.guidance.store.errors import InvalidValue
from treadle.errors import RunNotFound, SettingsError

if TYPE_CHECKING:
    from treadle.assistants.guidance.store.store import Store

DATABASE_FILE = "guidance.db"
MAX_RUNS = 100_000  # of a home, among which those about a project are looked for
NO_PROJECTS = "There are no projects yet: `treadle guide new TITLE` begins one, `treadle guide demo` makes a sample."
_stores: "SharedResources[Store]" = SharedResources(lambda store: store.close())


def project_user_of(host: Host) -> str:
    """Return the owner of the projects: the host's user, else `local`, the one person at this machine."""
    return host.user or "local"


def open_projects(host: Host) -> "AbstractAsyncContextManager[Store]":
    """Open the store of the projects of a host's user."""
    settings: GuidanceSettings = host.settings.assistant("guidance")
    address = settings.database or str(host.home.folder / DATABASE_FILE)
    return _stores.use(address, lambda: open_store(address))


async def load_project_state(store: "Store", user: str, project_id: str) -> ProjectState:
    """Return the workflow state of a project."""
    project, spec, world, runs, candidates = await asyncio.gather(
        store.get_project(user, project_id),
        store.get_problem_spec(user, project_id),
        store.get_world_model(user, project_id),
        store.list_runs(user, project_id),
        store.list_project_candidates(user, project_id),
    )
    return ProjectState(
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
    """Return the project by its id, by its title, or the one that changed last."""
    found = await store.list_projects(user)
    if not found:
        raise SettingsError(NO_PROJECTS)
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
    """Let other users see and change a project. On a server with users, their projects have to be stored in one database."""
    settings: GuidanceSettings = host.settings.assistant("guidance")
    if host.shared and not settings.database:
        raise InvalidValue(
            "Here the projects of each user are kept in a file of their own, so they can't be shared. "
            "Name one database for all of them: `database` under [assistants.guidance] in the server's treadle.toml."
        )
    return await store.share_project(project_user_of(host), project_id, *others)


async def delete_project(host: Host, store: "Store", project_id: str) -> None:
    """Delete a project with everything in it, and the user's own runs and jobs about it."""
    runs = [each.id for each in await store.list_runs(project_user_of(host), project_id)]
    await store.delete_project(project_user_of(host), project_id)
    jobs = Jobs(host.home.folder)
    for run_id in runs:
        if jobs.has(run_id):
            await asyncio.to_thread(jobs.cancel, run_id)
            await asyncio.to_thread(shutil.rmtree, jobs.folder_of(run_id), ignore_errors=True)
    kept = [run_id for run_id in [*runs, *await _find_runs_about(host, project_id)] if await _is_stored(host, run_id)]
    if kept:
        await Runs(host.home).delete(*kept, by=project_user_of(host), force=True)


async def erase(home: Home, run_ids: Collection[str]) -> None:
    """Delete the messages of deleted runs; the projects stay."""
    settings: GuidanceSettings = settings_for(home.folder).assistant("guidance")
    if settings.database or (home.folder / DATABASE_FILE).exists():
        address = settings.database or str(home.folder / DATABASE_FILE)
        async with _stores.use(address, lambda: open_store(address)) as store:
            await store.erase_messages(run_ids)


async def _is_stored(host: Host, run_id: str) -> bool:
    with suppress(RunNotFound):
        return host.home.database.exists() and bool(await host.home.journal.info(run_id))
    return False


async def _find_runs_about(host: Host, project_id: str) -> list[str]:
    """Return the runs of this data folder whose context was the project."""
    if not host.home.database.exists():
        return []
    found: list[str] = []
    for info in await Runs(host.home).list(MAX_RUNS, agent="guidance"):
        opened = (await host.home.journal.read(info.run_id))[0]
        origin: dict[str, Any] = getattr(opened, "origin", {})
        about: dict[str, Any] = origin.get("about") or {}
        if about.get("project_id") == project_id:
            found.append(info.run_id)
    return found
