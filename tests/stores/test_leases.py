"""Who carries a run on: one at a time, for a while, and whoever was silent for too long writes nothing."""

import asyncio
import os
import signal
import subprocess
from concurrent.futures import wait

import pytest

from cli.forkserver import Forked
from treadle.core.entries import Opened, Said
from treadle.core.errors import RunTaken
from treadle.stores.cancellation import CancelRequests
from treadle.stores.journal import DatabaseJournal
from treadle.stores.leases import FencedJournal, Lease, Leases


@pytest.fixture
def leases(database):
    return Leases(database)


def over(place, run_id="r1"):
    """A lease's time passes: it is the database's, so that no clock of ours can make it."""
    place.execute("UPDATE leases SET until = until - 3600 WHERE run_id = ?", run_id)


def test_a_run_is_carried_on_by_one_at_a_time(place):
    async def story():
        mine, theirs = Leases(place.open()), Leases(place.open())
        lease = await mine.take("r1", "me", 30)
        assert lease == Lease("r1", "me", 1, 30)
        assert await theirs.take("r1", "them", 30) is None
        assert await mine.take("r1", "me", 30) is None
        assert await theirs.take("r2", "them", 30) == Lease("r2", "them", 1, 30)
        await mine.give_up(lease)
        return await theirs.take("r1", "them", 30)

    assert asyncio.run(story()) == Lease("r1", "them", 2, 30)


def test_a_lease_that_is_over_can_be_taken_and_its_token_grows(place, leases):
    async def story():
        first = await leases.take("r1", "me", 30)
        over(place)
        second = await leases.take("r1", "them", 30)
        over(place)
        third = await leases.take("r1", "me", 30)
        return [first.token, second.token, third.token], await leases.renew(first), await leases.renew(third)

    assert asyncio.run(story()) == ([1, 2, 3], False, True)


def test_a_holder_that_ignores_a_request_to_cancel_loses_its_lease_but_one_that_cancels_does_not(place, leases):
    async def story():
        database = place.open()
        requests, journal = CancelRequests(database), DatabaseJournal(database)
        await journal.append("r1", 0, [Opened(at=1.0), Said(text="hello", at=1.0)])
        held = await leases.take("r1", "worker", 600)
        tokens = [await leases.take_to_cancel("r1", "a", 600, 1.0)]  # no request
        await requests.add("r1")
        tokens += [await leases.take_to_cancel("r1", "a", 600, 60.0)]  # one that isn't old enough
        assert await requests.overdue(60.0) == []
        place.execute("UPDATE cancel_requests SET at = at - ?", 3600)
        assert await requests.overdue(60.0) == ["r1"]
        tokens += [await leases.take_to_cancel("r1", "a", 600, 60.0), await leases.take_to_cancel("r1", "b", 600, 60.0)]
        over(place)
        tokens += [await leases.take_to_cancel("r1", "b", 600, 60.0)]
        with pytest.raises(RunTaken):
            await FencedJournal(journal, held).append("r1", 2, [Said(text="late", at=2.0)])
        return [token and (token.holder, token.token) for token in tokens]

    assert asyncio.run(story()) == [None, None, ("cancel-a", 2), None, ("cancel-b", 3)]


def test_a_renewed_lease_lasts_from_then_on(place, leases):
    async def story():
        lease = await leases.take("r1", "me", 30)
        over(place)
        assert await leases.list_expired() == ["r1"]
        assert await leases.renew(lease)
        return await leases.list_expired(), await leases.take("r1", "them", 30)

    assert asyncio.run(story()) == ([], None)


def test_those_that_are_over_are_told_the_longest_first_without_what_was_given_up(place, leases):
    async def story():
        taken = {run_id: await leases.take(run_id, "me", 30) for run_id in ("r1", "r2", "r3", "r4")}
        for run_id in ("r2", "r1", "r3", "r1"):
            over(place, run_id)
        await leases.give_up(taken["r3"])
        return await leases.list_expired(), await leases.renew(taken["r3"])

    assert asyncio.run(story()) == (["r1", "r2"], False)


def test_giving_up_what_somebody_else_has_taken_does_nothing(place, leases):
    async def story():
        mine = await leases.take("r1", "me", 30)
        over(place)
        theirs = await leases.take("r1", "them", 30)
        await leases.give_up(mine)
        return await leases.renew(theirs)

    assert asyncio.run(story())


def test_of_many_who_take_a_run_at_once_one_has_it(place):
    async def story():
        every = [Leases(place.open()) for _ in range(6)]
        return await asyncio.gather(*[each.take("r1", f"worker {number}", 30) for number, each in enumerate(every)])

    assert sum(1 for lease in asyncio.run(story()) if lease is not None) == 1


def test_time_is_the_databases(place, leases):
    async def story():
        await leases.take("r1", "me", 0.05)
        while not await leases.list_expired():  # noqa: ASYNC110 - time passes in the database
            await asyncio.sleep(0.01)
        return await leases.take("r1", "them", 30)

    assert asyncio.run(story()).token == 2


