"""The questions about the demo platform as datasets: `seen` are asked as alice, `unseen` as bob.

treadle eval bench/platform/dataset.py:unseen -m MODEL
"""

import re
import tempfile
from collections.abc import Callable, Generator, Sequence
from contextlib import AbstractContextManager, contextmanager
from os import environ
from pathlib import Path
from unittest.mock import patch

import msgspec

from bench.platform.questions import DOCUMENTS, SEEN, UNSEEN, Question
from bench.quality import names_of_asked
from treadle.assistants.platform.score import check_spec
from treadle.demo.platform import start_demo
from treadle.evals import Case, CaseRun, Dataset, Expectations, ExpectedText


def platform_as(user: str) -> Callable[[], AbstractContextManager[None]]:
    """Return a setup: the demo platform with some documents, and a user's token."""

    @contextmanager
    def set_up() -> Generator[None]:
        with start_demo() as demo, tempfile.TemporaryDirectory() as folder:
            for name, text in DOCUMENTS.items():
                (Path(folder) / name).write_text(text, "utf-8")
            settings = Path(folder) / "treadle.toml"
            settings.write_text(f'[assistants.platform]\nserver = "{demo.url}"\ndocuments = ["{folder}"]\n', "utf-8")
            variables = {"TREADLE_CONFIG": str(settings), "TREADLE_PLATFORM_TOKEN": demo.token(user), "TREADLE_PLATFORM_SERVER": ""}
            with patch.dict(environ, variables):
                yield

    return set_up


def _dataset(name: str, user: str, questions: Sequence[Question]) -> Dataset:
    return Dataset(name, tuple(map(_to_case, questions)), setup=platform_as(user))


def _to_case(question: Question) -> Case:
    if question.call:
        return Case(name=question.text, input=question.text, assistant="platform", checks=(_waits_as(question),))
    found = tuple([f"(?i){pattern}" for pattern in question.has])
    return Case(
        name=question.text,
        input=question.text,
        assistant="platform",
        expected=Expectations(output=ExpectedText(matches=found)),
        checks=(nothing_waits, spec_is_valid),
    )


def _waits_as(question: Question) -> Callable[[CaseRun], bool]:
    def the_call_needs_approval(run: CaseRun) -> bool:
        words = [msgspec.json.encode(call.requested).decode() for call in run.calls if call.name == question.call]
        is_asked = question.call in names_of_asked(run)
        return is_asked and all(re.search(pattern, words[0]) for pattern in question.has)

    return the_call_needs_approval


def nothing_waits(run: CaseRun) -> bool:
    """Return whether no call needed approval."""
    return not names_of_asked(run)


def spec_is_valid(run: CaseRun) -> bool:
    """Return whether a spec in the answer, if there is one, is a valid one."""
    spec = run.data["generated_spec"]
    return spec is None or check_spec(spec).ok


seen = _dataset("platform-seen", "alice", SEEN)
unseen = _dataset("platform-unseen", "bob", UNSEEN)
