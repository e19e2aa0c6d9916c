"""Delete runs and jobs completely: from the database, the audit, attached files, and the assistants' own data.

Afterwards the home's files contain no byte of them: SQLite files are rewritten, and their logs emptied. Earlier
backups keep what they have.
"""

import asyncio
from collections.abc import Iterable, Sequence
from time import time

from treadle.core.errors import RunNotFound, RunTaken
from treadle.core.log import log
from treadle.core.seams import AuditRecord
from treadle.engine.setup import Services
from treadle.home import Home
from treadle.jobs.store import Jobs, remove_tree
from treadle.stores.audit import DatabaseAudit
from treadle.stores.blobs import FileBlobs
from treadle.stores.deletion import delete_runs
from treadle.stores.journal import DatabaseJournal


async def delete_from_stores(services: Services, run_ids: Sequence[str], *, by: str = "") -> frozenset[str]:
    """Delete runs from database stores and return the ids of all deleted runs, nested ones included."""
    journal, audit = services.journal, services.audit
    if not isinstance(journal, DatabaseJournal):
        raise TypeError("Only a DatabaseJournal's runs can be deleted here.")
    record = AuditRecord(run_ids[0], "", by, "", {}, "", "", "", 0.0, True, None, services.clock(), "deletion")
    deletion = await delete_runs(journal.database, run_ids, record, audit if isinstance(audit, DatabaseAudit) else None)
    if isinstance(services.blobs, FileBlobs):
        for name in deletion.media:
            await asyncio.to_thread(services.blobs.delete, name, time())
    return deletion.run_ids


async def delete_from_home(home: Home, run_ids: Sequence[str], *, by: str = "") -> None:
    """Delete runs with all data about them in a home, and purge its files."""
    from treadle.plugins.assistants import list_assistants  # slow to import

    gone = await delete_from_stores(home.services(), run_ids, by=by)
    for each in list_assistants():
        if each.erase is not None:
            await each.erase(home, gone)
    if not await asyncio.to_thread(home.database.purge):
        log.warning("%s is being read all the time: its log is emptied with the next deletion.", home.database.name)


async def delete_jobs(home: Home, job_ids: Iterable[str], *, by: str = "") -> None:
    """Delete finished jobs, with their runs and checkpoints. What they changed in their workspaces stays."""
    jobs = Jobs(home.folder)
    for job_id in [jobs.get(job_id).id for job_id in job_ids]:
        with jobs.held(job_id) as job:
            if not job.is_over:
                raise RunTaken(f"Job {job_id} isn't over: treadle jobs cancel {job_id}")
            if await _is_stored(home, job_id):
                await delete_from_home(home, [job_id], by=by)
            await asyncio.to_thread(remove_tree, jobs.folder_of(job_id))


async def _is_stored(home: Home, run_id: str) -> bool:
    if not home.database.exists():
        return False
    try:
        await home.journal.info(run_id)
    except RunNotFound:
        return False
    return True
