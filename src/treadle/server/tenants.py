"""An application for each person: built when they first come, with a home of their own, so that nobody meets another's things.

Who somebody is says `doorman`; what an application has says `app`.
"""

import asyncio
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from pathlib import Path

from msgspec.structs import replace
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.types import Receive, Scope, Send

from treadle.app.assistant import Host
from treadle.app.budget import budgeted, spent_in
from treadle.app.home import open_home
from treadle.stores.people import Person
from treadle.stores.users import is_name

FOLDER = "users"
WORKSPACE = "workspace"  # what a person's assistants may read and change, in their folder


def host_for(host: Host, person: Person) -> Host:
    """What is lent to assistants for one person: a home of their own, below that of the server."""
    assert is_name(person.name), "else this could be anybody's folder"
    home = open_home(folder_of(host.home.folder, person.name))
    model = budgeted(host.model, person.allowance, spent_in(home))
    return replace(host, home=home, user=person.name, model=model, folder=home.folder / WORKSPACE, shared=True)


def folder_of(home: Path, name: str) -> Path:
    """Where the things of a user are, below the server's own home."""
    return home / FOLDER / name


class Tenants:
    """Hands each request to the application of whoever asks."""

    def __init__(self, make: Callable[[Person], Starlette]) -> None:
        self._make = make
        self._kept: dict[str, _Tenant] = {}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on."""
        person: Person | None = scope.get("person")
        if person is None:
            raise HTTPException(404)  # what nobody has to be known for is elsewhere
        tenant = self._kept.get(person.name)
        if tenant is None or tenant.person != person:
            tenant = await self._open(person, tenant)
        await tenant.ready.wait()
        await tenant.app(scope, receive, send)

    async def _open(self, person: Person, before: "_Tenant | None") -> "_Tenant":
        """A new application, in place of the one from before a person's role or allowance was changed."""
        tenant = self._kept[person.name] = _Tenant(person, self._make(person))
        if before is not None:
            await before.close()
        return tenant

    @asynccontextmanager
    async def lifespan(self, app: Starlette) -> AsyncGenerator[None]:
        """For as long as the server runs; at the end all applications end."""
        try:
            yield
        finally:
            await asyncio.gather(*[tenant.close() for tenant in self._kept.values()])


class _Tenant:
    """One person's application, and the task that holds it open: what is opened in a task is closed in it."""

    def __init__(self, person: Person, app: Starlette) -> None:
        self.person = person
        self.app = app
        self.ready = asyncio.Event()
        self._over = asyncio.Event()
        self._task = asyncio.create_task(self._hold())

    async def _hold(self) -> None:
        try:
            async with self.app.router.lifespan_context(self.app):
                self.ready.set()
                await self._over.wait()
        finally:
            self.ready.set()  # whoever waits hears from the request what is wrong

    async def close(self) -> None:
        """End it."""
        self._over.set()
        await asyncio.wait([self._task])
