"""Carries one run on, under a lease, to its end or to where it waits for a person. Which run and when is a dispatcher's business.

Whatever is written goes through the fence of the lease: a worker that was frozen while another one took its run over writes
nothing more, and says so.
"""

import asyncio
from collections.abc import Sequence
from itertools import takewhile
from time import time
from typing import Literal

from msgspec import Struct

from treadle.app.home import Home
from treadle.app.workers.order import Models, agent_for, order_of
from treadle.core.entries import Entry, Finished, Resumed
from treadle.core.errors import JournalError, RunTaken
from treadle.core.log import log
from treadle.engine.setup import Services
from treadle.loop.state import replay
from treadle.stores.leases import Fenced, Lease, Leases

RENEWALS = 3  # in the time of a lease
MOST_TRIES = 5  # times that a run is taken up without coming any further: it may be what ends its workers
PATIENCE = 2.0  # seconds that a run which is let go has to stop in

Outcome = Literal[
    "answered",
    "limit",
    "waiting",
    "cancelled",
    "failed",  # so far the ways in which a turn stops
    "fenced",  # somebody else has it by now, since this worker was silent
    "left",  # the journal couldn't be used; later it goes on
]


class Advanced(Struct, frozen=True):
    """How far a run came, and why not further."""

    outcome: Outcome
    why: str = ""


async def advance(home: Home, lease: Lease, models: Models) -> Advanced:
    """Carry a run on, and keep its lease meanwhile. Cancelled, it is left as after a crash."""
    carrying = asyncio.ensure_future(_carried(home, lease, models))
    keeping = asyncio.ensure_future(_keep(home.leases, lease))
    try:
        await asyncio.wait([carrying, keeping], return_when=asyncio.FIRST_COMPLETED)
        return carrying.result() if carrying.done() else Advanced("fenced", _SILENT)
    finally:
        keeping.cancel()
        carrying.cancel()
        await asyncio.wait([carrying, keeping], timeout=PATIENCE)


_SILENT = "another worker carries it on by now, since this one was silent for too long"


async def _keep(leases: Leases, lease: Lease) -> None:
    """Renew a lease for as long as it is ours. While the database is away, whether it still is will be seen later."""
    kept = True
    while kept:
        await asyncio.sleep(lease.seconds / RENEWALS)
        try:
            kept = await leases.renew(lease)
        except JournalError as error:
            log.warning("The lease on run %s couldn't be renewed: %s", lease.run_id, error)


async def _carried(home: Home, lease: Lease, models: Models) -> Advanced:
    try:
        return await _tried(home, Fenced(home.journal, lease), lease.run_id, models)
    except RunTaken as error:
        return Advanced("fenced", str(error))
    except JournalError as error:
        return Advanced("left", str(error))


async def _tried(home: Home, journal: Fenced, run_id: str, models: Models) -> Advanced:
    try:
        return await _resumed(home, journal, run_id, models)
    except JournalError:
        raise
    except Exception as error:  # noqa: BLE001 - an assistant's, perhaps; the run has to say why it doesn't go on
        log.exception("Run %s couldn't be carried on", run_id)
        return await _failed(journal, run_id, f"It couldn't be carried on: {error}")


async def _resumed(home: Home, journal: Fenced, run_id: str, models: Models) -> Advanced:
    entries = await journal.read(run_id)
    opened = replay(entries).opened
    if tries_in_vain(entries) >= MOST_TRIES:
        return await _failed(journal, run_id, f"It was taken up {MOST_TRIES} times without coming any further.")
    order = order_of(run_id, opened)
    user = "" if opened is None else opened.user
    async with agent_for(order, home, user, models) as agent:
        kept = Services(journal, home.audit, home.cache, home.results, blobs=home.blobs)
        result = await agent.resume(run_id, journal=kept, user=user)
    return Advanced(result.stopped, result.reason)


def tries_in_vain(entries: Sequence[Entry]) -> int:
    """How often a run was taken up without coming any further."""
    return len(list(takewhile(lambda entry: isinstance(entry, Resumed), reversed(entries))))


async def _failed(journal: Fenced, run_id: str, why: str) -> Advanced:
    """Write down that a run can't go on, and why. Queued again, it is tried again."""
    await journal.append(run_id, len(await journal.read(run_id)), [Finished(stopped="failed", reason=why, at=time())])
    return Advanced("failed", why)
