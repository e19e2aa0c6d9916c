"""Counts of queues, leases, workers and waiting runs, for metrics and for `treadle queues`: each is one indexed query."""

from msgspec import Struct, field

from treadle.stores.database import Connection, Database
from treadle.stores.run_versions import count_unserved


class QueueCounts(Struct, frozen=True):
    """Runs of a queue: those that may begin, those that begin later, those that were sent to workers, and dead letters.

    `oldest` is for how many seconds the first of those that may begin has been waiting.
    """

    ready: int = 0
    later: int = 0
    sent: int = 0
    dead: int = 0
    oldest: float = 0.0


class OperationStats(Struct, frozen=True):
    """The state of a database that servers and workers share. `asking` counts runs that wait for a person.

    `unserved` counts queued runs by version of an application, where no worker takes runs of that version.
    """

    queues: dict[str, QueueCounts] = field(default_factory=dict[str, QueueCounts])
    leases: int = 0
    expired_leases: int = 0
    live_workers: int = 0
    draining_workers: int = 0
    silent_workers: int = 0
    asking: int = 0
    unserved: dict[str, int] = field(default_factory=dict[str, int])


_QUEUES = (
    "SELECT queue, sum(CASE WHEN state = 'waiting' AND at <= ? THEN 1 ELSE 0 END),"
    " sum(CASE WHEN state = 'waiting' AND at > ? THEN 1 ELSE 0 END), sum(CASE WHEN state = 'sent' THEN 1 ELSE 0 END),"
    " min(CASE WHEN state = 'waiting' AND at <= ? THEN at END) FROM queue GROUP BY queue"
)
_DEAD = (
    "SELECT queue, count(*) FROM dead_letters JOIN runs ON runs.run_id = dead_letters.run_id"
    " WHERE runs.status = 'failed' GROUP BY queue"
)
_LEASES = (
    "SELECT sum(CASE WHEN until > ? THEN 1 ELSE 0 END), sum(CASE WHEN until <= ? THEN 1 ELSE 0 END) FROM leases WHERE holder <> ''"
)
_WORKERS = (
    "SELECT sum(CASE WHEN until > ? AND draining = 0 THEN 1 ELSE 0 END),"
    " sum(CASE WHEN until > ? AND draining = 1 THEN 1 ELSE 0 END), sum(CASE WHEN until <= ? THEN 1 ELSE 0 END) FROM workers"
)
_ASKING = (
    "SELECT count(*) FROM runs WHERE status = 'waiting' AND parent = ''"
    " AND NOT EXISTS (SELECT 1 FROM waits WHERE waits.root = runs.run_id AND waits.asks = 0)"
)


async def count_asking(database: Database) -> int:
    """Return how many runs wait for a person."""
    if not database.exists():
        return 0
    return await database.submit(lambda connection: connection.execute(_ASKING).fetchone()[0])


async def read_operation_stats(database: Database) -> OperationStats:
    """Count what servers and workers share. Creates nothing where nothing was ever written."""
    if not database.exists():
        return OperationStats()
    return await database.submit(lambda connection: _count(connection, f"SELECT {database.words.now}"))


def _count(connection: Connection, now_query: str) -> OperationStats:
    now = connection.execute(now_query).fetchone()[0]
    dead: dict[str, int] = dict(connection.execute(_DEAD).fetchall())
    rows = {row[0]: row[1:] for row in connection.execute(_QUEUES, (now, now, now)).fetchall()}
    queues: dict[str, QueueCounts] = {}
    for name in sorted({*rows, *dead}):
        ready, later, sent, first = rows.get(name, (0, 0, 0, None))
        age = 0.0 if first is None else max(0.0, round(now - first, 3))
        queues[name] = QueueCounts(int(ready), int(later), int(sent), dead.get(name, 0), age)
    leases = connection.execute(_LEASES, (now, now)).fetchone()
    workers = connection.execute(_WORKERS, (now, now, now)).fetchone()
    held, expired, live, draining, silent = (int(value or 0) for value in (*leases, *workers))
    asking = connection.execute(_ASKING).fetchone()[0]
    return OperationStats(queues, held, expired, live, draining, silent, asking, count_unserved(connection, now))
