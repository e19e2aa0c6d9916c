"""One life of Treadle: carries a run on, from wherever the last life left it, to its end. How it dies is in the order.

`python -m bench.faults.worker` gives birth to such lives; see `births`.
"""

import asyncio
import time
from pathlib import Path

from bench.faults.births import Tell, serve
from bench.faults.logs import Log, Note
from bench.faults.orders import Life, Order
from bench.faults.parts import PlannedModel, Trades
from bench.faults.points import PointedAudit, PointedJournal, Points
from bench.faults.world import World
from treadle import Agent, Home, Limits, RunResult, TreadleError, allow, open_home
from treadle.core.entries import Entry, Judged, Returned, Started
from treadle.core.errors import RunNotFound
from treadle.core.events import CallStarted, Event, RunStarted
from treadle.core.seams import Journal
from treadle.engine.setup import Services
from treadle.home import close_home
from treadle.stores.audit import AuditVerification
from treadle.stores.sqlite import SqliteDatabase

LIMITS = Limits(rounds=None)
WARM = ("concurrent.futures.thread", "sqlite3", "psycopg", "treadle.dialects.fallback", "treadle.stores.postgres.database")


def living(order: Order, tell: Tell) -> Life:
    """A whole life."""
    return asyncio.run(_lived(order, tell))


async def _lived(order: Order, tell: Tell) -> Life:
    home = open_home(order.home, database=order.store)
    if order.wait and isinstance(home.database, SqliteDatabase):
        home.database.wait = order.wait
    log = Log(Path(order.folder) / "lives")
    points = Points(order)
    try:
        entries = await found(home, order.run_id)
        log.add(Note("born", order.run_id, time.monotonic(), open_calls(entries), bool(entries)))
        tell()
        result = await carried_on(home, order, points, log, known=bool(entries))
        return await _report(home, order, points, result)
    except TreadleError as error:
        return Life(error=f"{type(error).__name__}: {error}", passed=points.passed)
    finally:
        close_home(home)


async def found(home: Home, run_id: str) -> list[Entry]:
    """What the journal has of a run; nothing where it knows none."""
    try:
        return await home.journal.read(run_id)
    except RunNotFound:
        return []


def open_calls(entries: list[Entry]) -> tuple[str, ...]:
    """The calls of a journal that had begun and never came back, as the world names them."""
    names = names_of(entries)
    begun = {entry.call_id for entry in entries if isinstance(entry, Started)}
    over = {entry.result.call_id for entry in entries if isinstance(entry, Returned)}
    return tuple(sorted([names[call_id] for call_id in begun - over]))


def names_of(entries: list[Entry]) -> dict[str, str]:
    """The calls of a journal by their ids, as the world names them."""
    return {entry.call.id: f"{entry.call.name} {entry.call.arguments['number']}" for entry in entries if isinstance(entry, Judged)}


async def carried_on(
    home: Home, order: Order, points: Points, log: Log, *, known: bool, journal: Journal | None = None
) -> RunResult[str]:
    """The run, from wherever it is to its end; written to another journal than the home's, where one is given."""
    pointed = PointedJournal(journal or home.journal, points)
    services = Services(pointed, PointedAudit(home.audit, points), home.cache, home.results)
    world = World(Path(order.folder) / "world")
    model, tools = PlannedModel(order, points), Trades(order, world, points).tools()
    # Nobody is there to be asked, so that a run comes to its end and reports what it doesn't know.
    agent = Agent(model, tools=tools, policy=[allow("*")], limits=LIMITS, attended=False)
    watchers = (Watching(order, points, log),) if order.watched else ()
    if known:
        return await agent.resume(order.run_id, journal=services, watchers=watchers)
    return await agent.run("Do it all.", run_id=order.run_id, journal=services, watchers=watchers)


class Watching:
    """Whoever watches a run: notes that it was told of it, and when the first tool was called."""

    def __init__(self, order: Order, points: Points, log: Log) -> None:
        self._order = order
        self._points = points
        self._log = log
        self._works = False

    def __call__(self, event: Event) -> None:
        now = time.monotonic()
        if isinstance(event, RunStarted):
            self._log.add(Note("told", event.run_id, now))
            self._points.pass_by("somebody was told")
        if isinstance(event, CallStarted) and not self._works:
            self._works = True
            self._log.add(Note("works", event.run_id, now, seconds=now - self._order.born, cold=self._order.cold))


def broken_in(verified: AuditVerification) -> str:
    """What is wrong with an audit; nothing, if its chain holds. A process that is killed may not have come to its first anchor."""
    return "" if verified.broken_at is None else verified.reason


async def _report(home: Home, order: Order, points: Points, result: RunResult[str]) -> Life:
    told = [f"{each.name} {each.arguments['number']}" for each in result.calls if each.problem == "interrupted"]
    verified = await home.audit.verify() if order.how != "unverified" else None
    return Life(
        stopped=result.stopped,
        text=result.text or result.reason,
        interrupted=tuple(sorted(told)),
        passed=points.passed,
        audit="" if verified is None else broken_in(verified),
    )


if __name__ == "__main__":
    serve(living, "bench.faults.worker", WARM)
