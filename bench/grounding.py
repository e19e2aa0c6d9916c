"""`python -m bench.grounding`: how many right answers a grounded agent would doubt.

The answers that a model gave in `bench/results/{platform,guidance,courses}.md` are given again, to the same questions and with real
tool results; no model is asked. An alarm on an answer that is right is a false one; one on a wrong answer may be deserved.
"""

import asyncio
import os
import re
import tempfile
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from pathlib import Path

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from bench.platform.questions import DOCUMENTS
from treadle.agent.session import AssistantSession
from treadle.assistants.courses import assistant as courses
from treadle.assistants.courses.command import SAMPLE
from treadle.assistants.courses.library import CourseLibrary
from treadle.assistants.courses.settings import CoursesSettings
from treadle.assistants.guidance import assistant as guidance
from treadle.assistants.guidance.command import make_sample_project
from treadle.assistants.guidance.projects import open_projects
from treadle.assistants.platform import assistant as platform
from treadle.core.requests import Delta, ReplyEnded, Request, TextDelta, Traits
from treadle.demo.platform import start_demo
from treadle.home import close_home, open_home
from treadle.models.calling.findings_check import INSTRUCTIONS as FINDINGS_INSTRUCTIONS
from treadle.plugins.assistant import Host

FOLDER = Path(__file__).parent / "results"
RESULTS = FOLDER / "grounding.md"
INTENTS = {  # what a message was about, by the first tool that was called for it
    "list_applications": "applications",
    "get_application": "application",
    "list_workflows": "workflows",
    "get_workflow": "workflow",
    "list_resources": "resources",
    "get_dashboard_stats": "figures",
    "list_golden_paths": "paths",
    "list_providers": "providers",
    "get_current_user": "me",
    "get_problem_spec": "spec",
    "get_world_model": "world",
    "list_runs": "runs",
    "get_workflow_state": "state",
    "search_course_content": "content",
    "get_course_outline": "outline",
}
PAIRS: dict[frozenset[str], str] = {
    frozenset(("get_problem_spec", "get_world_model")): "both",
    frozenset(("get_course_outline", "search_course_content")): "alike",
}
_STAMP = re.compile(r"\d{4}-\d{2}-\d{2}T")  # the demo's timestamps are those of its start
_APP = re.compile(r"\b(?:[a-z]+-[a-z]+|checkout|storefront|reports|payments|billing)\b")


class RecordedAnswer(Struct, frozen=True):
    """A row of a page of results."""

    question: str
    right: bool
    calls: tuple[str, ...]
    said: str
    who: str = ""


class Repeater:
    """A model that gives a recorded answer again, and leads the plan to the calls that were made for it."""

    def __init__(self) -> None:
        self.name = "recorded"
        self.traits = Traits(native_calls=False, holds=True)
        self.answer = RecordedAnswer("", False, (), "")

    async def reply(self, request: Request) -> AsyncIterator[Delta]:
        """Stream the classification, or the answer."""
        fields = (request.shape or {}).get("properties", {})
        if "about" in fields:
            app = _APP.search(self.answer.question)
            about = {"about": PAIRS.get(frozenset(self.answer.calls)) or self._next_intent(fields["about"]["enum"])}
            text = msgspec.json.encode({**about, "app": app[0] if app else ""} if "app" in fields else about).decode()
        elif request.instructions == FINDINGS_INSTRUCTIONS:
            text = "yes"
        else:
            text = self.answer.said
        yield TextDelta(text)
        yield ReplyEnded("done")

    def _next_intent(self, possible: Sequence[str]) -> str:
        """Return the intent of the first call; of the next one, where the answer was looked for elsewhere."""
        return next((intent for name in self.answer.calls if (intent := INTENTS.get(name, "")) in possible), possible[-1])


def read_rows(page: str) -> list[RecordedAnswer]:
    """Return the answers of a page of results that were made from calls and are there in full."""
    rows: list[RecordedAnswer] = []
    who, names = "alice", list[str]()
    for line in (FOLDER / page).read_text("utf-8").splitlines():
        who = "bob" if "asked as bob" in line else who
        cells = [cell.strip().replace("\\|", "|") for cell in re.split(r"(?<!\\)\|", line)[1:-1]]
        if "question" in cells:
            names = cells
        elif cells and len(cells) == len(names) and not cells[0].startswith("--"):
            row = dict(zip(names, cells, strict=True))
            calls = tuple(filter(None, row["calls"].split(", ")))
            said = re.sub(r"\s*\S*…$", "", row["answer"])
            if calls and calls[0] in INTENTS and not _STAMP.search(said):  # a change waits, and has no answer
                rows.append(RecordedAnswer(row["question"], row["right"] == "yes", calls, said, who))
    return rows


