"""Ceilings on a turn."""

import pytest

from treadle.core.requests import Usage
from treadle.loop.limits import Limits, Spent, call_beyond, describe_exhausted, find_exhausted, find_limit_mistakes


@pytest.mark.parametrize(
    ("limits", "spent", "words"),
    [
        (Limits(), Spent(), ""),
        (Limits(rounds=2), Spent(rounds=1), ""),
        (Limits(rounds=2), Spent(rounds=2), "the limit of 2 rounds"),
        (Limits(calls=3), Spent(usage=Usage(calls=3)), "the limit of 3 calls"),
        (Limits(calls=3), Spent(usage=Usage(calls=2)), ""),
        (Limits(seconds=1.5), Spent(seconds=1.5), "the limit of 1.5 seconds"),
        (Limits(seconds=1.5), Spent(seconds=1.4), ""),
        (Limits(rounds=None), Spent(rounds=10_000), ""),
        (Limits(failures=1), Spent(failures=1), "the limit of 1 failed call"),
        (Limits(failures=2), Spent(failures=1), ""),
        (Limits(), Spent(failures=10_000), ""),
    ],
)
def test_a_limit_says_when_it_is_reached(limits, spent, words):
    assert describe_exhausted(limits, spent) == words


def test_tokens_keep_the_last_answer_in_reserve():
    limits = Limits(tokens=1000)
    assert describe_exhausted(limits, Spent(usage=Usage(input_tokens=400), last_tokens=300)) == ""
    assert describe_exhausted(limits, Spent(usage=Usage(input_tokens=401), last_tokens=300)) == "the limit of 1000 tokens"


def test_money_keeps_the_last_answer_in_reserve():
    limits = Limits(cost=1.0)
    assert describe_exhausted(limits, Spent(usage=Usage(input_tokens=100, cost=0.5), last_tokens=50)) == ""
    assert describe_exhausted(limits, Spent(usage=Usage(input_tokens=100, cost=0.6), last_tokens=50)) == "the limit of $1"


def test_a_model_without_a_known_price_never_reaches_a_limit_on_cost():
    assert describe_exhausted(Limits(cost=0.01), Spent(usage=Usage(input_tokens=10**9), last_tokens=10**6)) == ""
    assert describe_exhausted(Limits(cost=0.01), Spent(usage=Usage(cost=0.02))) == "the limit of $0.01"


def test_one_more_call_may_be_beyond_a_limit():
    assert call_beyond(Limits(), 1000, "stock", 1000) == ""
    assert call_beyond(Limits(calls=2), 1, "stock", 1) == ""
    assert call_beyond(Limits(calls=2), 2, "stock", 1) == "the limit of 2 calls"
    assert call_beyond(Limits(per_tool={"stock": 1}), 5, "stock", 1) == "the limit of 1 call of stock"
    assert call_beyond(Limits(per_tool={"stock": 1}), 5, "order", 4) == ""


def test_a_limit_has_the_name_of_its_field():
    assert find_exhausted(Limits(rounds=2), Spent(rounds=2)) == "rounds"
    assert find_exhausted(Limits(cost=0.01), Spent(usage=Usage(cost=0.02))) == "cost"
    assert find_exhausted(Limits(), Spent()) == ""


def test_ordinary_limits_have_no_mistakes():
    assert list(find_limit_mistakes(Limits(rounds=1, per_tool={"look": 0}, at_limit="words", words="Enough."))) == []


@pytest.mark.parametrize(
    ("limits", "mistakes"),
    [
        (Limits(rounds=0, cost=-1), ["Limits.rounds is 0", "Limits.cost is -1"]),
        (Limits(per_tool={"look": -1}), ["Limits.per_tool is -1 for look"]),
        (Limits(tries=0, backoff=-0.5), ["Limits.tries is 0", "Limits.backoff is -0.5"]),
        (Limits(at_limit="stop"), ["Limits.at_limit can't be 'stop'"]),  # pyright: ignore[reportArgumentType]
        (Limits(at_limit="words", words=" "), ['Limits.at_limit is "words"']),
        (Limits(refuse_at=2), ["Limits.nudge_at has to be 2 or more"]),
        (Limits(futile_at=1), ["Limits.futile_at is 1"]),
    ],
)
def test_limits_that_cannot_be_meant_are_said(limits, mistakes):
    found = list(find_limit_mistakes(limits))
    assert [said.startswith(start) for said, start in zip(found, mistakes, strict=True)] == [True] * len(mistakes)
