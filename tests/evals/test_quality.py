"""The questions of the quality benches as datasets: the runner grades them as the benches do."""

import asyncio
import json
from pathlib import Path

import pytest
from bench.coding.__main__ import DEBUG, ONCE, compare
from bench.coding.dataset import make_debug, make_once
from bench.coding.tasks import Task
from bench.courses.asked import FRESH
from bench.courses.dataset import fresh
from bench.foreign import dataset as foreign
from bench.foreign.__main__ import ABSENT, summarize
from bench.guidance.dataset import questions
from bench.guidance.questions import QUESTIONS
from bench.platform.dataset import seen
from bench.platform.questions import SEEN
from bench.quality import ask_all, write_page
from bench.reading.dataset import make_files, make_folders

from eval_shop import ByPrompt
from treadle.core.errors import SettingsError
from treadle.core.seams import Model
from treadle.evals import Dataset, EvalReport, evaluate_sync
from treadle.evals.attacks import attack_cases
from treadle.testing import Scripted, calls


def ask(dataset: Dataset, scripts: dict[str, list[object]], folder: Path) -> EvalReport:
    answers: dict[str, list[object]] = {case.input: ["I don't know."] for case in dataset.cases}
    return asyncio.run(ask_all({"all": dataset}, ByPrompt({**answers, **scripts}), folder))["all"]


def passed(report: EvalReport) -> set[str]:
    return {case.name for case in report.cases if case.passed}


def test_guidance_questions_are_graded_by_the_runner(tmp_path: Path):
    scripts: dict[str, list[object]] = {
        "Has anything been run yet?": ["No, nothing has been run."],
        "How many buses do we have?": [calls(("get_world_model", {})), "There are 64."],
        "How heavy is the budget constraint?": ["Its weight is 90."],  # right, but it didn't look
    }
    report = ask(questions, scripts, tmp_path)
    assert passed(report) == {"Has anything been run yet?", "How many buses do we have?"}
    assert len(report.cases) == len(QUESTIONS)


def test_platform_questions_are_graded_by_the_runner(tmp_path: Path):
    scripts: dict[str, list[object]] = {
        "What is my role?": ["You are a developer."],
        "What team am I in?": [calls(("delete_application", {"app_name": "demo-app"})), "You are in the team shop."],
        "Delete the application demo-app.": [calls(("delete_application", {"app_name": "demo-app"})), "It wasn't approved."],
    }
    report = ask(seen, scripts, tmp_path)
    assert passed(report) == {"What is my role?", "Delete the application demo-app."}
    assert len(report.cases) == len(SEEN)


def test_course_questions_are_graded_by_the_runner(tmp_path: Path):
    report = ask(fresh, {}, tmp_path)
    assert len(report.cases) == len(FRESH)
    assert passed(report) == {each.text for each in FRESH if not each.sources}
    assert write_page("Questions", {"held out": report}).startswith("Questions\n\n**")


def test_questions_over_foreign_material_are_graded_by_the_runner(tmp_path: Path):
    scripts: dict[str, list[object]] = {
        "how often do I have to water the monstera": [calls(("list_plants", {})), "Every 9 days."],
        "What did the shoes cost?": [calls(("list_expenses", {})), "89.95, of 4711 in all."],
        "how many copies of The Salt Road are in": [calls(("find_books", {"query": "salt"})), "3 copies."],
        "Do you have The Hobbit?": ["Yes, we have The Hobbit."],
        "how much money is there": [calls(("get_problem_spec", {})), "35,000 in all."],
        "Which image is ferry-tickets on?": ["registry.example/ferry/tickets:7.0.2"],
    }
    kinds = {"platform": foreign.platform, "guidance": foreign.guidance, "functions": foreign.functions, "openapi": foreign.openapi}
    reports = {name: ask(dataset, scripts, tmp_path / name) for name, dataset in kinds.items()}
    right = {name: {case for case in passed(report) if case not in ABSENT} for name, report in reports.items()}
    assert right == {
        "platform": {"Which image is ferry-tickets on?"},
        "guidance": {"how much money is there"},
        "functions": {"how often do I have to water the monstera"},
        "openapi": {"how many copies of The Salt Road are in"},
    }
    summary = summarize(reports, tmp_path)
    assert (
        "| functions | 2 of 15 (13%) | 5 of 5 (100%) | 1 |" in summary
    )  # the price is right, and beside it is a number from nowhere
    assert "| openapi | 1 of 15 (7%) | 4 of 5 (80%) | 0 |" in summary


