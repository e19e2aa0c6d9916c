"""The page of what waits, in a real browser."""

from browser import needs_browser
from server.pages.kept import asked
from server.pages.shop import ORDER, clerk
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


def test_what_waits_in_all_runs_is_decided_right_there(serve, visit, shop):
    async def look(page):
        await page.wait_for(f"{BOXES} === 3")
        await page.wait_for("document.querySelector('#said').innerText === '3 calls need your approval.'")
        await page.wait_for(f"({WAITING}).startsWith('3')")
        assert {"Orders 1 of lamp.", "Orders 2 of lamp."} <= set((await page.text("#approvals")).split("\n"))
        assert "In Order 3." in await page.text(".approval")
        await page.click(".approval .approve")
        await page.wait_for(f"{BOXES} === 2 && document.querySelector('#said').innerText === '2 calls need your approval.'")
        await page.click(".approval .why input")
        await page.write("Not now.")
        await page.click(".approval .deny")
        await page.wait_for(f"{BOXES} === 1")
        await page.click(".approval .edit")
        await page.evaluate('document.querySelector(\'.json\').value = \'{"item": "chair", "amount": 5}\'')
        await page.click(".approval .approve")
        await page.wait_for("document.querySelector('#said').innerText === 'Nothing needs your approval.'")
        await page.wait_for(f"({WAITING}) === ''")
        assert "You denied order_items: Not now." in await page.text("#approvals")

    with serve(clerk(order(1), order(2), order(3), *["Done."] * 3)) as server:
        runs = [asked(server.url, f"Order {number}.", status="waiting") for number in (1, 2, 3)]
        visit(f"{server.url}/approvals", look)
        for run in runs:
            asked(server.url, run_id=run)
    assert sorted(shop.ordered) == [("chair", 5), ("lamp", 3)]


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
