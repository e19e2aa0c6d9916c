"""Rate limits: requests per minute, active runs, and failed sign-ins. Counted in this process; the clock is injected.

`agent.budget` limits what models cost per day.
"""

import math
from collections.abc import Callable, Generator
from contextlib import contextmanager
from ipaddress import IPv6Address, ip_address
from time import monotonic
from typing import Self

from msgspec import Struct
from starlette.exceptions import HTTPException

from treadle.stores.accounts import User

MINUTE = 60.0
MAX_FAILURES = 10  # failures a minute, from one address
MAX_ADDRESSES = 10_000  # that are remembered; the oldest are dropped first
RETRY_AFTER = 10  # seconds after which a run may have ended
NO_RUNS = "You may begin no run here. The server's administrator can change that: treadle users change NAME --runs N"

Clock = Callable[[], float]


class TokenBucket(Struct, frozen=True):
    """A token bucket: its level, and when that was."""

    level: float
    at: float


def take_token(bucket: TokenBucket | None, per_minute: int, now: float) -> tuple[TokenBucket, float]:
    """Take a token from a bucket that holds a minute's worth and fills evenly.

    Also return the seconds until one is free, 0 where there was one.
    """
    level = per_minute if bucket is None else min(per_minute, bucket.level + (now - bucket.at) * per_minute / MINUTE)
    if level >= 1:
        return TokenBucket(level - 1, now), 0.0
    return TokenBucket(level, now), (1 - level) * MINUTE / per_minute


class RateLimiter:
    """Rate limiter for all users: as many requests as each may make, or `most` a minute."""

    def __init__(self, clock: Clock = monotonic, most: int | None = None) -> None:
        self._clock = clock
        self._most = most
        self._buckets: dict[str, TokenBucket] = {}

    def wait(self, person: User) -> float:
        """Count a request; return in how many seconds it may be retried, 0 where it may proceed."""
        most = self._most or person.allowance.requests
        if most is None:
            return 0.0
        self._buckets[person.name], seconds = take_token(self._buckets.get(person.name), most, self._clock())
        return seconds


class LoginFailures:
    """Failed sign-ins of the last minute, by address."""

    def __init__(self, clock: Clock = monotonic, most: int = MAX_FAILURES) -> None:
        self._clock = clock
        self._most = most
        self._times: dict[str, list[float]] = {}

    def wait(self, address: str) -> float:
        """Return in how many seconds this address may try again, 0 where it may now."""
        recent = self._recent(address)
        return 0.0 if len(recent) < self._most else recent[-self._most] + MINUTE - self._clock()

    def note(self, address: str) -> None:
        """Record a failed sign-in."""
        recent = self._recent(address)
        self._times.pop(address_group(address), None)  # so that it is the last of all
        self._times[address_group(address)] = [*recent, self._clock()]
        while len(self._times) > MAX_ADDRESSES:
            del self._times[next(iter(self._times))]

    def _recent(self, address: str) -> list[float]:
        since = self._clock() - MINUTE
        return [at for at in self._times.get(address_group(address), []) if at > since]


def address_group(address: str) -> str:
    """Return what counts as one address: of IPv6 the /64 prefix, since a client has all addresses in it."""
    try:
        place = ip_address(address.partition("%")[0])
    except ValueError:
        return address
    return str(IPv6Address(int(place) >> 64 << 64)) if place.version == 6 else address


class RunLimiter:
    """Limits one user's active runs.

    `async with limiter:` holds a slot; a run that outlasts its block uses `acquire` and `release`.
    """

    def __init__(self, person: User) -> None:
        self.person = person
        self.inside = 0

    def acquire(self) -> None:
        """Acquire a slot; raise 429 with a sentence where the limit is reached, 403 where it is zero."""
        most = self.person.allowance.runs
        if most == 0:
            raise HTTPException(403, NO_RUNS)
        if most is not None and self.inside >= most:
            words = f"You have {self.inside} runs under way and may have {most}; wait until one has ended, or cancel one."
            raise HTTPException(429, words, {"retry-after": str(RETRY_AFTER)})
        self.inside += 1

    def release(self) -> None:
        """Release a slot."""
        self.inside -= 1

    async def __aenter__(self) -> Self:
        self.acquire()
        return self

    async def __aexit__(self, *_: object) -> None:
        self.release()


class RunLimiters:
    """The run limiters of all users."""

    def __init__(self) -> None:
        self._kept: dict[str, RunLimiter] = {}

    def of(self, person: User) -> RunLimiter:
        """Return a user's limiter, with their current limit."""
        run_limiter = self._kept.setdefault(person.name, RunLimiter(person))
        run_limiter.person = person
        return run_limiter


def whole_seconds(wait: float) -> int:
    """Round up to whole seconds, at least one, for `Retry-After`."""
    return max(1, math.ceil(wait))


class RunSlot:
    """A reserved slot. Without a limiter there is no limit."""

    def __init__(self, run_limiter: RunLimiter | None) -> None:
        if run_limiter is not None:
            run_limiter.acquire()
        self._run_limiter = run_limiter
        self.is_handed_on = False  # to a run that is under way, and gives it back at its end

    def release(self) -> None:
        """Release the slot; further calls do nothing."""
        run_limiter, self._run_limiter = self._run_limiter, None
        if run_limiter is not None:
            run_limiter.release()


@contextmanager
def reserve_slot(run_limiter: RunLimiter | None) -> Generator[RunSlot]:
    """Reserve a slot for a run that starts in this context; release it where none does."""
    place = RunSlot(run_limiter)
    try:
        yield place
    finally:
        if not place.is_handed_on:
            place.release()
