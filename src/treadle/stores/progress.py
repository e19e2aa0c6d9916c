"""How far a run is: whether its turn is over, and how many entries it and the runs nested in it have, by one look."""

from msgspec import Struct

from treadle.stores.database import Connection, Database
from treadle.stores.journal import not_found_error

_STATUS = "SELECT status, EXISTS (SELECT 1 FROM queue WHERE queue.run_id = runs.run_id) FROM runs WHERE run_id = ?"
_COUNTS = (
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
        row = connection.execute(_STATUS, (run_id,)).fetchone()
        if row is None:
            raise not_found_error(run_id)
        status, queued = row
        return RunProgress(status != "open" and not queued, dict(connection.execute(_COUNTS, (run_id,)).fetchall()))

    return await database.submit(read)
