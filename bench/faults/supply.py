"""Runs for workers: submitted as people submit them, counted while they are under way, and judged by their journals in the end.

Several runs share a world, which is a file in the folder they work in; not all of them, since a world is read from its beginning.
"""

import asyncio
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from msgspec import Struct

from bench.faults.assistant import NAME, install
from bench.faults.logs import Note
from bench.faults.orders import Life, Order
from bench.faults.verdicts import Verdict, judged_by
from bench.faults.worker import broken_in, names_of, open_calls
from treadle import open_home
from treadle.core.entries import Entry, Finished, Resumed, Returned
from treadle.core.errors import RunNotFound
from treadle.home import close_home
from treadle.stores.queue import RunQueue
from treadle.workers.run_spec import RunSpec as Wanted
from treadle.workers.submission import submit_run

SHARE = 25  # runs of one world
GLANCE = 0.5  # seconds between two looks at what is left
PATIENCE = 120.0  # seconds in which at least one run has to be answered, or they are stuck


class Course(Struct, frozen=True):
    """How it went with one run: the verdict, and the seconds from its beginning to its answer."""

    verdict: Verdict
    seconds: float = 0.0


class Supply:
    """The runs of one home, all of one plan."""

    def __init__(self, folder: Path, store: str, plan: str) -> None:
        install()
        self.home = folder / "home"
        self._folder = folder
        self._plan = plan
        self._opened = open_home(self.home, database=store)
        self._worlds: dict[str, Path] = {}

    async def submit(self, many: int) -> None:
        """So many more."""
        for start in range(0, many, SHARE):
            world = self._folder / f"world{len(self._worlds)}"
            world.mkdir(parents=True)
            wanted = Wanted(NAME, f"planned:{self._plan}", workspace=str(world), attended=False)
            some = range(min(SHARE, many - start))
            self._worlds |= dict.fromkeys(
                await asyncio.gather(*[submit_run(self._opened, wanted, "Do it all.") for _ in some]), world
            )

    async def left(self) -> int:
        """How many wait or are under way."""
        return sum(await RunQueue(self._opened.database).size())

    async def settled(self, told: Callable[[int], None] = lambda _: None) -> None:
        """Wait until nothing is left, or until nothing was answered for too long."""
        left, since = await self.left(), time.monotonic()
        while left and time.monotonic() - since < PATIENCE:
            await asyncio.sleep(GLANCE)
            now = await self.left()
            if now != left:
                left, since = now, time.monotonic()
                told(left)

    async def courses(self) -> list[Course]:
        """The outcome of each of them."""
        return [course_of(run, str(world), self._plan, await self._entries(run)) for run, world in self._worlds.items()]

    async def _entries(self, run: str) -> list[Entry]:
        try:
            return await self._opened.journal.read(run)
        except RunNotFound:
            return []

    async def audited(self) -> str:
        """What is wrong with the audit's chain; nothing, if it holds."""
        return broken_in(await self._opened.audit.verify())

    def close(self) -> None:
        """Let go of the database."""
        close_home(self._opened)


def course_of(run: str, folder: str, plan: str, entries: Sequence[Entry]) -> Course:
    """How it went with a run, from what its journal says and what happened in its world."""
    begins = [index for index, entry in enumerate(entries) if isinstance(entry, Resumed)]
    notes = [Note("born", run, entries[index].at, open_calls([*entries[:index]]), known=True) for index in begins]
    verdict = judged_by(Order(folder, "", run, plan), [_last(entries)], notes)
    return Course(verdict, entries[-1].at - entries[begins[0]].at if begins else 0.0)


def _last(entries: Sequence[Entry]) -> Life:
    """The end of a run, as a process would report it."""
    if not entries:
        return Life(error="The run is gone.")
    end = entries[-1]
    if not isinstance(end, Finished):
        return Life(error=f"The run isn't over: its last entry is {type(end).__name__}.")
    names = names_of([*entries])
    told = [entry.result for entry in entries if isinstance(entry, Returned) and entry.result.problem == "interrupted"]
    return Life(
        stopped=end.stopped, text=end.text or end.reason, interrupted=tuple(sorted([names[result.call_id] for result in told]))
    )
