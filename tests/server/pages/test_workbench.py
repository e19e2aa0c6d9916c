"""The workbench in a real browser, over a real server and a model whose replies are written in advance."""

import asyncio
import threading

import pytest

from browser import needs_browser
from server.pages.cable import Cable
from server.pages.shop import BAD, LAMPS, LOOK, ORDER, QUESTIONS, Held, clerk
from server.running import Serving, assistant, panel
from treadle import Agent, FunctionToolset, Limits, tool
from treadle.core.errors import UnknownModel
from treadle.core.requests import ReplyEnded, TextDelta, Usage
from treadle.models.scripted import ScriptedReply
from treadle.server.models import DownloadTracker
from treadle.testing import calls

pytestmark = needs_browser

READY = "document.querySelectorAll('.assistant').length === 2 && document.querySelectorAll('.chip').length === 1"
DONE = "document.querySelectorAll('.facts').length === {}"
RUN = "new URLSearchParams(location.search).get('run')"
STATES = "[...document.querySelectorAll('.call')].map(each => [each.querySelector('.name').innerText, each.dataset.state])"
LANES = """[...document.querySelectorAll('.lane')].map(each => [each.querySelector('.name').innerText, {
    from: parseFloat(each.querySelector('.stretch').style.left), width: parseFloat(each.querySelector('.stretch').style.width),
    took: each.querySelector('.took').innerText,
}])"""
TOOK = """Promise.all([fetch(`/api/runs/${new URLSearchParams(location.search).get('run')}`).then(said => said.json()),
    import('/static/format.js')]).then(([{entries}, {formatDuration}]) => entries.filter(({kind}) => kind === 'returned')
    .map(({result, seconds}) => [result.name, [seconds, formatDuration(seconds)]]))"""
COUNT = "(document.querySelector('#waiting').hidden ? 0 : parseInt(document.querySelector('#waiting').innerText))"
BROKEN = ("network: net::", "network: Failed to load resource", "net::ERR")


async def ask(page, words):
    await page.click("#message")
    await page.write(words)
    await page.press("Enter")


def test_an_assistant_is_chosen_asked_and_answers_with_its_calls(serve, visit, shop):
    async def look(page):
        await page.wait_for(READY)
        assert await page.evaluate("[...document.querySelectorAll('.chip')].map(each => each.innerText)") == [QUESTIONS[0]]
        assert await page.evaluate("document.querySelector('[aria-current]').innerText") == "New conversation"
        await page.evaluate("document.activeElement.blur()")
        await page.click(".assistant label")
        await page.wait_for("document.activeElement.id === 'message'")
        sent = await page.evaluate("performance.getEntriesByType('resource').map(({name}) => new URL(name).pathname)")
        assert "/api/assistants/shop/warm" in sent
        await page.click(".chip")
        await page.wait_for(DONE.format(1))
        await page.becomes("document.querySelectorAll('#sidebar [aria-current=page]').length", 0)
        assert await page.text(".said p") == QUESTIONS[0]
        assert await page.evaluate("document.querySelector('.words em').innerText") == "look"
        assert await page.evaluate("[...document.querySelectorAll('.words strong, .words td')].map(each => each.innerText)") == [
            "3 lamps",
            "lamp",
            "3",
        ]
        assert await page.evaluate(STATES) == [["count_items", "done"], ["price_of", "done"], ["next_delivery", "failed"]]
        assert await page.evaluate("window.taken") is None
        await page.click(".call summary")
        assert "item\nlamp\nResult\n3" in (await page.text(".call .inside")).replace("\n\n", "\n")
        assert await page.text(".facts") == f"{(await page.text('.facts')).split(' · ')[0]} · 30 tokens · $0.0040"
        assert await page.text("#subject strong") == "Shop"

    priced = ScriptedReply(text=LAMPS, usage=Usage(1, 0, 10, 20, cost=0.004))
    with serve(clerk(LOOK, priced)) as server:
        visit(f"{server.url}/", look)


