"""Records docs/pictures/tour.webp, a minute on the real pages as an animated picture: `.venv/bin/python scripts/tour.py`.

The server is `treadle serve --demo` as a process, the browser Chromium. The model is a stand-in, a server on loopback whose replies
are written in advance, here and in pictures.py. All else is real: pages, searches, the deployment and its preview, tests, changes
and durations. Times in which nothing moves are shortened, and a ring is drawn where the mouse clicks.
"""

import asyncio
import base64
import io
import json
import sys
from contextlib import suppress
from itertools import pairwise
from pathlib import Path
from tempfile import TemporaryDirectory
from time import monotonic
from typing import NamedTuple

from PIL import Image, ImageDraw

ROOT = Path(__file__).parents[1]
PICTURE = ROOT / "docs" / "pictures" / "tour.webp"
sys.path[:0] = [str(ROOT / "tests"), str(ROOT / "scripts")]  # where the browser, the stand-in and the other pictures are

from pictures import APPROVAL, CODING, COURSES, served  # noqa: E402 - the same

from browser import Browser, BrowserError, Page  # noqa: E402 - the line above finds it
from wire import Reply, WireServer, call, pause, reply, say  # noqa: E402 - the same
from wire.server import Received  # noqa: E402 - the same

WIDTH, HEIGHT = 1200, 760
MOST = 2_000_000  # bytes
QUALITY = 55
EVERY = 0.15  # seconds between two looks at the page
LONGEST = 2.7  # seconds: what is left of a time in which nothing moves
END = 4.0  # seconds that the last picture stays
KEY = 0.04  # seconds between two characters that are typed
DEPLOYED = "The deployment of demo-app 2.2.0 has begun, with PostgreSQL 16 and the database's password."
SCRIPTS = {  # by a tool that the assistant offers
    "search_course_content": COURSES,
    "deploy_application": (*APPROVAL, DEPLOYED),
    "give_answer": CODING,
}


class Frame(NamedTuple):
    """What the page showed from a time on."""

    at: float
    image: Image.Image


def decoded(shown: str) -> Image.Image:
    """A picture as the browser gives it."""
    return Image.open(io.BytesIO(base64.b64decode(shown))).convert("RGB")


class StandIn:
    """The model: the replies of the assistant that asks, one after the other."""

    def __init__(self) -> None:
        self._given = dict.fromkeys(SCRIPTS, 0)

    def __call__(self, received: Received) -> Reply:
        """The reply to a request."""
        offered = {each["function"]["name"] for each in received.body.get("tools", [])}
        tool = next(name for name in SCRIPTS if name in offered)
        said = SCRIPTS[tool][self._given[tool]]
        self._given[tool] += 1
        if isinstance(said, str):
            return reply(pause(0.6), *[part for word in said.split(" ") for part in (say(f"{word} "), pause(0.035))])
        return reply(pause(0.9), *[call(each["name"], each["arguments"]) for each in said["calls"]])


class Recorder:
    """Watches a page, and does on it what a person would do."""

    def __init__(self, page: Page) -> None:
        self.page = page
        self.frames: list[Frame] = []
        self._is_over = False
        self._watching = asyncio.create_task(self._watch())

    async def _watch(self) -> None:
        last = ""
        while not self._is_over:
            began, shown = monotonic(), last
            with suppress(BrowserError, TimeoutError):  # a page that gives way to the next one may never respond
                async with asyncio.timeout(1):
                    shown = (await self.page.send("Page.captureScreenshot", format="png", optimizeForSpeed=True))["data"]
            if shown != last:
                self.frames.append(Frame(monotonic(), await asyncio.to_thread(decoded, shown)))
            last = shown
            await asyncio.sleep(max(EVERY - (monotonic() - began), 0))

    async def stop(self) -> None:
        """Take no more frames."""
        self._is_over = True
        await self._watching

    async def wait(self, condition: str, reading: float = 1.2) -> None:
        """Wait for something on the page, and for a person to see it."""
        print(f"{len(self.frames)} pictures; waits for {condition}", flush=True)
        await self.page.wait_for(condition)
        await asyncio.sleep(reading)

    async def click(self, selector: str) -> None:
        """Click on the first such element, with a ring around where that is."""
        print(f"{len(self.frames)} pictures; clicks on {selector}", flush=True)
        found = f"document.querySelector({json.dumps(selector)})"
        await self.page.wait_for(f"{found}?.checkVisibility()")
        await self.page.evaluate(f"{found}.scrollIntoView({{block: 'nearest', behavior: 'instant'}})")
        await asyncio.sleep(3 * EVERY)
        x, y = await self.page.evaluate(f"(box => [box.x + box.width / 2, box.y + box.height / 2])({found}.getClientRects()[0])")
        ring = self.frames[-1].image.copy()
        ImageDraw.Draw(ring).ellipse((x - 14, y - 14, x + 14, y + 14), outline=(200, 80, 40), width=3)
        self.frames.append(Frame(monotonic(), ring))
        await asyncio.sleep(0.6)
        await self.page.click(selector)

    async def type(self, text: str) -> None:
        """Type into whatever has the focus, and send it."""
        for character in text:
            await self.page.write(character)
            await asyncio.sleep(KEY)
        await asyncio.sleep(0.6)
        await self.page.press("Enter")


