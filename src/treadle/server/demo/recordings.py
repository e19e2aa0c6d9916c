"""Recorded runs of the assistants, to be played before there is a model: journals that come with the package.

They were made by `scripts/demonstrations.py` with a real model, and are imported into a home as ordinary runs.
"""

import time
from functools import cache
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace
from starlette.routing import BaseRoute

from treadle.core.entries import Entry, Opened, decode
from treadle.core.errors import JournalDamaged, RunNotFound, RunTaken
from treadle.home import Home
from treadle.routes import get, routes_of

FOLDER = Path(__file__).parents[1] / "demonstrations"
PREFIX = "demo-"


class DemoRecording(Struct, frozen=True):
    """A recorded run: its assistant, title, model and date."""

    assistant: str
    title: str
    run_id: str
    model: str
    recorded: str


@cache
def load_recordings() -> dict[DemoRecording, tuple[Entry, ...]]:
    """Return the recordings of the package; their times start at zero."""
    return {recording_of(path.stem, entries): entries for path, entries in _read_journals()}


def _read_journals() -> list[tuple[Path, tuple[Entry, ...]]]:
    return [(path, tuple(map(decode, path.read_bytes().splitlines()))) for path in sorted(FOLDER.glob("*.jsonl"))]


def recording_of(name: str, entries: tuple[Entry, ...]) -> DemoRecording:
    """Return the recording of a journal of this assistant: how it was made is in its `Opened` entry."""
    opened = entries[0]
    if not isinstance(opened, Opened):
        raise JournalDamaged(f"The recording {name} doesn't begin with how it was opened; make it anew.")
    said = opened.origin["recording"]
    return DemoRecording(name, said["title"], f"{PREFIX}{name}", opened.model, said["date"])


async def import_recordings(home: Home) -> None:
    """Import the recordings into a home, as if they had just ended; existing ones stay as they are."""
    for recording, entries in load_recordings().items():
        try:
            await home.journal.append(recording.run_id, 0, _shift_times(entries, time.time() - entries[-1].at))
        except RunTaken:
            continue


def _shift_times(entries: tuple[Entry, ...], by: float) -> list[Entry]:
    return [replace(entry, at=entry.at + by) for entry in entries]


async def list_recordings(home: Home) -> list[DemoRecording]:
    """Return the recordings that are in a home."""
    found: list[DemoRecording] = []
    for recording in load_recordings() if home.database.exists() else ():
        try:
            await home.journal.info(recording.run_id)
        except RunNotFound:
            continue
        found.append(recording)
    return found


def demonstration_routes(home: Home) -> list[BaseRoute]:
    """Return the route of the recordings."""

    @get("/api/demonstrations", returns="the recordings")
    async def get_demonstrations() -> list[DemoRecording]:
        """List the recorded runs that can be played; empty unless the server was started with --demo."""
        return await list_recordings(home)

    return routes_of(get_demonstrations)
