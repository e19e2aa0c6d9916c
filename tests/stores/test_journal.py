"""All journals keep the same promises: in memory, in a SQLite file, in PostgreSQL."""

import asyncio
import subprocess

import pytest

from cli.forkserver import Forked
from treadle.core.entries import Finished, Opened, Resumed, Said
from treadle.core.errors import RunNotFound, RunTaken
from treadle.stores.journal import DatabaseJournal, JournalQuery, cursor_of
from treadle.stores.memory import MemoryJournal

OPENED = Opened(agent="clerk", model="m", user="ann", at=1.0)


@pytest.fixture(params=["memory", "sqlite", "postgres"])
def any_kind(request):
    return request.param


@pytest.fixture
def journal(any_kind, request):
    if any_kind == "memory":
        return MemoryJournal()
    return DatabaseJournal(request.getfixturevalue(f"in_{any_kind}").open())


def test_entries_come_back_in_order(journal):
    async def story():
        await journal.append("r1", 0, [OPENED])
        await journal.append("r1", 1, [Said(text="a", at=2.0), Said(text="b", at=3.0)])
        return await journal.read("r1")

    assert asyncio.run(story()) == [OPENED, Said(text="a", at=2.0), Said(text="b", at=3.0)]


def test_writing_where_somebody_else_has_written_is_refused(journal):
    async def story():
        await journal.append("r1", 0, [OPENED])
        await journal.append("r1", 1, [Said(text="mine")])
        with pytest.raises(RunTaken, match="Another process"):
            await journal.append("r1", 1, [Said(text="theirs")])
        with pytest.raises(RunTaken):
            await journal.append("r1", 7, [Said(text="a gap")])
        with pytest.raises(RunTaken):
            await journal.append("r1", 0, [OPENED])
        return await journal.read("r1")

    assert asyncio.run(story()) == [OPENED, Said(text="mine")]


def test_a_run_that_is_not_there_is_not_found(journal):
    with pytest.raises(RunNotFound, match="no run r9"):
        asyncio.run(journal.read("r9"))


def test_whatever_a_person_says_comes_back(journal):
    said = Said(text="\0 ' \" % ? \\ \u2028 \U0001f9f5 $1 %s", at=2.0)

    async def story():
        await journal.append("r'%?1", 0, [OPENED, said])
        return await journal.read("r'%?1")

    assert asyncio.run(story()) == [OPENED, said]


def test_runs_inside_of_a_run_are_its_children(journal):
    async def story():
        for run_id, parent in (("r1", ""), ("r1.c1", "r1"), ("r1.c1.c2", "r1.c1"), ("r10", ""), ("r2.c1", "r2"), ("r1.mine", "")):
            await journal.append(run_id, 0, [Opened(parent=parent)])
        return await journal.children("r1"), await journal.children(""), await journal.children("nobody")

    assert asyncio.run(story()) == (["r1.c1", "r1.c1.c2"], [], [])


def test_memory_can_forget_a_run_with_all_inside_of_it():
    async def story():
        journal = MemoryJournal()
        for run_id, parent in (("r1", ""), ("r1.c1", "r1"), ("r1.mine", ""), ("r2", "")):
            await journal.append(run_id, 0, [Opened(parent=parent)])
        await journal.forget("r1")
        return [journal.has(run_id) for run_id in ("r1", "r1.c1", "r1.mine", "r2")]

    assert asyncio.run(story()) == [False, False, True, True]


# writes that are gathered


def test_nobody_has_to_wait_for_a_write_to_be_carried_out_in_order(database):
    async def story():
        journal = DatabaseJournal(database)
        journal.append("r1", 0, [OPENED])
        for number in range(200):
            last = journal.append("r1", 1 + number, [Said(text=str(number))])
        await last
        await last
        return await journal.read("r1")

    assert [entry.text for entry in asyncio.run(story())[1:]] == [str(number) for number in range(200)]


def test_what_is_appended_to_a_run_within_a_moment_is_one_write(database):
    async def story():
        journal = DatabaseJournal(database)
        first = journal.append("r1", 0, [OPENED])
        assert journal.append("r1", 1, [Said(text="a")]) is first
        other = journal.append("r2", 0, [OPENED])
        assert other is not first
        assert journal.append("r1", 7, [Said(text="a gap")]) is not first
        await first
        later = journal.append("r1", 2, [Said(text="b")])
        assert later is not first
        await later
        return len(await journal.read("r1")), len(await journal.read("r2"))

    assert asyncio.run(story()) == (3, 1)


