"""The panel in a real browser, over the demo platform and a model whose replies are written in advance."""

import asyncio
import json
import re
from urllib.request import Request, urlopen

import pytest
from msgspec.structs import replace

from browser import needs_browser
from cli.running import script, start
from server.pages.cable import Cable
from server.pages.shop import Held
from server.running import Serving, host
from treadle.assistants.platform import assistant
from treadle.core.errors import ModelRefused, ReplyBroken
from treadle.core.requests import ReplyEnded, TextDelta, ThinkingDelta, Usage
from treadle.demo.platform import start_demo
from treadle.errors import SettingsError
from treadle.testing import Scripted, calls

pytestmark = needs_browser

SPEC = """\
apiVersion: score.dev/v1b1
metadata:
  name: gift-shop
containers:
  web:
    image: nginx:1.27
resources:
  db:
    type: postgres-mock
"""
WRITTEN = f"Here it is:\n\n```yaml\n{SPEC}```\n\nIt has a database."
BAD = "<img src=x onerror=window.taken=1>"
DONE = "document.querySelectorAll('.facts').length === {}"
ASKED = "document.querySelector('#chat .approval') !== null"
FITS = "document.documentElement.scrollWidth === document.documentElement.clientWidth"
CARDS = "[...document.querySelectorAll('.call')].map(card => [card.dataset.state, card.querySelector('.name').innerText])"
FOCUS = "document.activeElement"


@pytest.fixture
def demo():
    """A platform of its own for each, as most of them change it."""
    with start_demo() as running:
        yield running


@pytest.fixture
def visit(browser, demo, tmp_path, monkeypatch):
    """Shows the panel to `look(page)`, for alice and a model with these replies; nothing may go wrong meanwhile."""
    runner, started = browser
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("TREADLE_CONFIG", str(tmp_path / "own.toml"))
    monkeypatch.setenv("TREADLE_PLATFORM_SERVER", demo.url)
    monkeypatch.setenv("TREADLE_PLATFORM_TOKEN", demo.token("alice"))
    (tmp_path / "own.toml").touch()

    async def run(look, url, how):
        page = await started.open(url, **how)
        await page.wait_for("document.querySelector('#who').innerText && document.querySelectorAll('.chip').length === 3")
        await look(page)
        page.check()
        await page.close()

    def visiting(look, *replies, at="", chunk=40, **how):
        with Serving(tmp_path, [assistant], Scripted(*replies, chunk=chunk)) as server:
            runner.run(run(look, f"{server.url}/platform/{at}", how))

    return visiting


def application(demo, name):
    """What the platform itself says of an application; None where there is none."""
    there = Request(f"{demo.url}/api/applications", headers={"authorization": f"Bearer {demo.token('alice')}"})
    with urlopen(there) as answer:
        return json.load(answer).get(name)


async def ask(page, words, until):
    await page.click("#message")
    await page.write(words)
    await page.press("Enter")
    await page.wait_for(until)


async def edit(page, text):
    """Have something else stand in the editor, as if it had been typed."""
    await page.evaluate("document.querySelector('#text').focus(), document.querySelector('#text').select()")
    await page.write(text)


async def tab(page, to):
    """Press Tab until the focus is where it is wanted."""
    for _ in range(40):
        if await page.evaluate(f"{FOCUS}.matches({json.dumps(to)})"):
            return
        await page.press("Tab")
    raise AssertionError(f"{to} can't be reached; the focus is at {await page.evaluate(f'{FOCUS}.outerHTML')}")


async def saved(file):
    """What a file says, once the browser has it there as a whole."""
    async with asyncio.timeout(120):
        while not file.exists():  # noqa: ASYNC110 - it comes from another process
            await asyncio.sleep(0.02)
    return file.read_text()


async def verdict(page, words):
    await page.wait_for(f"document.querySelector('#verdict').innerText.includes({json.dumps(words)})")


# conversations


