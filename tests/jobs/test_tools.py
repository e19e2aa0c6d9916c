"""The work of an assistant as tools: a job made and told of, looked at, cancelled; one person's jobs are no other's."""

import asyncio
from pathlib import Path
from typing import Any

import pytest
from msgspec import Struct

from treadle.core.calls import Call
from treadle.core.context import RunContext
from treadle.core.errors import ToolProblem
from treadle.core.seams import Model
from treadle.home import close_home, open_home
from treadle.jobs.execution import JobContext, JobKind, JobResult
from treadle.jobs.store import Jobs
from treadle.jobs.tools import JobTools
from treadle.models.scripted import Scripted
from treadle.plugins.assistant import Assistant, Host


class Given(Struct, frozen=True, forbid_unknown_fields=True):
    description: str
    loud: bool = False


async def works(desk: JobContext, given: Given) -> JobResult:
    if given.description == "sleep":
        await asyncio.sleep(60)
    return JobResult("completed", {"summary": given.description.upper() if given.loud else given.description})


LEAVES = JobKind("leave", "leave", Given, works, leaving=("loud",))
ASSISTANT = Assistant(
    "test",
    "Test",
    "Tests.",
    work=lambda: [JobKind("say", "say something", Given, works), JobKind("look", "look", Given, works, reads=True), LEAVES],
)


class Shop:
    """The tools of one person."""

    def __init__(self, place: Path, user: str = "ann") -> None:
        async def model() -> Model:
            return Scripted()

        self.home = open_home(place)
        self.begun: list[list[str]] = []
        host = Host(self.home, model, user, detach=lambda words: self.begun.append(list(words)))
        self.tools = JobTools(ASSISTANT, host, place)

    async def calls(self, name: str, **arguments: Any) -> Any:
        return await self.tools.call(Call("1", name, arguments), RunContext())

    def call(self, name: str, **arguments: Any) -> Any:
        return asyncio.run(self.calls(name, **arguments))


@pytest.fixture
def shop(tmp_path: Path) -> Any:
    shop = Shop(tmp_path)
    yield shop
    close_home(shop.home)


def test_each_kind_of_work_is_a_tool_with_its_own_arguments(shop: Shop) -> None:
    tools = {tool.name: tool for tool in shop.tools.tools()}
    assert list(tools) == ["say", "look", "leave", "get_job_status", "list_jobs", "cancel_job"]
    assert set(tools["say"].parameters["properties"]) == {"description", "loud", "background"}
    assert (tools["say"].effect, tools["look"].effect, tools["cancel_job"].effect) == ("write", "read", "write")


def test_a_call_is_a_job_and_gives_what_came_of_it(shop: Shop) -> None:
    told = shop.call("say", description="hello", loud=True)
    assert (told["state"], told["output"]) == ("completed", {"summary": "HELLO"})
    assert shop.call("get_job_status", job_id=told["job_id"]) == told
    assert [job["job_id"] for job in shop.call("list_jobs")] == [told["job_id"]]


def test_in_the_background_it_is_only_begun(shop: Shop) -> None:
    told = shop.call("say", description="hello", background=True)
    assert told["state"] == "pending"
    assert shop.begun == [["jobs", "resume", told["job_id"], "--quiet"]]
    assert shop.call("cancel_job", job_id=told["job_id"])["state"] == "cancelled"


def test_a_call_that_is_cancelled_cancels_its_job(shop: Shop, tmp_path: Path) -> None:
    async def cancelled() -> None:
        task = asyncio.ensure_future(shop.calls("say", description="sleep"))
        while not any(job.state == "running" for job in Jobs(tmp_path).all()):  # noqa: ASYNC110 - a file says so
            await asyncio.sleep(0.01)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(cancelled())
    assert Jobs(tmp_path).all()[0].state == "cancelled"


def test_what_cannot_be_is_a_problem_in_words(shop: Shop, tmp_path: Path) -> None:
    with pytest.raises(ToolProblem, match="no job nope here"):
        shop.call("get_job_status", job_id="nope")
    with pytest.raises(ToolProblem, match="say can't begin with that"):
        shop.call("say", description=3)
    told = shop.call("say", description="hello")
    other = Shop(tmp_path, "bob")
    with pytest.raises(ToolProblem, match="There is no job"):
        other.call("get_job_status", job_id=told["job_id"])
    assert other.call("list_jobs") == []


def test_what_lets_a_job_leave_the_machine_is_not_for_other_programs_to_say(shop: Shop) -> None:
    (tool,) = [tool for tool in shop.tools.tools() if tool.name == "leave"]
    assert set(tool.parameters["properties"]) == {"description", "background"}
    assert shop.call("leave", description="hello", loud=True)["output"] == {"summary": "hello"}


def test_jobs_of_other_folders_are_not_seen(shop: Shop, tmp_path: Path) -> None:
    other = Jobs(tmp_path).create("test", "say", "x", workspace="/elsewhere", user="ann")
    assert shop.call("list_jobs") == []
    with pytest.raises(ToolProblem, match="There is no job"):
        shop.call("cancel_job", job_id=other.id)
