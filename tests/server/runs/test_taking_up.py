"""Who may take up what a server left behind."""

import asyncio
import time

from server.running import Serving, host
from server.runs.asking import Echo, rivers, with_server
from treadle.app.home import close_home, open_home
from treadle.core.entries import Opened, Resumed, Said
from treadle.server.metrics import Figures
from treadle.server.models import Models
from treadle.server.runs.service import MOST_TRIES, Runs
from treadle.server.runs.taking_up import Lock

OURS = {"face": "server", "assistant": "rivers"}


def test_only_one_holds_a_home_at_a_time(tmp_path):
    one, other = Lock(tmp_path / "home"), Lock(tmp_path / "home")
    assert one.try_now()
    assert one.try_now()
    assert not other.try_now()
    one.let_go()
    assert other.try_now()
    assert not one.try_now()
    other.let_go()


def test_whoever_waits_holds_it_as_soon_as_it_is_let_go(tmp_path):
    async def waiting():
        one, other = Lock(tmp_path), Lock(tmp_path)
        one.try_now()
        asyncio.get_running_loop().call_later(0.15, one.let_go)
        began = time.monotonic()
        held = await other.wait()
        other.let_go()
        return held, time.monotonic() - began

    held, took = asyncio.run(waiting())
    assert held
    assert took < 5


def test_whoever_waits_in_vain_gives_up(tmp_path):
    async def waiting():
        one, other = Lock(tmp_path), Lock(tmp_path)
        one.try_now()
        held = await other.wait(patience=0.2)
        one.let_go()
        return held

    assert not asyncio.run(waiting())


def left(tmp_path, **runs):
    home = open_home(tmp_path / "data")

    async def write():
        for run_id, entries in runs.items():
            await home.journal.append(run_id, 0, entries)

    asyncio.run(write())
    close_home(home)


def served(tmp_path, work):
    with Serving(tmp_path, [rivers()], Echo()) as server:
        return with_server(server, work)


def test_runs_that_were_begun_here_and_are_open_are_taken_up_and_no_others(tmp_path):
    left(
        tmp_path,
        ours=[Opened(agent="rivers", origin=OURS), Said(text="Hello there")],
        theirs=[Opened(agent="rivers", origin={"face": "cli"}), Said(text="x")],
        gone=[Opened(agent="seas", origin={**OURS, "assistant": "seas"}), Said(text="x")],
        vain=[Opened(agent="rivers", origin=OURS), Said(text="x"), *[Resumed()] * MOST_TRIES],
    )

    async def work(ask):
        events = await ask.events("/api/runs/ours/events")
        return events[-1].data["message"], {run["run_id"]: run["status"] for run in (await ask("GET", "/api/runs"))[1]["runs"]}

    assert served(tmp_path, work) == ("Hello there", {"ours": "answered", "theirs": "open", "gone": "open", "vain": "open"})


def test_one_that_was_taken_up_in_vain_can_still_be_resumed_by_a_person(tmp_path):
    left(tmp_path, vain=[Opened(agent="rivers", origin=OURS), Said(text="x"), *[Resumed()] * MOST_TRIES])
    assert served(tmp_path, lambda ask: ask.events("/api/runs/vain/resume", {}))[-1].data["stopped"] == "answered"


def test_a_file_that_cannot_be_read_keeps_nobody_from_serving(tmp_path, caplog):
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "treadle.db").write_bytes(b"this is no database" * 100)

    async def work(ask):
        return (await ask("GET", "/api/runs"))[0], (await ask("GET", "/health"))[0]

    assert served(tmp_path, work) == (500, 200)
    assert "couldn't be looked for" in caplog.text


def test_a_server_that_stops_at_once_takes_nothing_up(tmp_path):
    left(tmp_path, ours=[Opened(agent="rivers", origin=OURS), Said(text="x")])

    async def stopping():
        lent = host(tmp_path, Echo())
        other = Lock(lent.home.folder)
        assert other.try_now()
        runs = Runs([rivers()], lent, Models(lent, is_local=True), Figures())
        async with runs.open():
            waiting = asyncio.create_task(runs.settled())
            await asyncio.sleep(0)
        await asyncio.wait_for(waiting, 5)
        other.let_go()
        return (await lent.home.journal.info("ours")).status

    assert asyncio.run(stopping()) == "open"


def test_what_is_asked_meanwhile_waits_until_it_is_taken_up(tmp_path):
    left(tmp_path, ours=[Opened(agent="rivers", origin=OURS), Said(text="x")])

    async def work(ask):
        return await ask("POST", "/api/runs/ours/resume"), await ask.events("/api/runs/ours/events")

    (status, _), events = served(tmp_path, work)
    assert (status, events[-1].data["stopped"]) == (409, "answered")
