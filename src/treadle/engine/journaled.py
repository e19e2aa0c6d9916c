"""A journaled run: entries and state, what waits for a person, and the one place where entries are recorded."""

from collections.abc import Awaitable, Iterable, Sequence
from typing import Any

from msgspec.structs import replace

from treadle.core.calls import Result
from treadle.core.entries import Entry, Finished, Replied, Returned, Stopped, UngroundedValue, Woken
from treadle.core.errors import SettingsError
from treadle.core.grants import Grant
from treadle.core.requests import Usage
from treadle.core.seams import AuditRecord, Journal
from treadle.engine.approval import build_approval
from treadle.engine.setup import APPROVALS_EXPIRE, Approval, Services
from treadle.guard.log_filter import log
from treadle.guard.redaction import Redactor
from treadle.loop.state import CallState, RunState, apply_entry

MAX_PENDING_WRITES = 64  # writes under way before the run waits for the disk
CANCELLED = "Cancelled before it ran."
CANCELLED_WAITING = "Cancelled while it was waiting for its result; its work had been done."
CANCELLED_READING = "Cancelled while it was running."
CANCELLED_RUNNING = "Cancelled while it was running; it may have taken effect."


def append_entries(journal: Journal, redactor: Redactor, run_id: str, position: int, entries: Sequence[Entry]) -> Awaitable[None]:
    """Write entries; the journal may protect what the redactor finds in them, if it supports that."""
    hiding = getattr(journal, "append_hiding", None)
    return journal.append(run_id, position, entries) if hiding is None else hiding(run_id, position, entries, redactor)


