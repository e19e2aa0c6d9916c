"""Named crash points: a run of each retry class is killed at every point it passes, and taken up again.

Which points there are is found out by letting a run live; so a new transition of the engine's is killed at without being listed
here. Each is a death in the first life; then a death in the second, after a first one in the middle of a call.
"""

import tempfile
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from bench.faults.nurseries import Nursery
from bench.faults.orders import Order
from bench.faults.plans import CLASSES
from bench.faults.verdicts import Verdict, judged

FIRST_DEATH = "tool acted"  # what the second life begins with, where it is the second that dies
MOST_LIVES = 8


class Scenario(Struct, frozen=True):
    """Where a run of one class dies: at the n-th passing of a point, in its first life or its second."""

    retry: str
    point: str
    passing: int = 1
    life: int = 1
    watched: bool = False
    streamed: bool = True


class Tried(Struct, frozen=True):
    """The outcome of one scenario."""

    scenario: Scenario
    verdict: Verdict

    @property
    def reached(self) -> bool:
        """Whether the run came by there and died; not every life passes a point equally often."""
        return self.verdict.kills == self.scenario.life


class Place:
    """Where runs of scenarios are kept: a folder for each, and a home for all of them or for each."""

    def __init__(self, root: Path, store: str = "", *, home: Path | None = None) -> None:
        self._root = root
        self._store = store
        self._home = home
        self._count = 0

    def order(self, scenario: Scenario) -> Order:
        """The order for a new run."""
        self._count += 1
        folder = self._root / str(self._count)
        folder.mkdir(parents=True)
        return Order(
            str(folder),
            str(self._home or folder / "home"),
            f"{scenario.retry}{self._count}",
            f"few:{scenario.retry}",
            store=self._store,
            watched=scenario.watched,
            streamed=scenario.streamed,
            how="unverified" if self._home else "",  # one chain for all of them is looked at in the end
        )


@contextmanager
def in_folder(store: str = "") -> Generator[Place]:
    """A place that is gone afterwards."""
    with tempfile.TemporaryDirectory(prefix="treadle-faults-") as root:
        yield Place(Path(root), store, home=Path(root) / "home" if store else None)


def scenarios(nursery: Nursery, place: Place, retry: str, *, watched: bool, streamed: bool) -> list[Scenario]:
    """All points that a run of this class passes, in its first life and in one that takes it up."""
    first = Scenario(retry, "", watched=watched, streamed=streamed)
    whole = nursery.live(place.order(first))
    order = place.order(first)
    nursery.live(replace(order, point=FIRST_DEATH))
    taken_up = nursery.live(order)
    return [
        replace(first, point=point, passing=passing, life=life)
        for life, passed in ((1, whole.passed), (2, taken_up.passed))
        for point, count in passed.items()
        for passing in range(1, count + 1)
    ]


def tried(nursery: Nursery, place: Place, scenario: Scenario) -> Tried:
    """One scenario: killed as it says, and then left to live."""
    order = place.order(scenario)
    deadly = replace(order, point=scenario.point, passing=scenario.passing)
    orders = [deadly] if scenario.life == 1 else [replace(order, point=FIRST_DEATH), deadly]
    lives = [nursery.live(each) for each in orders]
    while (lives[-1].killed or lives[-1].stuck) and len(lives) < MOST_LIVES:
        lives.append(nursery.live(order))
    return Tried(scenario, judged(order, lives))


def every(
    nursery: Nursery, place: Place, told: Callable[[Tried], None], classes: Sequence[str] = CLASSES, most: int | None = None
) -> list[Tried]:
    """Every point of every class: replies in pieces and watched, and replies in one piece that nobody watches. Or the first few."""
    found: list[Tried] = []
    for retry in classes:
        for both in (True, False):
            for scenario in scenarios(nursery, place, retry, watched=both, streamed=both)[:most]:
                found.append(tried(nursery, place, scenario))
                told(found[-1])
    return found
