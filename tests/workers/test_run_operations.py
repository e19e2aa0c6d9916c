"""What is done to a run from another process: cancel, watch, retry, wait, delete, submit twice. In a file and in PostgreSQL.

The processes share nothing but the store, so each part here has only that; `Worker` runs in this process, without a command.
"""

import asyncio
import sys
from contextlib import ExitStack, asynccontextmanager

import pytest
from msgspec.structs import replace

from postgres import database
from treadle import Runs
from treadle.agent.agent import MAX_ENGINES
from treadle.core.entries import Finished, Resumed, Returned, Started
from treadle.errors import RunNotFound, RunTaken, SettingsError
from treadle.home import close_home, open_home
from treadle.stores.cancellation import CancelWatch
from treadle.stores.leases import FencedJournal, Lease
from treadle.stores.queue import RunQueue
from treadle.workers import RunSpec, submit_run
from treadle.workers.dispatcher import LocalDispatcher, WorkerOptions
from treadle.workers.executor import advance_run
from treadle.workers.run_spec import WorkerModels
from treadle.workers.worker import Worker

PATIENCE = 60.0
OPTIONS = WorkerOptions(at_once=4, lease=5.0, agents=("own_program",))
PROGRAM = """
import asyncio
from treadle import Agent, allow, ask, tool
from treadle.errors import ModelError
from treadle.testing import Scripted, calls

sent, away, released = [], [], asyncio.Event()

@tool(effect="write")
async def send(to: str) -> str:
    '''Send a letter.'''
    sent.append(to)
    return "sent"

@tool(effect="write")
async def print_all() -> str:
    '''Takes long.'''
    sent.append("begun")
    await asyncio.sleep(600)
    return "printed"

@tool(effect="write")
async def hold() -> str:
    '''Wait until it is released.'''
    sent.append("begun")
    await released.wait()
    sent.append("late")
    return "held"

def reply(request):
    said, results = request.history[0].text, sum(message.role == "tools" for message in request.history)
    if said == "hold" and results < 2:
        return calls(("send", {"to": "bo"}) if results else ("hold", {}))
    if results:
        return "All done." if not away else ModelError("The model is away.")
    asked = {"send": ("send", {"to": "ann"}), "print": ("print_all", {}), "pay": ("pay", {})}
    return calls(asked[said]) if said in asked else "Hello."

@tool(effect="write")
def pay() -> str:
    '''Pay.'''
    return "paid"

class Model:
    name, traits = "own", Scripted().traits

    def reply(self, request):
        return Scripted(reply).reply(request)

agent = Agent(Model(), tools=[send, print_all, hold, pay], policy=[ask("pay"), allow("send"), allow("print_all"), allow("hold")])
not_an_agent = 5
"""


@pytest.fixture(scope="module", params=["sqlite", "postgres"])
def home(request, tmp_path_factory):
    with ExitStack() as cleanup:
        url = cleanup.enter_context(database()) if request.param == "postgres" else ""
        home = open_home(tmp_path_factory.mktemp("operations") / "data", database=url)
        cleanup.callback(close_home, home)
        yield home


@pytest.fixture(scope="module", autouse=True)
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("program")
    (folder / "own_program.py").write_text(PROGRAM)
    sys.path.insert(0, str(folder))
    yield folder
    sys.path.remove(str(folder))
    sys.modules.pop("own_program", None)


@pytest.fixture
def program():
    import own_program

    own_program.sent.clear()
    own_program.away.clear()
    return own_program


def spec(name="own_program:agent"):
    return RunSpec(agent=name)


@asynccontextmanager
async def working(home):
    """A worker that works."""
    stop = asyncio.Event()
    worker = Worker(home, OPTIONS, lambda line: None, LocalDispatcher(RunQueue(home.database), OPTIONS))
    task = asyncio.create_task(worker.work(stop))
    try:
        yield
    finally:
        stop.set()
        await task


