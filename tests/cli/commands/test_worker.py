"""`treadle worker` as a person stops it. What it does until then is tested with workers."""

import signal

import pytest

from working import Stage


@pytest.fixture
def stage(tmp_path):
    stage = Stage(tmp_path)
    yield stage
    stage.close()


def stuck(stage):
    """A worker with a tool that can't be stopped."""
    run_id = stage.submit("get stuck")
    worker = stage.worker()
    stage.until(lambda: stage.lines("stuck"))
    return run_id, worker


def test_a_worker_ends_in_time_although_a_tool_does_not(stage):
    run_id, worker = stuck(stage)
    assert stage.stop(worker) == 0
    assert f"{run_id} let go, for another worker to go on with" in stage.said(worker)


def test_a_second_signal_ends_it_on_the_spot(stage):
    _, worker = stuck(stage)
    worker.send_signal(signal.SIGINT)
    stage.until(lambda: "Stopping: what is under way is left to others." in stage.said(worker))
    worker.send_signal(signal.SIGINT)
    assert worker.wait(120) == -signal.SIGINT
