"""What is deleted is gone: no file of a home has a byte of it, nor has the next backup. Retention deletes what is old enough."""

import asyncio
import gzip
import time

import pytest
from msgspec.structs import replace

from attachments import png
from treadle import Agent, Image, Runs, ask, open_home, tool
from treadle.admin.backup import create_backup
from treadle.admin.deletion import delete_jobs
from treadle.admin.retention import DAY, apply_retention, find_expired, run_retention_daily
from treadle.assistants.courses.session_store import CourseExchange, CourseSessionStore
from treadle.core.entries import Finished, Opened, Said
from treadle.core.errors import RunTaken
from treadle.home import close_home
from treadle.jobs.store import Jobs
from treadle.models.scripted import calls
from treadle.settings.schema import RetentionSettings
from treadle.stores.blobs import FileBlobs
from treadle.testing import Scripted

WORD = "Marigold"
KEPT = "Rosemary"


@tool(effect="read", cache=60)
def look(name: str) -> str:
    """Look somebody up."""
    return f"{name} is ill. " * 2_000  # more than a conversation holds


@tool
def write(name: str) -> str:
    """Write to somebody."""
    return f"written to {name}"


@pytest.fixture
def home(tmp_path):
    home = open_home(tmp_path / "home")
    yield home
    close_home(home)


async def talks(home, run_id, word, *, attached=()):
    """A run with calls of all kinds about somebody: cached, large, on the audit, with an attached picture."""
    replies = (calls(("look", {"name": word})), calls(("write", {"name": word})), f"{word} was written to.")
    agent = Agent(Scripted(*replies), tools=[look, write], policy=[ask("nothing")], name="clerk")
    await agent.run([f"Write to {word}.", *attached], run_id=run_id, journal=home.services())


def bytes_of(folder):
    return b"".join([path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()])


def test_no_file_of_the_home_and_no_later_backup_has_a_byte_of_it(home, tmp_path):
    async def story():
        for number in range(12):
            await talks(home, f"kept-{number}", KEPT)
        await talks(home, "doomed", WORD)
        sessions = CourseSessionStore(home.folder)
        for run_id, word in (("doomed", WORD), ("kept-0", KEPT)):
            await sessions.keep(
                await sessions.begin("ann"), CourseExchange(f"Who is {word}?", f"{word} is ill.", run_id=run_id, at=1.0)
            )
        before = bytes_of(home.folder)
        await Runs(home).delete("doomed", by="ann")
        return before, await home.audit.verify(), [each.question for each in await sessions.list_sessions("ann")]

    before, verified, left = asyncio.run(story())
    assert WORD.encode() in before
    assert WORD.encode() not in bytes_of(home.folder)
    assert KEPT.encode() in bytes_of(home.folder)
    assert verified.holds
    assert left == [f"Who is {KEPT}?"]
    create_backup(home, tmp_path / "backup.tar.gz")
    assert WORD.encode() not in gzip.decompress((tmp_path / "backup.tar.gz").read_bytes())


def test_attached_files_go_with_the_last_run_that_has_them(home):
    shared, own = Image.from_bytes(png(2, 2)), Image.from_bytes(png(3, 3))

    async def story():
        await talks(home, "a", WORD, attached=[shared, own])
        await talks(home, "b", KEPT, attached=[shared])
        counts = []
        for run_id in ("a", "b"):
            await Runs(home).delete(run_id)
            counts.append(len([path for path in home.blobs.folder.rglob("*") if path.is_file()]))
        return counts

    assert asyncio.run(story()) == [1, 0]


def test_a_file_that_somebody_attaches_meanwhile_stays(tmp_path):
    blobs = FileBlobs(tmp_path)
    name = blobs.put(b"bytes")
    began = time.time() - 10
    assert not blobs.delete(name, began)
    assert blobs.get(name) == b"bytes"
    assert blobs.delete(name, time.time() + 10)
    assert blobs.delete(name, began)  # it is gone already


def ended(jobs, at=0.0):
    job = jobs.create("digger", "dig", WORD)
    (jobs.folder_of(job.id) / "checkpoints").mkdir()
    (jobs.folder_of(job.id) / "checkpoints" / "one").write_text(WORD)
    return jobs.save(replace(job, state="completed", finished_at=at))


def test_a_job_is_deleted_with_its_run_and_its_checkpoints_once_it_is_over(home):
    jobs = Jobs(home.folder)

    async def story():
        under_way, over = jobs.create("digger", "dig", KEPT), ended(jobs)
        await talks(home, over.id, WORD)
        with pytest.raises(RunTaken, match=f"isn't over: treadle jobs cancel {under_way.id}"):
            await delete_jobs(home, [under_way.id])
        await delete_jobs(home, [over.id])

    asyncio.run(story())
    assert [job.title for job in jobs.all()] == [KEPT]
    assert WORD.encode() not in bytes_of(home.folder)


# retention


async def kept_runs(home):
    """One that was over long ago, one that waits since then, and one of today."""
    now = time.time()
    for run_id, at, stopped in (
        ("old", now - 40 * DAY, "answered"),
        ("waits", now - 40 * DAY, "waiting"),
        ("new", now, "answered"),
    ):
        await home.journal.append(run_id, 0, [Opened(at=at), Said(text=WORD, at=at), Finished(stopped=stopped, at=at)])


def test_retention_deletes_what_is_over_and_older_than_it_may_be(home):
    async def story():
        await kept_runs(home)
        job = ended(Jobs(home.folder), time.time() - 8 * DAY)
        await home.journal.append(job.id, 0, [Opened(at=1.0), Finished(stopped="answered", at=1.0)])
        settings = RetentionSettings(runs_days=30)
        first = await apply_retention(home, settings, time.time())
        second = await apply_retention(home, replace(settings, jobs_days=7), time.time())
        left = sorted([run.run_id for run in await Runs(home).list()])
        records = [each.record for each in await home.audit.records()]
        return first, second, left, records, (await find_expired(home, settings, time.time())), job

    first, second, left, records, nothing, job = asyncio.run(story())
    assert ([run.run_id for run in first.runs], first.jobs) == (["old"], [])
    assert ([run.run_id for run in second.runs], [each.id for each in second.jobs]) == ([], [job.id])
    assert left == ["new", "waits"]
    assert [(record.stage, record.run_id, record.user) for record in records] == [
        ("deletion", "old", "retention"),
        ("deletion", job.id, "retention"),
    ]
    assert (nothing.runs, nothing.jobs) == ([], [])


def test_where_nothing_is_set_nothing_is_looked_at(home):
    def homes():
        raise AssertionError("nobody is to ask")

    async def story():
        async with run_retention_daily(RetentionSettings(), homes):
            await asyncio.sleep(0)

    asyncio.run(story())
    assert not home.folder.exists()


def test_a_server_applies_it_when_it_starts(home):
    async def story():
        await kept_runs(home)
        async with run_retention_daily(RetentionSettings(runs_days=30), lambda: [home]):
            while "old" in [run.run_id for run in await Runs(home).list()]:  # noqa: ASYNC110 - nobody tells
                await asyncio.sleep(0.01)

    asyncio.run(asyncio.wait_for(story(), 60))
