"""Figures are kept up piece by piece, come to the same as counting everything anew, and survive whatever happens in between."""

import asyncio
import signal
import sqlite3
import subprocess
import sys
from contextlib import closing

import pytest

from stores.stats.journals import DAY, NOON, a_run, one_round, write
from treadle.core.entries import Approved, Finished, Forked, Refused, Resumed, Said
from treadle.core.requests import Usage
from treadle.stores.database import SCHEMA_VERSION, Database, open_database
from treadle.stores.journal import SqliteJournal
from treadle.stores.stats.asking import report
from treadle.stores.stats.keeping import BATCH, count_anew, keep_up
from treadle.stores.stats.values import Question

TABLES = {
    "stats_calls": "tool, at, problem, cached, seconds, tokens, inner_tokens, agent, model, user",
    "stats_requests": "at, requests, input_tokens, output_tokens, cache_read_tokens, cost, agent, model, user",
    "stats_runs": "run_id, opened_at, position, carried, agent, model, user",
}


@pytest.fixture
def path(tmp_path):
    return tmp_path / "treadle.db"


def counted(path, **how):
    """Keep up, and all that is counted then, in an order of its own."""
    with closing(open_database(path)) as connection:
        unread = keep_up(connection, **how)
        return everything(connection), unread


def everything(connection):
    return {
        table: sorted(connection.execute(f"SELECT {columns} FROM {table} JOIN stats_who USING (who)"), key=repr)
        for table, columns in TABLES.items()
    }


def anew(path):
    with closing(open_database(path)) as connection:
        count_anew(connection)
        keep_up(connection)
        return everything(connection)


def new(path):
    with closing(open_database(path)) as connection:
        return [row[0] for row in connection.execute("SELECT run_id FROM stats_new ORDER BY run_id")]


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


def append(path, run_id, position, entries):
    async def story():
        database = Database(path)
        await SqliteJournal(database).append(run_id, position, entries)
        database.close()

    asyncio.run(story())


def test_what_is_counted_as_it_comes_is_what_is_counted_anew(path):
    for number, (run_id, entries) in enumerate(some_runs(12).items()):
        for start in range(0, len(entries), 1 + number % 5):
            append(path, run_id, start, entries[start : start + 1 + number % 5])
            counted(path)
    found, unread = counted(path)
    assert (len(found["stats_calls"]), len(found["stats_requests"]), len(found["stats_runs"]), unread) == (60, 72, 12, 0)
    assert anew(path) == found


def test_the_second_time_nothing_is_read_again(path):
    asyncio.run(write(path, some_runs(3)))
    found, _ = counted(path)
    assert new(path) == []
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("UPDATE entries SET lines = CAST('unreadable' AS BLOB)")
        connection.commit()
    assert counted(path) == (found, 0)


def test_only_the_new_entries_of_a_run_are_read(path):
    asyncio.run(write(path, {"r1": a_run(one_round(1, "look"))}))
    counted(path)
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("UPDATE entries SET lines = CAST('unreadable' AS BLOB)")
        connection.commit()
    append(path, "r1", 7, [Said(text="more", at=NOON), *one_round(2, "look"), Finished(stopped="answered", at=NOON)])
    found, unread = counted(path)
    assert (len(found["stats_calls"]), unread) == (2, 0)


def test_a_run_under_way_counts_as_far_as_it_is(path):
    entries = a_run(one_round(1, "look"), one_round(2, "look"))
    for position, entry in enumerate(entries):
        append(path, "r1", position, [entry])
        done = sum(1 for each in entries[: position + 1] if type(each).__name__ == "Returned")
        assert len(counted(path)[0]["stats_calls"]) == done
    assert new(path) == []


def test_what_a_person_says_while_a_run_waits_counts_when_it_goes_on(path):
    reply, judged, _ = one_round(1, "pay")
    waiting = [*a_run()[:2], reply, judged, Finished(stopped="waiting", at=NOON)]
    append(path, "r1", 0, waiting)
    assert counted(path)[0]["stats_calls"] == []
    append(path, "r1", 5, [Approved(call_id="c1", at=NOON)])
    append(path, "r1", 6, [Refused(call_id="c1", at=NOON)])
    append(path, "r1", 7, [Resumed(at=NOON)])
    assert [row[:3] for row in counted(path)[0]["stats_calls"]] == [("pay", NOON, "denied")]


