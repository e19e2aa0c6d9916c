"""Whoever is cancelled in the middle of an operation leaves no connection open, and nothing waits for ever."""

import asyncio
import gc
import inspect
import threading

import pytest

from treadle.assistants.guidance.store import Store, open_store
from treadle.assistants.guidance.store.errors import ProjectNotFound

MOMENTS = [number / 500 for number in range(16)]  # seconds after the start, spread over the time that opening and reading take


async def read_and_fail(address):
    async with await open_store(address) as store:
        await asyncio.gather(*(store.list_projects("ada") for _ in range(3)), store.get_project("ada", "nowhere"))


@pytest.fixture
def leaks(monkeypatch):
    """What the garbage collector finds open."""
    found = []
    monkeypatch.setattr("sys.unraisablehook", lambda unraisable: found.append(str(unraisable.exc_value)))
    return found


async def end_with_the_loop(task):
    """Leave the task to the loop's end, which cancels every task."""


async def cancel_once(task):
    task.cancel()


async def cancel_everything_again_and_again(task):
    for _ in range(5):
        for other in asyncio.all_tasks() - {asyncio.current_task()}:
            other.cancel()
        await asyncio.sleep(0.001)


@pytest.mark.parametrize("end", [end_with_the_loop, cancel_once, cancel_everything_again_and_again])
def test_every_connection_is_closed_whenever_the_caller_is_cancelled(end, address, leaks):
    async def main(moment):
        task = asyncio.ensure_future(read_and_fail(address))
        await asyncio.sleep(moment)
        await end(task)

    before = threading.active_count()
    for moment in MOMENTS:
        asyncio.run(main(moment))
        gc.collect()
        assert not leaks
    assert threading.active_count() == before


def test_a_store_is_closed_after_the_operations_under_way(address, leaks):
    async def main():
        store = await open_store(address)
        reading = [asyncio.ensure_future(store.list_projects("ada")) for _ in range(8)]
        await asyncio.sleep(0)
        await store.close()
        assert await asyncio.gather(*reading) == [[]] * 8

    asyncio.run(main())
    gc.collect()
    assert not leaks


def test_a_failure_reaches_the_caller(address):
    with pytest.raises(ProjectNotFound):
        asyncio.run(read_and_fail(address))


def test_every_operation_runs_to_completion():
    methods = [method for name, method in inspect.getmembers(Store, inspect.iscoroutinefunction) if not name.startswith("_")]
    assert len(methods) > 30
    others = [method.__name__ for method in methods if not hasattr(method, "__wrapped__")]
    assert others == ["close", "list_projects", "shared_stores"]  # what they call does
