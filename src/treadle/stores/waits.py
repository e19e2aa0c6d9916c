"""Calls that wait for a time or an event: rows that are written with the journal's entries, in the same transaction.

They are the index by which what is due is found without reading a journal. A row is there from `Awaited` until the call's result
is in the journal, or the turn is over. The value of an event that has come is in it meanwhile, encrypted where it has a secret.
"""

from collections.abc import Mapping, Sequence

import msgspec
from msgspec import Struct

from treadle.core.calls import Delivery, Wait
from treadle.core.entries import Awaited, Entry, Finished, Returned, Woken
from treadle.core.seams import DueRun
from treadle.stores.database import Connection, Database, decode_stored_text

PAGE = 500  # rows that are looked at together


class WaitingCall(Struct, frozen=True):
    """A call that waits for a time or an event; `run_id` is that of the top-level run."""

    run_id: str
    call_id: str
    wait: Wait


_INSERT = "INSERT INTO waits VALUES (?, ?, ?, ?, ?, ?, NULL, 0) ON CONFLICT DO NOTHING"
_DELETE = "DELETE FROM waits WHERE root = ? AND run_id = ? AND call_id = ?"
_DELETE_ALL = "DELETE FROM waits WHERE root = ? AND run_id = ?"
_SET_ASKS = "UPDATE waits SET asks = ? WHERE root = ? AND asks <> ?"
_DELIVER = "UPDATE waits SET value = ?, due = ? WHERE event = ? AND event <> '' AND key = ? AND value IS NULL RETURNING root"
_DUE = (
    'SELECT waits.root, waits.due, runs."user" FROM waits JOIN runs ON runs.run_id = waits.root'
    " WHERE waits.due <= ? AND waits.due >= ? AND runs.status = 'waiting' AND (? = '' OR runs.agent = ?)"
    " AND NOT EXISTS (SELECT 1 FROM queue WHERE queue.run_id = waits.root) ORDER BY waits.due LIMIT ?"
)


def write_waits(connection: Connection, run_id: str, entries: Sequence[Entry]) -> None:
    """Have the rows of a run follow from further entries of its journal.

    Where a run has stopped and a person is asked as well, its rows say so: it is in the list of those that wait for people.
    """
    root = _find_root(connection, run_id)
    for entry in entries:
        match entry:
            case Awaited():
                wait = entry.wait
                connection.execute(_INSERT, (root, run_id, entry.call_id, wait.until, wait.event, wait.key))
            case Woken():
                connection.execute(_DELETE, (root, run_id, entry.result.call_id))
            case Returned() if entry.waited:
                connection.execute(_DELETE, (root, run_id, entry.result.call_id))
            case Finished() if entry.stopped == "waiting":
                asks = 0 if entry.asleep else 1
                connection.execute(_SET_ASKS, (asks, run_id, asks))
            case Finished() if not entry.resumable:
                connection.execute(_DELETE_ALL, (root, run_id))
            case _:
                pass


def _find_root(connection: Connection, run_id: str) -> str:
    while (row := connection.execute("SELECT parent FROM runs WHERE run_id = ?", (run_id,)).fetchone()) is not None and row[0]:
        run_id = row[0]
    return run_id


class DatabaseWaits:
    """The waiting calls of one database."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def deliveries(self, run_id: str) -> Mapping[str, Delivery]:
        """Return the events that have come for a run's waiting calls, by the calls' ids."""
        query = "SELECT call_id, event, key, value FROM waits WHERE root = ? AND run_id = ? AND value IS NOT NULL"

        def select(connection: Connection) -> list[tuple[str, str, str, str | bytes]]:
            return connection.execute(query, (_find_root(connection, run_id), run_id)).fetchall()

        rows = await self._database.submit(select)
        return {call_id: self._decrypt(event, key, value) for call_id, event, key, value in rows}

    async def deliver(self, event: str, key: str, delivery: Delivery, now: float) -> list[str]:
        """Store an event for the calls that wait for it and have none yet; return their top-level runs, which are due now."""
        if not self._database.exists():
            return []
        safe = self._database.cipher.safe(msgspec.json.encode(delivery), _associated_data(event, key))
        values = (self._database.words.text_codec(safe.decode()), now, event, key)
        rows = await self._database.submit(lambda connection: connection.execute(_DELIVER, values).fetchall())
        return list(dict.fromkeys([root for (root,) in rows]))

    async def due(self, now: float, most: int = PAGE, *, agent: str = "", after: float = 0.0) -> list[DueRun]:
        """Return the top-level runs that are due, the longest first: of an agent, and due not before a time, if those are given.

        A run that is being carried out isn't among them, and neither is one that is queued for workers.
        """
        if not self._database.exists():
            return []
        values = (now, after, agent, agent, most)
        rows = await self._database.submit(lambda connection: connection.execute(_DUE, values).fetchall())
        found = {run_id: DueRun(run_id, due, user) for run_id, due, user in reversed(rows)}  # the first of each
        return sorted(found.values(), key=lambda run: run.due)

    async def next_due(self, after: float) -> float | None:
        """Return when the next run is due after a time."""
        if not self._database.exists():
            return None
        query = "SELECT min(due) FROM waits WHERE due > ?"
        return await self._database.submit(lambda connection: connection.execute(query, (after,)).fetchone()[0])

    async def waiting(self, most: int = PAGE) -> list[WaitingCall]:
        """Return the calls that wait, the next due first; those without an end come last."""
        if not self._database.exists():
            return []
        query = "SELECT root, call_id, due, event, key FROM waits ORDER BY due IS NULL, due LIMIT ?"
        rows = await self._database.submit(lambda connection: connection.execute(query, (most,)).fetchall())
        return [WaitingCall(root, call_id, Wait(due, event, key)) for root, call_id, due, event, key in rows]

    def _decrypt(self, event: str, key: str, value: str | bytes) -> Delivery:
        text = self._database.cipher.read(decode_stored_text(value).encode(), _associated_data(event, key))
        return msgspec.json.decode(text, type=Delivery)


def _associated_data(event: str, key: str) -> str:
    return f"event {event} {key}"