def test_a_refused_write_does_not_disturb_the_others_of_its_commit(database):
    async def story():
        journal = DatabaseJournal(database)
        tickets = [journal.append("r1", 0, [OPENED]), journal.append("r1", 0, [OPENED]), journal.append("r2", 0, [OPENED])]
        await tickets[0]
        with pytest.raises(RunTaken):
            await tickets[1]
        await tickets[2]
        return len(await journal.read("r1")), len(await journal.read("r2"))

    assert asyncio.run(story()) == (1, 1)


# other processes


def test_what_was_written_is_there_for_whoever_comes_later(place):
    asyncio.run(append_one(place.open()))
    assert asyncio.run(DatabaseJournal(place.open()).read("r1")) == [OPENED]


async def append_one(database):
    await DatabaseJournal(database).append("r1", 0, [OPENED])


def test_two_who_carry_on_the_same_run_are_told(place):
    async def story():
        mine, theirs = DatabaseJournal(place.open()), DatabaseJournal(place.open())
        await mine.append("r1", 0, [OPENED])
        seen = len(await theirs.read("r1"))
        await mine.append("r1", 1, [Said(text="mine")])
        with pytest.raises(RunTaken):
            await theirs.append("r1", seen, [Said(text="theirs")])

    asyncio.run(story())


RACE = """
import asyncio, sys
from pathlib import Path
from treadle.core.entries import Opened, Said
from treadle.core.errors import RunTaken
from treadle.stores.journal import DatabaseJournal
from treadle.stores.postgres.database import PostgresDatabase
from treadle.stores.sqlite import SqliteDatabase
kind, where, schema, me = sys.argv[1:]
async def race():
    database = PostgresDatabase(where, schema) if kind == "postgres" else SqliteDatabase(Path(where))
    journal, won = DatabaseJournal(database), 0
    await journal.append(f"warm {me}", 0, [Opened()])
    print("ready", flush=True)
    sys.stdin.readline()
    for number in range(60):
        try:
            await journal.append("r1", number, [Said(text=me) if number else Opened()])
            won += 1
        except RunTaken:
            while len(await journal.read("r1")) <= number:
                pass
    database.close()
    return won
print(asyncio.run(race()))
"""


def test_of_two_processes_that_append_at_the_same_place_one_wins(place):
    where = [place.kind, place.url or str(place.path), place.schema]
    args = [["-c", RACE, *where, me] for me in ("left", "right")]
    racers = [Forked(each, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) for each in args]
    for racer in racers:
        assert racer.stdout.readline() == "ready\n"
    for racer in racers:
        racer.stdin.write("go\n")
        racer.stdin.flush()
    won = [int(racer.communicate(timeout=60)[0]) for racer in racers]
    entries = asyncio.run(DatabaseJournal(place.open()).read("r1"))
    assert len(entries) == sum(won) == 60
    assert sum(1 for entry in entries[1:] if entry.text == "left") in (won[0], won[0] - 1)


# lists


def test_lists_show_what_a_person_started_and_how_it_stands(database):
    async def story():
        journal = DatabaseJournal(database)
        await journal.append("r1", 0, [OPENED, Said(text="What is\n in stock?", at=2.0)])
        await journal.append("r1.c1", 0, [Opened(parent="r1")])
        await journal.append("r2", 0, [OPENED])
        await journal.append("r2", 1, [Said(text="x" * 200, at=5.0), Finished(stopped="waiting", at=6.0)])
        listed = await journal.list_runs()
        waiting = await journal.list_runs(JournalQuery(status="waiting"))
        await journal.append("r2", 3, [Resumed(at=7.0)])
        with pytest.raises(RunNotFound, match="nothing"):
            await journal.info("nothing")
        newest = (await journal.list_runs(JournalQuery(limit=1)))[0]
        assert await journal.info(newest.run_id) == newest
        return listed, waiting, newest

    listed, waiting, newest = asyncio.run(story())
    assert [(run.run_id, run.title, run.status) for run in listed] == [
        ("r2", "x" * 80, "waiting"),
        ("r1", "What is in stock?", "open"),
    ]
    assert [run.run_id for run in waiting] == ["r2"]
    assert (newest.run_id, newest.status, newest.entries, newest.agent, newest.user) == ("r2", "open", 4, "clerk", "ann")


