"""Homes of every format that there has been, made by the code of their time (`formats/README.md`), opened by today's."""

import asyncio
import shutil
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
from msgspec.structs import replace

from cli.running import treadle_here as treadle
from treadle import Agent, Answer, Runs, ask, open_home, tool
from treadle.core.entries import Said
from treadle.home import close_home
from treadle.jobs.store import Jobs
from treadle.loop.state import replay
from treadle.stores.migration import format_of, migrations_of
from treadle.stores.queue import RunQueue
from treadle.stores.schedules import Schedules
from treadle.stores.sqlite import SCHEMA_VERSION, open_sqlite
from treadle.testing import Scripted

FORMATS = Path(__file__).parent / "formats"
HOMES = sorted(path.parent.name for path in FORMATS.glob("*/treadle.sql"))
STATUSES = {
    "answered": "answered",
    "nested": "answered",
    "waiting": "waiting",
    "killed": "open",
    "secret": "answered",
    "asleep": "waiting",
}
SECRET = "postgres://ann:correct-horse-battery@db.example/shop"
ordered: list[int] = []


@tool(effect="read")
def stock(item: str) -> int:
    """How many there are."""
    return 40


@tool(effect="write", retry="once")
def order(item: str, count: int) -> str:
    """Order more."""
    ordered.append(count)
    return f"ordered {count}"


def shop(*says):
    return Agent(Scripted(*says), tools=[stock, order], policy=[ask("order")], name="shop")


@pytest.fixture(params=HOMES)
def name(request):
    return request.param


@pytest.fixture
def folder(name, tmp_path):
    """A home as it was kept."""
    ordered.clear()
    kept = tmp_path / "data"
    shutil.copytree(FORMATS / name, kept, ignore=shutil.ignore_patterns("*.sql"))
    for path in (kept, *kept.glob("*")):
        path.chmod(0o700 if path.is_dir() else 0o600)
    with closing(sqlite3.connect(kept / "treadle.db")) as connection:
        connection.executescript((FORMATS / name / "treadle.sql").read_text())
    (kept / "treadle.db").chmod(0o600)
    return kept


@pytest.fixture
def home(folder):
    home = open_home(folder)
    yield home
    close_home(home)


def number_of(folder):
    with closing(sqlite3.connect(folder / "treadle.db")) as connection:
        return format_of(connection)


def dump(folder):
    with closing(sqlite3.connect(folder / "treadle.db")) as connection:
        return [*connection.iterdump()], format_of(connection), migrations_of(connection)


