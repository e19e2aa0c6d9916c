"""What a server has kept before anybody comes: runs made by asking it, jobs and records written into its home."""

import asyncio
import time
from pathlib import Path
from typing import Any

from server.runs.asking import Asking
from treadle.core.calls import Allow, Call, Written
from treadle.core.entries import Judged, Opened, Replied, Said, Started
from treadle.core.seams import AuditRecord
from treadle.home import close_home, open_home
from treadle.jobs.store import Job, Jobs


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


def until(url: str, run_id: str, status: str = "answered") -> None:
    """Wait until a run has this status."""

    async def waiting() -> None:
        async with Asking(url) as ask:
            await ask.ended(run_id, status)

    asyncio.run(waiting())


def left_behind(folder: Path, run_id: str, item: str = "lamp") -> None:
    """A run of the shop whose server was killed while it ordered something."""
    call = Call("c1", "order_items", {"item": item, "amount": 10})
    origin = {"face": "server", "assistant": "shop", "model": "", "instructions": ""}
    entries = [
        Opened(agent="shop", origin=origin, at=time.time()),
        Said(text=f"Order {item}.", at=time.time()),
        Replied(parts=(Written("c1", call.name, "{}"),), at=time.time()),
        Judged(call=call, verdict=Allow(), at=time.time()),
        Started(call_id="c1", key="k", at=time.time()),
    ]

    async def writing() -> None:
        home = open_home(folder / "data")
        await home.journal.append(run_id, 0, entries)
        close_home(home)

    asyncio.run(writing())


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
