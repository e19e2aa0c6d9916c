"""Whether there is another try, and how long to wait before it."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from treadle.core.errors import ToolProblem
from treadle.core.requests import ToolSpec
from treadle.core.tool import RetryPolicy, Tool
from treadle.loop.retry import LONGEST, call_retry_policy, retry_delay


def test_the_wait_doubles_up_to_a_ceiling():
    assert [retry_delay(attempt, 0.5, None, 1.0) for attempt in (1, 2, 3, 4)] == [0.5, 1.0, 2.0, 4.0]
    assert retry_delay(20, 0.5, None, 1.0) == LONGEST


def test_what_the_server_asks_for_is_kept():
    assert retry_delay(1, 0.5, 7.0, 0.0) == 7.0


def test_a_server_that_asks_for_too_long_is_not_waited_for():
    assert retry_delay(1, 0.5, 3600.0, 0.5) is None


@given(st.integers(1, 50), st.floats(0, 1), st.one_of(st.none(), st.floats(0, 100)))
def test_no_wait_is_negative_or_shorter_than_asked(attempt, chance, retry_after):
    wait = retry_delay(attempt, 0.5, retry_after, chance)
    assert wait is not None
    assert wait >= (retry_after or 0)


class Busy(ToolProblem):
    """A problem that passes."""


def tries_again(error, attempt=1, retry="read", **policy):
    tool = Tool(ToolSpec("t", "", {}), retry=retry, retries=RetryPolicy(**policy) if policy else None)
    return call_retry_policy(tool, error, attempt) is not None


@pytest.mark.parametrize("retry", ["read", "idempotent", "keyed"])
def test_a_call_that_may_run_twice_is_tried_again_as_often_as_its_policy_says(retry):
    assert [tries_again(OSError(), attempt, retry, times=2) for attempt in (1, 2, 3)] == [True, True, False]


@pytest.mark.parametrize("retry", ["once", "checkable"])
def test_a_call_that_must_not_happen_twice_is_never_tried_again(retry):
    assert not tries_again(OSError(), retry=retry, times=2)


def test_without_a_policy_nothing_is_tried_again():
    assert not tries_again(OSError())


def test_only_the_given_exceptions_are_worth_another_try():
    assert tries_again(ConnectionError(), times=1, on=(OSError,))
    assert not tries_again(KeyError(), times=1, on=(OSError,))


def test_a_problem_for_the_model_is_tried_again_only_if_it_is_listed():
    assert not tries_again(Busy(), times=1)
    assert not tries_again(Busy(), times=1, on=(Exception,))
    assert tries_again(Busy(), times=1, on=(Exception, Busy))
