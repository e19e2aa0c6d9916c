"""Jobs as tasks of a server: begun once, gone on with when it is there again, and whatever goes wrong stays with the job."""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest
from msgspec.structs import replace

from assistants.coding.stage import asks
from treadle.assistant import Host, Job, Jobs
from treadle.assistants.coding import assistant
from treadle.assistants.coding.job_kinds import SERVER_ORIGIN, CodingJobRunner
from treadle.assistants.coding.routes import routes
from treadle.home import close_home, open_home
from treadle.testing import Scripted

ANSWER = asks(("give_answer", {"severity": "low", "category": "bug", "summary": "So.", "root_cause": "That."}))


def carried(place: Path, act: Callable[[Host, Jobs], Awaitable[None]], *replies: object) -> Jobs:
    """Do something with a host whose model gives these replies."""
    model = Scripted(*replies)  # pyright: ignore[reportArgumentType]

    async def same() -> Scripted:
        return model

    home = open_home(place / "home")
    jobs = Jobs(home.folder)
    try:
        asyncio.run(act(Host(home, same), jobs))  # pyright: ignore[reportArgumentType]
    finally:
        close_home(home)
    return jobs


def triage(jobs: Jobs, place: Path, **more: object) -> Job:
    (place / "work").mkdir(exist_ok=True)
    begun = {"given": {"description": "It breaks."}, "workspace": str(place / "work"), "origin": SERVER_ORIGIN}
    return jobs.create("coding", "triage", "It breaks", **{**begun, **more})


async def until_over(jobs: Jobs, job: Job) -> None:
    for _ in range(2_000):
        if jobs.get(job.id).is_over:
            return
        await asyncio.sleep(0.01)
    raise AssertionError(f"it never ended: {jobs.get(job.id)}")


def test_a_server_that_starts_goes_on_at_once_with_what_was_under_way(tmp_path: Path) -> None:
    async def act(host: Host, jobs: Jobs) -> None:
        lost, pending = triage(jobs, tmp_path, state="running"), triage(jobs, tmp_path)
        routes(host)
        await until_over(jobs, lost)
        await until_over(jobs, pending)

    jobs = carried(tmp_path, act, ANSWER, ANSWER)
    assert [(job.state, job.why) for job in jobs.all()] == [("completed", ""), ("completed", "")]


def test_what_another_process_has_and_what_waits_for_a_person_is_left_alone(tmp_path: Path) -> None:
    async def act(host: Host, jobs: Jobs) -> None:
        carrier = CodingJobRunner(host)
        waits, typed = triage(jobs, tmp_path, state="waiting"), triage(jobs, tmp_path, state="running", origin={})
        odd = triage(jobs, tmp_path)
        jobs.save(replace(odd, kind="deploy"))
        held = triage(jobs, tmp_path)
        with jobs.held(held.id):
            carrier.take_up([held, *[jobs.get(job.id) for job in (waits, typed, odd)]])
            carrier.begin(held)
            await asyncio.sleep(0.5)  # it has asked for the lock in vain
        await carrier.close()

    jobs = carried(tmp_path, act)
    assert sorted(job.state for job in jobs.all()) == ["pending", "pending", "waiting", "waiting"]


def test_a_job_is_carried_out_once_however_often_it_is_begun(tmp_path: Path) -> None:
    async def act(host: Host, jobs: Jobs) -> None:
        carrier, job = CodingJobRunner(host), triage(jobs, tmp_path)
        carrier.begin(job)
        carrier.begin(job)
        await until_over(jobs, job)
        await carrier.close()
        carrier.begin(triage(jobs, tmp_path))

    jobs = carried(tmp_path, act, ANSWER)
    assert [job.state for job in jobs.all()] == ["pending", "completed"]


def test_a_mistake_of_ours_is_in_the_log_and_the_job_has_failed(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    async def act(host: Host, jobs: Jobs) -> None:
        async def broken() -> Scripted:
            raise ZeroDivisionError("nobody foresaw it")

        carrier, job = CodingJobRunner(replace(host, model=broken)), triage(jobs, tmp_path)
        carrier.begin(job)
        await until_over(jobs, job)
        await asyncio.sleep(0.05)
        await carrier.close()

    with caplog.at_level(logging.ERROR, "treadle.coding"):
        jobs = carried(tmp_path, act)
    (job,) = jobs.all()
    assert (job.state, job.why) == ("failed", "ZeroDivisionError: nobody foresaw it")
    assert f"Job {job.id} failed" in caplog.text


def test_in_a_conversation_only_the_owner_has_commands_that_arent_contained(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("TREADLE_CONFIG", str(tmp_path / "own.toml"))
    (tmp_path / "own.toml").write_text("")
    tools = assistant.toolsets
    assert tools is not None

    async def act(host: Host, jobs: Jobs) -> None:
        assert len(tools(replace(host, shared=True))) == 1
        (tmp_path / "own.toml").write_text("[commands]\nsandbox = false\n")
        assert (len(tools(host)), tools(replace(host, shared=True))) == (1, ())

    carried(tmp_path, act)
