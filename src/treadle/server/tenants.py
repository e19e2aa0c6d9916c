"""An application for each person: built when they first come, with a home of their own, so that nobody meets another's things.

Who somebody is says `doorman`; what an application has says `app`.
"""

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager, suppress
from pathlib import Path

from msgspec.structs import replace
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.types import Receive, Scope, Send

from treadle.app.assistant import Host
from treadle.app.budget import budgeted, spent_in
from treadle.app.home import home_of_person
from treadle.core.log import log
from treadle.files.places import USERS, WORKSPACE
from treadle.stores.journal import Wanted
from treadle.stores.people import Person
from treadle.stores.users import is_name

GRACE = 5.0  # seconds that requests have to end in, when an application does
LOOKS = 10.0  # seconds between two looks for users that were removed


People = Callable[[], Awaitable[Sequence[Person]]]
Awaited = Callable[[Person], Awaitable[bool]]


def host_for(host: Host, person: Person) -> Host:
    """What is lent to assistants for one person: a home of their own, below that of the server."""
    assert is_name(person.name), "else this could be anybody's folder"
    home = home_of_person(host.home, person.name)
    model = budgeted(host.model, person.allowance, spent_in(home))
    return replace(host, home=home, user=person.name, model=model, folder=home.folder / WORKSPACE, shared=True)


def folder_of(home: Path, name: str) -> Path:
    """Where the things of a user are, below the server's own home."""
    return home / USERS / name


async def has_left(host: Host, person: Person) -> bool:
    """Whether a server that ended has left runs of theirs under way."""
    return bool(await home_of_person(host.home, person.name).journal.listed(Wanted(status="open", limit=1)))


class Tenants:
    """Hands each request to the application of whoever asks. `people` gives everybody there is, as a server finds them.

    Those who are `awaited` have their applications with the server's beginning, whether they come or not.
    """

    def __init__(self, make: Callable[[Person], Starlette], people: People, awaited: Awaited) -> None:
        self._make = make
        self._people = people
        self._awaited = awaited
        self._kept: dict[str, _Tenant] = {}
        self._closing: set[asyncio.Task[None]] = set()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on."""
        person: Person | None = scope.get("person")
        if person is None:
            raise HTTPException(404)  # what nobody has to be known for is elsewhere
        tenant = self._kept.get(person.name)
        if tenant is None or tenant.person != person:
            tenant = self._open(person, tenant)
        await tenant.answer(scope, receive, send)

    def _open(self, person: Person, before: "_Tenant | None" = None) -> "_Tenant":
        """A new application, in place of the one from before a person's role or allowance was changed."""
        tenant = self._kept[person.name] = _Tenant(person, self._make(person))
        if before is not None:
            self._close(before)
        return tenant

    def _close(self, tenant: "_Tenant") -> None:
        """End an application without anybody waiting for that."""
        closing = asyncio.create_task(tenant.close())
        self._closing.add(closing)  # or it might be collected before it is over
        closing.add_done_callback(self._closing.discard)

    async def _begin(self) -> None:
        """Open the applications of those who needn't come first."""
        for person in await self._people():
            try:
                if person.name not in self._kept and await self._awaited(person):
                    self._open(person)
            except Exception as error:  # noqa: BLE001 - an assistant's, perhaps; they hear of it when they come, and the others go on
                log.warning("What %s left under way isn't taken up yet: %s", person.name, error)

    async def _see_to_it(self) -> None:
        """End the applications of those who are gone, and with them what they have under way."""
        await self._begin()
        while True:
            await asyncio.sleep(LOOKS)
            names = {person.name for person in await self._people()}
            for name in [name for name in self._kept if name not in names]:
                self._close(self._kept.pop(name))

    @asynccontextmanager
    async def lifespan(self, app: Starlette) -> AsyncGenerator[None]:
        """For as long as the server runs; at the end all applications end."""
        seeing = asyncio.create_task(self._see_to_it())
        seeing.add_done_callback(_told)
        try:
            yield
        finally:
            seeing.cancel()
            await asyncio.wait([seeing])
            await asyncio.gather(*[tenant.close() for tenant in self._kept.values()], *self._closing)


def _told(seeing: "asyncio.Task[None]") -> None:
    """That nobody is looked for any more has to be known."""
    if not seeing.cancelled() and (error := seeing.exception()) is not None:
        log.error("Users who are removed aren't noticed any more until the server is started again", exc_info=error)


class _Tenant:
    """One person's application, and the task that holds it open: what is opened in a task is closed in it."""

    def __init__(self, person: Person, app: Starlette) -> None:
        self.person = person
        self.app = app
        self._ready = asyncio.Event()
        self._over = asyncio.Event()
        self._asking = 0  # requests under way
        self._idle = asyncio.Event()
        self._idle.set()
        self._task = asyncio.create_task(self._hold())

    async def answer(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request."""
        self._asking += 1
        self._idle.clear()
        try:
            await self._ready.wait()
            await self.app(scope, receive, send)
        finally:
            self._asking -= 1
            if not self._asking:
                self._idle.set()

    async def _hold(self) -> None:
        try:
            async with self.app.router.lifespan_context(self.app):
                self._ready.set()
                await self._over.wait()
        finally:
            self._ready.set()  # whoever waits hears from the request what is wrong

    async def close(self) -> None:
        """End it, when what is being answered is answered; who reads events is not waited for long."""
        with suppress(TimeoutError):
            await asyncio.wait_for(self._idle.wait(), GRACE)
        self._over.set()
        await asyncio.wait([self._task])
