"""Whoever was away while it waited for a write under a lease makes sure that the run is still its own."""

import asyncio
import time

import pytest

from treadle.core.entries import Opened, Said
from treadle.core.errors import RunTaken
from treadle.stores.journal import DatabaseJournal
from treadle.stores.leases import FencedJournal, Leases

LEASE = 0.3


async def frozen_after(database, ticket):
    """Everything stands still for longer than a lease, after the write and before its waiter goes on."""
    while True:
        rows = await database.submit(lambda connection: connection.execute("SELECT 1 FROM entries").fetchall())
        if rows:
            break
    time.sleep(1.1 * LEASE)  # noqa: ASYNC251 - that is what being frozen is
    return ticket


def test_one_whose_run_was_taken_meanwhile_is_refused_although_its_write_is_on_the_disk(database):
    async def story():
        leases, journal = Leases(database), DatabaseJournal(database)
        mine = FencedJournal(journal, await leases.take("r", "me", LEASE))
        ticket = await frozen_after(database, mine.append("r", 0, [Opened()]))
        theirs = await leases.take("r", "them", 30)
        await FencedJournal(journal, theirs).append("r", 1, [Said(text="mine now")])
        with pytest.raises(RunTaken, match="Another worker carries run r on"):
            await ticket
        return len(await journal.read("r"))

    assert asyncio.run(story()) == 2


def test_one_whose_run_nobody_took_goes_on(database):
    async def story():
        leases, journal = Leases(database), DatabaseJournal(database)
        mine = FencedJournal(journal, await leases.take("r", "me", LEASE))
        await (await frozen_after(database, mine.append("r", 0, [Opened()])))
        await mine.append("r", 1, [Said(text="still mine")])
        return len(await journal.read("r"))

    assert asyncio.run(story()) == 2


def test_entries_that_are_written_together_are_waited_for_together(database):
    async def story():
        leases = Leases(database)
        mine = FencedJournal(DatabaseJournal(database), await leases.take("r", "me", 30))
        first, second = mine.append("r", 0, [Opened()]), mine.append("r", 1, [Said(text="x")])
        await second
        return first is second

    assert asyncio.run(story())
