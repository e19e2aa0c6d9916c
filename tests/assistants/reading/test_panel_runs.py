"""An analysis that the panel begins is a run: it goes on without the page, is followed by other tabs, and outlives its server."""

import asyncio
import json
import socket
import subprocess
import threading
import time
from contextlib import contextmanager

import pytest
from msgspec.structs import replace

from assistants.reading.test_command import ANSWER, SHOP
from browser import needs_browser
from cli.running import environment, opened
from server.running import Serving, host
from treadle.assistants.reading import assistant
from treadle.core.requests import ReplyEnded, TextDelta, Traits, Usage
from treadle.home import close_home, open_home
from treadle.stores.journal import JournalQuery

pytestmark = needs_browser

PATIENCE = 120  # seconds
PHASE = "document.body.dataset.phase"
AT = "#file=shop.py"


class Gated:
    """A model that answers once it is let."""

    name = "gated:model"
    traits = Traits()

    def __init__(self):
        self.asked, self.reached, self.free = 0, threading.Event(), threading.Event()

    async def reply(self, request):
        self.asked += 1
        self.reached.set()
        await asyncio.to_thread(self.free.wait, PATIENCE)
        yield TextDelta(json.dumps(ANSWER))
        yield ReplyEnded("done", Usage(requests=1, input_tokens=100, output_tokens=20))


@pytest.fixture
def shop(tmp_path):
    folder = tmp_path / "shop"
    folder.mkdir()
    (folder / "shop.py").write_text(SHOP)
    return folder


@pytest.fixture
def visit(browser, tmp_path, shop):
    """Shows `look(started, url, model)` a server whose model answers when it is let."""
    runner, started = browser

    def visiting(look):
        model = Gated()
        lent = replace(host(tmp_path, model), folder=shop)
        with Serving(tmp_path, [assistant], lent=lent) as server:
            try:
                runner.run(look(started, f"{server.url}/reading/", model))
            finally:
                model.free.set()
        return model

    return visiting


async def begun(page, model=None):
    """Have the file read, up to where the model is asked."""
    await page.becomes(PHASE, "idle")
    await page.wait_for("document.querySelector('.line') !== null")
    await page.click("#read")
    await page.becomes(PHASE, "analyzing")
    assert model is None or await asyncio.to_thread(model.reached.wait, PATIENCE)


async def answered(page):
    await page.becomes(PHASE, "analyzed")
    assert "Runs a shop." in await page.text("#side")


def runs_in(tmp_path):
    home = open_home(tmp_path / "data")
    return asyncio.run(home.journal.list_runs(JournalQuery()))


def test_a_page_that_is_reloaded_in_mid_answer_goes_on_where_it_was(visit, tmp_path):
    async def look(started, url, model):
        page = await started.open(f"{url}{AT}")
        await begun(page, model)
        await page.send("Page.reload")
        await page.wait_for(f"{PHASE} === 'analyzing' && document.querySelector('.line') !== null")
        model.free.set()
        await answered(page)
        await page.close()

    model = visit(look)
    assert model.asked == 1
    (info,) = runs_in(tmp_path)
    assert (info.agent, info.status, info.model) == ("reading", "answered", "gated:model")


def test_two_tabs_follow_the_same_analysis(visit, tmp_path):
    async def look(started, url, model):
        one = await started.open(f"{url}{AT}")
        await begun(one, model)
        two = await started.open(f"{url}{AT}")
        await two.becomes(PHASE, "analyzing")
        model.free.set()
        await answered(one)
        await answered(two)
        for page in (one, two):
            page.check()
            await page.close()

    assert visit(look).asked == 1
    assert len(runs_in(tmp_path)) == 1


def test_what_was_read_while_nobody_looked_is_shown_to_who_comes_back(visit, tmp_path):
    async def look(started, url, model):
        page = await started.open(f"{url}{AT}")
        await begun(page, model)
        await page.close()
        model.free.set()
        page = await started.open(f"{url}{AT}")
        await answered(page)
        page.check()
        await page.close()

    assert visit(look).asked == 1


def test_stopping_cancels_the_run(visit, tmp_path):
    async def look(started, url, model):
        page = await started.open(f"{url}{AT}")
        await begun(page, model)
        await page.evaluate("import('/reading/state.js').then(({ cancel }) => cancel())")
        await page.becomes(PHASE, "idle")
        status = "fetch('/api/runs').then(said => said.json()).then(({ runs }) => runs[0].status)"
        while await page.evaluate(status) == "open":
            continue
        await page.close()

    visit(look)
    assert [info.status for info in runs_in(tmp_path)] == ["cancelled"]


# a server that is killed


def free_port():
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        return taken.getsockname()[1]


@contextmanager
def served(home, shop, port):
    """A server as a process of its own, whose model is a program that waits until a file is there."""
    (home / "answer.json").write_text(json.dumps(ANSWER))
    program = f"while [ ! -e {home}/open ]; do touch {home}/reached; sleep 0.05; done; cat {home}/answer.json"
    (home / "model.sh").write_text(program)
    words = ("serve", "--no-token", "--port", str(port), "-m", f"command:sh {home}/model.sh")
    pipe = subprocess.PIPE
    with opened(*words, cwd=shop, env=environment(home), stdin=subprocess.DEVNULL, stdout=pipe, stderr=pipe) as server:
        try:
            yield server, server.stdout.readline().decode().strip().rstrip("/")
        finally:
            server.kill()


def test_a_server_that_is_killed_and_started_again_loses_nothing(browser, tmp_path, shop):
    runner, started = browser
    port = free_port()
    with served(tmp_path, shop, port) as (server, url):
        page = runner.run(started.open(f"{url}/reading/{AT}"))
        runner.run(begun(page))
        until = time.monotonic() + PATIENCE
        while not (tmp_path / "reached").exists():
            assert time.monotonic() < until
            time.sleep(0.02)
        server.kill()
        server.wait(PATIENCE)
    (tmp_path / "open").touch()
    with served(tmp_path, shop, port):
        runner.run(answered(page))
        runner.run(page.close())
    home = open_home(tmp_path / "data")
    (info,) = asyncio.run(home.journal.list_runs(JournalQuery()))
    close_home(home)
    assert (info.agent, info.status) == ("reading", "answered")