def test_a_question_streams_its_answer_and_shows_its_calls(visit):
    first = calls(("list_applications", {}), ("get_application", {"app_name": "nowhere"}), text="I'll *look*.")

    async def look(page):
        assert await page.text("#who") == "alice of shop, developer at " + await page.text("#who .soft")
        assert await page.text("#model") == "scripted"
        assert await page.text(".composer .context .value") == await page.text("#who .soft") + " as alice"
        await page.click(".composer .context")
        assert await page.text("#sign-in-dialog h2") == "Sign in"
        await page.press("Escape")
        await page.wait_for("!document.querySelector('#sign-in-dialog')")
        await page.click(".chip")
        await page.wait_for(DONE.format(1))
        assert await page.text(".said p") == "What applications do I have?"
        assert await page.evaluate("[...document.querySelectorAll('#chat .words')].map(words => words.innerHTML)") == [
            "<p>I'll <em>look</em>.</p>",
            "<p>You have <strong>three</strong>.</p>",
        ]
        assert await page.evaluate(CARDS) == [["done", "list_applications"], ["failed", "get_application"]]
        assert "There is no application 'nowhere'" in await page.text(".call:last-child .problem")
        assert "Answer: You have three." in await page.text("[aria-live=polite]")
        tops = "[...document.querySelectorAll('.call')].map(card => card.getBoundingClientRect().top)"
        assert len(set(await page.evaluate(tops))) == 1
        assert not await page.evaluate("document.querySelector('.call').open")
        await page.click(".call summary")
        inside = await page.text(".call .inside")
        assert "None." in inside
        assert "3 records" in inside
        names = "[...document.querySelectorAll('.call .records tbody tr')].map(row => row.cells[0].innerText)"
        assert "storefront" in await page.evaluate(names)
        assert await page.evaluate("document.querySelector('.call .as-text pre').textContent.includes('\"name\": \"storefront\"')")
        assert await page.evaluate("document.querySelector('.start').hidden")

    visit(look, first, "You have **three**.", chunk=5)


def test_a_conversation_goes_on_and_is_opened_again_after_another(visit):
    heard = []

    def listen(request):
        heard.append([message.text for message in request.history if message.role == "person"])
        return "Yes."

    async def look(page):
        assert await page.evaluate("document.querySelector('#anew').hidden")
        await ask(page, "One?", DONE.format(1))
        await ask(page, "Two?", DONE.format(2))
        await page.click("#anew")
        await page.wait_for("document.querySelectorAll('.turn').length === 0 && !document.querySelector('.start').hidden")
        await ask(page, "Three?", DONE.format(1))
        await page.click("#anew")
        await page.becomes("[...document.querySelectorAll('#earlier button')].map(each => each.innerText)", ["Three?", "One?"])
        await page.click("#earlier li:last-child button")
        await page.becomes("[...document.querySelectorAll('.said p')].map(each => each.innerText)", ["One?", "Two?"])
        await ask(page, "Four?", DONE.format(1))
        assert heard == [["One?"], ["One?", "Two?"], ["Three?"], ["One?", "Two?", "Four?"]]

    visit(look, listen, listen, listen, listen)


def test_an_answer_can_be_stopped_and_the_conversation_goes_on(visit):
    async def slow(pieces=1000):
        yield ThinkingDelta("Hm.")
        for number in range(pieces):
            yield TextDelta(f"word {number} ")
            await asyncio.sleep(0.02)
        yield ReplyEnded("done", Usage(), "scripted")

    async def look(page):
        await ask(page, "Tell me everything.", "document.querySelector('.words')?.innerText.includes('word 5')")
        assert re.fullmatch(r"Writing…( \d+ s)?", await page.text(".doing"))  # it says for how long, where the machine is slow
        assert await page.evaluate("[...document.querySelectorAll('.send, .stop')].map(each => each.hidden)") == [False, False]
        assert await page.evaluate("document.querySelector('.thinking').open") is False
        await page.press("Escape")
        await page.wait_for("document.querySelector('.doing').innerText === 'This answer was stopped.'")
        assert await page.evaluate("document.querySelector('.stop').hidden")
        await page.wait_for("fetch('/api/runs').then(said => said.json()).then(({runs: [run]}) => run.status === 'cancelled')")
        await ask(page, "Short, please.", DONE.format(2))
        assert "In short." in await page.text(".turn:last-child .words")

    visit(look, lambda request: slow(), "In short.")


def test_whoever_is_at_the_end_stays_there_and_nobody_else_is_moved(visit):
    many = "document.querySelectorAll('.words p').length >= {}"
    at_end = """document.querySelector('.turns').getBoundingClientRect().bottom
        <= document.querySelector('.composer').getBoundingClientRect().top + 2"""
    top = "document.querySelector('.log').scrollTop + document.scrollingElement.scrollTop"

    async def slow():
        for number in range(500):
            yield TextDelta(f"Paragraph {number}.\n\n" * 3)
            await asyncio.sleep(0.01)

    async def look(page):
        for width in (1280, 360):
            await page.resize(width, 700)
            await ask(page, "Long?", many.format(60))
            await page.wait_for(at_end)
            await page.evaluate("document.querySelector('.log').scrollTop = document.scrollingElement.scrollTop = 0")
            so_far = await page.evaluate("document.querySelectorAll('.words p').length")
            await page.wait_for(many.format(so_far + 30))
            assert await page.evaluate(top) == 0
            await page.click("#anew")
            await page.wait_for("document.querySelectorAll('.turn').length === 0")

    visit(look, lambda request: slow(), lambda request: slow())


