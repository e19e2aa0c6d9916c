"""What every dispatcher promises, whichever engine it is on: each run to one worker, so many at once, nothing left behind."""

import asyncio
import sys
import threading
import time
from contextlib import ExitStack, asynccontextmanager

import pytest

from postgres import database as postgres_database
from treadle.core.errors import JournalError, SettingsError
from treadle.stores.leases import Leases
from treadle.stores.postgres.database import PostgresDatabase
from treadle.stores.queue import DispatchedRun, QueuePosition, RunCeilings, RunQueue
from treadle.stores.sqlite import SqliteDatabase
from treadle.workers.dbos_dispatcher import DbosDispatcher
from treadle.workers.dispatcher import LocalDispatcher, WorkerOptions, wait_for_poll

SHORT, LONG = 0.5, 60.0


class Scene:
    """A dispatcher at work in this process, whose runs do what a test says."""

    def __init__(self, database, queue):
        self.database = database
        self.queue = queue
        self.leases = Leases(database)
        self.carried = []
        self.now = self.most = 0
        self.hold = asyncio.Event()
        self.let_go = []

    async def carry(self, sent, *, left=False):
        if not await self.queue.begins(sent):
            return  # of a test before this one
        lease = await self.leases.take(sent.run_id, "me", LONG if left else SHORT)
        if left:
            sent = await self.queue.send_again(sent)
        self.carried.append(sent)
        self.now += 1
        self.most = max(self.most, self.now)
        try:
            await asyncio.wait_for(self.hold.wait(), 120)
            await self.queue.over(sent)
        except asyncio.CancelledError:
            self.let_go.append(sent)
            await self.queue.put_back(sent)
            raise
        finally:
            self.now -= 1
            if lease is not None:
                await self.leases.give_up(lease)

    async def until(self, true):
        for _ in range(600):
            if true():
                return
            await asyncio.sleep(0.05)
        raise AssertionError(f"never so: {self.carried}, {self.let_go}")

    async def empty(self):
        for _ in range(600):
            if await self.queue.size() == (0, 0):
                return
            await asyncio.sleep(0.05)
        raise AssertionError(f"never empty: {await self.queue.size()}")


@pytest.fixture(scope="module")
def url(kind):
    with ExitStack() as cleanup:
        yield cleanup.enter_context(postgres_database()) if kind == "postgres" else ""


@pytest.fixture
def at_work(url, tmp_path):
    """Begins a dispatcher; everything is closed at the end of the test."""

    def opened():
        if not url:
            return SqliteDatabase(tmp_path / "treadle.db")
        return PostgresDatabase(url)

    @asynccontextmanager
    async def begun(terms, before=None):
        database, stop = opened(), asyncio.Event()
        queue = RunQueue(database)
        scene = Scene(database, queue)
        if before is not None:
            await before(scene)
        made = DbosDispatcher(database, queue, terms, f"me-{id(scene)}") if url else LocalDispatcher(queue, terms)
        work = asyncio.ensure_future(made.work(scene.carry, stop))
        scene.stop, scene.work = stop, work
        try:
            yield scene
        finally:
            stop.set()
            await work
            for run_id, turn in database_rows(database):
                await queue.over(DispatchedRun(run_id, turn))
            await asyncio.to_thread(database.close)

    return begun


def database_rows(database):
    with database.apart() as connection:
        return connection.execute("SELECT run_id, turn FROM queue").fetchall()


def test_each_run_is_carried_out_once_and_so_many_at_the_same_time(at_work):
    async def story():
        async with at_work(WorkerOptions(2, LONG)) as scene:
            for number in range(5):
                await scene.queue.add(QueuePosition(f"r{number}"))
            await scene.until(lambda: scene.now == 2)
            scene.hold.set()
            await scene.empty()
            return sorted(sent.run_id for sent in scene.carried), scene.most

    runs, most = asyncio.run(story())
    assert runs == ["r0", "r1", "r2", "r3", "r4"]
    assert most == 2


