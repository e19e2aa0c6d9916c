"""The pages of jobs in a real browser."""

import time

from browser import needs_browser
from server.pages.kept import job
from server.pages.shop import BAD, clerk
from treadle.jobs.store import Jobs

pytestmark = needs_browser

TITLES = "[...document.querySelectorAll('#jobs .title')].map(each => each.innerText)"
READY = "document.querySelector('#said').className === 'soft small'"


def test_jobs_are_listed_and_one_is_cancelled(serve, visit, tmp_path):
    job(tmp_path, "Count the lamps", state="completed", created_at=time.time() - 500)
    waiting = job(tmp_path, f"Order {BAD}", state="waiting", why="It waits for an approval.")

    async def look(page):
        await page.wait_for(f"({TITLES}).length === 2")
        assert await page.evaluate(TITLES) == [f"Order {BAD}", "Count the lamps"]
        assert "It waits for an approval." in await page.text("#jobs")
        words = await page.evaluate("[...document.querySelectorAll('#jobs button')].map(each => each.firstChild.textContent)")
        assert words == ["Stop", "Resume", "Delete"]
        await page.click("#jobs button")
        await page.click("dialog button[value=yes]")
        await page.wait_for("document.querySelector('#jobs .mark').innerText === 'cancelled'")
        assert await page.evaluate("window.taken") is None

    with serve(clerk()) as server:
        visit(f"{server.url}/jobs", look)
    assert Jobs(tmp_path / "data").get(waiting.id).state == "cancelled"


def test_where_there_are_none_that_is_said(serve, visit):
    async def look(page):
        await page.wait_for(READY)
        assert await page.text("#said") == "There are no jobs."

    with serve(clerk()) as server:
        visit(f"{server.url}/jobs", look)


def test_a_job_shows_what_came_of_it_and_leads_to_its_run(serve, visit, tmp_path):
    output = {"summary": f"It **works**.\n\n- one\n- {BAD}", "files": ["a.py", "b.py"], "verified": True}
    made = job(tmp_path, "Count", state="failed", why="It broke.", output=output, given={"what": "lamps"}, facts={"branch": "b1"})

    async def look(page):
        await page.wait_for("!!document.querySelector('#parts section')")
        assert await page.text("#title") == "Count"
        assert "It broke." in await page.text("#said")
        assert await page.text("#parts strong") == "works"
        shown = await page.text("#parts")
        assert [words in shown for words in ("Files\na.py, b.py", "Verified\ntrue", BAD)] == [True] * 3
        assert await page.evaluate("document.querySelector('#doings a').getAttribute('href')") == f"/runs/{made.id}"
        assert await page.evaluate("window.taken") is None

    with serve(clerk()) as server:
        visit(f"{server.url}/jobs/{made.id}", look)


def test_a_job_that_nothing_can_go_on_with_is_said(serve, visit, tmp_path):
    made = job(tmp_path, "Count", state="failed")

    async def look(page):
        await page.wait_for("document.querySelectorAll('#doings button').length === 2")
        await page.click("#doings button")
        await page.wait_for("document.querySelector('#said').innerText.includes('no assistant here that could go on')")

    with serve(clerk()) as server:
        visit(f"{server.url}/jobs/{made.id}", look, expected=("status of 409",))


def test_a_job_that_is_not_there_is_said(serve, visit):
    async def look(page):
        await page.wait_for("document.querySelector('#said').innerText.includes('There is no job')")

    with serve(clerk()) as server:
        visit(f"{server.url}/jobs/job-nothing", look, expected=("status of 404",))
