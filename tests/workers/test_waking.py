"""Runs of workers that wait: each is queued once when it is due, by any of the workers."""

import asyncio

import pytest

from treadle.core.calls import Wait, Written
from treadle.core.entries import Awaited, Finished, Opened, Replied, Said
from treadle.home import close_home, open_home
from treadle.stores.queue import RunQueue
from treadle.workers.run_spec import RunSpec, opening_entries
from treadle.workers.worker import DueRuns


@pytest.fixture
def home(tmp_path):
    opened = open_home(tmp_path / "home")
    yield opened
    close_home(opened)


def waiting(first, until):
    written = Written("c1", "watch", "{}")
    return [*first, Replied(parts=(written,)), Awaited(call_id="c1", wait=Wait(until)), Finished(stopped="waiting", asleep=True)]


def test_each_is_queued_once_and_those_of_programs_are_left_alone(home):
    order = RunSpec("steps", "stepping:a")

    async def story():
        await home.journal.append("due", 0, waiting(opening_entries(order, "Go.", "anna"), 5.0))
        await home.journal.append("later", 0, waiting(opening_entries(order, "Go.", "anna"), 4e9))
        await home.journal.append("program", 0, waiting([Opened(agent="mine"), Said(text="Go.")], 4.0))
        queue = RunQueue(home.database)
        workers = [DueRuns(home, queue) for _ in range(2)]
        queued = await asyncio.gather(*[worker.queue_due_runs() for worker in workers])
        again = await workers[0].queue_due_runs()
        return queued, again, await queue.size(), await workers[0].seconds_to_next(1.0)

    queued, again, size, seconds = asyncio.run(story())
    assert sorted(map(tuple, queued)) == [(), ("due",)]
    assert (again, size, seconds) == ([], (1, 0), 1.0)
