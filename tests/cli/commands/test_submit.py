"""`treadle submit` and `treadle schedules`: what is queued, and what can't be. Carrying it out is tested with workers."""

import re

import pytest

from treadle.cli.commands.submit import parse_time
from treadle.core.calls import Allow, Call, Written
from treadle.core.entries import Judged, Opened, Replied, Said, Started
from treadle.core.errors import SettingsError
from treadle.stores.journal import DatabaseJournal
from working import Stage


@pytest.fixture
def stage(tmp_path):
    stage = Stage(tmp_path)
    yield stage
    stage.close()


def queued(stage):
    database = stage.database()
    with database.apart() as connection:
        return connection.execute("SELECT run_id, owner, model, at FROM queue").fetchall()


def test_a_run_is_written_down_and_its_id_printed_at_once(stage):
    ran = stage.treadle(
        "submit",
        "-a",
        "steps",
        "hello",
        "there",
        "--user",
        "anna",
        "-i",
        "Be brief.",
        "--no-person",
        "--at",
        "2036-01-01T00:00+00:00",
    )
    assert re.fullmatch(r"[0-9a-f]{16}\n", ran.out), ran.err
    run_id = ran.out.strip()
    opened, said = stage.entries(run_id)
    assert isinstance(opened, Opened)
    assert isinstance(said, Said)
    assert (opened.user, said.text) == ("anna", "hello there")
    assert opened.origin == {
        "face": "worker",
        "assistant": "steps",
        "model": "stepping:a",
        "base_url": "",
        "instructions": "Be brief.",
        "workspace": str(stage.home),
        "attended": False,
    }
    assert queued(stage) == [(run_id, "anna", "stepping:a", 2082758400.0)]


def test_what_comes_on_stdin_is_a_message_too_and_json_can_be_had(stage):
    ran = stage.treadle("submit", "-a", "steps", "-", "--json", "-m", "stepping:b", stdin="from a pipe")
    run_id = ran.json["run_id"]
    assert stage.entries(run_id)[1].text == "from a pipe"
    assert queued(stage)[0][2] == "stepping:b"


def test_schedules_are_made_listed_and_removed(stage):
    assert stage.treadle("schedules").err == "There are no schedules.\n"
    made = stage.treadle("submit", "-a", "steps", "hello", "--every", "0 7 * * *", "--zone", "Europe/Zurich")
    assert re.fullmatch(r"steps-[0-9a-f]{6}\n", made.out), made.err
    assert "First due" in made.err
    name = made.out.strip()
    again = stage.treadle("submit", "-a", "steps", "hello", "--every", "0 7 * * *", "--name", name)
    assert (again.code, again.err) == (
        2,
        f"treadle: There is a schedule {name} already: choose another --name, or remove it first.\n",
    )
    listed = stage.treadle("schedules").out
    assert re.search(rf"{name}.*0 7 \* \* \*.*Europe/Zurich.*steps.*hello", listed)
    (one,) = stage.treadle("schedules", "list", "--json").json
    assert (one["name"], one["wanted"]["message"]) == (name, "hello")
    assert stage.treadle("schedules", "remove", name, "--json").json == {"removed": name}
    gone = stage.treadle("schedules", "remove", name)
    assert (gone.code, gone.err) == (2, f"treadle: There is no schedule {name!r}. `treadle schedules` lists them.\n")
    assert queued(stage) == []


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("hello",), "Say whom to ask: -a NAME"),
        (("-a", "nobody", "hello"), "There is no assistant 'nobody'."),
        (("-a", "steps"), "The prompt is empty"),
        (("-a", "steps", "hello", "--at", "noon"), "'noon' isn't a time"),
        (("-a", "steps", "hello", "--every", "daily"), "'daily' is no cron expression"),
        (("-a", "steps", "hello", "--every", "0 7 * * *", "--at", "1h"), "--every says when: leave --at and --wait out."),
        (("--agent", "a:b", "-i", "Be brief.", "hello"), "--agent has its own model"),
        (("--agent", "no agent", "hello"), "'no agent' names no agent; write module:name"),
        (("-a", "steps", "hello", "--run-id", "r1", "--every", "0 7 * * *"), "--run-id is for a new run"),
        (("--resume", "r1", "hello"), "--resume continues a run as it was submitted"),
    ],
)
def test_what_cannot_be_queued_is_said_in_a_sentence(stage, words, said):
    ran = stage.treadle("submit", *words)
    assert ran.code == 2
    assert said in ran.err


def test_only_runs_that_stopped_short_are_queued_again(stage):
    run_id = stage.submit("hello")
    assert stage.treadle("submit", "--resume", run_id, "--json").json == {"run_id": run_id}
    assert stage.treadle("ask", "-m", "stepping:a", "hello", "--run-id", "mine").code == 0
    other = stage.treadle("submit", "--resume", "mine")
    assert (other.code, "Run mine wasn't submitted to workers" in other.err) == (2, True)
    elsewhere = stage.treadle("resume", run_id)
    assert (elsewhere.code, f"treadle submit --resume {run_id}\n" in elsewhere.err) == (2, True)
    missing = stage.treadle("submit", "--resume", "nothing")
    assert (missing.code, "There is no run nothing here" in missing.err) == (1, True)


def test_a_run_that_is_over_is_not_queued_again(stage):
    run_id = stage.submit("hello")
    worker = stage.worker("--at-once", "1")
    stage.until_over([run_id])
    over = stage.treadle("submit", "--resume", run_id)
    assert (over.code, f"Run {run_id} is over (answered), so there is nothing to go on with." in over.err) == (2, True)
    assert "1 at once. Ctrl-C stops it." in stage.said(worker)
    assert stage.stop(worker) == 0


def test_times_are_read_as_they_are_typed():
    assert parse_time(None) == 0.0
    assert parse_time("10m", now=1000.0) == 1600.0
    assert parse_time("2d", now=0.0) == 172800.0
    assert parse_time("2026-11-16T07:00:00+00:00") == 1794812400.0
    with pytest.raises(SettingsError):
        parse_time("99999-01-01")


def test_a_call_that_is_denied_queues_its_run_too(stage):
    run_id = stage.submit("buy it")
    worker = stage.worker()
    stage.until_over([run_id], "waiting")
    (call,) = [part.id for entry in stage.entries(run_id) for part in getattr(entry, "parts", ())]
    ran = stage.treadle("deny", run_id, call, "--json")
    assert ran.json["approved"] is False
    stage.until_over([run_id])
    assert stage.lines("bought", run_id) == []
    assert stage.stop(worker) == 0


@pytest.mark.parametrize(("said", "times"), [("happened", 0), ("again", 1)])
def test_what_a_person_says_became_of_a_call_queues_its_run_too(stage, said, times):
    """The run is as a worker left it that was killed while it bought something."""
    run_id, call = stage.submit("buy it"), Call("c1", "buy", {})
    begun = [Replied(parts=(Written("c1", "buy", "{}"),)), Judged(call=call, verdict=Allow()), Started(call_id="c1", key="k")]

    async def left(database):
        await DatabaseJournal(database).append(run_id, 2, begun)

    stage.looked(left)
    worker = stage.worker()
    stage.until_over([run_id], "waiting")
    assert f"treadle settle {run_id} c1 again" in stage.treadle("approve", run_id).err
    assert "It is queued: a worker continues it." in stage.treadle("settle", run_id, "c1", said).out
    stage.until_over([run_id])
    assert len(stage.lines("bought", run_id)) == times
    assert stage.stop(worker) == 0