def test_a_run_that_may_not_begin_yet_is_overtaken(at_work):
    async def story():
        async with at_work(WorkerOptions(4, LONG, RunCeilings(per_user=1))) as scene:
            for run_id, user in (("a1", "anna"), ("a2", "anna"), ("b1", "ben")):
                await scene.queue.add(QueuePosition(run_id, user))
            await scene.until(lambda: scene.now == 2)
            first = sorted(sent.run_id for sent in scene.carried)
            scene.hold.set()
            await scene.empty()
            return first, scene.carried[-1].run_id

    assert asyncio.run(story()) == (["a1", "b1"], "a2")


def test_a_worker_gets_runs_of_its_queues_and_no_others(at_work):
    async def story():
        async with at_work(WorkerOptions(3, LONG, queues=("default", "gpu"))) as scene:
            for run_id, queue in (("m1", "mail"), ("g1", "gpu"), ("d1", "default")):
                await scene.queue.add(QueuePosition(run_id, queue=queue, priority=3))
            await scene.until(lambda: scene.now == 2)
            scene.hold.set()
            await scene.until(lambda: scene.now == 0)
            return sorted(sent.run_id for sent in scene.carried), await scene.queue.has("m1")

    assert asyncio.run(story()) == (["d1", "g1"], True)


def test_a_worker_that_drains_lets_its_run_end_and_puts_back_what_comes_after(at_work):
    async def story():
        async with at_work(WorkerOptions(2, LONG, drain=60)) as scene:
            await scene.queue.add(QueuePosition("r1"))
            await scene.until(lambda: scene.now == 1)
            scene.stop.set()
            await scene.queue.add(QueuePosition("late"))
            scene.hold.set()
            await scene.work
            return [sent.run_id for sent in scene.carried], scene.let_go, await scene.queue.has("late")

    assert asyncio.run(story()) == (["r1"], [], True)


def test_what_was_left_behind_is_carried_out_in_another_turn_and_what_is_alive_is_not(at_work):
    async def before(scene):
        scene.hold.set()
        for run_id in ("dead", "alive"):
            await scene.queue.add(QueuePosition(run_id))
        scene.before = {sent.run_id: sent.turn for sent in await scene.queue.admit(RunCeilings(), 2)}
        await scene.leases.take("dead", "somebody", SHORT)
        scene.living = await scene.leases.take("alive", "somebody else", LONG)

    async def story():
        async with at_work(WorkerOptions(2, SHORT), before) as scene:
            await scene.until(lambda: scene.carried)
            await asyncio.sleep(3 * SHORT)
            await scene.leases.give_up(scene.living)
            return [(sent.run_id, sent.turn > scene.before["dead"]) for sent in scene.carried]

    assert asyncio.run(story()) == [("dead", True)]


async def left_behind(scene, *runs):
    """Runs whose worker died long ago."""
    for run_id in runs:
        await scene.queue.add(QueuePosition(run_id))
    await scene.queue.admit(RunCeilings(), len(runs))
    for run_id in runs:
        await scene.leases.take(run_id, "somebody", SHORT)
    with scene.database.apart() as connection:
        connection.execute("UPDATE queue SET sent_at = sent_at - 60")
        connection.execute("UPDATE leases SET until = until - 60")


def test_what_was_left_behind_goes_first_and_no_more_run_at_once_for_it(at_work):
    async def before(scene):
        await left_behind(scene, "dead 1", "dead 2", "dead 3", "dead 4")
        for run_id in ("new 1", "new 2"):
            await scene.queue.add(QueuePosition(run_id))

    async def story():
        async with at_work(WorkerOptions(2, LONG / 10), before) as scene:
            await scene.until(lambda: scene.now == 2)
            await asyncio.sleep(1.0)  # by then the new ones have come, and found no room
            scene.hold.set()
            await scene.empty()
            return [sent.run_id.partition(" ")[0] for sent in scene.carried], scene.most

    assert asyncio.run(story()) == (["dead"] * 4 + ["new"] * 2, 2)


