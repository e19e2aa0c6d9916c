"""Figures are kept up piece by piece, come to the same as counting everything anew, and survive whatever happens in between."""

import asyncio
import signal
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from cli.forkserver import ran
from stores.places import Place
from stores.stats.journals import DAY, NOON, a_run, one_round, write
from treadle.core.entries import Approved, Finished, Forked, Opened, Refused, Resumed, Said
from treadle.core.requests import Usage
from treadle.stores.journal import DatabaseJournal
from treadle.stores.sqlite import SCHEMA_VERSION
from treadle.stores.stats.aggregation import BATCH, reset_stats, update_stats
from treadle.stores.stats.store import DatabaseStats, build_report
from treadle.stores.stats.values import StatsQuery

TABLES = {
    "stats_calls": 'tool, at, problem, cached, seconds, tokens, inner_tokens, agent, model, "user"',
    "stats_requests": 'at, requests, input_tokens, output_tokens, cache_read_tokens, cost, agent, model, "user"',
    "stats_runs": 'run_id, opened_at, position, carried, agent, model, "user"',
}


class Overheard:
    """A connection, of which `hear` hears every statement before it is carried out."""

    def __init__(self, connection, hear):
        self._connection = connection
        self._hear = hear

    def execute(self, sql, values=()):
        self._hear(sql)
        return self._connection.execute(sql, values)

    def executemany(self, sql, values):
        self._hear(sql)
        return self._connection.executemany(sql, values)


def counted(place, **how):
    """Keep up, and all that is counted then, in an order of its own."""
    database = place.one
    with database.apart() as connection:
        unread = update_stats(connection, words=database.words, **how)
        return everything(connection), unread


def everything(connection):
    return {
        table: sorted(connection.execute(f"SELECT {columns} FROM {table} JOIN stats_who USING (who)"), key=repr)
        for table, columns in TABLES.items()
    }


def anew(place):
    database = place.one
    with database.apart() as connection:
        reset_stats(connection, database.words)
        update_stats(connection, words=database.words)
        return everything(connection)


def new(place):
    return [row[0] for row in place.execute("SELECT run_id FROM stats_new ORDER BY run_id")]


def spoil(place, where="1 = 1"):
    unreadable = "CAST('unreadable' AS BLOB)" if place.kind == "sqlite" else "'unreadable'::bytea"
    place.execute(f"UPDATE entries SET lines = {unreadable} WHERE {where}")


def some_runs(count):
    problems = (None, "raised", "denied", None, "timeout")
    return {
        f"r{number:03}": a_run(
            *[
                one_round(place, f"tool{(number + place) % 4}", NOON + DAY * place, problems[(number + place) % 5])
                for place in range(5)
            ],
            agent=f"agent{number % 3}",
        )
        for number in range(count)
    }


def append(place, run_id, position, entries):
    async def story():
        await DatabaseJournal(place.one).append(run_id, position, entries)

    asyncio.run(story())


def test_what_is_counted_as_it_comes_is_what_is_counted_anew(place):
    runs = 12 if place.kind == "sqlite" else 4
    for number, (run_id, entries) in enumerate(some_runs(runs).items()):
        for start in range(0, len(entries), 1 + number % 5):
            append(place, run_id, start, entries[start : start + 1 + number % 5])
            counted(place)
    found, unread = counted(place)
    assert [len(found[table]) for table in ("stats_calls", "stats_requests", "stats_runs")] == [5 * runs, 6 * runs, runs]
    assert unread == 0
    assert anew(place) == found


def test_the_second_time_nothing_is_read_again(place):
    asyncio.run(write(place.open(), some_runs(3)))
    found, _ = counted(place)
    assert new(place) == []
    spoil(place)
    assert counted(place) == (found, 0)


def test_only_the_new_entries_of_a_run_are_read(place):
    asyncio.run(write(place.open(), {"r1": a_run(one_round(1, "look"))}))
    counted(place)
    spoil(place)
    append(place, "r1", 7, [Said(text="more", at=NOON), *one_round(2, "look"), Finished(stopped="answered", at=NOON)])
    found, unread = counted(place)
    assert (len(found["stats_calls"]), unread) == (2, 0)


