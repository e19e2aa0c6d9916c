"""Advances executions when their next step is due, in a thread. What a step does is in `executions`.

With `pace=None` nothing moves until `advance` is called, so that every intermediate state can be examined.
"""

import heapq
import threading
import time

from treadle.demo.platform import executions
from treadle.demo.platform.clock import Clock
from treadle.demo.platform.store import DemoStore


class ExecutionRunner:
    """Runs all executions of one platform. `pace` is how many seconds a usual step takes."""

    def __init__(self, store: DemoStore, clock: Clock, pace: float | None = 0.0) -> None:
        self._store, self._clock, self._pace = store, clock, pace
        self._changed = threading.Condition()
        self._due: list[tuple[float, int]] = []
        self._busy = self._stopped = False
        self._thread = threading.Thread(target=self._run, name="treadle-platform-demo", daemon=True)

    def start(self) -> None:
        """Continue what was running when the platform stopped."""
        with self._store.transaction() as db:
            left = executions.running_executions(db)
        for execution in left:
            self.begin(execution)
        if self._pace is not None:
            self._thread.start()

    def begin(self, execution: int) -> None:
        """Run an execution from now on."""
        if self._pace is None:
            return
        with self._changed:
            heapq.heappush(self._due, (time.monotonic(), execution))
            self._changed.notify_all()

    def advance(self) -> bool:
        """Advance each running execution by one step, by hand. Return whether any doesn't wait forever."""
        with self._store.transaction() as db:
            moving = [each for each in executions.running_executions(db) if each not in executions.waiting_executions(db)]
            for execution in moving:
                executions.advance_execution(db, self._clock.now(), execution)
        return bool(moving)

    def settle(self, seconds: float = 30.0) -> None:
        """Wait until nothing is left to do, except what waits forever."""
        if self._pace is None:
            while self.advance():
                pass
            return
        with self._changed:
            if not self._changed.wait_for(lambda: not self._due and not self._busy, seconds):
                raise TimeoutError(f"Workflows were still running after {seconds} seconds.")

    def stop(self) -> None:
        """Stop after the current step; the next start continues."""
        with self._changed:
            self._stopped = True
            self._changed.notify_all()
        if self._thread.is_alive():
            self._thread.join()

    def _run(self) -> None:
        while (execution := self._next()) is not None:
            with self._store.transaction() as db:
                wait = executions.advance_execution(db, self._clock.now(), execution)
            with self._changed:
                self._busy = False
                if wait is not None:
                    heapq.heappush(self._due, (time.monotonic() + wait * (self._pace or 0.0), execution))
                self._changed.notify_all()

    def _next(self) -> int | None:
        """Return the next execution once it is due; None once the platform stops."""
        with self._changed:
            while not self._stopped:
                wait = self._due[0][0] - time.monotonic() if self._due else None
                if wait is not None and wait <= 0:
                    self._busy = True
                    return heapq.heappop(self._due)[1]
                self._changed.wait(wait)
            return None
