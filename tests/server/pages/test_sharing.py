"""Runs, projects and courses that are shared, in a real browser: the dialog of their owner, and what others see of them."""

import asyncio

from assistants.courses.course_setup import SAILING, add
from assistants.courses.course_setup import write as write_courses
from browser import needs_browser
from server.pages.axe import findings, needs_axe
from server.pages.shop import LAMPS, LOOK, clerk
from server.pages.test_runs import TITLES
from server.pages.test_settings import sign_in, write
from server.running import Serving, host
from treadle.assistants import courses, guidance
from treadle.assistants.guidance.command import make_sample_project
from treadle.assistants.guidance.projects import open_projects
from treadle.server.tenants import host_for_user
from treadle.stores.accounts import User
from treadle.stores.users import Users

pytestmark = [needs_browser, needs_axe]

BEGUN = """import('/static/treadle.js').then(({ask}) => ask('/api/runs', {assistant: 'shop', message: 'How many lamps?'}))
    .then(({run_id}) => run_id)"""
LINK = "document.querySelector('#share-link').value"
SAID = "document.querySelector('dialog.share [role=status]').innerText"


def test_an_owner_shares_a_run_another_user_finds_and_reads_it_until_that_is_revoked(serve, visit, tmp_path):
    users = Users(tmp_path / "users.db")
    anna, ben = users.add("anna"), users.add("ben")
    link: list[str] = []

    async def share(page):
        await sign_in(page, server.url, anna)
        run = await page.evaluate(BEGUN)
        await page.go(f"{server.url}/runs/{run}")
        await page.wait_for("document.querySelector('#share') && document.querySelectorAll('#steps [role=treeitem]').length > 1")
        await page.click("#share")
        await page.wait_for("document.activeElement.id === 'share-name'")
        assert await page.text("dialog.share > p.small:not([role])") != ""
        await page.write("nemo")
        await page.press("Enter")
        await page.wait_for(f"{SAID}.includes('no user')")
        await write(page, "#share-name", "ben")
        await page.press("Enter")
        await page.wait_for("document.querySelectorAll('#shares li').length === 1")
        assert "ben · user, read only" in await page.text("#shares")
        assert await findings(page) == []
        link.append(await page.evaluate(LINK))
        assert link == [f"{server.url}/shared/anna/{run}"]

    async def read(page):
        await sign_in(page, server.url, ben)
        await page.go(f"{server.url}/runs")
        await page.wait_for("!document.querySelector('#shared').closest('li').hidden")
        await page.becomes("document.querySelector('#said').innerText", "No runs yet.")
        await page.click("#shared")
        await page.wait_for(f"({TITLES}).join() === 'How many lamps?'")
        assert "shared by anna" in await page.text("#runs")
        assert await page.evaluate("document.querySelector('.tabs [aria-current]').id") == "shared"
        await write(page, "#search", "chairs")
        await page.wait_for("document.querySelector('#said').innerText === 'No matching runs.'")
        assert await page.evaluate("location.search") == "?search=chairs&shared=true"
        await write(page, ".side-search", "lamps")
        await page.wait_for("!!document.querySelector('[aria-label=\"Shared with me\"] a')")
        assert await findings(page) == []
        await page.click("[aria-label='Shared with me'] a")
        await page.wait_for("document.querySelectorAll('#steps [role=treeitem]').length > 1")
        assert await page.evaluate("location.href") == link[0]
        assert "read only, shared by anna" in await page.text("#about")
        shown = "[...document.querySelectorAll('#doings, #forking, #share')].filter(each => each.checkVisibility()).length"
        await page.click("#tab-journal")
        await page.wait_for("document.querySelectorAll('#entries li').length > 1")
        assert await page.evaluate(shown) == 0
        assert await findings(page) == []

    async def revoke(page):
        await sign_in(page, server.url, anna)
        await page.go(f"{server.url}/runs/{link[0].rpartition('/')[2]}")
        await page.wait_for("!!document.querySelector('#share')")
        await page.click("#share")
        await page.click("[aria-label='Revoke the access of ben']")
        await page.wait_for("document.querySelector('#shares').hidden && document.activeElement.id === 'share-title'")

    async def refused(page):
        await sign_in(page, server.url, ben)
        await page.go(link[0])
        await page.wait_for("document.querySelector('#said .bad')?.innerText.includes('shared with you')")

    with serve(clerk(LOOK, LAMPS), users=users) as server:
        visit(f"{server.url}/login", share, expected=("status of 422",))
        visit(f"{server.url}/login", read)
        visit(f"{server.url}/login", revoke)
        visit(f"{server.url}/login", refused, expected=("status of 404",))


def test_a_project_and_a_course_are_shared_on_their_panels(visit, tmp_path, monkeypatch):
    (tmp_path / "own.toml").write_text('[assistants.courses]\nembeddings = "none"\n')
    monkeypatch.setenv("TREADLE_CONFIG", str(tmp_path / "own.toml"))
    users = Users(tmp_path / "users.db")
    anna, ben = users.add("anna"), users.add("ben")
    lent = host(tmp_path)
    hers = host_for_user(lent, User("anna"))
    links: list[str] = []

    async def make():
        hers.home.folder.mkdir(parents=True)
        async with open_projects(hers) as store:
            await make_sample_project(store, "anna")

    asyncio.run(make())
    add(hers.home.folder, write_courses(tmp_path / "material", sailing=SAILING))

    async def give(page):
        """Share with ben in the dialog that is open, and close it."""
        await page.wait_for("document.activeElement.id === 'share-name'")
        await page.write("ben")
        await page.press("Enter")
        await page.wait_for("document.querySelectorAll('#shares li').length === 1")
        assert await findings(page) == []
        links.append(await page.evaluate(LINK))
        await page.click("dialog.share > .actions button")

    async def share(page):
        await sign_in(page, server.url, anna)
        await page.go(f"{server.url}/guidance/")
        await page.wait_for("!!document.querySelector('#share')")
        await page.click("#people > summary") if not await page.evaluate("document.querySelector('#people').open") else None
        await page.click("#share")
        await give(page)
        await page.wait_for("document.querySelector('#people .amount').innerText === '2 people'")
        await page.go(f"{server.url}/courses/")
        await page.wait_for("!!document.querySelector('#courses summary')")
        await page.click("#courses summary")
        await page.click("#courses .row button:nth-of-type(2)")
        await give(page)

    async def read(page):
        await sign_in(page, server.url, ben)
        await page.go(links[0])
        await page.wait_for("!document.querySelector('#read-only').hidden")
        assert await page.text("#read-only") == "anna shares this project with you to read."
        await page.go(links[1])
        await page.wait_for("document.querySelector('#scope')?.selectedOptions[0]?.text.includes('shared by anna')")
        await page.click("#courses summary")
        assert "shared by anna" in await page.text("#courses .within")
        await page.click("#courses .lesson summary")
        await page.click("#courses .lesson .row button")
        await page.wait_for("document.querySelector('#reader-text').innerText.includes('life jacket')")

    with Serving(tmp_path, [guidance.assistant, courses.assistant], lent=lent, users=users) as server:
        visit(f"{server.url}/login", share)
        visit(f"{server.url}/login", read)
