"""A run's page in a real browser: its journal step by step, what waits, and forking it."""

import asyncio

from browser import needs_browser
from server.pages.kept import asked
from server.pages.shop import LAMPS, LOOK, ORDER, clerk
from server.running import Serving
from treadle.core.entries import Opened, Said
from treadle.home import close_home, open_home
from treadle.stores.queue import QueuePosition, RunQueue
from treadle.testing import Scripted, calls
from treadle.workers.executor import advance_run
from treadle.workers.run_spec import RunSpec, WorkerModels, opening_entries
from working import installed

pytestmark = needs_browser

KINDS = "[...document.querySelectorAll('#entries .kind')].map(each => each.innerText)"
PLACE = "document.querySelector('#place').innerText"
CURRENT = "document.querySelector('#entries [aria-current=step] .kind').innerText"
CARDS = "[...document.querySelectorAll('#then .call')].map(each => each.dataset.state)"
SEEN = f"""window.seen = [];
    new MutationObserver(() => seen.push({CURRENT})).observe(document.querySelector('#place'), {{childList: true}})"""
READY = "!document.querySelector('#player').hidden && !!document.querySelector('#entries [aria-current]')"


def at(kind, number=0):
    """A click on an entry of the list."""
    return f"[...document.querySelectorAll('#entries button')].filter(each => each.dataset.kind === {kind!r})[{number}].click()"


def test_a_run_is_told_step_by_step_as_it_was_then(serve, visit):
    async def look(page):
        await page.wait_for(READY)
        kinds = await page.evaluate(KINDS)
        assert (kinds[0], kinds[1], kinds[2], kinds[-1]) == ("Opened", "Said", "Replied", "Finished")
        assert await page.evaluate(PLACE) == f"Entry {len(kinds)} of {len(kinds)}"
        assert "3 lamps" in await page.text("#then")
        assert await page.evaluate(CARDS) == ["done", "done", "failed"]
        await page.evaluate(at("said"))
        assert (await page.text("#then .said p"), await page.evaluate(CARDS)) == ("How many?", [])
        await page.evaluate("document.activeElement.blur()")
        await page.press("ArrowRight")
        assert await page.evaluate(CURRENT) == "Replied"
        assert await page.evaluate(CARDS) == ["written"] * 3
        await page.press("ArrowLeft")
        assert await page.evaluate(CARDS) == []
        await page.press("End")
        assert await page.evaluate("document.querySelectorAll('#then .lane').length") == 3
        await page.press("Home")
        assert '"kind": "opened"' in await page.text("#entry pre")
        assert await page.evaluate("location.hash") == "#entry-1"
        await page.evaluate("(s => { s.value = 1; s.dispatchEvent(new Event('input')) })(document.querySelector('#slider'))")
        assert await page.evaluate(CURRENT) == "Said"
        assert await page.evaluate("document.querySelector('#slider').ariaValueText") == f"Entry 2 of {len(kinds)}: Said"
        assert "requests · 3 calls" in await page.text("#about")
        assert await page.evaluate("window.taken") is None

    with serve(clerk(LOOK, LAMPS)) as server:
        visit(f"{server.url}/runs/{asked(server.url, 'How many?')}#journal", look)


def test_it_plays_from_the_start_to_the_end(serve, visit):
    async def look(page):
        await page.wait_for(READY)
        kinds = await page.evaluate(KINDS)
        await page.evaluate(SEEN)
        await page.evaluate("document.querySelector('#speed').value = '4'")
        await page.press(" ")
        assert await page.text("#play") == "Pause"
        await page.wait_for("document.querySelector('#play').innerText === 'Play'")
        assert await page.evaluate("seen") == kinds

    with serve(clerk("Three.")) as server:
        visit(f"{server.url}/runs/{asked(server.url, 'How many?')}#journal", look)


def test_what_waits_is_decided_here_and_the_run_goes_on(serve, visit, shop):
    async def look(page):
        await page.wait_for("!!document.querySelector('#asked .approval')")
        assert "Orders 10 of lamp." in await page.text("#asked")
        await page.click("#asked .approve")
        await page.wait_for("document.querySelector('#about').innerText.includes('answered')")
        await page.wait_for(f"{CURRENT} === 'Finished'")
        assert shop.ordered == [("lamp", 10)]
        assert "Someone approved order_items." in await page.text("#then")
        await page.click("#doings a")
        await page.wait_for("document.querySelectorAll('.turn').length === 1 && location.pathname === '/'")
        assert "Done." in await page.text(".answer")

    with serve(clerk(calls(("order_items", ORDER)), "Done.")) as server:
        visit(f"{server.url}/runs/{asked(server.url, 'Order lamps.', status='waiting')}#journal", look)


