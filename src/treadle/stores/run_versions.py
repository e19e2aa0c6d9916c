"""The version of an application that began a run: only workers that have it, or are compatible with it, continue the run.

A run without one may be continued by any worker.
"""

from collections.abc import Collection

from treadle.stores.database import Connection, Database

JOIN = " LEFT JOIN run_versions ON run_versions.run_id = queue.run_id"
VERSION = "coalesce(run_versions.version, '')"


def select_versions(versions: Collection[str] | None) -> str:
    """Return the SQL condition for runs of these versions, as many marks, and those without one; for all runs, where it is None."""
    if versions is None:
        return ""
    marks = f" OR run_versions.version IN ({','.join('?' * len(versions))})" if versions else ""
    return f" AND (run_versions.version IS NULL{marks})"


def split_versions(text: str) -> tuple[str, ...]:
    """Return the versions of a worker's row."""
    return tuple(text.split(",")) if text else ()


class RunVersions:
    """The versions of the runs of one database."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def pin(self, run_id: str, version: str) -> str:
        """Bind a run to a version where it has none, and return the one that it has. An empty version binds nothing."""

        def pinned(connection: Connection) -> str:
            if version:
                connection.execute("INSERT INTO run_versions VALUES (?, ?) ON CONFLICT DO NOTHING", (run_id, version))
            row = connection.execute("SELECT version FROM run_versions WHERE run_id = ?", (run_id,)).fetchone()
            return row[0] if row else ""

        return await self._database.submit(pinned)


_PINNED = (
    "SELECT version, count(*) FROM queue JOIN run_versions ON run_versions.run_id = queue.run_id WHERE NOT EXISTS"
    " (SELECT 1 FROM leases WHERE leases.run_id = queue.run_id AND holder <> '' AND until > ?) GROUP BY version ORDER BY version"
)
_TAKERS = "SELECT app_versions FROM workers WHERE until > ? AND draining = 0"


def count_unserved(connection: Connection, now: float) -> dict[str, int]:
    """Return how many queued runs there are of each version that no worker takes."""
    taken = {version for (versions,) in connection.execute(_TAKERS, (now,)).fetchall() for version in split_versions(versions)}
    return {version: count for version, count in connection.execute(_PINNED, (now,)).fetchall() if version not in taken}
