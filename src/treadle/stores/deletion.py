"""Deletes runs from a database, in one transaction: entries, results, places in queues, and what the audit has of their content.

The audit's chain still holds (`audit.erase`). Figures that were counted stay, and so do leases: their tokens must go on growing.
What may be cached of a run can't be told from what isn't, so that the whole cache is emptied.
"""

import asyncio
import re
from collections.abc import Iterator, Sequence

from msgspec import Struct

from treadle.core.seams import AuditRecord
from treadle.stores.audit import DatabaseAudit, erase
from treadle.stores.database import Connection, Database
from treadle.stores.journal import children_of, plain_lines
from treadle.stores.stats.keeping import keep_up

_TABLES = ("entries", "results", "queue", "stats_new", "stats_runs", "runs")
_HASH = re.compile(rb'"sha256":"([0-9a-f]{64})"')


class Deletion(Struct, frozen=True):
    """What was deleted: the runs, with those inside of them, and the hashes of attached files that no run has any more."""

    run_ids: frozenset[str]
    media: frozenset[str] = frozenset()


async def delete_runs(database: Database, run_ids: Sequence[str], deletion: AuditRecord, audit: DatabaseAudit | None) -> Deletion:
    """Delete runs and the runs inside of them; a process that carries one on is refused its next write. `deletion` is recorded."""
    await asyncio.to_thread(_count, database)
    found: list[Deletion] = []

    def delete(connection: Connection) -> tuple[int, str]:
        doomed = frozenset(each for run_id in run_ids for each in (run_id, *children_of(connection, run_id)))
        found[:] = [Deletion(doomed, frozenset(_media(database, connection, doomed)))]
        for run_id in doomed:
            for table in _TABLES:
                connection.execute(f"DELETE FROM {table} WHERE run_id = ?", (run_id,))  # noqa: S608 - our own words
        connection.execute("DELETE FROM cache")
        return erase(connection, database.words, doomed, deletion)

    if audit is None:
        await database.submit(delete)
    else:
        await audit.erase(delete, deletion.run_id)
    unused = await asyncio.to_thread(_unused, database, found[0].media) if found[0].media else frozenset[str]()
    return Deletion(found[0].run_ids, unused)


def _count(database: Database) -> None:
    """Bring the figures up to date while the runs are there."""
    with database.apart() as connection:
        keep_up(connection, words=database.words, cipher=database.cipher)


def _media(database: Database, connection: Connection, run_ids: frozenset[str]) -> Iterator[str]:
    """The hashes of the attached files of these runs."""
    for run_id in run_ids:
        rows = connection.execute("SELECT lines FROM entries WHERE run_id = ?", (run_id,)).fetchall()
        for line in plain_lines(database.cipher, run_id, rows):
            yield from (found.decode() for found in _HASH.findall(line))


def _unused(database: Database, media: frozenset[str]) -> frozenset[str]:
    """Those that no run has. Where several runs can have them, all have to be looked at."""
    left = media
    with database.apart() as connection:
        for (run_id,) in connection.execute("SELECT run_id FROM runs").fetchall():
            left = left.difference(_media(database, connection, frozenset([run_id])))
            if not left:
                break
    return left
