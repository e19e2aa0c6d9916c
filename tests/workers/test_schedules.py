"""Schedules by the clock: when an expression is next due, and what can't be gone by."""

import asyncio
import sys
from datetime import UTC, datetime

import pytest

from treadle.core.entries import Opened, Said
from treadle.core.errors import BadPrompt, SettingsError
from treadle.stores.journal import DatabaseJournal
from treadle.stores.queue import RunQueue
from treadle.stores.schedules import Schedule, Schedules
from treadle.stores.sqlite import SqliteDatabase
from treadle.workers.run_spec import RunSpec
from treadle.workers.schedules import ScheduledRun, new_schedule, next_due_time, scheduled_run_id, start_due_runs

pytest.importorskip("croniter", reason="croniter isn't installed")
WANTED = ScheduledRun(RunSpec("steps", "stepping:a"), "hello", "anna")


def at(text):
    return datetime.fromisoformat(text).replace(tzinfo=UTC).timestamp()


@pytest.mark.parametrize(
    ("cron", "zone", "now", "due"),
    [
        ("0 7 * * *", "UTC", "2026-11-16T06:00", "2026-11-16T07:00"),
        ("0 7 * * *", "UTC", "2026-11-16T07:00", "2026-11-17T07:00"),
        ("0 7 * * *", "Europe/Zurich", "2026-11-16T05:00", "2026-11-16T06:00"),
        ("0 7 * * *", "Europe/Zurich", "2026-07-16T05:30", "2026-07-17T05:00"),
        ("30 2 * * 1", "UTC", "2026-11-16T03:00", "2026-11-23T02:30"),
    ],
)
def test_an_expression_goes_by_the_clocks_of_a_place(cron, zone, now, due):
    assert next_due_time(cron, zone, at(now)) == at(due)


@pytest.mark.parametrize("cron", ["", "every day", "0 7 * *", "61 * * * *"])
def test_what_is_no_expression_is_said_so(cron):
    with pytest.raises(SettingsError, match=r"is no cron expression .* write five fields"):
        next_due_time(cron, "UTC", 0)


@pytest.mark.parametrize("zone", ["", "Nowhere/Land", "../etc"])
def test_what_is_no_place_is_said_so(zone):
    with pytest.raises(SettingsError, match="There is no time zone"):
        next_due_time("0 7 * * *", zone, 0)


def test_a_schedule_without_words_is_refused_before_it_is_kept():
    with pytest.raises(BadPrompt):
        new_schedule("daily", "0 7 * * *", "UTC", ScheduledRun(RunSpec("steps", "stepping:a"), " "), 0)


def test_what_is_due_is_begun_once_and_what_was_missed_is_not_made_up_for(tmp_path, caplog):
    async def story():
        database = SqliteDatabase(tmp_path / "treadle.db")
        schedules = Schedules(database, RunQueue(database))
        daily = new_schedule("daily", "0 7 * * *", "UTC", WANTED, at("2020-01-01T00:00"))
        await schedules.add(daily)
        await schedules.add(Schedule("broken", "0 7 * * *", "UTC", "no JSON", 5.0))
        begun = await start_due_runs(schedules), await start_due_runs(schedules)
        await schedules.remove("daily")
        await schedules.add(daily)
        begun = *begun, await start_due_runs(schedules)
        entries = await DatabaseJournal(database).read(scheduled_run_id(daily))
        due = (await schedules.all())[-1].at
        database.close()
        return begun, entries, due

    begun, (opened, said), due = asyncio.run(story())
    assert begun == (["daily-20200101T070000Z"], [], [])
    assert isinstance(opened, Opened)
    assert (opened.user, opened.agent, opened.origin["face"]) == ("anna", "steps", "worker")
    assert isinstance(said, Said)
    assert said.text == "hello"
    assert due > at("2026-01-01T00:00")
    assert "The schedule broken can't be gone by" in caplog.text


def test_without_croniter_there_is_a_sentence(monkeypatch):
    monkeypatch.setitem(sys.modules, "croniter", None)
    with pytest.raises(SettingsError, match=r"pip install 'treadle\[cluster\]'"):
        next_due_time("0 7 * * *", "UTC", 0)
