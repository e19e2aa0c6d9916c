"""The trace of a run in a real browser: its tree of steps, what a step has read and written, and two runs compared."""

import asyncio
import time

from browser import needs_browser
from server.pages.axe import findings, needs_axe
from server.pages.kept import asked
from server.pages.shop import LAMPS, LOOK, ORDER, clerk
from treadle.core.calls import Allow, Call, Result, Written
from treadle.core.entries import Finished, Judged, Opened, Replied, Returned, Said
from treadle.core.messages import Text
from treadle.core.requests import Usage
from treadle.home import close_home, open_home
from treadle.testing import calls

pytestmark = needs_browser

READY = "document.querySelectorAll('#steps [role=treeitem]').length > 0"
SEEN = """[...document.querySelectorAll('#steps [role=treeitem]')].filter(each => each.checkVisibility())
    .map(each => each.querySelector('.name').innerText)"""
CHOSEN = "document.querySelector('#steps [aria-selected=true]').ariaLabel"
CONTENT = "document.querySelector('#step-content').innerText"
OUTSIDE = "performance.getEntriesByType('resource').filter(({name}) => !name.startsWith(location.origin)).map(({name}) => name)"


def choose(name, number=0):
    """A click on a step."""
    found = f"[...document.querySelectorAll('#steps .step-row')].filter(each => each.querySelector('.name').innerText === '{name}')"
    return f"{found}[{number}].click()"


def test_the_tree_is_walked_with_the_keyboard_alone(serve, visit):
    async def look(page):
        await page.wait_for(READY)
        await page.evaluate("document.querySelector('#tab-trace').focus()")
        await page.press("Tab")
        assert (await page.evaluate(CHOSEN)).startswith("Turn 1: How many?")
        await page.press("ArrowDown")
        await page.press("ArrowLeft")
        assert await page.evaluate(SEEN) == ["Turn 1", "Round 1", "Round 2", "Model request"]
        await page.press("ArrowRight")
        await page.press("ArrowRight")
        assert (await page.evaluate(CHOSEN)).startswith("Model request: Let me")
        await page.press("End")
        await page.press("ArrowLeft")
        assert (await page.evaluate(CHOSEN)).startswith("Round 2")
        await page.press("Tab")
        assert await page.evaluate("document.activeElement.id") == "step-input"
        await page.press("ArrowRight")
        assert await page.evaluate("document.activeElement.id") == "step-output"
        assert await page.evaluate("document.querySelector('#step-output').ariaSelected") == "true"
        await page.evaluate("document.querySelector('#tab-trace').focus()")
        await page.press("ArrowRight")
        assert await page.evaluate("!document.querySelector('#player').hidden")
        assert (await page.evaluate("location.hash")).startswith("#entry-")
        await page.press("ArrowLeft")
        assert await page.evaluate("location.hash") == ""

    with serve(clerk(LOOK, LAMPS)) as server:
        visit(f"{server.url}/runs/{asked(server.url, 'How many?')}", look)


def test_a_decision_and_the_waiting_before_it_are_steps(serve, visit, shop):
    async def look(page):
        await page.wait_for("!!document.querySelector('#asked .approval')")
        await page.wait_for(READY)
        assert (await page.evaluate(SEEN))[-2:] == ["order_items", "Waiting for approval"]
        await page.click("#asked .approve")
        await page.wait_for("document.querySelector('#about').innerText.includes('answered')")
        await page.wait_for(f"{SEEN}.includes('Round 2')")
        await page.evaluate(choose("Waiting for approval"))
        assert "Approved" in await page.evaluate(CHOSEN)

    with serve(clerk(calls(("order_items", ORDER)), "Done.")) as server:
        visit(f"{server.url}/runs/{asked(server.url, 'Order lamps.', status='waiting')}", look, width=390)


def keep_nested(folder):
    """A run with a call that another run was carried out in."""
    call, origin, at = Call("c1", "ask_helper", {"task": "Count."}), {"face": "server", "assistant": "shop"}, time.time()
    spent = Usage(requests=1, input_tokens=40, output_tokens=2, cost=0.5)
    outer = [
        Opened(agent="shop", origin=origin, at=at),
        Said("How many?", at=at),
        Replied((Written("c1", "ask_helper", "{}"),), usage=spent, seconds=1.0, at=at + 1),
        Judged(call=call, verdict=Allow("policy"), at=at + 1),
        Returned(Result("c1", "ask_helper", "Three."), seconds=3.0, usage=spent, at=at + 4),
        Finished("answered", "Three.", at=at + 4),
    ]
    inner = [
        Opened(agent="helper", parent="outer", within="c1", origin=origin, at=at + 1),
        Said("Count.", at=at + 1),
        Replied((Text("Three."),), usage=spent, seconds=2.0, at=at + 3),
        Finished("answered", "Three.", at=at + 3),
    ]

    async def keep():
        home = open_home(folder / "data")
        for run_id, entries in (("outer", outer), ("outer.c1", inner)):
            await home.journal.append(run_id, 0, entries)
        close_home(home)

    asyncio.run(keep())


def test_a_nested_run_opens_in_the_tree(serve, visit, tmp_path):
    async def look(page):
        await page.wait_for(READY)
        assert (await page.evaluate(SEEN))[-1] == "ask_helper"
        assert (await page.text("#steps .step-row .cost")) == "$1.00"
        assert "84 tokens" in await page.evaluate(CHOSEN)
        await page.evaluate(choose("ask_helper"))
        assert await page.text("#step-facts a") == "outer.c1"
        await page.press("ArrowRight")
        await page.wait_for(f"{SEEN}.length === 5")
        assert (await page.evaluate(SEEN))[-1] == "Turn 1"
        await page.press("ArrowRight")
        assert await page.evaluate("document.querySelector('#steps [aria-selected=true]').ariaLevel") == "4"

    with serve(clerk()) as server:
        keep_nested(tmp_path)
        visit(f"{server.url}/runs/outer", look)


@needs_axe
def test_two_runs_are_compared_side_by_side(serve, visit):
    async def look(page):
        await page.wait_for("document.querySelector('#right').options.length > 1")
        assert await page.text("#said") == "Choose a second run to compare with."
        await page.evaluate("document.querySelector('#right').focus()")
        await page.press("ArrowDown")
        await page.wait_for("document.querySelectorAll('.pair').length > 0")
        assert (await page.text("#said")).startswith("The runs diverge at step 2 of 6; 5 steps differ")
        kinds = await page.evaluate("[...document.querySelectorAll('.pair')].map(each => each.dataset.likeness)")
        assert kinds == ["same", "differs", "left", "left", "left", "left"]
        assert "First difference: output differs" in await page.text("#first-difference")
        await page.click("#diverges")
        assert await page.evaluate("document.activeElement.closest('.pair').id") == "first-difference"
        await page.click("#only")
        assert await page.evaluate("!document.querySelector('.pair[data-likeness=same]').checkVisibility()")
        assert "with=" in await page.evaluate("location.search")
        await page.resize(390)
        assert await page.evaluate("document.documentElement.scrollWidth") == 390
        assert await findings(page) == []
        await page.evaluate("location.reload()")
        await page.wait_for("document.querySelectorAll('.pair').length > 0")

    with serve(clerk(LOOK, LAMPS, "Three.")) as server:
        first = asked(server.url, "How many?")
        asked(server.url, "How many?")
        visit(f"{server.url}/runs/{first}/compare", look)
