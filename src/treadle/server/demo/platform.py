"""The demo's platform: a small real one beside the server, which the platform assistant uses."""

import os
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from treadle.core.errors import SettingsError

if TYPE_CHECKING:
    from treadle.demo.platform import DemoServer

FILE, PORT = "platform-demo.db", "platform-demo.port"
PERSON = "alice"  # a developer: there is something of hers to see, something to deploy, and something that isn't hers
PACE = 1.0  # seconds that a step of a workflow takes
NOWHERE = "http://127.0.0.1:9"


@contextmanager
def demo_platform(folder: Path) -> Generator[str]:
    """Run the platform while the context is open; yield a sentence where it can't be started.

    The environment of this process says which one is used: without one it is an unreachable address, never the user's
    own.
    """
    os.environ["TREADLE_PLATFORM_SERVER"], os.environ["TREADLE_PLATFORM_TOKEN"] = NOWHERE, "none"
    try:
        running = _start(folder)
    except Exception as error:  # noqa: BLE001 - whatever is broken or not installed, the rest is served
        yield f"There is no platform to try: {error}"
        return
    with running:
        os.environ["TREADLE_PLATFORM_SERVER"], os.environ["TREADLE_PLATFORM_TOKEN"] = running.url, running.token(PERSON)
        yield ""


def _start(folder: Path) -> "DemoServer":
    """Start the platform at its last address, if that is free: earlier runs still find it there."""
    from treadle.demo.platform import start_demo

    kept = folder / PORT
    before = kept.read_text() if kept.exists() else ""
    try:
        running = start_demo(folder / FILE, int(before) if before.isdecimal() else 0, pace=PACE)
    except SettingsError:
        if not before:
            raise
        running = start_demo(folder / FILE, pace=PACE)
    kept.write_text(running.url.rpartition(":")[2])
    return running
