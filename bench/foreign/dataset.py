"""The questions over foreign material as datasets: `platform`, `guidance`, `courses`, `functions` and `openapi`.

Those that end in `_held_out` are of other material: nothing is changed by looking at them.

treadle eval bench/foreign/dataset.py:functions_held_out -m MODEL
"""

import re
import tempfile
from collections.abc import AsyncGenerator, Callable, Coroutine, Generator, Sequence
from contextlib import AbstractAsyncContextManager, AbstractContextManager, asynccontextmanager, contextmanager
from os import environ
from pathlib import Path
from typing import Any
from unittest.mock import patch

from bench.foreign import held_out, questions
from bench.foreign.material import FIRST, Material, api_server, fetch_books
from bench.foreign.questions import Question
from bench.quality import names_of_asked
from treadle.assistants.guidance.projects import open_projects
from treadle.assistants.guidance.store.values import Provenance
from treadle.core.seams import Model
from treadle.demo.platform import start_demo
from treadle.evals import Case, CaseRun, Dataset, Expectations, TaskContext
from treadle.guard.answer_grounding import MARK
from treadle.guard.numerals import find_number_words
from treadle.home import close_home, open_home
from treadle.plugins.assistant import Host
from treadle.plugins.assistants import configured_agent
from treadle.testing import Scripted
from treadle.toolsets import openapi_tools

FOLDER = Path(tempfile.gettempdir()) / "treadle-bench-foreign-books"
ANY_END = Expectations(stopped=("answered", "limit"))
NOT_THERE = re.compile(
    r"\b(no|not|none|nothing|nobody|isn't|aren't|wasn't|doesn't|don't|didn't|haven't|hasn't|can't|cannot|couldn't|unable|unknown)\b",
    re.IGNORECASE,
)
_NUMBER = re.compile(rf"\d+(?:[.,:]\d+)*(?!\d*\s*{re.escape(MARK)})")
MOST_COUNTED = 20  # what an answer may have counted by itself


def find_faults(question: Question, answer: str) -> list[str]:
    """Return what is wrong with an answer; nothing, if it's right."""
    faults = [f"hasn't `{pattern}`" for pattern in question.has if not re.search(pattern, answer)]
    faults += [f"has `{pattern}`" for pattern in question.lacks if re.search(pattern, answer)]
    if question.absent and not NOT_THERE.search(answer):
        faults.append("doesn't say that it isn't there")
    return faults


def find_unmarked(run: CaseRun) -> list[str]:
    """Return the numbers of an answer that no result has, nor the question, and that aren't marked as doubtful."""
    results = [call.result.content for call in run.calls if call.result is not None]
    if not results:
        return []
    sources = "\n".join([*results, run.case.input])
    known = {_plain(number) for number in re.findall(r"\d+(?:[.,:]\d+)*", sources)}
    known |= {_plain(str(number.value)) for number in find_number_words(sources)}
    found = [match[0] for match in _NUMBER.finditer(run.result.message)]
    return [number for number in found if _plain(number) not in known and not _is_count(number)]


def _plain(number: str) -> str:
    digits = number.replace(",", "")
    return digits.rstrip("0").rstrip(".") if "." in digits else digits.lstrip("0") or "0"


def _is_count(number: str) -> bool:
    return number.isdigit() and int(number) <= MOST_COUNTED


def _check(question: Question) -> Callable[[CaseRun], str | None]:
    def answer_is_right(run: CaseRun) -> str | None:
        asked = [f"asks about {name}" for name in names_of_asked(run)]
        return "; ".join([*find_faults(question, run.result.message), *asked]) or None

    return answer_is_right


def numbers_are_grounded(run: CaseRun) -> str | None:
    """Return the unmarked numbers that nothing vouches for."""
    return ", ".join(find_unmarked(run)) or None


def _cases(questions: Sequence[Question], **more: Any) -> tuple[Case, ...]:
    checks = numbers_are_grounded
    return tuple(
        [Case(name=each.text, input=each.text, expected=ANY_END, checks=(_check(each), checks), **more) for each in questions]
    )


# The assistants