def test_a_run_under_way_counts_as_far_as_it_is(place):
    entries = a_run(one_round(1, "look"), one_round(2, "look"))
    for position, entry in enumerate(entries):
        append(place, "r1", position, [entry])
        done = sum(1 for each in entries[: position + 1] if type(each).__name__ == "Returned")
        assert len(counted(place)[0]["stats_calls"]) == done
    assert new(place) == []


def test_what_a_person_says_while_a_run_waits_counts_when_it_goes_on(place):
    reply, judged, _ = one_round(1, "pay")
    waiting = [*a_run()[:2], reply, judged, Finished(stopped="waiting", at=NOON)]
    append(place, "r1", 0, waiting)
    assert counted(place)[0]["stats_calls"] == []
    append(place, "r1", 5, [Approved(call_id="c1", at=NOON)])
    append(place, "r1", 6, [Refused(call_id="c1", at=NOON)])
    append(place, "r1", 7, [Resumed(at=NOON)])
    assert [row[:3] for row in counted(place)[0]["stats_calls"]] == [("pay", NOON, "denied")]


def test_what_was_copied_into_a_fork_is_not_counted_again(place):
    entries = a_run(one_round(1, "look"))
    asyncio.run(write(place.open(), {"r1": entries, "r2": [*entries, Forked(run_id="r1", entries=len(entries), at=NOON)]}))
    found, _ = counted(place)
    assert (len(found["stats_calls"]), len(found["stats_requests"]), len(found["stats_runs"])) == (1, 2, 2)


def test_what_an_agent_inside_of_a_run_spent_is_counted_with_the_agent(place):
    asked = one_round(1, "helper", usage=Usage(1, 0, 10, 0), seconds=1.0)
    inner = a_run(one_round(1, "stock"), agent="helper", parent="r1")
    back = [*asked[:2], type(asked[2])(result=asked[2].result, usage=Usage(2, 1, 130, 12), at=NOON, seconds=1.0)]
    asyncio.run(write(place.open(), {"r1": a_run(back), "r1.c1": inner}))
    with place.open().apart() as connection:
        update_stats(connection, words=place.words)
        by_agent = {row.key: row for row in build_report(connection, StatsQuery("assistant"), words=place.words).rows}
        by_tool = {row.key: row for row in build_report(connection, StatsQuery("tool"), words=place.words).rows}
    assert {name: row.spent.tokens for name, row in by_agent.items()} == {"clerk": 10 + 42, "helper": 100 + 42}
    assert (by_tool["helper"].tokens, by_tool["helper"].inner_tokens, by_tool["stock"].tokens) == (10, 142, 100)


def test_a_run_that_cannot_be_read_holds_nothing_up_and_is_tried_again(place):
    asyncio.run(write(place.open(), some_runs(3)))
    ((kept,),) = place.execute("SELECT lines FROM entries WHERE run_id = 'r001'")
    spoil(place, "run_id = 'r001'")
    found, unread = counted(place)
    assert (len(found["stats_calls"]), unread, new(place)) == (10, 1, ["r001"])
    place.execute("UPDATE entries SET lines = ? WHERE run_id = 'r001'", kept)
    found, unread = counted(place)
    assert (len(found["stats_calls"]), unread, new(place)) == (15, 0, [])


def test_whoever_waits_hears_how_far_it_is(place):
    asyncio.run(write(place.open(), some_runs(5)))
    told = []
    counted(place, told=lambda done, of: told.append((done, of)), batch=2)
    assert told == [(0, 5), (2, 5), (4, 5)]


KILLED = """
import os, signal, sys
from pathlib import Path
from treadle.stores.postgres.database import PostgresDatabase
from treadle.stores.sqlite import SqliteDatabase
from treadle.stores.stats.aggregation import update_stats
sys.path.insert(0, sys.argv[5])
from stores.stats.test_aggregation import Overheard
kind, where, schema, after = *sys.argv[1:4], int(sys.argv[4])
database = PostgresDatabase(where, schema) if kind == "postgres" else SqliteDatabase(Path(where))
def told(done, of):
    if done >= after >= 0:
        os.kill(os.getpid(), signal.SIGKILL)
def killed_in_the_middle_of_a_write(statement):
    if after < 0 and "stats_requests" in statement:
        os.kill(os.getpid(), signal.SIGKILL)
with database.apart() as connection:
    update_stats(Overheard(connection, killed_in_the_middle_of_a_write), told, batch=3, words=database.words)
"""


