"""The process dies at named points, of every retry class: nothing happens twice, nothing is lost, and what is unknown is said."""

import pytest
from bench.faults.named import Place, Scenario, every, scenarios, tried
from bench.faults.nurseries import Nursery
from bench.faults.plans import CLASSES

from postgres import database

AROUND_A_CALL = ("safe Started", "tool begins", "tool acted", "tool ends", "handed Returned", "safe Returned")


@pytest.fixture(scope="module")
def nursery():
    with Nursery() as nursery:
        yield nursery


@pytest.fixture(scope="module")
def in_sqlite(tmp_path_factory):
    return Place(tmp_path_factory.mktemp("points"))


@pytest.fixture(scope="module")
def in_postgres(tmp_path_factory):
    root = tmp_path_factory.mktemp("points")
    with database() as url:
        yield Place(root, url, home=root / "home")


def at_each_point_once(nursery, place, retry):
    """Each point, at its second passing where it has one: the first is always the same call. Resuming has its own."""
    passings = {}
    for each in scenarios(nursery, place, retry, watched=True, streamed=True):
        passings.setdefault(each.point, []).append(each)
    lives = [[each for each in some if each.life == some[0].life] for some in passings.values()]
    return [some[min(1, len(some) - 1)] for some in lives]


def test_a_call_that_may_happen_once_at_every_point(nursery, in_sqlite):
    chosen = at_each_point_once(nursery, in_sqlite, "once")
    assert len(chosen) > 40
    assert {each.life for each in chosen} == {1, 2}
    wrong = [each for each in (tried(nursery, in_sqlite, one) for one in chosen) if not each.verdict.right]
    assert wrong == []


@pytest.mark.parametrize("retry", CLASSES)
def test_every_class_in_the_middle_of_a_call(nursery, in_sqlite, retry):
    points = [point for point in AROUND_A_CALL if retry != "read" or "Started" not in point]
    found = [tried(nursery, in_sqlite, Scenario(retry, point, passing=2)) for point in points]
    assert [each for each in found if not each.verdict.right] == []
    assert all(each.reached for each in found)


@pytest.mark.parametrize("retry", CLASSES)
def test_the_same_in_postgres(nursery, in_postgres, retry):
    points = ("safe Started", "tool acted", "safe Returned") if retry != "read" else ("tool acted",)
    found = [tried(nursery, in_postgres, Scenario(retry, point, passing=2)) for point in points]
    assert [each for each in found if not each.verdict.right] == []


def test_it_dies_again_while_it_takes_a_call_up(nursery, in_sqlite):
    points = {"checkable": ("tool is asked", "tool has answered", "safe Returned"), "once": ("handed Returned", "safe Returned")}
    found = [tried(nursery, in_sqlite, Scenario(retry, point, life=2)) for retry, some in points.items() for point in some]
    assert [each for each in found if not each.verdict.right] == []
    assert all(each.reached for each in found)


@pytest.mark.parametrize("point", ["tool begins", "tool acted", "tool ends"])
def test_exactly_the_call_that_was_under_way_is_reported(nursery, in_sqlite, point):
    found = tried(nursery, in_sqlite, Scenario("once", point, passing=1))
    assert found.verdict.reported == ("once 0",)


@pytest.mark.parametrize("point", ["before Opened", "handed Said", "model asked", "before Started", "safe Finished"])
def test_nothing_is_reported_where_no_call_was_under_way(nursery, in_sqlite, point):
    found = tried(nursery, in_sqlite, Scenario("once", point, passing=1))
    assert found.reached
    assert found.verdict.reported == ()
    assert found.verdict.right


def test_a_run_that_somebody_was_told_of_is_never_forgotten(nursery, in_sqlite):
    found = tried(nursery, in_sqlite, Scenario("once", "somebody was told", watched=True))
    assert found.reached
    assert found.verdict.right


def test_every_point_is_tried_in_both_ways_to_reply(nursery, in_sqlite):
    seen = []
    few = every(nursery, in_sqlite, seen.append, ("read",), most=3)
    assert few == seen
    assert {(each.scenario.watched, each.scenario.streamed) for each in few} == {(True, True), (False, False)}
