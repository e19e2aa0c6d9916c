"""How runs come to workers: a new one, one that is to go on, and one that begins by the clock."""

from os import urandom
from time import time

from treadle.app.assistants import assistant
from treadle.app.home import Home
from treadle.app.workers.order import Order, opening, order_of
from treadle.app.workers.scheduling import Wanted, new_schedule
from treadle.core.errors import SettingsError
from treadle.engine.engine import new_run_id
from treadle.loop.state import replay
from treadle.stores.queue import Place, Queue
from treadle.stores.schedules import Schedule, Schedules


async def submit(home: Home, order: Order, message: str, *, user: str = "", at: float = 0.0) -> str:
    """Write a run down and queue it, to begin at a time or as soon as can be. Its id."""
    assistant(order.assistant)  # a sentence now, where there is none
    run_id = new_run_id()
    await Queue(home.database).open(Place(run_id, user, order.first_model, at), opening(order, message, user))
    return run_id


async def queue_again(home: Home, run_id: str, at: float = 0.0) -> None:
    """Queue a run that stopped: after an approval, a failure."""
    state = replay(await home.journal.read(run_id))
    order = order_of(run_id, state.opened)
    if state.finished is not None and state.finished.stopped not in ("failed", "waiting"):
        raise SettingsError(f"Run {run_id} is over ({state.finished.stopped}), so there is nothing to go on with.")
    user = "" if state.opened is None else state.opened.user
    await Queue(home.database).add(Place(run_id, user, order.first_model, at))


async def submit_every(home: Home, cron: str, zone: str, wanted: Wanted, name: str = "") -> Schedule:
    """Have such a run begun again and again. Its schedule, which has a name of its own."""
    assistant(wanted.order.assistant)
    schedule = new_schedule(name or f"{wanted.order.assistant}-{urandom(3).hex()}", cron, zone, wanted, time())
    if not await Schedules(home.database, Queue(home.database)).add(schedule):
        raise SettingsError(f"There is a schedule {schedule.name} already: choose another --name, or remove it first.")
    return schedule
