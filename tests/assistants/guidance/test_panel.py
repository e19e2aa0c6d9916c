"""The panel in a real browser, over a real store and a model whose replies are written in advance."""

import asyncio
import json
import socket
from contextlib import ExitStack

import pytest
from msgspec.structs import replace

from browser import needs_browser
from cli.running import asks, script, start
from server.pages.cable import Cable
from server.pages.shop import Held
from server.running import Serving
from treadle.assistants.guidance import assistant
from treadle.assistants.guidance.command import make_sample_project
from treadle.assistants.guidance.store import Constraint, ProblemSpec, Provenance, Run, WorldEntry, WorldModel, open_store
from treadle.errors import ModelError
from treadle.testing import Scripted, calls

pytestmark = needs_browser

BAD = "<img src=x onerror=window.taken=1>"
DONE = "document.querySelectorAll('.facts').length === {}"
ASKED = "document.querySelector('#chat .approval') !== null"
CARDS = "[...document.querySelectorAll('.call')].map(card => [card.dataset.state, card.querySelector('.name').innerText])"
CHIPS = "[...document.querySelectorAll('.turn:last-child .chip')].map(chip => chip.innerText)"
CONSTRAINTS = """Object.fromEntries([...document.querySelectorAll('#spec .constraint')].map(row =>
    [row.querySelector('.name').innerText, Number(row.querySelector('.weight').childNodes[1].data)]))"""
FITS = "document.documentElement.scrollWidth === document.documentElement.clientWidth"
FOCUS = "document.activeElement"
NOISE = {"constraints": [{"name": "Noise", "description": "Quiet after 22:00", "weight": 40}]}
SAID = "[...document.querySelectorAll('.said p')].map(each => each.innerText)"
WORDS = "[...document.querySelectorAll('.words')].map(each => each.innerText)"
READY = "!document.querySelector('#state').hidden && document.querySelectorAll('.start .chip').length === 3"


@pytest.fixture
def kept(tmp_path):
    """Does something with the store of the panel: `kept(lambda store: …)`."""

    async def doing(job):
        async with await open_store(str(tmp_path / "projects.db")) as store:
            return await job(store)

    return lambda job: asyncio.run(doing(job))


@pytest.fixture
def visit(browser, kept, tmp_path, monkeypatch):
    """Shows the panel, with the sample project in it, to `look(page)`; nothing may go wrong meanwhile.

    Where `look` takes several pages, each is one of its own on the same server.
    """
    runner, started = browser
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("TREADLE_CONFIG", str(tmp_path / "own.toml"))
    monkeypatch.setenv("TREADLE_GUIDANCE_DATABASE", str(tmp_path / "projects.db"))
    (tmp_path / "own.toml").touch()

    async def run(look, url, pages, ready, how):
        opened = [await started.open(url, **how) for _ in range(pages)]
        for page in opened:
            await page.wait_for(ready)
        await look(*opened)
        for page in opened:
            page.check()
            await page.close()

    def visiting(look, *replies, at="", pages=1, sample=True, ready=READY, chunk=40, **how):
        if sample:
            kept(lambda store: make_sample_project(store, "local"))
        with Serving(tmp_path, [assistant], Scripted(*replies, chunk=chunk)) as server:
            runner.run(run(look, f"{server.url}/guidance/{at}", pages, ready, how))

    return visiting


async def ask(page, words, until):
    await page.click("#message")
    await page.write(words)
    await page.press("Enter")
    await page.wait_for(until)


async def again(page, until):
    """Load the page once more."""
    await page.go(await page.evaluate("location.href"))
    await page.wait_for(until)


async def come_to(page):
    """Have a tab in front of the others: those behind are slow."""
    await page.send("Page.bringToFront")
    return page


async def tab(page, to):
    """Press Tab until the focus is where it is wanted."""
    for _ in range(60):
        if await page.evaluate(f"{FOCUS}.matches({json.dumps(to)})"):
            return
        await page.press("Tab")
    raise AssertionError(f"{to} can't be reached; the focus is at {await page.evaluate(f'{FOCUS}.outerHTML')}")


async def says(page, selector, words):
    await page.wait_for(f"document.querySelector({json.dumps(selector)})?.textContent.includes({json.dumps(words)})")


async def put(page, selector, value):
    """Have something else stand in a field, as if a person had put it there."""
    await page.evaluate(f"""(field => {{
        field.value = {json.dumps(value)};
        field.dispatchEvent(new Event('input', {{bubbles: true}}));
    }})(document.querySelector({json.dumps(selector)}))""")


