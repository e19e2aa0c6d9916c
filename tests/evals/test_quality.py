"""The questions of the quality benches as datasets: the runner grades them as the benches do."""

import asyncio
from pathlib import Path

from bench.courses.asked import FRESH
from bench.courses.dataset import fresh
from bench.guidance.dataset import questions
from bench.guidance.questions import QUESTIONS
from bench.platform.dataset import seen
from bench.platform.questions import SEEN
from bench.quality import ask_all, write_page

from eval_shop import ByPrompt
from treadle.evals import Dataset, EvalReport
from treadle.testing import calls


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
