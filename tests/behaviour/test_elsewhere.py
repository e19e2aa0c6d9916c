"""When the user steps in from another process: all it has of the run is the store."""

import asyncio
import sys
from contextlib import asynccontextmanager
from types import SimpleNamespace

import pytest

import wire
from treadle import Runs, allow, tool
from treadle.core.entries import Returned
from treadle.core.events import TextArrived
from treadle.errors import RunTaken
from treadle.home import close_home, open_home
from treadle.server.runs.events import RunReply
from treadle.server.runs.follow import RunFollower
from treadle.stores.queue import RunQueue
from treadle.stores.queue_stats import read_operation_stats
from treadle.stores.run_versions import RunVersions
from treadle.workers import RunSpec, submit_run
from treadle.workers.dispatcher import LocalDispatcher, WorkerOptions
from treadle.workers.worker import Worker
from wire import call, refuse

MODULE = "program_of_this_test"
OPTIONS = WorkerOptions(agents=(MODULE,))
SPEC = RunSpec(agent=f"{MODULE}:agent")
PATIENCE = 60.0


class Stock:
    """A tool with an effect; one that is `held` doesn't return."""

    def __init__(self, *, held: bool = False) -> None:
        self.ordered: list[int] = []
        self.begun = asyncio.Event()

        @tool(effect="write")
        async def order(count: int) -> str:
            """Order."""
            self.ordered.append(count)
            self.begun.set()
            if held:
                await asyncio.Event().wait()
            return "ordered"

        self.tool = order


@pytest.fixture
def home(tmp_path):
    home = open_home(tmp_path / "data")
    yield home
    close_home(home)


@pytest.fixture
def played(story, home, monkeypatch):
    """Play a script with a worker that works, and return what `work` does from elsewhere."""

    @asynccontextmanager
    async def working(server, stock):
        agent = story.agent(server, [stock.tool], policy=[allow("order")])
        monkeypatch.setitem(sys.modules, MODULE, SimpleNamespace(agent=agent))
        stop = asyncio.Event()
        worker = Worker(home, OPTIONS, lambda line: None, LocalDispatcher(RunQueue(home.database), OPTIONS))
        task = asyncio.create_task(worker.work(stop))
        try:
            yield
        finally:
            stop.set()
            await task

    def play(script, work, stock):
        async def timed(server):
            async with asyncio.timeout(PATIENCE), working(server, stock):
                return await work()

        with wire.WireServer(script) as server:
            return asyncio.run(timed(server))

    return play


def test_cancel_from_elsewhere(home, played):
    stock = Stock(held=True)

    async def work():
        run_id = await submit_run(home, SPEC, "Order 5.")
        await stock.begun.wait()
        statuses = [await Runs(home).cancel(run_id, wait=PATIENCE) for _ in range(2)]
        return statuses, await home.journal.read(run_id)

    statuses, entries = played([call("order", {"count": 5})], work, stock)
    assert statuses == ["cancelled", "cancelled"]
    (result,) = [entry.result for entry in entries if isinstance(entry, Returned)]
    assert (result.problem, "may have taken effect" in result.content, stock.ordered) == ("cancelled", True, [5])


def test_watch_from_elsewhere(home, played):
    async def work():
        run_id = await submit_run(home, SPEC, "Order 5.")
        events, cursor = [], None
        while not events or not isinstance(events[-1], RunReply):  # a reader that breaks off with each look
            async for look in RunFollower(home, run_id, cursor).batches():
                events += [event for _, event in look]
                cursor = look[-1][0] if look else cursor
                if look:
                    break
        return events, [event for look in [look async for look in RunFollower(home, run_id).batches()] for _, event in look]

    events, whole = played([call("order", {"count": 5}), "It is ordered."], work, Stock())
    assert events == whole
    assert [event.text for event in events if isinstance(event, TextArrived)] == ["It is ordered."]


def test_retry_after_failure(home, played):
    stock = Stock()

    async def work():
        run_id = await submit_run(home, SPEC, "Order 5.")
        failed = (await Runs(home).wait(run_id)).status
        await Runs(home).retry(run_id)
        answered = (await Runs(home).wait(run_id)).status
        with pytest.raises(RunTaken, match="only a failed run can be retried"):
            await Runs(home).retry(run_id)
        return failed, answered

    script = [call("order", {"count": 5}), refuse(401, "wrong key"), "It is ordered."]
    assert played(script, work, stock) == ("failed", "answered")
    assert stock.ordered == [5]


def test_submit_once(home, played):
    stock = Stock()

    async def work():
        for _ in range(2):
            run_id = await submit_run(home, SPEC, "Order 5.", run_id="invoice-7")
            await Runs(home).wait(run_id)
        with pytest.raises(RunTaken, match="with another message"):
            await submit_run(home, SPEC, "Order 6.", run_id="invoice-7")
        return [info.run_id for info in await Runs(home).list()]

    assert played([call("order", {"count": 5}), "It is ordered."], work, stock) == ["invoice-7"]
    assert stock.ordered == [5]


def test_queue_and_priority(home, played):
    stock = Stock()

    async def work():
        gpu = await submit_run(home, RunSpec(agent=SPEC.agent, queue="gpu"), "Order 5.")
        await Runs(home).wait(await submit_run(home, SPEC, "Order 5."))
        waiting = await RunQueue(home.database).has(gpu)
        await submit_run(home, RunSpec(agent=SPEC.agent, queue="gpu", priority=5), "Order 6.", run_id="urgent")
        first = await RunQueue(home.database).admit(OPTIONS.ceilings, 1, ["gpu"])
        return waiting, [(each.run_id, each.priority) for each in first]

    assert played([call("order", {"count": 5}), "Ordered."], work, stock) == (True, [("urgent", 5)])
    assert stock.ordered == [5]


def test_version_of_the_application(home, played):
    stock = Stock()

    async def work():
        await submit_run(home, SPEC, "Order 6.", run_id="old", at=4e9)
        await RunVersions(home.database).pin("old", "v1")
        await home.database.submit(lambda connection: connection.execute("UPDATE queue SET at = 0 WHERE run_id = 'old'"))
        await Runs(home).wait(await submit_run(home, SPEC, "Order 5."))
        stats = await read_operation_stats(home.database)
        return await RunQueue(home.database).has("old"), stats.unserved

    assert played([call("order", {"count": 5}), "Ordered."], work, stock) == (True, {"v1": 1})
    assert stock.ordered == [5]


def test_dead_letter(home, played):
    stock = Stock()

    async def work():
        run_id = await submit_run(home, SPEC, "Order 5.")
        failed = (await Runs(home).wait(run_id)).status
        letters = [(each.run_id, each.cause) for each in await Runs(home).dead_letters()]
        await Runs(home).retry(run_id)
        return failed, letters == [(run_id, "failed")], (await Runs(home).wait(run_id)).status, await Runs(home).dead_letters()

    script = [call("order", {"count": 5}), refuse(400), "Ordered."]
    assert played(script, work, stock) == ("failed", True, "answered", [])
    assert stock.ordered == [5]