def constraint(number):
    return f"#spec .editing ul[aria-label=Constraints] > li:nth-child({number})"


async def spec_of(store):
    (project,) = await store.list_projects("local")
    return await store.get_problem_spec("local", project.id)


async def messages_of(store):
    (project,) = await store.list_projects("local")
    (session,) = await store.list_chat_sessions("local", project.id)
    return await store.list_messages("local", session.id)


# the project's state


def test_the_state_of_a_project_is_shown(visit, kept):
    async def run(store):
        project = await make_sample_project(store, "local")
        done = await store.create_run("local", Run(project.id))
        await store.update_run("local", done.id, "running")
        await store.update_run("local", done.id, "completed")

    kept(run)

    async def look(page):
        assert await page.text("#title") == "Buses on time"
        assert "eleven bus lines" in await page.text("#description")
        steps = "[...document.querySelectorAll('#steps li')].map(step => [step.className, step.querySelector('.head').innerText])"
        assert await page.evaluate(steps) == [
            ["done", "Describe the problem"],
            ["done", "Model the world"],
            ["done", "Run the search"],
            ["next", "Look at the candidates"],
        ]
        assert await page.evaluate(CONSTRAINTS) == {"Budget": 90, "Fares": 100, "Drivers' hours": 100, "Depot": 60}
        widths = "[...document.querySelectorAll('.bar-of')].map(bar => bar.firstElementChild.offsetWidth / bar.offsetWidth)"
        assert await page.evaluate(widths) == pytest.approx([0.9, 1, 1, 0.6], abs=0.01)
        assert "Passengers know when the next bus comes" in await page.text("#spec .goals")
        assert "31,000 a day" in await page.text("#world [data-part=actors]")
        assert "Completed" in await page.text("#runs")
        assert "Problem spec, version 1" in await page.text("#changes")
        assert "Buses on time" in await page.evaluate("document.title")
        await page.resize(390, 844)
        await again(page, READY)
        assert await page.evaluate("document.querySelector('.composer').getBoundingClientRect().bottom <= innerHeight")

    visit(look, sample=False)


def test_empty_sections_of_the_world_are_folded_and_say_what_belongs_there(visit, kept):
    async def some(store):
        project = await store.create_project("local", "A bridge")
        world = WorldModel(actors=(WorldEntry("Council"),))
        await store.put_world_model("local", project.id, world, expected=0, why=Provenance("created"))

    kept(some)

    async def look(page):
        folded = "[...document.querySelectorAll('#world .part')].filter(part => !part.open).map(part => part.dataset.part)"
        assert await page.evaluate(folded) == ["mechanisms", "resources", "constraints", "assumptions", "simplifications"]
        await page.click("#world [data-part=resources] summary")
        assert "What there is to work with" in await page.text("#world [data-part=resources]")
        assert "none yet" in await page.text("#spec summary")
        assert await page.evaluate("document.querySelector('#steps .next .head').innerText") == "Describe the problem"
        assert await page.text("#runs p") == "Nothing has been run yet."

    visit(look, sample=False)


def test_the_first_project_is_begun_another_is_picked_and_one_deleted(visit):
    async def look(page):
        assert await page.evaluate("document.querySelector('#chat').hidden")
        assert await page.evaluate(f"{FOCUS}.id") == "new-title"
        await page.write("A bridge")
        await page.press("Tab")
        await page.write("One that holds.")
        await tab(page, "#beginning button")
        await page.press("Enter")
        await says(page, "#title", "A bridge")
        assert await page.text("#description") == "One that holds."
        await page.click("#new-project")
        await page.write("A tunnel")
        await page.press("Enter")
        await says(page, "#title", "A tunnel")
        address = await page.evaluate("location.search")
        assert await page.text(".composer .context .value") == "A tunnel"
        await page.click(".composer .context")
        assert await page.evaluate("document.querySelector('#picker').open")
        await page.wait_for("document.querySelectorAll('#projects li').length === 2")
        await page.click("#projects button.pick:not([aria-current])")
        await says(page, "#title", "A bridge")
        await page.evaluate("history.back()")
        await says(page, "#title", "A tunnel")
        assert await page.evaluate("location.search") == address
        await page.click("#picker > summary")
        await page.click("#projects button[aria-label='Delete A tunnel']")
        await page.click("dialog .quiet")
        assert await page.text("#title") == "A tunnel"
        await page.click("#projects button[aria-label='Delete A tunnel']")
        await page.click("dialog button")
        await says(page, "#title", "A bridge")
        await page.wait_for("document.querySelectorAll('#projects li').length === 1")

    visit(look, sample=False, ready="!document.querySelector('#beginning').hidden")


