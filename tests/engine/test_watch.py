"""A slow watcher loses the oldest events and is told how many."""

import asyncio

from treadle.core.events import RunEnded, RunStarted, TextArrived
from treadle.engine.watch import Watch


def test_a_slow_watcher_misses_the_oldest_and_never_holds_anything_up():
    async def tale():
        watch = Watch(buffer=3)
        for number in range(9):
            watch(TextArrived(text=str(number)))
        watch(RunEnded(result=None))
        return [event async for event in watch], watch.missed

    events, missed = asyncio.run(tale())
    assert [getattr(event, "text", "end") for event in events] == ["7", "8", "end"]
    assert missed == 7


def test_a_watcher_waits_for_what_is_to_come():
    async def tale():
        watch = Watch()
        asyncio.get_running_loop().call_later(0.01, watch, TextArrived(text="a"))
        asyncio.get_running_loop().call_later(0.02, watch, RunEnded(result=None))
        return [event async for event in watch]

    assert len(asyncio.run(tale())) == 2


def test_the_end_of_a_run_inside_of_another_is_not_the_end():
    async def tale():
        watch = Watch()
        watch(RunStarted(run_id="a"))
        watch(RunEnded(run_id="a.b", result=None))
        watch(RunEnded(run_id="a", result=None))
        return [event.run_id async for event in watch]

    assert asyncio.run(tale()) == ["a", "a.b", "a"]
