"""Questions over a repository on the reading page, in a real browser and over the real routes. No model is needed for them."""

import json

import pytest

from assistants.reading.test_change_reading import ANSWER, project
from browser import needs_browser
from server.pages.axe import findings, needs_axe
from server.running import Serving
from treadle.assistants.reading import assistant
from treadle.models.scripted import Scripted

__all__ = ["project"]  # a fixture
pytestmark = needs_browser
CHOOSE = """(box => {{ box.value = "{}"; box.dispatchEvent(new Event("change")); }})(document.querySelector("#ask-kind"))"""

TILL = "from shop import price\n\n\ndef total(items):\n    return sum(price(each) for each in items)\n"
FILES = {"shop.py": "def price(item):\n    return item.cost\n", "till.py": TILL, "notes.md": "The price is right.\n"}
ROWS = "[...document.querySelectorAll('#places li')].map(each => each.innerText.replaceAll('\\n', ' '))"


@pytest.fixture
def visit(browser, tmp_path, monkeypatch):
    """Shows the page of a folder to `look(page)`; nothing may go wrong meanwhile but what `unless` names."""
    runner, started = browser
    shop = tmp_path / "shop"
    shop.mkdir()
    for name, text in FILES.items():
        (shop / name).write_text(text)

    async def shown(look, url, unless, how):
        page = await started.open(url, **how)
        await page.wait_for("document.querySelectorAll('#list li').length > 0")
        await page.click("#repository-tab")
        await look(page)
        assert [each for each in page.problems if unless not in each] == []
        await page.close()

    def visiting(look, folder=shop, unless="nothing", **how):
        monkeypatch.chdir(folder)
        with Serving(tmp_path, [assistant], Scripted(json.dumps(ANSWER))) as server:
            runner.run(shown(look, f"{server.url}/reading/", unless, how))

    return visiting


async def find(page, kind, words=""):
    await page.evaluate(CHOOSE.format(kind))
    if words:
        await page.evaluate("document.querySelector('#ask-words').value = ''")
        await page.write(words)
    await page.click("#asking button")
    await page.wait_for("!['', 'Looking…'].includes(document.querySelector('#ask-said').textContent)")


def test_callers_are_found_open_the_file_at_their_line_and_are_there_when_one_comes_back(visit):
    async def look(page):
        await find(page, "callers", "price")
        assert await page.evaluate(ROWS) == ["till.py:5 call in total return sum(price(each) for each in items)"]
        await page.click("#places button")
        await page.wait_for("document.querySelector('.line.spot')?.dataset.n === '5'")
        assert await page.text("#name") == "till.py"
        await page.click("#file")
        assert await page.evaluate(ROWS) == ["till.py:5 call in total return sum(price(each) for each in items)"]
        await find(page, "search", "price is")
        assert await page.evaluate(ROWS) == ["notes.md:1 The price is right."]
        await find(page, "search", "(")
        assert await page.evaluate(ROWS) == []
        assert "The search failed" in await page.text("#ask-said")

    visit(look, unless="400")  # the browser says that itself


@needs_axe
def test_a_map_has_the_definitions_first_that_are_referred_to_most_and_fits_a_telephone(visit):
    async def look(page):
        await find(page, "map")
        assert await page.evaluate(ROWS) == [
            "shop.py 2 references",
            "price 2× def price(item)",
            "till.py 0 references",
            "total def total(items)",
        ]
        assert await page.evaluate("document.documentElement.scrollWidth === document.documentElement.clientWidth")
        assert await findings(page) == []

    visit(look, width=390, scheme="dark")


def test_changes_since_a_commit_are_listed_by_definition_and_explained(visit, project):
    async def look(page):
        await find(page, "changes", "v1")
        assert await page.text("#ask-said") == "Items without a price are refused."
        rows = await page.evaluate(ROWS)
        assert rows[:3] == ["docs/notes.txt changed +1 -0", "shop.py changed +4 -3", "Shelf.put changed +1 -0"]
        assert "price changed +1 -1 Rounds to cents." in rows
        await page.click("#places .inner button")
        await page.wait_for("document.querySelector('.line.spot')?.dataset.n === '5'")

    visit(look, project)
