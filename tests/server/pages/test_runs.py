"""The page of runs in a real browser."""

from browser import needs_browser
from server.pages.kept import asked
from server.pages.shop import BAD, ORDER, Held, clerk
from treadle.testing import calls

pytestmark = needs_browser

TITLES = "[...document.querySelectorAll('#runs .title')].map(each => each.innerText)"
STATE = "document.querySelector('#runs .mark')?.innerText"
AGAIN = "document.dispatchEvent(new Event('visibilitychange'))"  # whoever comes back to the page sees what is new at once
READY = "document.querySelector('#said').className === 'soft small'"


async def pick(page, name, value):
    script = (
        "(field => { field.value = %r; field.dispatchEvent(new Event('change', {bubbles: true})) })(document.getElementById(%r))"
    )
    await page.evaluate(script % (value, name))


def test_runs_are_listed_searched_and_picked_and_one_leads_to_its_page(serve, visit):
    async def look(page):
        await page.wait_for(f"({TITLES}).length === 3")
        assert await page.evaluate(TITLES) == ["Order lamps.", f"How wide is {BAD}?", "How long is it?"]
        assert await page.evaluate("window.taken") is None
        await page.click("#search")
        await page.write("how it")
        await page.wait_for(f"({TITLES}).join() === 'How long is it?'")
        assert await page.evaluate("location.search") == "?search=how+it"
        await page.go(await page.evaluate("location.href"))
        await page.wait_for(f"({TITLES}).join() === 'How long is it?'")
        await pick(page, "search", "")
        await pick(page, "status", "waiting")
        await page.wait_for(f"({TITLES}).join() === 'Order lamps.'")
        assert await page.evaluate(STATE) == "waiting"
        await pick(page, "assistant", "courses")
        await page.wait_for("document.querySelector('#said').innerText === 'No matching runs.'")
        await pick(page, "assistant", "shop")
        await page.click("#runs .title")
        await page.wait_for(
            "location.pathname.startsWith('/runs/') && document.querySelector('#title').innerText === 'Order lamps.'"
        )

    with serve(clerk("Long.", "Wide.", calls(("order_items", ORDER)))) as server:
        asked(server.url, "How long is it?")
        asked(server.url, f"How wide is {BAD}?")
        asked(server.url, "Order lamps.", status="waiting")
        visit(f"{server.url}/runs", look)


def test_older_runs_come_when_they_are_asked_for(serve, visit):
    async def look(page):
        await page.wait_for(f"({TITLES}).length === 30")
        assert await page.text("#said") == "30 runs, the newest."
        await page.click("#older")
        await page.wait_for(f"({TITLES}).length === 33")
        assert await page.evaluate(TITLES) == [f"Question {number}" for number in range(33, 0, -1)]
        assert await page.evaluate("document.activeElement.innerText") == "Question 3"
        assert await page.evaluate("document.querySelector('#older').hidden")

    with serve(clerk(*["Yes."] * 33)) as server:
        for number in range(1, 34):
            asked(server.url, f"Question {number}")
        visit(f"{server.url}/runs", look)


def test_what_is_under_way_changes_while_one_looks(serve, visit):
    held = Held("Wait. ", "Done.")

    async def look(page):
        await page.wait_for(READY)
        assert await page.text("#said") == "No runs yet."
        body = '{assistant: "shop", message: "How many?"}'
        run = await page.evaluate(
            f"import('/static/treadle.js').then(({{ask}}) => ask('/api/runs', {body})).then(said => said.run_id)"
        )
        await page.evaluate(AGAIN)
        await page.wait_for(f"{STATE} === 'running'")
        held.free()
        held.free()
        await page.wait_for(f"fetch('/api/runs/{run}').then(said => said.json()).then(({{run}}) => run.status === 'answered')")
        await page.evaluate(AGAIN)
        await page.wait_for(f"{STATE} === 'answered'")

    with serve(clerk(held)) as server:
        visit(f"{server.url}/runs", look)
