"""Several workers on one store, killed at random: their runs are taken over by the others, within so many leases.

The loop of a worker (`member`) is as thin as can be. What is measured is the store's leases and fences, and the engine above them.
"""

import random
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from bench.faults.logs import Log, Note
from bench.faults.looks import reported
from bench.faults.nurseries import Nursery
from bench.faults.orders import Life, Order
from bench.faults.plans import DONE
from bench.faults.verdicts import Verdict, judged

MODULE = "bench.faults.member"


class Crowd(Struct, frozen=True):
    """What is to be done: so many kills over so many workers, runs of twenty calls, leases of so many seconds."""

    kills: int
    store: str = ""
    workers: int = 3
    lease: float = 2.0
    within: float = 3.0  # seconds after the beginning of a life in which a kill comes
    runs: int = 24  # of one batch; all of them are over before the next batch begins
    tail: float = 0.015
    seed: int = 4711


class Outcome(Struct, frozen=True):
    """What came of it: a verdict on each run, and how many leases each takeover took."""

    verdicts: tuple[Verdict, ...]
    kills: int
    takeovers: tuple[float, ...]


class _Left:
    """Kills that are still to be made."""

    def __init__(self, kills: int) -> None:
        self.made = 0
        self._kills = kills
        self._lock = threading.Lock()

    @property
    def any(self) -> bool:
        return self.made < self._kills

    def killed(self) -> None:
        with self._lock:
            self.made += 1


def crowded(what: Crowd, folder: Path, told: Callable[[int], None]) -> Outcome:
    """Batch after batch, until enough was killed."""
    left = _Left(what.kills)
    verdicts: list[Verdict] = []
    takeovers: list[float] = []
    nurseries = [Nursery(MODULE) for _ in range(what.workers)]
    try:
        while left.any:
            batch = folder / f"batch{len(verdicts)}"
            batch.mkdir()
            runs = [f"{batch.name}-{number}" for number in range(what.runs)]
            order = Order(
                str(batch), str(folder / "home"), ",".join(runs), "twenty", what.store, what.tail, lease=what.lease, patience=600.0
            )
            with ThreadPoolExecutor(what.workers) as pool:
                shifts = [pool.submit(_shift, what, order, nursery, left) for nursery in nurseries]
                deaths = [death for shift in shifts for death in shift.result()]
            verdicts += [judged_alone(order, run) for run in runs]
            takeovers += [took / what.lease for took in taken_over(Log(batch / "lives").notes(), deaths)]
            told(left.made)
    finally:
        for nursery in nurseries:
            nursery.__exit__(None, None, None)
    return Outcome(tuple(verdicts), left.made, tuple(takeovers))


class Death(Struct, frozen=True):
    """A worker, known by when it was born, was killed."""

    born: float
    at: float


def _shift(what: Crowd, order: Order, nursery: Nursery, left: _Left) -> list[Death]:
    """One worker's lives, until all runs are over."""
    chance = random.Random(f"{what.seed}{order.folder}{id(nursery)}")
    deaths: list[Death] = []
    while True:
        kill_at = chance.uniform(0.1, what.within) if left.any else None
        life = nursery.live(replace(order, kill_at=kill_at))
        if not life.killed:
            if life.error or life.stuck:
                raise RuntimeError(f"A worker ended: {life.error or 'stuck'}")
            return deaths
        left.killed()
        deaths.append(Death(life.born, time.monotonic()))


def taken_over(notes: Sequence[Note], deaths: Sequence[Death]) -> list[float]:
    """Seconds from a worker's death until somebody else had each of the runs it was at."""
    found: list[float] = []
    for death in deaths:
        for run in _held(notes, death):
            later = [note.at for note in notes if note.kind == "took" and note.run_id == run and note.at > death.at]
            if later:
                found.append(min(later) - death.at)
    return found


def _held(notes: Sequence[Note], death: Death) -> set[str]:
    """The runs that the worker who died had at that time."""
    held: set[str] = set()
    for note in notes:
        if note.kind == "took" and float(note.holder.partition("-")[2]) == death.born:
            held.add(note.run_id)
        elif note.kind in ("let go", "fenced") and float(note.holder.partition("-")[2]) == death.born:
            held.discard(note.run_id)
    return held


def judged_alone(order: Order, run: str) -> Verdict:
    """The verdict on one run. What it reported stands in its own journal, which a last look reads."""
    last = Life(stopped="answered", text=DONE, interrupted=reported(order, run))
    return judged(replace(order, run_id=run), [last])
