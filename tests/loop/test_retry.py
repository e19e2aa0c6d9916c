"""How long to wait before another try."""

from hypothesis import given
from hypothesis import strategies as st

from treadle.loop.retry import LONGEST, retry_delay


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
