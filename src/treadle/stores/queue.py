"""The run queues of workers: which run is next, how many at once, and whose worker has died. A lease guards execution.

A run is `waiting` until it may begin, and `sent` until it is over. Each dispatch has its own turn number, so that the worker
of an earlier dispatch can't change anything any more; numbers are never reused, since a run may leave the queue and come
back. Limits are counted in the database and hold across all machines. Each run is in a queue with a name; of the runs that may
begin, those with a higher priority do first, and then those that came first.
"""

from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from secrets import randbelow
from typing import Literal

from msgspec import Struct, field
from msgspec.structs import replace

from treadle.core.entries import Entry
from treadle.stores.database import Connection, Database
from treadle.stores.journal import open_run
from treadle.stores.memory import not_found_error
from treadle.stores.run_versions import JOIN, VERSION, select_versions

MINUTE = 60.0
TICK = 0.001  # seconds that SQLite's clock counts in
MAX_BATCH = 200  # runs that are looked at together
DEFAULT_QUEUE = "default"


FailureCause = Literal["failed", "stalled"]  # stalled: its workers died, again and again, without any progress


class QueuePosition(Struct, frozen=True):
    """A run in a queue: for which user, with which model, not before a time (seconds since 1970), and how urgent it is.

    Of two runs that may begin, the one with the higher priority does first. `version` is that of the application which began it.
    """

    run_id: str
    user: str = ""
    model: str = ""
    at: float = 0.0
    queue: str = DEFAULT_QUEUE
    priority: int = 0
    version: str = ""


class DispatchedRun(Struct, frozen=True):
    """A run that may begin now, and its turn: a number that no other dispatch of it has."""

    run_id: str
    turn: int
    queue: str = DEFAULT_QUEUE
    priority: int = 0
    version: str = ""


class RunsAhead(Struct, frozen=True):
    """Where a run waits for a worker: its queue, how many runs begin before it, and when it may begin at the earliest."""

    queue: str
    ahead: int
    at: float


class QueueCeiling(Struct, frozen=True):
    """How many runs of a queue may be active at once, and how many may begin per minute."""

    at_once: int | None = None
    per_minute: int | None = None


class RunCeilings(Struct, frozen=True):
    """How many runs may be active at once per user and per model, and how many may begin per minute per user; and per queue."""

    per_user: int | None = None
    per_model: int | None = None
    per_minute: int | None = None
    queues: Mapping[str, QueueCeiling] = {}

    def of_queue(self, name: str) -> QueueCeiling:
        """Return the ceilings of a queue."""
        return self.queues.get(name, _NO_CEILING)


_NO_CEILING = QueueCeiling()


class CeilingUsage(Struct, frozen=True):
    """How much of the ceilings is used: active runs by user, model and queue, and those of the last minute by user and queue."""

    users: Counter[str]
    models: Counter[str]
    minute: Counter[str]
    queues: Counter[str] = field(default_factory=Counter[str])
    queues_minute: Counter[str] = field(default_factory=Counter[str])


def select_allowed(places: Sequence[QueuePosition], taken: CeilingUsage, ceilings: RunCeilings, most: int) -> list[QueuePosition]:
    """Return the runs that may begin now, in order. One that may not yet is overtaken. Pure."""
    users, models, minute = taken.users.copy(), taken.models.copy(), taken.minute.copy()
    queues, queues_minute = taken.queues.copy(), taken.queues_minute.copy()
    chosen: list[QueuePosition] = []
    for place in places:
        of_queue = ceilings.of_queue(place.queue)
        counts = (
            (users[place.user], ceilings.per_user),
            (models[place.model], ceilings.per_model),
            (minute[place.user], ceilings.per_minute),
            (queues[place.queue], of_queue.at_once),
            (queues_minute[place.queue], of_queue.per_minute),
        )
        if len(chosen) < most and all(most_of is None or count < most_of for count, most_of in counts):
            chosen.append(place)
            users[place.user] += 1
            models[place.model] += 1
            minute[place.user] += 1
            queues[place.queue] += 1
            queues_minute[place.queue] += 1
    return chosen


