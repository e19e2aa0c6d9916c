"""The queue: who is next, how many at once over all machines, and what was left behind."""

import asyncio
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from treadle.core.entries import Opened, Said
from treadle.core.errors import RunTaken
from treadle.stores.journal import DatabaseJournal
from treadle.stores.leases import Leases
from treadle.stores.queue import CeilingUsage, QueuePosition, RunCeilings, RunQueue, select_allowed

FREE = RunCeilings()


@pytest.fixture
def queue(database):
    return RunQueue(database)


def names(sent):
    return [each.run_id for each in sent]


def passes(place, seconds, table="queue", column="sent_at"):
    """Time goes by: it is the database's, so that no clock of ours can make it."""
    place.execute(f"UPDATE {table} SET {column} = {column} - {seconds}")


def test_runs_begin_in_the_order_they_came_and_once(queue):
    async def story():
        for run_id in ("r2", "r1", "r3"):
            await queue.add(QueuePosition(run_id))
        return [names(await queue.admit(FREE, most)) for most in (2, 0, 2, 2)]

    assert asyncio.run(story()) == [["r2", "r1"], [], ["r3"], []]


def test_a_waiting_run_knows_how_many_begin_before_it(queue, database):
    async def story():
        for place in (
            QueuePosition("r1"),
            QueuePosition("r2"),
            QueuePosition("urgent", priority=5),
            QueuePosition("other", queue="gpu"),
            QueuePosition("later", at=4e9),
        ):
            await queue.add(place)
        before = {name: await queue.find(name) for name in ("r1", "r2", "urgent", "other", "later", "none")}
        await queue.admit(FREE, 1)
        return before, [await queue.find(name) for name in ("urgent", "r2")]

    before, (sent, left) = asyncio.run(story())
    assert {name: found and found.ahead for name, found in before.items()} == {
        "r1": 1,
        "r2": 2,
        "urgent": 0,
        "other": 0,
        "later": 3,
        "none": None,
    }
    assert (before["other"].queue, before["later"].at) == ("gpu", 4e9)
    assert sent is None
    assert left.ahead == 1


def test_a_run_is_written_down_and_queued_or_neither(queue, database):
    async def story():
        await queue.open(QueuePosition("r1", "anna"), [Opened(user="anna"), Said(text="hello")])
        with pytest.raises(RunTaken):
            await queue.open(QueuePosition("r1", "eve"), [Opened(user="eve")])
        return await queue.size(), [type(entry) for entry in await DatabaseJournal(database).read("r1")]

    assert asyncio.run(story()) == ((1, 0), [Opened, Said])


def test_a_run_does_not_begin_before_its_time(queue, place):
    async def begun():
        return names(await queue.admit(FREE, 5))

    async def story():
        await queue.add(QueuePosition("later", at=4e9))
        await queue.add(QueuePosition("now"))

    asyncio.run(story())
    assert asyncio.run(begun()) == ["now"]
    place.execute("UPDATE queue SET at = 0")
    assert asyncio.run(begun()) == ["later"]


def test_ceilings_hold_over_all_that_share_a_database_and_others_overtake(place):
    async def story():
        one, other = RunQueue(place.open()), RunQueue(place.open())
        for number in range(3):
            await one.add(QueuePosition(f"a{number}", "anna", "small"))
        await one.add(QueuePosition("b0", "ben", "small"))
        await one.add(QueuePosition("c0", "carl", "large"))
        first = await one.admit(RunCeilings(per_user=2, per_model=2), 9)
        second = await other.admit(RunCeilings(per_user=2, per_model=3), 9)
        await one.over(first[0])
        third = await other.admit(RunCeilings(per_user=2, per_model=3), 9)
        return [[sent.run_id for sent in each] for each in (first, second, third)]

    assert asyncio.run(story()) == [["a0", "a1", "c0"], ["b0"], ["a2"]]


def test_so_many_begin_in_a_minute_for_a_user(queue, place):
    ceilings = RunCeilings(per_minute=2)

    async def story(*run_ids):
        for run_id in run_ids:
            await queue.add(QueuePosition(run_id, run_id[0]))
        begun = await queue.admit(ceilings, 9)
        for sent in begun:
            await queue.over(sent)
        return [sent.run_id for sent in begun]

    assert asyncio.run(story("a1", "a2", "a3", "b1")) == ["a1", "a2", "b1"]
    assert asyncio.run(story()) == []
    passes(place, 61, "queue_begun", "at")
    assert asyncio.run(story()) == ["a3"]


def test_of_many_who_admit_at_once_one_has_each_run(place):
    async def story():
        every = [RunQueue(place.open()) for _ in range(4)]
        for number in range(12):
            await every[0].add(QueuePosition(f"r{number}"))
        begun = []
        while len(begun) < 12:
            for found in await asyncio.gather(*[each.admit(FREE, 3) for each in every]):
                begun += found
        return Counter(begun)

    assert set(asyncio.run(story()).values()) == {1}


def test_what_was_sent_and_has_no_living_lease_was_left_behind(queue, place, database):
    async def story():
        for run_id in ("dead", "alive", "never", "fresh"):
            await queue.add(QueuePosition(run_id))
        await queue.admit(FREE, 3)
        leases = Leases(database)
        await leases.take("dead", "w1", 30)
        await leases.take("alive", "w2", 30)

    async def left():
        await queue.admit(FREE, 1)
        return [sent.run_id for sent in await queue.stale(10)]

    asyncio.run(story())
    place.execute("UPDATE queue SET sent_at = sent_at - 20 WHERE run_id <> 'never'")
    place.execute("UPDATE leases SET until = until - 60 WHERE run_id = 'dead'")
    assert asyncio.run(left()) == ["dead"]
    place.execute("UPDATE queue SET sent_at = sent_at - 20 WHERE run_id = 'never'")
    assert asyncio.run(left()) == ["dead", "never"]


