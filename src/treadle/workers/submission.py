"""Submit runs to workers: a new one, one to continue, and a scheduled one."""

from os import urandom
from time import time

from treadle.core.errors import SettingsError
from treadle.engine.engine import new_run_id
from treadle.home import Home
from treadle.loop.state import replay
from treadle.plugins.assistants import get_assistant
from treadle.stores.queue import QueuePosition, RunQueue
from treadle.stores.schedules import Schedule, Schedules
from treadle.workers.run_spec import RunSpec, opening_entries, run_spec_of
from treadle.workers.schedules import ScheduledRun, new_schedule


async def submit_run(home: Home, order: RunSpec, message: str, *, user: str = "", at: float = 0.0) -> str:
    """Store and queue a run, to start at a time or as soon as possible, and return its id."""
    get_assistant(order.assistant)  # a sentence now, where there is none
    run_id = new_run_id()
    await RunQueue(home.database).open(QueuePosition(run_id, user, order.first_model, at), opening_entries(order, message, user))
    return run_id


async def requeue_run(home: Home, run_id: str, at: float = 0.0) -> None:
    """Queue a run that stopped: after an approval or a failure."""
    state = replay(await home.journal.read(run_id))
    order = run_spec_of(run_id, state.opened)
    if state.finished is not None and not state.finished.resumable:
        raise SettingsError(f"Run {run_id} is over ({state.finished.stopped}), so there is nothing to go on with.")
    user = "" if state.opened is None else state.opened.user
    await RunQueue(home.database).add(QueuePosition(run_id, user, order.first_model, at))


async def schedule_run(home: Home, cron: str, zone: str, wanted: ScheduledRun, name: str = "") -> Schedule:
    """Schedule a recurring run and return its schedule, which has a name of its own."""
    get_assistant(wanted.order.assistant)
    schedule = new_schedule(name or f"{wanted.order.assistant}-{urandom(3).hex()}", cron, zone, wanted, time())
    if not await Schedules(home.database, RunQueue(home.database)).add(schedule):
        raise SettingsError(f"There is a schedule {schedule.name} already: choose another --name, or remove it first.")
    return schedule
