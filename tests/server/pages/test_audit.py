"""The page of the audit in a real browser."""

import sqlite3

from browser import needs_browser
from server.pages.kept import asked, record
from server.pages.shop import LAMPS, LOOK, clerk
from treadle.core.seams import AuditRecord

pytestmark = needs_browser

NAMES = "[...document.querySelectorAll('.record .name')].map(each => each.innerText)"
READY = "document.querySelector('#said').className === 'soft small'"


def a_record(number, **more):
    about = {
        "run_id": f"r{number}",
        "call_id": "c1",
        "user": "ada",
        "tool_name": f"tool_{number}",
        "arguments": {"item": "<b>lamp</b>"},
        "verdict": "deny",
        "verdict_by": "rule",
        "result_summary": "",
        "duration_ms": 1500.0,
        "success": False,
        "error": "denied: Never.",
        "at": 1_700_000_000.0,
    }
    return AuditRecord(**about | more)


def test_calls_are_accounted_for_and_the_chain_is_verified(serve, visit):
    async def look(page):
        await page.wait_for(f"({NAMES}).length === 3")
        assert sorted(await page.evaluate(NAMES)) == ["count_items", "next_delivery", "price_of"]
        await page.click("#verify")
        await page.wait_for("!!document.querySelector('#verified .notice.good')")
        assert await page.text("#verified") == "Verified: 3 records, none altered."
        await page.click(".record summary")
        assert "lamp" in await page.text(".record[open] .arguments")
        await page.click("#tool")
        await page.write("*_items")
        await page.wait_for(f"({NAMES}).join() === 'count_items'")
        assert await page.evaluate("location.search") == "?tool=*_items"
        assert await page.evaluate("window.taken") is None
        await page.click(".record summary")
        await page.click(".record[open] a")
        await page.wait_for("location.pathname.startsWith('/runs/')")

    with serve(clerk(LOOK, LAMPS)) as server:
        asked(server.url, "How many?")
        visit(f"{server.url}/audit", look)


def test_older_records_come_when_they_are_asked_for_and_can_be_picked_by_user_and_run(serve, visit, tmp_path):
    record(tmp_path, *[a_record(number, user="bob" if number == 7 else "ada") for number in range(1, 61)])

    async def look(page):
        await page.wait_for(f"({NAMES}).length === 50")
        await page.click("#older")
        await page.wait_for(f"({NAMES}).length === 60")
        assert await page.evaluate(NAMES) == [f"tool_{number}" for number in range(60, 0, -1)]
        await page.click("#user")
        await page.write("bob")
        await page.wait_for(f"({NAMES}).join() === 'tool_7'")
        await page.click("#run")
        await page.write("r8")
        await page.wait_for("document.querySelector('#said').innerText === 'No matching records.'")

    with serve(clerk()) as server:
        visit(f"{server.url}/audit", look)


def test_a_chain_that_was_tampered_with_is_told_where(serve, visit, tmp_path):
    record(tmp_path, *[a_record(number) for number in (1, 2, 3)])
    with sqlite3.connect(tmp_path / "data" / "treadle.db") as database:
        database.execute("UPDATE audit SET line = replace(CAST(line AS TEXT), 'Never', 'Always') WHERE seq = 2")
    database.close()

    async def look(page):
        await page.wait_for(READY)
        await page.click("#verify")
        await page.wait_for("!!document.querySelector('#verified .notice.bad')")
        words = "The chain is broken at record 2: record 2 is not what was written. 1 record before it holds."
        assert await page.text("#verified") == words

    with serve(clerk()) as server:
        visit(f"{server.url}/audit", look)


def test_where_no_tool_was_called_that_is_said(serve, visit):
    async def look(page):
        await page.wait_for(READY)
        assert await page.text("#said") == "No tool calls yet."
        await page.click("#verify")
        await page.wait_for("document.querySelector('#verified').innerText.includes('No records yet')")

    with serve(clerk()) as server:
        visit(f"{server.url}/audit", look)
