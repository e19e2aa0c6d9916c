"""A place among the runs that a person has under way: taken before anything is written, and held until the run is over.

How many there are says `rates`.
"""

from collections.abc import Generator
from contextlib import contextmanager

from treadle.server.rates import Turnstile


class Place:
    """A place that is taken. Without a turnstile there are as many as one likes."""

    def __init__(self, turnstile: Turnstile | None) -> None:
        if turnstile is not None:
            turnstile.enter()
        self._turnstile = turnstile
        self.is_handed_on = False  # to a run that is under way, and gives it back at its end

    def leave(self) -> None:
        """Give it back; once, however often it is said."""
        turnstile, self._turnstile = self._turnstile, None
        if turnstile is not None:
            turnstile.leave()


@contextmanager
def placed(turnstile: Turnstile | None) -> Generator[Place]:
    """A place for a run that begins inside; where none does, it is given back."""
    place = Place(turnstile)
    try:
        yield place
    finally:
        if not place.is_handed_on:
            place.leave()