def test_a_run_is_forked_from_an_entry_with_another_model_and_message(serve, visit):
    async def look(page):
        await page.wait_for(READY)
        first = await page.evaluate("location.pathname")
        await page.evaluate(at("finished"))
        await page.click("#forking summary")
        await page.wait_for("document.querySelector('#fork-model').options.length === 2")
        await page.evaluate("document.querySelector('#fork-model').selectedIndex = 1")
        await page.click("#fork-message")
        await page.write("And chairs?")
        await page.click("#fork button")
        await page.wait_for("location.pathname === '/' && document.querySelectorAll('.words').length === 2")
        await page.wait_for("document.querySelectorAll('.words')[1].innerText === 'The other model says so.'")
        shown = await page.evaluate("[...document.querySelectorAll('.said p')].map(each => each.innerText)")
        assert shown == ["How many lamps?", "And chairs?"]
        await page.click("#journal")
        await page.wait_for("document.querySelectorAll('#steps [role=treeitem]').length > 0")
        await page.click("#tab-journal")
        await page.wait_for(READY)
        assert await page.evaluate("location.pathname") != first
        assert "Forked" in await page.evaluate(KINDS)

    with serve(clerk("Three.", "None left.")) as server:
        visit(f"{server.url}/runs/{asked(server.url, 'How many lamps?', 'How many tables?')}#journal", look)


def test_a_fork_without_a_message_is_taken_up_when_one_says_so(serve, visit):
    async def look(page):
        await page.wait_for(READY)
        await page.evaluate(at("said"))
        await page.click("#forking summary")
        await page.click("#fork button")
        await page.wait_for("location.pathname === '/' && !!document.querySelector('.foot .notice button')")
        await page.click(".foot .notice button")
        await page.wait_for("document.querySelector('.words')?.innerText === 'Four now.'")

    with serve(clerk("Three.", "Four now.")) as server:
        visit(f"{server.url}/runs/{asked(server.url, 'How many lamps?')}#journal", look)


def test_what_cannot_be_forked_is_said(serve, visit):
    async def look(page):
        await page.wait_for(READY)
        await page.click("#forking summary")
        await page.evaluate("document.querySelector('#fork-message').value = 'x'.repeat(100_001)")
        await page.click("#fork button")
        await page.wait_for("document.querySelector('#fork-said').innerText.includes('characters')")

    with serve(clerk("Three.")) as server:
        visit(f"{server.url}/runs/{asked(server.url, 'How many?')}#journal", look, expected=("status of 413",))


def test_a_run_that_is_not_there_is_said(serve, visit):
    async def look(page):
        await page.wait_for("document.querySelector('#said').innerText.includes('There is no run')")

    with serve(clerk()) as server:
        visit(f"{server.url}/runs/nothing", look, expected=("status of 404",))


def test_a_run_of_a_worker_is_approved_in_the_conversation_and_followed_to_its_answer(visit, tmp_path, monkeypatch):
    monkeypatch.setenv("STEPS_DONE", str(tmp_path / "done"))
    monkeypatch.syspath_prepend(str(installed(tmp_path / "packages")))
    from stepping_package import steps  # pyright: ignore[reportMissingImports]  # just installed

    home = open_home(tmp_path / "data")

    async def work():
        lease = await home.leases.take("r1", "me", 30)
        await advance_run(home, lease, WorkerModels())
        await home.leases.give_up(lease)
        await RunQueue(home.database).remove("r1")

    async def begin():
        (tmp_path / "done").touch()
        await home.journal.append("r1", 0, opening_entries(RunSpec("steps", "stepping:a"), "buy", ""))
        await work()

    async def look(page):
        await page.wait_for("!!document.querySelector('.approval')")
        await page.click(".approval button.approve")
        await page.wait_for("!document.querySelector('.approval') && document.querySelectorAll('.turn').length === 1")
        await work()
        await page.wait_for("[...document.querySelectorAll('.call')].map(each => each.dataset.state).join() === 'done'")
        await page.wait_for("!document.querySelector('.doing.busy') && !document.querySelector('.notice.bad')")
        assert await page.evaluate("[...document.querySelectorAll('.said p')].map(each => each.innerText)") == ["buy"]

    asyncio.run(begin())
    with Serving(tmp_path, [steps], Scripted()) as server:
        visit(f"{server.url}/?run=r1", look)
    close_home(home)


def test_a_run_that_waits_for_a_worker_says_how_many_are_ahead_of_it(serve, visit, tmp_path):
    home = open_home(tmp_path / "data")

    async def put():
        for run_id in ("first", "second"):
            said = [Opened(agent="shop", origin={"face": "worker", "assistant": "shop"}), Said(text=f"Ask {run_id}")]
            await RunQueue(home.database).open(QueuePosition(run_id), said)

    async def look(page):
        await page.wait_for("document.querySelector('#about').innerText.includes('1 run ahead of yours')")
        assert await page.text("#about .mark") == "queued"
        await RunQueue(home.database).remove("first")
        await page.wait_for("document.querySelector('#about').innerText.includes('default, next in the queue')")

    async def look_in_workbench(page):
        waits = "document.querySelector('.doing')?.innerText.startsWith('Waiting for a worker: next in the queue…')"
        await page.wait_for(f"document.querySelector('.said p')?.innerText === 'Ask second' && {waits}")
        assert await page.evaluate("document.querySelectorAll('.turn').length") == 1

    asyncio.run(put())
    with serve(clerk()) as server:
        visit(f"{server.url}/runs/second", look)
        visit(f"{server.url}/?run=second", look_in_workbench)
    close_home(home)
