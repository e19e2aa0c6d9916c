"""What a server has kept before anybody comes: runs made by asking it, jobs and records written into its home."""

import asyncio
from pathlib import Path
from typing import Any

from server.runs.asking import Asking
from treadle.app.home import close_home, open_home
from treadle.app.jobs import Job, Jobs
from treadle.core.seams import AuditRecord


def asked(url: str, *messages: str, run_id: str = "", status: str = "answered", **more: Any) -> str:
    """The run in which the shop was asked all of this, one after the other, once it has this status."""

    async def asking() -> str:
        run = run_id
        async with Asking(url) as ask:
            for message in messages:
                _, said = await ask("POST", "/api/runs", {"assistant": "shop", "message": message, "run_id": run, **more})
                run = said["run_id"]
                await ask.ended(run, status)
        return run

    return asyncio.run(asking())


def job(folder: Path, title: str, **more: Any) -> Job:
    """A job in the home of a server on this folder."""
    jobs = Jobs(folder / "data")
    made = jobs.create("shop", "count", title)
    return jobs.save(Job(**{name: getattr(made, name) for name in made.__struct_fields__} | more))


def record(folder: Path, *records: AuditRecord) -> None:
    """Records in the audit of a server on this folder."""

    async def writing() -> None:
        home = open_home(folder / "data")
        for each in records:
            await home.audit.record(each)
        close_home(home)

    asyncio.run(writing())
