"""`treadle serve --demo`: a data folder with samples and recordings, a demo platform, and a model where there is none."""

import argparse
import asyncio
import errno
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager, suppress
from pathlib import Path

from treadle.cli.ui.progress_bar import ProgressBar
from treadle.cli.ui.screen import Screen
from treadle.core.errors import SettingsError, TreadleError
from treadle.home import open_home
from treadle.models.downloads.catalogue import find_local_model
from treadle.models.downloads.storage import format_bytes
from treadle.plugins.assistant import Host
from treadle.plugins.models import LOCAL, has_local_engine
from treadle.server.demo.home import enter_demo_home
from treadle.server.demo.model import find_demo_model
from treadle.server.demo.platform import demo_platform
from treadle.server.demo.recordings import import_recordings
from treadle.server.demo.samples import create_demo_samples
from treadle.server.host import lazy_model
from treadle.server.models import HINT, DownloadTracker, ModelFetcher
from treadle.server.uvicorn_server import listen

SAMPLES_NOTICE = "All that is here are samples, in {folder}; without that folder they are made anew."
DOWNLOAD_NOTICE = "No model is set up, so {name} is fetched, {size}, once; recorded runs can be played meanwhile."
NO_MODEL_NOTICE = "No model is set up; pip install 'treadle[local]' lets one run here. Recorded runs can be played all the same."
PORT_TAKEN_NOTICE = "Port {port} is taken, so another one is used."


class ServerDemo:
    """A running demo: its model, the download in progress, and the notices printed once the server listens."""

    def __init__(self, screen: Screen, folder: Path, model: str, base_url: str) -> None:
        self.model, self.base_url = model, base_url
        self.fetching = DownloadTracker()
        self._screen, self._folder = screen, folder
        self._bar = ProgressBar(LOCAL, screen)
        can_fetch = not model and has_local_engine()
        self._fetcher = ModelFetcher(find_local_model(LOCAL), self.fetching, self._bar.show, self.tell) if can_fetch else None

    def begin(self) -> None:
        """Print where the data is and which model answers, and download a model if there is none."""
        self._screen.note(SAMPLES_NOTICE.format(folder=self._folder))
        if self.model:
            self._screen.note(f"The model is {self.model}.")
        elif self._fetcher is None:
            self._screen.tell(NO_MODEL_NOTICE)
        else:
            self._screen.note(DOWNLOAD_NOTICE.format(name=LOCAL, size=format_bytes(find_local_model(LOCAL).size)))
            self._fetcher.begin()
        if not self.model or self.model.startswith("llamacpp:"):
            self._screen.note(HINT)

    def tell(self, sentence: str) -> None:
        """Print a notice in place of the progress bar."""
        self._bar.clear()
        self._screen.tell(sentence, "yellow")

    async def close(self) -> None:
        """Stop the download."""
        if self._fetcher is not None:
            await self._fetcher.close()
        self._bar.clear()


@asynccontextmanager
async def run_server_demo(args: argparse.Namespace, screen: Screen) -> AsyncGenerator[ServerDemo]:
    """Run the demo for as long as the server runs. The process changes to the demo's folder."""
    model, base_url = await find_demo_model(args.model or "", args.base_url or "")
    folder = enter_demo_home()
    args.port = _free_port(args.host, args.port, screen)
    demo = ServerDemo(screen, folder, model, base_url)
    with demo_platform(folder) as problem:
        filling = asyncio.create_task(_load_samples(demo, problem))
        try:
            yield demo
        finally:
            filling.cancel()
            with suppress(asyncio.CancelledError):
                await filling
            await demo.close()


async def _load_samples(demo: ServerDemo, problem: str) -> None:
    """Load the recordings and create the samples, while the pages are already served."""
    if problem:
        demo.tell(problem)
    home = open_home()
    try:
        await import_recordings(home)
    except (TreadleError, OSError) as error:
        demo.tell(f"The recorded runs can't be played: {error}")
    for each in await create_demo_samples(Host(home, lazy_model(demo.model, demo.base_url))):
        demo.tell(each)


def _free_port(address: str, port: int, screen: Screen) -> int:
    """Return the port, or 0 (any free port) if it is taken. Other problems with it are reported by the server."""
    try:
        listen(address, port, anywhere=True).close()
    except SettingsError as error:
        if isinstance(error.__cause__, OSError) and error.__cause__.errno == errno.EADDRINUSE:
            screen.tell(PORT_TAKEN_NOTICE.format(port=port), "yellow")
            return 0
    return port
