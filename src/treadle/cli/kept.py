"""The runs that are kept, for commands that look at them. Where nothing was ever kept, looking makes no files."""

from treadle.app.home import Home, open_home
from treadle.core.entries import Entry
from treadle.core.errors import RunNotFound
from treadle.loop.state import RunState, replay


def kept() -> Home | None:
    """The data folder; None where nothing was ever kept in it."""
    home = open_home()
    return home if home.database.exists() else None


def home_of(run_id: str) -> Home:
    """The data folder that a run is in."""
    home = kept()
    if home is None:
        raise RunNotFound(f"There is no run {run_id}: nothing is kept in {open_home().folder} yet.")
    return home


def account() -> str:
    """The account that types, for what is put on record; empty where it has no name."""
    from getpass import getuser

    try:
        return getuser()
    except (KeyError, OSError):
        return ""


async def entries_of(run_id: str) -> list[Entry]:
    """What happened in a run."""
    return await home_of(run_id).journal.read(run_id)


async def state_of(run_id: str) -> RunState:
    """Where a run is."""
    return replay(await entries_of(run_id))
