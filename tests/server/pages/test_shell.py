"""What all pages have in a real browser: the sidebar with one's own conversations, the palette, light and dark, and signing out."""

from browser import needs_browser
from server.pages.kept import asked
from server.pages.shop import clerk
from treadle.stores.users import Users

pytestmark = needs_browser

PAGES = {
    "/": "New conversation",
    "/approvals": "Approvals",
    "/runs": "Runs",
    "/jobs": "Jobs",
    "/audit": "Audit",
    "/stats": "Statistics",
    "/settings": "Settings",
}
READY = "document.querySelectorAll('#sidebar [aria-labelledby=side-assistants] a').length === 2"
RECENT = "[...document.querySelectorAll('.side-recent .side-words')].map(each => each.innerText)"
ROW = ".side-recent li:has([title={!r}])"
GROUND = "getComputedStyle(document.body).backgroundColor"
LIGHT, DARK = "rgb(250, 249, 246)", "rgb(20, 23, 26)"


def test_every_page_is_reached_from_every_other_and_says_which_it_is(standing, visit):
    async def look(page):
        for path, title in PAGES.items():
            await page.click(".tabs a[href='/jobs']" if path == "/jobs" else f"#sidebar a.side-item[href='{path}']")
            await page.wait_for(f"location.pathname === {path!r} && document.title === '{title} · Treadle' && {READY}")
            here = "[...document.querySelectorAll('[aria-current=page]')].map(each => each.pathname)"
            assert await page.evaluate(here) == ["/runs" if path == "/jobs" else path]
            assert await page.evaluate("document.querySelectorAll('h1').length") == 1
        listed = "[...document.querySelectorAll('[aria-labelledby=side-assistants] a')].map(each => each.innerText)"
        assert await page.evaluate(listed) == ["Shop", "Courses"]
        await page.click("[aria-labelledby=side-assistants] a")
        await page.wait_for("location.pathname === '/shop/'")

    visit(f"{standing.url}/", look)


def test_a_conversation_is_found_opened_renamed_pinned_and_deleted(serve, visit):
    async def menu(page, title, action):
        row = ROW.format(title)
        await page.wait_for(f"!!document.querySelector({row!r})")
        await page.hover(row)
        await page.click(f"{row} .side-more")
        await page.wait_for("document.activeElement.role === 'menuitem'")
        for _ in range(("Rename", "Pin", "Export", "Delete").index(action)):
            await page.press("ArrowDown")
        assert await page.evaluate("document.activeElement.innerText") == action
        await page.press("Enter")

    async def look(page):
        await page.becomes(RECENT, ["And chairs?", "How many lamps?"])
        await menu(page, "How many lamps?", "Rename")
        await page.wait_for("document.activeElement.id === 'new-name'")
        await page.write("Stock of lamps")
        await page.press("Enter")
        await page.becomes(RECENT, ["And chairs?", "Stock of lamps"])
        await menu(page, "Stock of lamps", "Pin")
        await page.becomes(RECENT, ["Stock of lamps", "And chairs?"])
        await page.click(".side-search")
        await page.write("chair")
        await page.becomes(RECENT, ["And chairs?"])
        await page.click(".side-recent a")
        await page.wait_for("document.querySelector('.turn .words')?.innerText === 'None.'")
        await page.becomes(RECENT, ["Stock of lamps", "And chairs?"])
        assert await page.evaluate("document.querySelector('.side-recent [aria-current=true]').innerText.trim()") == "And chairs?"
        await page.click(".side-recent a[title='Stock of lamps']")
        await page.wait_for("document.querySelector('.turn .words')?.innerText === 'Three.'")
        await page.evaluate("history.back()")
        await page.wait_for("document.querySelector('.turn .words')?.innerText === 'None.'")
        await menu(page, "And chairs?", "Delete")
        await page.click("dialog.modal button[value=yes]")
        await page.wait_for("location.pathname === '/shop/'")
        await page.go(f"{await page.evaluate('location.origin')}/runs")
        await page.becomes(RECENT, ["Stock of lamps"])

    with serve(clerk("Three.", "None.")) as server:
        for question in ("How many lamps?", "And chairs?"):
            asked(server.url, question)
        visit(f"{server.url}/runs", look)


