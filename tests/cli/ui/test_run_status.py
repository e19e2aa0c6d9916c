"""What the status line says of a run: from its events, by a clock that the test moves."""

import pytest

from treadle.cli.ui.run_status import RunStatus, format_elapsed
from treadle.core.calls import Call, Result
from treadle.core.events import (
    CallRetried,
    CallReturned,
    CallStarted,
    ModelAsked,
    ModelProgressed,
    ModelRetried,
    ReplyArrived,
    RunEnded,
    TextArrived,
)
from treadle.core.requests import Usage


class Watched:
    """A status, and the time."""

    def __init__(self, **how):
        self.now = 1000.0
        self.status = RunStatus(lambda: self.now, **how)

    def after(self, seconds, *events):
        """What is said so many seconds later, once these events have come."""
        self.now += seconds
        for event in events:
            self.status(event)
        return self.status.describe()


def asked(model="openai:gpt", run_id="r"):
    return ModelAsked(run_id=run_id, round=1, model=model)


def progress(stage, done=0, total=0, request=0, ahead=0):
    return ModelProgressed(run_id="r", stage=stage, done=done, total=total, request=request, ahead=ahead)


def started(name, call_id, run_id="r", **arguments):
    return CallStarted(run_id=run_id, call=Call(call_id, name, arguments))


def returned(call_id, run_id="r"):
    return CallReturned(run_id=run_id, result=Result(call_id, "x", "fine"), seconds=1.0)


def test_it_says_how_far_the_model_is():
    watched = Watched()
    assert watched.after(0) == "0 s  Working"
    assert watched.after(1, asked("llamacpp:/models/tiny.gguf")) == "1 s  Waiting for tiny.gguf"
    assert watched.after(1, progress("loading", 0.34, 1)) == "2 s  Loading tiny.gguf: 34 %"
    assert watched.after(3, progress("reading", 512, 2048)) == "5 s  Reading the prompt: 25 % of 2,048 tokens"
    assert watched.after(1, progress("writing", 1)) == "6 s  Writing: 1 token"
    assert watched.after(2, progress("writing", 21)) == "8 s  Writing: 21 tokens, 10.0 tokens/s"
    assert watched.after(0, ReplyArrived(run_id="r", usage=Usage())) == "8 s  Working"


def test_a_model_that_reports_nothing_waits_and_then_writes():
    watched = Watched()
    assert watched.after(12, asked("command:mine")) == "12 s  Waiting for command:mine"
    assert watched.after(1, TextArrived(run_id="r", text="Well")) == "13 s  Writing"


def test_the_requests_of_a_plan_are_counted():
    watched = Watched()
    watched.after(0, asked("llamacpp:small"))
    assert watched.after(1, progress("waiting", request=2)) == "1 s  Waiting for llamacpp:small, request 2"
    assert watched.after(0, progress("waiting", ahead=2)) == "1 s  Waiting for llamacpp:small: 2 runs ahead of yours"
    assert watched.after(1, progress("reading", 1, 2, request=2)) == "2 s  Reading the prompt: 50 % of 2 tokens, request 2"
    watched.after(1, progress("writing", 200, request=2))
    assert watched.after(1, progress("writing", 3, request=3)) == "4 s  Writing: 3 tokens, request 3"


def test_attempts_are_counted_and_the_wait_before_one_runs_down():
    watched = Watched()
    watched.after(0, asked())
    again = ModelRetried(run_id="r", attempt=1, wait=4.0, reason="no")
    assert watched.after(1, again) == "1 s  Trying again in 4 s (attempt 1 failed)"
    assert watched.after(3) == "4 s  Trying again in 1 s (attempt 1 failed)"
    assert watched.after(1, asked()) == "5 s  Waiting for openai:gpt (attempt 2)"
    assert watched.after(1, ReplyArrived(run_id="r", usage=Usage()), asked()) == "6 s  Waiting for openai:gpt"


def test_running_tools_are_named_with_their_own_time():
    watched = Watched()
    assert watched.after(60, started("stock", "c1", item="A")) == '1 min 00 s  Running stock(item="A") (0 s)'
    assert watched.after(5, started("price", "c2")) == "1 min 05 s  Running price() (0 s) and 1 more"
    assert watched.after(2, returned("c2")) == '1 min 07 s  Running stock(item="A") (7 s)'
    tried = CallRetried(run_id="r", call_id="c1", attempt=1, wait=1, reason="no")
    assert watched.after(1, tried) == '1 min 08 s  Running stock(item="A") (attempt 2, 8 s)'
    assert watched.after(0, returned("c1")) == "1 min 08 s  Working"


def test_inside_of_a_nested_agent_what_it_waits_for_is_named():
    watched = Watched()
    watched.after(0, started("helper", "c1"), asked("openai:gpt", "r.c1"))
    assert watched.after(2) == "2 s  Waiting for openai:gpt"
    assert watched.after(0, RunEnded(run_id="r.c1", result=None)) == "2 s  Running helper() (2 s)"
    assert watched.after(0, RunEnded(run_id="r", result=None)) == "2 s  Working"


@pytest.mark.parametrize("event", [progress("reading", 1, 2), ModelRetried(run_id="r", attempt=1, wait=1, reason="")])
def test_progress_of_a_request_that_is_over_says_nothing(event):
    assert Watched(idle="Waiting for the job").after(1, event) == "1 s  Waiting for the job"


def test_long_waits_are_told_in_minutes_and_hours():
    assert [format_elapsed(seconds) for seconds in (0.9, 59.9, 3599, 3600, 7265)] == [
        "0 s",
        "59 s",
        "59 min 59 s",
        "1 h 00 min",
        "2 h 01 min",
    ]
