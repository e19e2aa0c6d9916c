"""Recorded runs of the assistants, to be played before there is a model: journals that come with the package.

They were made by `scripts/demonstrations.py` with a real model, and are brought into a home as runs like any other.
"""

import time
from functools import cache
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace
from starlette.routing import BaseRoute

from treadle.app.home import Home
from treadle.core.entries import Entry, Opened, decode
from treadle.core.errors import JournalDamaged, RunNotFound, RunTaken
from treadle.routes import get, routes_of

FOLDER = Path(__file__).parents[1] / "demonstrations"
PREFIX = "demo-"


class Recording(Struct, frozen=True):
    """A recorded run: whose, what it shows, with which model and on which day."""

    assistant: str
    title: str
    run_id: str
    model: str
    recorded: str


@cache
def recordings() -> dict[Recording, tuple[Entry, ...]]:
    """Those that come with the package; their times begin at zero."""
    return {recording_of(path.stem, entries): entries for path, entries in _read()}


def _read() -> list[tuple[Path, tuple[Entry, ...]]]:
    return [(path, tuple(map(decode, path.read_bytes().splitlines()))) for path in sorted(FOLDER.glob("*.jsonl"))]


def recording_of(name: str, entries: tuple[Entry, ...]) -> Recording:
    """What the journal of an assistant by this name says of itself: how it was made stands in how it was opened."""
    opened = entries[0]
    if not isinstance(opened, Opened):
        raise JournalDamaged(f"The recording {name} doesn't begin with how it was opened; make it anew.")
    said = opened.origin["recording"]
    return Recording(name, said["title"], f"{PREFIX}{name}", opened.model, said["date"])


async def bring(home: Home) -> None:
    """Have the recordings among the runs of a home, as if they had just ended; those that are there stay as they are."""
    for recording, entries in recordings().items():
        try:
            await home.journal.append(recording.run_id, 0, _moved(entries, time.time() - entries[-1].at))
        except RunTaken:
            continue


def _moved(entries: tuple[Entry, ...], by: float) -> list[Entry]:
    return [replace(entry, at=entry.at + by) for entry in entries]


async def brought(home: Home) -> list[Recording]:
    """Those that are in a home."""
    found: list[Recording] = []
    for recording in recordings() if home.database.exists() else ():
        try:
            await home.journal.info(recording.run_id)
        except RunNotFound:
            continue
        found.append(recording)
    return found


def demonstration_routes(home: Home) -> list[BaseRoute]:
    """Which recordings can be played here."""

    @get("/api/demonstrations", returns="the recordings")
    async def listed() -> list[Recording]:
        """The recorded runs that can be played; none, but on a server that was started with --demo."""
        return await brought(home)

    return routes_of(listed)