def test_the_palette_leads_anywhere_by_keyboard_alone(standing, visit):
    selected = "document.querySelector('[role=option][aria-selected=true] .title')?.innerText"

    async def look(page):
        await page.wait_for(READY)
        for key, where in (("stat", "/stats"), ("how", "/")):
            await page.send("Input.dispatchKeyEvent", type="rawKeyDown", key="k", windowsVirtualKeyCode=75, modifiers=2)
            await page.wait_for("document.activeElement.role === 'combobox'")
            assert await page.evaluate("document.activeElement.getAttribute('aria-activedescendant')") == "palette-0"
            await page.write(key)
            await page.becomes(selected, {"stat": "Statistics", "how": "How many?"}[key])
            await page.press("Enter")
            await page.wait_for(f"location.pathname === {where!r} && {READY}")
        assert await page.evaluate("new URLSearchParams(location.search).get('run')") == standing.run
        await page.click("#side-find")
        await page.wait_for("document.activeElement.role === 'combobox'")
        await page.write("dark")
        await page.becomes(selected, "Use dark colours")
        await page.press("ArrowDown")
        await page.press("ArrowUp")
        await page.press("Enter")
        await page.becomes(GROUND, DARK)
        await page.click("#side-find")
        await page.wait_for("!!document.querySelector('dialog[open]')")
        await page.press("Escape")
        await page.wait_for("!document.querySelector('dialog')")

    visit(f"{standing.url}/runs", look)


def test_the_sidebar_is_collapsed_to_icons_and_stays_so(standing, visit):
    width = "Math.round(document.querySelector('#sidebar').getBoundingClientRect().width)"

    async def look(page):
        await page.becomes(width, 256)
        await page.click("#side-collapse")
        await page.becomes(width, 56)
        assert await page.evaluate("document.querySelector('#side-collapse').ariaExpanded") == "false"
        await page.go(f"{standing.url}/audit")
        await page.becomes(width, 56)
        assert await page.evaluate("document.querySelector('#sidebar a[href=\\'/runs\\']').innerText.trim()") == "Runs"
        await page.click("#side-collapse")
        await page.becomes(width, 256)

    visit(f"{standing.url}/runs", look)


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


def test_on_a_telephone_the_sidebar_is_a_sheet_and_nothing_is_cut_off(standing, visit):
    shown = "document.querySelector('#sidebar').checkVisibility({visibilityProperty: true})"

    async def look(page):
        for path in PAGES:
            await page.go(f"{standing.url}{path}")
            await page.wait_for(READY)
            assert not await page.evaluate(shown)
            assert await page.evaluate("document.documentElement.scrollWidth") == 390
        await page.click("#menu")
        assert await page.evaluate("[document.querySelector('#menu').ariaExpanded, document.querySelector('main').inert]") == [
            "true",
            True,
        ]
        await page.becomes(shown, True)
        assert await page.evaluate("document.documentElement.scrollWidth") == 390
        await page.press("Escape")
        await page.becomes(shown, False)
        assert await page.evaluate("[document.activeElement.id, document.querySelector('main').inert]") == ["menu", False]

    visit(f"{standing.url}/", look, width=390, height=740)


def test_where_there_are_users_one_sees_who_one_is_and_signs_out(serve, visit, tmp_path):
    users = Users(tmp_path / "users")
    token = users.add("ada", "admin")

    async def look(page):
        script = f"""fetch("/login", {{method: "POST", headers: {{"content-type": "application/json"}},
            body: JSON.stringify({{token: {token!r}}})}}).then(({{status}}) => status)"""
        assert await page.evaluate(script) == 204
        await page.go(f"{await page.evaluate('location.origin')}/runs")
        await page.wait_for("document.querySelector('#side-who')?.innerText === 'ada, admin'")
        await page.click(".side-person button")
        await page.wait_for("location.pathname === '/login'")

    with serve(clerk(), users=users) as server:
        visit(f"{server.url}/login", look, expected=("status of 401",))  # whatever was asked just then


def test_nobody_is_named_where_there_is_one_person(standing, visit):
    async def look(page):
        await page.wait_for(READY)
        assert await page.evaluate("document.querySelector('.side-person').hidden")

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
        await page.wait_for("document.querySelector('#side-who')?.innerText === 'ada'")  # the last request with this session
        (session,) = (await page.send("Network.getCookies"))["cookies"]
        users.end_session(session["value"])
        await page.click("#search")
        await page.write("lamps")
        await page.wait_for("location.pathname === '/login' && document.querySelector('#token') !== null")
        await sign_in(page)
        await page.wait_for("location.pathname + location.search === '/runs?search=lamps'")
        await page.wait_for("document.querySelector('#side-who')?.innerText === 'ada'")

    with serve(clerk(), users=users) as server:
        visit(f"{server.url}/runs", look, expected=("status of 401",))
