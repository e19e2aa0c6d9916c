"""A dispatcher for many machines: DBOS on the PostgreSQL database that the runs are kept in. It dispatches, and nothing more.

A workflow is one turn of one run, and says only which; what happened is in the journal. DBOS has no lease of its own: a worker that
is dead is known by its lease on the run, and whoever sees that one expire and has room takes the run over, without asking DBOS.
"""

import asyncio
import os
from collections.abc import Coroutine
from functools import partial
from time import monotonic
from typing import TYPE_CHECKING, Any

from treadle.app.workers.dispatcher import Carry, Terms, let_go, pause
from treadle.core.errors import JournalError, SettingsError
from treadle.core.log import log
from treadle.stores.postgres.database import PostgresDatabase
from treadle.stores.postgres.troubles import translated, trouble_of
from treadle.stores.queue import MOST, Queue, Sent

if TYPE_CHECKING:
    import psycopg
    from dbos import DBOS
    from sqlalchemy import Engine

MISSING = "Workers on PostgreSQL need DBOS, which isn't installed: pip install 'treadle[cluster]'"
APPLICATION = "treadle"
VERSION = "1"  # ours to say: DBOS would go by its own and by our source, and leave runs of the version before alone
WORKFLOW = "treadle.advance"
QUEUE = "treadle.runs"
UNTOUCHED = ("ENQUEUED", "DELAYED")  # what DBOS says of a workflow that no worker has yet
PATIENCE = 2.0  # seconds that DBOS has to write down what is over, when a worker stops
SHORT = 0.05
OVER = ["SUCCESS", "ERROR", "CANCELLED", "MAX_RECOVERY_ATTEMPTS_EXCEEDED"]


class Cluster:
    """Sends what may begin to DBOS's queue, and carries out what comes from there. One in a process: DBOS has no room for two."""

    def __init__(self, database: PostgresDatabase, queue: Queue, terms: Terms, holder: str) -> None:
        self._database = database
        self._queue = queue
        self._terms = terms
        self._holder = holder
        self._under_way = set[asyncio.Task[Any]]()
        self._left: list[Sent] = []  # runs that were left behind, and that there was no room for
        self._dead: list[str] = []  # workflows whose workers are
        self._ended: list[str] = []  # workflows that DBOS may forget

    async def work(self, carry: Carry, stop: asyncio.Event) -> None:
        """Have runs carried on until `stop`; then let go of those that are under way."""
        loop = asyncio.get_running_loop()

        def advance(run_id: str, turn: int) -> str:
            """Wait, in a thread of DBOS's, for what is done in our event loop."""
            return asyncio.run_coroutine_threadsafe(self._advance(carry, stop, Sent(run_id, turn)), loop).result()

        engine = await self._launched(advance, stop)
        if engine is None:
            return
        try:
            while not stop.is_set():
                await self._troubled(self._look(carry, advance))
                await pause(stop, self._terms.pause, self._under_way if self._left else ())
        finally:
            await let_go(self._under_way)
            await self._quiet()
            await asyncio.to_thread(_end, engine)

    async def _advance(self, carry: Carry, stop: asyncio.Event, sent: Sent) -> str:
        """One turn. What it comes to is written in the journal and the queue; DBOS learns only that it is over."""
        while (self._room < 1 or self._left) and not stop.is_set():
            await pause(stop, self._terms.pause, self._under_way)
        task = self._begin(self._queue.put_back(sent) if stop.is_set() else carry(sent))
        await asyncio.wait([task])
        self._ended.append(_name(sent))
        return "over" if not task.cancelled() and task.exception() is None else "left"

    @property
    def _room(self) -> int:
        """How many more runs this worker may carry out. DBOS counts only those that it brought."""
        return self._terms.at_once - len(self._under_way)

    def _begin(self, work: Coroutine[Any, Any, None]) -> "asyncio.Task[None]":
        task = asyncio.ensure_future(work)
        self._under_way.add(task)
        task.add_done_callback(self._under_way.discard)
        return task

    async def _quiet(self) -> None:
        """Wait until DBOS has written down which turns are over: not for ever, since nothing depends on it."""
        until = monotonic() + PATIENCE
        while (self._under_way or self._ended) and monotonic() < until:
            await self._troubled(self._forget())
            await asyncio.sleep(SHORT)

    # sending

    async def _look(self, carry: Carry, advance: Any) -> None:
        """Take over what was left behind, as far as there is room, and send what may begin."""
        await self._take_over(carry)
        for sent in await self._queue.admit(self._terms.ceilings, MOST):
            await asyncio.to_thread(_enqueue, advance, sent)
        await self._forget()

    async def _take_over(self, carry: Carry) -> None:
        left = await self._left_behind()
        room = max(0, self._room)
        for sent in left[:room]:
            self._begin(carry(sent, left=True))
            self._dead.append(_name(sent))
        self._left = left[room:]

    async def _troubled(self, work: Coroutine[Any, Any, None]) -> None:
        """Do it; where the database is away, the next time. What was admitted and couldn't be sent is then found left behind."""
        try:
            await work
        except JournalError as error:
            log.error("The queue couldn't be looked at: %s", error)
        except Exception as error:  # noqa: BLE001 - whatever DBOS says, the others that are under way go on
            log.error("DBOS couldn't be used: %s: %s", type(error).__name__, str(error).partition("\n")[0])

    async def _left_behind(self) -> list[Sent]:
        """Runs that nobody carries out, without those that wait in DBOS's queue or have just come from there to a worker."""
        stale = await self._queue.stale(self._terms.lease)
        if not stale:
            return []
        since = await self._queue.time() - self._terms.lease
        waiting = await asyncio.to_thread(_waiting, [_name(sent) for sent in stale], since)
        return [sent for sent in stale if _name(sent) not in waiting]

    async def _forget(self) -> None:
        """Have DBOS forget turns that are over: the journal has all there is to know of them."""
        if self._dead:
            await asyncio.to_thread(_cancel, self._dead)
            self._ended += self._dead
            self._dead = []
        if self._ended:
            gone = await asyncio.to_thread(_forgotten, self._ended)
            self._ended = [name for name in self._ended if name not in gone]

    # DBOS

    async def _launched(self, advance: Any, stop: asyncio.Event) -> "Engine | None":
        """DBOS under way, as soon as the database is there; None where it is time to stop before that."""
        until = monotonic() + self._database.wait
        while not stop.is_set():
            try:
                return await asyncio.to_thread(self._launch, advance)
            except Exception as error:
                reason = _driver_error(error)
                if reason is None:
                    raise
                if trouble_of(reason) == "refused" or monotonic() > until:
                    raise translated(reason, self._database.url) from error
                await pause(stop, self._terms.pause)
        return None

    def _launch(self, advance: Any) -> "Engine":
        """Begin to take workflows. Not in a thread that has an event loop: DBOS would make its threads that loop's own."""
        try:
            from dbos import DBOS
        except ImportError as error:
            raise SettingsError(MISSING) from error
        engine = self._engine()
        try:
            self._listen(DBOS, engine, advance)
        except BaseException:
            _end(engine)
            raise
        return engine

    def _listen(self, dbos: "type[DBOS]", engine: "Engine", advance: Any) -> None:
        from dbos import DBOSPortableJSONSerializer

        dbos(
            config={
                "name": APPLICATION,
                "system_database_engine": engine,
                "dbos_system_schema": f"dbos_{self._database.schema}",
                "application_version": VERSION,
                "executor_id": self._holder,
                "serializer": DBOSPortableJSONSerializer(),
                "log_level": "INFO" if os.environ.get("TREADLE_DEBUG") else "CRITICAL",  # what matters is told by us
            }
        )
        dbos.workflow(name=WORKFLOW)(advance)
        dbos.listen_queues([QUEUE])
        dbos.launch()
        dbos.register_queue(
            QUEUE, worker_concurrency=self._terms.at_once, polling_interval_sec=self._terms.pause, on_conflict="always_update"
        )

    def _engine(self) -> "Engine":
        """Connections by any address that PostgreSQL's own clients take, several hosts or a service included."""
        import psycopg
        from sqlalchemy import create_engine

        return create_engine(
            "postgresql+psycopg://",
            creator=partial(psycopg.connect, self._database.url, application_name="treadle-dbos"),
            pool_size=5,
            max_overflow=self._terms.at_once,
            pool_pre_ping=True,
        )