def test_calls_at_once_are_side_by_side_on_a_time_line(serve, visit):
    async def look(page):
        await page.wait_for(READY)
        await page.click(".chip")
        await page.wait_for(DONE.format(1))
        await drawn_to_scale(page)
        await page.go(await page.evaluate("location.href"))
        await page.wait_for("document.querySelectorAll('.lane').length === 3")
        await drawn_to_scale(page)

    async def drawn_to_scale(page):
        lanes, took = dict(await page.evaluate(LANES)), dict(await page.evaluate(TOOK))
        assert list(lanes) == ["count_items", "price_of", "next_delivery"]
        assert {name: lane["took"] for name, lane in lanes.items()} == {name: words for name, (_, words) in took.items()}
        second = lanes["count_items"]["width"] / took["count_items"][0]  # how wide one is
        assert [lane["width"] for lane in lanes.values()] == pytest.approx([second * took[name][0] for name in lanes], abs=0.01)
        ends = [lane["from"] + lane["width"] for lane in lanes.values()]
        assert (lanes["count_items"]["from"], max(ends)) == (0, pytest.approx(100))
        assert max(lane["from"] for lane in lanes.values()) < lanes["count_items"]["width"]  # nobody waited for the longest
        label = await page.evaluate("document.querySelector('.timeline').ariaLabel")
        assert f"count_items from 0.0 to {took['count_items'][0]:.1f} s; price_of from" in label

    with serve(clerk(LOOK, LAMPS)) as server:
        visit(f"{server.url}/", look)


def test_a_conversation_goes_on_after_the_page_was_loaded_again_with_another_model(serve, visit):
    async def look(page):
        await page.wait_for(READY)
        await ask(page, "How many lamps?")
        await page.wait_for(DONE.format(1))
        run = await page.evaluate(RUN)
        assert run
        await page.go(await page.evaluate("location.href"))
        await page.wait_for("document.querySelectorAll('.turn').length === 1")
        assert await page.text(".words") == "Three."
        await page.wait_for("document.querySelector('#model').options.length === 2")
        await page.evaluate("document.querySelector('#model').selectedIndex = 1")
        await ask(page, "And chairs?")
        await page.wait_for("document.querySelectorAll('.words')[1]?.innerText === 'The other model says so.'")
        assert await page.evaluate(RUN) == run
        await page.click("#anew")
        await page.wait_for("document.querySelectorAll('.turn').length === 0")
        assert await page.evaluate(RUN) is None

    with serve(clerk("Three.")) as server:
        visit(f"{server.url}/", look)


def test_what_a_call_would_do_is_shown_changed_and_approved(serve, visit, shop):
    async def look(page):
        await page.wait_for(READY)
        await ask(page, QUESTIONS[1])
        await page.wait_for("!!document.querySelector('.approval')")
        shown = await page.text(".approval")
        assert [words in shown for words in ("order_items", "Orders cost money.", "Orders 10 of lamp.")] == [True] * 3
        assert (await page.text(".approval ins")).strip() == '+  "lamp": 10'
        assert await page.evaluate("document.activeElement === document.querySelector('.approval')")
        await page.wait_for(f"{COUNT} === 1")
        await page.click(".approval .edit")
        for words, problem in (('{"item": ', "Invalid JSON"), ("[1]", "This has to be an object")):
            await page.evaluate(f"document.querySelector('.json').value = {words!r}")
            await page.click(".approval .approve")
            assert problem in await page.text(".approval .field .bad")
        assert shop.ordered == []
        await page.evaluate('document.querySelector(\'.json\').value = \'{"item": "lamp", "amount": 4}\'')
        await page.click(".approval .approve")
        await page.wait_for(DONE.format(1))
        assert shop.ordered == [("lamp", 4)]
        assert await page.text(".decided") == "You changed and approved order_items."
        await page.wait_for(f"{COUNT} === 0")

    with serve(clerk(calls(("order_items", ORDER)), "Done.")) as server:
        visit(f"{server.url}/", look)


def test_arguments_that_do_not_fit_the_tool_are_not_taken(serve, visit, shop):
    async def look(page):
        await page.wait_for(READY)
        await ask(page, QUESTIONS[1])
        await page.click(".approval .edit")
        await page.evaluate('document.querySelector(\'.json\').value = \'{"item": "lamp", "amount": "many"}\'')
        await page.click(".approval .approve")
        await page.wait_for("document.querySelector('.approval [role=alert]').innerText.includes('amount')")
        await page.evaluate('document.querySelector(\'.json\').value = \'{"item": "lamp", "amount": 2}\'')
        await page.click(".approval .approve")
        await page.wait_for(DONE.format(1))
        assert shop.ordered == [("lamp", 2)]

    with serve(clerk(calls(("order_items", ORDER)), "Done.")) as server:
        visit(f"{server.url}/", look, expected=("status of 4",))


