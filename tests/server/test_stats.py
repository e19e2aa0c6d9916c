"""Figures over HTTP, and the page in a real browser."""

import asyncio
import json
import time

import aiohttp
import pytest
from starlette.routing import Route

from browser import Browser, needs_browser
from server.running import Serving, assistant, host
from stores.stats.journals import DAY, a_run, one_round, write
from treadle.core.errors import SettingsError
from treadle.core.requests import Usage
from treadle.server.app import create_app

TODAY = time.time()
RUNS = {
    "r1": a_run(
        one_round(1, "read_file", TODAY, seconds=0.002),
        one_round(2, "read_file", TODAY, problem="raised", seconds=0.4),
        one_round(3, "<b>bold</b>", TODAY, problem="unknown_tool", seconds=0.0),
        one_round(4, "pay", TODAY, problem="denied"),
        at=TODAY,
        model="openai:gpt-4o-mini",
    ),
    "r2": a_run(
        one_round(1, "read_file", TODAY - 3 * DAY, seconds=9.0, usage=Usage(1, 0, 10, 1, cost=0.5)),
        at=TODAY - 3 * DAY,
        agent="helper",
        user="bob",
    ),
    "r3": a_run(one_round(1, "long_ago", TODAY - 80 * DAY), at=TODAY - 80 * DAY),
}


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    folder = tmp_path_factory.mktemp("stats")
    asyncio.run(write(folder / "data" / "treadle.db", RUNS))
    with Serving(folder, [assistant("rivers")]) as server:
        yield server


def ask(server, path):
    async def asking():
        async with aiohttp.ClientSession() as session, session.get(f"{server.url}{path}") as answer:
            return answer.status, answer.headers["content-type"], await answer.text()

    return asyncio.run(asking())


# for programs


def test_figures_are_asked_for_as_on_the_command_line(server):
    status, kind, body = ask(server, "/api/stats?by=assistant&since=7d&tool=read_*&user=bob")
    assert (status, kind) == (200, "application/json")
    said = json.loads(body)
    assert (said["by"], said["total"]["calls"], said["total"]["spent"]) == ("assistant", 1, None)
    assert [(row["key"], row["calls"], row["seconds"]["median"]) for row in said["rows"]] == [("helper", 1, 9.0)]


def test_what_is_said_has_the_documented_shape(server):
    said = json.loads(ask(server, "/api/stats")[2])
    assert list(said) == ["by", "since", "until", "total", "rows", "unread"]
    row = "key calls fine failed denied cancelled cached problems seconds tokens inner_tokens spent"
    assert list(said["rows"][0]) == list(said["total"]) == row.split()
    assert list(said["total"]["seconds"]) == ["timed", "median", "p95", "total"]
    spent = "runs requests input_tokens output_tokens cache_read_tokens cost unpriced"
    assert list(said["total"]["spent"]) == spent.split()


@pytest.mark.parametrize("by", ["tool", "day", "assistant", "model", "user"])
def test_every_way_to_group_has_the_same_total(server, by):
    assert json.loads(ask(server, f"/api/stats?by={by}")[2])["total"]["calls"] == 6


@pytest.mark.parametrize(
    ("query", "words"),
    [
        ("by=colour", "Invalid enum value 'colour' - at `$.by`"),
        ("since=soon", "write it as 7d"),
        ("until=soon", "write it as 7d"),
        ("assistent=x", "There is no query parameter 'assistent'; there are by, since, until, assistant, model, tool, user."),
    ],
)
def test_what_makes_no_sense_is_answered_with_a_sentence(server, query, words):
    status, _, body = ask(server, f"/api/stats?{query}")
    assert status == 400
    assert words in json.loads(body)["error"]


def test_what_was_never_kept_is_nothing_and_makes_no_file(tmp_path):
    with Serving(tmp_path) as server:
        said = json.loads(ask(server, "/api/stats")[2])
    assert (said["rows"], said["total"]["calls"]) == ([], 0)
    assert not (tmp_path / "data").exists()


def test_no_assistant_can_have_the_path(tmp_path):
    taken = assistant("rivers", routes=lambda host: [Route("/stats", lambda request: None)])
    with pytest.raises(SettingsError, match="the server's own"):
        create_app([taken], host(tmp_path), hosts=["localhost"])


# for people

READY = "document.querySelectorAll('.plot svg').length === 3 && document.querySelector('#said').className === 'soft'"
CARDS = "[...document.querySelectorAll('#figures h2')].map(each => each.innerText)"
LABELS = "[...document.querySelectorAll('.plot svg')].map(each => each.getAttribute('aria-label'))"
ROWS = """(title => [...document.querySelector(`section[aria-label="${{title}}"] tbody`).rows]
    .map(row => [...row.cells].map(cell => cell.innerText)))({})"""


def visit(server, look, at="/stats", **how):
    async def visiting():
        async with Browser() as browser:
            page = await browser.open(f"{server.url}{at}", **how)
            await look(page)
            page.check()

    asyncio.run(visiting())


