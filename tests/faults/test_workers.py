"""Several workers on one store: the runs of one that dies are taken over, and one that was frozen writes nothing when it wakes."""

import pytest
from bench.faults.cluster import Crowd, crowded
from bench.faults.frozen import frozen, nursery_pair
from bench.faults.orders import Life
from bench.faults.takings import Taking, taken_over

from postgres import database


def test_runs_of_workers_that_die_are_taken_over_within_two_leases(tmp_path):
    """On a busy machine a worker may not have begun before it dies, or not be up for a lease: then leases are made longer."""
    pytest.importorskip("dbos", reason="dbos isn't installed")
    taken: list[float] = []
    for lease in (1.0, 4.0, 16.0):
        folder = tmp_path / str(lease)
        folder.mkdir()
        with database() as url:
            found = crowded(Crowd(5, url, lease=lease, within=3 * lease, runs=6), folder, lambda _: None)
        assert found.kills == 5
        assert found.right, (found.wrong, found.audit, [each for each in found.verdicts if not each.right])
        taken = [seconds / lease for seconds in sorted(found.takeovers)]
        if taken and taken[len(taken) // 2] < 2:
            return
    pytest.fail(f"Runs were taken over after {taken} leases.")


@pytest.fixture(scope="module")
def pair():
    pair = nursery_pair()
    yield pair
    for nursery in pair:
        nursery.__exit__(None, None, None)


@pytest.mark.parametrize(("retry", "point"), [("once", "tool begins"), ("checkable", "tool acted"), ("keyed", "before Returned")])
def test_a_worker_that_was_frozen_is_fenced_off_when_it_wakes(pair, tmp_path, retry, point):
    """On a busy machine the other worker may not be up before the first one wakes: then leases are made longer."""
    for lease in (0.5, 2.0, 8.0):
        folder = tmp_path / str(lease)
        folder.mkdir()
        found = frozen(folder, pair, retry, point, lease=lease)
        assert found.right, found
        if found.taken:
            assert found.fenced
            return
    pytest.fail(f"No other worker took the run within five leases: {found}")


def test_a_takeover_is_from_the_death_to_the_next_lease():
    found = [
        Taking("a", "my-host-7-ab", 1.0),
        Taking("b", "my-host-7-ab", 1.1),
        Taking("b", "", 1.2),
        Taking("b", "my-host-8-cd", 1.3),
        Taking("c", "my-host-7-ab", 1.4),
        Taking("a", "my-host-8-cd", 4.0),
        Taking("a", "my-host-9-ef", 5.0),
    ]
    assert taken_over(found, [Life(killed=True, died=2.0, pid=7)]) == [2.0]
    assert taken_over(found, [Life(killed=True, died=2.0, pid=5), Life(pid=7)]) == []