class JournaledRun:
    """One run. Neither a model nor tools are needed to read it, or to record a person's answers."""

    __slots__ = (
        "_append",
        "_append_hiding",
        "_expire",
        "_unsafe",
        "began",
        "differs_from_journal",
        "entries",
        "id",
        "now",
        "redactor",
        "services",
        "state",
        "user",
    )

    def __init__(
        self, run_id: str, services: Services, user: str = "", redactor: Redactor | None = None, expire: float = APPROVALS_EXPIRE
    ) -> None:
        self.id = run_id
        self.services = services
        self.now = services.clock  # the time, for entries
        self.user = user
        self.redactor = redactor or Redactor()
        self.state = RunState()
        self.entries: list[Entry] = []
        self.differs_from_journal = False  # where the journal has an entry without the secrets that the model reads
        self.began: dict[str, float] = {}  # when each call began that is being carried out here
        self._expire = expire
        # As `append_entries` does, for the many writes of a run.
        self._append = None if services.journal is None else services.journal.append
        self._append_hiding = getattr(services.journal, "append_hiding", None)
        self._unsafe: list[Awaitable[Any]] = []

    def replay(self, entries: Iterable[Entry]) -> None:
        """Replay entries that are in the journal already."""
        for entry in entries:
            self.entries.append(entry)
            self.state = apply_entry(self.state, entry)

    def record(self, entry: Entry, written: Entry | None = None) -> None:
        """Record an entry; `written` is stored in its place if given. Safe on disk after `flush`."""
        position = len(self.entries)
        self.state = apply_entry(self.state, entry)
        if written is not None and written is not entry:
            self.differs_from_journal = True
            entry = written
        self.entries.append(entry)
        if self._append_hiding is not None:
            self._track_write(self._append_hiding(self.id, position, (entry,), self.redactor))
        elif self._append is not None:
            self._track_write(self._append(self.id, position, (entry,)))

    def audit(self, record: AuditRecord) -> None:
        """Add a record to the audit."""
        if self.services.audit is not None:
            self._track_write(self.services.audit.record(record))

    def _track_write(self, ticket: Awaitable[Any]) -> None:
        """Have `flush` wait for a write, once: several may have been combined."""
        if ticket not in self._unsafe:
            self._unsafe.append(ticket)

    async def flush(self) -> None:
        """Wait until everything recorded is safe on disk."""
        while self._unsafe:
            waited = tuple(self._unsafe)
            for ticket in waited:  # by every flush, also after another one: it may say that the run isn't ours any more
                await ticket
            self._unsafe = [ticket for ticket in self._unsafe if ticket not in waited]

    @property
    def is_disk_behind(self) -> bool:
        """Whether so many writes are under way that the run has to wait for the disk."""
        return len(self._unsafe) > MAX_PENDING_WRITES

    def finish(
        self,
        stopped: Stopped,
        *,
        text: str = "",
        output: Any = None,
        reason: str = "",
        limit: str = "",
        usage: Usage | None = None,
        ungrounded: tuple[UngroundedValue, ...] = (),
        asleep: bool = False,
    ) -> None:
        """End the turn. What goes on in the background ends with it, unless it waits for a person."""
        for call in self.state.inner:
            if call.background and call.result is None and stopped != "waiting":
                self._record_cancelled(call)
        end = Finished(stopped=stopped, text=text, output=output, reason=reason, limit=limit, usage=usage or Usage(), at=self.now())
        self.record(replace(end, ungrounded=ungrounded, asleep=asleep) if ungrounded or asleep else end)

    def finish_cancelled(self) -> None:
        """End the turn because it was cancelled: every requested call still gets its one result."""
        self.close_calls()
        self.finish("cancelled", text=self.state.words, reason="The run was cancelled.")

    def finish_interrupted(self) -> None:
        """Stop the turn for now: its calls are left as they are, and `resume` treats those that were cut off as after a crash."""
        running = {call_id: self._seconds_since(began) for call_id, began in self.began.items()}
        reason = "The run was interrupted."
        finished = Finished(
            stopped="cancelled", text=self.state.words, reason=reason, interrupted=True, running=running, at=self.now()
        )
        self.record(finished)

    def close_calls(self) -> None:
        """Give every call that has no result one that says that it was cancelled."""
        if self.state.reply_open:
            self.record(Replied(parts=(), finish="broken", at=self.now()))
        for call in self.state.sleeping:
            if call.verdict is None:
                self.record(Woken(result=Result(call.id, call.name, CANCELLED, "cancelled"), at=self.now()))
        for call in (*self.state.calls, *self.state.background):
            if call.result is None:
                self._record_cancelled(call)

    def _record_cancelled(self, call: CallState) -> None:
        seconds = self._seconds_taken(call)
        words = CANCELLED_RUNNING if call.attempts else CANCELLED if seconds is None else CANCELLED_READING
        result = Result(call.id, call.name, CANCELLED_WAITING if call.sleeps else words, "cancelled")
        self.record(Returned(result=result, seconds=seconds or 0.0, waited=call.sleeps, at=self.now()))

    def _seconds_taken(self, call: CallState) -> float | None:
        """Return how long a call had been running that was cut off; None where it wasn't, as far as that is known."""
        if call.id in self.began:
            return self._seconds_since(self.began[call.id])
        return None if self.state.finished is None else self.state.finished.running.get(call.id)

    def _seconds_since(self, began: float) -> float:
        return round(max(self.now() - began, 0.0), 6)

    def grants(self) -> tuple[Grant, ...]:
        """Return what people have allowed: for this conversation, and for always. A file that can't be read allows nothing."""
        if self.services.grants is None:
            return self.state.grants
        try:
            return (*self.state.grants, *self.services.grants.load())
        except SettingsError as error:
            log.warning("Calls that were allowed for always are asked about again: %s", error)
            return self.state.grants

    def waiting(self) -> tuple[CallState, ...]:
        """Return the calls of this run that wait for a person."""
        return tuple([call for call in (*self.state.calls, *self.state.inner) if call.waits])

    def approval(self, call: CallState) -> Approval:
        """Return the approval of one call."""
        return build_approval(self.id, call, self._expire)

    def approvals(self) -> tuple[Approval, ...]:
        """Return all approvals that this run waits for."""
        return tuple([self.approval(call) for call in self.waiting()])
