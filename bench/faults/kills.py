"""Random kills: runs of twenty calls, each life of which may be killed at any instant, until so many kills have landed.

Several processes are at it at once, all on one store, so that a kill also meets others that write.
"""

import random
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from bench.faults.logs import Log
from bench.faults.nurseries import WORKER, Nursery
from bench.faults.orders import Life, Order
from bench.faults.verdicts import Verdict, judged

MOST_LIVES = 200
COLD = 0.1  # of the lives after a kill are those of a new interpreter, as after a real crash


class Kills(Struct, frozen=True):
    """What is to be done.

    kills     how many of them have to land while a run is under way
    most      of one run; the next life is then left to end
    within    seconds after the beginning in which the first kills come; None takes what an undisturbed run takes
    parallel  how many processes are at it
    """

    kills: int
    plan: str = "twenty"
    tail: float = 0.015
    most: int = MOST_LIVES
    within: float | None = 0.4
    parallel: int = 4
    store: str = ""
    how: str = ""
    cold: bool = False
    watched: bool = True
    module: str = WORKER
    python: str = ""
    seed: int = 4711


class _Count:
    """Kills that are still to land, shared by all that are at it."""

    def __init__(self, kills: int) -> None:
        self._left = kills
        self._lock = threading.Lock()
        self._runs = 0

    def next_run(self) -> int | None:
        """The number of the next run; None where enough has been killed."""
        with self._lock:
            self._runs += 1
            return self._runs if self._left > 0 else None

    def landed(self) -> bool:
        """A kill landed; False where it was the last."""
        with self._lock:
            self._left -= 1
            return self._left > 0

    @property
    def enough(self) -> bool:
        """Whether no more are needed."""
        return self._left <= 0


def killed(what: Kills, folder: Path, told: Callable[[Verdict], None]) -> list[Verdict]:
    """All runs that it took."""
    count = _Count(what.kills)
    with ThreadPoolExecutor(what.parallel) as pool:
        crews = [pool.submit(_crew, what, folder, count, number, told) for number in range(what.parallel)]
        return [verdict for crew in crews for verdict in crew.result()]


def _crew(what: Kills, folder: Path, count: _Count, number: int, told: Callable[[Verdict], None]) -> list[Verdict]:
    """One nursery's share of the runs."""
    chance = random.Random(what.seed + number)
    found: list[Verdict] = []
    with Nursery(what.module, *([what.python] if what.python else [])) as nursery:
        pace = Pace(what.within or _undisturbed(what, folder / f"undisturbed{number}", nursery), chance)
        while (run := count.next_run()) is not None:
            found.append(_run(what, folder, f"run{run}", nursery, pace, count))
            told(found[-1])
    return found


class Pace:
    """When kills come: at any instant of the time in which a life does something, however busy the machine is.

    Where nothing was done before the kill, the next may come later; else it comes a little sooner.
    """

    def __init__(self, within: float, chance: random.Random) -> None:
        self._within = within
        self.chance = chance

    def next(self) -> float:
        """Seconds after the beginning of a life."""
        return self.chance.uniform(0.0, self._within)

    def learn(self, *, worked: bool) -> None:
        """Whether the life that was killed had called a tool."""
        self._within = min(20.0, max(0.1, self._within * (0.95 if worked else 1.2)))


def _undisturbed(what: Kills, folder: Path, nursery: Nursery) -> float:
    """Seconds of a run that nobody kills."""
    folder.mkdir()
    life = nursery.live(_order(what, folder, "undisturbed"))
    if life.error:
        raise RuntimeError(life.error)
    return life.seconds


def _run(what: Kills, folder: Path, run_id: str, nursery: Nursery, pace: Pace, count: _Count) -> Verdict:
    """One run, from its first life to its last."""
    order = _order(what, folder, run_id)
    log = Log(folder / "lives")
    lives: list[Life] = []
    worked = 0
    while True:
        deadly = not count.enough and sum(life.killed for life in lives) < what.most and len(lives) < MOST_LIVES
        cold = what.cold and bool(lives) and pace.chance.random() < COLD
        life = nursery.live(replace(order, kill_at=pace.next() if deadly else None, cold=cold))
        lives.append(life)
        if not life.killed or len(lives) > MOST_LIVES:
            return judged(order, lives)
        count.landed()
        if what.watched:  # else nobody noted when work began, and kills stay spread over the whole of a run
            works = sum(note.kind == "works" for note in log.notes(run_id))
            pace.learn(worked=works > worked)
            worked = works


def _order(what: Kills, folder: Path, run_id: str) -> Order:
    home = str(folder / "home")
    return Order(str(folder), home, run_id, what.plan, what.store, what.tail, watched=what.watched, how=what.how, patience=120.0)