# writing under a lease


def test_whoever_has_lost_a_lease_writes_nothing(place, leases):
    async def story():
        journal = DatabaseJournal(place.open())
        mine = FencedJournal(journal, await leases.take("r1", "me", 30))
        await mine.append("r1", 0, [Opened()])
        await mine.append("r1.c1", 0, [Opened(parent="r1")])
        over(place)
        await mine.append("r1", 1, [Said(text="nobody has taken it yet")])
        theirs = FencedJournal(journal, await leases.take("r1", "them", 30))
        for run_id, position in (("r1", 2), ("r1.c1", 1), ("r1.c2", 0)):
            with pytest.raises(RunTaken, match="Another worker carries run r1 on by now, since me was silent"):
                await mine.append(run_id, position, [Said(text="mine")])
        await theirs.append("r1", 2, [Said(text="theirs")])
        return [entry.text for entry in (await mine.read("r1"))[1:]]

    assert asyncio.run(story()) == ["nobody has taken it yet", "theirs"]


def test_whoever_has_given_a_lease_up_writes_nothing(leases, database):
    async def story():
        mine = FencedJournal(DatabaseJournal(database), await leases.take("r1", "me", 30))
        await leases.give_up(mine.lease)
        with pytest.raises(RunTaken):
            await mine.append("r1", 0, [Opened()])

    asyncio.run(story())


def test_writes_under_different_leases_are_never_one_write(leases, database):
    async def story():
        journal = DatabaseJournal(database)
        mine = FencedJournal(journal, await leases.take("r1", "me", 30))
        lost = FencedJournal(journal, Lease("r1", "me", 0, 30))
        first = mine.append("r1", 0, [Opened()])
        assert mine.append("r1", 1, [Said(text="a")]) is first
        with pytest.raises(RunTaken):
            await lost.append("r1", 2, [Said(text="b")])
        await journal.append("r1", 2, [Said(text="without a lease")])
        return len(await journal.read("r1"))

    assert asyncio.run(story()) == 3


def test_a_lease_cannot_be_taken_while_a_write_under_it_is_under_way(place):
    """Else the next worker would read the run before that write, and go on from the wrong place."""

    async def story():
        mine, database = Leases(place.open()), place.open()
        lease = await mine.take("r1", "me", 30)
        over(place)
        taking = []

        def meanwhile(connection):
            taking.append(asyncio.run_coroutine_threadsafe(Leases(place.open()).take("r1", "them", 30), loop))
            return bool(wait(taking, timeout=0.5).done)

        loop = asyncio.get_running_loop()
        write = DatabaseJournal(database).append_with_lease(lease, "r1", 0, [Opened()])
        assert not await database.submit(meanwhile)
        await write
        return await asyncio.wrap_future(taking[0])

    assert asyncio.run(story()).token == 2


FROZEN = """
import asyncio, sys
from pathlib import Path
from treadle.core.entries import Opened, Said
from treadle.core.errors import RunTaken
from treadle.stores.journal import DatabaseJournal
from treadle.stores.leases import FencedJournal, Leases
from treadle.stores.postgres.database import PostgresDatabase
from treadle.stores.sqlite import SqliteDatabase
kind, where, schema = sys.argv[1:]
async def work():
    database = PostgresDatabase(where, schema) if kind == "postgres" else SqliteDatabase(Path(where))
    journal = FencedJournal(DatabaseJournal(database), await Leases(database).take("r1", "frozen", 0.3))
    await journal.append("r1", 0, [Opened(), Said(text="frozen")])
    print("under way", flush=True)
    sys.stdin.readline()
    await journal.append("r1", 2, [Said(text="frozen")])
try:
    asyncio.run(work())
except RunTaken as error:
    print(error, flush=True)
"""


def test_a_process_that_was_frozen_and_wakes_is_fenced_off(place):
    where = [place.kind, place.url or str(place.path), place.schema]
    worker = Forked(["-c", FROZEN, *where], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert worker.stdout.readline() == "under way\n"
    os.kill(worker.pid, signal.SIGSTOP)

    async def take_over():
        database = place.open()
        leases, journal = Leases(database), DatabaseJournal(database)
        while not await leases.list_expired():  # noqa: ASYNC110 - time passes in the database
            await asyncio.sleep(0.02)
        fenced = FencedJournal(journal, await leases.take("r1", "next", 30))
        assert len(await fenced.read("r1")) == 2
        os.kill(worker.pid, signal.SIGCONT)
        said = await asyncio.to_thread(worker.communicate, "go on\n", timeout=60)
        await fenced.append("r1", 2, [Said(text="next")])
        return said[0], await fenced.read("r1")

    try:
        said, entries = asyncio.run(take_over())
    finally:
        worker.kill()
        worker.wait()
    assert "Another worker carries run r1 on by now, since frozen was silent; nothing was written." in said
    assert [entry.text for entry in entries[1:]] == ["frozen", "next"]
