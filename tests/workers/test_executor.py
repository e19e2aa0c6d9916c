"""One run carried on under a lease, in this process: to its end, or to where somebody else has it."""

import asyncio

import pytest

from treadle.core.calls import Deny
from treadle.core.entries import Finished, Judged, Noted, Opened, Resumed
from treadle.core.errors import JournalError
from treadle.home import close_home, open_home
from treadle.stores.queue import DispatchedRun, QueuePosition, RunQueue
from treadle.workers import executor as module
from treadle.workers.dispatcher import WorkerOptions
from treadle.workers.executor import MAX_ATTEMPTS, AdvanceResult, advance_run, count_futile_attempts
from treadle.workers.run_spec import RunSpec, WorkerModels, opening_entries
from treadle.workers.worker import Worker
from working import installed


@pytest.fixture
def home(tmp_path, monkeypatch):
    (tmp_path / "done").touch()
    monkeypatch.setenv("STEPS_DONE", str(tmp_path / "done"))
    monkeypatch.syspath_prepend(str(installed(tmp_path / "packages")))
    home = open_home(tmp_path / "data")
    yield home
    close_home(home)


async def begun(home, message="hello", assistant="steps", more=()):
    entries = [*opening_entries(RunSpec(assistant, "stepping:a"), message, "anna"), *more]
    await RunQueue(home.database).open(QueuePosition("r1"), entries)
    return await home.leases.take("r1", "me", 30)


def test_a_run_is_carried_to_its_end_and_one_that_is_over_stays_as_it_is(home):
    async def story():
        lease = await begun(home)
        first = await advance_run(home, lease, WorkerModels())
        entries = await home.journal.read("r1")
        again = await advance_run(home, lease, WorkerModels())
        return first, again, entries == await home.journal.read("r1")

    assert asyncio.run(story()) == (AdvanceResult("answered"), AdvanceResult("answered"), True)


def test_a_run_that_nobody_attends_denies_what_would_be_asked(home):
    async def story():
        order = RunSpec("steps", "stepping:a", attended=False)
        await RunQueue(home.database).open(QueuePosition("r1"), opening_entries(order, "buy it", "anna"))
        done = await advance_run(home, await home.leases.take("r1", "me", 30), WorkerModels())
        return done, [entry.verdict for entry in await home.journal.read("r1") if isinstance(entry, Judged)]

    done, (verdict,) = asyncio.run(story())
    assert done == AdvanceResult("answered")
    assert isinstance(verdict, Deny)


def test_a_run_that_ends_its_workers_is_not_taken_up_for_ever(home):
    async def story():
        lease = await begun(home, more=[Resumed()] * MAX_ATTEMPTS)
        done = await advance_run(home, lease, WorkerModels())
        return done, (await home.journal.read("r1"))[-1]

    done, last = asyncio.run(story())
    assert done == AdvanceResult("failed", "It was taken up 5 times without coming any further.", stalled=True)
    assert isinstance(last, Finished)
    assert last.stopped == "failed"


def test_only_tries_since_anything_happened_were_in_vain():
    assert count_futile_attempts([Opened(), Resumed(), Noted(text=""), Resumed(), Resumed()]) == 2
    assert count_futile_attempts([]) == 0


def test_a_run_whose_lease_was_taken_writes_nothing_more(home):
    async def story():
        lease = await begun(home, "1 steps of 30 s")
        carrying = asyncio.ensure_future(advance_run(home, lease, WorkerModels()))
        while len(await home.journal.read("r1")) < 5:  # noqa: ASYNC110 - written by another task
            await asyncio.sleep(0.02)
        await home.leases.give_up(lease)
        taken = await home.leases.take("r1", "another", 30)
        carrying.cancel()
        with pytest.raises(asyncio.CancelledError):
            await carrying
        before = await home.journal.read("r1")
        fenced = await advance_run(home, lease, WorkerModels())
        return taken.token, fenced, before == await home.journal.read("r1")

    token, fenced, same = asyncio.run(story())
    assert token == 2
    assert fenced.outcome == "fenced"
    assert "Another worker carries run r1 on by now, since me was silent" in fenced.why
    assert same


def test_whoever_has_lost_its_lease_stops_although_it_writes_nothing(home):
    async def story():
        await RunQueue(home.database).open(
            QueuePosition("r1"), opening_entries(RunSpec("steps", "stepping:a"), "1 steps of 150 s", "")
        )
        lease = await home.leases.take("r1", "me", 0.6)
        carrying = asyncio.ensure_future(advance_run(home, lease, WorkerModels()))
        while len(await home.journal.read("r1")) < 5:  # noqa: ASYNC110 - written by another task
            await asyncio.sleep(0.02)
        await home.leases.give_up(lease)
        return await asyncio.wait_for(carrying, 120)

    done = asyncio.run(story())
    assert done == AdvanceResult("fenced", module._LOST_LEASE)


