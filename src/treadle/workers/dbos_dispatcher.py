"""A dispatcher for many machines: DBOS on the PostgreSQL database that stores the runs. It dispatches, and nothing more.

A workflow is one turn of one run, and contains only its id; the journal has what happened. DBOS has no lease of its
own: a dead worker is detected by its lease on the run, and any worker with capacity that sees it expire takes the
run over, without asking DBOS.
"""

import asyncio
import os
from collections.abc import Coroutine
from time import monotonic, sleep
from typing import TYPE_CHECKING, Any
from weakref import WeakSet

from treadle.core.errors import JournalError, SettingsError
from treadle.core.log import log
from treadle.stores.postgres.database import PostgresDatabase
from treadle.stores.postgres.errors import classify_error, translate_postgres_error
from treadle.stores.queue import DEFAULT_QUEUE, MAX_BATCH, DispatchedRun, RunQueue
from treadle.stores.worker_list import WorkerList
from treadle.workers.dispatcher import RunExecutor, WorkerOptions, cancel_tasks, wait_for_end, wait_for_poll

if TYPE_CHECKING:
    import psycopg
    from dbos import DBOS
    from sqlalchemy import Engine

MISSING = "Workers on PostgreSQL need DBOS, which isn't installed: pip install 'treadle[cluster]'"
APPLICATION = "treadle"
VERSION = "1"  # ours to say: DBOS would go by its own and by our source, and leave runs of the version before alone
WORKFLOW = "treadle.advance"
QUEUE = "treadle.runs"  # of DBOS, for the default queue; the others' names are added to it
TOP_PRIORITY = 1_000_000  # DBOS counts the other way round, from 1
QUEUED_STATUSES = ("ENQUEUED", "DELAYED")  # what DBOS says of a workflow that no worker has yet
PATIENCE = 2.0  # seconds that DBOS has to write down what is over, when a worker stops
SHORT = 0.05
FINAL_STATUSES = ["SUCCESS", "ERROR", "CANCELLED", "MAX_RECOVERY_ATTEMPTS_EXCEEDED"]


