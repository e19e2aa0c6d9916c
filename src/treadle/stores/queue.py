"""The runs that workers are to carry out: who is next, how many at once, and whose worker has died. Who carries one out is a lease.

A run is `waiting` until it may begin, and `sent` until it is over. Each time it is sent it has a turn of its own, so that whoever
had an earlier one changes nothing any more; no two have the same number, since a run may leave the queue and come back. Limits are
counted here, in the database, and hold over all machines.
"""

from collections import Counter
from collections.abc import Sequence
from secrets import randbelow

from msgspec import Struct

from treadle.core.entries import Entry
from treadle.stores.database import Connection, Database
from treadle.stores.journal import open_run

MINUTE = 60.0
TICK = 0.001  # seconds that SQLite's clock counts in
MOST = 200  # runs that are looked at together


class Place(Struct, frozen=True):
    """A run in the queue: on whose behalf, by which model, and not before a time (seconds since 1970)."""

    run_id: str
    user: str = ""
    model: str = ""
    at: float = 0.0


class Sent(Struct, frozen=True):
    """A run that may begin now, and its turn: a number that no other turn of it has."""

    run_id: str
    turn: int


class Ceilings(Struct, frozen=True):
    """How many runs may be under way at once for a user and with a model, and how many may begin in a minute for a user."""

    per_user: int | None = None
    per_model: int | None = None
    per_minute: int | None = None


class Taken(Struct, frozen=True):
    """How much of the ceilings is taken: runs under way by user and by model, and those of the last minute by user."""

    users: Counter[str]
    models: Counter[str]
    minute: Counter[str]


def allowed(places: Sequence[Place], taken: Taken, ceilings: Ceilings, most: int) -> list[Place]:
    """Those that may begin now, in order. One that may not yet is overtaken. Pure."""
    users, models, minute = taken.users.copy(), taken.models.copy(), taken.minute.copy()
    chosen: list[Place] = []
    for place in places:
        counts = (
            (users[place.user], ceilings.per_user),
            (models[place.model], ceilings.per_model),
            (minute[place.user], ceilings.per_minute),
        )
        if len(chosen) < most and all(most_of is None or count < most_of for count, most_of in counts):
            chosen.append(place)
            users[place.user] += 1
            models[place.model] += 1
            minute[place.user] += 1
    return chosen


class Queue:
    """The queue of one database."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._now = f"SELECT {database.words.now}"

    async def open(self, place: Place, entries: Sequence[Entry]) -> None:
        """Write a new run down and put it into the queue, both or neither."""
        await self._database.submit(lambda connection: self.open_in(connection, place, entries))

    def open_in(self, connection: Connection, place: Place, entries: Sequence[Entry]) -> None:
        """`open`, inside of somebody's transaction."""
        open_run(connection, place.run_id, entries, self._database.cipher)
        self._put(connection, place)

    async def add(self, place: Place) -> None:
        """Put a run into the queue; one that is in it already will be carried on once more."""
        await self._database.submit(lambda connection: self._put(connection, place))

    def _put(self, connection: Connection, place: Place) -> None:
        now = self._time(connection)
        last = connection.execute(_LAST, (now, now + TICK)).fetchone()[0]
        at = max(place.at, now if last is None else last + TICK / 1000)  # in the order they came, also within a tick
        connection.execute(_ADD, (place.run_id, place.user, place.model, at))

    async def admit(self, ceilings: Ceilings, most: int) -> list[Sent]:
        """Let those begin that may, `most` of them at most. While another worker is at it, none."""
        if most < 1:
            return []
        return await self._database.submit(lambda connection: self._admitted(connection, ceilings, most))

    def _admitted(self, connection: Connection, ceilings: Ceilings, most: int) -> list[Sent]:
        if not passes(connection, self._database.words.skip):
            return []
        now = self._time(connection)
        taken = _taken(connection, now)
        places = _waiting(connection, now, taken, ceilings)
        return [_send(connection, place, now) for place in allowed(places, taken, ceilings, most)]

    async def stale(self, seconds: float, most: int = MOST) -> list[Sent]:
        """Runs that were sent and that nobody carries out: their worker died, or never began. Those sent last may be about to.

        Those whose worker died come first: where many are sent and wait for room, they must not be hidden behind these.
        """
        query = (
            "SELECT queue.run_id, turn FROM queue LEFT JOIN leases ON leases.run_id = queue.run_id AND holder <> ''"
            " WHERE state = 'sent' AND sent_at <= ? AND (until IS NULL OR until <= ?)"
            " ORDER BY until IS NULL, sent_at, queue.run_id LIMIT ?"
        )

        def found(connection: Connection) -> list[Sent]:
            now = self._time(connection)
            return [Sent(*row) for row in connection.execute(query, (now - seconds, now, most)).fetchall()]

        return await self._database.submit(found)

    async def send_again(self, sent: Sent) -> Sent | None:
        """The next turn of a run that nobody carries out; None where somebody was quicker."""
        query = "UPDATE queue SET turn = ?, sent_at = ? WHERE run_id = ? AND turn = ? AND state = 'sent'"

        def again(connection: Connection) -> Sent | None:
            now = self._time(connection)
            turn = _turn_after(sent.turn, now)
            changed = connection.execute(query, (turn, now, sent.run_id, sent.turn)).rowcount
            return Sent(sent.run_id, turn) if changed == 1 else None

        return await self._database.submit(again)

    async def begins(self, sent: Sent) -> bool:
        """Whether a turn that is about to begin is still the newest: it may have come so late that another one was sent."""
        query = "UPDATE queue SET sent_at = ? WHERE run_id = ? AND turn = ? AND state = 'sent'"

        def begun(connection: Connection) -> int:
            return connection.execute(query, (self._time(connection), sent.run_id, sent.turn)).rowcount

        return await self._database.submit(begun) == 1

    async def over(self, sent: Sent) -> None:
        """A turn is over. Where the run was queued again meanwhile, it waits for the next one."""

        def ended(connection: Connection) -> None:
            connection.execute("DELETE FROM queue WHERE run_id = ? AND turn = ? AND again = 0", (sent.run_id, sent.turn))
            self._wait(connection, sent, 0)

        await self._database.submit(ended)

    async def put_back(self, sent: Sent, after: float = 0.0) -> None:
        """A run isn't over, and whoever had it lets it go: others may have it, after so many seconds."""
        await self._database.submit(lambda connection: self._wait(connection, sent, after))

    def _wait(self, connection: Connection, sent: Sent, after: float) -> None:
        query = "UPDATE queue SET state = 'waiting', again = 0, at = ? WHERE run_id = ? AND turn = ?"
        connection.execute(query, (self._time(connection) + after, sent.run_id, sent.turn))

    async def time(self) -> float:
        """What time it is in the database, in seconds since 1970."""
        return await self._database.submit(self._time)

    async def size(self) -> tuple[int, int]:
        """How many wait, and how many are under way."""
        query = "SELECT state, count(*) FROM queue GROUP BY state"
        found = dict(await self._database.submit(lambda connection: connection.execute(query).fetchall()))
        return found.get("waiting", 0), found.get("sent", 0)

    def _time(self, connection: Connection) -> float:
        return connection.execute(self._now).fetchone()[0]