async def tour(recorder: Recorder) -> None:
    """What is shown: a question with its sources, a deployment with its approval and trace, and a bug that is fixed."""
    await recorder.wait("document.querySelectorAll('.watch').length === 5")
    await recorder.type("How much salt does bread dough need, and why?")
    answered = "document.querySelector('#chat').innerText.includes('{}') && !document.querySelector('.busy')"
    await recorder.wait(answered.format("too quickly"), 2.5)
    await recorder.click(".sources button")
    await recorder.wait("!document.querySelector('#reader').hidden", 3.5)
    await recorder.click("#sidebar a[href='/']:not(.brand)")
    await recorder.wait("document.querySelectorAll('.watch').length === 5", 0.4)
    await recorder.click(".assistant[data-name='platform'] label")
    await recorder.type("Deploy version 2.2.0 of demo-app, with the database's password and PostgreSQL 16")
    await recorder.wait("!!document.querySelector('.approval .diff')", 3.5)
    await recorder.click(".approval button.approve")
    await recorder.wait(answered.format("has begun"), 2)
    await recorder.click("#sidebar a[href='/runs']")
    await recorder.wait("!!document.querySelector('.row-line .title')", 0.6)
    await recorder.click(".row-line .title")
    await recorder.wait("document.querySelectorAll('[role=treeitem]').length > 3")
    await recorder.click("[role=treeitem][aria-label*='deploy_application'][aria-level='3']")
    await asyncio.sleep(2.5)
    await recorder.click("#sidebar a[href='/coding/']")
    await recorder.click("#sample")
    await recorder.wait("!!document.querySelector('#what').value", 1)
    await recorder.click("#go")
    await recorder.wait("!!document.querySelector('#job .file')", 2)
    await recorder.wait("document.querySelector('#job').innerText.includes('Undo everything')", 2)
    await recorder.click("#tab-changes")
    await asyncio.sleep(2)


# the picture


def milliseconds(frames: list[Frame]) -> list[int]:
    """For how long each is shown."""
    return [round(min(after.at - frame.at, LONGEST) * 1000) for frame, after in pairwise(frames)] + [round(END * 1000)]


async def main() -> None:
    """Record it anew."""
    with TemporaryDirectory(prefix="treadle-tour-") as folder, WireServer(StandIn()) as model:
        variables = {"TREADLE_MODEL": "openai:stand-in", "OPENAI_API_KEY": "none", "OPENAI_BASE_URL": f"{model.url}/v1"}
        async with served(Path(folder), variables) as url, Browser() as browser:
            page = await browser.open("about:blank", width=WIDTH, height=HEIGHT)
            await page.prefer("light", still=True)  # what turns while one waits would be most of the file
            await page.go(f"{url}/")
            recorder = Recorder(page)
            try:
                await tour(recorder)
            finally:
                await recorder.stop()
            page.check()
    frames = recorder.frames
    times = milliseconds(frames)
    first, *others = [frame.image for frame in frames]
    first.save(PICTURE, save_all=True, append_images=others, duration=times, loop=0, quality=QUALITY, method=4, minimize_size=False)
    size = PICTURE.stat().st_size
    print(f"{PICTURE.relative_to(ROOT)}: {len(frames)} pictures, {sum(times) / 1000:.0f} s, {size:,} bytes")
    assert size <= MOST, f"it has {MOST:,} bytes at most"


if __name__ == "__main__":
    asyncio.run(main())