def test_what_was_copied_into_a_fork_is_not_counted_again(path):
    entries = a_run(one_round(1, "look"))
    asyncio.run(write(path, {"r1": entries, "r2": [*entries, Forked(run_id="r1", entries=len(entries), at=NOON)]}))
    found, _ = counted(path)
    assert (len(found["stats_calls"]), len(found["stats_requests"]), len(found["stats_runs"])) == (1, 2, 2)


def test_what_an_agent_inside_of_a_run_spent_is_counted_with_the_agent(path):
    asked = one_round(1, "helper", usage=Usage(1, 0, 10, 0), seconds=1.0)
    inner = a_run(one_round(1, "stock"), agent="helper", parent="r1")
    back = [*asked[:2], type(asked[2])(result=asked[2].result, usage=Usage(2, 1, 130, 12), at=NOON, seconds=1.0)]
    asyncio.run(write(path, {"r1": a_run(back), "r1.c1": inner}))
    with closing(open_database(path)) as connection:
        keep_up(connection)
        by_agent = {row.key: row for row in report(connection, Question("assistant")).rows}
        by_tool = {row.key: row for row in report(connection, Question("tool")).rows}
    assert {name: row.spent.tokens for name, row in by_agent.items()} == {"clerk": 10 + 42, "helper": 100 + 42}
    assert (by_tool["helper"].tokens, by_tool["helper"].inner_tokens, by_tool["stock"].tokens) == (10, 142, 100)


def test_a_run_that_cannot_be_read_holds_nothing_up_and_is_tried_again(path):
    asyncio.run(write(path, some_runs(3)))
    with closing(sqlite3.connect(path)) as connection:
        (kept,) = connection.execute("SELECT lines FROM entries WHERE run_id = 'r001'").fetchone()
        connection.execute("UPDATE entries SET lines = CAST('unreadable' AS BLOB) WHERE run_id = 'r001'")
        connection.commit()
        found, unread = counted(path)
        assert (len(found["stats_calls"]), unread, new(path)) == (10, 1, ["r001"])
        connection.execute("UPDATE entries SET lines = ? WHERE run_id = 'r001'", (kept,))
        connection.commit()
    found, unread = counted(path)
    assert (len(found["stats_calls"]), unread, new(path)) == (15, 0, [])


def test_whoever_waits_hears_how_far_it_is(path):
    asyncio.run(write(path, some_runs(5)))
    told = []
    counted(path, told=lambda done, of: told.append((done, of)), batch=2)
    assert told == [(0, 5), (2, 5), (4, 5)]


KILLED = """
import os, signal, sys
from pathlib import Path
from treadle.stores.database import open_database
from treadle.stores.stats.keeping import keep_up
path, after = Path(sys.argv[1]), int(sys.argv[2])
connection = open_database(path)
def told(done, of):
    if done >= after:
        os.kill(os.getpid(), signal.SIGKILL)
def killed_in_the_middle_of_a_write(statement):
    if after < 0 and "stats_requests" in statement:
        os.kill(os.getpid(), signal.SIGKILL)
if after < 0:
    connection.set_trace_callback(killed_in_the_middle_of_a_write)
keep_up(connection, told if after >= 0 else None, batch=3)
"""


@pytest.mark.parametrize(("after", "done"), [(0, 0), (3, 3), (6, 6), (-1, 0)])
def test_a_process_that_is_killed_leaves_what_the_next_one_goes_on_from(path, after, done):
    asyncio.run(write(path, some_runs(8)))
    killed = subprocess.run([sys.executable, "-c", KILLED, str(path), str(after)], check=False, timeout=60)
    assert killed.returncode == -signal.SIGKILL
    with closing(open_database(path)) as connection:
        assert len(everything(connection)["stats_runs"]) == done
    found, _ = counted(path)
    assert len(found["stats_calls"]) == 40
    assert anew(path) == found


