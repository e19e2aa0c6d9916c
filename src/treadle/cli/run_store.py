"""Stored runs, for commands that read them. Where nothing was ever stored, reading creates no files."""

from collections.abc import Sequence

from treadle.core.entries import Entry
from treadle.core.errors import RunNotFound
from treadle.home import Home, open_home
from treadle.loop.state import RunState, replay
from treadle.stores.journal import JournalQuery, RunInfo, cursor_of

PAGE = 200  # runs that are listed at once


def existing_home() -> Home | None:
    """Return the data folder; None if nothing was ever stored in it."""
    home = open_home()
    return home if home.database.exists() else None


def home_of_run(run_id: str) -> Home:
    """Return the data folder of a run."""
    home = existing_home()
    if home is None:
        raise RunNotFound(f"There is no run {run_id}: nothing is stored in {open_home().folder} yet.")
    return home


def account_name() -> str:
    """Return the name of the operating system account, for audit records; empty if it has none."""
    from getpass import getuser

    try:
        return getuser()
    except (KeyError, OSError):
        return ""


async def resolve_run_id(typed: str) -> str:
    """Return the id of the run that was typed as an id, a unique prefix of one, or `last`."""
    return await home_of_run(typed).journal.resolve(typed)


async def pick_runs(typed: Sequence[str], query: str, agent: str, rating: str, most: int | None) -> list[str]:
    """Return the ids of the typed runs; without any, of the newest top-level ones that fit, or of all that do."""
    if typed:
        return [await resolve_run_id(each) for each in typed]
    home = existing_home()
    if home is None:
        return []
    found: list[RunInfo] = []
    while most is None or len(found) < most:
        before = cursor_of(found[-1]) if found else None
        limit = PAGE if most is None else min(PAGE, most - len(found))
        page = await home.journal.list_runs(JournalQuery(query, "", agent, before, limit, rating=rating))
        if not page:
            break
        found += page
    return [info.run_id for info in found]


async def load_run_entries(run_id: str) -> list[Entry]:
    """Return the journal entries of a run."""
    return await home_of_run(run_id).journal.read(run_id)


async def load_run_state(run_id: str) -> RunState:
    """Return the state of a run."""
    return replay(await load_run_entries(run_id))
