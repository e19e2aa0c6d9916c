"""The questions on the sample project as datasets: `questions`, and `unseen`, for which nothing is changed.

treadle eval bench/guidance/dataset.py:questions -m MODEL
"""

import tempfile
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from os import environ
from pathlib import Path
from unittest.mock import patch

from bench.guidance.questions import QUESTIONS, UNSEEN, Question
from bench.quality import names_of_asked
from treadle.assistants.guidance.command import make_sample_project
from treadle.assistants.guidance.projects import open_projects
from treadle.core.seams import Model
from treadle.evals import Case, CaseRun, Dataset, Expectations, ExpectedText
from treadle.home import close_home, open_home
from treadle.plugins.assistant import Host
from treadle.testing import Scripted


@asynccontextmanager
async def sample_project(user: str) -> AsyncGenerator[dict[str, str]]:
    """A setup: a database with the sample project alone, which is the context of each case."""

    async def model() -> Model:
        return Scripted()

    with tempfile.TemporaryDirectory() as folder, patch.dict(environ, TREADLE_GUIDANCE_DATABASE=str(Path(folder) / "projects.db")):
        home = open_home(Path(folder) / "home")
        try:
            async with open_projects(Host(home, model, user)) as store:
                yield {"project_id": (await make_sample_project(store, user)).id}
        finally:
            close_home(home)


def _to_case(question: Question) -> Case:
    expected = Expectations(calls=question.looks, output=ExpectedText(matches=question.has))
    return Case(
        name=question.text,
        input=question.text,
        assistant="guidance",
        expected=Expectations() if question.waits else expected,
        checks=(one_change_is_asked_for,) if question.waits else (nothing_is_asked_for,),
    )


def one_change_is_asked_for(run: CaseRun) -> bool:
    """Return whether exactly one call needed approval."""
    return len(names_of_asked(run)) == 1


def nothing_is_asked_for(run: CaseRun) -> bool:
    """Return whether no call needed approval."""
    return not names_of_asked(run)


questions = Dataset("guidance", tuple(map(_to_case, QUESTIONS)), setup=sample_project)
unseen = Dataset("guidance-unseen", tuple(map(_to_case, UNSEEN)), setup=sample_project)
