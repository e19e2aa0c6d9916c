"""Queues of workers: priorities, queues by name with their limits, tries, dead letters, the list of workers, draining.

In a file and in PostgreSQL.
"""

import asyncio
import re
import subprocess
import sys
from contextlib import ExitStack, asynccontextmanager
from importlib.metadata import version

import pytest
from msgspec.structs import replace

from postgres import database
from treadle import Runs, __version__
from treadle.errors import SettingsError
from treadle.home import close_home, open_home
from treadle.server.metrics import ServerMetrics, _operation_metrics
from treadle.stores.queue import QueueCeiling, QueuePosition, RunCeilings, RunQueue
from treadle.stores.queue_stats import OperationStats, QueueCounts, count_asking, read_operation_stats
from treadle.stores.run_versions import RunVersions
from treadle.stores.worker_list import WorkerList
from treadle.workers import RunSpec, submit_run
from treadle.workers import worker as worker_module
from treadle.workers.app_version import format_unserved, resolve_app_version
from treadle.workers.dispatcher import LocalDispatcher, WorkerOptions
from treadle.workers.executor import MAX_ATTEMPTS, advance_run
from treadle.workers.run_spec import WorkerModels
from treadle.workers.submission import requeue_run
from treadle.workers.worker import Worker, load_worker_options

PATIENCE = 60.0
OPTIONS = WorkerOptions(at_once=4, lease=5.0, agents=("queued_program",))
PROGRAM = """
import asyncio
from treadle import Agent, allow, ask, tool
from treadle.errors import ModelError
from treadle.testing import Scripted, calls

begun, go, failures = [], [], []

@tool(effect="write")
async def hold() -> str:
    '''Wait until it may end.'''
    begun.append("hold")
    while not go:
        await asyncio.sleep(0.01)
    return "done"

@tool(effect="write")
def pay() -> str:
    '''Pay.'''
    return "paid"

def reply(request):
    said = request.history[0].text
    if any(message.role == "tools" for message in request.history):
        return "All done."
    if said == "hold":
        return calls(("hold", {}))
    if said == "pay":
        return calls(("pay", {}))
    if said == "fail" and failures:
        failures.pop()
        return ModelError("The model is away, key=sk-ant-REDACTED.")
    begun.append(said)
    return "Hello."

class Model:
    name, traits = "own", Scripted().traits

    def reply(self, request):
        return Scripted(reply).reply(request)

agent = Agent(Model(), tools=[hold, pay], policy=[allow("hold"), ask("pay")])
"""


@pytest.fixture(scope="module", params=["sqlite", "postgres"])
def opened(request, tmp_path_factory):
    with ExitStack() as cleanup:
        url = cleanup.enter_context(database()) if request.param == "postgres" else ""
        home = open_home(tmp_path_factory.mktemp("queues") / "data", database=url)
        cleanup.callback(close_home, home)
        yield home


@pytest.fixture
def home(opened):
    yield opened

    async def empty():
        for table in ("queue", "queue_begun", "dead_letters", "workers", "run_versions"):
            await opened.database.submit(lambda connection, table=table: connection.execute(f"DELETE FROM {table}"))

    asyncio.run(empty())


@pytest.fixture(scope="module", autouse=True)
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("program")
    (folder / "queued_program.py").write_text(PROGRAM)
    sys.path.insert(0, str(folder))
    yield folder
    sys.path.remove(str(folder))
    sys.modules.pop("queued_program", None)


@pytest.fixture
def program():
    import queued_program

    for each in (queued_program.begun, queued_program.go, queued_program.failures):
        each.clear()
    return queued_program


def spec(**changed):
    return RunSpec(agent="queued_program:agent", **changed)


@asynccontextmanager
async def working(home, options=OPTIONS, lines=None, observe=None):
    stop, hurry = asyncio.Event(), asyncio.Event()
    tell = (lambda line: None) if lines is None else lines.append
    worker = Worker(home, options, tell, LocalDispatcher(RunQueue(home.database), options), observe)
    task = asyncio.create_task(worker.work(stop, hurry))
    try:
        yield worker, stop, hurry, task
    finally:
        stop.set()
        hurry.set()
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