def test_what_is_denied_is_not_done_and_the_model_reads_why(serve, visit, shop):
    model = clerk(calls(("order_items", ORDER)), "Then I won't.")

    async def look(page):
        await page.wait_for(READY)
        await ask(page, QUESTIONS[1])
        await page.click(".approval .why input")
        await page.write("Too many.")
        await page.press("Enter")
        await page.wait_for(DONE.format(1))
        assert await page.text(".decided") == "You denied order_items: Too many."
        assert await page.evaluate(STATES) == [["order_items", "denied"]]

    with serve(model) as server:
        visit(f"{server.url}/", look)
    assert shop.ordered == []
    assert "Too many." in str(model.requests[-1].history[-1])


def test_two_things_that_wait_are_answered_one_after_the_other(serve, visit, shop):
    async def look(page):
        await page.wait_for(READY)
        await ask(page, "Order lamps, twice.")
        await page.wait_for("document.querySelectorAll('.approval').length === 2")
        await page.click(".approval .approve")
        await page.wait_for("document.querySelectorAll('.approval').length === 1")
        assert shop.ordered == []
        assert await page.evaluate("document.querySelector('.send').disabled")
        await page.wait_for("!document.querySelector('.approval .deny').disabled")
        await page.click(".approval .deny")
        await page.wait_for(DONE.format(1))
        assert shop.ordered == [("lamp", 10)]

    twice = calls(("order_items", ORDER), ("order_items", {"item": "lamp", "amount": 1}))
    with serve(clerk(twice, "Half done.")) as server:
        visit(f"{server.url}/", look)


def test_an_answer_that_was_given_at_a_limit_is_an_answer(visit, tmp_path):
    @tool(effect="read")
    def depth(river: str) -> int:
        """How deep it is."""
        return 7

    rivers = assistant("rivers", toolsets=lambda host: [FunctionToolset([depth])], limits=Limits(rounds=1))

    async def look(page):
        await page.wait_for("document.querySelectorAll('.assistant').length === 1")
        await ask(page, "How deep?")
        await page.wait_for(DONE.format(1))
        assert await page.evaluate("[...document.querySelectorAll('.answer .notice')].map(each => each.innerText)") == []
        await page.click("#journal")
        await page.wait_for("document.querySelector('#tab-journal')?.checkVisibility()")
        await page.click("#tab-journal")
        await page.wait_for("document.querySelector('#then .part:last-child .words')?.innerText === '7 m.'")
        assert await page.evaluate("document.querySelector('#then .notice')") is None
        assert await page.text("#about .mark") == "limit reached"

    with Serving(tmp_path, [rivers], clerk(calls(("depth", {"river": "Elbe"})), "7 m.")) as server:
        visit(f"{server.url}/", look)


def test_an_answer_and_its_code_are_copied_and_a_draft_outlives_the_page(serve, visit):
    answer = "Do **this**:\n\n```python\nprint(1)\n```"

    async def look(page):
        await page.wait_for(READY)
        await page.evaluate("navigator.clipboard.writeText = async (text) => { window.copied = text }")
        await ask(page, "How?")
        await page.wait_for(DONE.format(1))
        await page.click(".words pre .copy")
        await page.becomes("window.copied", "print(1)")
        await page.click(".tools .copy")
        await page.becomes("window.copied", answer)
        await page.becomes("document.querySelector('.tools .copy').ariaLabel", "Copied")
        await page.click("#message")
        await page.write("And then")
        await page.go(await page.evaluate("location.href"))
        await page.wait_for("document.querySelectorAll('.turn').length === 1")
        assert await page.evaluate("document.querySelector('#message').value") == "And then"
        assert await page.evaluate("document.querySelector('.latest').hidden")
        await page.press("Enter")
        await page.wait_for("document.querySelectorAll('.turn').length === 2 && !document.querySelector('.doing.busy')")
        await page.evaluate("document.querySelector('.log').scrollTo(0, 0)")
        await page.becomes("document.querySelector('.latest').hidden", False)
        await page.click(".latest")
        await page.becomes("document.querySelector('.latest').hidden", True)
        assert await page.evaluate("sessionStorage.length") == 0

    with serve(clerk(answer, "\n\n".join(["So."] * 60))) as server:
        visit(f"{server.url}/", look)


