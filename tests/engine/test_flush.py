"""Calls that wait for the disk at the same time: each hears for itself the outcome of every write."""

import asyncio

import pytest

from treadle import Agent, allow, tool
from treadle.core.entries import Started
from treadle.core.errors import RunTaken
from treadle.errors import RunNotFound
from treadle.models.scripted import calls
from treadle.testing import Scripted

done: list[int] = []


@pytest.fixture(autouse=True)
def nothing_done():
    done.clear()


@tool
async def act(number: int) -> str:
    """Act."""
    done.append(number)
    return "acted"


class Ticket:
    """A write that is on the disk at once. Who waits for the second `Started` a second time is told that the run was taken."""

    def __init__(self, journal, entry):
        self._journal = journal
        self._starts = isinstance(entry, Started)

    def __await__(self):
        yield from asyncio.sleep(0).__await__()
        if self._starts:
            self._journal.waits += 1
            if self._journal.waits > 2:
                raise RunTaken("Another worker has it.")


class Journal:
    """Keeps nothing."""

    waits = 0

    def append(self, run_id, position, entries):
        return Ticket(self, entries[-1])

    async def read(self, run_id):
        raise RunNotFound(run_id)


def test_a_call_whose_start_another_call_has_waited_for_waits_for_it_too():
    agent = Agent(Scripted(calls(("act", {"number": 1}), ("act", {"number": 2})), "done"), tools=[act], policy=[allow("*")])
    journal = Journal()
    with pytest.raises(RunTaken):
        asyncio.run(agent.run("Act.", journal=journal))
    assert journal.waits > 2
    assert len(done) < 2