def ids(sent):
    return [each.run_id for each in sent]


# order and limits


def test_runs_with_a_higher_priority_begin_first_and_equal_ones_in_the_order_they_came(home):
    async def story():
        queue = RunQueue(home.database)
        for run_id, priority in (("first", 0), ("low", -5), ("urgent", 10), ("second", 0)):
            await queue.add(QueuePosition(run_id, priority=priority))
        return [each for _ in range(4) for each in await queue.admit(RunCeilings(), 1)]

    sent = told(story)
    assert ids(sent) == ["urgent", "first", "second", "low"]
    assert [each.priority for each in sent] == [10, 0, 0, -5]


def test_a_worker_takes_runs_of_its_queues_only(home, program):
    async def story():
        other = await submit_run(home, spec(queue="gpu"), "for gpu")
        async with working(home):
            await Runs(home).wait(await submit_run(home, spec(), "for all"))
        before = list(program.begun)
        queued = await RunQueue(home.database).has(other)
        async with working(home, replace(OPTIONS, queues=("gpu",))):
            status = (await Runs(home).wait(other)).status
        return before, queued, status

    assert told(story) == (["for all"], True, "answered")
    assert program.begun == ["for all", "for gpu"]


def test_a_run_of_a_dead_worker_is_taken_over_by_one_that_takes_its_queue(home):
    async def story():
        queue = RunQueue(home.database)
        await queue.add(QueuePosition("r", queue="gpu"))
        await queue.admit(RunCeilings(), 1, ["gpu"])
        return [ids(await queue.stale(-1, queues=queues)) for queues in (["default"], ["gpu", "default"], [])]

    assert told(story) == [[], ["r"], ["r"]]


def test_limits_of_a_queue_hold_over_all_workers_and_do_not_hide_other_queues(home):
    ceilings = RunCeilings(queues={"gpu": QueueCeiling(at_once=1), "mail": QueueCeiling(per_minute=1)})

    async def story():
        queue = RunQueue(home.database)
        for run_id in ("gpu-1", "gpu-2", "mail-1", "mail-2", "other"):
            await queue.add(QueuePosition(run_id, queue=run_id.partition("-")[0]))
        first = await queue.admit(ceilings, 9)
        for sent in first:
            await queue.over(sent)
        return [ids(each) for each in (first, await queue.admit(ceilings, 9), await queue.admit(ceilings, 9))]

    assert told(story) == [["gpu-1", "mail-1", "other"], ["gpu-2"], []]


def test_a_run_that_comes_back_is_in_its_own_queue_with_its_priority(home, program):
    async def story():
        options = replace(OPTIONS, queues=("gpu",))
        async with working(home, options):
            run_id = await submit_run(home, spec(queue="gpu", priority=7), "pay")
            assert (await Runs(home).wait(run_id)).status == "waiting"
        asking = await count_asking(home.database)
        await Runs(home).approve_all(run_id)
        from treadle.workers.submission import requeue_run

        await requeue_run(home, run_id)
        (sent,) = await RunQueue(home.database).admit(RunCeilings(), 9)
        return asking, sent.queue, sent.priority

    assert told(story) == (1, "gpu", 7)


@pytest.mark.parametrize(
    ("changed", "why"),
    [({"queue": "a b"}, "can't be a queue's name"), ({"queue": ""}, "can't be a queue's name"), ({"priority": 5000}, "from -1000")],
)
def test_what_is_no_queue_or_priority_is_refused_when_it_is_submitted(home, changed, why):
    with pytest.raises(SettingsError, match=why):
        told(lambda: submit_run(home, spec(**changed), "hello"))


# failures


def test_a_run_that_failed_as_often_as_it_may_is_a_dead_letter_until_it_is_retried(home, program):
    lines = []

    async def story():
        program.failures.append(1)
        async with working(home, lines=lines):
            run_id = await submit_run(home, spec(queue="default"), "fail")
            await Runs(home).wait(run_id)
            (letter,) = await Runs(home).dead_letters()
            assert await Runs(home).dead_letters("gpu") == []
            await Runs(home).retry(run_id)
            status = (await Runs(home).wait(run_id)).status
        return run_id, letter, status, await Runs(home).dead_letters()

    run_id, letter, status, after = told(story)
    assert (letter.run_id, letter.queue, letter.cause, letter.failures) == (run_id, "default", "failed", 1)
    assert (status, after) == ("answered", [])
    assert "failed: " in lines[0]


