"""Every page, light and dark, wide and narrow, as axe sees it in a real browser."""

import pytest

from browser import needs_browser
from server.pages.axe import findings, needs_axe

pytestmark = [needs_browser, needs_axe]

READY = {  # what has to be there before a page is looked at
    "/": "document.querySelectorAll('.chip').length > 0",
    "/?run={run}": "document.querySelectorAll('.turn').length === 2",
    "/runs": "document.querySelectorAll('#runs li').length > 0",
    "/runs/{run}": "document.querySelectorAll('#steps [role=treeitem]').length > 0",
    "/runs/{run}#journal": "!document.querySelector('#player').hidden",
    "/runs/{run}/compare?with={run}": "document.querySelectorAll('.pair').length > 0",
    "/approvals": "document.querySelectorAll('.approval').length > 0",
    "/jobs": "document.querySelectorAll('#jobs li').length > 0",
    "/jobs/{job}": "!!document.querySelector('#parts section')",
    "/audit": "document.querySelectorAll('.record').length > 0",
    "/settings": "document.querySelectorAll('#local-models li').length > 0 && !!document.querySelector('#data-amount').innerText",
    "/stats": "document.querySelectorAll('.plot svg').length > 0",
    "/nothing": "document.querySelector('h1') !== null",
}
OPENED = """document.querySelectorAll('details').forEach(each => { each.open = true });
    document.querySelectorAll('.edit:not([hidden])').forEach(each => each.click());
    document.querySelector('#verify')?.click()"""


@pytest.mark.parametrize("path", READY)
def test_nothing_serious_is_found(standing, visit, path):
    async def look(page):
        await page.wait_for(READY[path])
        await page.wait_for("document.querySelectorAll('[aria-labelledby=side-assistants] a').length === 2")
        found = await findings(page)
        await page.evaluate(OPENED)
        for scheme, width in (("light", 1280), ("dark", 1280), ("dark", 360)):
            await page.prefer(scheme, still=True)
            await page.resize(width)
            found += await findings(page)
            assert await page.evaluate("document.documentElement.scrollWidth") == width
        assert found == []

    visit(standing.url + path.format(run=standing.run, job=standing.job), look, expected=("status of 404",))


def test_what_nobody_could_use_would_be_found(standing, visit):
    async def look(page):
        await page.wait_for("document.querySelectorAll('[aria-labelledby=side-assistants] a').length === 2")
        await page.evaluate("document.querySelector('main').append(document.createElement('input'))")
        await page.evaluate("document.querySelector('main .soft').style.color = '#999'")
        assert {found[1] for found in await findings(page)} >= {"label", "color-contrast"}

    visit(f"{standing.url}/runs", look)