@pytest.mark.parametrize(("after", "done"), [(0, 0), (3, 3), (6, 6), (-1, 0)])
def test_a_process_that_is_killed_leaves_what_the_next_one_goes_on_from(place, after, done):
    asyncio.run(write(place.open(), some_runs(8)))
    where = [place.kind, place.url or str(place.path), place.schema, str(after), str(Path(__file__).parents[2])]
    killed = ran("-c", KILLED, *where)
    assert killed.returncode == -signal.SIGKILL
    assert place.execute("SELECT count(*) FROM stats_runs") == [(done,)]
    found, _ = counted(place)
    assert len(found["stats_calls"]) == 40
    assert anew(place) == found


def test_two_who_count_at_once_count_everything_once(place):
    asyncio.run(write(place.open(), some_runs(6)))
    with place.open().apart() as one, place.open().apart() as other:
        update_stats(
            one, lambda done, of: update_stats(other, words=place.words) if done == 2 else None, batch=2, words=place.words
        )
        assert len(everything(one)["stats_calls"]) == 30
        update_stats(one, lambda done, of: None, words=place.words)
    assert anew(place) == counted(place)[0]


def test_somebody_who_counts_what_another_has_read_already_counts_it_once(place):
    """One has read a run and not yet written what it found, when the other writes the same."""
    asyncio.run(write(place.open(), some_runs(2)))

    with place.open().apart() as one, place.open().apart() as other:
        waiting = [True]

        def first_the_other(statement):
            if statement.startswith("BEGIN") and waiting.pop():
                update_stats(other, words=place.words)
                waiting.append(False)

        update_stats(Overheard(one, first_the_other), words=place.words)
        assert len(everything(one)["stats_calls"]) == 10
    assert counted(place)[0] == anew(place)


@pytest.mark.parametrize("how_many", [2, 4])
def test_processes_that_count_while_runs_are_written_count_everything_once(place, how_many):
    """Whatever comes between what: a status that changes while somebody counts is noted for the next time."""

    async def story():
        databases = [place.open() for _ in range(how_many)]
        counting = [asyncio.create_task(count(DatabaseStats(database))) for database in databases]
        await asyncio.gather(*[going_on(database, number) for number, database in enumerate(databases)])
        over.append(True)
        await asyncio.gather(*counting)

    async def count(stats):
        while not over:
            await stats.ask(StatsQuery())
            await asyncio.sleep(0)

    async def going_on(database, number):
        journal, position = DatabaseJournal(database), 0
        for turn in range(12):
            more = [
                *([] if turn else [Opened()]),
                Said(text="?", at=NOON),
                *one_round(turn, "look"),
                Finished(stopped="answered", at=NOON),
            ]
            await journal.append(f"r{number}", position, more)
            position += len(more)

    over = []
    asyncio.run(story())
    found, _ = counted(place)
    assert len(found["stats_calls"]) == 12 * how_many
    assert new(place) == []
    assert anew(place) == found


def test_what_happens_in_a_run_while_it_is_counted_is_counted_the_next_time(place):
    asyncio.run(write(place.open(), {"r1": a_run(one_round(1, "look"))}))
    with place.open().apart() as connection:
        waiting = [True]

        def then_it_goes_on(statement):
            if statement.startswith("BEGIN") and waiting:
                waiting.clear()
                more = [Said(text="more", at=NOON), *one_round(2, "look"), Finished(stopped="answered", at=NOON)]
                append(place, "r1", 7, more)

        update_stats(Overheard(connection, then_it_goes_on), words=place.words)
    assert new(place) == ["r1"]
    assert len(counted(place)[0]["stats_calls"]) == 2
    assert new(place) == []


def test_more_runs_than_are_written_at_once_are_all_counted(place):
    with place.open().apart() as connection:
        runs = [(f"r{number}", "", "", "", "", "", "answered", 0.0, 0.0) for number in range(BATCH + 1)]
        connection.executemany("INSERT INTO runs VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)", runs)
        assert update_stats(connection, words=place.words) == 0
        assert len(everything(connection)["stats_runs"]) == BATCH + 1


