"""Runs of workers are judged by their journals and by what happened in their world."""

import pytest
from bench.faults.plans import DONE
from bench.faults.supply import course_of
from bench.faults.world import World

from treadle.core.calls import Allow, Call, Result
from treadle.core.entries import Finished, Judged, Opened, Resumed, Returned, Started

BEGUN = [Opened(at=1.0), Resumed(at=2.0)]
ANSWERED = Finished(stopped="answered", text=DONE, at=9.0)


def called(number, problem=None, *, again=()):
    """A `once` call, with what comes between its beginning and its end."""
    call = Call(f"c{number}", "once", {"number": number})
    result = Result(call.id, "once", "done", problem)
    return [Judged(call=call, verdict=Allow()), Started(call_id=call.id), *again, Returned(result=result)]


@pytest.fixture
def judged(tmp_path):
    def judged(entries, happened=range(4)):
        for number in happened:
            World(tmp_path / "world").happen("r", f"once {number}")
        return course_of("r", str(tmp_path), "few:once", entries)

    return judged


def test_a_run_that_was_answered_is_right_and_took_its_time(judged):
    course = judged([*BEGUN, *[entry for number in range(4) for entry in called(number)], ANSWERED])
    assert course.verdict.right
    assert course.seconds == 7.0


def test_what_somebody_who_took_over_found_unfinished_has_to_be_reported(judged):
    calls = [called(0), called(1, "interrupted", again=[Resumed(at=5.0)]), called(2), called(3)]
    verdict = judged([*BEGUN, *[entry for call in calls for entry in call], ANSWERED], (0, 2, 3)).verdict
    assert verdict.right
    assert verdict.reported == verdict.unresolved == ("once 1",)


def test_what_was_reported_without_need_is_wrong(judged):
    calls = [called(0), called(1, "interrupted"), called(2), called(3)]
    assert not judged([*BEGUN, *[entry for call in calls for entry in call], ANSWERED]).verdict.right


@pytest.mark.parametrize(
    ("entries", "failure"),
    [
        ([], "The run is gone."),
        ([Opened(at=1.0)], "The run isn't over: its last entry is Opened."),
        ([*BEGUN, Finished(stopped="failed", reason="why", at=3.0)], "failed: why"),
    ],
)
def test_a_run_that_is_gone_stuck_or_failed_is_wrong(judged, entries, failure):
    assert judged(entries).verdict.failure == failure