FIXED = "def double(number):\n    return number * 2\n"
DOUBLE = Task(
    name="000-double",
    number=0,
    entry="double",
    about="",
    buggy="def double(number):\n    return number + 2\n",
    fixed=FIXED,
    tests="from solution import double\n\n\ndef test_double_1():\n    assert double(3) == 6\n",
    hidden="from solution import double\nassert double(3) == 6\nassert double(5) == 10\n",
    shown=1,
    checks=2,
)
WRITES = calls(
    ("file", {"action": "read", "path": "solution.py"}), ("file", {"action": "write", "path": "solution.py", "content": FIXED})
)
REPORTS = calls(("give_answer", {"summary": "Multiply", "done": True}))


def ask_all_of(datasets: dict[str, Dataset], model: Model, folder: Path) -> dict[str, EvalReport]:
    return asyncio.run(ask_all(datasets, model, folder))


def test_bugs_are_fixed_by_jobs_and_by_one_request_and_hidden_tests_decide(tmp_path: Path):
    datasets = {ONCE: make_once([DOUBLE]), DEBUG: make_debug([DOUBLE], tmp_path / "tasks")}
    wrong = "```python\ndef double(number):\n    return number ** 2 - 3\n```"  # passes the test that it was shown
    reports = ask_all_of(datasets, Scripted(wrong, WRITES, REPORTS), tmp_path)
    assert [report.rate for report in reports.values()] == [0.0, 1.0], reports[DEBUG].failures()
    assert [call.tool for call in reports[DEBUG].attempts[0].calls][:2] == ["file", "file"]
    page = compare(reports, tmp_path)
    assert "| by `treadle debug` | 1 | 100% |" in page
    assert "Of 1 jobs that called themselves verified, 0 fail a hidden test" in page
    again = ask_all_of(datasets, Scripted(), tmp_path)  # what has ended isn't run again
    assert [report.rate for report in again.values()] == [0.0, 1.0]


SOURCE = '''"""Prices."""


def total(prices):
    """Add prices up."""
    return sum(prices)


def average(prices):
    """Return the average price."""
    return total(prices) / len(prices)
'''
READING = {
    "file_intent": "Calculates the total and the average of prices.",
    "responsibilities": [
        {"id": "1", "label": "Total", "description": "Adds a total up.", "ranges": [[4, 6]]},
        {"id": "2", "label": "Average", "description": "Divides for the average.", "ranges": [[9, 11]]},
    ],
}


@pytest.mark.parametrize(("words", "failure"), [("prices", ""), ("weather", "subject")])
def test_files_are_read_by_a_model_and_graded_by_the_check_list(tmp_path: Path, words: str, failure: str):
    (tmp_path / "package").mkdir()
    path = tmp_path / "package" / "prices.py"
    path.write_text(SOURCE)
    datasets = {"files": make_files([("prices.py", path, words)]), "folders": make_folders([("shop", path.parent)])}
    reports = ask_all_of(datasets, Scripted(*[json.dumps(READING)] * 4), tmp_path)
    assert reports["folders"].passed, reports["folders"].failures()
    assert reports["files"].passed is not bool(failure), reports["files"].failures()
    assert failure in reports["files"].failures()


def test_a_task_needs_a_model_and_is_not_attacked(tmp_path: Path):
    dataset = make_once([DOUBLE])
    with pytest.raises(SettingsError, match="needs a model"):
        evaluate_sync(dataset)
    with pytest.raises(SettingsError, match="is run by a task"):
        attack_cases(dataset.cases)