def test_runs_of_workers_that_died_are_not_hidden_behind_those_that_wait_for_room(queue, place, database):
    async def story():
        for run_id in ("waits 1", "waits 2", "died"):
            await queue.add(QueuePosition(run_id))
        await queue.admit(FREE, 3)
        await Leases(database).take("died", "w1", 30)

    async def left():
        return [sent.run_id for sent in await queue.stale(10, 2)]

    asyncio.run(story())
    place.execute("UPDATE queue SET sent_at = sent_at - 60 WHERE run_id <> 'died'")
    place.execute("UPDATE queue SET sent_at = sent_at - 20 WHERE run_id = 'died'")
    place.execute("UPDATE leases SET until = until - 60")
    assert asyncio.run(left()) == ["died", "waits 1"]


def test_a_run_is_sent_again_by_one_and_whoever_had_it_before_changes_nothing(queue):
    async def story():
        await queue.add(QueuePosition("r1"))
        (first,) = await queue.admit(FREE, 1)
        again = await queue.send_again(first)
        assert await queue.send_again(first) is None
        await queue.over(first)
        await queue.put_back(first)
        before = await queue.size()
        await queue.over(again)
        assert again.turn > first.turn
        return again.run_id, before, await queue.size()

    assert asyncio.run(story()) == ("r1", (0, 1), (0, 0))


def test_what_is_put_back_begins_again_after_a_while(queue, place):
    async def story():
        await queue.add(QueuePosition("r1"))
        (sent,) = await queue.admit(FREE, 1)
        await queue.put_back(sent)
        (sent,) = await queue.admit(FREE, 1)
        await queue.put_back(sent, 60)
        return await queue.admit(FREE, 1)

    async def begun():
        return names(await queue.admit(FREE, 1))

    assert asyncio.run(story()) == []
    place.execute("UPDATE queue SET at = at - 61")
    assert asyncio.run(begun()) == ["r1"]


def test_a_run_that_is_queued_again_while_it_is_under_way_has_another_turn(queue):
    async def story():
        await queue.add(QueuePosition("r1"))
        (sent,) = await queue.admit(FREE, 1)
        await queue.add(QueuePosition("r1"))
        assert await queue.admit(FREE, 1) == []
        await queue.over(sent)
        (again,) = await queue.admit(FREE, 1)
        await queue.over(again)
        return again.turn > sent.turn, await queue.size()

    assert asyncio.run(story()) == (True, (0, 0))


def test_a_turn_of_a_run_that_left_the_queue_and_came_back_is_another_one(queue):
    async def story():
        turns = []
        for _ in range(2):
            await queue.add(QueuePosition("r1"))
            turns += await queue.admit(FREE, 1)
            await queue.over(turns[-1])
        await queue.add(QueuePosition("r1"))
        await queue.admit(FREE, 1)
        await queue.over(turns[0])  # whoever was frozen since then
        return turns[0].turn != turns[1].turn, await queue.size()

    assert asyncio.run(story()) == (True, (0, 1))


def test_thousands_of_one_user_do_not_hide_the_others(queue, place):
    async def story():
        await queue.add(QueuePosition("a", "anna"))
        await queue.admit(FREE, 1)
        for number in range(300):
            queue._database.submit(lambda connection, number=number: queue._put(connection, QueuePosition(f"a{number}", "anna")))
        await queue.add(QueuePosition("b", "ben"))
        return names(await queue.admit(RunCeilings(per_user=1), 9))

    assert asyncio.run(story()) == ["b"]


NAMES = st.sampled_from(["a", "b", "c"])
SOME = st.none() | st.integers(1, 3)
COUNTS = st.dictionaries(NAMES, st.integers(0, 3)).map(Counter)


@given(
    st.lists(st.builds(QueuePosition, st.uuids().map(str), NAMES, NAMES), max_size=12),
    st.builds(CeilingUsage, COUNTS, COUNTS, COUNTS),
    st.builds(RunCeilings, SOME, SOME, SOME),
    st.integers(0, 5),
)
def test_no_more_are_allowed_than_ceilings_leave_and_nobody_waits_for_nothing(places, taken, ceilings, most):
    chosen = select_allowed(places, taken, ceilings, most)
    assert [place for place in places if place in chosen] == chosen
    assert len(chosen) <= most
    users = taken.users + Counter([place.user for place in chosen])
    models = taken.models + Counter([place.model for place in chosen])
    minute = taken.minute + Counter([place.user for place in chosen])

    def is_full(place):
        counts = ((users[place.user], ceilings.per_user), (models[place.model], ceilings.per_model))
        return any(top is not None and count >= top for count, top in (*counts, (minute[place.user], ceilings.per_minute)))

    for place in chosen:
        assert ceilings.per_user is None or users[place.user] <= ceilings.per_user
        assert ceilings.per_model is None or models[place.model] <= ceilings.per_model
        assert ceilings.per_minute is None or minute[place.user] <= ceilings.per_minute
    if len(chosen) < most:
        assert all(is_full(place) for place in places if place not in chosen)
