"""What all pages have in a real browser: the bar, light and dark, and signing out."""

import pytest

from browser import needs_browser
from server.pages.shop import clerk
from treadle.stores.users import Users

pytestmark = needs_browser

PAGES = {"/": "Workbench", "/runs": "Runs", "/approvals": "Approvals", "/jobs": "Jobs", "/audit": "Audit", "/stats": "Statistics"}
GROUND = "getComputedStyle(document.body).backgroundColor"
LIGHT, DARK = "rgb(250, 249, 246)", "rgb(20, 23, 26)"


def test_every_page_is_reached_from_every_other_and_says_which_it_is(standing, visit):
    async def look(page):
        for path, title in PAGES.items():
            await page.click(f"nav a[href='{path}']")
            await page.wait_for(
                f"location.pathname === {path!r} && document.title === '{title} · Treadle' && "
                "document.querySelector('#panels') && !document.querySelector('#panels').hidden"
            )
            assert await page.evaluate("[...document.querySelectorAll('[aria-current=page]')].map(each => each.pathname)") == [path]
            assert await page.evaluate("document.querySelectorAll('h1').length") == 1
        await page.click("#panels summary")
        assert await page.evaluate("[...document.querySelectorAll('#panels a')].map(each => each.innerText)") == ["Shop", "Courses"]
        await page.press("Escape")
        assert not await page.evaluate("document.querySelector('#panels').open")
        await page.click("#panels summary")
        await page.click("#panels a")
        await page.wait_for("location.pathname === '/shop/'")

    visit(f"{standing.url}/", look)


def test_light_or_dark_is_as_the_system_says_until_somebody_chooses_and_holds_for_panels_too(standing, visit):
    async def look(page):
        assert await page.evaluate(GROUND) == LIGHT
        assert await page.evaluate("document.querySelector('#theme').ariaLabel") == "Use dark colours"
        await page.click("#theme")
        assert await page.evaluate(GROUND) == DARK
        url = await page.evaluate("location.origin")
        for path in ("/audit", "/shop/", "/runs"):
            await page.go(f"{url}{path}")
            await page.wait_for(f"{GROUND} === {DARK!r}")
        await page.prefer("dark")
        await page.click("#theme")
        assert await page.evaluate(GROUND) == LIGHT
        await page.prefer("light")
        await page.wait_for("document.querySelector('#theme').ariaLabel === 'Use dark colours'")
        await page.prefer("dark")
        await page.click("#theme")
        assert await page.evaluate("[document.documentElement.dataset.theme, localStorage.length]") == [None, 0]
        await page.prefer("light")
        assert await page.evaluate(GROUND) == LIGHT

    visit(f"{standing.url}/runs", look)


@pytest.mark.parametrize("path", PAGES)
def test_on_a_telephone_the_pages_are_behind_a_button_and_nothing_is_cut_off(standing, visit, path):
    async def look(page):
        await page.wait_for("!!document.querySelector('#panels')")
        assert not await page.evaluate("document.querySelector('nav').checkVisibility()")
        await page.click("#menu")
        assert await page.evaluate("document.querySelector('#menu').ariaExpanded") == "true"
        assert await page.evaluate("document.querySelector('nav').checkVisibility()")
        assert await page.evaluate("document.documentElement.scrollWidth") == 360
        await page.press("Escape")
        assert not await page.evaluate("document.querySelector('nav').checkVisibility()")
        assert await page.evaluate("document.activeElement.id") == "menu"
        assert await page.evaluate("document.documentElement.scrollWidth") == 360

    visit(f"{standing.url}{path}", look, width=360, height=740)


def test_where_there_are_users_one_sees_who_one_is_and_signs_out(serve, visit, tmp_path):
    users = Users(tmp_path / "users")
    token = users.add("ada", "admin")

    async def look(page):
        script = f"""fetch("/login", {{method: "POST", headers: {{"content-type": "application/json"}},
            body: JSON.stringify({{token: {token!r}}})}}).then(({{status}}) => status)"""
        assert await page.evaluate(script) == 204
        await page.go(f"{await page.evaluate('location.origin')}/runs")
        await page.wait_for("document.querySelector('#who')?.innerText === 'ada, admin'")
        await page.click("#person button")
        await page.wait_for("location.pathname === '/login'")

    with serve(clerk(), users=users) as server:
        visit(f"{server.url}/login", look, expected=("status of 401",))  # whatever was asked just then


def test_nobody_is_named_where_there_is_one_person(standing, visit):
    async def look(page):
        await page.wait_for("!document.querySelector('#panels').hidden")
        assert await page.evaluate("document.querySelector('#person').hidden")

    visit(f"{standing.url}/", look)


def test_whoever_is_not_signed_in_any_more_signs_in_and_is_where_they_were(serve, visit, tmp_path):
    users = Users(tmp_path / "users")
    token = users.add("ada", "user")

    async def sign_in(page):
        await page.wait_for("document.querySelector('#enter')?.disabled === false")
        await page.write(token)
        await page.press("Enter")

    async def look(page):
        await page.wait_for("location.pathname === '/login'")
        await sign_in(page)
        await page.wait_for("location.pathname === '/runs' && document.querySelector('#said')?.className === 'soft small'")
        (session,) = (await page.send("Network.getCookies"))["cookies"]
        users.end_session(session["value"])
        await page.click("#search")
        await page.write("lamps")
        await page.wait_for("location.pathname === '/login' && document.querySelector('#token') !== null")
        await sign_in(page)
        await page.wait_for("location.pathname + location.search === '/runs?search=lamps'")
        await page.wait_for("document.querySelector('#who')?.innerText === 'ada'")

    with serve(clerk(), users=users) as server:
        visit(f"{server.url}/runs", look, expected=("status of 401",))
