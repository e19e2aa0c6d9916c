"""Runs that workers carry out, answered at the server: a worker goes on with them."""

import asyncio

import pytest

from server.running import Serving
from server.runs.asking import Echo, rivers, with_server
from treadle.errors import ModelRefused
from treadle.home import close_home, open_home
from treadle.server.runs import hosted_runs
from treadle.server.runs.journals import find_opened
from treadle.stores.queue import RunCeilings, RunQueue
from treadle.testing import Scripted
from treadle.workers.executor import advance_run
from treadle.workers.run_spec import RunSpec, WorkerModels, opening_entries, run_spec_of
from working import installed


@pytest.fixture
def home(tmp_path, monkeypatch):
    (tmp_path / "done").touch()
    monkeypatch.setenv("STEPS_DONE", str(tmp_path / "done"))
    monkeypatch.syspath_prepend(str(installed(tmp_path / "packages")))
    home = open_home(tmp_path / "data")
    yield home
    close_home(home)


async def carried(home):
    lease = await home.leases.take("r1", "me", 30)
    done = await advance_run(home, lease, WorkerModels())
    await home.leases.give_up(lease)
    return done.outcome


async def waiting(home):
    """A run that a worker carried on to where it waits for a person."""
    await home.journal.append("r1", 0, opening_entries(RunSpec("steps", "stepping:a"), "buy", ""))
    return await carried(home)


def answered(tmp_path, said):
    async def work(ask):
        _, found = await ask("GET", "/api/approvals")
        (asked,) = found["approvals"]
        return await ask("POST", f"/api/runs/r1/approvals/{asked['call_id']}", {**said, "digest": asked["digest"]})

    with Serving(tmp_path, [rivers()], Echo()) as server:
        return with_server(server, work)


def test_a_run_that_is_approved_is_queued_and_a_worker_goes_on_with_it(home, tmp_path):
    assert asyncio.run(waiting(home)) == "waiting"
    assert answered(tmp_path, {"approved": True}) == (202, {"run_id": "r1", "status": "queued"})
    assert asyncio.run(RunQueue(home.database).size()) == (1, 0)
    assert asyncio.run(carried(home)) == "answered"
    assert (tmp_path / "done").read_text().count("bought") == 1


def test_one_that_is_denied_goes_on_too_and_nothing_happens(home, tmp_path):
    assert asyncio.run(waiting(home)) == "waiting"
    assert answered(tmp_path, {"approved": False})[0] == 202
    assert asyncio.run(RunQueue(home.database).size()) == (1, 0)
    assert asyncio.run(carried(home)) == "answered"
    assert "bought" not in (tmp_path / "done").read_text()


def test_one_that_was_answered_and_never_queued_is_queued_when_it_is_answered_again(home, tmp_path):
    asyncio.run(waiting(home))

    async def work(ask):
        _, found = await ask("GET", "/api/approvals")
        (asked,) = found["approvals"]
        path, said = f"/api/runs/r1/approvals/{asked['call_id']}", {"approved": True, "digest": asked["digest"]}
        return [(await ask("POST", path, said))[0] for _ in range(2)]

    with Serving(tmp_path, [rivers()], Echo()) as server:
        assert with_server(server, work) == [202, 202]
    assert asyncio.run(RunQueue(home.database).size()) == (1, 0)


# submitted here


class Named(Echo):
    name = "stepping:a"


BODY = {"assistant": "steps", "message": "1 steps of 0.01 s", "where": "workers"}


def steps_assistant():
    from stepping_package import steps  # pyright: ignore[reportMissingImports]  # installed by the fixture

    return steps


async def post(asking, body, key=""):
    headers = {"content-type": "application/json", **({"idempotency-key": key} if key else {})}
    async with asking._session.post(f"{asking.url}/api/runs", json=body, headers=headers) as answer:
        return answer.status, await answer.json()


