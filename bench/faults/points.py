"""Named points at which a process ends itself: around the journal, the audit, the tools and the model. All of them are wrappers.

before X     X is about to be handed to the store
handed X     X was handed to the store, which may not have begun with it
awaiting X   the engine begins to wait until X is on the disk
safe X       X is on the disk, and the engine goes on
"""

import os
import signal
from collections import Counter
from collections.abc import Awaitable, Generator, Sequence
from typing import Any

from bench.faults.orders import Order
from treadle.core.entries import Entry
from treadle.core.seams import AuditRecord, Journal
from treadle.stores.audit import DatabaseAudit


class Points:
    """Counts what is passed, and ends the process where the order says so."""

    def __init__(self, order: Order) -> None:
        self._deadly = order.point
        self._passing = order.passing
        self._signal = signal.SIGKILL if order.action == "kill" else signal.SIGSTOP
        self.passed: Counter[str] = Counter()

    def pass_by(self, point: str) -> None:
        """A point is reached."""
        self.passed[point] += 1
        if point == self._deadly and self.passed[point] == self._passing:
            os.kill(os.getpid(), self._signal)


class _Ticket:
    """A write on its way: what the engine waits for, with points around the wait."""

    def __init__(self, inner: Awaitable[None], what: str, points: Points) -> None:
        self._inner = inner
        self._what = what
        self._points = points

    def __await__(self) -> Generator[Any, None, None]:
        self._points.pass_by(f"awaiting {self._what}")
        yield from self._inner.__await__()
        self._points.pass_by(f"safe {self._what}")


class PointedJournal:
    """A journal with points around each kind of entry."""

    def __init__(self, inner: Journal, points: Points) -> None:
        self._inner = inner
        self._points = points

    def append(self, run_id: str, position: int, entries: Sequence[Entry]) -> Awaitable[None]:
        what = type(entries[-1]).__name__
        self._points.pass_by(f"before {what}")
        ticket = self._inner.append(run_id, position, entries)
        self._points.pass_by(f"handed {what}")
        return _Ticket(ticket, what, self._points)

    async def read(self, run_id: str) -> list[Entry]:
        entries = await self._inner.read(run_id)
        self._points.pass_by("journal read")
        return entries


class PointedAudit:
    """An audit with points around each record."""

    def __init__(self, inner: DatabaseAudit, points: Points) -> None:
        self._inner = inner
        self._points = points

    def record(self, record: AuditRecord) -> Awaitable[None]:
        self._points.pass_by("before audit record")
        ticket = self._inner.record(record)
        self._points.pass_by("handed audit record")
        return _Ticket(ticket, "audit record", self._points)

    async def anchor(self, run_id: str) -> None:
        self._points.pass_by("before anchor")
        await self._inner.anchor(run_id)
        self._points.pass_by("after anchor")
