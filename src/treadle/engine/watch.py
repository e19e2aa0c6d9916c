"""Fans events out to the watchers of a run. A slow watcher loses the oldest events and learns how many."""

import asyncio
from collections import deque
from collections.abc import AsyncIterator

from treadle.core.events import Event, RunEnded

BUFFER = 10_000  # events kept for a slow watcher


class Watch:
    """One watcher's view of one run: an iterator of events that ends with its `RunEnded`, not with that of a nested run.

    Without a `run_id`, the run is that of the first event.
    """

    def __init__(self, buffer: int = BUFFER, run_id: str = "") -> None:
        self._run_id = run_id
        self._events: deque[Event] = deque(maxlen=buffer)
        self._news = asyncio.Event()
        self.missed = 0

    def __call__(self, event: Event) -> None:
        """Take an event; never blocks."""
        self._run_id = self._run_id or event.run_id
        if len(self._events) == self._events.maxlen:
            self.missed += 1
        self._events.append(event)
        self._news.set()

    def ends_with(self, event: Event) -> bool:
        """Return whether nothing comes after this event."""
        return isinstance(event, RunEnded) and event.run_id in ("", self._run_id)

    async def __aiter__(self) -> AsyncIterator[Event]:
        while True:
            while self._events:
                event = self._events.popleft()
                yield event
                if self.ends_with(event):
                    return
            self._news.clear()
            await self._news.wait()