def test_the_tab_says_what_a_conversation_does(serve, visit):
    held = Held("One, ", "two.")

    async def look(page):
        await page.wait_for(READY)
        await ask(page, "Count.")
        await page.becomes("document.title", "… Count. · Treadle")
        held.free()
        held.free()
        await page.wait_for(DONE.format(1))
        await page.becomes("document.title", "Count. · Treadle")
        await ask(page, QUESTIONS[1])
        await page.becomes("document.title", "! Count. · Treadle")
        assert await page.evaluate("document.querySelector('link[rel=icon]').getAttribute('href')") == "/static/treadle-waiting.svg"

    with serve(clerk(held, calls(("order_items", ORDER)))) as server:
        visit(f"{server.url}/", look)


def test_stopping_stops_the_run_itself(serve, visit):
    held = Held("One, ", "two, ", "three.")

    async def look(page):
        await page.wait_for(READY)
        await ask(page, "Count.")
        held.free()
        await page.wait_for("document.querySelector('.words')?.innerText === 'One,'")
        await page.click(".stop")
        await page.wait_for("document.querySelector('.doing')?.innerText === 'This answer was stopped.'")
        run = await page.evaluate(RUN)
        said = await page.evaluate(f"fetch('/api/runs/{run}').then(answer => answer.json())")
        assert said["run"]["status"] == "cancelled"

    with serve(clerk(held)) as server:
        visit(f"{server.url}/", look)


SAID = "[...document.querySelectorAll('.turns .said p')].map(each => each.innerText)"


def test_a_message_during_an_answer_waits_for_its_end_and_is_answered_in_the_same_turn(serve, visit):
    held = Held("One, ", "two.")

    async def look(page):
        await page.wait_for(READY)
        await ask(page, "Count.")
        held.free()
        await page.wait_for("document.querySelector('.words')?.innerText === 'One,'")
        await ask(page, "Backwards, please.")
        await page.wait_for("document.querySelector('.pending .said p')?.innerText === 'Backwards, please.'")
        assert await page.evaluate("document.querySelector('#message').value") == ""
        run = await page.evaluate(RUN)
        await page.wait_for(f"fetch('/api/runs/{run}').then(a => a.json()).then(a => a.entries.some(e => e.kind === 'steered'))")
        held.free()
        await page.wait_for(DONE.format(1))
        assert await page.evaluate("document.querySelectorAll('.pending .said').length") == 0
        for _ in range(2):
            assert await page.evaluate(SAID) == ["Count.", "Backwards, please."]
            assert await page.evaluate("[...document.querySelectorAll('.words')].map(each => each.innerText)") == [
                "One, two.",
                "Two, one.",
            ]
            assert await page.evaluate("document.querySelectorAll('.turn').length") == 1
            await page.go(await page.evaluate("location.href"))
            await page.wait_for("document.querySelectorAll('.words').length === 2")

    with serve(clerk(held, "Two, one.")) as server:
        visit(f"{server.url}/", look)


def test_an_answer_is_regenerated_and_a_message_edited_in_runs_of_their_own(serve, visit):
    async def look(page):
        await page.wait_for(READY)
        await ask(page, "Count.")
        await page.wait_for(DONE.format(1))
        first = await page.evaluate(RUN)
        await page.click(".regenerate")
        await page.wait_for("document.querySelector('.words')?.innerText === 'One, two, three.'")
        second = await page.evaluate(RUN)
        await page.click(".said .edit")
        await page.write(" To four.")
        await page.click(".editing button")
        await page.wait_for("document.querySelector('.words')?.innerText === 'Four.'")
        assert await page.evaluate(SAID) == ["Count. To four."]
        assert len({first, second, await page.evaluate(RUN)}) == 3
        await page.go(f"{server.url}/?run={first}")
        await page.wait_for("document.querySelector('.words')?.innerText === 'One, two.'")

    with serve(clerk("One, two.", "One, two, three.", "Four.")) as server:
        visit(f"{server.url}/", look)


