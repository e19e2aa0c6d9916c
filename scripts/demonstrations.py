"""Records the demonstrations that `treadle serve --demo` plays: `.venv/bin/python scripts/demonstrations.py [NAME …]`.

Each is a real run of an assistant on its sample, with a real model: TREADLE_MODEL, else the embedded one. What is written is the
run's journal, with times from zero and no path of this machine; its first line says that it is a recording, of when and of what.
"""

import asyncio
import os
import sys
import time
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from treadle.agent.agent import Agent
from treadle.agent.session import AssistantSession
from treadle.core.entries import Entry, Finished, Opened, Returned, encode
from treadle.core.seams import Model
from treadle.home import close_homes, open_home
from treadle.jobs.execution import execute_job
from treadle.jobs.store import Jobs
from treadle.plugins.assistant import Host
from treadle.plugins.assistants import assistant_agent, get_assistant
from treadle.plugins.models import LOCAL, resolve_model
from treadle.server.demo.home import enter_demo_home
from treadle.server.demo.platform import demo_platform
from treadle.server.demo.recordings import FOLDER
from treadle.server.demo.samples import create_demo_samples
from treadle.server.runs.origin import RunOrigin

MODEL = os.environ.get("TREADLE_MODEL") or f"llamacpp:{LOCAL}"


class Demonstration(Struct, frozen=True):
    """What is asked of an assistant, and what that shows."""

    title: str
    questions: tuple[str, ...]
    record: Callable[["Demonstration", str, Host], Awaitable[str]]


async def talked(demonstration: Demonstration, name: str, host: Host) -> str:
    """A conversation, as on the workbench; the id of its run."""
    return await _asked(assistant_agent(get_assistant(name), host, await host.model()), demonstration.questions, host)


async def guided(demonstration: Demonstration, name: str, host: Host) -> str:
    """A conversation about the sample project."""
    from treadle.assistants.guidance.projects import open_projects, project_user_of

    async with open_projects(host) as store:
        project = (await store.list_projects(project_user_of(host)))[0]
        session = AssistantSession(get_assistant(name), host, {"project_id": project.id})
        return await _asked(session.agent(await host.model()), demonstration.questions, host)


async def fixed(demonstration: Demonstration, _: str, host: Host) -> str:
    """A job on the sample."""
    from treadle.assistants.coding.job_kinds import find_coding_job_kind
    from treadle.files import SAMPLES_FOLDER

    workspace, (what,) = str(host.home.folder / SAMPLES_FOLDER / "cart"), demonstration.questions
    job = Jobs(host.home.folder).create("coding", "debug", what, given={"description": what}, workspace=workspace)
    await execute_job(job.id, find_coding_job_kind("debug").work, host)
    return job.id


DEMONSTRATIONS = {
    "courses": Demonstration(
        "Answers from your own material, with one look or two",
        (
            "How much salt should I use for 500 g of flour?",
            "Is there a course on the same topic as lesson 4 of Chatbots That Look Things Up?",
        ),
        talked,
    ),
    "platform": Demonstration(
        "What runs on a platform, and why a workflow failed",
        ("What applications do I have?", "Why did the last workflow of demo-app fail?"),
        talked,
    ),
    "guidance": Demonstration(
        "What a project is to reach, and what limits it",
        ("What constraints are in my ProblemSpec?", "What are the goals of my project?"),
        guided,
    ),
    "reading": Demonstration("What a file is for, from its outline alone", ("What is server.go for?",), talked),
    "coding": Demonstration(
        "A bug is found, fixed and proven by the tests",
        ("The total of a cart leaves out the first price.",),
        fixed,
    ),
}


async def _asked(agent: Agent[Any, Any], questions: tuple[str, ...], host: Host) -> str:
    run_id = None
    for question in questions:
        result = await agent.run(question, run_id=run_id, journal=host.home.services())
        run_id = result.run_id
        print(f"{question}\n  {result.output}\n  {result.stopped}, {result.usage.total_tokens:,} tokens", flush=True)
    assert run_id is not None, "there is a question"
    return run_id


def written(name: str, entries: list[Entry], folder: Path) -> bytes:
    """A journal as it is shipped."""
    opened, began = entries[0], entries[0].at
    assert isinstance(opened, Opened), "a journal begins so"
    last = entries[-1]
    assert isinstance(last, Finished), "a run that is still open shows nothing"
    assert last.stopped == "answered", last.reason
    problems = [each.result.content for each in entries if isinstance(each, Returned) and each.result.problem]
    assert not problems, problems
    about = {"recording": {"title": DEMONSTRATIONS[name].title, "date": time.strftime("%Y-%m-%d", time.localtime(began))}}
    first = replace(opened, origin={**RunOrigin(name).origin, **about}, user="")  # anybody may go on from it
    lines = [encode(replace(each, at=round(each.at - began, 3))) for each in (first, *entries[1:])]
    text = b"\n".join(lines).replace(f"{folder}/".encode(), b"").replace(str(folder).encode(), b".") + b"\n"
    assert str(Path.home()).encode() not in text, "a path of this machine"
    assert b"/tmp" not in text, "a path of this machine"
    return text


@asynccontextmanager
async def stage() -> AsyncGenerator[Host]:
    """A home with all samples, and the model."""
    with TemporaryDirectory(prefix="treadle-recording-") as folder:
        os.environ["TREADLE_HOME"] = folder
        place = enter_demo_home()
        found = resolve_model(MODEL)

        async def model() -> Model:
            return found

        with demo_platform(place):
            try:
                host = Host(open_home(), model)
                problems = await create_demo_samples(host)
                assert not problems, problems
                yield host
            finally:
                close_homes()


async def main(names: list[str]) -> None:
    """Record those that are named, or all."""
    FOLDER.mkdir(exist_ok=True)
    async with stage() as host:
        for name in names or list(DEMONSTRATIONS):
            demonstration, began = DEMONSTRATIONS[name], time.monotonic()
            run_id = await demonstration.record(demonstration, name, host)
            assert not await host.home.journal.children(run_id), "runs inside of a run aren't recorded"
            path = FOLDER / f"{name}.jsonl"
            path.write_bytes(written(name, await host.home.journal.read(run_id), host.home.folder))
            print(f"{path.name}: {path.stat().st_size:,} bytes, {time.monotonic() - began:.0f} s", flush=True)


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1:]))
