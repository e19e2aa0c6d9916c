"""Takes the README's pictures of the real pages into docs/pictures: `.venv/bin/python scripts/pictures.py [--dark] [NAME …]`.

The server is `treadle serve --demo` as a process, the browser Chromium. What is shown of recordings is real; where something has to
happen on a page, the model's words are written in advance, here, and all else is real: searches, previews, tests, changes, times.
"""

import asyncio
import json
import os
import signal
import sys
import time
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

ROOT = Path(__file__).parents[1]
PICTURES = ROOT / "docs" / "pictures"
sys.path.insert(0, str(ROOT / "tests"))  # where the browser is

from browser import Browser, Page, Scheme  # noqa: E402 - the line above finds it
from treadle.server.demo.home import FOLDER, WORKSHOP  # noqa: E402 - the same
from treadle.server.demo.samples import SAMPLES, created_samples  # noqa: E402 - the same

WIDTH, HEIGHT = 1280, 880
MOST = 250_000  # bytes of a picture
PATIENCE = 60  # seconds
DEPLOYED = """\
apiVersion: score.dev/v1b1
metadata:
  name: demo-app
containers:
  app:
    image: registry.example/demo/app:2.2.0
    variables:
      DB_HOST: "${resources.db.host}"
      DB_PASSWORD: "${resources.db.password}"
      PORT: "8080"
resources:
  db:
    type: postgres-mock
    params: {version: "16"}
"""


def calls(**called: dict[str, Any]) -> dict[str, Any]:
    """A reply that calls tools."""
    return {"calls": [{"name": name, "arguments": arguments} for name, arguments in called.items()]}


COURSES = (
    calls(search_course_content={"query": "salt in bread dough"}),
    (
        "Salt is about **2 % of the flour**: 10 g for 500 g. It does two things:\n\n"
        "- it tightens the gluten net, so that the dough holds its shape instead of going slack and sticky;\n"
        "- it draws water from the yeast cells and so holds them back, which keeps the dough from rising too quickly."
    ),
)
APPROVAL = (calls(deploy_application={"spec_content": DEPLOYED}),)
CODING = (
    calls(search={"action": "grep", "pattern": "def total"}, file={"action": "read", "path": "cart.py"}),
    calls(file={"action": "replace", "path": "cart.py", "old": "prices[1:]", "new": "prices"}),
    calls(test={}),
    calls(give_answer={"summary": "Fix the total. It left the first price out.", "done": True}),
)


async def workbench(page: Page, url: str) -> None:
    """A conversation with an answer."""
    await page.go(f"{url}/?run=demo-platform")
    await page.wait_for("document.querySelectorAll('.turn').length > 1")


async def start(page: Page, url: str) -> None:
    """What one sees first."""
    await page.go(f"{url}/")
    await page.wait_for("!!document.querySelector('.watch')")


async def trace(page: Page, url: str) -> None:
    """A recorded run as a tree of steps."""
    await page.go(f"{url}/runs/demo-courses")
    await page.wait_for("document.querySelectorAll('[role=treeitem]').length > 3")


async def courses(page: Page, url: str) -> None:
    """An answer with its sources."""
    await page.go(f"{url}/courses/?question=How+much+salt+does+bread+dough+need%2C+and+why%3F")
    await page.wait_for("document.querySelector('#message').value && !!document.querySelector('#courses li')")
    await page.click(".send")
    await page.wait_for(
        "document.querySelector('#chat').innerText.includes('rising too quickly') && !document.querySelector('.busy')"
    )


async def approval(page: Page, url: str) -> None:
    """What would change, before it does."""
    await page.go(
        f"{url}/?assistant=platform&question=Deploy+version+2.2.0+of+demo-app%2C+with+the+database%27s+password+and+PostgreSQL+16"
    )
    await page.wait_for("document.querySelector('#message').value")
    await page.click(".send")
    await page.wait_for("!!document.querySelector('.approval')")
    await page.evaluate("document.querySelector('.approval').scrollIntoView({block: 'end', behavior: 'instant'})")


async def coding(page: Page, url: str) -> None:
    """A job that is done, with its diff."""
    await page.go(f"{url}/coding/")
    await page.wait_for("!document.querySelector('#amount .busy')")
    await page.click("#sample")
    await page.wait_for("document.querySelector('#what').value || !document.querySelector('#job').hidden")
    await page.evaluate("document.querySelector('#job').hidden && document.querySelector('#go').click()")
    await page.wait_for(
        "!document.querySelector('#job').hidden && document.querySelector('#job').innerText.includes('Undo everything')", PATIENCE
    )


Show = Callable[[Page, str], Awaitable[None]]
SHOWN: dict[str, tuple[Show, tuple[Any, ...]]] = {  # what is shown, and what the model says meanwhile
    "start": (start, ()),
    "workbench": (workbench, ()),
    "trace": (trace, ()),
    "courses": (courses, COURSES),
    "approval": (approval, APPROVAL),
    "coding": (coding, CODING),
}


def scripted(folder: Path, replies: tuple[Any, ...]) -> dict[str, str]:
    """The variable that names a model which says this."""
    here = folder / FOLDER / WORKSHOP  # where the server is, so that the model's name is no path
    here.mkdir(parents=True, exist_ok=True)
    (here / "words.json").write_text(json.dumps(replies or ["…"]))
    return {"TREADLE_MODEL": "scripted:words.json"}


@asynccontextmanager
async def served(folder: Path, variables: dict[str, str]) -> AsyncGenerator[str]:
    """The demonstration with all its samples, and the model that the variables name."""
    env = {**os.environ, "TREADLE_HOME": str(folder), **variables}
    words = ("-m", "treadle.cli.main", "serve", "--demo", "--no-token", "--port", "0")
    pipe = asyncio.subprocess.PIPE
    server = await asyncio.create_subprocess_exec(sys.executable, *words, stdout=pipe, stderr=asyncio.subprocess.DEVNULL, env=env)
    assert server.stdout is not None, "it is a pipe"
    try:
        url = (await server.stdout.readline()).decode().strip().rstrip("/")
        await asyncio.wait_for(asyncio.to_thread(_filled, folder / FOLDER), PATIENCE)
        yield url
    finally:
        server.send_signal(signal.SIGINT)
        await server.wait()


def _filled(folder: Path) -> None:
    deadline = time.monotonic() + PATIENCE
    while len(created_samples(folder)) < len(SAMPLES) and time.monotonic() < deadline:
        time.sleep(0.2)


async def main(words: list[str]) -> None:
    """Take those that are named, or all."""
    scheme: Scheme = "dark" if "--dark" in words else "light"
    ending = "-dark" if scheme == "dark" else ""
    names = [word for word in words if not word.startswith("--")] or list(SHOWN)
    PICTURES.mkdir(exist_ok=True)
    with TemporaryDirectory(prefix="treadle-pictures-") as folder:
        async with Browser() as browser:
            for name in names:
                show, replies = SHOWN[name]
                async with served(Path(folder), scripted(Path(folder), replies)) as url:
                    page = await browser.open("about:blank", width=WIDTH, height=HEIGHT, scheme=scheme)
                    await page.prefer(scheme, still=True)
                    await show(page, url)
                    await asyncio.sleep(0.5)  # for what fades in
                    page.check()
                    path = await page.screenshot(PICTURES / f"{name}{ending}.png", whole=False)
                size = path.stat().st_size
                print(f"{path.relative_to(ROOT)}: {size:,} bytes", flush=True)
                assert size <= MOST, f"a picture has {MOST:,} bytes at most"


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1:]))
