"""Calls that had begun when their process died."""

import pytest

from treadle.loop.recover import interrupted_result, recovery


@pytest.mark.parametrize(
    ("retry", "what"),
    [("read", "again"), ("idempotent", "again"), ("keyed", "again"), ("checkable", "check"), ("once", "never")],
)
def test_the_retry_class_decides(retry, what):
    assert recovery(retry) == what


def test_an_interrupted_call_says_that_it_may_have_taken_effect():
    result = interrupted_result("c1", "pay")
    assert result.problem == "interrupted"
    assert "may or may not have taken effect" in result.content
