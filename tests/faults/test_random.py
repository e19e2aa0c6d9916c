"""Processes are killed at any instant, several at once on one store."""

from bench.faults.kills import Kills, Pace, killed
from bench.faults.looks import audited


def test_killed_at_random_nothing_happens_twice_and_nothing_is_lost(tmp_path):
    found = killed(Kills(30, parallel=2, how="unverified", cold=True), tmp_path, lambda _: None)
    assert sum(each.kills for each in found) >= 30
    assert [each for each in found if not each.right] == []
    assert audited(str(tmp_path / "home")) == ""


def test_kills_come_later_where_nothing_was_done_before_them():
    class Last:
        def uniform(self, low, high):
            return high

    pace = Pace(1.0, Last())
    pace.learn(worked=False)
    assert pace.next() == 1.2
    pace.learn(worked=True)
    assert pace.next() < 1.2
