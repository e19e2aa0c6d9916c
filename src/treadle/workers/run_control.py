"""Cancel, retry and wait for a run, whichever process executes it: the store is all that this process shares with that one."""

import asyncio
from time import monotonic

from msgspec.structs import replace

from treadle.core.entries import Finished, Opened
from treadle.core.errors import RunNotFound, RunTaken, TreadleError
from treadle.core.log import log
from treadle.engine.engine import new_run_id
from treadle.engine.tree import load_run_tree
from treadle.guard.redaction import Redactor
from treadle.home import Home
from treadle.loop.state import replay
from treadle.stores.journal import RunInfo
from treadle.stores.leases import FencedJournal
from treadle.stores.queue import RunQueue
from treadle.workers.run_spec import is_worker_run, run_spec_of

CANCEL_SECONDS = 5.0  # for the process that executes a run to end it
HOLDER_SECONDS = 1.0  # that a request leaves to the worker that holds the run, before any other process ends the run
LEASE_SECONDS = 5.0  # for which a run is held while it is ended here
POLL_SECONDS = 0.1
SERVER_FACE = "server"  # of runs that servers execute, in `Opened.origin`


async def cancel_run(home: Home, run_id: str, *, wait: float = CANCEL_SECONDS, redactor: Redactor | None = None) -> str:
    """Cancel a run and return its status; it is "open" where the process that executes it hasn't ended it within `wait` seconds.

    The request is stored: that process ends the run as soon as it can. A worker that hasn't after `HOLDER_SECONDS` loses its
    lease, and the run is ended here, or by any worker. A run that is cancelled already stays so. Raises `RunTaken` for one that
    is over.
    """
    until = monotonic() + wait
    status = await _try_cancel(home, run_id, redactor)
    while status == "open" and monotonic() < until:
        await asyncio.sleep(POLL_SECONDS)
        if (await home.journal.info(run_id)).status != "open" or await home.leases.may_cancel(run_id, HOLDER_SECONDS):
            status = await _try_cancel(home, run_id, redactor)
    return status


async def _try_cancel(home: Home, run_id: str, redactor: Redactor | None) -> str:
    tree = await load_run_tree(home.services(), run_id, redactor=redactor)
    root = tree.check_root()
    opened, finished = root.state.opened or Opened(), root.state.finished
    queue = RunQueue(home.database)
    if finished is not None and finished.stopped == "cancelled" and not finished.interrupted:
        return "cancelled"
    if finished is not None and finished.stopped == "waiting":
        try:
            await tree.cancel()
        except RunTaken:  # another process continues it at this moment
            return "open"
        await queue.remove(run_id)
        return "cancelled"
    if finished is not None and not await queue.has(run_id):
        raise RunTaken(f"Run {run_id} is over ({finished.stopped}), so there is nothing to cancel.")
    if not is_worker_run(opened) and opened.origin.get("face") != SERVER_FACE:
        raise RunTaken(
            f"Run {run_id} isn't over: cancel it where it is under way. Only workers and servers take requests to cancel one."
        )
    await home.cancel_requests.add(run_id)  # first, so that the process which executes the run can end it meanwhile
    return "cancelled" if is_worker_run(opened) and await _cancel_leased(home, run_id, redactor) else "open"


async def _cancel_leased(home: Home, run_id: str, redactor: Redactor | None) -> bool:
    """End a run that no worker executes, or whose worker doesn't respond to the request. Return False where one may yet."""
    lease = await home.leases.take_to_cancel(run_id, new_run_id(), LEASE_SECONDS, HOLDER_SECONDS)
    if lease is None:
        return False
    try:
        await end_cancelled(home, FencedJournal(home.journal, lease), run_id, redactor)
        await RunQueue(home.database).remove(run_id)
    except RunTaken:  # it isn't queued any more, or the lease was lost
        return False
    finally:
        await home.leases.give_up(lease)
    return True


async def end_cancelled(home: Home, journal: FencedJournal, run_id: str, redactor: Redactor | None = None) -> None:
    """Journal that a run was cancelled, under its lease: calls that had begun get a result that they may have taken effect."""
    services = replace(home.services(), journal=journal)
    await (await load_run_tree(services, run_id, redactor=redactor)).cancel(leased=True)


async def end_overdue_runs(home: Home) -> list[str]:
    """Cancel the runs whose workers don't respond to a request, and return them: the process that made it may have died, too."""
    ended: list[str] = []
    for run_id in await home.cancel_requests.overdue(HOLDER_SECONDS):
        try:
            if await _cancel_leased(home, run_id, None):
                ended.append(run_id)
        except TreadleError as error:
            log.error("Run %s couldn't be cancelled: %s", run_id, error)
    return ended


async def retry_run(home: Home, run_id: str) -> None:
    """Queue a failed run again: a worker continues it from its journal, so that no effect is repeated.

    One that is queued already stays so. Raises `RunTaken` for a run that hasn't failed.
    """
    state = replay(await home.journal.read(run_id))
    check_failed(run_id, state.finished)
    user = "" if state.opened is None else state.opened.user
    await RunQueue(home.database).add_once(run_spec_of(run_id, state.opened).position(run_id, user))


def check_failed(run_id: str, finished: Finished | None) -> None:
    """Raise `RunTaken` where a run hasn't failed."""
    if finished is None or finished.stopped != "failed":
        how = "isn't over" if finished is None else f"has stopped as {finished.stopped!r}"
        raise RunTaken(f"Run {run_id} {how}: only a failed run can be retried.")


async def failure_reason(home: Home, run_id: str) -> str:
    """Return why a run failed, with secrets masked; empty where it hasn't, or is gone."""
    try:
        finished = replay(await home.journal.read(run_id)).finished
    except RunNotFound:
        return ""
    return "" if finished is None or finished.stopped != "failed" else Redactor().text(finished.reason)


async def wait_for_run(home: Home, run_id: str, timeout: float | None = None) -> RunInfo:  # noqa: ASYNC109 - it returns
    """Wait until the turn of a run is over or waits, and it isn't queued; return how it stands then, or at the timeout."""
    until = None if timeout is None else monotonic() + timeout
    while True:
        info = await home.journal.info(run_id)
        if (info.status != "open" and not await RunQueue(home.database).has(run_id)) or (
            until is not None and monotonic() >= until
        ):
            return info
        await asyncio.sleep(POLL_SECONDS)