def test_a_run_that_may_be_tried_again_is_and_its_failures_are_counted_by_queue(home, program, monkeypatch):
    monkeypatch.setattr(worker_module, "RETRY_SECONDS", 0.0)
    lines = []
    options = replace(OPTIONS, queues=("default", "mail"), tries=1, tries_by_queue={"mail": 3})

    async def story():
        program.failures += [1, 1]
        async with working(home, options, lines):
            run_id = await submit_run(home, spec(queue="mail"), "fail")
            third = (await Runs(home).wait(run_id)).status
            program.failures += [1, 1, 1]
            other = await submit_run(home, spec(queue="mail"), "fail")
            last = (await Runs(home).wait(other)).status
        return third, last, other, [(each.run_id, each.failures) for each in await Runs(home).dead_letters("mail")]

    third, last, other, letters = told(story)
    assert (third, last, letters) == ("answered", "failed", [(other, 3)])
    assert sum("failed, and is tried again" in line for line in lines) == 4


def test_a_failed_run_waits_longer_before_each_further_try(home):
    async def story():
        queue, delays = RunQueue(home.database), []
        await queue.add(QueuePosition("r"))
        for _ in range(3):
            await home.database.submit(lambda connection: connection.execute("UPDATE queue SET at = 0"))
            (sent,) = await queue.admit(RunCeilings(), 1)
            await queue.fail(sent, "failed", lambda name: 9, 100.0)
            row = await home.database.submit(lambda connection: connection.execute("SELECT at FROM queue").fetchone())
            delays.append(round((row[0] - await queue.time()) / 100))
        return delays

    assert told(story) == [1, 2, 4]


def test_a_run_that_stalled_is_a_dead_letter_at_once_and_can_be_taken_off_the_list(home, program):
    from treadle.core.entries import Resumed

    async def story():
        run_id = await submit_run(home, spec(), "hello")
        await home.journal.append(run_id, 2, [Resumed()] * MAX_ATTEMPTS)
        async with working(home, replace(OPTIONS, tries=5)):
            await Runs(home).wait(run_id)
        (letter,) = await Runs(home).dead_letters()
        removed = [await Runs(home).remove_dead_letter(run_id) for _ in range(2)]
        return letter.cause, removed, await Runs(home).dead_letters(), (await home.journal.info(run_id)).status

    assert told(story) == ("stalled", [True, False], [], "failed")


def test_an_outdated_turn_changes_nothing_and_a_deleted_run_is_no_dead_letter(home, program):
    async def story():
        queue = RunQueue(home.database)
        await queue.add(QueuePosition("r"))
        (sent,) = await queue.admit(RunCeilings(), 1)
        newer = await queue.send_again(sent)
        outdated = await queue.fail(sent, "failed", lambda name: 1, 1.0)
        await queue.add(QueuePosition("r"))
        queued_again = await queue.fail(newer, "failed", lambda name: 1, 1.0)
        has = await queue.has("r")
        await queue.remove("r")
        program.failures.append(1)
        async with working(home):
            run_id = await submit_run(home, spec(), "fail")
            await Runs(home).wait(run_id)
        before = len(await Runs(home).dead_letters())
        await Runs(home).delete(run_id)
        return outdated, queued_again, has, before, await Runs(home).dead_letters()

    assert told(story) == (False, False, True, 1, [])


# workers


