"""An application per user: built at their first request, with a home of their own, so that users are isolated.

`auth` identifies users; `app` builds an application.
"""

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager, suppress
from pathlib import Path

from msgspec.structs import replace
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.types import Receive, Scope, Send

from treadle.agent.budget import limit_to_budget, make_spending_reader
from treadle.agent.quotas import Quotas
from treadle.core.log import log
from treadle.files.workspace_folders import USERS, WORKSPACE
from treadle.home import open_user_home
from treadle.plugins.assistant import Host
from treadle.plugins.item_sharing import ItemSharing
from treadle.stores.accounts import User
from treadle.stores.journal import JournalQuery
from treadle.stores.users import Users, is_user_name

GRACE = 5.0  # seconds that requests have to end in, when an application does
POLL_SECONDS = 10.0  # seconds between two looks for users that were removed


ListPeople = Callable[[], Awaitable[Sequence[User]]]
IsAwaited = Callable[[User], Awaitable[bool]]


def host_for_user(host: Host, person: User, quotas: Quotas | None = None, users: Users | None = None) -> Host:
    """Return the host for one user: with a home of their own, below the server's, and a model within their budgets."""
    assert is_user_name(person.name), "else this could be anybody's folder"
    home = open_user_home(host.home, person.name)
    sharing = ItemSharing(users, host.home, person.name) if users is not None else None
    model = limit_to_budget(
        host.model, person.allowance, make_spending_reader(home), quotas=quotas.budgets_for(person) if quotas else ()
    )
    return replace(host, home=home, user=person.name, model=model, folder=home.folder / WORKSPACE, shared=True, sharing=sharing)


def user_folder(home: Path, name: str) -> Path:
    """Return a user's folder, below the server's own home."""
    return home / USERS / name


async def has_interrupted_runs(host: Host, person: User) -> bool:
    """Whether a stopped server has left active runs of this user, or runs that wait for a time or an event."""
    home = open_user_home(host.home, person.name)
    return bool(await home.journal.list_runs(JournalQuery(status="open", limit=1)) or await home.waits.waiting(1))


class TenantRouter:
    """Routes each request to its user's application. `people` returns all current users.

    The applications of `awaited` users are opened at startup, whether they send requests or not.
    """

    def __init__(self, make: Callable[[User], Starlette], people: ListPeople, awaited: IsAwaited) -> None:
        self._make = make
        self._people = people
        self._awaited = awaited
        self._kept: dict[str, _Tenant] = {}
        self._closing: set[asyncio.Task[None]] = set()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on."""
        person: User | None = scope.get("person")
        if person is None:
            raise HTTPException(404)  # public paths are served elsewhere
        tenant = self._kept.get(person.name)
        if tenant is None or tenant.person != person:
            tenant = self._open(person, tenant)
        await tenant.answer(scope, receive, send)

    def _open(self, person: User, before: "_Tenant | None" = None) -> "_Tenant":
        """Open an application, in place of the one from before a user's role or allowance was changed."""
        tenant = self._kept[person.name] = _Tenant(person, self._make(person))
        if before is not None:
            self._close(before)
        return tenant

    def _close(self, tenant: "_Tenant") -> None:
        """Close an application in the background."""
        closing = asyncio.create_task(tenant.close())
        self._closing.add(closing)  # or it might be collected before it is over
        closing.add_done_callback(self._closing.discard)

    async def _open_awaited(self) -> None:
        """Open the applications of awaited users."""
        for person in await self._people():
            try:
                if person.name not in self._kept and await self._awaited(person):
                    self._open(person)
            except Exception as error:  # noqa: BLE001 - an assistant's, perhaps; they hear of it when they come, and the others go on
                log.warning("What %s left under way isn't taken up yet: %s", person.name, error)

    async def _close_removed(self) -> None:
        """Close the applications of removed users, and with them their active runs."""
        await self._open_awaited()
        while True:
            await asyncio.sleep(POLL_SECONDS)
            names = {person.name for person in await self._people()}
            for name in [name for name in self._kept if name not in names]:
                self._close(self._kept.pop(name))

    @asynccontextmanager
    async def lifespan(self, app: Starlette) -> AsyncGenerator[None]:
        """Run until the server stops; then close all applications."""
        seeing = asyncio.create_task(self._close_removed())
        seeing.add_done_callback(_log_failure)
        try:
            yield
        finally:
            seeing.cancel()
            await asyncio.wait([seeing])
            await asyncio.gather(*[tenant.close() for tenant in self._kept.values()], *self._closing)


def _log_failure(seeing: "asyncio.Task[None]") -> None:
    """Log that the task which looks for removed users has failed."""
    if not seeing.cancelled() and (error := seeing.exception()) is not None:
        log.error("Users who are removed aren't noticed any more until the server is started again", exc_info=error)


class _Tenant:
    """One user's application, and the task that holds it open: what is opened in a task is closed in it."""

    def __init__(self, person: User, app: Starlette) -> None:
        self.person = person
        self.app = app
        self._ready = asyncio.Event()
        self._over = asyncio.Event()
        self._asking = 0  # requests under way
        self._idle = asyncio.Event()
        self._idle.set()
        self._task = asyncio.create_task(self._run_lifespan())

    async def answer(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle a request."""
        self._asking += 1
        self._idle.clear()
        try:
            await self._ready.wait()
            await self.app(scope, receive, send)
        finally:
            self._asking -= 1
            if not self._asking:
                self._idle.set()

    async def _run_lifespan(self) -> None:
        try:
            async with self.app.router.lifespan_context(self.app):
                self._ready.set()
                await self._over.wait()
        finally:
            self._ready.set()  # waiting callers get the error from their request

    async def close(self) -> None:
        """Close it once its requests are complete; event streams get a grace period."""
        with suppress(TimeoutError):
            await asyncio.wait_for(self._idle.wait(), GRACE)
        self._over.set()
        await asyncio.wait([self._task])