def test_the_composer_grows_and_shift_enter_begins_a_line(visit):
    async def look(page):
        height = "document.querySelector('#message').offsetHeight"
        before = await page.evaluate(height)
        await page.click("#message")
        await page.write("One")
        shift = {"key": "Enter", "code": "Enter", "windowsVirtualKeyCode": 13, "modifiers": 8}
        await page.send("Input.dispatchKeyEvent", type="keyDown", text="\r", **shift)
        await page.write("two")
        assert await page.evaluate("document.querySelector('#message').value") == "One\ntwo"
        assert await page.evaluate(height) > before
        await page.press("Enter")
        await page.wait_for(DONE.format(1))
        assert await page.text(".said p") == "One\ntwo"
        assert await page.evaluate(height) == before
        await page.press("Enter")
        assert await page.evaluate("document.querySelectorAll('.turn').length") == 1

    visit(look, "Yes.")


def test_a_question_in_the_address_is_ready_to_be_asked(visit):
    async def look(page):
        assert await page.evaluate("document.querySelector('#message').value") == "Show me failed workflows."
        assert await page.evaluate("document.querySelectorAll('.turn').length") == 0
        await page.press("Enter")
        await page.wait_for(DONE.format(1))

    visit(look, "There are two.", at="?question=Show+me+failed+workflows.")


def test_a_model_that_fails_is_said_and_can_be_asked_again(visit):
    async def look(page):
        await ask(page, "Hello?", "document.querySelector('.notice.bad') !== null")
        assert await page.text(".notice.bad p") == "There is no such model."
        await page.click(".notice.bad button")
        await page.wait_for(DONE.format(1))
        assert await page.evaluate("document.querySelector('.notice.bad')") is None
        assert await page.evaluate("document.querySelectorAll('.turn').length") == 1
        assert "Hello." in await page.text(".answer")

    visit(look, ModelRefused("There is no such model."), "Hello.")


def test_a_reply_that_is_tried_again_is_shown_once(visit):
    broken = [TextDelta("Half an ans"), ReplyBroken("The reply stopped in the middle.")]

    async def look(page):
        await ask(page, "Hello?", DONE.format(1))
        assert (
            await page.evaluate("[...document.querySelectorAll('#chat .words')].map(words => words.innerText).join('|')")
            == "A whole answer."
        )

    visit(look, broken, "A whole answer.")


# runs that outlive the page


def test_a_page_that_is_loaded_again_and_another_tab_show_what_happens_meanwhile(visit, browser, demo):
    held = Held("One, ", "two.")
    shown = "[...document.querySelectorAll('#chat .said p, #chat .words')].map(each => each.innerText).filter(Boolean)"

    async def look(page):
        await ask(page, "A gift shop?", DONE.format(1))
        await ask(page, "Count.", "document.querySelectorAll('.turn').length === 2")
        held.free()
        await page.wait_for("document.querySelector('.turn:last-child .words')?.innerText === 'One,'")
        url = await page.evaluate("location.href")
        await page.go(url)
        tab = await browser[1].open(url)
        for each in (page, tab):
            await each.send("Page.bringToFront")  # nothing is drawn in one that nobody sees
            await each.wait_for("document.querySelector('.turn:last-child .words')?.innerText === 'One,'")
            await each.becomes("document.querySelector('.turn .foot button')?.innerText", "Show gift-shop")
            await each.becomes("document.querySelector('#spec-name').innerText", "gift-shop")
        held.free()
        for each in (page, tab):
            await each.send("Page.bringToFront")  # nothing is drawn in one that nobody sees
            await each.wait_for("document.querySelector('.turn:last-child .words')?.innerText === 'One, two.'")
            assert (await each.evaluate(shown))[-2:] == ["Count.", "One, two."]
            assert await each.evaluate("document.querySelectorAll('.turn').length") == 2
        await ask(page, "Delete demo-app.", ASKED)
        await tab.go(await tab.evaluate("location.href"))
        await tab.wait_for(ASKED)
        assert await tab.evaluate("document.querySelector('.send').disabled")
        await tab.click(".approve")
        await tab.wait_for("document.querySelector('.turn:last-child .part:last-child .words')?.innerText === 'It is gone.'")
        assert application(demo, "demo-app") is None
        tab.check()
        await tab.close()

    visit(look, WRITTEN, held, calls(("delete_application", {"app_name": "demo-app"})), "It is gone.")


