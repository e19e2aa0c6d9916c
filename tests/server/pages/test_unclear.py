"""What a person is asked about a call that was running when its server was killed, in a real browser."""

import pytest

from browser import needs_browser
from server.pages.axe import findings, needs_axe
from server.pages.kept import left_behind, until
from server.pages.shop import clerk

pytestmark = needs_browser

BOX = ".approval.unclear"
SAID = "document.querySelector('.decided')?.innerText"
WAYS = [
    ("happened", "You said that order_items happened: It is order 17.", []),
    ("not_happened", "You said that order_items did not happen: It is order 17.", []),
    ("again", "You had order_items tried again: It is order 17.", [("lamp", 10)]),
]


@pytest.mark.parametrize(("way", "told", "ordered"), WAYS)
def test_each_of_the_three_buttons_says_what_became_of_it(serve, visit, shop, tmp_path, way, told, ordered):
    async def look(page):
        await page.wait_for(f"document.querySelector('{BOX}') !== null")
        shown = await page.text(BOX)
        assert shown.startswith("The outcome of order_items?")
        assert "may have taken effect" in shown
        assert "It began just now." in shown
        assert "lamp" in shown
        assert await page.evaluate(f"[...document.querySelectorAll('{BOX} button')].map((each) => each.innerText)") == [
            "It happened",
            "It did not happen",
            "Try again",
        ]
        await page.click(f"{BOX} input")
        await page.write("It is order 17.")
        await page.click(f"{BOX} button.{way}")
        await page.wait_for(f"{SAID} === {told!r}")

    left_behind(tmp_path, "r")
    with serve(clerk("Done.")) as server:
        until(server.url, "r", "waiting")
        visit(f"{server.url}/approvals", look)
        until(server.url, "r")
    assert shop.ordered == ordered


def test_it_is_answered_by_keys_alone_in_the_conversation(serve, visit, shop, tmp_path):
    async def look(page):
        await page.wait_for(f"document.activeElement === document.querySelector('{BOX}')")
        for _ in range(40):
            await page.press("Tab")
            if await page.evaluate("document.activeElement.classList.contains('again')"):
                break
        await page.press("Enter")
        await page.wait_for("document.body.innerText.includes('Ordered, then.')")
        assert "You had order_items tried again." in await page.text(".turns, main")

    left_behind(tmp_path, "r")
    with serve(clerk("Ordered, then.")) as server:
        until(server.url, "r", "waiting")
        visit(f"{server.url}/?run=r", look)
    assert shop.ordered == [("lamp", 10)]


def test_the_runs_own_page_asks_too_and_its_journal_tells_of_it(serve, visit, tmp_path):
    async def look(page):
        await page.wait_for(f"document.querySelector('#asked {BOX}') !== null")
        await page.click(f"#asked {BOX} button.happened")
        await page.click("#tab-journal")
        await page.wait_for("document.querySelector('#entries').innerText.includes('Settled')")
        told = await page.text("#entries")
        assert "Unclear" in told
        assert "order_items: It took effect." in told

    left_behind(tmp_path, "r")
    with serve(clerk("Done.")) as server:
        until(server.url, "r", "waiting")
        visit(f"{server.url}/runs/r", look)


def test_an_answer_that_comes_too_late_is_a_sentence_in_the_box(serve, visit, tmp_path):
    async def look(page):
        await page.wait_for(f"document.querySelector('{BOX}') !== null")
        await page.evaluate("""import("/static/treadle.js").then(({ask}) =>
            ask("/api/runs/r/approvals/c1", {settled: "happened"}))""")
        await page.click(f"{BOX} button.not_happened")
        await page.wait_for(f"document.querySelector('{BOX} [role=alert]')?.innerText !== ''")

    left_behind(tmp_path, "r")
    with serve(clerk("Done.")) as server:
        until(server.url, "r", "waiting")
        visit(f"{server.url}/approvals", look, expected=["409"])


@needs_axe
def test_everybody_can_read_and_answer_it(serve, visit, tmp_path):
    async def look(page):
        await page.wait_for(f"document.querySelector('{BOX}') !== null")
        found = []
        for scheme, width in (("light", 1280), ("dark", 360)):
            await page.prefer(scheme, still=True)
            await page.resize(width)
            found += await findings(page)
            assert await page.evaluate("document.documentElement.scrollWidth") == width
        assert found == []

    left_behind(tmp_path, "r")
    with serve(clerk("Done.")) as server:
        until(server.url, "r", "waiting")
        visit(f"{server.url}/approvals", look)
