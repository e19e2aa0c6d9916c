"""What `treadle serve --demo` adds: a home with samples and recordings, a platform beside it, and a model where there is none."""

import argparse
import asyncio
import errno
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager, suppress
from pathlib import Path

from treadle.app.assistant import Host
from treadle.app.home import open_home
from treadle.app.models import LOCAL, runs_local_models
from treadle.cli.bar import Bar
from treadle.cli.screen import Screen
from treadle.core.errors import SettingsError, TreadleError
from treadle.models.catalogue import entry
from treadle.models.local import sized
from treadle.server.demo.model import Fetcher, model_here
from treadle.server.demo.place import enter
from treadle.server.demo.platform import platform
from treadle.server.demo.recordings import bring
from treadle.server.demo.samples import fill
from treadle.server.hosting import found_later
from treadle.server.models import HINT, Fetching
from treadle.server.serving import listen

WHERE = "All that is here are samples, in {folder}; without that folder they are made anew."
FETCHED = "No model is set up, so {name} is fetched, {size}, once; recorded runs can be played meanwhile."
MISSING = "No model is set up; pip install 'treadle[local]' lets one run here. Recorded runs can be played all the same."
TAKEN = "Port {port} is taken, so another one is used."


class Trying:
    """A demonstration: the model that was found for it, what is being fetched, and what the person is told when it listens."""

    def __init__(self, screen: Screen, folder: Path, model: str, base_url: str) -> None:
        self.model, self.base_url = model, base_url
        self.fetching = Fetching()
        self._screen, self._folder = screen, folder
        self._bar = Bar(LOCAL, screen)
        can_fetch = not model and runs_local_models()
        self._fetcher = Fetcher(entry(LOCAL), self.fetching, self._bar.show, self.tell) if can_fetch else None

    def begin(self) -> None:
        """Say where everything is and who answers, and fetch a model where there is none."""
        self._screen.note(WHERE.format(folder=self._folder))
        if self.model:
            self._screen.note(f"The model is {self.model}.")
        elif self._fetcher is None:
            self._screen.tell(MISSING)
        else:
            self._screen.note(FETCHED.format(name=LOCAL, size=sized(entry(LOCAL).size)))
            self._fetcher.begin()
        if not self.model or self.model.startswith("llamacpp:"):
            self._screen.note(HINT)

    def tell(self, sentence: str) -> None:
        """Say something, over what is left of the bar."""
        self._bar.clear()
        self._screen.tell(sentence, "yellow")

    async def close(self) -> None:
        """Stop fetching."""
        if self._fetcher is not None:
            await self._fetcher.close()
        self._bar.clear()


@asynccontextmanager
async def trying(args: argparse.Namespace, screen: Screen) -> AsyncGenerator[Trying]:
    """The demonstration, for as long as the server runs. From here on the process lives in its folder."""
    model, base_url = await model_here(args.model or "", args.base_url or "")
    folder = enter()
    args.port = _free(args.host, args.port, screen)
    demo = Trying(screen, folder, model, base_url)
    with platform(folder) as problem:
        filling = asyncio.create_task(_fill(demo, problem))
        try:
            yield demo
        finally:
            filling.cancel()
            with suppress(asyncio.CancelledError):
                await filling
            await demo.close()


async def _fill(demo: Trying, problem: str) -> None:
    """Bring the recordings and make the samples, while the pages are there already."""
    if problem:
        demo.tell(problem)
    home = open_home()
    try:
        await bring(home)
    except (TreadleError, OSError) as error:
        demo.tell(f"The recorded runs can't be played: {error}")
    for each in await fill(Host(home, found_later(demo.model, demo.base_url))):
        demo.tell(each)


def _free(address: str, port: int, screen: Screen) -> int:
    """The port, or any that is free where somebody else has it. What else is wrong with it is said by whoever serves."""
    try:
        listen(address, port, anywhere=True).close()
    except SettingsError as error:
        if isinstance(error.__cause__, OSError) and error.__cause__.errno == errno.EADDRINUSE:
            screen.tell(TAKEN.format(port=port), "yellow")
            return 0
    return port
