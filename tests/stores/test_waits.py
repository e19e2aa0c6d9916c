"""The rows of calls that wait follow from the journal's entries, and are found by time and by event."""

import asyncio

from treadle.core.calls import Delivery, Result, Wait, Written
from treadle.core.entries import Awaited, Finished, Opened, Replied, Resumed, Returned, Said, Woken
from treadle.stores.journal import DatabaseJournal, JournalQuery
from treadle.stores.waits import DatabaseWaits

SECRET = "postgres://ann:correct-horse-battery@db.example/shop"


def waiting(*waits, agent="shop", parent="", asleep=True):
    calls = [Written(f"c{number}", "watch", "{}") for number in range(len(waits))]
    awaited = [Awaited(call_id=call.id, wait=wait) for call, wait in zip(calls, waits, strict=True)]
    opened = Opened(agent=agent, user="ann", parent=parent)
    return [opened, Said(text="Go."), Replied(parts=tuple(calls)), *awaited, Finished(stopped="waiting", asleep=asleep)]


def test_what_is_due_comes_in_order_of_an_agent_and_after_a_time(database):
    async def story():
        journal, waits = DatabaseJournal(database), DatabaseWaits(database)
        assert (await waits.due(50.0), await waits.next_due(0.0), await waits.waiting()) == ([], None, [])
        await journal.append("b", 0, waiting(Wait(20.0), Wait(30.0)))
        await journal.append("a", 0, waiting(Wait(10.0), agent="other"))
        await journal.append("c", 0, waiting(Wait(60.0), Wait(None, "paid")))
        await journal.append("open", 0, waiting(Wait(5.0))[:-1])
        return [
            [(run.run_id, run.due, run.user) for run in await waits.due(50.0)],
            [run.run_id for run in await waits.due(50.0, agent="shop")],
            [run.run_id for run in await waits.due(50.0, after=15.0)],
            [run.run_id for run in await waits.due(50.0, 1)],
            await waits.next_due(30.0),
            [(call.run_id, call.call_id) for call in await waits.waiting()],
        ]

    due, of_agent, after, first, following, calls = asyncio.run(story())
    assert due == [("a", 10.0, "ann"), ("b", 20.0, "ann")]
    assert (of_agent, after, first, following) == (["b"], ["b"], ["a"], 60.0)
    assert calls == [("open", "c0"), ("a", "c0"), ("b", "c0"), ("b", "c1"), ("c", "c0"), ("c", "c1")]


def test_an_event_comes_once_for_each_call_that_waits_and_its_run_is_due(place):
    value = {"key": SECRET if place.kind == "sqlite" else "7"}  # the key of a database without a folder would have to be set

    async def story():
        database, other = place.open(), place.open()
        journal, waits = DatabaseJournal(database), DatabaseWaits(other)
        for run_id, key in (("a", "7"), ("b", "7"), ("c", "8"), ("a.c0", "7")):
            parent = "a" if "." in run_id else ""
            await journal.append(run_id, 0, waiting(Wait(900.0, "paid", key), parent=parent))
        sent = [await waits.deliver("paid", "7", Delivery(value, "bank"), 50.0) for _ in range(2)]
        due = [run.run_id for run in await waits.due(50.0)]
        found = [await waits.deliveries(run_id) for run_id in ("a", "a.c0", "c")]
        return sent, due, found

    sent, due, found = asyncio.run(story())
    assert [sorted(each) for each in sent] == [["a", "b"], []]
    assert sorted(due) == ["a", "b"]
    assert found == [{"c0": Delivery(value, "bank")}] * 2 + [{}]
    stored = place.execute("SELECT value FROM waits WHERE value IS NOT NULL")
    assert len(stored) == 3
    assert "correct-horse" not in str([bytes(row[0]) if not isinstance(row[0], str) else row[0] for row in stored])


def test_a_row_ends_with_the_calls_result_or_with_the_turn(database):
    async def story():
        journal, waits = DatabaseJournal(database), DatabaseWaits(database)
        entries = waiting(Wait(10.0), Wait(20.0), Wait(30.0))
        await journal.append("r", 0, entries)
        left = []
        further = (
            [Resumed(), Returned(result=Result("c0", "watch", ""), waited=True)],
            [Woken(result=Result("c1", "sleep", ""))],
            [Finished(stopped="failed")],
            [Finished(stopped="cancelled", interrupted=True)],
            [Finished(stopped="cancelled")],
        )
        position = len(entries)
        for more in further:
            await journal.append("r", position, more)
            position += len(more)
            left.append([call.call_id for call in await waits.waiting()])
        return left

    assert asyncio.run(story()) == [["c1", "c2"], ["c2"], ["c2"], ["c2"], []]


def test_lists_of_what_waits_for_people_leave_out_what_only_sleeps(database):
    async def story():
        journal = DatabaseJournal(database)
        await journal.append("asleep", 0, waiting(Wait(10.0)))
        await journal.append("asks", 0, waiting(asleep=False))
        await journal.append("both", 0, waiting(Wait(10.0), asleep=False))
        for asks in (True, False):
            yield sorted([run.run_id for run in await journal.list_runs(JournalQuery(status="waiting", asks=asks))])

    async def collect():
        return [each async for each in story()]

    assert asyncio.run(collect()) == [["asks", "both"], ["asks", "asleep", "both"]]