async def until(true):
    async with asyncio.timeout(PATIENCE):
        while not true():  # noqa: ASYNC110 - of another task
            await asyncio.sleep(0.01)


def told(story):
    async def timed():
        async with asyncio.timeout(PATIENCE):
            return await story()

    return asyncio.run(timed())


# cancel


def test_a_queued_run_is_cancelled_and_never_begins(home, program):
    async def story():
        run_id = await submit_run(home, spec(), "send")
        first, again = await Runs(home).cancel(run_id), await Runs(home).cancel(run_id)
        queued = await RunQueue(home.database).has(run_id)
        async with working(home):
            await Runs(home).wait(await submit_run(home, spec(), "hello"))
        return first, again, queued, (await home.journal.read(run_id))[-1]

    *said, last = told(story)
    assert said == ["cancelled", "cancelled", False]
    assert isinstance(last, Finished)
    assert (last.stopped, program.sent) == ("cancelled", [])


def test_a_run_that_a_worker_executes_is_cancelled_and_its_call_may_have_taken_effect(home, program):
    async def story():
        async with working(home):
            run_id = await submit_run(home, spec(), "print")
            await until(lambda: program.sent)
            status = await Runs(home).cancel(run_id, wait=PATIENCE)
            info = await Runs(home).wait(run_id)
        return status, info.status, await home.journal.read(run_id), await home.cancel_requests.pending([run_id])

    status, stored, entries, pending = told(story)
    assert (status, stored, pending) == ("cancelled", "cancelled", set())
    (returned,) = [entry for entry in entries if isinstance(entry, Returned)]
    assert returned.result.problem == "cancelled"
    assert "may have taken effect" in returned.result.content


def test_a_run_whose_worker_has_died_is_cancelled_without_one(home, program):
    async def story():
        run_id = await submit_run(home, spec(), "print")
        await RunQueue(home.database).admit(OPTIONS.ceilings, 10)
        lease = await home.leases.take(run_id, "worker", 5)
        carrying = asyncio.create_task(advance_run(home, lease, WorkerModels(OPTIONS.agents)))
        await until(lambda: program.sent)
        carrying.cancel()  # as after a crash: nothing more is written
        await asyncio.wait([carrying])
        open_status = await Runs(home).cancel(run_id, wait=0)  # its lease isn't over
        await home.leases.give_up(lease)
        return open_status, await Runs(home).cancel(run_id), (await home.journal.read(run_id))[-2:]

    before, after, (returned, finished) = told(story)
    assert (before, after) == ("open", "cancelled")
    assert isinstance(returned, Returned)
    assert "may have taken effect" in returned.result.content
    assert isinstance(finished, Finished)


def test_a_request_outlives_the_worker_and_the_next_one_ends_the_run_before_it_does_anything(home, program):
    async def story():
        run_id = await submit_run(home, spec(), "send")
        lease = await home.leases.take(run_id, "worker", 60)
        status = await Runs(home).cancel(run_id, wait=0)
        await home.leases.give_up(lease)
        done = await advance_run(home, await home.leases.take(run_id, "another", 60), WorkerModels(OPTIONS.agents))
        await RunQueue(home.database).remove(run_id)
        return status, done.outcome

    assert told(story) == ("open", "cancelled")
    assert program.sent == []


async def ignore_request(home, run_id):
    """Have a request to cancel a run that has been there for longer than its worker may take; it is the database's time."""
    status = await Runs(home).cancel(run_id, wait=0)
    await home.database.submit(lambda connection: connection.execute("UPDATE cancel_requests SET at = at - 60"))
    return status


def test_a_run_whose_worker_has_died_is_cancelled_before_its_lease_is_over(home, program):
    async def story():
        run_id = await submit_run(home, spec(), "print")
        lease = await home.leases.take(run_id, "worker", 600)
        before = await ignore_request(home, run_id)
        after = await Runs(home).cancel(run_id, wait=0)
        return before, after, await home.leases.renew(lease), await RunQueue(home.database).has(run_id)

    assert told(story) == ("open", "cancelled", False, False)


