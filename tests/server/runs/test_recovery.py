"""Who may take up what a server left behind."""

import asyncio

import pytest

from server.running import Serving, host
from server.runs.asking import Echo, rivers, with_server
from treadle import Runs
from treadle.core.entries import Opened, Resumed, Said
from treadle.core.errors import JournalError
from treadle.home import close_home, open_home
from treadle.server.metrics import ServerMetrics
from treadle.server.models import ModelCatalog
from treadle.server.runs.hosted_runs import MAX_ATTEMPTS, HostedRuns
from treadle.server.runs.recovery import LEASE_NAME, HomeFileLock, HomeLeaseLock, make_home_lock, wait_for_lock
from treadle.stores.leases import Lease, Leases
from treadle.stores.postgres.database import PostgresDatabase

OURS = {"face": "server", "assistant": "rivers"}


@pytest.fixture(params=["file", "lease"])
def locks(request, tmp_path):
    """Makes locks of the same home."""
    if request.param == "file":
        yield lambda: HomeFileLock(tmp_path / "home")
        return
    database = PostgresDatabase(request.getfixturevalue("postgres"))
    yield lambda: HomeLeaseLock(Leases(database), 0.6)
    database.close()


def test_only_one_holds_a_home_at_a_time(locks):
    async def story():
        one, other = locks(), locks()
        assert await wait_for_lock(one, 0.2)
        assert not await wait_for_lock(other, 1.5)  # longer than a lease, which is renewed
        await one.let_go()
        assert await wait_for_lock(other, 0.2)
        assert not await wait_for_lock(locks(), 0.2)
        await other.let_go()

    asyncio.run(story())


def test_whoever_waits_holds_it_as_soon_as_it_is_let_go(locks):
    async def waiting():
        one, other = locks(), locks()
        await wait_for_lock(one)
        held = asyncio.create_task(wait_for_lock(other))
        await asyncio.sleep(0.15)
        await one.let_go()
        held = await held
        await other.let_go()
        return held

    assert asyncio.run(waiting())


def test_the_lock_of_a_server_that_died_is_free_after_a_lease(postgres):
    async def story():
        database = PostgresDatabase(postgres)
        assert await Leases(database).take(LEASE_NAME, "dead", 0.5) is not None
        lock = HomeLeaseLock(Leases(database))
        assert not await wait_for_lock(lock, 0.2)
        assert await wait_for_lock(lock)
        await lock.let_go()
        database.close()

    asyncio.run(story())


def test_a_lease_is_kept_while_the_database_is_away_for_a_moment(caplog):
    class Away(Leases):
        def __init__(self):
            self.renewed = 0
            self.troubles = [JournalError("The database is away.")]

        async def take(self, run_id, holder, seconds):
            return Lease(run_id, holder, 1, seconds)

        async def renew(self, lease):
            if self.troubles:
                raise self.troubles.pop()
            self.renewed += 1
            return self.renewed < 3

        async def give_up(self, lease):
            raise JournalError("The database is away.")

    async def story():
        leases = Away()
        lock = HomeLeaseLock(leases, 0.03)
        assert await wait_for_lock(lock)
        for _ in range(500):
            if leases.renewed == 3:
                break
            await asyncio.sleep(0.01)
        await lock.let_go()
        return leases.renewed

    assert asyncio.run(story()) == 3
    assert "couldn't be renewed" in caplog.text


def test_a_home_in_a_file_is_locked_there_and_one_in_postgresql_by_a_lease(tmp_path, postgres):
    for database, kind in (("", HomeFileLock), (postgres, HomeLeaseLock)):
        home = open_home(tmp_path, database=database)
        assert isinstance(make_home_lock(home), kind)
        close_home(home)


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
        vain=[Opened(agent="rivers", origin=OURS), Said(text="x"), *[Resumed()] * MAX_ATTEMPTS],
    )

    async def work(ask):
        events = await ask.events("/api/runs/ours/events")
        return events[-1].data["message"], {run["run_id"]: run["status"] for run in (await ask("GET", "/api/runs"))[1]["runs"]}

    assert served(tmp_path, work) == ("Hello there", {"ours": "answered", "theirs": "open", "gone": "open", "vain": "open"})


def test_one_that_is_to_be_cancelled_is_ended_and_not_taken_up(tmp_path):
    left(tmp_path, ours=[Opened(agent="rivers", origin=OURS), Said(text="Hello there")])
    home = open_home(tmp_path / "data")
    assert asyncio.run(Runs(home).cancel("ours", wait=0)) == "open"  # no server runs that could
    close_home(home)

    async def work(ask):
        return [(await ask.events("/api/runs/ours/events"))[-1].data["stopped"], await ask("POST", "/api/runs/ours/cancel")]

    assert served(tmp_path, work) == ["cancelled", (200, {"run_id": "ours", "status": "cancelled"})]


def test_one_that_was_taken_up_in_vain_can_still_be_resumed_by_a_person(tmp_path):
    left(tmp_path, vain=[Opened(agent="rivers", origin=OURS), Said(text="x"), *[Resumed()] * MAX_ATTEMPTS])
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
        other = HomeFileLock(lent.home.folder)
        assert await other.try_now()
        runs = HostedRuns([rivers()], lent, ModelCatalog(lent, is_local=True), ServerMetrics())
        async with runs.open():
            waiting = asyncio.create_task(runs.wait_recovered())
            await asyncio.sleep(0)
        await asyncio.wait_for(waiting, 120)
        await other.let_go()
        return (await lent.home.journal.info("ours")).status

    assert asyncio.run(stopping()) == "open"


def test_what_is_asked_meanwhile_waits_until_it_is_taken_up(tmp_path):
    left(tmp_path, ours=[Opened(agent="rivers", origin=OURS), Said(text="x")])

    async def work(ask):
        return await ask("POST", "/api/runs/ours/resume"), await ask.events("/api/runs/ours/events")

    (status, _), events = served(tmp_path, work)
    assert (status, events[-1].data["stopped"]) == (409, "answered")
