"""The panel in a real browser, over a real repository and a model whose replies are written in advance."""

import json
from pathlib import Path

import pytest

from assistants.coding.stage import MENDED, SHOP, TESTS, asks, git, mends, needs_git, on_branch, project, reports
from assistants.coding.table import PATIENCE, Gate, must_contain, named, served
from browser import needs_browser
from treadle.assistants.coding.agreed_checks import load_agreed_check

pytestmark = [needs_browser, needs_git]

MINUS = "\N{MINUS SIGN}"
BAD = "<img src=x onerror=window.taken=1>"
FITS = "document.documentElement.scrollWidth === document.documentElement.clientWidth"
FOCUS = "document.activeElement"
READY = "document.querySelector('#workspace') !== null && !document.querySelector('#amount .busy')"
OVER = "document.querySelector('.outcome') !== null"
TITLES = "[...document.querySelectorAll('.step .name')].map(each => each.firstChild.data)"
CARD = "[...document.querySelectorAll('.step')].find(each => each.innerText.includes('{}'))"
JOBS = "document.querySelectorAll('#list li').length === {}"
MANY = "".join(f"def price_{number}(count):\n    return count * {number}\n\n\n" for number in range(60)) + MENDED


@pytest.fixture
def shop(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The project, and nobody's settings."""
    (tmp_path / "home").mkdir()
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.setenv("TREADLE_CONFIG", str(tmp_path / "own.toml"))
    (tmp_path / "own.toml").touch()
    folder = project(tmp_path)
    must_contain(folder)
    return folder


@pytest.fixture
def visit(browser, shop, tmp_path):
    """Shows the panel to `look(page)`; nothing may go wrong meanwhile. `before(table)` is done first, and gives the address."""
    runner, started = browser

    async def run(look, url, ready, how):
        page = await started.open(url, **how)
        await page.wait_for(ready, PATIENCE)
        await look(page)
        page.check()
        await page.close()

    def visiting(look, *replies, before=None, ready=READY, **how):
        with served(tmp_path, *replies) as table:
            at = before(table) if before else ""
            runner.run(run(look, f"{table.url}/coding/{at}", ready, how))

    return visiting


def done(shop: Path, *, title: str = "Prices are off by one", **more):
    """A job that is over before anybody looks."""

    def before(table):
        job = table.begin(shop, what=title, **more)
        table.over(job)
        return f"?job={job}"

    return before


async def put(page, selector, value):
    """Write into a field, in place of what is there."""
    await page.click(selector)
    await page.evaluate(f"{FOCUS}.select()")
    await page.write(value)


async def begin(page, shop, what="Prices are off by one"):
    await put(page, "#workspace", str(shop))
    await put(page, "#what", what)
    await page.click("#go")


async def says(page, selector, words):
    await page.wait_for(f"document.querySelector({json.dumps(selector)})?.innerText.includes({json.dumps(words)})", PATIENCE)


async def tab(page, to):
    """Press Tab until the focus is where it is wanted."""
    for _ in range(40):
        if await page.evaluate(f"{FOCUS}.matches({json.dumps(to)})"):
            return
        await page.press("Tab")
    raise AssertionError(f"{to} can't be reached; the focus is at {await page.evaluate(f'{FOCUS}.outerHTML')}")


# beginning


def test_a_newcomer_is_told_how_to_name_a_folder_and_can_try_a_sample(visit):
    right = ("file", {"action": "replace", "path": "cart.py", "old": "prices[1:]", "new": "prices"})

    async def look(page):
        assert "workspaces = [" in await page.text("#notices")
        assert await page.text("#amount") == "No jobs yet"
        await page.click("#sample")
        await page.wait_for(f"{FOCUS}.id === 'go'")
        assert "the first price was left out" in await page.evaluate("document.querySelector('#what').value")
        assert (await page.evaluate("document.querySelector('#workspace').value")).endswith("/samples/cart")
        await page.press("Enter")
        await says(page, ".outcome", "Completed, and verified: 4 tests pass.")
        await says(page, "#list li", "Debug in cart")
        assert await page.evaluate("document.querySelector('#list .pick').getAttribute('aria-current')") == "true"
        await page.click("#new")
        assert await page.evaluate("document.querySelector('#job').hidden")
        assert "job=" not in await page.evaluate("location.href")

    visit(look, asks(("file", {"action": "read", "path": "cart.py"}), right), reports("Count every price"))


def test_what_is_missing_or_refused_is_said_where_one_writes(visit, shop):
    async def look(page):
        await page.click("#go")
        await says(page, "#begin-said", "Say in which folder.")
        await put(page, "#workspace", str(shop))
        await page.click("#kinds label:nth-of-type(2)")
        assert await page.text("#what-label") == "What should be built?"
        await page.click("#go")
        await says(page, "#begin-said", "Say in a few words what is wanted.")
        assert await page.evaluate(f"{FOCUS}.id") == "what"
        await put(page, "#workspace", "/nowhere")
        await put(page, "#what", "A bridge")
        await page.click("#go")
        await says(page, "#begin-said", "There is no folder '/nowhere'.")
        page.problems.clear()  # the browser says itself that the server didn't take it

    visit(look)


def test_a_check_is_proposed_for_a_folder_without_tests_and_verifies_the_job(visit, shop, tmp_path):
    (shop / "test_shop.py").unlink()
    grown = ("file", {"action": "replace", "path": "shop.py", "old": SHOP, "new": f"{SHOP}\n\nOPEN = True\n"})

    async def look(page):
        await put(page, "#workspace", str(shop))
        await page.click("#kinds label:nth-of-type(2)")
        await put(page, "#what", "Say that the shop is open.")
        await page.click("#checking summary")
        await page.wait_for("document.querySelector('#check').value === 'python3 -m compileall -q .'")
        await page.click("#go")
        await page.wait_for("document.querySelector('.outcome')?.innerText.includes('verified')", PATIENCE)
        assert load_agreed_check(tmp_path / "data", shop) == "python3 -m compileall -q ."

    visit(look, asks(("file", {"action": "read", "path": "shop.py"}), grown), reports("Say that it is open"))


def test_a_review_reports_and_has_no_changes_to_show(visit, shop):
    (shop / "shop.py").write_text(MENDED)
    finding = {"severity": "warning", "title": "No test", "explanation": "", "path": "shop.py", "quote": "return count * 3"}

    async def look(page):
        await put(page, "#workspace", str(shop))
        await page.click("#kinds label:nth-of-type(3)")
        assert await page.evaluate("document.querySelector('#branch').checkVisibility()")
        await page.click("#go")
        await says(page, ".outcome", "shop.py:2")
        assert not await page.evaluate("document.querySelector('#changes').checkVisibility()")

    visit(look, asks(("give_answer", {"summary": "It is right.", "verdict": "COMMENT", "findings": [finding]})))


# a job at work


def test_steps_and_changes_come_while_it_works_and_nothing_jumps(visit, shop):
    gates = [
        Gate(named(answer))
        for answer in (
            asks(
                ("file", {"action": "read", "path": "shop.py"}), ("file", {"action": "write", "path": "shop.py", "content": MANY})
            ),
            asks(
                ("file", {"action": "write", "path": "shop.py", "content": f"{MANY}\n\nLAST = 1\n"}),
                ("test", {}),
                text="And **now**.",
            ),
            asks(("bash", {"command": "echo hello > note.txt; exit 3"})),
            reports("Many prices"),
        )
    ]

    async def look(page):
        await begin(page, shop)
        await says(page, "#doing", "The model is thinking…")
        await says(page, "#changes-amount", "Nothing has been changed yet.")
        await page.wait_for("document.querySelectorAll('.step').length === 2", PATIENCE)
        assert await page.evaluate(TITLES) == ["Ran the tests before the first change", "What the model was told"]
        gates[0].open()
        await page.wait_for("document.querySelectorAll('.file').length === 1", PATIENCE)
        await says(page, "#changes-amount", f"1 file, +241 {MINUS}1")
        await page.evaluate("document.querySelector('.step').open = true")
        await page.evaluate("document.querySelector('#changes').scrollTop = 700")
        await page.evaluate(
            "window.line = document.querySelectorAll('.diff ins')[60]; window.top0 = line.getBoundingClientRect().top"
        )
        gates[1].open()
        await page.wait_for(f"{CARD.format('2 passed')} !== undefined", PATIENCE)
        await says(page, "#changes-amount", f"+244 {MINUS}1")
        assert await page.evaluate("line.isConnected && line.getBoundingClientRect().top === top0")
        assert await page.evaluate("document.querySelector('.step').open")
        await says(page, "#steps .words strong", "now")
        gates[2].open()
        await page.wait_for("document.querySelectorAll('.file').length === 2", PATIENCE)
        card = CARD.format("exit code 3, note.txt")
        await page.wait_for(f"{card}.dataset.state === 'failed'")
        gates[3].open()
        await says(page, ".outcome", "Completed, and verified: 2 tests pass.")
        await says(page, "#files", "note.txt")
        await page.wait_for("document.querySelector('#doing').innerText === ''")
        await page.evaluate(f"{card}.open = true")
        await page.click(".step[open] button.chip")
        assert await page.evaluate(f"{FOCUS}.matches('.file > summary')")

    visit(look, *gates)


def test_lines_are_marked_by_sign_and_number_and_not_by_colour_alone(visit, shop):
    async def look(page):
        lines = "[...document.querySelectorAll('.diff > *')].map(each => [each.tagName, each.dataset.n, each.innerText.trimEnd()])"
        await page.wait_for("document.querySelectorAll('.diff > *').length === 4")
        assert await page.evaluate(lines) == [
            ["SPAN", "", "@@ -1,2 +1,2 @@"],
            ["SPAN", "1", " def price(count):"],
            ["DEL", "2", "-    return count * 3 + 1"],
            ["INS", "2", "+    return count * 3"],
        ]
        assert await page.text(".file .counts") == f"+1 {MINUS}1"
        assert (await page.text(".file summary")).startswith("M")

    visit(look, mends(), reports(), before=done(shop), ready=OVER)


def test_a_job_is_stopped_from_the_page(visit, shop):
    async def look(page):
        await begin(page, shop)
        await says(page, "#doing", "The model is thinking…")
        await page.click("[data-does=cancel]")
        await says(page, ".outcome", "Cancelled.")
        await says(page, "#list", "cancelled")
        assert await page.evaluate("document.querySelector('[data-does=cancel]') === null")

    visit(look, Gate(reports()))


def test_a_push_is_approved_with_the_keyboard(visit, shop):
    async def look(page):
        await begin(page, shop)
        await page.wait_for("document.querySelector('.approval') !== null", PATIENCE)
        assert "This sends what it changed to another machine." in await page.text(".approval")
        assert await page.evaluate(f"{FOCUS} === document.querySelector('.approval')")
        assert await page.text("#report") == ""
        await tab(page, ".deny")
        await page.press("Enter")
        await says(page, ".outcome", "Completed, and verified")
        await page.wait_for(f"{CARD.format('git push')}.dataset.state === 'denied'")

    visit(look, mends(), asks(("git", {"action": "push"})), reports())


def test_a_job_under_way_is_there_after_a_reload_and_in_a_second_tab(browser, shop, tmp_path):
    runner, started = browser
    gates = [Gate(named(answer)) for answer in (mends(), reports())]

    async def look(url):
        page = await started.open(f"{url}/coding/")
        await page.wait_for(READY, PATIENCE)
        await begin(page, shop)
        await says(page, "#doing", "The model is thinking…")
        gates[0].open()
        await page.wait_for("document.querySelectorAll('.file').length === 1", PATIENCE)
        await page.go(await page.evaluate("location.href"))
        second = await started.open(await page.evaluate("location.href"))
        for each in (page, second):
            await each.wait_for("document.querySelectorAll('.file').length === 1", PATIENCE)
        gates[1].open()
        for each in (page, second):
            await says(each, ".outcome", "Completed, and verified")
            await says(each, "#changes-amount", f"1 file, +1 {MINUS}1")
            each.check()
            await each.close()

    with served(tmp_path, *gates) as table:
        runner.run(look(table.url))


def test_a_push_that_waits_is_there_after_the_server_was_started_again(browser, shop, tmp_path):
    runner, started = browser
    job = []

    async def asked(url):
        page = await started.open(f"{url}/coding/")
        await page.wait_for(READY, PATIENCE)
        await begin(page, shop)
        await page.wait_for("document.querySelector('.approval') !== null", PATIENCE)
        job.append(await page.evaluate("location.search"))
        await page.close()

    async def answered(url):
        page = await started.open(f"{url}/coding/{job[0]}")
        await page.wait_for("document.querySelector('.approval') !== null", PATIENCE)
        await page.click(".deny")
        await says(page, ".outcome", "Completed, and verified")
        await says(page, "#changes-amount", f"1 file, +1 {MINUS}1")
        page.check()
        await page.close()

    with served(tmp_path, mends(), asks(("git", {"action": "push"}))) as table:
        runner.run(asked(table.url))
    with served(tmp_path, reports()) as table:
        runner.run(answered(table.url))


# taking over, and taking back


def test_its_branch_is_merged_after_one_is_sure(visit, shop):
    async def look(page):
        await page.click("[data-does=merge]")
        await page.wait_for("document.querySelector('dialog')?.innerText.includes('into main? Nothing is pushed.')")
        await page.click("dialog button[value=yes]")
        await says(page, "#said", "into main, which is at")
        await page.wait_for("document.querySelector('[data-does=merge]') === null")
        assert git(shop, "branch", "--show-current") == "main"
        assert (shop / "shop.py").read_text() == MENDED

    visit(look, mends(), reports(), before=done(shop), ready=OVER)


def test_a_job_that_is_over_is_followed_up(visit, shop):
    naming = asks(("file", {"action": "write", "path": "name.py", "content": "NAME = 1\n"}))

    async def look(page):
        await page.click("[data-does=follow]")
        assert await page.evaluate(f"{FOCUS}.id") == "follow-what"
        await page.write("Give the shop a name")
        await page.click("#follow button")
        await says(page, "#job-title", "Give the shop a name")
        await says(page, ".outcome", "Name the shop")
        await page.wait_for(JOBS.format(2))
        assert await page.evaluate("document.querySelector('#follow').hidden")
        assert "name.py" in await page.text("#changes")

    visit(look, mends(), reports(), naming, reports("Name the shop"), before=done(shop), ready=OVER)


def test_what_it_changed_is_taken_back_after_one_is_sure(visit, shop):
    async def look(page):
        await page.wait_for("document.querySelector('.file') !== null")
        await page.click("[data-does=all]")
        await page.click("dialog .quiet")
        assert on_branch(shop) == MENDED
        await page.click("[data-does=all]")
        await page.click("dialog button[value=yes]")
        await says(page, "#said", "Put back: shop.py")
        await says(page, "#changes-amount", "All changes undone.")
        assert on_branch(shop) == SHOP
        assert await page.evaluate("document.querySelector('[data-does=all]') === null")

    visit(look, mends(), reports(), before=done(shop), ready=OVER)


def test_what_one_has_changed_since_is_asked_about_once_more(visit, shop):
    async def look(page):
        git(shop, "switch", "--quiet", git(shop, "branch", "--format=%(refname:short)", "--list", "treadle/*"))
        (shop / "shop.py").write_text("mine\n")
        for answer in (".quiet", "button[value=yes]"):
            await page.click("[data-does=last]")
            await page.click("dialog button[value=yes]")
            await page.wait_for("document.querySelector('dialog')?.innerText.includes('You have changed shop.py since the job')")
            assert (shop / "shop.py").read_text() == "mine\n"
            await page.click(f"dialog {answer}")
            await page.wait_for("document.querySelector('#said').innerText !== ''")
        await says(page, "#said", "Put back: shop.py")
        assert (shop / "shop.py").read_text() == SHOP
        assert len(page.problems) == 2
        page.problems.clear()  # the browser says itself that the server didn't take it

    visit(look, mends(), reports(), before=done(shop), ready=OVER)


# what must not happen


def test_what_looks_like_html_stays_text(visit, shop):
    (shop / "test_shop.py").write_text(TESTS)
    writes = ("file", {"action": "write", "path": f"{BAD.replace('/', '')}.txt", "content": f"{BAD}\n"})

    async def look(page):
        await page.wait_for("document.querySelectorAll('.file').length === 2", PATIENCE)
        await page.evaluate("document.querySelectorAll('details').forEach(each => each.open = true)")
        for place in ("#job-title", "#list", "#steps", "#files", ".outcome"):
            assert BAD in await page.text(place), place
        assert await page.evaluate("[window.taken === undefined, document.querySelectorAll('img').length]") == [True, 1]

    again = mends()
    calls = asks(*[(call.name, call.arguments) for call in again.calls], writes, ("bash", {"command": f"echo '{BAD}'"}), text=BAD)
    visit(look, calls, reports(BAD), before=done(shop, title=BAD), ready=OVER)


def test_a_job_that_isnt_there_is_said(visit):
    async def look(page):
        await says(page, "#said", "There is no job 'job-00000000' of yours.")
        assert len(page.problems) == 2
        page.problems.clear()

    visit(look, before=lambda table: "?job=job-00000000")


def test_a_telephone_shows_it_without_scrolling_sideways_and_with_tabs(visit, shop):
    long = "Donaudampfschifffahrtsgesellschaftskapitänsmützenhersteller" * 3

    async def look(page):
        assert await page.evaluate(FITS)
        assert not await page.evaluate("document.querySelector('#changes').checkVisibility()")
        await page.evaluate("document.querySelectorAll('.step').forEach(each => each.open = true)")
        assert await page.evaluate(FITS)
        await page.click("#tab-changes")
        await page.wait_for("document.querySelector('.file')?.checkVisibility()")
        assert not await page.evaluate("document.querySelector('#work').checkVisibility()")
        assert await page.text("#tab-changes") == "Changes (2)"
        assert await page.evaluate(FITS)
        await page.press("ArrowLeft")
        assert await page.evaluate("document.querySelector('#work').checkVisibility()")
        await page.click("#fold")
        assert await page.evaluate(FITS)
        await page.click("#list .pick")
        assert await page.evaluate("document.querySelector('#fold').getAttribute('aria-expanded')") == "false"
        await page.click("#new")
        assert await page.evaluate(FITS)

    calls = mends(f"{MENDED}{long} = 1\n")
    more = asks(
        ("file", {"action": "write", "path": f"{long[:100]}.txt", "content": long}),
        ("bash", {"command": f"echo {long}"}),
        text=long,
    )
    visit(look, calls, more, reports(long), before=done(shop, title=long), ready=OVER, width=360, height=740)


def test_a_session_is_in_the_mode_that_is_chosen_and_it_can_be_switched(visit, shop, monkeypatch):
    monkeypatch.chdir(shop)
    chosen = "document.querySelector('#mode')"
    switch = f"({chosen}.value = '{{}}', {chosen}.dispatchEvent(new Event('change')), true)"
    path = "'/api/coding/sessions/' + new URLSearchParams(location.search).get('run') + '/mode'"
    stored = f"fetch({path}).then(response => response.json()).then(({{ mode }}) => mode)"

    async def look(page):
        await page.evaluate(switch.format("plan"))
        assert "nothing is changed" in await page.evaluate("document.querySelector('#mode-help').textContent")
        await page.click("#chat textarea")
        await page.write("Do it.")
        await page.press("Enter")
        await page.wait_for("document.querySelector('#chat').innerText.includes('I see.')", PATIENCE)
        assert await page.evaluate(stored) == "plan"
        await page.evaluate(switch.format("accept-edits"))
        await page.wait_for("document.querySelector('#mode-help').textContent.startsWith('edits in this folder')", PATIENCE)
        assert await page.evaluate(stored) == "accept-edits"
        assert await page.evaluate("document.querySelector('#mode-said').textContent") == ""

    visit(look, "I see.", before=lambda table: "session.html", ready="!document.querySelector('#mode').disabled")


@pytest.mark.parametrize(("button", "remembered"), [("approve", "python3 -m compileall -q ."), ("deny", "")])
def test_a_session_asks_on_the_page_for_a_check_where_there_are_no_tests(visit, shop, monkeypatch, tmp_path, button, remembered):
    (shop / "test_shop.py").unlink()
    monkeypatch.chdir(shop)

    async def look(page):
        await page.click("#chat textarea")
        await page.write("Does it work?")
        await page.press("Enter")
        await page.wait_for("document.querySelector('.approval') !== null", PATIENCE)
        asked = await page.text(".approval")
        assert "There are no tests here." in asked
        assert "python3 -m compileall -q ." in asked
        assert "Always" not in asked
        await page.evaluate("location.reload()")
        await page.wait_for("document.querySelector('.approval button') !== null", PATIENCE)
        await page.click(f".approval button.{button}")
        await page.wait_for("document.querySelector('#chat').innerText.includes('I see.')", PATIENCE)
        assert load_agreed_check(tmp_path / "data", shop) == remembered

    replies = (asks(("run_tests", {})), "I see.")
    visit(look, *replies, before=lambda table: "session.html", ready="!document.querySelector('#mode').disabled")