def test_a_killed_server_takes_neither_an_answer_nor_a_question_with_it(browser, demo, tmp_path):
    runner, started = browser
    busy = tmp_path / "busy"
    busy.touch()
    program = tmp_path / "model.sh"
    program.write_text(f"cat > {tmp_path}/asked; while [ -e {busy} ]; do sleep 0.05; done")
    env = {"TREADLE_PLATFORM_SERVER": demo.url, "TREADLE_PLATFORM_TOKEN": demo.token("alice")}

    def serve(model):
        server = start(tmp_path, "serve", "--no-token", "--port", "0", "-m", model, **env)
        return server, int(server.stdout.readline().strip().rstrip("/").rpartition(":")[2])

    async def look(cable, servers):
        page = await started.open(f"{cable.url}/platform/")
        await page.wait_for("document.querySelectorAll('.chip').length === 3")
        await ask(page, "How are you?", "new URLSearchParams(location.search).get('run') !== null")
        await page.click("#new-spec")
        await edit(page, SPEC)
        await page.click("#deploy")
        await page.wait_for("document.querySelector('#outcome .approval') !== null")
        await saved(tmp_path / "asked")  # the model is at work
        servers[0].kill()
        await page.wait_for("document.querySelector('.doing').innerText === 'Connection lost; trying again…'")
        again, cable.port = await asyncio.to_thread(serve, script(tmp_path, "All is well."))
        servers.append(again)
        await page.wait_for("document.querySelector('.turn .words')?.innerText === 'All is well.'")
        assert await page.evaluate("document.querySelectorAll('.turn').length") == 1
        await page.go(await page.evaluate("location.href"))
        await page.wait_for("document.querySelector('#outcome .approval') !== null")
        assert "gift-shop would be a new application" in await page.text("#outcome .preview")
        assert (await page.evaluate("document.querySelector('#text').value")).strip() == SPEC.strip()
        await page.click("#outcome .approve")
        await page.wait_for("document.querySelector('#outcome .notice.good') !== null")
        assert application(demo, "gift-shop") is not None
        await page.go(await page.evaluate("location.href"))
        await page.wait_for("document.querySelector('#outcome .notice.good') !== null")
        assert await page.text(".turn .words") == "All is well."
        await page.close()

    first, port = serve(f"command:sh {program}")
    servers = [first]
    try:
        with Cable(port) as cable:
            runner.run(look(cable, servers))
    finally:
        busy.unlink()
        for server in servers:
            server.kill()
            server.communicate()


def test_a_run_that_is_not_there_begins_anew_quietly(visit):
    async def look(page):
        await page.becomes("location.search", "")
        assert await page.evaluate("document.querySelectorAll('.turn').length") == 0
        assert [problem for problem in page.problems if "404" not in problem] == []
        page.problems.clear()

    visit(look, at="?run=nothing")


# what a person is asked


def test_a_call_that_is_approved_is_carried_out_and_the_answer_goes_on(visit, demo):
    async def look(page):
        await ask(page, "Delete demo-app.", ASKED)
        assert await page.evaluate(f"{FOCUS} === document.querySelector('.approval')")
        title = await page.evaluate(f"document.getElementById({FOCUS}.getAttribute('aria-labelledby')).innerText")
        assert title == "Delete application: demo-app"
        asked = await page.text(".approval")
        for words in (
            "This can't be undone.",
            "demo-app would be deleted from",
            "- db (postgres-mock",
            "app_name\ndemo-app",
        ):
            assert words in asked.replace("\n\n", "\n")
        assert await page.evaluate("document.querySelector('#message').placeholder") == "Decide above to continue"
        assert await page.evaluate("document.querySelector('.send').disabled")
        assert await page.evaluate(CARDS) == [["waiting", "delete_application"]]
        assert application(demo, "demo-app") is not None
        await page.click(".approve")
        await page.wait_for(DONE.format(1))
        assert await page.evaluate(CARDS) == [["done", "delete_application"]]
        assert await page.text(".decided") == "You approved delete_application."
        assert await page.text(".part:last-child .words") == "It is gone."
        assert application(demo, "demo-app") is None
        assert await page.evaluate(f"{FOCUS}.id") == "message"

    visit(look, calls(("delete_application", {"app_name": "demo-app"}), text="You will be asked."), "It is gone.")


def test_a_call_that_is_denied_is_not_and_the_model_hears_why(visit, demo):
    heard = []

    def listen(request):
        heard.append(str(request.history[-1]))
        return "As you wish."

    async def look(page):
        await ask(page, "Delete demo-app.", ASKED)
        await tab(page, ".why input")
        await page.write("Bob needs it.")
        await page.press("Enter")
        await page.wait_for(DONE.format(1))
        assert await page.evaluate(CARDS) == [["denied", "delete_application"]]
        assert await page.text(".decided") == "You denied delete_application: Bob needs it."
        assert "As you wish." in await page.text(".answer")
        assert "Bob needs it." in heard[0]
        assert application(demo, "demo-app") is not None

    visit(look, calls(("delete_application", {"app_name": "demo-app"})), listen)


