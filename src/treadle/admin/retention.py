"""Retention: find and delete runs and jobs that are older than `[retention]` in `treadle.toml` allows.

A server applies it when it starts and once a day, to its owner's home and to its users'; `treadle retention apply`
does it manually. Only finished runs are deleted: one that waits for a person stays.
"""

import asyncio
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import asynccontextmanager
from time import time

from msgspec import Struct

from treadle.admin.deletion import delete_from_home, delete_jobs
from treadle.core.errors import TreadleError
from treadle.core.log import log
from treadle.home import Home
from treadle.jobs.store import Job, Jobs
from treadle.settings.schema import RetentionSettings
from treadle.stores.journal import RunInfo

BY = "retention"  # who the audit says has deleted them
DAY = 24 * 60 * 60.0  # seconds
BATCH = 500  # runs of one transaction


class ExpiredItems(Struct, frozen=True):
    """Runs and jobs past their retention."""

    runs: list[RunInfo]
    jobs: list[Job]


async def find_expired(home: Home, settings: RetentionSettings, now: float) -> ExpiredItems:
    """Return what retention would delete. Creates no files."""
    jobs = Jobs(home.folder)
    all_jobs = await asyncio.to_thread(jobs.all)
    old_jobs = [job for job in all_jobs if job.is_over and _is_older(job.finished_at, settings.jobs_days, now)]
    if settings.runs_days is None or not home.database.exists():
        return ExpiredItems([], old_jobs)
    runs = await home.journal.ended_before(now - settings.runs_days * DAY)
    of_jobs = {job.id for job in all_jobs}
    return ExpiredItems([run for run in runs if run.run_id not in of_jobs], old_jobs)


def _is_older(at: float, days: float | None, now: float) -> bool:
    return days is not None and at < now - days * DAY


async def apply_retention(home: Home, settings: RetentionSettings, now: float) -> ExpiredItems:
    """Delete expired runs and jobs and return them."""
    found = await find_expired(home, settings, now)
    ids = [run.run_id for run in found.runs]
    for start in range(0, len(ids), BATCH):
        await delete_from_home(home, ids[start : start + BATCH], by=BY)
    await delete_jobs(home, [job.id for job in found.jobs], by=BY)
    return found


@asynccontextmanager
async def run_retention_daily(settings: RetentionSettings, homes: Callable[[], Sequence[Home]]) -> AsyncGenerator[None]:
    """Apply retention to these homes now and once a day, while the context is open; do nothing where none is set."""
    if settings == RetentionSettings():
        yield
        return
    task = asyncio.create_task(_apply_daily(settings, homes))
    try:
        yield
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


async def _apply_daily(settings: RetentionSettings, homes: Callable[[], Sequence[Home]]) -> None:
    while True:
        for home in await asyncio.to_thread(homes):
            try:
                found = await apply_retention(home, settings, time())
            except TreadleError as error:
                log.warning("Retention couldn't be applied to %s: %s", home.folder, error)
            else:
                if found.runs or found.jobs:
                    log.info("Retention deleted %d runs and %d jobs in %s", len(found.runs), len(found.jobs), home.folder)
        await asyncio.sleep(DAY)