class RunQueue:
    """The queues of one database."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._now = f"SELECT {database.words.now}"

    async def open(self, place: QueuePosition, entries: Sequence[Entry]) -> None:
        """Create a run and put it into the queue, atomically."""
        await self._database.submit(lambda connection: self.open_in(connection, place, entries))

    def open_in(self, connection: Connection, place: QueuePosition, entries: Sequence[Entry]) -> None:
        """Do what `open` does, inside an open transaction."""
        open_run(connection, place.run_id, entries, self._database.cipher)
        self._put(connection, place)

    async def find(self, run_id: str) -> RunsAhead | None:
        """Return where a run waits for a worker; None where it doesn't. Creates no database.

        Counted are runs of its queue that may begin now and come before it; ceilings can let a run overtake others.
        """
        if not self._database.exists():
            return None
        return await self._database.submit(lambda connection: self._find(connection, run_id))

    def _find(self, connection: Connection, run_id: str) -> RunsAhead | None:
        mine = connection.execute(
            "SELECT queue, priority, at FROM queue WHERE run_id = ? AND state = 'waiting'", (run_id,)
        ).fetchone()
        if mine is None:
            return None
        queue, priority, at = mine
        now = connection.execute(self._now).fetchone()[0]
        row = connection.execute(_AHEAD, (queue, now, priority, priority, at, at, run_id)).fetchone()
        return RunsAhead(queue, row[0], at)

    async def add(self, place: QueuePosition) -> None:
        """Put a run into the queue; one that is in it already will be continued once more."""
        await self._database.submit(lambda connection: self._put(connection, place))

    async def add_once(self, place: QueuePosition) -> bool:
        """Put a run into the queue; return False where it is in it already."""

        def added(connection: Connection) -> bool:
            if connection.execute("SELECT 1 FROM queue WHERE run_id = ?", (place.run_id,)).fetchone() is not None:
                return False
            self._put(connection, place)
            return True

        return await self._database.submit(added)

    def _put(self, connection: Connection, place: QueuePosition) -> None:
        now = self._time(connection)
        last = connection.execute(_LAST, (now, now + TICK)).fetchone()[0]
        at = max(place.at, now if last is None else last + TICK / 1000)  # in the order they came, also within a tick
        connection.execute(_ADD, (place.run_id, place.user, place.model, at, place.queue, place.priority))
        connection.execute("DELETE FROM dead_letters WHERE run_id = ?", (place.run_id,))

    async def admit(
        self, ceilings: RunCeilings, most: int, queues: Collection[str] = (), versions: Collection[str] | None = None
    ) -> list[DispatchedRun]:
        """Dispatch the runs of some queues, or of all, that may begin, at most `most`. None while another worker does the same.

        `versions` are those of an application whose runs are dispatched, with runs that have none; all, where it is None.
        """
        if most < 1:
            return []
        return await self._database.submit(lambda connection: self._admit(connection, ceilings, most, queues, versions))

    def _admit(
        self, connection: Connection, ceilings: RunCeilings, most: int, queues: Collection[str], versions: Collection[str] | None
    ) -> list[DispatchedRun]:
        if not try_lock_gate(connection, self._database.words.skip_locked):
            return []
        now = self._time(connection)
        taken = _count_usage(connection, now)
        places = _list_waiting(connection, now, taken, ceilings, queues, versions)
        return [_dispatch(connection, place, now) for place in select_allowed(places, taken, ceilings, most)]

    async def stale(
        self, seconds: float, most: int = MAX_BATCH, queues: Collection[str] = (), versions: Collection[str] | None = None
    ) -> list[DispatchedRun]:
        """Return dispatched runs that no worker executes: it died, or never began. Those dispatched last may be about to begin.

        `queues` are those to look at; all, if there are none. `versions` are as in `admit`.

        Those whose worker died come first: where many are dispatched and wait for room, these must not be hidden behind them.
        """
        query = (
            f"SELECT queue.run_id, turn, queue, priority, {VERSION} FROM queue{JOIN}"  # noqa: S608 - marks only
            " LEFT JOIN leases ON leases.run_id = queue.run_id AND holder <> ''"
            f" WHERE state = 'sent' AND sent_at <= ? AND (until IS NULL OR until <= ?)"
            f"{_only('queue', len(queues))}{select_versions(versions)}"
            " ORDER BY until IS NULL, sent_at, queue.run_id LIMIT ?"
        )

        def found(connection: Connection) -> list[DispatchedRun]:
            now = self._time(connection)
            values = (now - seconds, now, *queues, *(versions or ()), most)
            return [DispatchedRun(*row) for row in connection.execute(query, values).fetchall()]

        return await self._database.submit(found)

    async def send_again(self, sent: DispatchedRun) -> DispatchedRun | None:
        """Dispatch a run again that no worker executes; return None where another process was faster."""
        query = "UPDATE queue SET turn = ?, sent_at = ? WHERE run_id = ? AND turn = ? AND state = 'sent'"

        def again(connection: Connection) -> DispatchedRun | None:
            now = self._time(connection)
            turn = _next_turn(sent.turn, now)
            changed = connection.execute(query, (turn, now, sent.run_id, sent.turn)).rowcount
            return replace(sent, turn=turn) if changed == 1 else None

        return await self._database.submit(again)

    async def begins(self, sent: DispatchedRun) -> bool:
        """Return whether a dispatch that is about to begin is still the newest: it may have arrived after a later one."""
        query = "UPDATE queue SET sent_at = ? WHERE run_id = ? AND turn = ? AND state = 'sent'"

        def begun(connection: Connection) -> int:
            return connection.execute(query, (self._time(connection), sent.run_id, sent.turn)).rowcount

        return await self._database.submit(begun) == 1

    async def over(self, sent: DispatchedRun) -> None:
        """Complete a turn. A run that was queued again meanwhile waits for the next one."""

        def ended(connection: Connection) -> None:
            connection.execute("DELETE FROM queue WHERE run_id = ? AND turn = ? AND again = 0", (sent.run_id, sent.turn))
            self._set_waiting(connection, sent, 0)

        await self._database.submit(ended)

    async def put_back(self, sent: DispatchedRun, after: float = 0.0) -> None:
        """Return an unfinished run to the queue, available to other workers after so many seconds."""
        await self._database.submit(lambda connection: self._set_waiting(connection, sent, after))

    async def fail(self, sent: DispatchedRun, cause: FailureCause, tries_of: Callable[[str], int], after: float) -> bool:
        """Complete a turn that failed: the run is tried again after a delay, or, after the tries of its queue, is a dead letter.

        Return whether it is a dead letter. One that stalled isn't tried again.
        """

        def failed(connection: Connection) -> bool:
            row = connection.execute(_FAILED, (sent.run_id, sent.turn)).fetchone()
            if row is None:
                return False
            failures, again, queue = row
            if again or (cause == "failed" and failures < tries_of(queue)):
                self._set_waiting(connection, sent, 0 if again else after * 2 ** (failures - 1))
                return False
            connection.execute("DELETE FROM queue WHERE run_id = ? AND turn = ?", (sent.run_id, sent.turn))
            connection.execute(_ADD_DEAD, (sent.run_id, queue, cause, failures, self._time(connection)))
            return True

        return await self._database.submit(failed)

    def _set_waiting(self, connection: Connection, sent: DispatchedRun, after: float) -> None:
        query = "UPDATE queue SET state = 'waiting', again = 0, at = ? WHERE run_id = ? AND turn = ?"
        connection.execute(query, (self._time(connection) + after, sent.run_id, sent.turn))

    async def has(self, run_id: str) -> bool:
        """Return whether a run is in the queue, or is executed by a worker."""
        query = "SELECT 1 FROM queue WHERE run_id = ?"
        return await self._database.submit(lambda connection: connection.execute(query, (run_id,)).fetchone()) is not None

    async def remove(self, run_id: str) -> None:
        """Take a run out of the queue, whatever its state; a worker that was about to begin it finds that it is gone."""
        query = "DELETE FROM queue WHERE run_id = ?"
        await self._database.submit(lambda connection: connection.execute(query, (run_id,)))

    async def time(self) -> float:
        """Return the database's time in seconds since 1970."""
        return await self._database.submit(self._time)

    async def size(self) -> tuple[int, int]:
        """Return how many runs wait, and how many are active."""
        query = "SELECT state, count(*) FROM queue GROUP BY state"
        found = dict(await self._database.submit(lambda connection: connection.execute(query).fetchall()))
        return found.get("waiting", 0), found.get("sent", 0)

    def _time(self, connection: Connection) -> float:
        return connection.execute(self._now).fetchone()[0]