def test_two_calls_are_asked_about_one_after_the_other(visit, demo):
    both = calls(("delete_application", {"app_name": "demo-app"}), ("delete_application", {"app_name": "checkout"}))

    async def look(page):
        await ask(page, "Delete demo-app and checkout.", "document.querySelectorAll('.approval').length === 2")
        await page.click(".approval:first-of-type .approve")
        await page.wait_for("document.querySelectorAll('.approval').length === 1")
        await page.wait_for(f"{FOCUS} === document.querySelector('.approval')")
        await page.click(".approval .deny")
        await page.wait_for(DONE.format(1))
        assert await page.evaluate(CARDS) == [["done", "delete_application"], ["denied", "delete_application"]]
        assert (application(demo, "demo-app"), application(demo, "checkout") is None) == (None, False)

    visit(look, both, "One is gone.")


def test_a_decision_that_comes_too_late_is_said_in_the_question(visit):
    async def look(page):
        await ask(page, "Delete demo-app.", ASKED)
        await page.evaluate("""(fetched => window.fetch = (path, how) => {
            const body = path.includes('approvals') ? JSON.stringify({...JSON.parse(how.body), digest: 'another'}) : how.body;
            return fetched(path, {...how, body});
        })(window.fetch)""")
        await page.click(".approve")
        await page.wait_for("document.querySelector('.approval [role=alert]').innerText.includes('not those that were approved')")
        assert not await page.evaluate("document.querySelector('.approve').disabled")
        assert await page.text(".doing") == "Waiting for approval."
        assert [problem for problem in page.problems if "409" not in problem] == []
        page.problems.clear()

    visit(look, calls(("delete_application", {"app_name": "demo-app"})))


# the spec


def test_a_spec_in_an_answer_is_shown_with_what_was_found_in_it(visit):
    doubtful = WRITTEN.replace("postgres-mock", "postgress")

    async def look(page):
        assert await page.evaluate("document.querySelector('#spec').hidden")
        await ask(page, "A gift shop?", DONE.format(1))
        await page.wait_for("!document.querySelector('#spec').hidden")
        await page.becomes("document.querySelector('#spec-name').innerText", "gift-shop")
        await verdict(page, "1 error: it would be refused.")
        assert await page.evaluate("[...document.querySelectorAll('#numbers .error')].map(line => line.innerText)") == ["9"]
        assert await page.text(".finding code") == "resources.db.type"
        await page.click(".finding")
        chosen = "(text => text.value.slice(text.selectionStart, text.selectionEnd))(document.querySelector('#text'))"
        assert await page.evaluate(chosen) == "type: postgress"
        await page.click("#deploy")
        await page.wait_for("document.querySelector('#outcome .notice.bad') !== null")
        await page.becomes(f"{FOCUS}.id", "text")
        await edit(page, SPEC.replace("gift-shop", "gifts"))
        await verdict(page, "No problems found.")
        await page.becomes("document.querySelector('#spec-name').innerText", "gifts")
        await edit(page, "metadata: [")
        await page.wait_for("document.querySelectorAll('.finding.error').length > 0")
        await page.becomes("document.querySelector('#verdict').className", "small bad")

    visit(look, doubtful)


def test_what_somebody_changed_is_replaced_only_when_they_say_so(visit):
    another = WRITTEN.replace("gift-shop", "another")

    async def look(page):
        await ask(page, "A gift shop?", DONE.format(1))
        await edit(page, SPEC.replace("gift-shop", "mine"))
        await ask(page, "Another?", DONE.format(2))
        await page.becomes("document.querySelector('#spec-name').innerText", "mine")
        await page.click(".turn:last-child .foot button")
        await page.click("dialog .quiet")
        assert await page.text("#spec-name") == "mine"
        await page.click(".turn:last-child .foot button")
        await page.click("dialog button")
        await page.becomes("document.querySelector('#spec-name').innerText", "another")
        await page.becomes(f"{FOCUS}.id", "spec-name")
        await page.click("#spec-close")
        assert await page.evaluate("document.querySelector('#spec').hidden")

    visit(look, WRITTEN, another)