def test_a_worker_that_does_not_respond_to_a_request_writes_nothing_and_calls_nothing_after_it(home, program):
    async def story():
        program.released = asyncio.Event()
        run_id = await submit_run(home, spec(), "hold")
        deaf = CancelWatch(home.cancel_requests, seconds=600)
        lease = await home.leases.take(run_id, "worker", 600)
        carrying = asyncio.create_task(advance_run(home, lease, WorkerModels(OPTIONS.agents), deaf))
        await until(lambda: program.sent)
        await ignore_request(home, run_id)
        status, entries = await Runs(home).cancel(run_id, wait=0), await home.journal.read(run_id)
        program.released.set()  # the call of that worker ends, and its result can't be written
        return status, (await carrying).outcome, entries, await home.journal.read(run_id)

    status, outcome, entries, later = told(story)
    assert (status, outcome, program.sent) == ("cancelled", "cancelled", ["begun", "late"])
    assert "may have taken effect" in entries[-2].result.content
    assert later == entries


def test_a_worker_ends_a_run_whose_worker_and_whose_canceller_have_died(home, program):
    async def story():
        run_id = await submit_run(home, spec(), "print")
        await RunQueue(home.database).admit(OPTIONS.ceilings, 10)
        await home.leases.take(run_id, "worker", 600)
        await ignore_request(home, run_id)
        async with working(home):
            return (await Runs(home).wait(run_id)).status, await RunQueue(home.database).has(run_id)

    assert told(story) == ("cancelled", False)
    assert program.sent == []


def test_a_run_that_waits_is_cancelled_and_one_that_is_over_says_so(home, program):
    async def story():
        async with working(home):
            waits, answers = await submit_run(home, spec(), "pay"), await submit_run(home, spec(), "hello")
            statuses = [(await Runs(home).wait(run_id)).status for run_id in (waits, answers)]
        with pytest.raises(RunTaken, match=r"is over \(answered\)"):
            await Runs(home).cancel(answers)
        return statuses, await Runs(home).cancel(waits), await Runs(home).approvals(waits)

    assert told(story) == (["waiting", "answered"], "cancelled", [])


def test_no_request_is_stored_for_a_turn_that_is_over(home, program):
    async def story():
        async with working(home):
            run_id = await submit_run(home, spec(), "hello")
            await Runs(home).wait(run_id)
        return await home.cancel_requests.add(run_id), await home.cancel_requests.pending([run_id, "none"])

    assert told(story) == (False, set())


# watch


def test_a_run_is_watched_to_its_end_with_nothing_missing_or_twice_after_a_break(home, program):
    async def story():
        run_id = await submit_run(home, spec(), "send")
        first = [each.position async for each in _first(Runs(home).watch(run_id), 2)]
        async with working(home):
            rest = [each async for each in Runs(home).watch(run_id, after=first[-1])]
        return first, rest, await home.journal.read(run_id)

    first, rest, entries = told(story)
    assert [*first, *[each.position for each in rest]] == [*range(1, len(entries) + 1)]
    assert [each.entry for each in rest] == entries[2:]
    assert rest[-1].entry.stopped == "answered"


async def _first(watch, count):
    async for each in watch:
        yield each
        count -= 1
        if not count:
            break
    await watch.aclose()


# retry


def test_a_failed_run_is_retried_from_its_journal_and_its_effect_is_not_repeated(home, program):
    async def story():
        program.away.append(True)
        async with working(home):
            run_id = await submit_run(home, spec(), "send")
            failed = await Runs(home).wait(run_id)
            program.away.clear()
            await Runs(home).retry(run_id)
            info = await Runs(home).wait(run_id)
        with pytest.raises(RunTaken, match="has stopped as 'answered': only a failed run can be retried"):
            await Runs(home).retry(run_id)
        return failed.status, info.status, await home.journal.read(run_id)

    failed, status, entries = told(story)
    assert (failed, status, program.sent) == ("failed", "answered", ["ann"])
    assert sum(isinstance(entry, Started) for entry in entries) == 1
    assert any(isinstance(entry, Resumed) for entry in entries)


