"""How much at once, by a clock that the tests turn."""

import asyncio

import pytest
from hypothesis import given
from hypothesis import strategies as st
from starlette.exceptions import HTTPException

from treadle.server.limits import (
    MAX_ADDRESSES,
    MINUTE,
    LoginFailures,
    RateLimiter,
    RunLimiters,
    address_group,
    take_token,
    whole_seconds,
)
from treadle.stores.accounts import Allowance, User


class Clock:
    def __init__(self):
        self.now = 0.0

    def __call__(self):
        return self.now


# requests


def test_a_minutes_worth_may_come_at_once_and_then_as_it_fills():
    bucket, waits = None, []
    for _ in range(4):
        bucket, wait = take_token(bucket, 3, 0.0)
        waits.append(wait)
    assert waits == [0, 0, 0, 20]
    assert take_token(bucket, 3, 19.9)[1] == pytest.approx(0.1)
    assert take_token(bucket, 3, 20.0)[1] == 0


@given(st.integers(1, 1000), st.lists(st.floats(0, 30), max_size=50))
def test_no_more_come_through_than_a_bucket_and_what_filled_it(most, pauses):
    bucket, now, through = None, 0.0, 0
    for pause in pauses:
        now += pause
        for _ in range(100):
            bucket, wait = take_token(bucket, most, now)
            through += wait == 0
            assert 0 <= wait <= MINUTE / most + 1e-9
    assert through <= most + now * most / MINUTE + 1e-6


def test_everybody_has_a_bucket_of_their_own_and_some_have_no_limit():
    clock = Clock()
    rates = RateLimiter(clock)
    anna, ben = User("anna", allowance=Allowance(requests=1)), User("ben", allowance=Allowance(requests=1))
    free = User("free", allowance=Allowance(requests=None))
    assert [rates.wait(anna), rates.wait(ben)] == [0, 0]
    assert [rates.wait(anna), rates.wait(ben)] == [60, 60]
    assert [rates.wait(free) for _ in range(10_000)] == [0] * 10_000
    clock.now = 60.0
    assert rates.wait(anna) == 0


def test_where_everybody_has_the_same_rate_nobodys_own_counts():
    rates = RateLimiter(Clock(), most=2)
    free = User("free", allowance=Allowance(requests=None))
    assert [rates.wait(free) for _ in range(3)] == [0, 0, 30]


def test_seconds_are_whole_and_enough():
    assert [whole_seconds(wait) for wait in (0.01, 1.0, 1.2)] == [1, 1, 2]


# failures


def test_ten_failures_a_minute_are_the_most_from_one_address():
    clock = Clock()
    failures = LoginFailures(clock)
    for number in range(10):
        assert failures.wait("192.0.2.1") == 0
        clock.now = float(number)
        failures.note("192.0.2.1")
    assert failures.wait("192.0.2.1") == 51
    assert failures.wait("192.0.2.2") == 0
    clock.now = 60.0
    assert failures.wait("192.0.2.1") == 0
    failures.note("192.0.2.1")
    assert failures.wait("192.0.2.1") == 1


def test_addresses_that_one_person_can_have_are_one():
    assert address_group("2001:db8:1:2:3:4:5:6") == address_group("2001:db8:1:2::9") != address_group("2001:db8:1:3::9")
    assert address_group("fe80::1%eth0") == address_group("fe80::2%eth1")
    assert [address_group(address) for address in ("192.0.2.1", "", "testclient")] == ["192.0.2.1", "", "testclient"]


def test_only_so_many_addresses_are_remembered():
    failures = LoginFailures(Clock(), most=1)
    for number in range(MAX_ADDRESSES + 1):
        failures.note(f"host{number}")
    assert [failures.wait(f"host{number}") for number in (0, 1, MAX_ADDRESSES)] == [0, 60, 60]


# runs


def test_a_person_has_so_many_runs_at_once_whichever_request_begins_them():
    turnstiles, anna = RunLimiters(), User("anna", allowance=Allowance(runs=2))

    async def come_and_go():
        async with turnstiles.of(anna), turnstiles.of(anna) as inside:
            with pytest.raises(HTTPException, match="You have 2 runs under way and may have 2; wait until one has ended") as full:
                async with turnstiles.of(anna):
                    pass
            assert (full.value.status_code, full.value.headers) == (429, {"retry-after": "10"})
            async with turnstiles.of(User("ben", allowance=Allowance(runs=1))):
                assert inside.inside == 2
        assert inside.inside == 0
        async with turnstiles.of(anna):
            pass

    asyncio.run(come_and_go())


def test_a_run_may_outlast_the_block_that_began_it_and_another_allowance_counts_at_once():
    turnstiles = RunLimiters()
    run_limiter = turnstiles.of(User("anna", allowance=Allowance(runs=1)))
    run_limiter.acquire()
    assert turnstiles.of(User("anna", allowance=Allowance(runs=None))) is run_limiter
    run_limiter.acquire()
    run_limiter.release()
    run_limiter.release()
    with pytest.raises(HTTPException, match=r"You may begin no run here\. The server's administrator can change that") as refused:
        turnstiles.of(User("anna", allowance=Allowance(runs=0))).acquire()
    assert (refused.value.status_code, refused.value.headers) == (403, None)


def test_a_run_that_fails_counts_no_more():
    run_limiter = RunLimiters().of(User("anna"))

    async def fail():
        async with run_limiter:
            raise ValueError("x")

    with pytest.raises(ValueError, match="x"):
        asyncio.run(fail())
    assert run_limiter.inside == 0
