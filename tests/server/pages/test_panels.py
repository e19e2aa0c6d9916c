"""What the five panels have in common, in a real browser: the way back, light and dark, and that everybody can use them."""

import pytest

from browser import needs_browser
from server.pages.axe import findings, needs_axe
from server.running import Serving
from treadle.plugins.assistants import list_assistants

pytestmark = needs_browser

READY = {  # what has to be there before a panel is looked at
    "coding": "document.querySelector('#workspace') !== null && !document.querySelector('#amount .busy')",
    "courses": "document.querySelector('.beginning') !== null",
    "guidance": "!document.querySelector('#beginning').hidden",
    "platform": "document.querySelector('#notices .notice') !== null",
    "reading": "document.querySelectorAll('#list li').length === 1",
}
GROUND = "getComputedStyle(document.body).backgroundColor"
LIGHT, DARK = "rgb(250, 249, 246)", "rgb(20, 23, 26)"
MIDDLES = """[...new Set([...document.querySelectorAll('.bar :is(img, button)')].filter(each => each.checkVisibility())
    .map(each => each.getBoundingClientRect()).map(({top, bottom}) => Math.round((top + bottom) / 2)))].map(each => each > 0)"""
WIDE, NARROW = 1280, 360


@pytest.fixture(scope="module")
def url(tmp_path_factory):
    """All assistants that come with Treadle, for somebody who has just begun."""
    folder = tmp_path_factory.mktemp("home")
    (folder / "own.toml").touch()
    (folder / "work").mkdir()
    (folder / "work" / "stock.py").write_text("lamps = 3\n")
    with pytest.MonkeyPatch.context() as patched:
        patched.chdir(folder / "work")
        patched.setenv("HOME", str(folder))
        patched.setenv("TREADLE_CONFIG", str(folder / "own.toml"))
        patched.setenv("TREADLE_GUIDANCE_DATABASE", str(folder / "projects.db"))
        with Serving(folder, [each for each in list_assistants() if each.name in READY]) as server:
            yield server.url


@pytest.mark.parametrize("name", READY)
def test_a_panel_has_the_sidebar_with_the_switch_and_all_places(url, visit, name):
    async def look(page):
        await page.wait_for(READY[name])
        assert await page.evaluate(GROUND) == LIGHT
        await page.click("#theme")
        assert (await page.evaluate(GROUND), await page.evaluate("document.querySelector('#theme').title")) == (
            DARK,
            "Use light colours",
        )
        await page.go(f"{url}/{name}/")
        assert await page.evaluate(GROUND) == DARK
        await page.click("#theme")
        assert await page.evaluate("[document.documentElement.dataset.theme, localStorage.length]") == [None, 0]
        await page.becomes("document.querySelector('#sidebar [aria-current]')?.pathname", f"/{name}/")
        await page.click("#sidebar a[href='/']:not(.brand)")
        await page.wait_for("location.pathname === '/' && document.title === 'New conversation · Treadle'")
        await page.wait_for("document.querySelectorAll('.assistant').length === 5")

    visit(f"{url}/{name}/", look)


@pytest.mark.parametrize("name", READY)
def test_on_a_telephone_the_sheet_leads_back_and_the_bar_is_one_line(url, visit, name):
    async def look(page):
        await page.wait_for(READY[name])
        assert await page.evaluate("document.documentElement.scrollWidth") == NARROW
        assert await page.evaluate("document.querySelector('h1').checkVisibility()")
        await page.evaluate("document.querySelectorAll('.bar > button').forEach(each => { each.hidden = false })")
        assert await page.evaluate(MIDDLES) == ([True] if name != "platform" else [True, True])  # which says more, below it
        assert await page.evaluate("document.documentElement.scrollWidth") == NARROW
        await page.click("#menu")
        await page.wait_for(
            "document.activeElement.id === 'side-collapse' && document.querySelector('#sidebar').getAnimations().length === 0"
        )
        await page.click("#sidebar a[href='/']:not(.brand)")
        await page.wait_for("location.pathname === '/' && document.title === 'New conversation · Treadle'")

    visit(f"{url}/{name}/", look, width=NARROW, height=740)


@needs_axe
@pytest.mark.parametrize("name", READY)
def test_nothing_serious_is_found(url, visit, name):
    async def look(page):
        await page.wait_for(READY[name])
        found = []
        for scheme, width in (("light", WIDE), ("dark", WIDE), ("dark", NARROW)):
            await page.prefer(scheme, still=True)
            await page.resize(width)
            found += await findings(page)
        assert found == []

    visit(f"{url}/{name}/", look)


@pytest.mark.parametrize("name", ["guidance", "courses"])
def test_what_is_asked_on_the_first_page_is_asked_in_the_panel_that_shows_it_better(url, visit, name):
    async def look(page):
        await page.wait_for("document.querySelectorAll('.chip').length === 5")
        if name == "guidance":
            await make_project(page)
            await page.click(".assistant[data-name=guidance] .chip")
        else:
            await page.click(".assistant[data-name=courses]")
            await page.becomes("document.querySelector('#message').placeholder", "Ask Courses…")
            await page.click("#message")
            await page.write("Hello?")
            await page.press("Enter")
        await page.wait_for(f"location.pathname === '/{name}/' && document.querySelectorAll('.facts').length === 1")
        asked = "Hello?" if name == "courses" else "What constraints are in my ProblemSpec?"
        assert await page.text(".said p") == asked
        here = await page.evaluate("location.href")
        assert "question=" not in here
        path = await page.wait_for(f"document.querySelector('.side-recent a[href^=\"/{name}/\"]')?.getAttribute('href')")
        await page.go(f"{url}{path}")
        await page.wait_for("document.querySelectorAll('.said').length === 1")
        assert await page.evaluate("location.pathname") == f"/{name}/"

    visit(f"{url}/", look)


async def make_project(page):
    script = """fetch("/projects", {method: "POST", headers: {"content-type": "application/json"},
        body: JSON.stringify({title: "A bridge"})}).then(({status}) => status)"""
    assert await page.evaluate(script) in (200, 201)


def test_other_assistants_are_talked_to_right_there(url, visit):
    async def look(page):
        await page.wait_for("document.querySelectorAll('.chip').length === 5")
        await page.click(".assistant[data-name=reading]")
        await page.becomes("document.querySelector('#message').placeholder", "Ask Reading…")
        await page.click("#message")
        await page.write("Hello?")
        await page.press("Enter")
        await page.wait_for("document.querySelectorAll('.facts').length === 1")
        assert await page.evaluate("location.pathname") == "/"

    visit(f"{url}/", look)
