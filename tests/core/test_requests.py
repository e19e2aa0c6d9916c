"""Usage adds up."""

from treadle.core.requests import Usage


def test_usage_adds_up_field_by_field():
    assert Usage(1, 2, 3, 4, 5, 6) + Usage(1, 1, 1, 1, 1, 1) == Usage(2, 3, 4, 5, 6, 7)
    assert Usage(input_tokens=3, output_tokens=4).total_tokens == 7


def test_an_unknown_cost_stays_unknown_until_one_is_known():
    assert (Usage() + Usage()).cost is None
    assert (Usage(cost=0.5) + Usage()).cost == 0.5
    assert (Usage(cost=0.5) + Usage(cost=0.25)).cost == 0.75
