"""Places among the runs that a person has under way."""

import pytest
from starlette.exceptions import HTTPException

from treadle.server.place import Place, placed
from treadle.server.rates import Turnstile
from treadle.stores.people import Allowance, Person


def turnstile(runs):
    return Turnstile(Person("ann", allowance=Allowance(runs=runs)))


def test_a_place_is_given_back_once():
    there = turnstile(2)
    places = [Place(there), Place(there)]
    with pytest.raises(HTTPException, match="may have 2"):
        Place(there)
    places[0].leave()
    places[0].leave()
    assert there.inside == 1


def test_where_nothing_begins_the_place_is_given_back_and_else_whoever_has_it_does():
    there = turnstile(1)
    with placed(there):
        assert there.inside == 1
    assert there.inside == 0
    with pytest.raises(ValueError, match="x"), placed(there):
        raise ValueError("x")
    assert there.inside == 0
    with placed(there) as place:
        place.is_handed_on = True
    assert there.inside == 1
    place.leave()
    assert there.inside == 0


def test_without_a_turnstile_there_are_as_many_as_one_likes():
    with placed(None) as place:
        place.leave()