def foreign_platform(material: Material) -> Callable[[], AbstractContextManager[None]]:
    """Return a setup: a platform with another history, other documents, and a user's token."""

    @contextmanager
    def set_up() -> Generator[None]:
        history = patch("treadle.demo.platform.sample_data.HISTORY", material.history)
        with history, start_demo() as demo, tempfile.TemporaryDirectory() as folder:
            for name, text in material.documents.items():
                (Path(folder) / name).write_text(text, "utf-8")
            settings = Path(folder) / "treadle.toml"
            settings.write_text(f'[assistants.platform]\nserver = "{demo.url}"\ndocuments = ["{folder}"]\n', "utf-8")
            token = {"TREADLE_PLATFORM_TOKEN": demo.token(material.user), "TREADLE_PLATFORM_SERVER": ""}
            with patch.dict(environ, {"TREADLE_CONFIG": str(settings), **token}):
                yield

    return set_up


def foreign_project(material: Material) -> Callable[[str], AbstractAsyncContextManager[dict[str, str]]]:
    """Return a setup: a database with the project alone, which is the context of each case."""

    async def model() -> Model:
        return Scripted()

    @asynccontextmanager
    async def set_up(user: str) -> AsyncGenerator[dict[str, str]]:
        with tempfile.TemporaryDirectory() as folder, patch.dict(environ, TREADLE_GUIDANCE_DATABASE=str(Path(folder) / "guide.db")):
            home = open_home(Path(folder) / "home")
            why = Provenance("bench", "comes with the bench", actor="system")
            try:
                async with open_projects(Host(home, model, user)) as store:
                    project = await store.create_project(user, *material.project)
                    await store.put_problem_spec(user, project.id, material.spec, expected=0, why=why)
                    await store.put_world_model(user, project.id, material.world, expected=0, why=why)
                    yield {"project_id": project.id}
            finally:
                close_home(home)

    return set_up


@contextmanager
def debian_books() -> Generator[None]:
    """A setup: Debian's own books are the courses of the settings."""
    FOLDER.mkdir(exist_ok=True)
    courses = fetch_books(FOLDER)
    with tempfile.TemporaryDirectory() as folder:
        settings = Path(folder) / "treadle.toml"
        settings.write_text(f'[assistants.courses]\nfolders = ["{courses}"]\n', "utf-8")
        with patch.dict(environ, {"TREADLE_CONFIG": str(settings)}):
            yield


# Tools of one's own, as `treadle ask --tools` and `--openapi` have them

Task = Callable[[TaskContext], Coroutine[Any, Any, None]]


def ask_functions(material: Material) -> Task:
    """Return a task that asks with functions as tools."""

    async def ask(context: TaskContext) -> None:
        parts: dict[str, Any] = {"name": "ask", "tools": material.functions, "grounded": None}
        await context.run(configured_agent(None, await context.host.model(), parts=parts), context.case.input)

    return ask


def ask_openapi(material: Material) -> Task:
    """Return a task that asks with the operations of an OpenAPI document as tools."""

    async def ask(context: TaskContext) -> None:
        with api_server(material.resource) as address:
            tools = openapi_tools(material.api, base_url=address, private=True)
            parts: dict[str, Any] = {"name": "ask", "toolsets": (tools,), "grounded": None}
            await context.run(configured_agent(None, await context.host.model(), parts=parts), context.case.input)

    return ask


platform = Dataset("foreign-platform", _cases(questions.PLATFORM, assistant="platform"), setup=foreign_platform(FIRST))
guidance = Dataset("foreign-guidance", _cases(questions.GUIDANCE, assistant="guidance"), setup=foreign_project(FIRST))
courses = Dataset("foreign-courses", _cases(questions.COURSES, assistant="courses"), setup=debian_books)
functions = Dataset("foreign-functions", _cases(questions.FUNCTIONS, task=ask_functions(FIRST)))
openapi = Dataset("foreign-openapi", _cases(questions.OPENAPI, task=ask_openapi(FIRST)))

SECOND = held_out.SECOND
platform_held_out = Dataset(
    "foreign-platform-held-out", _cases(held_out.PLATFORM, assistant="platform"), setup=foreign_platform(SECOND)
)
guidance_held_out = Dataset(
    "foreign-guidance-held-out", _cases(held_out.GUIDANCE, assistant="guidance"), setup=foreign_project(SECOND)
)
courses_held_out = Dataset("foreign-courses-held-out", _cases(held_out.COURSES, assistant="courses"), setup=debian_books)
functions_held_out = Dataset("foreign-functions-held-out", _cases(held_out.FUNCTIONS, task=ask_functions(SECOND)))
openapi_held_out = Dataset("foreign-openapi-held-out", _cases(held_out.OPENAPI, task=ask_openapi(SECOND)))
