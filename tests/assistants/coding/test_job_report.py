"""How a job is shown at its end: only what holds is green, and what to do next is said."""

from typing import Any

import pytest

from treadle.assistant import Job
from treadle.assistants.coding.job_report import format_work_lines, job_style, suggest_next_steps


def job(state: Any = "completed", **output: Any) -> Job:
    return Job("job-1", "coding", "debug", "Prices", state=state, output=output, started_at=10.0, finished_at=12.0)


@pytest.mark.parametrize(
    ("shown", "colour"),
    [
        (job(verified=True, tests="2 tests pass"), "green"),
        (job(review_text="Right."), "green"),
        (job(verified=False, tests="there are no tests"), "yellow"),
        (job(verified=False, denied=True, tests="2 tests fail"), "red"),
        (job("failed"), "red"),
        (job("waiting"), "yellow"),
        (job("cancelled"), "yellow"),
    ],
)
def test_only_what_holds_is_green(shown, colour):
    assert job_style(shown) == colour


def test_what_was_changed_can_be_seen_and_taken_back():
    assert suggest_next_steps(job(files=["shop.py"])) == [
        "To see it: treadle diff job-1",
        "To take it back: treadle undo job-1 --all",
    ]
    assert suggest_next_steps(job()) == []


def test_what_it_took_is_told_with_its_cost_where_that_is_known():
    usage = {"requests": 1, "input_tokens": 1200, "output_tokens": 7}
    assert format_work_lines(job(usage=usage)) == ["Used: 1 request, 1,200 tokens in, 7 out, 2 s"]
    assert format_work_lines(job(usage={**usage, "requests": 2, "cost": 0.0015})) == [
        "Used: 2 requests, 1,200 tokens in, 7 out, $0.0015, 2 s"
    ]
