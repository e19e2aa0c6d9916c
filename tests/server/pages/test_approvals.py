"""The page of what waits, in a real browser."""

from browser import needs_browser
from server.pages.axe import findings
from server.pages.kept import asked
from server.pages.shop import ORDER, clerk
from server.running import Serving, assistant
from treadle import FunctionToolset, ask, tool
from treadle.testing import calls

pytestmark = needs_browser

BOXES = "document.querySelectorAll('.approval').length"
WAITING = "document.querySelector('#waiting').hidden ? '' : document.querySelector('#waiting').innerText.trim()"

DENIED = """import("/static/treadle.js").then(({ask}) => ask("/api/approvals").then(({approvals: [{run_id, call_id}]}) =>
    fetch(`/api/runs/${run_id}/approvals/${call_id}`, {
        method: "POST", headers: {"content-type": "application/json"}, body: '{"approved": false}',
    }))).then(({status}) => status)"""


def order(amount):
    return calls(("order_items", {**ORDER, "amount": amount}))


def test_what_somebody_else_decides_is_gone(serve, visit):
    async def look(page):
        await page.wait_for(f"{BOXES} === 1")
        assert await page.evaluate(DENIED) == 202
        await page.evaluate("document.dispatchEvent(new Event('visibilitychange'))")
        await page.wait_for(f"{BOXES} === 0 && document.querySelector('#said').innerText === 'Nothing needs your approval.'")

    with serve(clerk(order(1), "Done.")) as server:
        asked(server.url, "Order 1.", status="waiting")
        visit(f"{server.url}/approvals", look)


def test_calls_like_it_are_allowed_for_always_and_revoked_there(serve, visit, shop):
    grants = "document.querySelectorAll('#grants li').length"

    async def allow(page):
        await page.wait_for(f"{BOXES} === 1")
        assert "Calls like it: item: lamp, amount: 1." in await page.text(".approval")
        assert "Allow once\nFor this conversation\nAlways" in "\n".join((await page.text(".approval .actions")).split("\n"))
        await page.click(".approval .always")
        await page.wait_for(f"{BOXES} === 0 && {grants} === 1")
        assert "You approved order_items, and calls like it always." in await page.text("#approvals")
        assert "order_items with item: lamp, amount: 1" in await page.text("#grants")

    async def revoke(page):
        await page.wait_for(f"{grants} === 1")
        await page.click("#grants .revoke")
        await page.wait_for(f"{grants} === 0 && document.querySelector('#permissions').hidden")

    with serve(clerk(order(1), "Done.", order(1), "Done.", order(1))) as server:
        asked(server.url, "Order 1.", status="waiting")
        visit(f"{server.url}/approvals", allow)
        asked(server.url, "Order 1 more.", status="answered")
        visit(f"{server.url}/approvals", revoke)
        asked(server.url, "And another.", status="waiting")
    assert shop.ordered == [("lamp", 1), ("lamp", 1)]


def test_several_are_decided_at_once_by_keyboard_and_the_history_says_who_and_when(serve, visit, shop):
    async def look(page):
        await page.wait_for(f"{BOXES} === 3 && !document.querySelector('#several').hidden")
        assert await page.evaluate("document.documentElement.scrollWidth") == 390
        assert await page.text(".approval h3") == "Order items: lamp"
        assert await page.evaluate("document.querySelector('#approve-selected').disabled")
        await page.evaluate("document.querySelector('#select-all').click()")
        shown = await page.evaluate("document.querySelectorAll('.select input:checked').length")
        assert shown < 3  # those below the fold were not shown yet
        await page.evaluate("document.querySelectorAll('.select').forEach(each => { each.querySelector('input').checked = false })")
        for number in (0, 1):
            await page.evaluate(f"document.querySelectorAll('.select input')[{number}].focus()")
            await page.press(" ")
        await page.wait_for("document.querySelector('#selected').innerText === '2 of 3 calls selected'")
        await page.evaluate("document.querySelector('#approve-selected').focus()")
        await page.press("Enter")
        await page.wait_for(f"{BOXES} === 1 && document.querySelectorAll('#decisions > li').length === 2")
        await page.click(".approval .why input")
        await page.write("Too many.")
        await page.press("Enter")
        await page.wait_for("document.querySelectorAll('#decisions > li').length === 3")
        history = await page.text("#decisions")
        assert "reason: Too many." in history
        assert history.count("approved") == 2
        assert "denied" in history
        assert "waited" in history
        assert await findings(page) == []

    with serve(clerk(order(1), order(2), order(3), *["Done."] * 3)) as server:
        runs = [asked(server.url, f"Order {number}.", status="waiting") for number in (1, 2, 3)]
        visit(f"{server.url}/approvals", look, width=390)
        for run in runs:
            asked(server.url, run_id=run)
    assert len(shop.ordered) == 2


def test_what_cannot_be_undone_is_red_and_decided_by_itself(visit, tmp_path):
    @tool(effect="destroy")
    def remove_shelf(name: str) -> str:
        """Remove a shelf."""
        return "gone"

    yard = assistant("shop", toolsets=lambda host: [FunctionToolset([remove_shelf])], policy=[ask("*")])

    async def look(page):
        await page.wait_for(f"{BOXES} === 2")
        assert await page.text(".approval.irreversible h3") == "Remove shelf: b"
        assert "This can't be undone." in await page.text(".approval.irreversible")
        assert await page.evaluate("document.querySelectorAll('.approve.danger').length") == 2
        assert await page.evaluate("document.querySelector('#several').hidden && !document.querySelector('.select')")
        assert await findings(page) == []

    with Serving(tmp_path, [yard], clerk(calls(("remove_shelf", {"name": "a"})), calls(("remove_shelf", {"name": "b"})))) as server:
        for number in (1, 2):
            asked(server.url, f"Remove {number}.", status="waiting")
        visit(f"{server.url}/approvals", look)