def test_a_run_that_is_queued_to_be_retried_is_cancelled(home, program):
    async def story():
        program.away.append(True)
        async with working(home):
            run_id = await submit_run(home, spec(), "send")
            await Runs(home).wait(run_id)
        with pytest.raises(RunTaken, match=r"is over \(failed\)"):
            await Runs(home).cancel(run_id)
        await Runs(home).retry(run_id)
        return await Runs(home).cancel(run_id), (await home.journal.info(run_id)).status, await RunQueue(home.database).has(run_id)

    assert told(story) == ("cancelled", "cancelled", False)


# submit


def test_the_same_run_submitted_again_is_one_run_and_another_with_its_id_is_refused(home, program):
    async def story():
        first = await submit_run(home, spec(), "send", user="ann", run_id="invoice-7")
        async with working(home):
            await Runs(home).wait(first)
        again = await submit_run(home, spec(), "send", user="ann", run_id="invoice-7")
        for changed in ({"message": "print", "user": "ann"}, {"message": "send", "user": "bo"}):
            with pytest.raises(RunTaken, match="Run invoice-7 exists, with another message or other options"):
                await submit_run(home, spec(), **changed, run_id="invoice-7")
        with pytest.raises(SettingsError, match="can't be a run's id"):
            await submit_run(home, spec(), "send", run_id="a/b")
        return first, again, await RunQueue(home.database).has(first)

    assert told(story) == ("invoice-7", "invoice-7", False)
    assert program.sent == ["ann"]


# delete


def test_a_deleted_run_is_gone_for_all(home, program):
    async def story():
        run_id = await submit_run(home, spec(), "send")
        with pytest.raises(RunTaken, match="isn't over"):
            await Runs(home).delete(run_id)
        watch = Runs(home).watch(run_id)
        await anext(watch)
        await anext(watch)
        await Runs(home).delete(run_id, force=True)
        with pytest.raises(RunNotFound):
            await anext(watch)
        for refused in (Runs(home).cancel(run_id), Runs(home).retry(run_id), Runs(home).wait(run_id)):
            with pytest.raises(RunNotFound):
                await refused
        return await RunQueue(home.database).has(run_id)

    assert told(story) is False


# agents of a program


@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("other_program:agent", "this worker doesn't import 'other_program'; its administrator allows that with"),
        ("own_program:missing", "this worker can't import the agent own_program:missing"),
        ("own_program:not_an_agent", "own_program:not_an_agent isn't an agent"),
    ],
)
def test_an_agent_that_a_worker_may_not_or_cannot_import_fails_the_run_with_a_sentence(home, program, name, why):
    async def story():
        async with working(home):
            run_id = await submit_run(home, spec(name), "hello")
            return (await Runs(home).wait(run_id)).status, (await home.journal.read(run_id))[-1].reason

    status, reason = told(story)
    assert status == "failed"
    assert why in reason


def test_an_agent_does_not_keep_what_belongs_to_each_of_its_runs(home, program):
    async def story():
        for number in range(MAX_ENGINES + 1):
            program.agent._engine_for(replace(home.services(), journal=FencedJournal(home.journal, Lease(str(number), "", 1, 1.0))))
        return len(program.agent._engines)

    assert told(story) <= MAX_ENGINES


def test_what_names_no_agent_is_refused_when_it_is_submitted(home):
    async def story():
        for wanted, why in (
            (RunSpec(agent="no module"), "names no agent"),
            (RunSpec("reading", "a:b", agent="own_program:agent"), "has its own model"),
        ):
            with pytest.raises(SettingsError, match=why):
                await submit_run(home, wanted, "hello")

    told(story)