def test_what_is_under_way_when_it_stops_is_let_go_and_another_has_it_at_once(at_work):
    async def story():
        async with at_work(WorkerOptions(2, LONG)) as scene:
            await scene.queue.add(QueuePosition("r1"))
            await scene.until(lambda: scene.now == 1)
        assert [sent.run_id for sent in scene.let_go] == ["r1"]

        async def again(scene):
            scene.hold.set()
            await scene.queue.add(QueuePosition("r1"))

        async with at_work(WorkerOptions(2, LONG), again) as scene:
            await scene.empty()
            return [sent.run_id for sent in scene.carried]

    assert asyncio.run(story()) == ["r1"]


def test_looking_goes_on_when_the_database_is_away_for_a_while(tmp_path):
    class Away(RunQueue):
        troubles = 2

        async def stale(self, *wanted):
            if Away.troubles:
                Away.troubles -= 1
                raise JournalError("The disk is full.")
            return await super().stale(*wanted)

    async def story():
        database, stop = SqliteDatabase(tmp_path / "treadle.db"), asyncio.Event()
        queue, carried = Away(database), []

        async def carry(sent, *, left):
            carried.append((sent.run_id, left))
            await queue.over(sent)
            stop.set()

        await queue.add(QueuePosition("r1"))
        await LocalDispatcher(queue, WorkerOptions(1, SHORT)).work(carry, stop)
        database.close()
        return carried

    assert asyncio.run(story()) == [("r1", False)]


def test_a_pause_ends_when_a_run_does():
    async def story():
        async def soon():
            await asyncio.sleep(0)

        await asyncio.wait_for(wait_for_poll(asyncio.Event(), 120, [asyncio.ensure_future(soon())]), 100)

    asyncio.run(story())


# what only one of them has


def test_work_goes_on_when_all_connections_were_cut(at_work, url, kind):
    if kind == "sqlite":
        pytest.skip("a file has no connections")
    import psycopg

    async def story():
        async with at_work(WorkerOptions(2, LONG)) as scene:
            scene.hold.set()
            await scene.queue.add(QueuePosition("before"))
            await scene.until(lambda: len(scene.carried) == 1)
            with psycopg.connect(url, autocommit=True) as connection:
                connection.execute(
                    "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
                    " WHERE datname = current_database() AND pid <> pg_backend_pid()"
                )
            await scene.queue.add(QueuePosition("after"))
            await scene.until(lambda: len(scene.carried) == 2)
            await scene.empty()
            return [sent.run_id for sent in scene.carried]

    assert asyncio.run(story()) == ["before", "after"]


def test_what_has_come_and_found_no_room_is_put_back_when_a_worker_stops(at_work, url, kind):
    if kind == "sqlite":
        pytest.skip("there, nothing comes that there is no room for")
    import psycopg

    async def before(scene):
        await left_behind(scene, "dead")
        await scene.queue.add(QueuePosition("new"))

    def has_come():
        with psycopg.connect(url, autocommit=True) as connection:
            query = "SELECT 1 FROM dbos_treadle.workflow_status WHERE status = 'PENDING' AND workflow_uuid LIKE 'new:%'"
            return connection.execute(query).fetchone() is not None

    async def story():
        async with at_work(WorkerOptions(1, LONG / 10), before) as scene:
            await scene.until(lambda: scene.now == 1)
            await scene.until(has_come)
        return [sent.run_id for sent in scene.carried], [sent.run_id for sent in scene.let_go]

    assert asyncio.run(story()) == (["dead"], ["dead"])


def test_the_workflow_of_a_dead_worker_whose_run_was_cancelled_is_purged(at_work, url, kind):
    if kind == "sqlite":
        pytest.skip("a file has no workflows")
    import psycopg

    def execute(statement):
        with psycopg.connect(url, autocommit=True) as connection:
            return connection.execute(f"{statement} WHERE workflow_uuid LIKE 'cancelled:%'")

    def is_there():
        return execute("SELECT status FROM dbos_treadle.workflow_status").fetchone() is not None

    async def story():
        async with at_work(WorkerOptions(2, SHORT)) as scene:
            await scene.queue.add(QueuePosition("cancelled"))
            await scene.until(lambda: scene.now == 1)
            await scene.queue.remove("cancelled")  # as a cancel does
            assert is_there()
            execute("UPDATE dbos_treadle.workflow_status SET executor_id = 'dead'")
            async with asyncio.timeout(100):  # after 120 s, the run ends by itself
                await scene.until(lambda: not is_there())
            scene.hold.set()

    asyncio.run(story())


