"""Several workers on one store: the runs of one that dies are taken over, and one that was frozen writes nothing when it wakes."""

import pytest
from bench.faults.cluster import Crowd, Death, crowded, taken_over
from bench.faults.frozen import frozen, nursery_pair
from bench.faults.logs import Note
from bench.faults.looks import audited

from postgres import database


def test_runs_of_workers_that_die_are_taken_over_within_two_leases(tmp_path):
    with database() as url:
        found = crowded(Crowd(6, url, lease=1.0, within=1.0, runs=9), tmp_path, lambda _: None)
        assert audited(str(tmp_path / "home"), url) == ""
    assert found.kills >= 6
    assert [each for each in found.verdicts if not each.right] == []
    assert found.takeovers
    assert sorted(found.takeovers)[len(found.takeovers) // 2] < 2


@pytest.fixture(scope="module")
def pair():
    pair = nursery_pair()
    yield pair
    for nursery in pair:
        nursery.__exit__(None, None, None)


@pytest.mark.parametrize(("retry", "point"), [("once", "tool begins"), ("checkable", "tool acted"), ("keyed", "before Returned")])
def test_a_worker_that_was_frozen_is_fenced_off_when_it_wakes(pair, tmp_path, retry, point):
    found = frozen(tmp_path, pair, retry, point)
    assert found.right
    assert found.taken
    assert found.fenced


def test_a_takeover_is_from_the_death_to_the_next_lease():
    notes = [
        Note("took", "a", 1.0, holder="7-0.5"),
        Note("took", "b", 1.1, holder="7-0.5"),
        Note("let go", "b", 1.2, holder="7-0.5"),
        Note("took", "b", 1.3, holder="8-0.6"),
        Note("took", "a", 4.0, holder="8-0.6"),
    ]
    assert taken_over(notes, [Death(0.5, 2.0)]) == [2.0]
    assert taken_over(notes, [Death(0.9, 2.0)]) == []
