"""A server that ends while runs are under way, and another that goes on with them: as real processes."""

import asyncio
import signal
import time
from contextlib import contextmanager

import pytest

from cli.running import asks, script, start
from packages import install
from server.runs.asking import Asking, names
from server.test_uvicorn_server import WAITED
from treadle.core.entries import Finished, Resumed, Returned
from treadle.home import close_home, open_home

RIVERS = """
import asyncio
from pathlib import Path

@tool(effect="write")
def pay(folder: str) -> str:
    '''Pay.'''
    with (Path(folder) / "paid").open("a") as file:
        file.write("paid ")
    return "paid"

@tool(effect="read")
async def nap(folder: str) -> str:
    '''Sleep until somebody opens.'''
    while not (Path(folder) / "open").exists():
        await asyncio.sleep(0.02)
    return "slept"

rivers = Assistant("rivers", "Rivers", "Knows rivers.", toolsets=lambda host: [FunctionToolset([pay, nap])], policy=[allow("*")])
"""


@pytest.fixture
def package(tmp_path):
    return {"PYTHONPATH": str(install(tmp_path / "packages", "some-rivers", "some_rivers", RIVERS, rivers="rivers"))}


@pytest.fixture(autouse=True)
def folders(tmp_path):
    (tmp_path / "packages").mkdir(exist_ok=True)


@contextmanager
def served(home, model, **env):
    with start(home, "serve", "--no-token", "--port", "0", "-m", model, **env) as server:
        try:
            yield server, server.stdout.readline().strip().rstrip("/")
        finally:
            server.kill()


async def under_way(url):
    """A run whose tool sleeps, after another that had an effect; and what a reader was told until then."""
    async with Asking(url) as ask:
        told = []
        async for event in ask.stream("/api/runs", {"assistant": "rivers", "message": "Pay, then sleep."}):
            told.append(event)
            if event.name == "call_started" and event.data["call"]["name"] == "nap":
                return told
    raise AssertionError(names(told))


def replies(tmp_path):
    here = str(tmp_path)
    return script(tmp_path, asks(("pay", {"folder": here})), asks(("nap", {"folder": here})))


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL])
def test_a_run_goes_on_when_the_server_is_there_again_and_nothing_happens_twice(tmp_path, package, number):
    with served(tmp_path, replies(tmp_path), **package) as (server, url):
        before = asyncio.run(under_way(url))
        run_id = before[0].data["run_id"]
        until_written(tmp_path, run_id, "pay")  # or a kill may leave it unclear
        server.send_signal(number)
        _, err = server.communicate(timeout=60)
    assert server.returncode == (0 if number == signal.SIGTERM else -signal.SIGKILL)
    assert WAITED not in err  # runs under way keep no server waiting
    assert not [entry for entry in entries_of(tmp_path, run_id) if isinstance(entry, Finished)]

    (tmp_path / "open").touch()
    with served(tmp_path, script(tmp_path, "All is well.", name="after.json"), **package) as (server, url):
        told = asyncio.run(read(url, run_id, before[-1].id))
    assert names(told)[0] == "reset"
    assert [event.data["message"] for event in told if event.name in ("reply", "run_ended")] == ["All is well."]
    assert (told[-1].name, told[-1].data["stopped"]) == ("reply", "answered")
    returned = [event.data["result"]["name"] for event in told if event.name == "call_returned"]
    assert returned == ["pay", "nap"]
    assert (tmp_path / "paid").read_text() == "paid "
    assert sum(isinstance(entry, Resumed) for entry in entries_of(tmp_path, run_id)) == 1


async def read(url, run_id, after):
    async with Asking(url) as ask:
        return await ask.events(f"/api/runs/{run_id}/events", after=after)


def entries_of(tmp_path, run_id):
    home = open_home(tmp_path / "data")
    try:
        return asyncio.run(home.journal.read(run_id))
    finally:
        close_home(home)


def until_written(tmp_path, run_id, name):
    until = time.monotonic() + 120
    while name not in [entry.result.name for entry in entries_of(tmp_path, run_id) if isinstance(entry, Returned)]:
        assert time.monotonic() < until
        time.sleep(0.02)


def test_a_run_that_nobody_can_go_on_with_is_left_and_the_others_go_on(tmp_path, package):
    with served(tmp_path, replies(tmp_path), **package) as (server, url):
        run_id = asyncio.run(under_way(url))[0].data["run_id"]
        server.terminate()
        server.wait(120)
    with served(tmp_path, script(tmp_path, "x", name="after.json")) as (server, url):  # without the assistant
        told = asyncio.run(read(url, run_id, ""))
        server.terminate()
        _, err = server.communicate(timeout=120)
    assert (told[-1].name, told[-1].data["stopped"]) == ("reply", "open")
    assert "Traceback" not in err


def test_a_second_server_of_the_same_home_takes_nothing_over(tmp_path, package):
    with served(tmp_path, replies(tmp_path), **package) as (first, url):
        run_id = asyncio.run(under_way(url))[0].data["run_id"]
        with served(tmp_path, script(tmp_path, "Mine.", name="other.json"), **package) as (second, _):
            second.terminate()
            second.wait(120)
        kinds = [type(entry).__name__ for entry in entries_of(tmp_path, run_id)]
        assert "Resumed" not in kinds
        first.kill()