def test_an_answer_is_rated_and_the_rating_is_there_after_a_reload(serve, visit):
    pressed = "[...document.querySelectorAll('.rating')].map(each => each.getAttribute('aria-pressed'))"

    async def look(page):
        await page.wait_for(READY)
        await ask(page, "Count.")
        await page.wait_for(DONE.format(1))
        await ask(page, "More.")
        await page.wait_for(DONE.format(2))
        assert await page.evaluate(pressed) == ["false"] * 4
        await page.click(".turn:last-child [data-rating=bad]")
        await page.wait_for("document.activeElement.matches('.turn:last-child .commenting input')")
        await page.write("Three comes next.")
        await page.press("Enter")
        await page.wait_for("document.querySelector('.turn:last-child .feedback [role=alert]').innerText === 'Thank you.'")
        await page.click(".turn [data-rating=good]")
        await page.wait_for(f"{pressed}.join() === 'true,false,false,true'")
        run = await page.evaluate(RUN)
        await page.go(f"{server.url}/?run={run}")
        await page.wait_for(f"{pressed}.join() === 'true,false,false,true'")
        assert await page.evaluate("document.querySelector('.turn:last-child .commenting input').value") == "Three comes next."
        await page.click(".turn [data-rating=good]")
        await page.wait_for(f"{pressed}.join() === 'false,false,false,true'")
        kept = await page.evaluate(f"fetch('/api/feedback?runs={run}').then(said => said.json())")
        assert [(each["message"], each["rating"], each["comment"]) for each in kept["feedback"][run]] == [
            (2, "bad", "Three comes next.")
        ]
        await page.go(f"{server.url}/runs?rating=bad")
        await page.wait_for("document.querySelectorAll('#runs li').length === 1")
        await page.go(f"{server.url}/runs?rating=good")
        await page.wait_for("document.querySelector('#said').innerText === 'No matching runs.'")

    with serve(clerk("One, two.", "Five.")) as server:
        visit(f"{server.url}/", look)


def test_after_a_broken_connection_nothing_is_missing_and_nothing_comes_twice(serve, visit):
    held = Held("One, ", "two, ", "three, ", "four.")

    async def look(page, cable):
        await page.wait_for(READY)
        await ask(page, "Count.")
        held.free()
        await page.wait_for("document.querySelector('.words')?.innerText === 'One,'")
        cable.pull()
        await page.wait_for("document.querySelector('.doing').innerText === 'Connection lost; trying again…'")
        held.free()
        held.free()
        cable.plug()
        await page.wait_for("document.querySelector('.words').innerText === 'One, two, three,'")
        assert await page.text(".doing") != "Connection lost; trying again…"
        held.free()
        await page.wait_for(DONE.format(1))
        assert await page.text(".words") == held.words
        assert await page.evaluate("document.querySelectorAll('.turn').length") == 1

    with serve(clerk(held)) as server, Cable(server.port) as cable:
        visit(f"{cable.url}/", lambda page: look(page, cable), expected=BROKEN)


def test_what_a_reader_was_too_slow_for_is_there_at_the_end(serve, visit):
    go, over, told = threading.Event(), threading.Event(), threading.Event()

    async def flood():
        for gate, words in ((go, ["One."]), (over, ["."] * 6000)):
            await asyncio.to_thread(gate.wait, 20)
            for word in words:
                yield TextDelta(word)
        told.set()
        yield ReplyEnded("done", Usage(requests=1))

    async def look(page, cable):
        await page.wait_for(READY)
        await ask(page, "Count.")
        go.set()
        await page.wait_for("document.querySelector('.words')?.innerText === 'One.'")
        cable.pull()
        await page.wait_for("document.querySelector('.doing').innerText === 'Connection lost; trying again…'")
        over.set()
        assert await asyncio.to_thread(told.wait, 20)  # the model is ahead of what is kept for readers
        cable.plug()
        await page.wait_for("document.querySelector('.words')?.innerText.length === 6004")
        assert await page.evaluate("document.querySelectorAll('.turn').length") == 1

    with serve(clerk(flood())) as server, Cable(server.port) as cable:
        visit(f"{cable.url}/", lambda page: look(page, cable), expected=BROKEN)


