"""What all databases have in common: jobs are gathered, carried out in order, and finished before a database closes."""

import asyncio

import pytest

from stores.places import submit
from treadle.core.entries import Opened
from treadle.core.errors import JournalError
from treadle.stores.journal import DatabaseJournal
from treadle.stores.postgres.database import PostgresDatabase


def test_closing_finishes_what_was_handed_in_and_closing_twice_is_fine(database):
    async def story():
        journal = DatabaseJournal(database)
        for number in range(50):
            journal.append("r1", number, [Opened()])
        database.close()
        database.close()
        return len(await journal.read("r1"))

    assert asyncio.run(story()) == 50


def test_jobs_after_an_awaited_one_are_gathered_for_their_own_time(in_sqlite):
    async def story():
        database, loop, timers = in_sqlite.open(), asyncio.get_running_loop(), []
        call_later = loop.call_later
        loop.call_later = lambda *args: timers.append(call_later(*args)) or timers[-1]
        await database.submit(lambda connection: None)
        database.submit(lambda connection: None, "later")
        before = [timer.cancelled() for timer in timers]
        await database.submit(lambda connection: None)
        return before, [timer.cancelled() for timer in timers]

    assert asyncio.run(story()) == ([True, False], [True, True])


def test_a_loop_that_is_gone_leaves_the_writer_alive(database):
    async def forgetful():
        DatabaseJournal(database).append("r1", 0, [Opened(at=1.0)])

    asyncio.run(forgetful())
    assert asyncio.run(DatabaseJournal(database).read("r1")) == [Opened(at=1.0)]


def test_a_bug_in_a_job_reaches_whoever_waits_for_it_and_nothing_is_kept(database):
    def job(connection):
        connection.execute("INSERT INTO leases VALUES ('r1', 'me', 1, 0)")
        raise ZeroDivisionError("a bug")

    with pytest.raises(ZeroDivisionError):
        submit(database, job)
    assert submit(database, lambda connection: connection.execute("SELECT count(*) FROM leases").fetchone()) == (0,)


def test_a_statement_that_makes_no_sense_is_told_in_a_sentence_without_harm_to_the_next(database):
    with pytest.raises(JournalError, match=r"nonsense|NONSENSE"):
        submit(database, lambda connection: connection.execute("NONSENSE"))
    assert submit(database, lambda connection: connection.execute("SELECT 1").fetchone()) == (1,)


def test_a_connection_apart_sees_what_was_committed(place):
    submit(place.open(), lambda connection: connection.execute("INSERT INTO stats_new VALUES ('r1')"))
    assert place.execute("SELECT run_id FROM stats_new") == [("r1",)]


def test_a_writer_that_has_nothing_to_do_lets_go_and_comes_back(place):
    async def story():
        database = place.open()
        database.rests_after = 0.01
        await DatabaseJournal(database).append("r1", 0, [Opened(at=1.0)])
        while database._connection is not None:  # noqa: ASYNC110 - the writer tells nobody
            await asyncio.sleep(0.01)
        return await DatabaseJournal(database).read("r1")

    assert asyncio.run(story()) == [Opened(at=1.0)]


def test_a_database_is_called_by_where_it_is(in_sqlite):
    assert in_sqlite.open().name == str(in_sqlite.path)
    assert PostgresDatabase("postgresql://anna:hidden@db/runs").name == "postgresql://db/runs"