def test_a_project_that_is_pressed_while_the_list_is_renewed_is_opened(visit, kept):
    """The list is loaded when it is unfolded, while somebody may already be pressing what it showed before."""
    bridge = "#projects button.pick:not([aria-current])"

    async def rename(store):
        project = next(each for each in await store.list_projects("local") if each.title == "Buses on time")
        await store.update_project("local", project.id, expected=project.version, title="Trams on time")

    async def look(page):
        await page.click("#picker > summary")
        await page.wait_for("document.querySelectorAll('#projects li').length === 2")
        await page.hover(bridge)
        box = "(box => [box.x + box.width / 2, box.y + box.height / 2])"
        x, y = await page.evaluate(f"{box}(document.querySelector({json.dumps(bridge)}).getBoundingClientRect())")
        mouse = {"x": x, "y": y, "button": "left", "clickCount": 1}
        await page.send("Input.dispatchMouseEvent", type="mousePressed", **mouse)
        await asyncio.to_thread(kept, rename)
        await page.evaluate("document.querySelector('#picker').dispatchEvent(new Event('toggle'))")
        await says(page, "#projects", "Trams on time")
        await page.send("Input.dispatchMouseEvent", type="mouseReleased", **mouse)
        await says(page, "#title", "A bridge")

    kept(lambda store: store.create_project("local", "A bridge"))
    visit(look)


# the conversation


def test_a_question_shows_its_looks_as_cards_and_what_one_might_do_next(visit):
    looks = calls(("get_problem_spec", {}), ("get_world_model", {"project_id": "another"}), text="I'll look.")
    heard = []

    def listen(request):
        heard.append([message.text for message in request.history if message.role != "tool"])
        return "Yes."

    async def look(page):
        await page.click(".start .chip")
        await page.wait_for(DONE.format(1))
        assert await page.evaluate(CARDS) == [["done", "get_problem_spec"], ["failed", "get_world_model"]]
        assert "There is no such project in this conversation" in await page.text(".call:last-child .problem")
        assert await page.evaluate(CHIPS) == ["Weigh the depot", "Check a run"]
        await page.click(".turn:last-child .chip")
        assert await page.evaluate("document.querySelector('#message').value") == "Weigh the depot"
        assert await page.evaluate(f"{FOCUS}.id") == "message"
        await page.press("Enter")
        await page.wait_for(DONE.format(2))
        assert "You have **four**.\n\n1. Weigh the depot\n2. `Check` a run" in heard[0]
        assert await page.evaluate("document.querySelector('.suggested').offsetHeight") == 0

    visit(look, looks, "You have **four**.\n\n1. Weigh the depot\n2. `Check` a run", listen)


def test_what_was_said_is_there_again_after_a_reload(visit):
    async def look(page):
        await ask(page, "What constraints do I have?", DONE.format(1))
        await ask(page, "Add a noise constraint.", ASKED)
        await again(page, f"{READY} && document.querySelectorAll('.turn').length === 2")
        assert await page.evaluate("[...document.querySelectorAll('.said p')].map(said => said.innerText)") == [
            "What constraints do I have?",
            "Add a noise constraint.",
        ]
        assert sorted(await page.evaluate(CARDS)) == [
            ["done", "get_problem_spec"],
            ["failed", "get_world_model"],
            ["waiting", "change_problem_spec"],
        ]
        await page.click(".call[data-state=done] summary")
        assert "Budget" in await page.text(".call[data-state=done] .inside")
        assert (await page.text(".call[data-state=failed] .problem")).startswith("There is no such project")
        assert await page.text(".turn .part:last-child .words") == "Four of them."
        assert await page.evaluate("document.querySelector('.send').disabled")
        await page.click(".approve")
        await page.wait_for(DONE.format(1))
        await says(page, "#spec", "Noise")
        await again(page, f"{READY} && document.querySelectorAll('.turn').length === 2")
        assert not await page.evaluate(ASKED)
        assert (await page.evaluate(CARDS))[2:] == [["done", "change_problem_spec"]]
        assert "It is there." in await page.text(".turn:last-child")
        assert not await page.evaluate("document.querySelector('.send').disabled")

    looks = calls(("get_problem_spec", {}), ("get_world_model", {"project_id": "another"}))
    visit(look, looks, "Four of them.", calls(("change_problem_spec", NOISE)), "It is there.")


