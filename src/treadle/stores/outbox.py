"""The outbox of a home: notifications that are to be delivered, until they are. They outlive the process.

The database itself notes each top-level run whose turn has ended, in the transaction that says so (`outbox_new`), once a
notifier has been enabled. A delivery is claimed for a while before it is sent: a process that dies meanwhile leaves it to
the next one, so that it is sent at least once, and possibly again with the same id.
"""

from collections.abc import Sequence

from msgspec import Struct

from treadle.stores.database import Connection, Database, decode_stored_text

PAGE = 100  # rows that are looked at together


class EndedTurn(Struct, frozen=True):
    """A run whose turn has ended at a time: it is over, or it waits."""

    run_id: str
    at: float


class OutboxDelivery(Struct, frozen=True):
    """A delivery: what is sent to which channel, and when. Without `due` it isn't tried any more; `problem` says why."""

    id: str
    run_id: str
    channel: str
    body: str
    due: float | None
    tries: int = 0
    problem: str = ""


_DUE = "SELECT id, run_id, channel, body, due, tries, problem FROM outbox WHERE due <= ? ORDER BY due LIMIT ?"
_ALL = "SELECT id, run_id, channel, body, due, tries, problem FROM outbox ORDER BY due IS NULL, due, id LIMIT ?"


class Outbox:
    """The outbox of one database."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def enable(self, since: float) -> None:
        """Have turns noted from now on; where they weren't before, those too that have ended since a time."""

        def enabled(connection: Connection) -> None:
            if connection.execute("INSERT INTO outbox_on VALUES (1) ON CONFLICT DO NOTHING").rowcount == 1:
                connection.execute(
                    "INSERT INTO outbox_new SELECT run_id, updated_at FROM runs WHERE parent = '' AND status <> 'open'"
                    " AND updated_at >= ? ON CONFLICT DO NOTHING",
                    (since,),
                )

        await self._database.submit(enabled)

    async def list_ended_turns(self) -> list[EndedTurn]:
        """Return the turns that have ended and for which no deliveries were stored yet."""
        query = "SELECT run_id, at FROM outbox_new ORDER BY at LIMIT ?"
        rows = await self._database.submit(lambda connection: connection.execute(query, (PAGE,)).fetchall())
        return [EndedTurn(*row) for row in rows]

    async def store(self, turn: EndedTurn, deliveries: Sequence[OutboxDelivery]) -> None:
        """Store the deliveries of a turn, unless another process has done so."""
        encode = self._database.words.text_codec

        def stored(connection: Connection) -> None:
            if connection.execute("DELETE FROM outbox_new WHERE run_id = ? AND at = ?", (turn.run_id, turn.at)).rowcount != 1:
                return
            for each in deliveries:
                row = (each.id, each.run_id, each.channel, encode(each.body), each.due, each.tries, each.problem)
                connection.execute("INSERT INTO outbox VALUES (?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING", row)

        await self._database.submit(stored)

    async def claim(self, now: float, seconds: float) -> list[OutboxDelivery]:
        """Return the deliveries that are due, which no other process gets for so many seconds."""

        def claimed(connection: Connection) -> list[OutboxDelivery]:
            found = [_from_row(row) for row in connection.execute(_DUE, (now, PAGE)).fetchall()]
            update = "UPDATE outbox SET due = ? WHERE id = ? AND due = ?"
            return [each for each in found if connection.execute(update, (now + seconds, each.id, each.due)).rowcount == 1]

        return await self._database.submit(claimed)

    async def remove(self, delivery_id: str) -> None:
        """Remove a delivery: it was sent, or isn't needed any more."""
        await self._database.submit(lambda connection: connection.execute("DELETE FROM outbox WHERE id = ?", (delivery_id,)))

    async def postpone(self, delivery_id: str, due: float | None, tries: int, problem: str) -> None:
        """Try a delivery again at a time, or never."""
        query, values = "UPDATE outbox SET due = ?, tries = ?, problem = ? WHERE id = ?", (due, tries, problem, delivery_id)
        await self._database.submit(lambda connection: connection.execute(query, values))

    async def deliveries(self, most: int = PAGE) -> list[OutboxDelivery]:
        """Return the deliveries that are left, the next due first; those that aren't tried any more come last."""
        if not self._database.exists():
            return []
        rows = await self._database.submit(lambda connection: connection.execute(_ALL, (most,)).fetchall())
        return [_from_row(row) for row in rows]


def _from_row(row: tuple[str, str, str, str | bytes, float | None, int, str]) -> OutboxDelivery:
    delivery_id, run_id, channel, body, due, tries, problem = row
    return OutboxDelivery(delivery_id, run_id, channel, decode_stored_text(body), due, tries, problem)