def _driver_error(error: BaseException | None) -> "psycopg.Error | None":
    """What the driver said, wherever in an error of DBOS's it is."""
    import psycopg

    while error is not None and not isinstance(error, psycopg.Error):
        error = error.__cause__ or error.__context__
    return error


def _name(sent: Sent) -> str:
    """The workflow of a turn: the same whoever sends it, so that it is sent once."""
    return f"{sent.run_id}:{sent.turn}"


def _enqueue(advance: Any, sent: Sent) -> None:
    from dbos import DBOS, SetWorkflowID

    with SetWorkflowID(_name(sent)):
        DBOS.enqueue_workflow(QUEUE, advance, sent.run_id, sent.turn)


def _waiting(names: list[str], since: float) -> set[str]:
    """Those of these that no worker has yet, or that one has had only since then."""
    from dbos import DBOS

    found = DBOS.list_workflows(workflow_ids=names, status=[*UNTOUCHED, "PENDING"], load_input=False, load_output=False)
    return {each.workflow_id for each in found if each.status in UNTOUCHED or (each.dequeued_at or 0) > since * 1000}


def _cancel(names: list[str]) -> None:
    from dbos import DBOS

    DBOS.cancel_workflows(names)


def _forgotten(names: list[str]) -> set[str]:
    """Those of these that were over, or are nobody's any more, and are gone now."""
    from dbos import DBOS

    found = DBOS.list_workflows(workflow_ids=names, load_input=False, load_output=False)
    over = [each.workflow_id for each in found if each.status in OVER]
    if over:
        DBOS.delete_workflows(over)
    return {*names} - {each.workflow_id for each in found} | {*over}


def _end(engine: "Engine") -> None:
    from dbos import DBOS

    DBOS.destroy(destroy_registry=True)
    engine.dispose()
