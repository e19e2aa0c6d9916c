"""Both journals keep the same promises."""

import asyncio
import sqlite3
import stat

import pytest

from treadle.core.entries import Finished, Opened, Resumed, Said
from treadle.core.errors import JournalDamaged, JournalError, RunNotFound, RunTaken
from treadle.stores.database import SCHEMA_VERSION, Database, open_database
from treadle.stores.journal import MemoryJournal, SqliteJournal, Wanted, place_of

OPENED = Opened(agent="clerk", model="m", user="ann", at=1.0)


@pytest.fixture
def database(tmp_path):
    database = Database(tmp_path / "data" / "treadle.db")
    yield database
    database.close()


@pytest.fixture(params=["memory", "sqlite"])
def journal(request, database):
    return MemoryJournal() if request.param == "memory" else SqliteJournal(database)


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
        with pytest.raises(RunTaken, match="Somebody else"):
            await journal.append("r1", 1, [Said(text="theirs")])
        with pytest.raises(RunTaken):
            await journal.append("r1", 7, [Said(text="a gap")])
        return await journal.read("r1")

    assert asyncio.run(story()) == [OPENED, Said(text="mine")]


def test_a_run_that_is_not_there_is_not_found(journal):
    with pytest.raises(RunNotFound, match="no run r9"):
        asyncio.run(journal.read("r9"))


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


def test_nobody_has_to_wait_for_a_write_to_be_carried_out_in_order(database):
    async def story():
        journal = SqliteJournal(database)
        journal.append("r1", 0, [OPENED])
        for number in range(200):
            last = journal.append("r1", 1 + number, [Said(text=str(number))])
        await last
        await last
        return await journal.read("r1")

    assert [entry.text for entry in asyncio.run(story())[1:]] == [str(number) for number in range(200)]


def test_what_is_appended_to_a_run_within_a_moment_is_one_write(database):
    async def story():
        journal = SqliteJournal(database)
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
        journal = SqliteJournal(database)
        tickets = [journal.append("r1", 0, [OPENED]), journal.append("r1", 0, [OPENED]), journal.append("r2", 0, [OPENED])]
        await tickets[0]
        with pytest.raises(RunTaken):
            await tickets[1]
        await tickets[2]
        return len(await journal.read("r1")), len(await journal.read("r2"))

    assert asyncio.run(story()) == (1, 1)


def test_two_processes_cannot_carry_on_the_same_run(database):
    async def story():
        mine, theirs = SqliteJournal(database), SqliteJournal(other)
        await mine.append("r1", 0, [OPENED])
        seen = len(await theirs.read("r1"))
        await mine.append("r1", 1, [Said(text="mine")])
        with pytest.raises(RunTaken):
            await theirs.append("r1", seen, [Said(text="theirs")])

    other = Database(database.path)
    asyncio.run(story())
    other.close()


def test_lists_show_what_a_person_started_and_how_it_stands(database):
    async def story():
        journal = SqliteJournal(database)
        await journal.append("r1", 0, [OPENED, Said(text="What is\n in stock?", at=2.0)])
        await journal.append("r1.c1", 0, [Opened(parent="r1")])
        await journal.append("r2", 0, [OPENED])
        await journal.append("r2", 1, [Said(text="x" * 200, at=5.0), Finished(stopped="waiting", at=6.0)])
        listed = await journal.runs()
        waiting = await journal.runs(status="waiting")
        await journal.append("r2", 3, [Resumed(at=7.0)])
        with pytest.raises(RunNotFound, match="nothing"):
            await journal.info("nothing")
        newest = (await journal.runs(limit=1))[0]
        assert await journal.info(newest.run_id) == newest
        return listed, waiting, newest

    listed, waiting, newest = asyncio.run(story())
    assert [(run.run_id, run.title, run.status) for run in listed] == [
        ("r2", "x" * 80, "waiting"),
        ("r1", "What is in stock?", "open"),
    ]
    assert [run.run_id for run in waiting] == ["r2"]
    assert (newest.run_id, newest.status, newest.entries, newest.agent, newest.user) == ("r2", "open", 4, "clerk", "ann")


def test_what_was_written_is_there_after_a_restart(tmp_path):
    async def write():
        database = Database(tmp_path / "t.db")
        await SqliteJournal(database).append("r1", 0, [OPENED])
        database.close()

    async def read():
        database = Database(tmp_path / "t.db")
        try:
            return await SqliteJournal(database).read("r1")
        finally:
            database.close()

    asyncio.run(write())
    assert asyncio.run(read()) == [OPENED]


def test_closing_finishes_what_was_handed_in_and_closing_twice_is_fine(tmp_path):
    async def story():
        database = Database(tmp_path / "t.db")
        journal = SqliteJournal(database)
        for number in range(50):
            journal.append("r1", number, [OPENED])
        database.close()
        database.close()
        return len(await journal.read("r1")), database

    count, database = asyncio.run(story())
    database.close()
    assert count == 50