def test_a_question_that_was_never_answered_says_so_and_an_old_one_can_be_left(visit, kept, tmp_path):
    async def some(store):
        project = await make_sample_project(store, "local")
        (session,) = await store.list_chat_sessions("local", project.id)
        await store.add_message("local", session.id, "user", "Hello?")
        await store.add_message("local", session.id, "user", "Add noise.")
        gone = {"run_id": "gone", "call_id": "1", "name": "change_problem_spec", "arguments": NOISE, "digest": "x", "reason": ""}
        told = {"stopped": "waiting", "approvals": [gone], "run_id": "gone"}
        await store.add_message("local", session.id, "agent", "A user must approve a call.", told)

    kept(some)

    async def look(page):
        assert await page.text(".turn .doing") == "No answer (stopped)."
        await page.click(".approve")
        await says(page, ".approval [role=alert]", "no run")
        page.problems.clear()  # the browser says itself that there is none
        await ask(page, "Never mind.", DONE.format(1))

    visit(look, "As you wish.", sample=False, ready=f"{READY} && {ASKED}")


def test_a_run_is_recommended_with_what_stands_in_the_way_and_started_by_nobody(visit, kept):
    kept(lambda store: store.create_project("local", "A bridge"))
    check = calls(("check_run", {"mode": "full_search", "num_candidates": 25}))

    async def look(page):
        await ask(page, "Can I start a run?", DONE.format(1))
        card = await page.text(".run")
        for words in ("Blocked", "Full search", "25", "no problem spec yet", "25 candidates take long", "A person starts it"):
            assert words in card
        assert await page.evaluate("document.querySelectorAll('.run button').length") == 0

    visit(look, check, "Not yet.", sample=False)


def test_without_a_model_the_answer_comes_from_the_state_and_says_so(visit):
    async def look(page):
        await ask(page, "What next?", "document.querySelector('.notice.bad') !== null")
        assert "No model could be asked" in await page.text(".notice.bad")
        assert "1. Run the search" in await page.text(".notice.bad")
        await again(page, f"{READY} && document.querySelectorAll('.notice.bad').length === 1")

    visit(look, ModelError("There is no such model."))


# an answer that is under way


def test_an_answer_under_way_goes_on_after_a_reload_and_in_another_tab(visit, kept):
    held = Held("One, ", "two.")
    last = "document.querySelector('.turn:last-child .words')?.innerText === {!r}"

    async def look(page, other):
        await come_to(page)
        await ask(page, "Hello.", DONE.format(1))
        await page.click("#message")
        await page.write("Count.")
        await page.press("Enter")
        held.free()
        await page.wait_for(last.format("One,"))
        for each in (other, page):
            await again(await come_to(each), f"{READY} && {last.format('One,')}")
            assert await each.evaluate(SAID) == ["Hello.", "Count."]
        held.free()
        for each in (page, other):
            await (await come_to(each)).wait_for(last.format("One, two."))
            await each.wait_for(DONE.format(1))
            assert await each.evaluate(WORDS) == ["Yes.", "One, two."]

    visit(look, "Yes.", held, pages=2)
    assert [(each.role, each.content) for each in kept(messages_of)] == [
        ("user", "Hello."),
        ("agent", "Yes."),
        ("user", "Count."),
        ("agent", "One, two."),
    ]


def test_an_answer_that_was_stopped_stays_so(visit):
    held, said = Held("One, ", "two."), "document.querySelector('.turn .doing')?.innerText === 'This answer was stopped.'"

    async def look(page):
        await page.click("#message")
        await page.write("Count.")
        await page.press("Enter")
        held.free()
        await page.wait_for("document.querySelector('.words')?.innerText === 'One,'")
        await page.click(".stop")
        await page.wait_for(said)
        await again(page, f"{READY} && {said}")

    visit(look, held)