@needs_browser
def test_the_page_is_found_from_the_start_and_shows_the_figures(server):
    async def look(page):
        await page.click("#sidebar a[href='/stats']")
        await page.wait_for(READY)
        assert await page.text("#said") == "5 calls counted."
        assert await page.evaluate(CARDS) == ["Calls per day", "Tools", "How long calls take", "Problems", "Assistants", "Models"]
        tiles = await page.text(".tiles")
        for words in ("Calls\n5", "Failed\n2 (40 %)", "Denied\n1", "Runs\n2", "Requests\n7", "Cost\nat least $0.5000"):
            assert words in tiles
        rows = await page.evaluate(ROWS.format("'Assistants'"))
        assert [row[:3] for row in rows] == [["clerk", "4", "2 (50 %)"], ["helper", "1", "0"]]
        assert [row[:2] for row in await page.evaluate(ROWS.format("'Problems'"))] == [
            ["denied", "1"],
            ["raised", "1"],
            ["unknown_tool", "1"],
        ]

    visit(server, look, at="/")


@needs_browser
def test_every_plot_says_what_it_shows_and_has_its_table(server):
    async def look(page):
        await page.wait_for(READY)
        per_day, tools, times = await page.evaluate(LABELS)
        assert "5 in all; most on" in per_day
        assert tools.startswith("Calls by tool, most first: read_file: 2 fine, 1 failed;")
        assert "read_file: median 400 ms, 95th percentile 9 s" in times
        assert await page.evaluate("document.querySelectorAll('.plot svg:not([role=img])').length") == 0
        assert await page.evaluate("[...document.querySelectorAll('.plot')].every(each => each.parentNode.querySelector('table'))")
        await page.click("section[aria-label='Tools'] summary")
        rows = await page.evaluate(ROWS.format("'Tools'"))
        assert rows[0] == ["read_file", "3", "2", "1", "0", "0", "0", "400 ms", "9 s", "211", "raised 1"]
        assert [row[0] for row in rows[1:]] == ["<b>bold</b>", "pay"]
        assert len(await page.evaluate(ROWS.format("'Calls per day'"))) == 2
        assert await page.evaluate("document.querySelectorAll('.plot rect.failed').length") == 3
        assert await page.evaluate("document.querySelectorAll('.plot g').length") == 4 + 3 + 1
        assert "shared equally among the calls of one reply" in await page.text("#figures")

    visit(server, look)


@needs_browser
def test_what_is_picked_counts_and_is_kept_in_the_address(server):
    async def look(page):
        await page.wait_for(READY)
        await page.evaluate(
            "(since => { since.value = ''; since.dispatchEvent(new Event('change', {bubbles: true})); })"
            "(document.querySelector('#since'))"
        )
        await page.wait_for("document.querySelector('#said').innerText === '6 calls counted.'")
        await page.click("#tool")
        await page.write("read_*")
        await page.press("Enter")
        await page.wait_for("document.querySelector('#said').innerText === '3 calls counted.'")
        assert "Requests" not in await page.text(".tiles")
        address = await page.evaluate("location.pathname + location.search")
        assert address == "/stats?since=&assistant=&model=&user=&tool=read_*"
        await page.go(f"{server.url}{address.replace('assistant=', 'assistant=helper')}")
        await page.wait_for("document.querySelector('#said').innerText === '1 call counted.'")
        assert await page.evaluate("[...new FormData(document.querySelector('#picking'))].map(each => each[1])") == [
            "",
            "helper",
            "",
            "",
            "read_*",
        ]
        await page.go(f"{server.url}/stats?tool=nothing&since=odd")
        await page.wait_for("document.querySelector('#said').innerText === 'No tool was called.'")
        assert await page.evaluate("document.querySelector('#figures').hidden")
        assert await page.evaluate("document.querySelector('#since').value") == "30d"

    visit(server, look)


@needs_browser
def test_the_page_fits_a_telephone_and_is_light_or_dark(server, tmp_path):
    async def look(page):
        await page.wait_for(READY)
        colours = {}
        for scheme, width in ((scheme, width) for scheme in ("light", "dark") for width in (1280, 360)):
            await page.prefer(scheme)
            await page.resize(width)
            await page.wait_for(
                "[...document.querySelectorAll('.plot')].every(each => each.firstChild.clientWidth === each.clientWidth)"
            )
            assert await page.evaluate("document.documentElement.scrollWidth") == width
            colours[scheme] = await page.evaluate("getComputedStyle(document.querySelector('rect.failed')).fill")
        assert colours == {"light": "rgb(165, 40, 44)", "dark": "rgb(242, 154, 151)"}

    visit(server, look)


@needs_browser
def test_where_there_is_nothing_the_page_says_so(tmp_path):
    async def look(page):
        await page.wait_for("document.querySelector('#said').innerText === 'No tool was called.'")
        assert await page.evaluate("document.querySelector('#figures').hidden")
        assert await page.evaluate("[...document.querySelectorAll('.field[hidden]')].length") == 3

    with Serving(tmp_path) as server:
        visit(server, look)


@needs_browser
def test_where_the_figures_cannot_be_had_the_page_says_why(tmp_path):
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "treadle.db").write_bytes(b"this is no database" * 100)

    async def look(page):
        await page.wait_for("document.querySelector('#said').className === 'notice bad'")
        assert "Move it aside" in await page.text("#said")
        page.problems.clear()  # the browser tells of the answer with status 500

    with Serving(tmp_path) as server:
        visit(server, look)
