"""`treadle cancel`, `watch`, `retry` and `wait`, and `treadle submit` that waits. What they do is tested with workers."""

import json

import pytest

from working import Stage


@pytest.fixture
def stage(tmp_path):
    stage = Stage(tmp_path)
    yield stage
    stage.close()


def test_a_queued_run_is_submitted_once_cancelled_watched_and_waited_for(stage):
    submit = ("submit", "-a", "steps", "1 steps of 0.01 s", "--run-id", "invoice-7")
    assert [stage.treadle(*submit).out for _ in range(2)] == ["invoice-7\n"] * 2
    refused = stage.treadle(*submit[:3], "hello", *submit[4:])
    assert (refused.code, "Run invoice-7 exists, with another message" in refused.err) == (1, True)
    early = stage.treadle("wait", "invoice-7", "--timeout", "0")
    assert (early.code, early.err) == (1, "treadle: run invoice-7 isn't over yet.\n")
    both = stage.treadle("cancel", "invoice", "none", "--json")
    assert (both.code, both.json, "none" in both.err) == (1, {"invoice-7": "cancelled"}, True)
    watched = stage.treadle("watch", "--json")
    events = [json.loads(line) for line in watched.out.splitlines()]
    assert [event["event"] for event in events] == ["run_started", "said", "reply"]
    assert (watched.code, events[-1]["stopped"]) == (1, "cancelled")
    rest = stage.treadle("watch", "invoice-7", "--json", "--after", events[1]["id"])
    assert rest.out == watched.out.splitlines(keepends=True)[-1]
    over = stage.treadle("wait", "invoice-7", "--json")
    assert (over.code, over.json["status"]) == (1, "cancelled")
    retried = stage.treadle("retry", "invoice-7", "--json")
    assert (retried.code, "only a failed run can be retried" in retried.err) == (1, True)


def test_an_agent_of_a_program_is_submitted_waited_for_watched_and_retried(stage):
    (stage.package / "own_program.py").write_text(
        "from treadle import Agent\nfrom treadle.testing import Scripted\nagent = Agent(Scripted(*['Hello there.'] * 9))\n"
    )
    stage.worker("--agents", "own_program", "--lease", "3")
    said = stage.treadle("submit", "--agent", "own_program:agent", "hello", "--wait")
    assert (said.code, said.out) == (0, "Hello there.\n"), said.err
    watched = stage.treadle("watch")
    assert (watched.code, watched.out) == (0, "Hello there.\n"), watched.err
    failed = stage.treadle("submit", "--agent", "json:agent", "hello", "--wait", "--json", "--run-id", "f1")
    assert (failed.code, failed.json["status"]) == (1, "failed")
    assert "this worker doesn't import 'json'" in failed.json["reason"]
    assert "To try again: treadle retry f1" in failed.err
    assert stage.treadle("retry", "f1").out == "Queued: f1\n"