def test_nothing_is_lost_when_the_server_is_killed_while_a_change_waits_and_while_it_answers(browser, kept, tmp_path):
    """Three servers, one after the other, behind one address: a page stays open, and everything happens once."""
    runner, started = browser
    env = {"TREADLE_GUIDANCE_DATABASE": str(tmp_path / "projects.db")}
    first = script(tmp_path, "Yes.", asks(("change_problem_spec", NOISE)), name="first.json")
    third = script(tmp_path, "It is there.", name="third.json")
    kept(lambda store: make_sample_project(store, "local"))

    async def look(cable, silent):
        page = await started.open(f"{cable.url}/guidance/")
        await page.wait_for(READY)
        await ask(page, "Hello.", DONE.format(1))
        await ask(page, "Add noise.", ASKED)
        await restart(cable, "openai:none", "--base-url", f"http://127.0.0.1:{silent.getsockname()[1]}/v1")
        await again(page, f"{READY} && {ASKED}")
        await page.click(".approve")
        await says(page, ".call[data-state=done] .name", "change_problem_spec")
        await restart(cable, third)
        await page.wait_for("document.querySelector('.turn:last-child .facts') !== null")
        assert await page.evaluate(SAID) == ["Hello.", "Add noise."]
        assert await page.evaluate(CARDS) == [["done", "change_problem_spec"]]
        assert await page.text(".turn:last-child .part:last-child .words") == "It is there."
        assert await page.text(".turn .words") == "Yes."
        await says(page, "#spec", "Noise")
        await page.close()

    async def restart(cable, *model):
        running[-1].kill()
        cable.port = await asyncio.to_thread(serve, *model)

    def serve(*model):
        running.append(start(tmp_path, "serve", "--no-token", "--port", "0", "-m", *model, OPENAI_API_KEY="x", **env))
        return int(running[-1].stdout.readline().strip().rstrip("/").rpartition(":")[2])

    running = []
    with ExitStack() as stack:
        stack.callback(lambda: [each.kill() or each.communicate() for each in running])
        silent = stack.enter_context(socket.create_server(("127.0.0.1", 0)))
        runner.run(look(stack.enter_context(Cable(serve(first))), silent))
    assert kept(spec_of).version == 2
    told = [(each.role, each.metadata.get("stopped")) for each in kept(messages_of)]
    assert told == [("user", None), ("agent", "answered"), ("user", None), ("agent", "waiting"), ("agent", "answered")]


# changes in conversation


def test_a_change_is_shown_as_a_difference_and_made_when_it_is_approved(visit, kept):
    async def look(page):
        await ask(page, "Add a noise constraint of weight 40.", ASKED)
        assert await page.text(".approval ins") == "+  - Noise (weight 40): Quiet after 22:00\n"
        assert await page.evaluate(f"{FOCUS} === document.querySelector('.approval')")
        assert "Noise" not in await page.text("#spec")
        await tab(page, ".approve")
        await page.press("Enter")
        await page.wait_for(DONE.format(1))
        await says(page, "#spec", "Noise")
        assert (await page.evaluate(CONSTRAINTS))["Noise"] == 40
        await page.click("#changes .what summary")
        assert await page.text("#changes ins") == "+  - Noise (weight 40): Quiet after 22:00\n"
        assert "by the architect" in await page.text("#changes .what")

    visit(look, calls(("change_problem_spec", NOISE)), "It is there.")
    assert [each.name for each in kept(spec_of).constraints][-1] == "Noise"


def test_a_change_is_not_made_when_it_is_denied(visit, kept):
    async def look(page):
        await ask(page, "Add a noise constraint of weight 40.", ASKED)
        await page.click(".deny")
        await page.wait_for(DONE.format(1))
        assert await page.evaluate(CARDS) == [["denied", "change_problem_spec"]]
        assert "Noise" not in await page.text("#spec")
        await again(page, f"{READY} && document.querySelectorAll('.turn').length === 1")
        assert await page.evaluate(CARDS) == [["denied", "change_problem_spec"]]

    visit(look, calls(("change_problem_spec", NOISE)), "As you wish.")
    assert kept(spec_of).version == 1


# changes by hand


def test_a_spec_is_changed_by_hand_with_the_keyboard(visit, kept):
    async def look(page):
        await tab(page, "#spec .edit")
        await page.press("Enter")
        assert await page.evaluate(f"{FOCUS}.value") == "Budget"
        await tab(page, "input[type=range]")
        await page.press("ArrowRight")
        assert await page.text(f"{constraint(1)} output") == "91"
        await page.press("Escape")
        assert await page.evaluate("document.querySelector('.editing') !== null")
        await page.click(f"{constraint(4)} .remove")
        await page.click("#spec .add")
        await page.write("Noise")
        await tab(page, "textarea")
        await page.write("Quiet after 22:00")
        await page.click("#spec .editing ul[aria-label=Goals] .remove")
        await page.click("#spec .editing ul[aria-label=Goals] + .add")
        await page.write("Fewer cars")
        await put(page, "#spec select", "fine")
        await page.press("Enter")
        await page.wait_for("document.querySelector('#spec .edit') !== null")
        assert list(await page.evaluate(CONSTRAINTS)) == ["Budget", "Fares", "Drivers' hours", "Noise"]
        await says(page, "#changes", "Problem spec, version 2")
        assert await page.evaluate(f"{FOCUS}.matches('.edit')")  # also after everything was drawn anew
        assert "by hand" in await page.text("#changes")

    visit(look)
    spec = kept(spec_of)
    assert spec.constraints[0] == Constraint("Budget", "At most 400,000 a year more than today", 91)
    assert spec.constraints[-1] == Constraint("Noise", "Quiet after 22:00", 50)
    assert (spec.goals, spec.resolution) == (("Passengers know when the next bus comes", "Fewer cars"), "fine")


