"""How much at once: requests a minute, runs under way, and failures to sign in. Counted in this process; time is handed in.

What models cost a day is `app.budget`.
"""

import math
from collections.abc import Callable
from ipaddress import IPv6Address, ip_address
from time import monotonic
from typing import Self

from msgspec import Struct
from starlette.exceptions import HTTPException

from treadle.stores.people import Person

MINUTE = 60.0
TRIES = 10  # failures a minute, from one address
MOST_ADDRESSES = 10_000  # that are remembered; whoever fails from more of them has the older ones forgotten
LATER = 10  # seconds after which a run may have ended
NO_RUNS = "You may begin no run here. Whoever runs the server can change that: treadle users change NAME --runs N"

Clock = Callable[[], float]


class Bucket(Struct, frozen=True):
    """What is left of a minute's worth, and when that was."""

    level: float
    at: float


def take(bucket: Bucket | None, per_minute: int, now: float) -> tuple[Bucket, float]:
    """Take one out of a bucket that holds a minute's worth and fills evenly; in how many seconds there is one, 0 if there was."""
    level = per_minute if bucket is None else min(per_minute, bucket.level + (now - bucket.at) * per_minute / MINUTE)
    if level >= 1:
        return Bucket(level - 1, now), 0.0
    return Bucket(level, now), (1 - level) * MINUTE / per_minute


class Rates:
    """The requests of everybody: as many as each may make, or `most` a minute."""

    def __init__(self, clock: Clock = monotonic, most: int | None = None) -> None:
        self._clock = clock
        self._most = most
        self._buckets: dict[str, Bucket] = {}

    def wait(self, person: Person) -> float:
        """Count a request; in how many seconds it may come again, 0 where it may now."""
        most = self._most or person.allowance.requests
        if most is None:
            return 0.0
        self._buckets[person.name], seconds = take(self._buckets.get(person.name), most, self._clock())
        return seconds


class Failures:
    """Who has failed to sign in, and how often in the last minute."""

    def __init__(self, clock: Clock = monotonic, most: int = TRIES) -> None:
        self._clock = clock
        self._most = most
        self._times: dict[str, list[float]] = {}

    def wait(self, address: str) -> float:
        """In how many seconds somebody at this address may try again, 0 where they may now."""
        recent = self._recent(address)
        return 0.0 if len(recent) < self._most else recent[-self._most] + MINUTE - self._clock()

    def note(self, address: str) -> None:
        """They have failed."""
        recent = self._recent(address)
        self._times.pop(place_of(address), None)  # so that it is the last of all
        self._times[place_of(address)] = [*recent, self._clock()]
        while len(self._times) > MOST_ADDRESSES:
            del self._times[next(iter(self._times))]

    def _recent(self, address: str) -> list[float]:
        since = self._clock() - MINUTE
        return [at for at in self._times.get(place_of(address), []) if at > since]


def place_of(address: str) -> str:
    """What counts as one address: of IPv6 the first half, since whoever has one of those has all with the same."""
    try:
        place = ip_address(address.partition("%")[0])
    except ValueError:
        return address
    return str(IPv6Address(int(place) >> 64 << 64)) if place.version == 6 else address


class Turnstile:
    """Counts one person's runs under way. `async with turnstile:` is one; one that outlasts its block has `enter` and `leave`."""

    def __init__(self, person: Person) -> None:
        self.person = person
        self.inside = 0

    def enter(self) -> None:
        """One more; 429 with a sentence where there are as many as they may have, 403 where they may have none."""
        most = self.person.allowance.runs
        if most == 0:
            raise HTTPException(403, NO_RUNS)
        if most is not None and self.inside >= most:
            words = f"You have {self.inside} runs under way and may have {most}; wait until one has ended, or cancel one."
            raise HTTPException(429, words, {"retry-after": str(LATER)})
        self.inside += 1

    def leave(self) -> None:
        """One less."""
        self.inside -= 1

    async def __aenter__(self) -> Self:
        self.enter()
        return self

    async def __aexit__(self, *_: object) -> None:
        self.leave()


class Turnstiles:
    """One for each person, whichever of their requests asks."""

    def __init__(self) -> None:
        self._kept: dict[str, Turnstile] = {}

    def of(self, person: Person) -> Turnstile:
        """Theirs, with what they may have now."""
        turnstile = self._kept.setdefault(person.name, Turnstile(person))
        turnstile.person = person
        return turnstile


def seconds(wait: float) -> int:
    """Whole seconds, after which it is certain."""
    return max(1, math.ceil(wait))
