"""Recovery of interrupted runs: one process per home, which holds the home's lock while it runs.

Another that serves the same home at the same time must not recover: it would take active runs for interrupted ones.
A home in a file is locked by the system, one in PostgreSQL by a lease, as its servers may be on several machines.
"""

import asyncio
import fcntl
from contextlib import ExitStack, suppress
from os import urandom
from pathlib import Path
from typing import Protocol

from treadle.core.errors import JournalError
from treadle.core.log import log
from treadle.home import Home
from treadle.stores.leases import Lease, Leases
from treadle.stores.sqlite import SqliteDatabase

LOCK_FILE = "serving.lock"
LEASE_NAME = "(serving)"  # what the lease is on, where others are on runs
LOCK_TIMEOUT = 10.0  # seconds in which the previous holder may release it, or lose it
LEASE_SECONDS = 6.0
RENEWALS = 3  # in the time of a lease
POLL_SECONDS = 0.1


class HomeLock(Protocol):
    """The lock of one home. Nothing is created before it is acquired."""

    async def try_now(self) -> bool:
        """Acquire the lock if it is free."""
        ...

    async def let_go(self) -> None:
        """Release the lock."""
        ...


async def wait_for_lock(lock: HomeLock, patience: float = LOCK_TIMEOUT) -> bool:
    """Acquire the lock as soon as it is free; return False on timeout."""
    for _ in range(int(patience / POLL_SECONDS)):
        if await lock.try_now():
            return True
        await asyncio.sleep(POLL_SECONDS)
    return False


def make_home_lock(home: Home) -> HomeLock:
    """Return the lock of a home, by its kind of storage."""
    return HomeFileLock(home.folder) if isinstance(home.database, SqliteDatabase) else HomeLeaseLock(home.leases)


class HomeFileLock:
    """A lock on a file in the home's folder."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._held = ExitStack()
        self.is_held = False

    async def try_now(self) -> bool:
        """Acquire the lock if it is free."""
        if self.is_held:
            return True
        self._folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        file = self._held.enter_context((self._folder / LOCK_FILE).open("ab"))
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            self._held.close()
        else:
            self.is_held = True
        return self.is_held

    async def let_go(self) -> None:
        """Release the lock."""
        self._held.close()
        self.is_held = False


class HomeLeaseLock:
    """A lease in the home's database, which is renewed until it is released. That of a dead server expires."""

    def __init__(self, leases: Leases, seconds: float = LEASE_SECONDS) -> None:
        self._leases = leases
        self._seconds = seconds
        self._holder = urandom(8).hex()
        self._lease: Lease | None = None
        self._keeping: asyncio.Task[None] | None = None

    async def try_now(self) -> bool:
        """Acquire the lock if it is free."""
        if self._lease is None:
            self._lease = await self._leases.take(LEASE_NAME, self._holder, self._seconds)
            if self._lease is not None:
                self._keeping = asyncio.create_task(self._renew(self._lease))
        return self._lease is not None

    async def _renew(self, lease: Lease) -> None:
        """Renew the lease while it is ours. While the database is unavailable, whether it still is remains to be seen."""
        kept = True
        while kept:
            await asyncio.sleep(lease.seconds / RENEWALS)
            try:
                kept = await self._leases.renew(lease)
            except JournalError as error:
                log.warning("The server's lease couldn't be renewed: %s", error)
        self._lease = None

    async def let_go(self) -> None:
        """Release the lock, at once if the database is available."""
        if self._keeping is not None:
            self._keeping.cancel()
        if self._lease is not None:
            with suppress(JournalError):
                await self._leases.give_up(self._lease)
        self._lease = None
