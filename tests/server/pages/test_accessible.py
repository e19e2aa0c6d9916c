"""Every page, light and dark, wide and narrow, as axe sees it in a real browser."""

import pytest

from browser import needs_browser
from server.pages.axe import findings, needs_axe
from server.pages.kept import asked, job
from server.pages.shop import LAMPS, LOOK, ORDER, clerk
from treadle.testing import calls

pytestmark = [needs_browser, needs_axe]

READY = {  # what has to be there before a page is looked at
    "/": "document.querySelectorAll('.chip').length > 0",
    "/?run={run}": "document.querySelectorAll('.turn').length === 2",
    "/runs": "document.querySelectorAll('#runs li').length > 0",
    "/runs/{run}": "!document.querySelector('#player').hidden",
    "/approvals": "document.querySelectorAll('.approval').length > 0",
    "/jobs": "document.querySelectorAll('#jobs li').length > 0",
    "/jobs/{job}": "!!document.querySelector('#parts section')",
    "/audit": "document.querySelectorAll('.record').length > 0",
    "/stats": "document.querySelectorAll('.plot svg').length > 0",
    "/nothing": "document.querySelector('h1') !== null",
}
OPENED = """document.querySelectorAll('details').forEach(each => { each.open = true });
    document.querySelectorAll('.edit:not([hidden])').forEach(each => each.click());
    document.querySelector('#verify')?.click()"""


@pytest.mark.parametrize("path", READY)
def test_nothing_serious_is_found(serve, visit, tmp_path, path):
    made = job(tmp_path, "Count", state="failed", why="It broke.", output={"summary": "It **works**.\n\nReally.", "verified": True})

    async def look(page):
        await page.wait_for(READY[path])
        await page.wait_for("!document.querySelector('#panels').hidden")
        found = await findings(page)
        await page.evaluate(OPENED)
        for scheme, width in (("light", 1280), ("dark", 1280), ("dark", 360)):
            await page.prefer(scheme, still=True)
            await page.resize(width)
            found += await findings(page)
            assert await page.evaluate("document.documentElement.scrollWidth") == width
        assert found == []

    with serve(clerk(LOOK, LAMPS, calls(("order_items", ORDER)))) as server:
        run = asked(server.url, "How many?")
        asked(server.url, "Order.", run_id=run, status="waiting")
        visit(server.url + path.format(run=run, job=made.id), look, expected=("status of 404",))


def test_what_nobody_could_use_would_be_found(serve, visit):
    async def look(page):
        await page.wait_for("!document.querySelector('#panels').hidden")
        await page.evaluate("document.querySelector('main').append(document.createElement('input'))")
        await page.evaluate("document.querySelector('.soft').style.color = '#999'")
        assert {found[1] for found in await findings(page)} >= {"label", "color-contrast"}

    with serve(clerk()) as server:
        visit(f"{server.url}/runs", look)