def test_deploying_shows_what_would_change_and_approving_does_it(visit, demo):
    changed = SPEC.replace("gift-shop", "storefront")

    async def look(page):
        await page.click("#new-spec")
        await edit(page, changed)
        await page.click("#deploy")
        await page.wait_for("document.querySelector('#outcome .approval') !== null")
        await page.wait_for(f"{FOCUS} === document.querySelector('.approval')")
        assert await page.evaluate("document.querySelector('#text').readOnly")
        come = await page.evaluate("[...document.querySelectorAll('.diff ins')].map(line => line.innerText.trimEnd())")
        gone = await page.evaluate("[...document.querySelectorAll('.diff del')].map(line => line.innerText.trimEnd())")
        assert "+    image: nginx:1.27" in come
        assert "-    image: registry.example/shop/storefront:4.2.1" in gone
        assert changed in await page.evaluate("document.querySelector('.arguments').textContent")
        await page.click("#copy")
        assert await page.evaluate("document.querySelector('.approval') !== null")
        await page.click(".approve")
        await page.wait_for("document.querySelector('#outcome .notice.good') !== null")
        assert "Deployed 'storefront'" in await page.text("#outcome")
        await page.wait_for("!document.querySelector('#text').readOnly")
        assert "nginx:1.27" in str(application(demo, "storefront"))
        await page.click("#outcome .notice button")
        await page.wait_for(DONE.format(1))
        assert await page.text(".said p") == "How is storefront doing?"

    visit(look, "It runs.")


def test_deploying_does_nothing_when_it_is_denied(visit, demo):
    async def look(page):
        await page.click("#new-spec")
        await edit(page, SPEC)
        await page.click("#deploy")
        await page.wait_for("document.querySelector('#outcome .approval') !== null")
        assert "gift-shop would be a new application" in await page.text(".preview")
        await page.click(".deny")
        await page.wait_for("document.querySelector('#outcome').innerText === 'Not deployed.'")
        assert application(demo, "gift-shop") is None
        await page.becomes(f"{FOCUS}.id", "deploy")

    visit(look)


def test_a_failed_workflow_is_retried_by_a_button_when_that_is_approved(visit, demo):
    async def look(page):
        await page.click("#failures")
        await page.wait_for("document.querySelector('.action li button') !== null")
        assert "7 · deploy-app of demo-app" in await page.text(".action li")
        await page.click(".action li button")
        await page.wait_for(ASKED)
        assert "Workflow 7 (deploy-app of demo-app)" in await page.text("#chat .approval")
        await page.click(".approve")
        await page.wait_for("document.querySelector('#chat .call')?.dataset.state === 'done'")

    visit(look)
    demo.settle()
    there = Request(f"{demo.url}/api/workflows/9", headers={"authorization": f"Bearer {demo.token('alice')}"})
    with urlopen(there) as answer:
        assert json.load(answer)["parent_execution_id"] == 7


def test_a_spec_is_deployed_by_a_golden_path_when_that_is_approved(visit, demo):
    async def look(page):
        await page.click("#new-spec")
        await edit(page, SPEC)
        await page.click("#along")
        await page.wait_for("document.querySelector('.action .path input') !== null")
        await page.click(".action .path input[name=branch]")
        await page.write("feature-x")
        await page.press("Enter")
        await page.wait_for(ASKED)
        assert "The golden path ephemeral-env would run" in await page.text("#chat .approval")
        await page.click(".approve")
        await page.wait_for("document.querySelector('#chat .call')?.dataset.state === 'done'")

    visit(look)
    assert application(demo, "gift-shop") is not None


def test_a_spec_is_written_from_a_description_copied_and_saved(visit, tmp_path):
    async def look(page):
        await page.send("Browser.setDownloadBehavior", behavior="allow", downloadPath=str(tmp_path))
        await page.send("Browser.grantPermissions", permissions=["clipboardReadWrite", "clipboardSanitizedWrite"])
        await page.click("#new-spec")
        assert await page.evaluate(f"{FOCUS}.id") == "description"
        assert await page.evaluate("document.querySelector('#deploy').disabled")
        await page.press("Enter")
        assert await page.text("#generate-said") == "Say in a sentence what it should run."
        await page.write("A gift shop")
        await page.press("Enter")
        await verdict(page, "No problems found.")
        assert (await page.evaluate("document.querySelector('#text').value")).strip() == SPEC.strip()
        assert await page.text("#explained") == "Here it is:\n\nIt has a database."
        assert await page.evaluate("document.querySelector('#generate').hidden")
        await page.click("#copy")
        await page.wait_for("document.querySelector('#spec-said').innerText === 'Copied.'")
        await page.click("#download")
        await page.wait_for("document.querySelector('#spec-said').innerText === 'Saved as gift-shop.yaml.'")
        assert (await saved(tmp_path / "gift-shop.yaml")).strip() == SPEC.strip()
        await page.click("#describe")
        await page.write("Another")
        await page.press("Enter")
        await page.wait_for("document.querySelector('#generate-said').className.includes('bad')")
        assert "has no reply left" in await page.text("#generate-said")
        assert [problem for problem in page.problems if "502" not in problem] == []
        page.problems.clear()

    visit(look, WRITTEN)