def test_a_run_is_submitted_to_workers_once_however_often_it_is_sent_and_waited_for(home, tmp_path):
    async def work(ask):
        first, again = await post(ask, BODY, "invoice 7"), await post(ask, BODY, "invoice 7")
        other, refused = await post(ask, BODY), await post(ask, {**BODY, "message": "buy"}, "invoice 7")
        run_id = first[1]["run_id"]
        waiting = asyncio.create_task(ask("GET", f"/api/runs/{run_id}?wait=60"))
        early = await ask("GET", f"/api/runs/{run_id}?wait=0.01")
        await RunQueue(home.database).admit(RunCeilings(), 1)
        lease = await home.leases.take(run_id, "me", 30)
        await advance_run(home, lease, WorkerModels())
        await home.leases.give_up(lease)
        await RunQueue(home.database).remove(run_id)
        return first, again, other, refused, early, await waiting, await post(ask, BODY, "invoice 7")

    with Serving(tmp_path, [rivers(), steps_assistant()], Named()) as server:
        first, again, other, refused, early, waited, last = with_server(server, work)
    assert (first[0], first[1]["status"], again) == (202, "queued", first)
    assert other[1]["run_id"] != first[1]["run_id"]
    assert (refused[0], "was used for another request" in refused[1]["error"]) == (422, True)
    assert (early[1]["run"]["status"], waited[1]["run"]["status"]) == ("open", "answered")
    assert last == (202, {"run_id": first[1]["run_id"], "status": "answered"})


def test_a_run_for_workers_has_its_queue_its_priority_and_any_version(home, tmp_path):
    async def work(ask):
        _, said = await post(ask, {**BODY, "queue": "gpu", "priority": 7, "any_version": True})
        order = run_spec_of(said["run_id"], find_opened(await home.journal.read(said["run_id"])))
        return order.queue, order.priority, order.any_version

    with Serving(tmp_path, [rivers(), steps_assistant()], Named()) as server:
        assert with_server(server, work) == ("gpu", 7, True)


def test_a_run_of_the_server_is_begun_once_by_its_key(tmp_path):
    body = {"assistant": "rivers", "message": "How deep?"}

    async def work(ask):
        first, second = await asyncio.gather(post(ask, body, "k"), post(ask, body, "k"))
        await ask.ended(first[1]["run_id"])
        runs = await ask("GET", "/api/runs")
        refused = [
            await post(ask, {**body, "message": "How wide?"}, "k"),
            await post(ask, body, "k" * 256),
            await post(ask, {**body, "run_id": first[1]["run_id"]}, "k"),
            await post(ask, {**BODY, "assistant": "rivers", "context": {"a": 1}}),
        ]
        return first, second, len(runs[1]["runs"]), refused

    with Serving(tmp_path, [rivers()], Echo()) as server:
        first, second, runs, refused = with_server(server, work)
    assert (first[0], first[1]["run_id"], runs) == (202, second[1]["run_id"], 1)
    assert [status for status, _ in refused] == [422] * 4


def test_a_failed_run_of_the_server_is_retried_there(tmp_path):
    async def work(ask):
        _, said = await ask("POST", "/api/runs", {"assistant": "rivers", "message": "How deep?"})
        await ask.ended(said["run_id"], "failed")
        retried = await ask("POST", f"/api/runs/{said['run_id']}/retry")
        return retried[0], (await ask.ended(said["run_id"]))["run"]["status"]

    with Serving(tmp_path, [rivers()], Scripted(ModelRefused("Not now."), "Four metres.")) as server:
        assert with_server(server, work) == (202, "answered")


def test_a_run_is_cancelled_at_a_server_that_still_waits_to_recover_its_own_runs(home, tmp_path, monkeypatch):
    async def wait_for_ever(lock):
        await asyncio.Event().wait()

    monkeypatch.setattr(hosted_runs, "wait_for_lock", wait_for_ever)  # another server has the lock
    asyncio.run(
        RunQueue(home.database).open(
            RunSpec("steps", "stepping:a").position("r1", ""), opening_entries(RunSpec("steps", "stepping:a"), "buy", "")
        )
    )

    async def work(ask):
        return await ask("POST", "/api/runs/r1/cancel")

    with Serving(tmp_path, [rivers()], Echo()) as server:
        assert with_server(server, work) == (200, {"run_id": "r1", "status": "cancelled"})