def test_a_loop_that_is_gone_leaves_the_writer_alive(database):
    async def forgetful():
        SqliteJournal(database).append("r1", 0, [OPENED])

    asyncio.run(forgetful())
    assert asyncio.run(SqliteJournal(database).read("r1")) == [OPENED]


def test_the_file_is_its_owners_alone(database):
    asyncio.run(append_one(database))
    assert stat.S_IMODE(database.path.stat().st_mode) == 0o600
    assert stat.S_IMODE(database.path.parent.stat().st_mode) == 0o700


async def append_one(database):
    await SqliteJournal(database).append("r1", 0, [OPENED])


def test_a_damaged_file_is_refused_with_a_sentence_and_left_as_it_is(tmp_path):
    path = tmp_path / "t.db"
    path.write_bytes(b"this is no database, whatever its name says" * 100)
    database = Database(path)
    with pytest.raises(JournalDamaged, match="Move it aside or restore a backup"):
        asyncio.run(append_one(database))
    database.close()
    assert path.read_bytes().startswith(b"this is no database")


def test_a_file_of_a_newer_treadle_is_refused(tmp_path):
    connection = sqlite3.connect(tmp_path / "t.db")
    connection.execute(f"PRAGMA user_version={SCHEMA_VERSION + 1}")
    connection.close()
    database = Database(tmp_path / "t.db")
    with pytest.raises(JournalError, match="newer Treadle"):
        asyncio.run(append_one(database))
    database.close()


def test_a_folder_that_cannot_be_written_is_told_in_a_sentence(tmp_path):
    (tmp_path / "file").write_text("in the way")
    database = Database(tmp_path / "file" / "t.db")
    with pytest.raises(JournalError, match="TREADLE_HOME"):
        asyncio.run(append_one(database))
    database.close()


def test_a_full_disk_fails_the_write_and_the_run_can_go_on_once_there_is_room(database):
    async def story():
        await append_one(database)
        await database.submit(lambda connection: connection.execute("PRAGMA max_page_count=1"))
        journal = SqliteJournal(database)
        with pytest.raises(JournalError, match="Make room"):
            await journal.append("r1", 1, [Said(text="x" * 1_000_000)])
        await database.submit(lambda connection: connection.execute("PRAGMA max_page_count=1000000"))
        await journal.append("r1", 1, [Said(text="x" * 1_000_000)])
        return len(await journal.read("r1"))

    assert asyncio.run(story()) == 2


def test_a_bug_in_a_job_reaches_whoever_waits_for_it(database):
    def job(connection):
        raise ZeroDivisionError("a bug")

    async def story():
        await database.submit(job)

    with pytest.raises(ZeroDivisionError):
        asyncio.run(story())


def test_opening_an_existing_file_keeps_what_is_in_it(tmp_path):
    open_database(tmp_path / "t.db").close()
    connection = open_database(tmp_path / "t.db")
    assert connection.execute("PRAGMA journal_mode").fetchone()[0] == "wal"
    assert connection.execute("PRAGMA synchronous").fetchone()[0] == 2
    connection.close()


# lists


def listed(tmp_path, *wanted):
    """The ids of each list, of five runs of which the last two were changed at the same time."""
    runs = {
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
    }

    async def asking():
        database = Database(tmp_path / "treadle.db")
        journal = SqliteJournal(database)
        assert await journal.listed(Wanted()) == []
        assert not (tmp_path / "treadle.db").exists()
        for run_id, entries in runs.items():
            await journal.append(run_id, 0, entries)
        found = [await journal.listed(each) for each in wanted]
        database.close()
        return found

    return asyncio.run(asking())


@pytest.mark.parametrize(
    ("wanted", "ids"),
    [
        (Wanted(), "aedcb"),
        (Wanted(limit=2), "ae"),
        (Wanted(status="open"), "edc"),
        (Wanted(agent="seas"), "b"),
        (Wanted(search="deep how"), "ab"),
        (Wanted(search="50%"), "a"),
        (Wanted(search="elbe_x"), "c"),
        (Wanted(search="elbe!x"), "d"),
        (Wanted(search="elbe", agent="rivers", status="open"), "edc"),
        (Wanted(search="b"), "aedcb"),
        (Wanted(search="  "), "aedcb"),
        (Wanted(search=" ".join(["deep"] * 5000)), "ab"),
        (Wanted(before=(5.0, "e")), "dcb"),
        (Wanted(before=(5.0, "d")), "cb"),
        (Wanted(before=(2.0, "b")), ""),
    ],
)
def test_runs_are_listed_by_time_and_id_and_by_what_is_wanted(tmp_path, wanted, ids):
    (found,) = listed(tmp_path, wanted)
    assert "".join([run.run_id for run in found]) == ids


def test_a_list_goes_on_where_another_ended(tmp_path):
    (first,) = listed(tmp_path, Wanted(limit=2))
    (rest,) = listed(tmp_path / "again", Wanted(before=place_of(first[-1])))
    assert [run.run_id for run in (*first, *rest)] == [*"aedcb"]
