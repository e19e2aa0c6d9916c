"""Requests that wait for a slot of the embedded model, and how many are ahead of each. Without a model."""

import asyncio

from treadle.core.requests import Progress
from treadle.models.llamacpp.slot_queue import SlotQueue


def test_each_request_is_told_how_many_are_ahead_of_it_whenever_that_changes():
    async def story():
        queue, told, gates = SlotQueue(), {}, {}

        async def send(name, slot):
            gates[name] = asyncio.Event()
            with queue.place(slot, told.setdefault(name, []).append):
                await gates[name].wait()

        tasks = []
        for name, slot in (("first", 0), ("second", 0), ("other slot", 1), ("third", 0)):
            tasks.append(asyncio.create_task(send(name, slot)))
            await asyncio.sleep(0)
        assert await after(told) == {"first": [], "second": [1], "other slot": [], "third": [2]}
        tasks[1].cancel()  # a request that is stopped leaves its place
        assert await after(told) == {"first": [], "second": [1], "other slot": [], "third": [2, 1]}
        gates["first"].set()
        assert await after(told) == {"first": [], "second": [1], "other slot": [], "third": [2, 1, 0]}
        for gate in gates.values():
            gate.set()
        await asyncio.gather(*tasks, return_exceptions=True)
        return told

    async def after(told):
        for _ in range(4):
            await asyncio.sleep(0)
        return {name: [progress.ahead for progress in reported] for name, reported in told.items()}

    assert asyncio.run(story())["third"][0] == Progress("waiting", ahead=2)


def test_a_request_of_a_loop_that_is_closed_is_counted_only():
    queue, told = SlotQueue(), []

    async def enter(report):
        place = queue.place(0, report)
        place.__enter__()
        return place

    first = asyncio.run(enter(None))
    asyncio.run(enter(told.append))
    first.__exit__(None, None, None)
    assert Progress("waiting", ahead=0) not in told
