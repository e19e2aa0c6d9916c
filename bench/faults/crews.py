"""Several workers at work: whoever is killed is followed by a new one, until all are told to stop."""

from collections.abc import Callable, Generator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

from msgspec.structs import replace

from bench.faults.hired import MODULE, over
from bench.faults.nurseries import Nursery
from bench.faults.orders import Life, Order

Deadline = Callable[[], float | None]  # seconds that the next life has; None where it is left to live


class Crew:
    """Workers under way, and the lives that have ended."""

    def __init__(self, order: Order, deadline: Deadline) -> None:
        self.lives: list[Life] = []
        self._order = order
        self._deadline = deadline

    def shift(self, nursery: Nursery) -> None:
        """One worker's lives, until all are told to stop."""
        while not over(Path(self._order.home)).exists():
            self.lives.append(nursery.live(replace(self._order, kill_at=self._deadline())))

    @property
    def kills(self) -> int:
        """How many workers were killed."""
        return sum(life.died > 0 for life in self.lives)

    @property
    def wrong(self) -> list[str]:
        """What workers ended by that nobody had asked for."""
        return [life.error or "stuck" for life in self.lives if life.error or life.stuck]


@contextmanager
def at_work(workers: int, order: Order, deadline: Deadline) -> Generator[Crew]:
    """So many workers; at the end they are told to stop, and have."""
    crew, end = Crew(order, deadline), over(Path(order.home))
    end.parent.mkdir(parents=True, exist_ok=True)
    nurseries = [Nursery(MODULE) for _ in range(workers)]
    try:
        with ThreadPoolExecutor(workers) as pool:
            shifts = [pool.submit(crew.shift, nursery) for nursery in nurseries]
            try:
                yield crew
            finally:
                end.touch()
            for shift in shifts:
                shift.result()
    finally:
        for nursery in nurseries:
            nursery.__exit__(None, None, None)
