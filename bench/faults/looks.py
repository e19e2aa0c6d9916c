"""A look at a store from outside, after everybody who worked on it has ended: what runs reported, and whether the audit holds."""

import asyncio

from bench.faults.orders import Order
from bench.faults.worker import broken_in, names_of
from treadle import open_home
from treadle.core.entries import Finished, Returned, Started
from treadle.core.errors import RunNotFound
from treadle.home import close_home


def reported(order: Order, run: str) -> tuple[str, ...]:
    """The calls of which a run says that they were interrupted; a run that isn't over has none."""
    return asyncio.run(_reported(order, run))


async def _reported(order: Order, run: str) -> tuple[str, ...]:
    home = open_home(order.home, database=order.store)
    try:
        entries = await home.journal.read(run)
    except RunNotFound:
        return ("forgotten",)
    finally:
        close_home(home)
    if not isinstance(entries[-1], Finished) or entries[-1].stopped != "answered":
        return ("not over",)
    names = names_of(entries)
    told = [entry.result for entry in entries if isinstance(entry, Returned) and entry.result.problem == "interrupted"]
    return tuple(sorted([names[result.call_id] for result in told]))


def started(order: Order) -> set[str]:
    """The calls of which the journal says that they begin."""

    async def read() -> set[str]:
        home = open_home(order.home, database=order.store)
        try:
            entries = await home.journal.read(order.run_id)
        finally:
            close_home(home)
        names = names_of(entries)
        return {names[entry.call_id] for entry in entries if isinstance(entry, Started)}

    return asyncio.run(read())


def audited(home: str, store: str = "") -> str:
    """What is wrong with the chain; nothing, if it holds."""

    async def verified() -> str:
        opened = open_home(home, database=store)
        try:
            return broken_in(await opened.audit.verify())
        finally:
            close_home(opened)

    return asyncio.run(verified())