def test_a_write_that_fails_leaves_nothing_half_done(place):
    asyncio.run(write(place.open(), some_runs(2)))
    with place.open().apart() as connection:
        connection.execute("ALTER TABLE stats_requests RENAME TO elsewhere")
        with pytest.raises(Exception, match="stats_requests"):
            update_stats(connection, words=place.words)
        connection.execute("ALTER TABLE elsewhere RENAME TO stats_requests")
        assert everything(connection)["stats_calls"] == []
    assert len(counted(place)[0]["stats_calls"]) == 10


OLD = """
CREATE TABLE runs (
    run_id TEXT PRIMARY KEY, parent TEXT NOT NULL, agent TEXT NOT NULL, model TEXT NOT NULL, user TEXT NOT NULL,
    title TEXT NOT NULL, status TEXT NOT NULL, opened_at REAL NOT NULL, updated_at REAL NOT NULL
) WITHOUT ROWID;
CREATE INDEX runs_by_parent ON runs (parent) WHERE parent <> '';
CREATE TABLE entries (
    run_id TEXT NOT NULL, position INTEGER NOT NULL, next INTEGER NOT NULL, lines BLOB NOT NULL, PRIMARY KEY (run_id, position)
) WITHOUT ROWID;
CREATE TABLE audit (seq INTEGER PRIMARY KEY, previous TEXT NOT NULL, line BLOB NOT NULL, hash TEXT NOT NULL);
CREATE TABLE audit_head (one INTEGER PRIMARY KEY CHECK (one = 1), seq INTEGER NOT NULL, hash TEXT NOT NULL);
CREATE TABLE cache (key TEXT PRIMARY KEY, grp TEXT NOT NULL, content TEXT NOT NULL, until REAL NOT NULL) WITHOUT ROWID;
CREATE INDEX cache_by_group ON cache (grp);
CREATE TABLE results (
    run_id TEXT NOT NULL, result_id TEXT NOT NULL, content TEXT NOT NULL, PRIMARY KEY (run_id, result_id)
) WITHOUT ROWID;
PRAGMA user_version=1;
"""


def test_a_file_of_the_first_schema_is_opened_and_what_is_in_it_is_counted(in_sqlite, tmp_path):
    fresh = Place("sqlite", tmp_path / "new")
    asyncio.run(write(fresh.open(), some_runs(4)))
    in_sqlite.path.parent.mkdir()
    with closing(sqlite3.connect(in_sqlite.path)) as old:
        old.executescript(OLD)
        old.execute("ATTACH ? AS new", (str(fresh.path),))
        old.execute("INSERT INTO runs SELECT * FROM new.runs")
        old.execute("INSERT INTO entries SELECT * FROM new.entries")
        old.commit()
    found, _ = counted(in_sqlite)
    assert found == counted(fresh)[0]
    assert len(found["stats_calls"]) == 20
    more = [Said(text="more", at=NOON), *one_round(9, "look"), Finished(stopped="answered", at=NOON)]
    append(in_sqlite, "r000", len(some_runs(1)["r000"]), more)
    assert len(counted(in_sqlite)[0]["stats_calls"]) == 21
    assert in_sqlite.execute("SELECT user_version FROM pragma_user_version") == [(SCHEMA_VERSION,)]


def test_a_file_that_has_counted_well_is_not_counted_anew_when_it_gets_what_it_lacks(in_sqlite):
    asyncio.run(write(in_sqlite.open(), some_runs(2)))
    counted(in_sqlite)
    with closing(sqlite3.connect(in_sqlite.path)) as second:
        second.executescript("DROP TABLE leases; PRAGMA user_version=2;")
    assert new(in_sqlite) == []
    assert in_sqlite.execute("SELECT count(*) FROM leases") == [(0,)]


def test_a_process_of_the_first_schema_that_goes_on_writing_is_counted(in_sqlite):
    """Its connection was open before the file was brought up; the triggers are the file's, so its runs are noted too."""
    in_sqlite.path.parent.mkdir()
    with closing(sqlite3.connect(in_sqlite.path)) as old:
        old.executescript(OLD)
        counted(in_sqlite)
        old.execute("INSERT INTO runs VALUES ('r1', '', '', '', '', '', 'answered', 0, 0)")
        old.commit()
    assert new(in_sqlite) == ["r1"]
