"""The questions of a quality bench as a dataset: the runner grades them as the bench does."""

import asyncio
from pathlib import Path

import pytest
from bench.guidance.__main__ import evaluate_all
from bench.guidance.questions import QUESTIONS

from eval_shop import ByPrompt
from treadle.testing import calls


def test_guidance_questions_are_graded_by_the_runner(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("TREADLE_GUIDANCE_DATABASE", "")
    scripts: dict[str, list[object]] = {question.text: ["I don't know."] for question in QUESTIONS}
    scripts["Has anything been run yet?"] = ["No, nothing has been run."]
    scripts["How many buses do we have?"] = [calls(("get_world_model", {})), "There are 64."]
    scripts["How heavy is the budget constraint?"] = ["Its weight is 90."]  # right, but it didn't look
    report = asyncio.run(evaluate_all(ByPrompt(scripts), tmp_path))
    passed = {case.name for case in report.cases if case.passed}
    assert passed == {"Has anything been run yet?", "How many buses do we have?"}
    assert len(report.cases) == len(QUESTIONS)
