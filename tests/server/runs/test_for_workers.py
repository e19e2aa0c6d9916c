"""Runs that workers carry out, answered at the server: a worker goes on with them."""

import asyncio

import pytest

from server.running import Serving
from server.runs.asking import Echo, rivers, with_server
from treadle.home import close_home, open_home
from treadle.stores.queue import RunQueue
from treadle.workers.executor import advance_run
from treadle.workers.run_spec import RunSpec, WorkerModels, opening_entries
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
    assert answered(tmp_path, {"approved": True})[0] == 202
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