RUNS = {
    "a": [
        Opened(agent="rivers", at=1.0),
        Said(text="How deep is 50% of the Elbe?", at=1.0),
        Finished(stopped="answered", at=9.0),
    ],
    "b": [Opened(agent="seas", at=2.0), Said(text="How DEEP is the sea?", at=2.0), Finished(stopped="failed", at=2.0)],
    "c": [Opened(agent="rivers", at=3.0), Said(text="elbe_x", at=3.0)],
    "d": [Opened(agent="rivers", at=4.0), Said(text="elbe!x", at=5.0)],
    "e": [Opened(agent="rivers", at=4.0), Said(text="elbe x", at=5.0)],
    "a.c1": [Opened(agent="helper", parent="a", at=8.0)],
}  # the last two that a person started were changed at the same time

LISTS = [
    (JournalQuery(), "aedcb"),
    (JournalQuery(limit=2), "ae"),
    (JournalQuery(status="open"), "edc"),
    (JournalQuery(agent="seas"), "b"),
    (JournalQuery(search="deep how"), "ab"),
    (JournalQuery(search="50%"), "a"),
    (JournalQuery(search="elbe_x"), "c"),
    (JournalQuery(search="elbe!x"), "d"),
    (JournalQuery(search="elbe", agent="rivers", status="open"), "edc"),
    (JournalQuery(search="b"), "aedcb"),
    (JournalQuery(search="  "), "aedcb"),
    (JournalQuery(search=" ".join(["deep"] * 5000)), "ab"),
    (JournalQuery(before=(5.0, "e")), "dcb"),
    (JournalQuery(before=(5.0, "d")), "cb"),
    (JournalQuery(before=(2.0, "b")), ""),
]


def test_runs_are_listed_by_time_and_id_and_by_what_is_wanted(database):
    async def story():
        journal = DatabaseJournal(database)
        for run_id, entries in RUNS.items():
            await journal.append(run_id, 0, entries)
        for wanted, ids in LISTS:
            assert "".join([run.run_id for run in await journal.list_runs(wanted)]) == ids, wanted
        first = await journal.list_runs(JournalQuery(limit=2))
        rest = await journal.list_runs(JournalQuery(before=cursor_of(first[-1])))
        return [run.run_id for run in (*first, *rest)]

    assert asyncio.run(story()) == [*"aedcb"]


def test_where_nothing_was_ever_written_a_list_is_empty_and_makes_no_file(place):
    assert asyncio.run(DatabaseJournal(place.open()).list_runs(JournalQuery())) == []
    assert not place.path.parent.exists()


def test_ids_are_ordered_by_their_bytes(database):
    async def story():
        journal = DatabaseJournal(database)
        for run_id in ("b", "B", "a", "_", "ä"):
            await journal.append(run_id, 0, [Opened(at=1.0)])
        return "".join([run.run_id for run in await journal.list_runs(JournalQuery())])

    assert asyncio.run(story()) == "äba_B"


def test_a_run_is_found_by_the_beginning_of_its_id(place):
    async def story():
        journal = DatabaseJournal(place.open())
        for at, run_id in enumerate(("27af", "27b0", "9c_d")):
            await journal.append(run_id, 0, [Opened(at=float(at)), Said(text=run_id, at=float(at))])
        await journal.append("9c_d.call_1", 0, [Opened(parent="9c_d", at=9.0)])
        assert await journal.resolve("27af") == await journal.resolve("27a") == "27af"
        assert await journal.resolve("9") == await journal.resolve("9c_") == await journal.resolve("last") == "9c_d"
        assert await journal.resolve("9c_d.call_1") == "9c_d.call_1"
        for typed, says in {
            "2": r"Several runs begin with 2: 27b0 \(27b0\); 27af",
            "*": "There is no run",
            "": "There is no",
        }.items():
            with pytest.raises(RunNotFound, match=says):
                await journal.resolve(typed)

    asyncio.run(story())