class DbosDispatcher:
    """Sends runs that may start to DBOS's queue, and executes what comes from there.

    One per process: DBOS supports no second one.
    """

    def __init__(self, database: PostgresDatabase, queue: RunQueue, terms: WorkerOptions, holder: str) -> None:
        self._database = database
        self._queue = queue
        self._terms = terms
        self._holder = holder
        self._under_way = set[asyncio.Task[Any]]()
        self._left: list[DispatchedRun] = []  # runs that were left behind, and that there was no room for
        self._dead: list[str] = []  # workflows whose workers are
        self._ended: list[str] = []  # workflows that DBOS may forget
        self._orphans_at = 0.0  # the database's time from which orphans are looked for again
        self._connected_at = 0.0  # when DBOS got a connection last
        self._connections: WeakSet[psycopg.Connection[Any]] = WeakSet()  # those of DBOS
        self._is_shut_down = False
        self._drained = asyncio.Event()

    async def work(self, carry: RunExecutor, stop: asyncio.Event, *, hurry: asyncio.Event | None = None) -> None:
        """Execute runs until `stop`, and let those that are active end; release the rest after a while, or with `hurry`."""
        loop = asyncio.get_running_loop()

        def advance(run_id: str, turn: int) -> str:
            """Wait, in a thread of DBOS's, for what is done in our event loop."""
            return asyncio.run_coroutine_threadsafe(self._advance_turn(carry, stop, DispatchedRun(run_id, turn)), loop).result()

        engine = await self._launch_when_available(advance, stop)
        if engine is None:
            return
        try:
            while not stop.is_set():
                await self._skip_if_unavailable(self._poll(carry, advance))
                await wait_for_poll(stop, self._terms.pause, self._under_way if self._left else ())
            await wait_for_end(self._under_way, self._terms.drain, hurry)
        finally:
            self._drained.set()
            await cancel_tasks(self._under_way)
            await self._wait_until_recorded()
            await asyncio.to_thread(self._shut_down, engine)

    async def _advance_turn(self, carry: RunExecutor, stop: asyncio.Event, sent: DispatchedRun) -> str:
        """Execute one turn. Its outcome is in the journal and the queue; DBOS only learns that it is finished."""
        while (self._capacity < 1 or self._left) and not stop.is_set():
            await wait_for_poll(stop, self._terms.pause, self._under_way)
        task = self._start_task(self._queue.put_back(sent) if stop.is_set() else carry(sent))
        await asyncio.wait([task])
        self._ended.append(_workflow_id(sent))
        if stop.is_set():
            await self._drained.wait()  # DBOS counts it as active so long, and sends this worker no others instead
        return "over" if not task.cancelled() and task.exception() is None else "left"

    @property
    def _capacity(self) -> int:
        """Return how many more runs this worker may execute. DBOS counts only those that it dispatched."""
        return self._terms.at_once - len(self._under_way)

    def _start_task(self, work: Coroutine[Any, Any, None]) -> "asyncio.Task[None]":
        task = asyncio.ensure_future(work)
        self._under_way.add(task)
        task.add_done_callback(self._under_way.discard)
        return task

    async def _wait_until_recorded(self) -> None:
        """Wait until DBOS has recorded which turns are finished: with a timeout, since nothing depends on it."""
        until = monotonic() + PATIENCE
        while (self._under_way or self._ended) and monotonic() < until:
            await self._skip_if_unavailable(self._purge_finished())
            await asyncio.sleep(SHORT)

    # sending

    async def _poll(self, carry: RunExecutor, advance: Any) -> None:
        """Take over abandoned runs, as capacity allows, and send those that may start."""
        await self._take_over(carry)
        for sent in await self._queue.admit(self._terms.ceilings, MAX_BATCH, self._terms.queues, self._terms.versions):
            await asyncio.to_thread(_enqueue, advance, sent)
        await self._find_orphans()
        await self._purge_finished()

    async def _take_over(self, carry: RunExecutor) -> None:
        left = await self._find_abandoned()
        room = max(0, self._capacity)
        for sent in left[:room]:
            self._start_task(carry(sent, left=True))
            self._dead.append(_workflow_id(sent))
        self._left = left[room:]

    async def _skip_if_unavailable(self, work: Coroutine[Any, Any, None]) -> None:
        """Await the work; where the database is unavailable, leave it to the next poll.

        A run that was admitted but couldn't be sent is then found abandoned.
        """
        try:
            await work
        except JournalError as error:
            log.error("The queue couldn't be looked at: %s", error)
        except Exception as error:  # noqa: BLE001 - whatever DBOS says, the others that are under way go on
            log.error("DBOS couldn't be used: %s: %s", type(error).__name__, str(error).partition("\n")[0])

    async def _find_abandoned(self) -> list[DispatchedRun]:
        """Return abandoned runs, without those that wait in DBOS's queue or have just been dispatched to a worker."""
        stale = await self._queue.stale(self._terms.lease, queues=self._terms.queues, versions=self._terms.versions)
        if not stale:
            return []
        since = await self._queue.time() - self._terms.lease
        waiting = await asyncio.to_thread(_find_waiting, [_workflow_id(sent) for sent in stale], since)
        return [sent for sent in stale if _workflow_id(sent) not in waiting]

    async def _find_orphans(self) -> None:
        """Find workflows of dead workers whose runs were cancelled meanwhile: not queued any more, they are taken over by none."""
        now = await self._queue.time()
        if now < self._orphans_at:
            return
        self._orphans_at = now + self._terms.lease
        pending = await asyncio.to_thread(_find_pending, now - self._terms.lease)
        live = {self._holder, *[each.worker for each in await WorkerList(self._database).list_workers() if each.live]}
        for name in [name for name, worker in pending.items() if worker not in live and name not in (*self._dead, *self._ended)]:
            if not await self._queue.has(_run_of_workflow(name)):
                self._dead.append(name)

    async def _purge_finished(self) -> None:
        """Purge finished turns from DBOS: the journal has all there is to know about them."""
        if self._dead:
            await asyncio.to_thread(_cancel_workflows, self._dead)
            self._ended += self._dead
            self._dead = []
        if self._ended:
            gone = await asyncio.to_thread(_purge_workflows, self._ended)
            self._ended = [name for name in self._ended if name not in gone]

    # DBOS

    async def _launch_when_available(self, advance: Any, stop: asyncio.Event) -> "Engine | None":
        """Launch DBOS as soon as the database is available; return None where `stop` comes first.

        A launch takes many statements, so a server that restarts often interrupts several. It counts as unavailable when no
        connection was made for as long as a batch would wait.
        """
        self._connected_at = monotonic()
        while not stop.is_set():
            try:
                return await asyncio.to_thread(self._launch, advance)
            except Exception as error:
                reason = _driver_error(error)
                if reason is None:
                    raise
                if classify_error(reason) == "refused" or monotonic() > self._connected_at + self._database.wait:
                    raise translate_postgres_error(reason, self._database.url) from error
                await wait_for_poll(stop, self._terms.pause)
        return None

    def _launch(self, advance: Any) -> "Engine":
        """Start taking workflows. Not in a thread that has an event loop: DBOS would bind its threads to that loop."""
        try:
            from dbos import DBOS
        except ImportError as error:
            raise SettingsError(MISSING) from error
        engine, self._is_shut_down = self._make_engine(), False
        try:
            self._listen(DBOS, engine, advance)
        except BaseException:
            self._shut_down(engine)
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
        names = [_queue_name(queue, version) for queue in self._terms.queues for version in ("", *self._terms.versions)]
        dbos.listen_queues(names)
        dbos.launch()
        for name in names:
            dbos.register_queue(
                name, worker_concurrency=self._terms.at_once, polling_interval_sec=self._terms.pause, on_conflict="always_update"
            )

    def _make_engine(self) -> "Engine":
        """Return an SQLAlchemy engine for any address that PostgreSQL's own clients take, several hosts or a service included."""
        from sqlalchemy import create_engine

        return create_engine(
            "postgresql+psycopg://",
            creator=self._connect,
            pool_size=5,
            max_overflow=self._terms.at_once,
            pool_pre_ping=True,
        )

    def _connect(self) -> "psycopg.Connection[Any]":
        import psycopg

        if self._is_shut_down:
            raise psycopg.OperationalError("The worker has stopped.")
        connection = psycopg.connect(self._database.url, application_name="treadle-dbos")
        self._connected_at = monotonic()
        self._connections.add(connection)
        return connection

    def _shut_down(self, engine: "Engine") -> None:
        """End DBOS. Its threads that still write are given a moment; what they leave open is closed here, as nothing else does."""
        from dbos import DBOS
        from psycopg.pq import TransactionStatus

        DBOS.destroy(destroy_registry=True)
        self._is_shut_down = True
        engine.dispose()
        until = monotonic() + PATIENCE
        for connection in [each for each in self._connections if not each.closed]:
            while connection.info.transaction_status != TransactionStatus.IDLE and monotonic() < until:
                sleep(SHORT)
            connection.close()


