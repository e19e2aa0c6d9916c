"""The store of a user's projects, and operations on a project as a whole: find by name, share, delete.

All users of a store in the process share one instance; the last one closes it.
"""

import asyncio
import shutil
from collections.abc import AsyncGenerator, Collection, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from treadle import Home, Runs
from treadle.assistant import Host, ItemSharing, Jobs, Share, SharedItem, SharedResources, settings_for
from treadle.assistants.guidance.settings import GuidanceSettings
from treadle.assistants.guidance.stages import ProjectState
from treadle.assistants.guidance.store import Project, open_store
from treadle.assistants.guidance.store.errors import InvalidValue, NotProjectOwner
from treadle.errors import RunNotFound, SettingsError

if TYPE_CHECKING:
    from treadle.assistants.guidance.store.store import Store

ASSISTANT = "guidance"
DATABASE_FILE = "guidance.db"
MAX_RUNS = 100_000  # of a home, among which those about a project are looked for
NO_PROJECTS = "There are no projects yet: `treadle guide new TITLE` begins one, `treadle guide demo` makes a sample."
NO_USERS = "This server has no users to share a project with; `treadle users add NAME` adds one."
_stores: "SharedResources[Store]" = SharedResources(lambda store: store.close())


def project_user_of(host: Host) -> str:
    """Return the owner of the projects: the host's user, else `local`, the one person at this machine."""
    return host.user or "local"


def _store_address(host: Host) -> str:
    settings: GuidanceSettings = host.settings.assistant("guidance")
    return settings.database or str(host.home.folder / DATABASE_FILE)


@asynccontextmanager
async def open_projects(host: Host) -> "AsyncGenerator[Store]":
    """Open the store of the projects of a host's user, with those that other users of the server share with them."""
    address = _store_address(host)
    async with AsyncExitStack() as opened, _stores.use(address, lambda: open_store(address)) as store:
        yield store if host.sharing is None else store.with_shared(SharedProjects(host, host.sharing, opened).load)


class SharedProjects:
    """The stores of users who share projects with a host's user. They stay open until `opened` closes."""

    def __init__(self, host: Host, sharing: ItemSharing, opened: AsyncExitStack) -> None:
        self._host = host
        self._sharing = sharing
        self._opened = opened
        self._stores: dict[str, Store] = {}
        self._opening = asyncio.Lock()

    async def load(self) -> "Sequence[tuple[Store, str]]":
        """Return the stores, each with the projects in it that are shared at this moment."""
        shared: dict[str, list[SharedItem]] = {}
        for each in await self._sharing.shared_with_me(ASSISTANT):
            shared.setdefault(each.owner, []).append(each)
        if not shared:
            return ()
        from treadle.assistants.guidance.store.rows import Grantee

        user = project_user_of(self._host)
        found: list[tuple[Store, str]] = []
        for owner, items in shared.items():
            store = await self._open(items[0])
            if store is not None:
                found.append((store, Grantee(user, owner, {each.item: each.can_edit for each in items})))
        return found

    async def _open(self, item: SharedItem) -> "Store | None":
        """Return the store of an owner; None where their file doesn't exist any more."""
        async with self._opening:
            if item.owner not in self._stores:
                host = self._sharing.owner_host(self._host, item)
                address = _store_address(host)
                if address == str(host.home.folder / DATABASE_FILE) and not (host.home.folder / DATABASE_FILE).exists():
                    return None
                self._stores[item.owner] = await self._opened.enter_async_context(_stores.use(address, lambda: open_store(address)))
            return self._stores[item.owner]


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
    """Let other users see and change a project: those of the server, or of the database where the server has none."""
    if host.sharing is None:
        return await store.share_project(project_user_of(host), project_id, *others)
    known = [each for each in await load_shares(host, store, project_id) if each.is_group or each.grantee not in others]
    shares = await save_shares(host, store, project_id, [*known, *[Share(other, can_edit=True) for other in others]])
    return replace(await store.get_project(project_user_of(host), project_id), members=_user_names(shares))


async def unshare_project(host: Host, store: "Store", project_id: str, *others: str) -> Project:
    """Stop sharing a project with other users."""
    project = await store.unshare_project(project_user_of(host), project_id, *others)
    if host.sharing is None:
        return project
    known = await load_shares(host, store, project_id)
    shares = await save_shares(host, store, project_id, [each for each in known if each.is_group or each.grantee not in others])
    return replace(project, members=_user_names(shares))


def _user_names(shares: Sequence[Share]) -> tuple[str, ...]:
    return tuple([each.grantee for each in shares if not each.is_group])


async def load_shares(host: Host, store: "Store", project_id: str) -> list[Share]:
    """Return the users and groups of the server that a project of the host's user is shared with."""
    await _check_owner(host, store, project_id)
    return [] if host.sharing is None else await host.sharing.shares_of(ASSISTANT, project_id)


async def save_shares(host: Host, store: "Store", project_id: str, shares: Sequence[Share]) -> list[Share]:
    """Set the users and groups of the server that a project is shared with; only its owner can."""
    await _check_owner(host, store, project_id)
    if host.sharing is None:
        raise InvalidValue(NO_USERS)
    try:
        await host.sharing.set_shares(ASSISTANT, project_id, shares)
    except SettingsError as error:
        raise InvalidValue(str(error)) from error
    return await host.sharing.shares_of(ASSISTANT, project_id)


async def _check_owner(host: Host, store: "Store", project_id: str) -> None:
    project = await store.get_project(project_user_of(host), project_id)
    if project.owner != project_user_of(host):
        raise NotProjectOwner(f"Only {project.owner}, who owns this project, can share it; ask them.")


async def delete_project(host: Host, store: "Store", project_id: str) -> None:
    """Delete a project with everything in it, and the user's own runs and jobs about it."""
    runs = [each.id for each in await store.list_runs(project_user_of(host), project_id)]
    await store.delete_project(project_user_of(host), project_id)
    if host.sharing is not None:
        await host.sharing.set_shares(ASSISTANT, project_id, [])
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