# what goes wrong, and what must not


def test_what_looks_like_html_stays_text(visit):
    spec = SPEC.replace("nginx:1.27", f"'{BAD}'")
    first = calls(
        ("get_application", {"app_name": BAD}), ("list_workflows", {"app_name": "demo-app", "status": "failed"}), text=BAD
    )
    last = calls(("deploy_application", {"spec_content": spec}), text=f"```{BAD}\n{BAD}\n```\n\n| {BAD} |\n|-|\n| {BAD} |")

    async def look(page):
        assert await page.evaluate("document.querySelector('#message').value") == BAD
        await page.press("Enter")
        await page.wait_for(ASKED)
        assert await page.text(".said p") == BAD
        await page.evaluate("document.querySelectorAll('details').forEach(each => each.open = true)")
        for place in (
            ".words p",
            ".call .brief",
            ".call .problem",
            ".call .arguments",
            ".words pre",
            ".words table",
            ".approval .preview pre",
        ):
            assert BAD in await page.evaluate(f"document.querySelector('{place}').textContent"), place
        await page.click("#new-spec")
        await edit(page, f"{BAD}: {BAD}\n")
        await page.wait_for("document.querySelectorAll('.finding').length > 0")
        assert BAD in await page.text("#findings")
        assert await page.evaluate("document.querySelectorAll('img').length") == 1
        assert await page.evaluate("window.taken") is None

    visit(look, first, last, at=f"?question={BAD.replace('=', '%3D')}")


def test_everything_can_be_done_with_keys_alone(visit, demo):
    async def look(page):
        assert await page.evaluate(f"{FOCUS}.id") == "message"
        await page.write("Write a gift shop, and delete demo-app.")
        await page.press("Enter")
        await page.wait_for(ASKED)
        await tab(page, ".approve")
        await page.press(" ")
        await page.wait_for(DONE.format(1))
        assert application(demo, "demo-app") is None
        await tab(page, ".foot button")
        await page.press("Enter")
        await page.wait_for(f"{FOCUS}.id === 'spec-name'")
        await tab(page, "#deploy")
        await page.press("Enter")
        await page.wait_for(f"{FOCUS}.matches('.approval')")
        await tab(page, ".approve")
        await page.press("Enter")
        await page.wait_for("document.querySelector('#outcome .notice.good') !== null")
        assert application(demo, "gift-shop") is not None

    visit(look, calls(("delete_application", {"app_name": "demo-app"})), WRITTEN)


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_it_fits_a_telephone_and_every_text_can_be_read(visit, scheme):
    weakest = """(() => {
        const canvas = new OffscreenCanvas(1, 1).getContext("2d", { willReadFrequently: true });
        const over = (below, colour) => {
            canvas.fillStyle = below;
            canvas.fillRect(0, 0, 1, 1);
            canvas.fillStyle = colour;
            canvas.fillRect(0, 0, 1, 1);
            return `rgb(${[...canvas.getImageData(0, 0, 1, 1).data].slice(0, 3).join(" ")})`;
        };
        const light = colour => colour.match(/\\d+/g).map(each => each / 255)
            .map(each => each <= 0.03928 ? each / 12.92 : ((each + 0.055) / 1.055) ** 2.4)
            .reduce((sum, each, index) => sum + each * [0.2126, 0.7152, 0.0722][index], 0);
        const ground = found => found ? over(ground(found.parentElement), getComputedStyle(found).backgroundColor) : "white";
        const contrast = (one, other) => {
            const [low, high] = [light(one), light(other)].sort((a, b) => a - b);
            return (high + 0.05) / (low + 0.05);
        };
        return [...document.querySelectorAll("body *")].filter(each => each.checkVisibility() && !each.disabled
            && [...each.childNodes].some(node => node.nodeType === 3 && node.data.trim()))
            .map(each => [contrast(over(ground(each), getComputedStyle(each).color), ground(each)), each.outerHTML.slice(0, 80)])
            .filter(([ratio]) => ratio < 4.5);
    })()"""
    wide = f"| {'a | ' * 12}\n|{'---|' * 12}\n| {'word | ' * 12}\n\n`{'x' * 90}` https://docs.example/{'y' * 90}\n\n- one\n  > two"
    doubtful = WRITTEN.replace("postgres-mock", "postgress").replace("containers:", "extra: 1\ncontainers:")

    async def good(page):
        assert await page.evaluate(FITS)
        assert await page.evaluate(weakest) == []

    async def look(page):
        await good(page)
        await ask(page, "x" * 100, DONE.format(1))
        await page.evaluate("document.querySelectorAll('details').forEach(each => each.open = true)")
        await good(page)
        await ask(page, "A gift shop?", DONE.format(2))
        await page.wait_for("document.querySelectorAll('.finding').length === 2")
        await good(page)
        await edit(page, SPEC.replace("gift-shop", "storefront"))
        await verdict(page, "No problems")
        await page.click("#deploy")
        await page.wait_for("document.querySelector('#outcome .approval') !== null")
        await good(page)
        await page.click(".deny")
        await page.wait_for("document.querySelector('#outcome .notice') !== null")
        await ask(page, "Delete it.", ASKED)
        await good(page)

    first = calls(("list_applications", {}), ("get_application", {"app_name": "nowhere" * 12}), text="Looking.")
    delete = calls(("delete_application", {"app_name": "storefront"}))
    visit(look, first, wide, wide, doubtful, delete, width=360, height=740, scheme=scheme)  # asked for again


