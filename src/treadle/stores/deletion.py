"""Deletes runs from a database in one transaction: entries, results, queue positions, and their content in the audit.

The audit chain stays valid (`audit.erase_records`). Statistics stay, and so do leases: their tokens must go on growing.
Cached results can't be attributed to a run, so the whole cache is emptied.
"""

import asyncio
import re
from collections.abc import Iterator, Sequence

from msgspec import Struct

from treadle.core.seams import AuditRecord
from treadle.stores.audit import DatabaseAudit, erase_records
from treadle.stores.conversations import delete_labels
from treadle.stores.database import Connection, Database
from treadle.stores.journal import children_of, decrypt_lines
from treadle.stores.stats.aggregation import update_stats

_TABLES = (
    *("entries", "results", "queue", "dead_letters", "waits", "cancel_requests", "outbox_new", "outbox", "stats_new", "stats_runs"),
    *("run_versions", "feedback", "runs"),
)
_HASH = re.compile(rb'"sha256":"([0-9a-f]{64})"')


class Deletion(Struct, frozen=True):
    """What was deleted: the runs with their nested runs, and the hashes of attached files that no run references any more."""

    run_ids: frozenset[str]
    media: frozenset[str] = frozenset()


async def delete_runs(database: Database, run_ids: Sequence[str], deletion: AuditRecord, audit: DatabaseAudit | None) -> Deletion:
    """Delete runs and their nested runs; a process that is executing one is refused its next write. Records `deletion`."""
    await asyncio.to_thread(_update_stats, database)
    found: list[Deletion] = []

    def delete(connection: Connection) -> tuple[int, str]:
        doomed = frozenset(each for run_id in run_ids for each in (run_id, *children_of(connection, run_id)))
        found[:] = [Deletion(doomed, frozenset(_find_media(database, connection, doomed)))]
        for run_id in doomed:
            for table in _TABLES:
                connection.execute(f"DELETE FROM {table} WHERE run_id = ?", (run_id,))  # noqa: S608 - our own words
        delete_labels(connection, sorted(doomed))
        connection.execute("DELETE FROM cache")
        return erase_records(connection, database.words, doomed, deletion)

    if audit is None:
        await database.submit(delete)
    else:
        await audit.erase(delete, deletion.run_id)
    unused = await asyncio.to_thread(_find_unused, database, found[0].media) if found[0].media else frozenset[str]()
    return Deletion(found[0].run_ids, unused)


def _update_stats(database: Database) -> None:
    """Bring the statistics up to date while the runs are still there."""
    with database.apart() as connection:
        update_stats(connection, words=database.words, cipher=database.cipher)


def _find_media(database: Database, connection: Connection, run_ids: frozenset[str]) -> Iterator[str]:
    """Yield the hashes of the attached files of these runs."""
    for run_id in run_ids:
        rows = connection.execute("SELECT lines FROM entries WHERE run_id = ?", (run_id,)).fetchall()
        for line in decrypt_lines(database.cipher, run_id, rows):
            yield from (found.decode() for found in _HASH.findall(line))


def _find_unused(database: Database, media: frozenset[str]) -> frozenset[str]:
    """Return the hashes that no run references. Where several runs can reference them, all runs have to be scanned."""
    left = media
    with database.apart() as connection:
        for (run_id,) in connection.execute("SELECT run_id FROM runs").fetchall():
            left = left.difference(_find_media(database, connection, frozenset([run_id])))
            if not left:
                break
    return left