_LAST = "SELECT max(at) FROM queue WHERE state = 'waiting' AND at >= ? AND at <= ?"
_ADD = (
    "INSERT INTO queue (run_id, owner, model, at, state, turn, sent_at, again, queue, priority)"
    " VALUES (?, ?, ?, ?, 'waiting', 0, 0, 0, ?, ?) ON CONFLICT (run_id) DO UPDATE SET again = 1"
)
_FAILED = "UPDATE queue SET failures = failures + 1 WHERE run_id = ? AND turn = ? RETURNING failures, again, queue"
_ADD_DEAD = (
    "INSERT INTO dead_letters VALUES (?, ?, ?, ?, ?) ON CONFLICT (run_id) DO UPDATE"
    " SET queue = excluded.queue, cause = excluded.cause, failures = excluded.failures, at = excluded.at"
)


def try_lock_gate(connection: Connection, skip: str) -> bool:
    """Return whether this transaction got the admission lock, which it then holds until it ends."""
    return connection.execute(f"SELECT one FROM queue_gate{skip}").fetchone() is not None  # noqa: S608 - our own words


def _count_usage(connection: Connection, now: float) -> CeilingUsage:
    under_way = connection.execute("SELECT owner, model, queue FROM queue WHERE state = 'sent'").fetchall()
    connection.execute("DELETE FROM queue_begun WHERE at <= ?", (now - MINUTE,))
    minute = connection.execute("SELECT owner, queue FROM queue_begun").fetchall()
    users, models, queues = ([row[column] for row in under_way] for column in range(3))
    return CeilingUsage(
        Counter(users), Counter(models), Counter([row[0] for row in minute]), Counter(queues), Counter([row[1] for row in minute])
    )


