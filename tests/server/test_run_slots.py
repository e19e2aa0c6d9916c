"""Places among the runs that a person has under way."""

import pytest
from starlette.exceptions import HTTPException

from treadle.server.limits import RunLimiter, RunSlot, reserve_slot
from treadle.stores.accounts import Allowance, User


def run_limiter(runs):
    return RunLimiter(User("ann", allowance=Allowance(runs=runs)))


def test_a_place_is_given_back_once():
    there = run_limiter(2)
    places = [RunSlot(there), RunSlot(there)]
    with pytest.raises(HTTPException, match="may have 2"):
        RunSlot(there)
    places[0].release()
    places[0].release()
    assert there.inside == 1


def test_where_nothing_begins_the_place_is_given_back_and_else_whoever_has_it_does():
    there = run_limiter(1)
    with reserve_slot(there):
        assert there.inside == 1
    assert there.inside == 0
    with pytest.raises(ValueError, match="x"), reserve_slot(there):
        raise ValueError("x")
    assert there.inside == 0
    with reserve_slot(there) as place:
        place.is_handed_on = True
    assert there.inside == 1
    place.release()
    assert there.inside == 0


def test_without_a_turnstile_there_are_as_many_as_one_likes():
    with reserve_slot(None) as place:
        place.release()
