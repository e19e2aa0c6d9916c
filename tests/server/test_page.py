"""What people find first, and panels, in a real browser. The pages themselves are in `pages/`."""

import asyncio
import re
from pathlib import Path
from urllib.parse import urlencode

from starlette.responses import JSONResponse
from starlette.routing import Route

from browser import Browser, needs_browser
from server.running import Serving, assistant, panel
from treadle.core.errors import BadPrompt
from treadle.plugins.assistant import Panel

DOCS = Path(__file__).parents[2] / "docs" / "server.md"

SCRIPT = """
import { ask, element, question } from "/static/treadle.js";
const listed = await ask("/api/assistants");
document.body.append(element("p", { id: "asked" }, question()));
document.body.append(element("p", { id: "listed" }, listed.map((one) => one.name).join()));
"""
SUMMARY = "Knows every river: its length, its source, and what flows into it."
QUESTIONS = ("How long is the Elbe?", "Which river is longer than <b>the Nile</b> & the Amazon?")


def rivers(folder):
    return assistant("rivers", summary=SUMMARY, questions=QUESTIONS, panel=panel(folder / "rivers", panel_js=SCRIPT))


@needs_browser
def test_people_find_an_assistant_and_come_to_its_panel(tmp_path):
    async def visit(url):
        async with Browser() as browser:
            page = await browser.open(f"{url}/")
            await page.wait_for("document.querySelectorAll('.chip').length === 1")
            shown = await page.text("#chat")
            assert [words in shown for words in ("Rivers", SUMMARY, QUESTIONS[0], "Mountains")] == [True] * 4
            await page.click("[aria-labelledby=side-assistants] a")
            assert await page.wait_for("document.querySelector('#listed')?.innerText") == "rivers,mountains"
            assert await page.evaluate("location.pathname + document.title") == "/rivers/Rivers"
            await page.go(f"{url}/rivers/?{urlencode({'question': QUESTIONS[1]})}")
            assert await page.wait_for("document.querySelector('#asked')?.innerText") == QUESTIONS[1]
            page.check()

    with Serving(tmp_path, [rivers(tmp_path), assistant("mountains")]) as server:
        asyncio.run(visit(server.url))


@needs_browser
def test_the_page_is_light_or_dark_as_people_prefer_and_fits_a_telephone(tmp_path):
    async def look(url):
        async with Browser() as browser:
            page, colours = await browser.open(f"{url}/"), {}
            for scheme, width in ((scheme, width) for scheme in ("light", "dark") for width in (1280, 390)):
                await page.prefer(scheme)
                await page.resize(width)
                colours[scheme] = await page.evaluate("getComputedStyle(document.body).backgroundColor")
                assert await page.evaluate("document.documentElement.scrollWidth") == width
                picture = await page.screenshot(tmp_path / f"{scheme}-{width}.png")
                assert picture.read_bytes().startswith(b"\x89PNG")
            assert colours == {"light": "rgb(250, 249, 246)", "dark": "rgb(20, 23, 26)"}
            page.check()

    with Serving(tmp_path, [rivers(tmp_path), assistant("mountains")]) as server:
        asyncio.run(look(server.url))


@needs_browser
def test_the_page_works_by_keyboard_and_shows_where_one_is(tmp_path):
    async def walk(url):
        async with Browser() as browser:
            page = await browser.open(f"{url}/")
            await page.wait_for("document.querySelectorAll('[aria-labelledby=side-assistants] a').length === 1")
            await page.evaluate("document.querySelector('.skip').focus()")
            for words in ("Treadle", "", "New conversation", "Go to…", "Rivers"):
                await page.press("Tab")
                assert (await page.evaluate("document.activeElement.innerText")).partition("\n")[0] == words
            assert await page.evaluate("getComputedStyle(document.activeElement).outlineStyle") == "solid"
            await page.press("Enter")
            await page.wait_for("location.pathname === '/rivers/'")
            page.check()

    with Serving(tmp_path, [rivers(tmp_path)]) as server:
        asyncio.run(walk(server.url))


@needs_browser
def test_nothing_moves_for_those_who_want_no_motion(tmp_path):
    busy = panel(tmp_path / "rivers", body='<p class="busy">Reading</p>')
    moving = "getComputedStyle(document.querySelector('.busy'), '::before').animationName"

    async def look(url):
        async with Browser() as browser:
            page = await browser.open(f"{url}/rivers/")
            assert await page.evaluate(moving) == "turn"
            await page.prefer("light", still=True)
            assert await page.evaluate(moving) == "none"
            page.check()

    with Serving(tmp_path, [assistant("rivers", panel=busy)]) as server:
        asyncio.run(look(server.url))


@needs_browser
def test_a_script_in_the_page_itself_does_not_run_and_a_test_would_hear_of_it(tmp_path):
    planted = panel(tmp_path / "rivers", body="<script>document.title = 'taken over'</script>")

    async def look(url):
        async with Browser() as browser:
            page = await browser.open(f"{url}/rivers/")
            assert await page.evaluate("document.title") == "Rivers"
            assert "Content Security Policy" in " ".join(page.problems)

    with Serving(tmp_path, [assistant("rivers", panel=planted)]) as server:
        asyncio.run(look(server.url))


@needs_browser
def test_the_panel_in_the_documentation_works(tmp_path):
    for name, language in (("index.html", "html"), ("panel.js", "js")):
        (tmp_path / name).write_text(re.findall(rf"^```{language}\n(.*?)^```", DOCS.read_text(), re.MULTILINE | re.DOTALL)[0])

    async def answered(request):
        question = (await request.json())["question"]
        if not question:
            raise BadPrompt("Ask something.")
        return JSONResponse({"answer": f"<b>{question}</b> I don't know."})

    async def converse(url):
        async with Browser() as browser:
            page = await browser.open(f"{url}/rivers/?question=How+long%3F", scheme="dark")
            await page.wait_for("document.querySelector('#question').value === 'How long?'")
            await page.click("#question")
            await page.press("End")
            await page.press("!")
            await page.write(" How wide?")
            await page.click("button")
            await page.wait_for("document.querySelector('#answer').className === '' && document.querySelector('#answer').innerText")
            assert await page.text("#answer") == "<b>How long?! How wide?</b> I don't know."
            page.check()
            await page.evaluate("document.querySelector('#question').value = ''")
            await page.click("button")
            await page.wait_for("document.querySelector('#answer').className === 'notice bad'")
            assert await page.text("#answer") == "Ask something."

    routes = [Route("/api/rivers", answered, methods=["POST"])]
    known = assistant("rivers", panel=Panel("Rivers", tmp_path), routes=lambda host: routes)
    with Serving(tmp_path, [known]) as server:
        asyncio.run(converse(server.url))
