"""Submit runs to workers: a new one, one to continue, and a scheduled one."""

import re
from collections.abc import Sequence
from os import urandom
from time import time

from msgspec.structs import replace

from treadle.core.entries import Entry
from treadle.core.errors import RunTaken, SettingsError
from treadle.engine.engine import new_run_id
from treadle.home import Home
from treadle.loop.state import replay
from treadle.stores.queue import RunQueue
from treadle.stores.schedules import Schedule, Schedules
from treadle.workers.run_spec import RunSpec, opening_entries, run_spec_of
from treadle.workers.schedules import ScheduledRun, new_schedule

_RUN_ID = re.compile(r"[A-Za-z0-9_-]{1,100}")


async def submit_run(home: Home, order: RunSpec, message: str, *, user: str = "", at: float = 0.0, run_id: str = "") -> str:
    """Store and queue a run, to start at a time or as soon as possible, and return its id.

    With a `run_id`, the same run submitted again is one run. Raises `RunTaken` where another run has this id.
    """
    order.check()  # a sentence now, where there is no such assistant
    if run_id and not _RUN_ID.fullmatch(run_id):
        raise SettingsError(f"{run_id[:100]!r} can't be a run's id: up to 100 letters, digits, - and _ can.")
    chosen, entries = run_id or new_run_id(), opening_entries(order, message, user)
    try:
        await RunQueue(home.database).open(order.position(chosen, user, at), entries)
    except RunTaken:
        if not _is_same_run(entries, await home.journal.read(chosen)):
            raise RunTaken(f"Run {chosen} exists, with another message or other options: choose another id.") from None
    return chosen


def _is_same_run(entries: Sequence[Entry], stored: Sequence[Entry]) -> bool:
    """Whether a run begins with these entries, whatever its times."""
    return [replace(entry, at=0.0) for entry in stored[: len(entries)]] == [replace(entry, at=0.0) for entry in entries]


async def requeue_run(home: Home, run_id: str, at: float = 0.0) -> None:
    """Queue a run that stopped: after an approval or a failure."""
    state = replay(await home.journal.read(run_id))
    order = run_spec_of(run_id, state.opened)
    if state.finished is not None and not state.finished.resumable:
        raise SettingsError(f"Run {run_id} is over ({state.finished.stopped}), so there is nothing to go on with.")
    user = "" if state.opened is None else state.opened.user
    await RunQueue(home.database).add(order.position(run_id, user, at))


async def schedule_run(home: Home, cron: str, zone: str, wanted: ScheduledRun, name: str = "") -> Schedule:
    """Schedule a recurring run and return its schedule, which has a name of its own."""
    wanted.order.check()
    schedule = new_schedule(name or f"{wanted.order.name.replace(':', '.')}-{urandom(3).hex()}", cron, zone, wanted, time())
    if not await Schedules(home.database, RunQueue(home.database)).add(schedule):
        raise SettingsError(f"There is a schedule {schedule.name} already: choose another --name, or remove it first.")
    return schedule
