"""Carries executions on when their next step is due, in a thread. What a step does is `executions`' business.

By hand (`pace=None`) nothing moves until `advance` is called, so that every state on the way can be looked at.
"""

import heapq
import threading
import time

from treadle.assistants.platform.demo import executions
from treadle.assistants.platform.demo.clock import Clock
from treadle.assistants.platform.demo.store import Store


class Runner:
    """All executions of one platform. `pace` is how many seconds a usual step takes."""

    def __init__(self, store: Store, clock: Clock, pace: float | None = 0.0) -> None:
        self._store, self._clock, self._pace = store, clock, pace
        self._changed = threading.Condition()
        self._due: list[tuple[float, int]] = []
        self._busy = self._stopped = False
        self._thread = threading.Thread(target=self._run, name="treadle-platform-demo", daemon=True)

    def start(self) -> None:
        """Go on with whatever was running when the platform stopped."""
        with self._store.transaction() as db:
            left = executions.running(db)
        for execution in left:
            self.begin(execution)
        if self._pace is not None:
            self._thread.start()

    def begin(self, execution: int) -> None:
        """Carry on an execution from now on."""
        if self._pace is None:
            return
        with self._changed:
            heapq.heappush(self._due, (time.monotonic(), execution))
            self._changed.notify_all()

    def advance(self) -> bool:
        """By hand: one thing of each execution that runs. Whether there was any that doesn't wait for ever."""
        with self._store.transaction() as db:
            moving = [each for each in executions.running(db) if each not in executions.waiting(db)]
            for execution in moving:
                executions.advance(db, self._clock.now(), execution)
        return bool(moving)

    def settle(self, seconds: float = 30.0) -> None:
        """Wait until nothing is left to do. What waits for ever isn't waited for."""
        if self._pace is None:
            while self.advance():
                pass
            return
        with self._changed:
            if not self._changed.wait_for(lambda: not self._due and not self._busy, seconds):
                raise TimeoutError(f"Workflows were still running after {seconds} seconds.")

    def stop(self) -> None:
        """End after the step that is being done; the next start goes on."""
        with self._changed:
            self._stopped = True
            self._changed.notify_all()
        if self._thread.is_alive():
            self._thread.join()

    def _run(self) -> None:
        while (execution := self._next()) is not None:
            with self._store.transaction() as db:
                wait = executions.advance(db, self._clock.now(), execution)
            with self._changed:
                self._busy = False
                if wait is not None:
                    heapq.heappush(self._due, (time.monotonic() + wait * (self._pace or 0.0), execution))
                self._changed.notify_all()

    def _next(self) -> int | None:
        """The execution that is due, once one is; None once the platform stops."""
        with self._changed:
            while not self._stopped:
                wait = self._due[0][0] - time.monotonic() if self._due else None
                if wait is not None and wait <= 0:
                    self._busy = True
                    return heapq.heappop(self._due)[1]
                self._changed.wait(wait)
            return None
