"""Requests that wait for the embedded model: when each begins, and how many are ahead of it. Without a model."""

import asyncio
from collections.abc import Coroutine
from typing import Any

import pytest

from treadle.core.requests import Progress
from treadle.models.llamacpp.slot_queue import SlotQueue


class Requests:
    """Requests by name: which of them are served, and what was reported to each."""

    def __init__(self, window: int = 1000) -> None:
        self.queue = SlotQueue(window)
        self.told: dict[str, list[int]] = {}
        self.served: list[str] = []
        self._tasks: dict[str, asyncio.Task[None]] = {}
        self._gates: dict[str, asyncio.Event] = {}

    async def send(self, name: str, slot: int, tokens: int = 10) -> None:
        self._gates[name] = asyncio.Event()
        self._tasks[name] = asyncio.create_task(self._hold(name, slot, tokens))
        await _settle()

    async def _hold(self, name: str, slot: int, tokens: int) -> None:
        reported = self.told.setdefault(name, [])
        async with self.queue.place(slot, tokens, lambda progress: reported.append(progress.ahead)):
            self.served.append(name)
            await self._gates[name].wait()

    async def end(self, *names: str) -> None:
        for name in names:
            self._gates[name].set()
        await _settle()

    async def stop(self, name: str) -> None:
        self._tasks[name].cancel()
        await _settle()


async def _settle() -> None:
    for _ in range(6):
        await asyncio.sleep(0)


def run(story: Coroutine[Any, Any, None]) -> None:
    asyncio.run(asyncio.wait_for(story, 5))


def test_requests_to_a_slot_are_served_one_after_the_other_and_told_how_many_are_ahead() -> None:
    async def story() -> None:
        requests = Requests()
        for name, slot in (("first", 0), ("second", 0), ("other slot", 1), ("third", 0)):
            await requests.send(name, slot)
        assert requests.served == ["first", "other slot"]
        assert requests.told == {"first": [], "second": [1], "other slot": [], "third": [2]}
        await requests.stop("second")  # a request that is stopped leaves its place
        assert requests.told["third"] == [2, 1]
        await requests.end("first")
        assert (requests.served, requests.told["third"]) == (["first", "other slot", "third"], [2, 1, 0])
        await requests.end("other slot", "third")

    run(story())


def test_requests_that_do_not_fit_into_the_window_together_wait_for_each_other() -> None:
    async def story() -> None:
        requests = Requests(window=1000)
        for name, slot, tokens in (("a", 0, 400), ("b", 1, 600), ("large", 2, 900), ("small", 3, 10)):
            await requests.send(name, slot, tokens)
        assert requests.served == ["a", "b"]
        assert requests.told == {"a": [], "b": [], "large": [2], "small": [3]}  # a small one doesn't overtake a large one
        await requests.end("a")
        assert requests.served == ["a", "b"]
        await requests.end("b")
        assert requests.served == ["a", "b", "large", "small"]
        await requests.end("large", "small")

    run(story())


def test_a_request_that_is_too_large_is_served_alone() -> None:
    async def story() -> None:
        requests = Requests(window=1000)
        for name, slot, tokens in (("a", 0, 10), ("huge", 1, 5000), ("b", 2, 10)):
            await requests.send(name, slot, tokens)
        await requests.end("a")
        assert requests.served == ["a", "huge"]
        await requests.end("huge")
        assert requests.served == ["a", "huge", "b"]
        await requests.end("b")

    run(story())


def test_a_request_that_has_ended_keeps_no_place() -> None:
    async def story() -> None:
        queue = SlotQueue(1000)
        async with queue.place(0, 900) as leave:
            leave()
            async with queue.place(0, 900):  # by the reader of the first one
                pass
            leave()

    run(story())


def test_a_request_of_a_loop_that_is_closed_holds_no_one_up() -> None:
    queue, told = SlotQueue(1000), list[Progress]()

    async def enter() -> object:
        place = queue.place(0, 900, told.append)
        await place.__aenter__()
        return place

    loop = asyncio.new_event_loop()
    kept = loop.run_until_complete(enter())  # it is never left
    loop.close()

    async def story() -> None:
        async with queue.place(0, 900):
            pass

    run(story())
    assert (kept is not None, told) == (True, [])


@pytest.mark.parametrize("when", ["waiting", "served"])
def test_a_request_that_is_cancelled_lets_the_next_one_begin(when: str) -> None:
    async def story() -> None:
        requests = Requests(window=100)
        for name in ("a", "b", "c"):
            await requests.send(name, {"a": 0, "b": 1, "c": 2}[name], 90)
        await requests.stop("b" if when == "waiting" else "a")
        await requests.end("a")
        assert requests.served[-1] == ("c" if when == "waiting" else "b")
        await requests.end("b", "c")

    run(story())