def test_nobody_signed_in_and_no_model_are_said_with_what_to_do(browser, demo, tmp_path, monkeypatch):
    runner, started = browser
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("TREADLE_PLATFORM_SERVER", demo.url)
    for name in ("TREADLE_PLATFORM_TOKEN", "IDP_API_KEY"):
        monkeypatch.delenv(name, raising=False)

    async def no_model():
        raise SettingsError("No model is set up. Start Ollama.")

    async def run(url):
        page = await started.open(url)
        await page.wait_for("document.querySelector('#notices .notice') !== null")
        said = await page.text("#notices")
        for words in (f"You aren't signed in at {demo.url}", "TREADLE_PLATFORM_TOKEN", "treadle platform demo"):
            assert words in said
        assert "No model is set up. Start Ollama." in said
        assert (await page.text("#who"), await page.text("#model")) == (demo.url, "no model")
        await ask(page, "Hello?", "document.querySelector('.turn .notice.bad') !== null")
        assert "No model is set up. Start Ollama." in await page.text(".turn .notice.bad")
        assert [problem for problem in page.problems if "status of 50" not in problem] == []
        await page.close()

    with Serving(tmp_path, [assistant], lent=replace(host(tmp_path), model=no_model)) as server:
        runner.run(run(f"{server.url}/platform/"))


def test_a_person_signs_in_on_the_page_and_out_again(browser, demo, tmp_path, monkeypatch):
    runner, started = browser
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("TREADLE_PLATFORM_SERVER", demo.url)
    for name in ("TREADLE_PLATFORM_TOKEN", "IDP_API_KEY"):
        monkeypatch.delenv(name, raising=False)
    is_bob = "document.querySelector('#who').innerText.startsWith('bob')"

    async def run(url):
        page = await started.open(url)
        await page.wait_for("!document.querySelector('#sign-in').hidden")
        await page.click("#sign-in")
        await page.click("#sign-in-dialog input[autocomplete=off]")
        await page.write("wrong")
        await page.press("Enter")
        await page.wait_for("document.querySelector('#sign-in-dialog .bad').innerText.includes('accept')")
        await page.evaluate("document.querySelector('#sign-in-dialog input[autocomplete=off]').select()")
        await page.write(demo.token("bob"))
        await page.press("Enter")
        await page.wait_for(f"{is_bob} && !document.querySelector('#sign-out').hidden && document.querySelector('#sign-in').hidden")
        await ask(page, "Who am I?", DONE.format(1))
        await page.click("#sign-out")
        await page.wait_for(
            f"!({is_bob}) && !document.querySelector('#sign-in').hidden && document.querySelector('.notice') !== null"
        )
        assert [problem for problem in page.problems if "status of 401" not in problem] == []
        await page.close()

    with Serving(tmp_path, [assistant], Scripted(calls(("get_current_user", {})), "You are Bob.")) as server:
        runner.run(run(f"{server.url}/platform/"))


def test_a_server_that_is_gone_is_said_and_asked_again(visit):
    async def cut_off(page, *, off):
        speed = 0 if off else -1
        limits = {"latency": 0, "downloadThroughput": speed, "uploadThroughput": speed}
        await page.send("Network.emulateNetworkConditions", offline=off, **limits)

    async def look(page):
        await cut_off(page, off=True)
        await ask(page, "Hello?", "document.querySelector('.notice.bad') !== null")
        assert "The server isn't responding. Is it still running?" in await page.text(".notice.bad")
        await page.click("#new-spec")
        await edit(page, SPEC)
        await verdict(page, "The server isn't responding.")
        await cut_off(page, off=False)
        await page.click(".notice.bad button")
        await page.wait_for(DONE.format(1))
        assert {problem for problem in page.problems if "ERR_INTERNET_DISCONNECTED" not in problem} == set()
        page.problems.clear()

    visit(look, "Hello.")
