"""What a home has of runs, read: their entries, with those of the runs inside of them. Looking makes no file."""

from collections.abc import Sequence

from treadle.app.home import Home
from treadle.core.entries import Entry, Opened
from treadle.core.errors import RunNotFound


async def entries_of(home: Home, run_id: str) -> list[Entry]:
    """All entries of a run; `RunNotFound` where there is none."""
    if not home.database.exists():
        raise RunNotFound(f"There is no run {run_id} here.")
    return await home.journal.read(run_id)


async def journals_of(home: Home, run_id: str) -> dict[str, list[Entry]]:
    """A run's entries, and those of all runs inside of it, however deep."""
    journals = {run_id: await entries_of(home, run_id)}
    for child in await home.journal.children(run_id):
        journals[child] = await home.journal.read(child)
    return journals


def opened_in(entries: Sequence[Entry]) -> Opened:
    """How a run was opened."""
    return next((entry for entry in entries if isinstance(entry, Opened)), Opened())