class CheckedAnswer(Struct, frozen=True):
    """An answer, and what was doubted in it."""

    page: str
    recorded: RecordedAnswer
    doubtful: tuple[str, ...]


async def check_rows(page: str, model: Repeater, session: Callable[[RecordedAnswer], AssistantSession]) -> list[CheckedAnswer]:
    """Give each answer of a page again."""
    checked: list[CheckedAnswer] = []
    for row in read_rows(page):
        model.answer = row
        result = (await session(row).run(row.question)).result
        checked.append(CheckedAnswer(page, row, tuple([value.text for value in result.ungrounded])))
        print(f"{'right' if row.right else 'wrong'} {page:12} {row.question[:50]:50} {checked[-1].doubtful}", flush=True)
    return checked


async def check_all(place: Path) -> list[CheckedAnswer]:
    """Check the answers of all pages."""
    model = Repeater()

    async def same() -> Repeater:
        return model

    os.environ["TREADLE_GUIDANCE_DATABASE"] = str(place / "projects.db")
    host = Host(open_home(place / "home"), same, "ann")
    work: tuple[Callable[[Host, Repeater, Path], Awaitable[list[CheckedAnswer]]], ...] = (_platform, _guidance, _courses)
    checked = [each for check in work for each in await check(host, model, place)]
    close_home(host.home)
    return checked


async def _platform(host: Host, model: Repeater, place: Path) -> list[CheckedAnswer]:
    docs = place / "docs"
    docs.mkdir()
    for name, text in DOCUMENTS.items():
        (docs / name).write_text(text, "utf-8")
    with start_demo() as demo:
        settings = place / "own.toml"
        settings.write_text(f'[assistants.platform]\nserver = "{demo.url}"\ndocuments = ["{docs}"]\n', "utf-8")
        os.environ["TREADLE_CONFIG"] = str(settings)

        def session(row: RecordedAnswer) -> AssistantSession:
            return AssistantSession(platform, replace(host, headers={"authorization": f"Bearer {demo.token(row.who)}"}))

        return await check_rows("platform.md", model, session)


async def _guidance(host: Host, model: Repeater, place: Path) -> list[CheckedAnswer]:
    async with open_projects(host) as store:
        project = await make_sample_project(store, "ann")
        return await check_rows("guidance.md", model, lambda _: AssistantSession(guidance, host, {"project_id": project.id}))


async def _courses(host: Host, model: Repeater, place: Path) -> list[CheckedAnswer]:
    async with CourseLibrary(host.home.folder, CoursesSettings()) as library:
        library.shelf.add(SAMPLE)
        await library.refresh()
        return await check_rows("courses.md", model, lambda _: AssistantSession(courses, host))


def format_page(checked: list[CheckedAnswer]) -> str:
    """Return the page of results."""
    right, wrong = ([each for each in checked if each.recorded.right == is_right] for is_right in (True, False))
    alarms, deserved = ([each for each in some if each.doubtful] for some in (right, wrong))
    share = f"**{len(alarms)} of {len(right)} right answers doubted ({len(alarms) / max(1, len(right)):.1%})**"
    lines = [
        f"Recorded answers of a small model, with real tool results: {share}, {len(deserved)} of {len(wrong)} wrong ones.\n",
        "| page | question | right | doubted |",
        "|---|---|---|---|",
    ]
    lines += [
        f"| {each.page} | {each.recorded.question} | {'yes' if each.recorded.right else 'no'} | {', '.join(each.doubtful)} |"
        for each in [*alarms, *deserved]
    ]
    return "\n".join(lines) + "\n"


def main() -> None:
    """Check, and write the page."""
    with tempfile.TemporaryDirectory() as place:
        RESULTS.write_text(format_page(asyncio.run(check_all(Path(place)))), "utf-8")


if __name__ == "__main__":
    main()
