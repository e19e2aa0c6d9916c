"""Who takes up what a server left behind: one process for each home, which holds its lock for as long as it runs.

Another that serves the same home at the same time must not: it would take for left behind what is under way. A home in a file is
held by a lock of the system, one in PostgreSQL by a lease, as its servers may be on several machines.
"""

import asyncio
import fcntl
from contextlib import ExitStack, suppress
from os import urandom
from pathlib import Path
from typing import Protocol

from treadle.app.home import Home
from treadle.core.errors import JournalError
from treadle.core.log import log
from treadle.stores.leases import Lease, Leases
from treadle.stores.sqlite import SqliteDatabase

NAME = "serving.lock"
LEASED = "(serving)"  # what the lease is on, where others are on runs
PATIENCE = 10.0  # seconds in which whoever held it before may let go of it, or lose it
LEASE = 6.0
RENEWALS = 3  # in the time of a lease
PAUSE = 0.1


class Lock(Protocol):
    """The lock of one home. Nothing is made before there is something to hold."""

    async def try_now(self) -> bool:
        """Hold it, if nobody else does."""
        ...

    async def let_go(self) -> None:
        """Let somebody else hold it."""
        ...


async def wait_for(lock: Lock, patience: float = PATIENCE) -> bool:
    """Hold it, as soon as nobody else does; False where that takes too long."""
    for _ in range(int(patience / PAUSE)):
        if await lock.try_now():
            return True
        await asyncio.sleep(PAUSE)
    return False


def lock_of(home: Home) -> Lock:
    """The lock of a home, as it is kept."""
    return FileLock(home.folder) if isinstance(home.database, SqliteDatabase) else LeaseLock(home.leases)


class FileLock:
    """A lock on a file in the home's folder."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._held = ExitStack()
        self.is_held = False

    async def try_now(self) -> bool:
        """Hold it, if nobody else does."""
        if self.is_held:
            return True
        self._folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        file = self._held.enter_context((self._folder / NAME).open("ab"))
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            self._held.close()
        else:
            self.is_held = True
        return self.is_held

    async def let_go(self) -> None:
        """Let somebody else hold it."""
        self._held.close()
        self.is_held = False


class LeaseLock:
    """A lease in the home's database, which is renewed until it is let go of. One whose server died is over by itself."""

    def __init__(self, leases: Leases, seconds: float = LEASE) -> None:
        self._leases = leases
        self._seconds = seconds
        self._holder = urandom(8).hex()
        self._lease: Lease | None = None
        self._keeping: asyncio.Task[None] | None = None

    async def try_now(self) -> bool:
        """Hold it, if nobody else does."""
        if self._lease is None:
            self._lease = await self._leases.take(LEASED, self._holder, self._seconds)
            if self._lease is not None:
                self._keeping = asyncio.create_task(self._kept(self._lease))
        return self._lease is not None

    async def _kept(self, lease: Lease) -> None:
        """Renew it for as long as it is ours. While the database is away, whether it still is will be seen later."""
        kept = True
        while kept:
            await asyncio.sleep(lease.seconds / RENEWALS)
            try:
                kept = await self._leases.renew(lease)
            except JournalError as error:
                log.warning("The server's lease couldn't be renewed: %s", error)
        self._lease = None

    async def let_go(self) -> None:
        """Let somebody else hold it, at once if the database can be told."""
        if self._keeping is not None:
            self._keeping.cancel()
        if self._lease is not None:
            with suppress(JournalError):
                await self._leases.give_up(self._lease)
        self._lease = None
