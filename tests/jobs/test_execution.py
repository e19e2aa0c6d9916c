"""A job is carried out by its work, kept how it ended, stopped when somebody wants that, and taken up where it was."""

import asyncio
from pathlib import Path
from typing import Any

import pytest
from msgspec import Struct

from treadle.agent.agent import Agent
from treadle.core.errors import SettingsError, TreadleError
from treadle.core.requests import Usage
from treadle.core.seams import Model
from treadle.home import close_home, open_home
from treadle.jobs.execution import JobContext, JobKind, JobResult, execute_job, parse_job_input
from treadle.jobs.store import Job, Jobs, JobTaken
from treadle.models.scripted import Scripted, ScriptedReply, calls
from treadle.plugins.assistant import Host
from treadle.tools.tool import tool


class Given(Struct, frozen=True):
    words: str = "Go."


@tool(effect="write")
def stamp(number: int) -> str:
    """Stamp it."""
    return f"stamped {number}"


async def asked(desk: JobContext, given: Given) -> JobResult:
    agent = Agent(await desk.host.model(), tools=[stamp], policy=lambda *_: _allow())
    result = await desk.ask(agent, given.words)
    return JobResult(
        "completed",
        {
            "text": result.text,
            "rounds": await desk.rounds(),
            "tokens": (await desk.usage()).total_tokens,
            "before": await desk.rounds(0),
        },
    )


def _allow() -> Any:
    from treadle.core.calls import Allow

    return Allow()


def done(home_folder: Path, run: Any, model: Model | None = None, job: Job | None = None, **given: Any) -> Job:
    """A job, carried out."""

    async def same() -> Model:
        return model or Scripted()

    home = open_home(home_folder)
    try:
        jobs = Jobs(home.folder)
        job = job or jobs.create("test", "work", "work", given=given)
        return asyncio.run(execute_job(job.id, JobKind("work", "work", Given, run), Host(home, same)))
    finally:
        close_home(home)


def test_what_came_of_it_is_kept(tmp_path: Path) -> None:
    model = Scripted(calls(("stamp", {"number": 1})), ScriptedReply("Done.", usage=Usage(requests=1, input_tokens=7)))
    job = done(tmp_path, asked, model, words="Stamp.")
    assert (job.state, job.output) == ("completed", {"text": "Done.", "rounds": 2, "tokens": 7, "before": 0})
    assert Jobs(tmp_path).get(job.id) == job
    assert 0 < job.created_at <= job.started_at <= job.finished_at


def test_a_run_that_was_over_is_not_asked_again(tmp_path: Path) -> None:
    turns: list[int] = []

    async def twice(desk: JobContext, given: Given) -> JobResult:
        agent = Agent(await desk.host.model())
        first = await desk.ask(agent, "One.")
        again = await desk.ask(agent, "One.")
        second = await desk.ask(agent, "Two.", 1)
        turns.append(await desk.turns())
        return JobResult("completed", {"texts": [first.text, again.text, second.text]})

    model = Scripted("a", "b")
    assert done(tmp_path, twice, model).output == {"texts": ["a", "a", "b"]}
    assert (turns, len(model.requests)) == ([2], 2)


def test_a_sentence_that_is_raised_fails_it_and_a_mistake_is_raised_too(tmp_path: Path) -> None:
    async def refuses(desk: JobContext, given: Given) -> JobResult:
        raise TreadleError("There is no such folder.")

    async def mistaken(desk: JobContext, given: Given) -> JobResult:
        raise ZeroDivisionError("oh")

    job = done(tmp_path, refuses)
    assert (job.state, job.why) == ("failed", "There is no such folder.")
    with pytest.raises(ZeroDivisionError):
        done(tmp_path, mistaken)
    failed = Jobs(tmp_path).all()[0]
    assert (failed.state, failed.why) == ("failed", "ZeroDivisionError: oh")


def test_a_job_that_is_over_is_not_done_again(tmp_path: Path) -> None:
    counted: list[int] = []

    async def counts(desk: JobContext, given: Given) -> JobResult:
        counted.append(1)
        return JobResult("completed")

    job = done(tmp_path, counts)
    assert done(tmp_path, counts, job=job) == job
    assert counted == [1]


def test_facts_are_kept_at_once(tmp_path: Path) -> None:
    async def notes(desk: JobContext, given: Given) -> JobResult:
        desk.note(branch="x")
        assert Jobs(tmp_path).get(desk.job.id).facts == {"branch": "x"}
        return JobResult("completed")

    assert done(tmp_path, notes).facts == {"branch": "x"}


def test_a_job_is_stopped_also_while_it_does_something_else_than_its_run(tmp_path: Path) -> None:
    async def sleeps(desk: JobContext, given: Given) -> JobResult:
        Jobs(tmp_path).cancel(desk.job.id)
        await asyncio.sleep(60)
        return JobResult("completed")

    assert done(tmp_path, sleeps).state == "cancelled"


def test_a_process_that_is_ended_leaves_it_to_be_taken_up(tmp_path: Path) -> None:
    async def ended(desk: JobContext, given: Given) -> JobResult:
        raise asyncio.CancelledError

    with pytest.raises(asyncio.CancelledError):
        done(tmp_path, ended)
    assert Jobs(tmp_path).all()[0].state == "waiting"


def test_nobody_else_can_carry_it_out_meanwhile(tmp_path: Path) -> None:
    async def again(desk: JobContext, given: Given) -> JobResult:
        with pytest.raises(JobTaken):
            await execute_job(desk.job.id, JobKind("work", "work", Given, asked), desk.host)
        return JobResult("completed")

    assert done(tmp_path, again).state == "completed"


def test_what_does_not_fit_is_said_in_a_sentence() -> None:
    with pytest.raises(SettingsError, match=r"work can't begin with that: .*str"):
        parse_job_input(JobKind("work", "work", Given, asked), {"words": 3})