def test_a_run_whose_journal_cannot_be_used_is_left_for_later(home):
    async def story():
        lease = await home.leases.take("nothing", "me", 30)
        return await advance_run(home, lease, WorkerModels())

    assert asyncio.run(story()).outcome == "left"


def test_a_failure_is_not_written_down_by_whoever_has_lost_the_run(home):
    async def story():
        lease = await begun(home, assistant="closed")
        await home.leases.give_up(lease)
        return await advance_run(home, lease, WorkerModels()), len(await home.journal.read("r1"))

    done, entries = asyncio.run(story())
    assert (done.outcome, entries) == ("fenced", 2)


def test_a_lease_is_kept_although_the_database_is_away_for_a_while(caplog):
    class Troubled:
        def __init__(self):
            self.answers = [True, JournalError("away"), True, False]

        async def renew(self, lease):
            answer = self.answers.pop(0)
            if isinstance(answer, JournalError):
                raise answer
            return answer

    leases = Troubled()
    asyncio.run(module._renew_lease(leases, module.Lease("r1", "me", 1, 0.03)))
    assert leases.answers == []
    assert "The lease on run r1 couldn't be renewed: away" in caplog.text


# a worker's bookkeeping around it


class Once:
    """Hands one run over, and is done."""

    def __init__(self, sent, left):
        self.sent = sent
        self.left = left

    async def work(self, carry, stop, hurry=None):
        await carry(self.sent, left=self.left)


def worked(home, said, sent, *, left=False):
    return Worker(home, WorkerOptions(1, 5.0), said.append, Once(sent, left)).work(asyncio.Event())


def test_a_run_that_somebody_else_has_is_left_to_them_and_counts_as_under_way(home):
    async def story():
        await begun(home)
        queue, said = RunQueue(home.database), []
        (sent,) = await queue.admit(WorkerOptions().ceilings, 1)
        await worked(home, said, sent)
        return said, await queue.size()

    assert asyncio.run(story()) == ([], (0, 1))


def test_a_turn_that_comes_after_a_newer_one_was_sent_is_not_carried_out(home):
    async def story():
        await home.leases.give_up(await begun(home))
        queue, said = RunQueue(home.database), []
        (late,) = await queue.admit(WorkerOptions().ceilings, 1)
        newer = await queue.send_again(late)
        await worked(home, said, late)
        before = len(await home.journal.read("r1")), await queue.size()
        await worked(home, said, newer)
        return before, [line.partition(" (")[0] for line in said], await queue.size()

    assert asyncio.run(story()) == ((2, (0, 1)), ["r1 answered"], (0, 0))


def test_a_run_that_was_left_behind_is_taken_over_in_another_turn_by_whoever_is_first(home):
    async def story():
        lease = await begun(home)
        queue, said = RunQueue(home.database), []
        (left,) = await queue.admit(WorkerOptions().ceilings, 1)
        await worked(home, said, left, left=True)
        assert said == []  # somebody has it by now
        await home.leases.give_up(lease)
        newer = await queue.send_again(left)
        await worked(home, said, left, left=True)
        assert (said, await queue.size()) == ([], (0, 1))  # and now a newer turn of it
        assert await home.leases.list_expired() == []
        await worked(home, said, newer, left=True)
        return [line.partition(" (")[0] for line in said], await queue.size()

    assert asyncio.run(story()) == (["r1 answered"], (0, 0))


def test_a_run_that_is_not_there_is_left_for_later_and_said(home):
    async def story():
        queue, said = RunQueue(home.database), []
        await queue.add(QueuePosition("nothing"))
        (sent,) = await queue.admit(WorkerOptions().ceilings, 1)
        await worked(home, said, sent)
        return said, await queue.size()

    (line,), size = asyncio.run(story())
    assert line.startswith("nothing left for later: There is no run nothing here.")
    assert size == (1, 0)


def test_trouble_with_the_database_ends_no_worker(home, caplog):
    async def story():
        def broken(connection):
            connection.execute("DROP TABLE leases")
            connection.execute("DROP TABLE schedules")

        await home.database.submit(broken)
        await worked(home, [], DispatchedRun("r1", 1))

    asyncio.run(story())
    assert "Run r1 is left until its lease is over" in caplog.text
    assert "Schedules couldn't be looked at" in caplog.text
