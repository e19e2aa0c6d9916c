"""Read the entries of runs in a home, nested runs included. Creates no file."""

from collections.abc import Sequence

from treadle.core.entries import Entry, Opened
from treadle.core.errors import RunNotFound
from treadle.home import Home


async def read_run_entries(home: Home, run_id: str) -> list[Entry]:
    """Return all entries of a run; raise `RunNotFound` where there is none."""
    if not home.database.exists():
        raise RunNotFound(f"There is no run {run_id} here.")
    return await home.journal.read(run_id)


async def read_journals(home: Home, run_id: str) -> dict[str, list[Entry]]:
    """Return a run's entries, and those of all nested runs, at any depth."""
    journals = {run_id: await read_run_entries(home, run_id)}
    for child in await home.journal.children(run_id):
        journals[child] = await home.journal.read(child)
    return journals


def find_opened(entries: Sequence[Entry]) -> Opened:
    """Return the `Opened` entry of a run."""
    return next((entry for entry in entries if isinstance(entry, Opened)), Opened())