def tables(path):
    with closing(sqlite3.connect(path)) as connection:
        names = {row[0] for row in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")} - {"migrations"}
        return {name: connection.execute("SELECT * FROM pragma_table_info(?)", (name,)).fetchall() for name in names}


async def at_the_time(home):
    """The stores as of when they were kept: an approval that is too old isn't taken."""
    runs = await Runs(home).list()
    entries = [entry for info in runs for entry in await home.journal.read(info.run_id)]
    last = max(entry.at for entry in entries)
    return replace(home.services(), clock=lambda: last + 1)


def test_every_format_that_there_has_been_is_here():
    numbers = {int((FORMATS / name / "treadle.sql").read_text().rstrip().rpartition("=")[2][:-1]) for name in HOMES}
    assert numbers == {1, 2, 4, 5, 6, 7, 8, 9, 10, 11, SCHEMA_VERSION}  # there has been no 3


def test_opening_a_home_migrates_it_and_says_so(folder, tmp_path):
    before = number_of(folder)
    open_sqlite(folder / "treadle.db").close()
    open_sqlite(tmp_path / "new.db").close()
    assert tables(folder / "treadle.db") == tables(tmp_path / "new.db")
    _, number, migrations = dump(folder)
    assert number == SCHEMA_VERSION
    assert [(each.from_format, each.to_format) for each in migrations] == ([] if before == number else [(before, number)])


def test_opening_it_again_changes_nothing(folder):
    open_sqlite(folder / "treadle.db").close()
    once = dump(folder)
    open_sqlite(folder / "treadle.db").close()
    assert dump(folder) == once


def test_runs_are_listed_and_replayed(home):
    async def story():
        infos = await Runs(home).list()
        return {info.run_id: info.status for info in infos}, {info.run_id: await home.journal.read(info.run_id) for info in infos}

    statuses, journals = asyncio.run(story())
    assert statuses.items() <= STATUSES.items()
    assert statuses.keys() >= {"answered", "waiting", "killed"}
    state = replay(journals["answered"])
    assert state.finished is not None
    assert (state.finished.stopped, state.finished.text) == ("answered", "We have 40 of them.")
    assert [part.content for message in state.history for part in message.parts if hasattr(part, "content")] == ["40"]
    assert [call.name for call in replay(journals["waiting"]).calls] == ["order"]
    if "secret" in journals:  # encrypted in some, under a key beside them
        assert [entry.text for entry in journals["secret"] if isinstance(entry, Said)] == [f"It is {SECRET} here."]


def test_runs_are_shown_with_those_inside_of_them(folder):
    shown = treadle(folder.parent, "show", "answered")
    assert (shown.code, "We have 40 of them." in shown.out) == (0, True)
    listed = {info["run_id"] for info in treadle(folder.parent, "runs", "--json").json}
    if "nested" in listed:
        inside = treadle(folder.parent, "show", "nested", "--json").json["nested"]
        assert [entry["text"] for nested in inside for entry in nested["entries"] if entry["kind"] == "finished"] == ["Forty."]


def test_what_waits_is_answered_and_goes_on_to_its_end(home):
    async def story():
        services = await at_the_time(home)
        (approval,) = await Runs(services).approvals("waiting")
        await Runs(services).approve("waiting", approval.call_id, by="ann", digest=approval.digest)
        return approval, await shop("Five are on their way.").resume("waiting", journal=services)

    approval, result = asyncio.run(story())
    assert (approval.name, approval.arguments) == ("order", {"item": "A-113", "count": 5})
    assert (result.stopped, result.output, ordered) == ("answered", "Five are on their way.", [5])


def test_what_waits_for_an_event_goes_on_with_it(name, home):
    async def story():
        services = await at_the_time(home)
        await Runs(services).send_event("delivered", "yes", key="7")
        return await shop("It has come.").wake_due(journal=services)

    if "asleep" in (FORMATS / name / "treadle.sql").read_text():
        (woken,) = asyncio.run(story())
        assert (woken.output, woken.calls[0].result.content) == ("It has come.", "yes")


def test_a_call_whose_process_died_is_asked_about_and_never_repeated(home):
    async def story():
        services = await at_the_time(home)
        assert (await shop("Done.").resume("killed", journal=services)).stopped == "waiting"
        (asked,) = await Runs(services).approvals("killed")
        assert asked.unclear
        await Runs(services).answer("killed", asked.call_id, Answer(settled="happened"), digest=asked.digest)
        return await shop("It is ordered.").resume("killed", journal=services)

    assert (asyncio.run(story()).output, ordered) == ("It is ordered.", [])


def test_the_audit_holds_and_is_added_to(home):
    async def story():
        services = await at_the_time(home)
        before = await home.audit.verify()
        await shop("Nothing.").run("Anything else?", run_id="answered", journal=services)
        (approval,) = await Runs(services).approvals("waiting")
        await Runs(services).deny("waiting", approval.call_id, "Not now.")
        await shop("As you like.").resume("waiting", journal=services)
        return before, await home.audit.verify()

    before, after = asyncio.run(story())
    assert (before.broken_at, before.holds, before.records >= 2) == (None, True, True)
    assert (after.holds, after.reason, after.records) == (True, "", before.records + 1)


def test_jobs_and_schedules_are_kept(name, home):
    jobs = Jobs(home.folder).all()
    assert [(job.kind, job.title) for job in jobs] == [("debug", "Find the bug")] * (FORMATS / name / "jobs").exists()
    schedules = asyncio.run(Schedules(home.database, RunQueue(home.database)).all())
    has_schedules = "CREATE TABLE schedules" in (FORMATS / name / "treadle.sql").read_text()
    assert [each.cron for each in schedules] == ["0 7 * * *"] * has_schedules


def test_the_doctor_says_what_will_be_and_what_was_migrated(folder):
    before = number_of(folder)

    def formats():
        found = treadle(folder.parent, "doctor", "--json").json
        return [(each["state"], each["says"], each["do"]) for each in found if each["about"] == "format"]

    if before == SCHEMA_VERSION:
        assert formats() == []
        return
    ((state, says, do),) = formats()
    assert (state, says) == ("note", f"treadle.db has format {before}; this Treadle uses format {SCHEMA_VERSION}.")
    assert "treadle backup" in do
    assert number_of(folder) == before  # looking changes nothing
    assert treadle(folder.parent, "runs").code == 0
    ((state, says, do),) = formats()
    assert (state, do) == ("fine", "")
    assert says.startswith(f"treadle.db was migrated from format {before} to {SCHEMA_VERSION} on 20")