_LAST = "SELECT max(at) FROM queue WHERE state = 'waiting' AND at >= ? AND at <= ?"
_ADD = "INSERT INTO queue VALUES (?, ?, ?, ?, 'waiting', 0, 0, 0) ON CONFLICT (run_id) DO UPDATE SET again = 1"


def passes(connection: Connection, skip: str) -> bool:
    """Whether nobody else lets runs begin at this moment; and nobody does before this transaction is over."""
    return connection.execute(f"SELECT one FROM queue_gate{skip}").fetchone() is not None  # noqa: S608 - our own words


def _taken(connection: Connection, now: float) -> Taken:
    under_way = connection.execute("SELECT owner, model FROM queue WHERE state = 'sent'").fetchall()
    connection.execute("DELETE FROM queue_begun WHERE at <= ?", (now - MINUTE,))
    minute = connection.execute("SELECT owner FROM queue_begun").fetchall()
    return Taken(
        Counter([row[0] for row in under_way]), Counter([row[1] for row in under_way]), Counter([row[0] for row in minute])
    )


def _waiting(connection: Connection, now: float, taken: Taken, ceilings: Ceilings) -> list[Place]:
    """The first that are due, without those of users and models that have reached a ceiling: they must not hide the others."""
    users = {*_full(taken.users, ceilings.per_user), *_full(taken.minute, ceilings.per_minute)}
    models = _full(taken.models, ceilings.per_model)
    query = (
        "SELECT run_id, owner, model, at FROM queue WHERE state = 'waiting' AND at <= ?"  # noqa: S608 - marks only
        f"{_none_of('owner', len(users))}{_none_of('model', len(models))} ORDER BY at, run_id LIMIT {MOST}"
    )
    return [Place(*row) for row in connection.execute(query, (now + TICK, *users, *models)).fetchall()]


def _full(counts: Counter[str], ceiling: int | None) -> list[str]:
    return [] if ceiling is None else [name for name, count in counts.items() if count >= ceiling]


def _none_of(column: str, many: int) -> str:
    return f" AND {column} NOT IN ({','.join('?' * many)})" if many else ""


def _send(connection: Connection, place: Place, now: float) -> Sent:
    before = connection.execute("SELECT turn FROM queue WHERE run_id = ?", (place.run_id,)).fetchone()[0]
    turn = _turn_after(before, now)
    connection.execute("UPDATE queue SET state = 'sent', turn = ?, sent_at = ? WHERE run_id = ?", (turn, now, place.run_id))
    connection.execute("INSERT INTO queue_begun VALUES (?, ?)", (place.user, now))
    return Sent(place.run_id, turn)


def _turn_after(turn: int, now: float) -> int:
    """By the time, and by chance within a tick: a run may have left the queue and come back."""
    return max(turn + 1, int(now / TICK) * 1_000_000 + randbelow(1_000_000))