def test_the_first_spec_is_written_down_and_what_cannot_be_kept_is_said(visit, kept):
    kept(lambda store: store.create_project("local", "A bridge"))

    async def look(page):
        await page.click("#spec .edit")
        await page.click("#spec .add")
        await page.click("#spec .save")
        assert await page.evaluate(f"{FOCUS}.validity.valueMissing")
        await put(page, f"{constraint(1)} input", "Budget")
        await page.click("#spec .add")
        await page.write("budget")
        await page.click("#spec .save")
        await page.wait_for("document.querySelector('.editing [role=alert]').innerText.includes('Two')")
        page.problems.clear()  # the browser says itself that the server didn't take it
        await page.click(f"{constraint(2)} .remove")
        await page.click("#spec .save")
        await says(page, "#steps .done", "Describe the problem")

    visit(look, sample=False)
    assert kept(spec_of) == replace(kept(spec_of), constraints=(Constraint("Budget"),), version=1)


def test_who_comes_second_is_told_and_nothing_is_lost(visit, kept):
    choose = "#spec .meanwhile fieldset:nth-of-type({}) input[value={}]"
    rows = "[...document.querySelectorAll('.meanwhile fieldset')].map(row => row.innerText.split('\\n').map(line => line.trim()))"

    async def look(first, second):
        for page in (second, first):
            await (await come_to(page)).click("#spec .edit")
        await put(first, f"{constraint(1)} input[type=range]", 30)
        await put(first, f"{constraint(2)} textarea", "No fare rises")
        await first.click("#spec .save")
        await first.wait_for("document.querySelector('#spec .edit') !== null")
        await come_to(second)
        await put(second, f"{constraint(1)} input[type=range]", 70)
        await second.click(f"{constraint(4)} .remove")
        await second.click("#spec .save")
        await second.wait_for("document.querySelector('.meanwhile') !== null")
        assert await second.text(".meanwhile h4") == "Someone else has changed it"
        assert await second.evaluate(f"{FOCUS}.closest('.meanwhile') !== null")
        shown = await second.evaluate(rows)
        assert [[line for line in row if line] for row in shown] == [
            [
                "Budget",
                "constraint",
                "There now: weight 30, At most 400,000 a year more than today",
                "Yours: weight 70, At most 400,000 a year more than today",
            ],
            ["Fares", "constraint", "There now: weight 100, No fare rises", "Yours: weight 100, Fares stay as they are"],
            ["Depot", "constraint", "There now: weight 60, No new depot before 2029", "Yours: not there"],
        ]
        chosen = "[...document.querySelectorAll('.meanwhile :checked')].map(each => each.value)"
        assert await second.evaluate(chosen) == ["theirs", "mine"]  # and nothing where both changed the same
        await second.click("#spec .meanwhile button")
        assert await second.evaluate("document.querySelector('.meanwhile') !== null")
        await second.click(choose.format(1, "mine"))
        await second.click("#spec .meanwhile button")
        await second.wait_for("document.querySelector('#spec .edit') !== null")
        assert await second.evaluate(CONSTRAINTS) == {"Budget": 70, "Fares": 100, "Drivers' hours": 100}
        assert "No fare rises" in await second.text("#spec")
        assert len(second.problems) == 1
        assert "409 (Conflict)" in second.problems.pop()

    visit(look, pages=2)
    assert [(each.name, each.weight) for each in kept(spec_of).constraints] == [
        ("Budget", 70),
        ("Fares", 100),
        ("Drivers' hours", 100),
    ]


def test_who_comes_second_may_leave_it_and_may_come_second_again(visit, kept):
    async def raise_budget(page, weight):
        await come_to(page)
        await put(page, f"{constraint(1)} input[type=range]", weight)
        await page.click("#spec .save")

    async def look(first, second):
        for page in (second, first):
            await (await come_to(page)).click("#spec .edit")
        await raise_budget(first, 30)
        await first.wait_for("document.querySelector('#spec .edit') !== null")
        await raise_budget(second, 70)
        await says(second, ".meanwhile", "There now: weight 30")
        await (await come_to(first)).click("#spec .edit")
        await raise_budget(first, 31)
        await first.wait_for("document.querySelector('#spec .edit') !== null")
        await (await come_to(second)).click("#spec .meanwhile input[value=mine]")
        await second.click("#spec .meanwhile button")
        await says(second, ".meanwhile", "There now: weight 31")
        await second.click("#spec .meanwhile .drop")
        await second.wait_for("document.querySelector('#spec .edit') !== null")
        await says(second, "#spec .weight", "31")
        second.problems.clear()

    visit(look, pages=2)
    assert kept(spec_of).version == 3


