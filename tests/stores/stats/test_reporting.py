"""What is counted is added up as somebody asks."""

import asyncio
import time
from contextlib import closing

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stores.places import place_of
from stores.stats.journals import DAY, NOON, a_run, one_round, write
from treadle.core.errors import JournalDamaged
from treadle.core.requests import Usage
from treadle.stores.sqlite import SqliteDatabase
from treadle.stores.stats.aggregation import update_stats
from treadle.stores.stats.store import DatabaseStats, build_report, empty_report
from treadle.stores.stats.values import GROUP_BYS, OUTCOMES, CallDurations, StatsQuery, UsageTotals, classify_problem

PRICED = Usage(1, 0, 100, 20, 60, cost=0.25)
RUNS = {
    "r1": a_run(
        one_round(1, "read_file", seconds=0.1),
        one_round(2, "read_file", problem="raised", seconds=0.2, usage=PRICED),
        one_round(3, "read_mail", cached=True),
        one_round(4, "pay", problem="denied"),
    ),
    "r2": a_run(
        one_round(1, "read_file", NOON + DAY, seconds=0.3),
        one_round(2, "pay", NOON + DAY, problem="cancelled", seconds=0.0),
        agent="helper",
        model="n",
        user="bob",
        at=NOON + DAY,
    ),
}


@pytest.fixture(scope="module", params=["sqlite", "postgres"])
def place(request, tmp_path_factory):
    place = place_of(request.param, tmp_path_factory.mktemp("asking"), request)
    asyncio.run(write(place.open(), RUNS))
    yield place
    place.close()


@pytest.fixture
def fresh(kind, tmp_path, request):
    fresh = place_of(kind, tmp_path, request)
    yield fresh
    fresh.close()


@pytest.fixture
def ask(place):
    stats = DatabaseStats(place.open())
    return lambda by="tool", **picked: asyncio.run(stats.ask(StatsQuery(by, **picked)))


def test_tools_are_told_apart_most_calls_first(ask):
    rows = ask().rows
    assert [(row.key, row.calls, row.fine, row.failed, row.denied, row.cancelled, row.cached) for row in rows] == [
        ("read_file", 3, 2, 1, 0, 0, 0),
        ("pay", 2, 0, 0, 1, 1, 0),
        ("read_mail", 1, 1, 0, 0, 0, 1),
    ]
    assert [row.problems for row in rows] == [{"raised": 1}, {"cancelled": 1, "denied": 1}, {}]
    assert [row.tokens for row in rows] == [100 + 120 + 100, 200, 100]
    assert [row.spent for row in rows] == [None, None, None]


def test_durations_are_those_that_calls_really_took(ask):
    took = {row.key: row.seconds for row in ask().rows}
    assert took["read_file"] == CallDurations(3, 0.2, 0.3, pytest.approx(0.6))
    assert (took["pay"], took["read_mail"]) == (None, None)


def test_everything_together_is_more_than_calls(ask):
    total = ask().total
    assert (total.calls, total.failed, total.problems) == (6, 1, {"raised": 1, "denied": 1, "cancelled": 1})
    assert total.seconds == CallDurations(3, 0.2, 0.3, pytest.approx(0.6))
    assert total.spent == UsageTotals(2, 8, 5 * 90 + 100 + 2 * 40, 5 * 10 + 20 + 2 * 2, 60, 0.25, 7)


@pytest.mark.parametrize(
    ("by", "keys"),
    [("assistant", ["clerk", "helper"]), ("model", ["m", "n"]), ("user", ["ann", "bob"]), ("day", ["2026-11-05", "2026-11-06"])],
)
def test_assistants_models_users_and_days_have_their_own(ask, by, keys):
    rows = ask(by).rows
    assert [(row.key, row.calls, row.spent.runs, row.spent.requests) for row in rows] == [(keys[0], 4, 1, 5), (keys[1], 2, 1, 3)]
    assert [row.spent.cost for row in rows] == [0.25, None]
    assert ask(by).total == ask().total


@pytest.mark.parametrize(
    ("picked", "calls"),
    [
        ({"assistant": "helper"}, 2),
        ({"assistant": "nobody"}, 0),
        ({"model": "m"}, 4),
        ({"user": "bob"}, 2),
        ({"since": NOON + 1}, 2),
        ({"until": NOON + 1}, 4),
        ({"since": NOON, "until": NOON}, 0),
        ({"since": NOON, "until": NOON + 1, "assistant": "clerk", "tool": "read_*"}, 3),
        ({"tool": "pay"}, 2),
        ({"tool": "*_m?il"}, 1),
        ({"tool": "[pr]*"}, 0),
        ({"tool": "Pay"}, 0),
    ],
)
@pytest.mark.parametrize("by", GROUP_BYS)
def test_what_is_picked_is_counted_and_nothing_else(ask, by, picked, calls):
    found = ask(by, **picked)
    assert (found.total.calls, sum(row.calls for row in found.rows)) == (calls, calls)


def test_where_tools_are_picked_nothing_is_said_of_requests(ask):
    found = ask("assistant", tool="read_*")
    assert found.total.spent is None
    assert [row.spent for row in found.rows] == [None, None]