def _list_waiting(
    connection: Connection,
    now: float,
    taken: CeilingUsage,
    ceilings: RunCeilings,
    queues: Collection[str],
    versions: Collection[str] | None,
) -> list[QueuePosition]:
    """Return the first runs that are due, without those of users, models and queues at a ceiling: they must not hide the others."""
    users = {*_list_full(taken.users, ceilings.per_user), *_list_full(taken.minute, ceilings.per_minute)}
    models = _list_full(taken.models, ceilings.per_model)
    full = [name for name in ceilings.queues if _is_full(name, taken, ceilings)]
    query = (
        f"SELECT queue.run_id, owner, model, at, queue, priority, {VERSION} FROM queue{JOIN}"  # noqa: S608 - marks only
        " WHERE state = 'waiting' AND at <= ?"
        f"{_only('queue', len(queues))}{_exclude('owner', len(users))}{_exclude('model', len(models))}"
        f"{_exclude('queue', len(full))}{select_versions(versions)}"
        f" ORDER BY priority DESC, at, queue.run_id LIMIT {MAX_BATCH}"
    )
    rows = connection.execute(query, (now + TICK, *queues, *users, *models, *full, *(versions or ()))).fetchall()
    return [QueuePosition(*row) for row in rows]


def _is_full(queue: str, taken: CeilingUsage, ceilings: RunCeilings) -> bool:
    ceiling = ceilings.of_queue(queue)
    counts = ((taken.queues[queue], ceiling.at_once), (taken.queues_minute[queue], ceiling.per_minute))
    return any(most is not None and count >= most for count, most in counts)


def _list_full(counts: Counter[str], ceiling: int | None) -> list[str]:
    return [] if ceiling is None else [name for name, count in counts.items() if count >= ceiling]


def _only(column: str, many: int) -> str:
    return f" AND {column} IN ({','.join('?' * many)})" if many else ""


def _exclude(column: str, many: int) -> str:
    return f" AND {column} NOT IN ({','.join('?' * many)})" if many else ""


def _dispatch(connection: Connection, place: QueuePosition, now: float) -> DispatchedRun:
    before = connection.execute("SELECT turn FROM queue WHERE run_id = ?", (place.run_id,)).fetchone()[0]
    turn = _next_turn(before, now)
    connection.execute("UPDATE queue SET state = 'sent', turn = ?, sent_at = ? WHERE run_id = ?", (turn, now, place.run_id))
    connection.execute("INSERT INTO queue_begun (owner, at, queue) VALUES (?, ?, ?)", (place.user, now, place.queue))
    return DispatchedRun(place.run_id, turn, place.queue, place.priority, place.version)


def _next_turn(turn: int, now: float) -> int:
    """Return the next turn number, from the time and, within a tick, a random part: a run may have left the queue and come back."""
    return max(turn + 1, int(now / TICK) * 1_000_000 + randbelow(1_000_000))


_AHEAD = (
    "SELECT count(*) FROM queue WHERE state = 'waiting' AND queue = ? AND at <= ?"
    " AND (priority > ? OR (priority = ? AND (at < ? OR (at = ? AND run_id < ?))))"
)
_RUN_STATUS = "SELECT status, EXISTS (SELECT 1 FROM queue WHERE queue.run_id = runs.run_id) FROM runs WHERE run_id = ?"
_ENTRY_COUNTS = (
    "WITH RECURSIVE inside (run_id) AS (SELECT run_id FROM runs WHERE run_id = ? "
    "UNION SELECT runs.run_id FROM runs JOIN inside ON runs.parent = inside.run_id AND runs.parent <> '') "
    "SELECT run_id, max(next) FROM entries WHERE run_id IN (SELECT run_id FROM inside) GROUP BY run_id"
)


class RunProgress(Struct, frozen=True):
    """How far a run is. It is `over` when its turn has ended or waits, and no other is queued; `counts` are entries by run."""

    over: bool
    counts: dict[str, int]


async def read_progress(database: Database, run_id: str) -> RunProgress:
    """Return how far a run is. What the counts include of a call's result, they include of the runs nested in the call.

    Whether it is over is read before the counts, so that these have the end. Raises `RunNotFound`.
    """

    def read(connection: Connection) -> RunProgress:
        row = connection.execute(_RUN_STATUS, (run_id,)).fetchone()
        if row is None:
            raise not_found_error(run_id)
        status, queued = row
        return RunProgress(status != "open" and not queued, dict(connection.execute(_ENTRY_COUNTS, (run_id,)).fetchall()))

    return await database.submit(read)
