"""Requests to cancel runs, as the process that executes the runs finds them. That they are durable is tested with workers."""

import asyncio
import logging

from treadle.core.errors import JournalError
from treadle.stores.cancellation import CancelWatch


class Requests:
    """Requests that change with each look; an error is raised."""

    def __init__(self, *looks):
        self.looks = list(looks)
        self.asked = []

    async def pending(self, run_ids):
        self.asked.append(set(run_ids))
        found = self.looks.pop(0) if self.looks else set()
        if isinstance(found, Exception):
            raise found
        return found


def test_a_run_is_cancelled_and_again_until_it_is_over_whatever_goes_wrong(caplog):
    async def story():
        tries, done = [], asyncio.Event()

        async def cancel():
            tries.append("r")
            if len(tries) == 1:
                raise ValueError("not now")
            done.set()

        requests = Requests(JournalError("away"), set(), {"r"}, {"r"}, {"r"}, {"other"})
        watch = CancelWatch(requests, seconds=0.001)
        async with asyncio.timeout(120), watch.watching("r", cancel), watch.watching("s", cancel):
            await done.wait()
        return requests.asked[0], watch._polling, watch._cancelling

    with caplog.at_level(logging.WARNING, logger="treadle"):
        assert asyncio.run(story()) == ({"r", "s"}, None, {})
    assert "Requests to cancel runs couldn't be looked at: away" in caplog.text
    assert "Run r couldn't be cancelled" in caplog.text


def test_a_run_that_is_over_while_it_is_cancelled_ends_the_cancelling():
    async def story():
        begun = asyncio.Event()

        async def cancel():
            begun.set()
            await asyncio.Event().wait()

        async with asyncio.timeout(120), CancelWatch(Requests({"r"}), seconds=0.001).watching("r", cancel):
            await begun.wait()
        return len(asyncio.all_tasks())

    assert asyncio.run(story()) == 1