def test_what_is_being_written_survives_a_change_in_the_conversation(visit, kept):
    async def look(page):
        await page.click("#spec .edit")
        await put(page, f"{constraint(1)} input[type=range]", 30)
        await ask(page, "Add noise.", ASKED)
        await page.click(".approve")
        await page.wait_for(DONE.format(1))
        await says(page, ".editing [role=alert]", "It has changed meanwhile.")
        assert await page.text(f"{constraint(1)} output") == "30"
        await page.click("#picker > summary")
        await page.wait_for("document.querySelectorAll('#projects li').length === 2")
        await page.click("#projects button.pick:not([aria-current])")
        await page.click("dialog .quiet")
        assert await page.text("#title") == "Buses on time"
        await page.click("#spec .save")
        await says(page, ".meanwhile", "Noise")
        await page.click("#spec .meanwhile button")
        await page.wait_for("document.querySelector('#spec .edit') !== null")
        page.problems.clear()
        shown = await page.evaluate(CONSTRAINTS)
        assert (shown["Budget"], shown["Noise"]) == (30, 40)

    kept(lambda store: store.create_project("local", "A bridge"))
    visit(look, calls(("change_problem_spec", NOISE)), "It is there.")


# what must not happen


def test_what_looks_like_html_stays_text(visit, kept):
    async def some(store):
        project = await store.create_project("local", BAD, BAD)
        spec = ProblemSpec((Constraint(BAD, BAD, 10),), (BAD,))
        await store.put_problem_spec("local", project.id, spec, expected=0, why=Provenance(BAD, BAD))
        await store.put_world_model(
            "local", project.id, WorldModel((WorldEntry(BAD, BAD, BAD),)), expected=0, why=Provenance("made")
        )

    kept(some)
    change = {"constraints": [{"name": f"{BAD}2", "weight": 1}]}

    async def look(page):
        assert await page.text("#title") == BAD
        assert await page.text("#spec .goals") == BAD
        await page.click("#picker > summary")
        await says(page, "#projects", BAD)
        await ask(page, BAD, ASKED)
        assert BAD in await page.text(".approval")
        await page.click(".approve")
        await page.wait_for(DONE.format(1))
        await says(page, "#spec", f"{BAD}2")
        await page.click("#spec .edit")
        assert await page.evaluate("document.querySelector('.editing input').value") == BAD
        await again(page, f"{READY} && document.querySelectorAll('.turn').length === 1")
        assert await page.evaluate("[window.taken === undefined, document.querySelectorAll('img').length]") == [True, 1]

    visit(look, calls(("change_problem_spec", change)), BAD, sample=False)


def test_a_telephone_shows_it_without_scrolling_sideways(visit, kept):
    long = "Donaudampfschifffahrtsgesellschaftskapitänsmützenhersteller" * 2

    async def some(store):
        project = await store.create_project("local", long, long)
        spec = ProblemSpec((Constraint(long, long, 100),), (long,))
        await store.put_problem_spec("local", project.id, spec, expected=0, why=Provenance("made", long))
        await store.put_world_model(
            "local", project.id, WorldModel((WorldEntry(long, long, long),)), expected=0, why=Provenance("made")
        )

    kept(some)

    async def look(page):
        assert await page.evaluate("document.querySelectorAll('#state > .section[open]').length") == 0
        assert await page.evaluate(FITS)
        await page.evaluate("document.querySelectorAll('#state details').forEach(each => each.open = true)")
        await says(page, "#projects", long)
        assert await page.evaluate(FITS)
        await ask(page, "Can I run it?", DONE.format(1))
        await ask(page, "Add noise.", ASKED)
        await page.click("#spec .edit")
        await page.click("#new-project")
        assert await page.evaluate(FITS)

    visit(look, long, calls(("change_problem_spec", NOISE)), sample=False, width=360, height=740)


# runs, candidates, issues, people

SITUATIONS = json.dumps({"scenarios": [{"name": "Snow"}]})
PROPOSED = json.dumps({"candidates": [{"description": BAD, "effects": ["Fewer late buses"]}, {"description": "More drivers"}]})
FAIR = json.dumps({"judgements": [{"constraint": "Fares", "reason": "They stay", "score": 90, "scenario": "Snow"}]})
POOR = json.dumps({"judgements": [{"constraint": "Fares", "reason": "They rise", "score": 10}]})
STATUS = "#runs .rows > li:first-child .name"


