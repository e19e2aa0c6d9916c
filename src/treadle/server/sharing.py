"""Sharing of runs: a user lets other users, or groups, of the same server read a run. They can't change or continue it.

Who may read what is in the users' store, and is looked up at each request, so that it ends as soon as it is revoked.
"""

import asyncio
from typing import Annotated

from msgspec import Meta, Struct
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.routing import BaseRoute

from treadle.core.errors import RunNotFound
from treadle.home import Home, open_user_home
from treadle.routes import get, put, routes_of
from treadle.server.runs.hosted_runs import HostedRuns
from treadle.server.runs.journals import read_journals, read_run_entries
from treadle.server.runs.routes import requester_of
from treadle.server.runs.run_view import RunView, view_run
from treadle.stores.accounts import User
from treadle.stores.journal import RunInfo
from treadle.stores.users import Share, Users, is_user_name

NO_USERS = "This server has no users to share a run with; `treadle users add NAME` adds one."
NOT_SHARED = "There is no run {!r} of {} that is shared with you."
ShareName = Annotated[str, Meta(min_length=1, max_length=200)]


class RunShares(Struct, frozen=True, forbid_unknown_fields=True):
    """The users and groups who may read a run."""

    users: Annotated[list[ShareName], Meta(max_length=100)] = []
    groups: Annotated[list[ShareName], Meta(max_length=100)] = []


class SharedRun(Struct, frozen=True):
    """A run that is shared with you, and by whom."""

    owner: str
    run: RunInfo


class SharingApi:
    """The handlers for one user. `home` is the server's own, below which those of users are."""

    def __init__(self, users: Users | None, home: Home, person: User, runs: HostedRuns) -> None:
        self._users = users
        self._home = home
        self._person = person
        self._runs = runs

    @get("/api/runs/{run_id}/shares", errors={404: "there is no such run"})
    async def shares(self, request: Request, run_id: str) -> RunShares:
        """List the users and groups who may read a run of yours."""
        await self._check_own(request, run_id)
        if self._users is None:
            return RunShares()
        found = await asyncio.to_thread(self._users.shares_of, self._person.name, run_id)
        return RunShares([each.grantee for each in found if not each.is_group], [each.grantee for each in found if each.is_group])

    @put("/api/runs/{run_id}/shares", errors={404: "there is no such run", 409: "there are no users", 422: "no such user"})
    async def share(self, request: Request, run_id: str, body: RunShares) -> RunShares:
        """Set the users and groups who may read a run of yours; all others can't any more."""
        await self._check_own(request, run_id)
        if self._users is None:
            raise HTTPException(409, NO_USERS)
        known = {person.name for person in await asyncio.to_thread(self._users.all)}
        unknown = [name for name in body.users if name not in known]
        if unknown:
            raise HTTPException(422, f"There is no user {unknown[0]!r} at this server.")
        wanted = [*[Share(name) for name in body.users], *[Share(name, is_group=True) for name in body.groups]]
        await asyncio.to_thread(self._users.set_shares, self._person.name, run_id, wanted)
        return await self.shares(request, run_id)

    @get("/api/shared")
    async def list_shared_runs(self) -> list[SharedRun]:
        """List the runs of other users that are shared with you."""
        if self._users is None:
            return []
        found: list[SharedRun] = []
        for owner, run_id in await asyncio.to_thread(self._users.shared_with, self._person):
            try:
                found.append(SharedRun(owner, await open_user_home(self._home, owner).journal.info(run_id)))
            except RunNotFound:
                continue  # it was deleted
        return found

    @get("/api/shared/{owner}/{run_id}", errors={404: "there is no such run, or it isn't shared with you"})
    async def get_shared_run(self, owner: str, run_id: str) -> RunView:
        """Get a run of another user that is shared with you, or a run nested in one, with all its entries."""
        if self._users is None or not is_user_name(owner):
            raise RunNotFound(NOT_SHARED.format(run_id, owner))
        shared = {run for name, run in await asyncio.to_thread(self._users.shared_with, self._person) if name == owner}
        if not shared:  # the home of a user who shares nothing isn't opened
            raise RunNotFound(NOT_SHARED.format(run_id, owner))
        home = open_user_home(self._home, owner)
        if await _find_root(home, run_id) not in shared:
            raise RunNotFound(NOT_SHARED.format(run_id, owner))
        journals = await read_journals(home, run_id)
        return view_run(await home.journal.info(run_id), journals, [])

    async def _check_own(self, request: Request, run_id: str) -> None:
        """Raise where a run isn't the user's, or is nested in another."""
        await read_run_entries(self._runs.home, run_id)
        await self._runs.check_shown(run_id, requester_of(request))
        if (await self._runs.home.journal.info(run_id)).parent:
            raise RunNotFound(f"Run {run_id} is part of another run; share that one.")


async def _find_root(home: Home, run_id: str) -> str:
    """Return the run that a run is nested in, at any depth; itself where it is in none, or there is no such run."""
    try:
        while parent := (await home.journal.info(run_id)).parent:
            run_id = parent
    except RunNotFound:
        return run_id
    return run_id


def sharing_routes(users: Users | None, home: Home, person: User, runs: HostedRuns) -> list[BaseRoute]:
    """Return the routes."""
    return routes_of(SharingApi(users, home, person, runs))