def test_what_an_agent_does_for_another_is_told_in_its_card(visit, tmp_path):
    @tool(effect="read")
    def depth(river: str) -> int:
        """How deep it is."""
        return 7

    diver = Agent(clerk(calls(("depth", {"river": "Elbe"})), "Seven metres, says the diver."), tools=[depth], name="diver")
    rivers = assistant("rivers", questions=("How deep?",), toolsets=lambda host: [diver.as_tool("dive", "Ask a diver.")])

    async def look(page):
        await page.click(".chip")
        await page.wait_for(DONE.format(1))
        assert await page.evaluate(STATES) == [["dive", "done"]]
        await page.click(".call summary")
        assert "Progress\nUsing depth" in (await page.text(".call .inside")).replace("\n\n", "\n")
        assert await page.evaluate("[...document.querySelectorAll('.words')].map(each => each.innerText)") == ["", "It is 7 m."]

    with Serving(tmp_path, [rivers], clerk(calls(("dive", {"prompt": "How deep is the Elbe?"})), "It is 7 m.")) as server:
        visit(f"{server.url}/", look)


def test_a_run_survives_that_the_server_is_started_again_while_the_page_is_open(visit, shop, tmp_path):
    before, after = Held("One, ", "never."), Held("Uno, ", "due.")

    async def look(page, cable, servers):
        await page.wait_for("document.querySelectorAll('.assistant').length === 1")
        await ask(page, "Count.")
        before.free()
        await page.wait_for("document.querySelector('.words')?.innerText === 'One,'")
        await asyncio.to_thread(servers[0].__exit__)
        await page.wait_for("document.querySelector('.doing').innerText === 'Connection lost; trying again…'")
        await asyncio.to_thread(servers[1].__enter__)
        cable.port = servers[1].port
        after.free()
        await page.wait_for("document.querySelector('.words')?.innerText === 'Uno,'")
        after.free()
        await page.wait_for(DONE.format(1))
        assert await page.evaluate("[...document.querySelectorAll('.said p')].map(each => each.innerText)") == ["Count."]
        assert await page.text(".words") == after.words

    servers = [Serving(tmp_path, [shop.assistant], clerk(reply)) for reply in (before, after)]
    servers[0].__enter__()
    with Cable(servers[0].port) as cable:
        visit(f"{cable.url}/", lambda page: look(page, cable, servers), expected=(*BROKEN, "status of 5"))
    servers[1].__exit__()


def test_a_run_that_is_under_way_is_shown_to_whoever_opens_its_page(serve, visit):
    held = Held("One, ", "two.")

    async def look(page):
        await page.wait_for(READY)
        await ask(page, "First?")
        await page.wait_for(DONE.format(1))
        await ask(page, "Second?")
        held.free()
        await page.wait_for("document.querySelectorAll('.words')[1]?.innerText === 'One,'")
        await page.go(await page.evaluate("location.href"))
        await page.wait_for("document.querySelectorAll('.words')[1]?.innerText === 'One,'")
        held.free()
        await page.wait_for("document.querySelectorAll('.words')[1]?.innerText === 'One, two.'")
        shown = await page.evaluate("[...document.querySelectorAll('.said p, .words')].map(each => each.innerText)")
        assert shown == ["First?", "Yes.", "Second?", "One, two."]

    with serve(clerk("Yes.", held)) as server:
        visit(f"{server.url}/", look)


def test_whatever_a_model_says_stays_text(serve, visit):
    async def look(page):
        await page.wait_for(READY)
        await ask(page, BAD)
        await page.wait_for(DONE.format(1))
        assert await page.text(".words") == BAD
        await page.go(await page.evaluate("location.href"))
        await page.wait_for("document.querySelectorAll('.turn').length === 1")
        assert await page.text(".said p") == BAD
        assert await page.evaluate("window.taken") is None

    with serve(clerk(BAD)) as server:
        visit(f"{server.url}/", look)


def test_whatever_assistants_say_of_themselves_stays_text(visit, tmp_path):
    odd = assistant(
        "rivers", title=f"Rivers {BAD}", summary=f'"&{{0}} {BAD}', questions=(f"How {BAD}?",), panel=panel(tmp_path / "p")
    )

    async def look(page):
        await page.wait_for("document.querySelectorAll('.chip').length === 1")
        shown = await page.text("#chat")
        assert [words in shown for words in (f"Rivers {BAD}", f'"&{{0}} {BAD}', f"How {BAD}?")] == [True] * 3
        assert await page.evaluate("window.taken") is None

    with Serving(tmp_path, [odd]) as server:
        visit(f"{server.url}/", look)