def _driver_error(error: BaseException | None) -> "psycopg.Error | None":
    """Return the driver's error, wherever it is in an error of DBOS."""
    import psycopg

    while error is not None and not isinstance(error, psycopg.Error):
        error = error.__cause__ or error.__context__
    return error


def _workflow_id(sent: DispatchedRun) -> str:
    """Return the workflow id of a turn: the same whichever worker sends it, so that it is sent once."""
    return f"{sent.run_id}:{sent.turn}"


def _run_of_workflow(name: str) -> str:
    return name.rpartition(":")[0]


def _queue_name(queue: str, version: str) -> str:
    """Return the name of DBOS's queue for one of ours; runs that a version began have one of their own."""
    name = QUEUE if queue == DEFAULT_QUEUE else f"{QUEUE}.{queue}"
    return f"{name}@{version}" if version else name


def _enqueue(advance: Any, sent: DispatchedRun) -> None:
    from dbos import DBOS, SetEnqueueOptions, SetWorkflowID

    with SetWorkflowID(_workflow_id(sent)), SetEnqueueOptions(priority=TOP_PRIORITY - sent.priority):
        DBOS.enqueue_workflow(_queue_name(sent.queue, sent.version), advance, sent.run_id, sent.turn)


def _find_waiting(names: list[str], since: float) -> set[str]:
    """Return those of these workflows that no worker has yet, or that one has had only since then."""
    from dbos import DBOS

    found = DBOS.list_workflows(workflow_ids=names, status=[*QUEUED_STATUSES, "PENDING"], load_input=False, load_output=False)
    return {each.workflow_id for each in found if each.status in QUEUED_STATUSES or (each.dequeued_at or 0) > since * 1000}


def _find_pending(before: float) -> dict[str, str]:
    """Return the workflows that a worker has had since before then, each with its worker."""
    from dbos import DBOS

    found = DBOS.list_workflows(name=WORKFLOW, status="PENDING", limit=MAX_BATCH, load_input=False, load_output=False)
    return {each.workflow_id: each.executor_id or "" for each in found if (each.dequeued_at or 0) < before * 1000}


def _cancel_workflows(names: list[str]) -> None:
    from dbos import DBOS

    DBOS.cancel_workflows(names)


def _purge_workflows(names: list[str]) -> set[str]:
    """Purge those of these workflows that are finished or have no owner any more, and return them."""
    from dbos import DBOS

    found = DBOS.list_workflows(workflow_ids=names, load_input=False, load_output=False)
    over = [each.workflow_id for each in found if each.status in FINAL_STATUSES]
    if over:
        DBOS.delete_workflows(over)
    return {*names} - {each.workflow_id for each in found} | {*over}