def test_a_worker_is_listed_while_it_runs_and_counts_are_those_of_the_database(home, program):
    async def story():
        lines = []
        async with working(home, replace(OPTIONS, queues=("default", "gpu")), lines) as (worker, *_):
            await submit_run(home, spec(), "hold")
            await until(lambda: program.begun)
            await submit_run(home, spec(queue="mail"), "hello")
            await submit_run(home, spec(queue="mail"), "later", at=4e9)
            (info,) = await WorkerList(home.database).list_workers()
            stats = await read_operation_stats(home.database)
            program.go.append(True)
            await until(lambda: lines)
        return worker.holder, info, stats, await WorkerList(home.database).list_workers()

    holder, info, stats, after = told(story)
    assert (info.worker, info.queues, info.at_once, info.live, info.draining, info.runs) == (
        holder,
        ("default", "gpu"),
        4,
        True,
        False,
        1,
    )
    mail = stats.queues["mail"]
    assert (mail.ready, mail.later, mail.sent) == (1, 1, 0)
    assert stats.queues["default"] == QueueCounts(sent=1)
    assert (stats.leases, stats.expired_leases, stats.live_workers, stats.silent_workers) == (1, 0, 1, 0)
    assert after == []


def test_a_worker_that_died_is_silent(home):
    async def story():
        async with working(home) as (worker, *_):
            while not (found := await WorkerList(home.database).list_workers()):  # noqa: ASYNC110 - of another task
                await asyncio.sleep(0.01)
            await WorkerList(home.database).renew(replace(found[0], worker="dead"), -1.0)
            listed = await WorkerList(home.database).list_workers()
            return {each.worker == worker.holder: each.live for each in listed}, (
                await read_operation_stats(home.database)
            ).silent_workers

    assert told(story) == ({True: True, False: False}, 1)


def test_a_worker_that_drains_takes_no_more_and_lets_its_runs_end(home, program):
    async def story():
        async with working(home, replace(OPTIONS, drain=PATIENCE)) as (_, stop, _, task):
            held = await submit_run(home, spec(), "hold")
            await until(lambda: program.begun)
            stop.set()
            later = await submit_run(home, spec(), "hello")
            program.go.append(True)
            await task
        return (await home.journal.info(held)).status, await RunQueue(home.database).has(later)

    assert told(story) == ("answered", True)
    assert program.begun == ["hold"]


def test_a_worker_that_has_to_hurry_leaves_its_runs_to_others(home, program):
    async def story():
        async with working(home, replace(OPTIONS, drain=PATIENCE)) as (_, stop, hurry, task):
            held = await submit_run(home, spec(), "hold")
            await until(lambda: program.begun)
            stop.set()
            hurry.set()
            await task
        return (await home.journal.info(held)).status, (await RunQueue(home.database).size())

    assert told(story) == ("open", (1, 0))


def test_a_worker_counts_its_runs_where_it_has_metrics(home, program):
    async def story():
        metrics = ServerMetrics()
        async with working(home, observe=metrics.turn):
            await Runs(home).wait(await submit_run(home, spec(), "hello"))
        return metrics.started, metrics.ended, metrics.usage.requests

    name = "queued_program:agent"
    assert told(story) == ({(name,): 1}, {(name, "answered"): 1}, 1)


def test_nothing_is_counted_or_created_where_nothing_was_written(tmp_path):
    async def story():
        home = open_home(tmp_path / "none")
        found = (
            await read_operation_stats(home.database),
            await count_asking(home.database),
            await WorkerList(home.database).list_workers(),
            await Runs(home).dead_letters(),
            await Runs(home).remove_dead_letter("r"),
        )
        close_home(home)
        return found

    assert told(story) == (OperationStats(), 0, [], [], False)
    assert not (tmp_path / "none" / "treadle.db").exists()


def test_settings_name_the_queues_of_a_worker_and_their_limits(tmp_path, monkeypatch):
    settings = tmp_path / "treadle.toml"
    settings.write_text(
        '[worker]\nqueues = ["gpu", "default"]\ntries = 2\ndrain = 20\n'
        "[queues.gpu]\nat_once = 2\nper_minute = 30\ntries = 5\n[queues.mail]\nper_minute = 10\n"
    )
    monkeypatch.setenv("TREADLE_CONFIG", str(settings))
    options = load_worker_options()
    assert (options.queues, options.drain) == (("gpu", "default"), 20)
    assert [options.tries_of(name) for name in ("gpu", "mail")] == [5, 2]
    assert options.ceilings.queues == {"gpu": QueueCeiling(2, 30), "mail": QueueCeiling(None, 10)}


# versions of an application


def of_version(*versions):
    return replace(OPTIONS, app_version=versions[0], compatible=versions[1:])


async def unserved(home):
    return (await read_operation_stats(home.database)).unserved