def test_where_no_assistant_is_installed_that_is_said(visit, tmp_path):
    async def look(page):
        await page.wait_for("document.querySelector('.choice').innerText.includes('No assistant is installed here yet.')")

    with Serving(tmp_path) as server:
        visit(f"{server.url}/", look)


def test_what_goes_wrong_is_said_and_can_be_tried_again(serve, visit):
    async def look(page):
        await page.wait_for(READY)
        await ask(page, "How many?")
        await page.wait_for("!!document.querySelector('.foot .notice.bad')")
        assert "no reply left" in await page.text(".foot .notice")
        await page.evaluate("window.first = document.querySelector('.foot .notice')")
        await page.click(".foot .notice button")
        await page.wait_for("!first.isConnected && !!document.querySelector('.foot .notice.bad')")

    with serve(clerk()) as server:
        visit(f"{server.url}/", look)


class NoModel:
    """What a server has where no model was found."""

    @property
    def name(self):
        raise UnknownModel("There is no model yet. Start Ollama.")


def test_where_there_is_no_model_people_are_told_what_to_do(serve, visit):
    async def look(page):
        await page.wait_for(
            "document.querySelector('#notices .notice')?.innerText.includes('There is no model yet. Start Ollama.')"
        )

    with serve(NoModel()) as server:
        visit(f"{server.url}/", look)


def test_a_model_that_is_being_fetched_shows_how_far_it_is(serve, visit):
    fetching = DownloadTracker()
    fetching.begin("qwen", 400_000_000)
    fetching.progress(100_000_000, 400_000_000)

    async def look(page):
        await page.wait_for("document.querySelector('#fetching')?.value === 100000000")
        assert await page.text(".fetching label") == "Fetching qwen: 100 of 400 MB"
        assert await page.evaluate("document.querySelector('#fetching').max") == 400_000_000
        fetching.done()
        await page.wait_for("document.querySelector('#fetching') === null")

    with serve(clerk("Hello."), fetching=fetching) as server:
        visit(f"{server.url}/", look)


@pytest.mark.parametrize("width", [360, 1280])
def test_everything_works_by_keyboard_alone(serve, visit, width):
    async def look(page):
        await page.wait_for(READY)
        assert await page.evaluate("document.activeElement.id") == "message"
        await page.evaluate("document.querySelector('.skip').focus()")
        await page.press("Enter")
        assert await page.evaluate("document.activeElement.id") == "main"
        seen = set()
        for _ in range(12):
            await page.press("Tab")
            seen.add(
                await page.evaluate("document.activeElement.name || document.activeElement.id || document.activeElement.className")
            )
        assert {"model", "assistant", "chip", "message", "send"} <= seen
        await page.evaluate("document.querySelector('[name=assistant]').focus()")
        await page.press("ArrowDown")
        assert await page.evaluate("document.querySelector('[name=assistant]:checked').value") == "courses"
        assert await page.evaluate("document.documentElement.scrollWidth") == width

    with serve(clerk()) as server:
        visit(f"{server.url}/", look, width=width)


def test_records_that_a_tool_returned_are_a_table_whatever_the_model_says(serve, visit):
    async def look(page):
        await page.wait_for(READY)
        await ask(page, "What is there?")
        await page.wait_for(DONE.format(1))
        await page.click(".call summary")
        table = "document.querySelector('.call .records table')"
        assert await page.evaluate(f"{table}.caption.innerText") == "60 records · the first 50 are shown · and 3 more"
        assert await page.evaluate(f"[...{table}.tHead.querySelectorAll('th[scope=col]')].map(each => each.innerText)") == [
            "item",
            "stock",
            "tags",
        ]
        assert await page.evaluate(f"[...{table}.rows[2].cells].map(each => each.innerText)") == ["lamp 1", "1", f"new, {BAD}"]
        assert await page.evaluate(f"{table}.tBodies[0].rows.length") == 50
        assert await page.evaluate("document.querySelector('.call .as-text pre').textContent.includes('lamp 59')")
        assert await page.evaluate("window.taken") is None

    with serve(clerk(calls(("list_items", {})), "Nothing at all.")) as server:
        visit(f"{server.url}/", look)