NOBODY = "postgresql://anna:hidden@127.0.0.1:1/x"


def test_a_worker_that_begins_while_the_database_is_away_waits_for_it_and_then_says_so():
    pytest.importorskip("dbos", reason="dbos isn't installed")
    database = PostgresDatabase(NOBODY, wait=0.4)
    began = time.monotonic()
    with pytest.raises(JournalError, match="Start it, or correct its address") as caught:
        asyncio.run(DbosDispatcher(database, RunQueue(database), WorkerOptions(), "me").work(None, asyncio.Event()))
    assert time.monotonic() - began > 0.4
    assert "hidden" not in str(caught.value)


def test_a_worker_that_waits_for_the_database_can_be_told_to_stop():
    pytest.importorskip("dbos", reason="dbos isn't installed")

    async def story():
        database, stop = PostgresDatabase(NOBODY, wait=60), asyncio.Event()
        asyncio.get_running_loop().call_later(0.2, stop.set)
        await asyncio.wait_for(DbosDispatcher(database, RunQueue(database), WorkerOptions(), "me").work(None, stop), 20)

    asyncio.run(story())


def test_a_database_that_nobody_may_use_is_told_at_once(url, kind):
    if kind == "sqlite":
        pytest.skip("a file has no users")
    database = PostgresDatabase(url.replace("postgres:@", "nobody:hidden@"), wait=60)
    with pytest.raises(JournalError, match='role "nobody" does not exist'):
        asyncio.run(DbosDispatcher(database, RunQueue(database), WorkerOptions(), "me").work(None, asyncio.Event()))


def test_without_dbos_there_is_a_sentence(monkeypatch, tmp_path):
    monkeypatch.setitem(sys.modules, "dbos", None)
    database = PostgresDatabase("postgresql://nowhere/nothing")
    with pytest.raises(SettingsError, match=r"pip install 'treadle\[cluster\]'"):
        asyncio.run(DbosDispatcher(database, RunQueue(database), WorkerOptions(), "me").work(None, asyncio.Event()))


def test_a_server_that_restarts_again_and_again_is_not_given_up(monkeypatch):
    psycopg = pytest.importorskip("psycopg", reason="psycopg isn't installed")
    pytest.importorskip("sqlalchemy", reason="sqlalchemy isn't installed")
    database = PostgresDatabase("postgresql://127.0.0.1:1/none", wait=0.3)
    dispatcher = DbosDispatcher(database, RunQueue(database), WorkerOptions(), "me")
    monkeypatch.setattr(psycopg, "connect", lambda *_, **__: asyncio.Event())  # any object
    began, engine = time.monotonic(), object()

    def launch(_):
        if time.monotonic() < began + 1.5:  # five times as long as a server may be away
            dispatcher._connect()
            raise psycopg.OperationalError("terminating connection due to administrator command")
        return engine

    monkeypatch.setattr(dispatcher, "_launch", launch)
    assert asyncio.run(dispatcher._launch_when_available(None, asyncio.Event())) is engine


def test_connections_that_threads_of_dbos_leave_open_are_closed_and_no_others_are_made(postgres):
    psycopg = pytest.importorskip("psycopg", reason="psycopg isn't installed")
    pytest.importorskip("dbos", reason="dbos isn't installed")
    database = PostgresDatabase(postgres)
    dispatcher = DbosDispatcher(database, RunQueue(database), WorkerOptions(), "me")
    engine = dispatcher._make_engine()
    idle, busy = engine.raw_connection(), engine.raw_connection()
    busy.execute("SELECT 1")
    threading.Timer(0.1, busy.driver_connection.rollback).start()
    left = idle.driver_connection, busy.driver_connection
    dispatcher._shut_down(engine)
    assert [each.closed for each in left] == [True, True]
    with pytest.raises(psycopg.OperationalError, match="has stopped"):
        dispatcher._connect()