def test_two_who_count_at_once_count_everything_once(path):
    asyncio.run(write(path, some_runs(6)))
    with closing(open_database(path)) as one, closing(open_database(path)) as other:
        keep_up(one, lambda done, of: keep_up(other) if done == 2 else None, batch=2)
        assert len(everything(one)["stats_calls"]) == 30
        keep_up(one, lambda done, of: None)
    assert anew(path) == counted(path)[0]


def test_somebody_who_counts_what_another_has_read_already_counts_it_once(path):
    """One has read a run and not yet written what it found, when the other writes the same."""
    asyncio.run(write(path, some_runs(2)))

    with closing(open_database(path)) as one, closing(open_database(path)) as other:
        waiting = [True]

        def first_the_other(statement):
            if statement.startswith("BEGIN") and waiting.pop():
                keep_up(other)
                waiting.append(False)

        one.set_trace_callback(first_the_other)
        keep_up(one)
        one.set_trace_callback(None)
        assert len(everything(one)["stats_calls"]) == 10
    assert counted(path)[0] == anew(path)


def test_what_happens_in_a_run_while_it_is_counted_is_counted_the_next_time(path):
    asyncio.run(write(path, {"r1": a_run(one_round(1, "look"))}))
    with closing(open_database(path)) as connection:
        waiting = [True]

        def then_it_goes_on(statement):
            if statement.startswith("BEGIN") and waiting:
                waiting.clear()
                more = [Said(text="more", at=NOON), *one_round(2, "look"), Finished(stopped="answered", at=NOON)]
                append(path, "r1", 7, more)

        connection.set_trace_callback(then_it_goes_on)
        keep_up(connection)
        connection.set_trace_callback(None)
    assert new(path) == ["r1"]
    assert len(counted(path)[0]["stats_calls"]) == 2
    assert new(path) == []


def test_more_runs_than_are_written_at_once_are_all_counted(path):
    with closing(open_database(path)) as connection:
        runs = [(f"r{number}", "", "", "", "", "", "answered", 0.0, 0.0) for number in range(BATCH + 1)]
        connection.executemany("INSERT INTO runs VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)", runs)
        assert keep_up(connection) == 0
        assert len(everything(connection)["stats_runs"]) == BATCH + 1


def test_a_write_that_fails_leaves_nothing_half_done(path):
    asyncio.run(write(path, some_runs(2)))
    with closing(open_database(path)) as connection:
        connection.execute("ALTER TABLE stats_requests RENAME TO elsewhere")
        with pytest.raises(sqlite3.OperationalError):
            keep_up(connection)
        assert not connection.in_transaction
        connection.execute("ALTER TABLE elsewhere RENAME TO stats_requests")
        assert everything(connection)["stats_calls"] == []
    assert len(counted(path)[0]["stats_calls"]) == 10


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


def test_a_file_of_the_first_schema_is_opened_and_what_is_in_it_is_counted(path, tmp_path):
    asyncio.run(write(tmp_path / "new.db", some_runs(4)))
    with closing(sqlite3.connect(path)) as old:
        old.executescript(OLD)
        old.execute("ATTACH ? AS new", (str(tmp_path / "new.db"),))
        old.execute("INSERT INTO runs SELECT * FROM new.runs")
        old.execute("INSERT INTO entries SELECT * FROM new.entries")
        old.commit()
    found, _ = counted(path)
    assert found == counted(tmp_path / "new.db")[0]
    assert len(found["stats_calls"]) == 20
    append(
        path,
        "r000",
        len(some_runs(1)["r000"]),
        [Said(text="more", at=NOON), *one_round(9, "look"), Finished(stopped="answered", at=NOON)],
    )
    assert len(counted(path)[0]["stats_calls"]) == 21
    with closing(sqlite3.connect(path)) as connection:
        assert connection.execute("PRAGMA user_version").fetchone()[0] == SCHEMA_VERSION == 2


def test_a_process_of_the_first_schema_that_goes_on_writing_is_counted(path):
    """Its connection was open before the file was brought up; the triggers are the file's, so its runs are noted too."""
    with closing(sqlite3.connect(path)) as old:
        old.executescript(OLD)
        counted(path)
        old.execute("INSERT INTO runs VALUES ('r1', '', '', '', '', '', 'answered', 0, 0)")
        old.commit()
    assert new(path) == ["r1"]