def test_an_assistant_that_calls_no_tools_is_there_too(fresh):
    asyncio.run(write(fresh.open(), {"r1": a_run(agent="reader")}))
    stats = DatabaseStats(fresh.open())
    (row,) = asyncio.run(stats.ask(StatsQuery("assistant"))).rows
    assert (row.key, row.calls, row.spent.requests, row.seconds) == ("reader", 0, 1, None)
    assert asyncio.run(stats.ask(StatsQuery("tool"))).rows == ()


def test_days_are_those_of_this_place(ask, monkeypatch):
    for zone, days in (("UTC", ["2026-11-05", "2026-11-06"]), ("Pacific/Auckland", ["2026-11-06", "2026-11-07"])):
        monkeypatch.setenv("TZ", zone)
        time.tzset()
        assert [row.key for row in ask("day").rows] == days
    monkeypatch.undo()
    time.tzset()


def test_what_happened_at_different_hours_of_a_day_is_one_row(fresh):
    rounds = [one_round(number, "look", NOON + 1200 * number) for number in range(5)]
    asyncio.run(write(fresh.open(), {"r1": a_run(*rounds), "r2": a_run(at=NOON + 3600)}))
    (row,) = asyncio.run(DatabaseStats(fresh.open()).ask(StatsQuery("day"))).rows
    assert (row.key, row.calls, row.spent.runs, row.spent.requests, row.seconds.timed) == ("2026-11-05", 5, 2, 7, 5)


def test_looking_where_nothing_was_ever_kept_makes_no_file(fresh):
    found = asyncio.run(DatabaseStats(fresh.open()).ask(StatsQuery()))
    assert found == empty_report(StatsQuery())
    assert (found.total.calls, found.total.spent, found.rows) == (0, UsageTotals(), ())
    assert empty_report(StatsQuery(tool="x")).total.spent is None
    assert not fresh.path.parent.exists()


def test_everything_can_be_counted_anew(fresh):
    asyncio.run(write(fresh.open(), RUNS))
    stats = DatabaseStats(fresh.open())
    first = asyncio.run(stats.ask(StatsQuery()))
    told = []
    assert asyncio.run(stats.ask(StatsQuery(), told=lambda done, of: told.append(of))) == first
    assert told == []
    assert asyncio.run(stats.ask(StatsQuery(), anew=True, told=lambda done, of: told.append(of))) == first
    assert told == [2]


def test_a_file_that_is_damaged_is_told_in_a_sentence(tmp_path):
    (tmp_path / "t.db").write_bytes(b"this is no database" * 100)
    with pytest.raises(JournalDamaged, match="Move it aside"):
        asyncio.run(DatabaseStats(SqliteDatabase(tmp_path / "t.db")).ask(StatsQuery()))


def test_many_who_ask_at_once_get_the_same_answer(place):
    async def story():
        stats = DatabaseStats(place.open())
        return await asyncio.gather(*[stats.ask(StatsQuery()) for _ in range(8)])

    first, *others = asyncio.run(story())
    assert others == [first] * 7


@given(st.lists(st.floats(0.001, 1000), min_size=1, max_size=60))
def test_the_median_and_the_95th_percentile_are_times_with_as_many_at_or_below_them(times):
    with closing(open_memory()) as connection:
        rows = [(0.0, 1, "t", None, 0, seconds, 0, 0) for seconds in times]
        connection.executemany("INSERT INTO stats_calls VALUES (?, ?, ?, ?, ?, ?, ?, ?)", rows)
        found = build_report(connection, StatsQuery()).rows[0].seconds
    ordered = sorted(times)
    for value, share in ((found.median, 0.5), (found.p95, 0.95)):
        assert value in times
        assert sum(each <= value for each in ordered) >= share * len(times)
        assert sum(each < value for each in ordered) < share * len(times)
    assert found.timed == len(times)


def open_memory():
    import sqlite3

    from treadle.stores.sqlite import SCHEMA

    connection = sqlite3.connect(":memory:")
    connection.executescript(SCHEMA)
    connection.execute("INSERT INTO stats_who VALUES (1, '', '', '')")
    return connection


@given(st.lists(st.tuples(st.sampled_from("abc"), st.sampled_from([None, "raised", "denied", "limit", "cancelled"]))))
def test_outcomes_add_up_to_calls_and_rows_to_the_total(facts):
    with closing(open_memory()) as connection:
        rows = [(0.0, 1, tool, problem, 0, None, 1, 1) for tool, problem in facts]
        connection.executemany("INSERT INTO stats_calls VALUES (?, ?, ?, ?, ?, ?, ?, ?)", rows)
        found = build_report(connection, StatsQuery())
    for row in (*found.rows, found.total):
        assert sum(getattr(row, name) for name in OUTCOMES) == row.calls
        assert sum(row.problems.values()) == row.calls - row.fine
    assert found.total.calls == sum(row.calls for row in found.rows) == found.total.tokens == len(facts)


def test_every_kind_of_problem_has_its_outcome():
    assert {classify_problem(kind) for kind in ("denied", "limit", "repeat")} == {"denied"}
    assert {classify_problem(kind) for kind in ("raised", "timeout", "invalid", "unknown_tool", "interrupted")} == {"failed"}
    assert (classify_problem(None), classify_problem("cancelled")) == ("fine", "cancelled")


def test_counting_needs_no_more_than_what_is_there(place):
    with place.open().apart() as connection:
        assert update_stats(connection, words=place.words) == 0
        assert build_report(connection, StatsQuery(), unread=3, words=place.words).unread == 3
