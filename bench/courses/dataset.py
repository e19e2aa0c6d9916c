"""The questions on the sample courses as datasets, in the order in which they were written: `seen`, `unseen`, `fresh`.

TREADLE_HOME=$(mktemp -d) treadle eval bench/courses/dataset.py:fresh -m MODEL
"""

import re
import tempfile
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from os import environ
from pathlib import Path
from unittest.mock import patch

from bench.courses.asked import FRESH, SEEN, UNSEEN, Place, Question
from treadle.agent.session import SessionReply
from treadle.assistants.courses.command import SAMPLE
from treadle.assistants.courses.session import CourseReply, to_course_reply
from treadle.evals import Case, CaseRun, Dataset, Expectations


@contextmanager
def sample_courses() -> Generator[None]:
    """A setup: the sample courses are those of the settings."""
    with tempfile.TemporaryDirectory() as folder:
        settings = Path(folder) / "treadle.toml"
        settings.write_text(f'[assistants.courses]\nfolders = ["{SAMPLE}"]\n', "utf-8")
        with patch.dict(environ, {"TREADLE_CONFIG": str(settings)}):
            yield


def _dataset(name: str, questions: Sequence[Question]) -> Dataset:
    return Dataset(name, tuple(map(_to_case, questions)), setup=sample_courses)


def _to_case(question: Question) -> Case:
    return Case(
        name=question.text,
        input=question.text,
        assistant="courses",
        expected=Expectations(stopped=("answered", "limit")),
        checks=(_check(question),),
    )


def _check(question: Question) -> Callable[[CaseRun], str | None]:
    def answer_and_sources(run: CaseRun) -> str | None:
        reply = to_course_reply(SessionReply(run.result, run.data))
        return "; ".join(find_faults(question, reply)) or None

    return answer_and_sources


def find_faults(question: Question, reply: CourseReply) -> list[str]:
    """Return what is wrong with an answer; nothing, if it's right."""
    return [
        *[f"hasn't `{pattern}`" for pattern in question.has if not re.search(pattern, reply.message, re.IGNORECASE)],
        *[f"has `{pattern}`" for pattern in question.lacks if re.search(pattern, reply.message, re.IGNORECASE)],
        *_source_faults(question, [source.text for source in reply.sources]),
    ]


def _source_faults(question: Question, named: Sequence[str]) -> list[str]:
    if question.sources is None:
        return []
    wanted = [_source(place) for place in question.sources]
    if not wanted:
        return ["has sources"] if named else []
    missing = [] if set(wanted) & set(named) else [f"isn't from {' or '.join(wanted)}"]
    return [*missing, *(["has other sources"] if question.alone and set(named) - set(wanted) else [])]


def _source(place: Place) -> str:
    course, number = place
    return course if number is None else f"{course} - Lesson {number}"


seen = _dataset("courses-seen", SEEN)
unseen = _dataset("courses-unseen", UNSEEN)
fresh = _dataset("courses-fresh", FRESH)
