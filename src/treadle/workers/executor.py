"""Advance one run, under a lease, to its end or to where it waits for a person. A dispatcher decides which run and when.

All writes are fenced by the lease: a worker that was frozen while another one took over its run writes nothing
more, and reports that.
"""

import asyncio
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, ExitStack
from itertools import takewhile
from time import time
from typing import Any, Literal

from msgspec import Struct
from msgspec.structs import replace

from treadle.agent.agent import Agent
from treadle.core.entries import Entry, Finished, Resumed
from treadle.core.errors import JournalError, RunTaken
from treadle.core.log import log
from treadle.core.requests import Usage
from treadle.core.seams import Watcher
from treadle.home import Home
from treadle.loop.state import replay
from treadle.stores.cancellation import CancelWatch
from treadle.stores.leases import FencedJournal, Lease, Leases
from treadle.stores.run_versions import RunVersions
from treadle.workers.run_control import end_cancelled
from treadle.workers.run_spec import WorkerModels, open_agent, run_spec_of

RENEWALS = 3  # in the time of a lease
MAX_ATTEMPTS = 5  # times that a run is taken up without coming any further: it may be what ends its workers
PATIENCE = 2.0  # seconds that a run which is let go has to stop in

Outcome = Literal[
    "answered",
    "limit",
    "waiting",
    "cancelled",
    "failed",  # so far the ways in which a turn stops
    "fenced",  # another worker has it by now, since this one's lease ended
    "left",  # the journal couldn't be used; later it goes on
]


Observe = Callable[[str, str, Usage, Agent[Any, Any]], AbstractContextManager[Watcher]]  # as `Host.observe`


class RunSurroundings(Struct, frozen=True):
    """What a worker has for all of its runs: models, requests to cancel, metrics, and the versions of its application."""

    models: WorkerModels
    watch: CancelWatch
    observe: Observe | None = None
    versions: Sequence[str] = ()


class AdvanceResult(Struct, frozen=True):
    """How far a run was advanced, and why not further. One that is `asleep` waits for a time or an event, and for no person.

    One that `stalled` was taken up again and again without any progress.
    """

    outcome: Outcome
    why: str = ""
    asleep: bool = False
    stalled: bool = False


async def advance_run(
    home: Home,
    lease: Lease,
    models: WorkerModels,
    watch: CancelWatch | None = None,
    observe: Observe | None = None,
    versions: Sequence[str] = (),
) -> AdvanceResult:
    """Advance a run while renewing its lease. When the task is cancelled, the run is left as after a crash.

    When a cancellation of the run is requested, from any process, it ends. `observe` counts it, where there are metrics.
    `versions` are those of the worker's application, its own first; a run of another one is left.
    """
    around = RunSurroundings(models, watch or CancelWatch(home.cancel_requests), observe, versions)
    carrying = asyncio.ensure_future(_advance_fenced(home, lease, around))
    keeping = asyncio.ensure_future(_renew_lease(home.leases, lease))
    try:
        await asyncio.wait([carrying, keeping], return_when=asyncio.FIRST_COMPLETED)
        done = carrying.result() if carrying.done() else AdvanceResult("fenced", _LOST_LEASE)
        return AdvanceResult("cancelled") if done.outcome == "fenced" and await _is_cancelled(home, lease.run_id) else done
    finally:
        keeping.cancel()
        carrying.cancel()
        await asyncio.wait([carrying, keeping], timeout=PATIENCE)


_LOST_LEASE = "another worker carries it on by now, since this one was silent for too long"


async def _is_cancelled(home: Home, run_id: str) -> bool:
    """Return whether another process took the lease to cancel the run."""
    try:
        return (await home.journal.info(run_id)).status == "cancelled"
    except JournalError:
        return False


async def _renew_lease(leases: Leases, lease: Lease) -> None:
    """Renew a lease while it is ours. While the database is unavailable, whether it still is remains to be seen."""
    kept = True
    while kept:
        await asyncio.sleep(lease.seconds / RENEWALS)
        try:
            kept = await leases.renew(lease)
        except JournalError as error:
            log.warning("The lease on run %s couldn't be renewed: %s", lease.run_id, error)


async def _advance_fenced(home: Home, lease: Lease, around: RunSurroundings) -> AdvanceResult:
    try:
        return await _try_advance(home, FencedJournal(home.journal, lease), lease.run_id, around)
    except RunTaken as error:
        return AdvanceResult("fenced", str(error))
    except JournalError as error:
        return AdvanceResult("left", str(error))


async def _try_advance(home: Home, journal: FencedJournal, run_id: str, around: RunSurroundings) -> AdvanceResult:
    try:
        return await _resume_run(home, journal, run_id, around)
    except JournalError:
        raise
    except Exception as error:  # noqa: BLE001 - an assistant's, perhaps; the run has to say why it doesn't go on
        log.exception("Run %s couldn't be carried on", run_id)
        return await _record_failure(journal, run_id, f"It couldn't be carried on: {error}")


async def _resume_run(home: Home, journal: FencedJournal, run_id: str, around: RunSurroundings) -> AdvanceResult:
    if await home.cancel_requests.pending([run_id]):
        return await _end_cancelled(home, journal, run_id)
    entries = await journal.read(run_id)
    state = replay(entries)
    opened = state.opened
    if count_futile_attempts(entries) >= MAX_ATTEMPTS:
        why = f"It was taken up {MAX_ATTEMPTS} times without coming any further."
        return replace(await _record_failure(journal, run_id, why), stalled=True)
    order = run_spec_of(run_id, opened)
    if around.versions:
        version = await RunVersions(home.database).pin(run_id, "" if order.any_version else around.versions[0])
        if version not in ("", *around.versions):
            return AdvanceResult("left", f"version {version} began it, which this worker doesn't have")
    user = "" if opened is None else opened.user
    async with open_agent(order, home, user, around.models) as agent, around.watch.watching(run_id, lambda: agent.cancel(run_id)):
        kept = replace(home.services(), journal=journal)
        with ExitStack() as counting:
            counted = around.observe and counting.enter_context(around.observe(order.name, run_id, state.usage, agent))
            result = await agent.resume(run_id, journal=kept, user=user, watchers=[counted] if counted else ())
    if result.stopped == "waiting" and await home.cancel_requests.pending([run_id]):
        return await _end_cancelled(home, journal, run_id)
    return AdvanceResult(result.stopped, result.reason, result.stopped == "waiting" and not result.approvals)


async def _end_cancelled(home: Home, journal: FencedJournal, run_id: str) -> AdvanceResult:
    await end_cancelled(home, journal, run_id)
    return AdvanceResult("cancelled")


def count_futile_attempts(entries: Sequence[Entry]) -> int:
    """Return how often a run was resumed without making progress."""
    return len(list(takewhile(lambda entry: isinstance(entry, Resumed), reversed(entries))))


async def _record_failure(journal: FencedJournal, run_id: str, why: str) -> AdvanceResult:
    """Journal that a run can't continue, and why. When queued again, it is retried."""
    await journal.append(run_id, len(await journal.read(run_id)), [Finished(stopped="failed", reason=why, at=time())])
    return AdvanceResult("failed", why)
