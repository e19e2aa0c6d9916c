"""A server with all five assistants really mounted, each with something of its own to be asked about."""

import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from msgspec.structs import replace

from assistants.courses.course_setup import SAILING, add, write
from assistants.platform.platform_setup import SPEC
from server.running import Serving, host
from treadle.assistants import coding, courses, guidance, platform, reading
from treadle.assistants.courses.session_store import CourseExchange, CourseSessionStore
from treadle.assistants.guidance.command import make_sample_project
from treadle.assistants.guidance.projects import project_user_of
from treadle.assistants.guidance.store import open_store
from treadle.core.entries import Finished, Opened, Said
from treadle.core.requests import ReplyEnded, Request, TextDelta, Traits, Usage
from treadle.demo.platform import start_demo
from treadle.home import open_home
from treadle.jobs.store import Jobs

ASSISTANTS = [each.assistant for each in (reading, platform, guidance, courses, coding)]
SETTINGS = '[assistants.courses]\nembeddings = "none"\n[assistants.platform]\nembeddings = "none"\n'


class Spokesman:
    """A model that always says the same, which suits whoever wants a spec of it."""

    name = "spokesman"
    traits = Traits()

    async def reply(self, request: Request) -> AsyncIterator[Any]:
        yield TextDelta(f"It is this:\n\n```yaml\n{SPEC}```\n")
        yield ReplyEnded("done", Usage(requests=1, input_tokens=3, output_tokens=3), self.name)


class Known(NamedTuple):
    """Ids that lead somewhere, and one of each kind that doesn't."""

    run_id: list[str]
    job_id: list[str]
    project_id: list[str]
    session_id: list[str]


@contextmanager
def everyone(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[Serving, Known]]:
    """The server, for as long as the block lasts, and what can be asked about."""
    settings = folder / "treadle.toml"
    settings.write_text(SETTINGS)
    work = folder / "work"
    work.mkdir()
    (work / "shop.py").write_text("def price():\n    return 3\n")
    with start_demo() as demo:
        given = {"HOME": folder, "TREADLE_CONFIG": settings, "TREADLE_PLATFORM_SERVER": demo.url}
        for name, value in {**given, "TREADLE_PLATFORM_TOKEN": demo.token("alice")}.items():
            monkeypatch.setenv(name, str(value))
        monkeypatch.chdir(work)
        lent = replace(host(folder, Spokesman()), folder=work)
        known = asyncio.run(_made(lent))
        add(lent.home.folder, write(folder / "material", sailing=SAILING))
        with Serving(folder, ASSISTANTS, lent=lent) as server:
            yield server, known


async def _made(lent: Any) -> Known:
    projects, talks = await _projects(lent)
    sessions = CourseSessionStore(lent.home.folder)
    session = await sessions.begin(lent.user)
    await sessions.keep(session, CourseExchange("What is a keel?", "A fin."))
    return Known(await runs(lent.home.folder), jobs(lent.home.folder), [*projects, "nothing"], [*talks, session, "nothing"])


async def _projects(lent: Any) -> tuple[list[str], list[str]]:
    """Some, since they can be removed."""
    user = project_user_of(lent)
    lent.home.folder.mkdir(parents=True, exist_ok=True)
    async with await open_store(str(lent.home.folder / "guidance.db")) as store:
        made = [(await make_sample_project(store, user)).id for _ in range(4)]
        talks = [each.id for project in made for each in await store.list_chat_sessions(user, project)]
        await store.add_message(user, talks[0], "user", "What comes next?")
    return made, talks


async def runs(folder: Path, assistant: str = "courses") -> list[str]:
    """Some runs, of which some can be gone on with."""
    home = open_home(folder)
    ours = {"face": "server", "assistant": assistant}
    entries = {
        "answered": [Opened(agent=assistant, origin=ours), Said(text="x"), Finished(stopped="answered", text="y")],
        "failed": [Opened(agent=assistant, origin=ours), Said(text="x"), Finished(stopped="failed", reason="z")],
        "theirs": [Opened(agent=assistant, origin={"face": "cli"}), Said(text="x")],
    }
    for run_id, lines in entries.items():
        await home.journal.append(run_id, 0, lines)
    return [*entries, "nothing"]


def jobs(folder: Path) -> list[str]:
    """Some jobs, all of which are over: whoever listens to one hears its end."""
    kept = Jobs(folder)
    made = [
        kept.create("coding", "debug", "Dig", state="completed", workspace=str(Path.cwd())),
        kept.create("coding", "build", "Dig", state="failed"),
    ]
    return [*[job.id for job in made], "nothing"]
