"""Schedules: each due run is begun once, by whoever is first."""

import asyncio

import pytest

from treadle.core.entries import Opened
from treadle.core.errors import RunTaken
from treadle.stores.queue import QueuePosition, RunQueue
from treadle.stores.schedules import Schedule, Schedules

DAILY = Schedule("daily", "0 7 * * *", "UTC", '{"message": "hello\\u0000"}', 100.0)


def schedules_in(database):
    return Schedules(database, RunQueue(database))


def test_they_are_kept_under_their_names_until_they_are_removed(database):
    async def story():
        schedules = schedules_in(database)
        added = [await schedules.add(each) for each in (DAILY, DAILY, Schedule("first", "* * * * *", "UTC", "{}", 5.0))]
        listed = await schedules.all()
        removed = [await schedules.remove("first"), await schedules.remove("first")]
        return added, listed, removed, await schedules.all()

    added, listed, removed, left = asyncio.run(story())
    assert added == [True, False, True]
    assert [each.name for each in listed] == ["first", "daily"]
    assert removed == [True, False]
    assert left == [DAILY]


def test_those_whose_time_has_come_are_due(database):
    async def story():
        schedules = schedules_in(database)
        await schedules.add(DAILY)
        await schedules.add(Schedule("later", "0 7 * * *", "UTC", "{}", 4e9))
        return await schedules.due()

    due, now = asyncio.run(story())
    assert due == [DAILY]
    assert 1.7e9 < now < 4e9


def test_of_many_who_begin_a_due_run_one_does(place):
    async def story():
        every = [schedules_in(place.open()) for _ in range(4)]
        await every[0].add(DAILY)
        begun = await asyncio.gather(*[each.begin(DAILY, 200.0, QueuePosition("daily-1"), [Opened()]) for each in every])
        begun += [await every[0].begin(DAILY, 200.0, QueuePosition("daily-1"), [Opened()])]
        return begun, await every[0].all(), await RunQueue(place.one).size()

    begun, (schedule,), size = asyncio.run(story())
    assert sorted(begun) == [False, False, False, False, True]
    assert schedule.at == 200.0
    assert size == (1, 0)


def test_a_run_that_was_begun_before_is_not_begun_again_and_the_schedule_goes_on(database):
    async def story():
        schedules = schedules_in(database)
        await schedules.add(DAILY)
        await schedules.begin(DAILY, 200.0, QueuePosition("daily-1"), [Opened()])
        await schedules.remove("daily")
        await schedules.add(DAILY)
        with pytest.raises(RunTaken):
            await schedules.begin(DAILY, 200.0, QueuePosition("daily-1"), [Opened()])
        return await schedules.all()

    assert asyncio.run(story())[0].at == 200.0