async def tick(page, selector):
    """Click what may lie below the fold of a section."""
    await page.evaluate(f"document.querySelector({json.dumps(selector)}).click()")


def test_a_run_is_started_watched_and_its_candidates_are_compared_and_decided(visit):
    first, judged = Held(SITUATIONS), Held(FAIR)

    async def look(page):
        await tick(page, "#runs .starting summary")
        await put(page, "#runs .settings input[type=number]", 2)
        await tick(page, "#runs .starting .actions button")
        await says(page, STATUS, "Running")
        await says(page, "#runs .rows .busy", "Describing situations")
        first.free()
        await says(page, "#runs .rows .busy", "Evaluating candidates: 0 of 2")
        await tick(page, "#runs .compare summary")
        await page.wait_for("document.querySelector('#runs table') !== null")
        judged.free()
        await says(page, STATUS, "Completed")
        await page.becomes("[...document.querySelectorAll('#runs .total td')].map(cell => cell.innerText)", ["90", "10"])
        assert await page.evaluate("document.querySelector('#runs .compare').open")
        await tick(page, "#runs .candidates summary")
        inside = await page.text("#runs .candidates > li")
        for words in (
            BAD,
            "They stay Worst in: Snow.",
            "Fewer late buses",
            "Proposed by the model",
            "Candidate evaluated: total 90",
        ):
            assert words in inside
        assert "Rules it out: Fares" in await page.evaluate("document.querySelector('.candidates > li:last-child').textContent")
        await tick(page, "#runs .record")
        await says(page, "dialog.record h3", "Buses on time")
        assert "More drivers (10 of 100, rejected; breaks Fares)" in await page.text("dialog.record")
        assert (await page.evaluate("document.querySelector('dialog.record a').href")).endswith("/adr")
        await page.click("dialog.record button")
        await says(page, "dialog.record [role=status]", "Copied.")
        await page.click("dialog.record .close")
        await page.wait_for("document.querySelector('dialog') === null")
        assert await page.evaluate("window.taken === undefined")

    visit(look, first, PROPOSED, judged, POOR)


def test_a_recommended_run_is_started_and_one_that_failed_is_resumed(visit):
    check = calls(("check_run", {"mode": "full_search", "num_candidates": 2, "num_scenarios": 1}))

    async def look(page):
        await ask(page, "Can I start a run?", DONE.format(1))
        for _ in range(2):  # however often it is pressed, it is one run
            await page.click("#chat .run button")
            await page.wait_for("!document.querySelector('#chat .run button').disabled")
        await says(page, "#runs .rows p.bad", "The server is down.")
        assert await page.text("#runs .amount") == "1 run"
        await tick(page, "#runs .rows .row > div:not([hidden]) button")
        await says(page, STATUS, "Completed")
        assert await page.evaluate("[...document.querySelectorAll('#runs .row button')].every(each => each.offsetHeight === 0)")

    visit(look, check, "Yes.", ModelError("The server is down."), SITUATIONS, PROPOSED, FAIR, POOR)


def test_a_candidate_and_an_issue_come_from_a_person_and_a_project_is_shared(visit, kept):
    async def look(page):
        await tick(page, "#runs .starting > .more summary")
        await put(page, "#runs .starting > .more textarea", "A ferry")
        await tick(page, "#runs .starting > .more button")
        await says(page, STATUS, "Not started")
        await tick(page, "#runs .rows .row > div:not([hidden]) button")
        await says(page, STATUS, "Completed")
        await says(page, "#issues", "Fares")  # a must that no candidate meets
        await tick(page, "#issues > .within > .more:last-child summary")
        await put(page, "#issues .editing textarea", BAD)
        await tick(page, "#issues .editing button")
        await says(page, "#issues .rows .description", BAD)
        await page.click("#issues .rows button")
        await put(page, "dialog textarea", "It was weather.")
        await page.click("dialog .editing button")
        await says(page, "#issues [aria-label='Closed issues']", "Resolved: It was weather.")
        await put(page, "#people input", "bo")
        await page.click("#people .editing button")
        await says(page, "#people .amount", "2 people")
        assert await page.text("#people .rows li:last-child .name") == "bo"
        assert [each.members for each in await asyncio.to_thread(kept, lambda store: store.list_projects("local"))] == [("bo",)]
        await page.click("#people button[aria-label='Remove bo']")
        await page.click("dialog button")
        await says(page, "#people .amount", "only you")
        assert await page.evaluate("window.taken === undefined")

    visit(look, SITUATIONS, POOR)