def test_a_run_is_continued_by_workers_of_the_version_that_began_it_while_new_runs_go_to_the_new_one(home, program):
    async def story():
        async with working(home, of_version("v1")):
            await Runs(home).wait(old := await submit_run(home, spec(), "pay"))
        (approval,) = await Runs(home).approvals(old)
        await Runs(home).approve(old, approval.call_id)
        await requeue_run(home, old)
        async with working(home, of_version("v2")), working(home):
            statuses = [(await Runs(home).wait(await submit_run(home, spec(), "hello"))).status]
            left = await RunQueue(home.database).has(old), await unserved(home)
        async with working(home, of_version("v3", "v1")) as _:
            statuses.append((await Runs(home).wait(old)).status)
            (info,) = await WorkerList(home.database).list_workers()
        return statuses, left, info.app_versions, await unserved(home)

    assert told(story) == (["answered", "answered"], (True, {"v1": 1}), ("v3", "v1"), {})


def test_a_run_that_any_version_may_continue_has_none(home, program):
    async def story():
        async with working(home, of_version("v1")):
            await Runs(home).wait(run_id := await submit_run(home, spec(any_version=True), "pay"))
        (approval,) = await Runs(home).approvals(run_id)
        await Runs(home).approve(run_id, approval.call_id)
        await requeue_run(home, run_id)
        async with working(home, of_version("v2")):
            return (await Runs(home).wait(run_id)).status

    assert told(story) == "answered"


def test_a_run_of_a_dead_worker_waits_for_its_version_and_one_that_is_sent_to_another_is_left(home, program):
    async def story():
        queue, versions = RunQueue(home.database), RunVersions(home.database)
        run_id = await submit_run(home, spec(), "hello")
        assert await versions.pin(run_id, "v1") == await versions.pin(run_id, "v2") == "v1"
        assert [ids(await queue.admit(OPTIONS.ceilings, 9, (), each)) for each in ((), ("v2",))] == [[], []]
        (sent,) = await queue.admit(OPTIONS.ceilings, 9, (), ("v1",))
        found = [ids(await queue.stale(-1.0, versions=each)) for each in ((), ("v2",), ("v2", "v1"), None)]
        lease = await home.leases.take(run_id, "worker", 60)
        done = await advance_run(home, lease, WorkerModels(OPTIONS.agents), versions=("v2",))
        await Runs(home).delete(run_id, force=True)
        return sent.version, [len(each) for each in found], done.outcome, done.why, await versions.pin(run_id, "")

    why = "version v1 began it, which this worker doesn't have"
    assert told(story) == ("v1", [0, 0, 1, 1], "left", why, "")


def test_runs_that_no_version_takes_are_in_the_metrics_and_say_what_to_do(home):
    metrics = {each.name: each.values for each in _operation_metrics(OperationStats(unserved={"v1": 3}))}
    assert metrics["treadle_runs_unserved"] == {(("version", "v1"),): 3}
    assert format_unserved("v1", 1).startswith("1 run waits for version v1, which no worker has: start one with --app-version v1")


def test_the_version_of_an_application_is_named_or_that_of_its_package_or_commit(tmp_path, monkeypatch):
    (tmp_path / "versioned_program.py").write_text("")
    monkeypatch.syspath_prepend(tmp_path)
    assert [resolve_app_version(name, ["versioned_program"]) for name in ("", "2.1")] == ["", "2.1"]
    assert resolve_app_version("auto", []) == __version__
    assert resolve_app_version("auto", ["msgspec.json"]) == version("msgspec")
    for module in ("versioned_program", "no_such_program"):
        with pytest.raises(SettingsError, match="it is no installed package, and in no git repository"):
            resolve_app_version("auto", [module])
    for command in (["init", "-q"], ["add", "-A"], ["-c", "user.name=a", "-c", "user.email=a@b", "commit", "-qm", "first"]):
        subprocess.run(["git", "-C", str(tmp_path), *command], check=True)
    assert re.fullmatch(r"[0-9a-f]{7,}", resolve_app_version("auto", ["versioned_program"]))
    with pytest.raises(SettingsError, match="can't be a version"):
        resolve_app_version("a,b", [])
