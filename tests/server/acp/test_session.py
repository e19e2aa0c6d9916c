"""Sessions of an editor, driven by the SDK's own client in this process: prompts, updates, permissions, cancellation."""

import asyncio
from base64 import b64encode

import pytest
from acp.exceptions import RequestError
from acp.helpers import embedded_blob_resource, embedded_text_resource, image_block, resource_block, resource_link_block, text_block

from attachments import png
from language_server import FakeServer, install_server
from server.acp.editor import connected, run
from server.running import assistant as make_assistant
from treadle import FunctionToolset, Limits, RunContext, Usage, allow, tool
from treadle.assistants.coding.agreed_checks import load_agreed_check
from treadle.core.requests import CallDelta, ReplyEnded, TextDelta, Traits
from treadle.errors import ModelUnavailable
from treadle.testing import Scripted, ScriptedReply, calls

pytestmark = pytest.mark.usefixtures("no_code_analysis")

SHOP = "def price(count):\n    return count * 3 + 1\n"
FIXED = SHOP.replace(" + 1", "")
READ = calls(("read_file", {"path": "shop.py"}))
EDIT = calls(("replace_text", {"path": "shop.py", "old": " + 1", "new": ""}))
STOCK = calls(("stock", {"item": "A"}))
UNDO_EDIT = calls(("replace_text", {"path": "shop.py", "old": "* 3", "new": "* 3 + 1"}))

COMPILE = "python3 -m compileall -q ."

paid: list[int] = []


@tool(effect="write")
def pay(ctx: RunContext, amount: int) -> str:
    """Pay."""
    paid.append(amount)
    ctx.progress(f"paying {amount}")
    return f"paid {amount}"


@tool(effect="read")
def stock(item: str) -> str:
    """Stock."""
    if item == "broken":
        raise ValueError("the shelf is gone")
    return f"40 of {item}"


@pytest.fixture
def folder(tmp_path):
    place = tmp_path / "shop"
    place.mkdir()
    (place / "shop.py").write_text(SHOP)
    paid.clear()
    return place


def bank(**more):
    return make_assistant("bank", toolsets=lambda host: [FunctionToolset([pay, stock], "bank")], **more)


class Pause:
    """A reply that stays in the middle until it is released."""

    def __init__(self):
        self.begun, self.goes_on = asyncio.Event(), asyncio.Event()

    async def reply(self):
        yield TextDelta("I am ")
        self.begun.set()
        await self.goes_on.wait()
        yield TextDelta("thinking.")
        yield ReplyEnded("done", Usage(requests=1))


# prompts and answers


def test_a_prompt_is_answered_in_chunks(folder):
    async def work():
        async with connected(folder, model=Scripted(ScriptedReply("It costs three.", thinking="Let me see."), chunk=4)) as desk:
            await desk.open()
            ended = await desk.say("What does one cost?")
            assert ended.stop_reason == "end_turn"
            assert desk.editor.text() == "It costs three."
            assert len(desk.editor.of("agent_message_chunk")) == 4
            assert desk.editor.text("agent_thought_chunk") == "Let me see."
            assert {session_id for session_id, _ in desk.editor.updates} == {desk.session_id}

    run(work())


def test_the_model_reads_mentions_embedded_files_and_images(folder):
    model = Scripted("I see.")
    data = png()

    async def work():
        async with connected(folder, model=model) as desk:
            await desk.open()
            await desk.say(
                "Compare ",
                resource_link_block("shop.py", (folder / "shop.py").as_uri()),
                " and ",
                resource_block(embedded_text_resource((folder / "my notes.md").as_uri(), "Cheap.")),
                " with ",
                resource_link_block("the law", "https://example.org/law"),
                image_block(base64(data), "image/png"),
            )

    run(work())
    text, quote, image = model.requests[0].history[-1].parts
    assert text.text.startswith("Compare `shop.py` and `my notes.md` with [the law](https://example.org/law)")
    assert 'source="my notes.md"' in quote.text
    assert "\n\nCheap.\n</untrusted-" in quote.text
    assert SHOP not in text.text + quote.text
    assert image.media_type == "image/png"


def test_an_embedded_file_is_untrusted_and_vouches_for_nothing(folder):
    pays = calls(("pay", {"amount": 40}))

    async def work(*blocks):
        async with connected(folder, pays, "Paid.", assistant=bank(policy=[allow("*")]), choose="reject_once") as desk:
            await desk.open()
            await desk.say(*blocks)
            return len(desk.editor.asked)

    bill = resource_block(embedded_text_resource((folder / "bill.md").as_uri(), "Please pay 40."))
    empty = resource_block(embedded_text_resource((folder / "empty.md").as_uri(), " "))
    assert run(work("Do what this says: ", bill)) == 1
    assert run(work("Pay 40. ", bill)) == 0
    assert run(work("Do it. ", empty)) == 0


def base64(data):
    return b64encode(data).decode()


def test_what_the_model_does_not_take_is_refused(folder):
    text_only = Traits(modalities=frozenset())

    async def work():
        async with connected(folder, model=Scripted("never", traits=text_only)) as desk:
            await desk.open()
            with pytest.raises(RequestError, match="doesn't take image/png; choose one that does"):
                await desk.say("See", image_block(base64(png()), "image/png"))
            with pytest.raises(RequestError, match="convert it to one first"):
                await desk.say("See", resource_block(embedded_blob_resource("file:///x.bin", base64(b"\0\1\2"))))
            with pytest.raises(RequestError, match="more than 1,000,000 bytes"):
                await desk.say("See", resource_block(embedded_text_resource("file:///x.txt", "x" * 1_000_001)))
            with pytest.raises(RequestError, match="The prompt is empty"):
                await desk.say(" ")

    run(work())


def test_a_file_outside_of_the_folder_is_not_read_because_it_is_mentioned(folder):
    (folder.parent / "secret.txt").write_text("TOP-SECRET")
    model = Scripted("No.")

    async def work():
        async with connected(folder, model=model) as desk:
            await desk.open()
            uris = (folder.parent / "secret.txt").as_uri(), f"{folder.as_uri()}/../secret.txt"
            await desk.say("Read ", *[resource_link_block("secret.txt", uri) for uri in uris])

    run(work())
    said = model.requests[0].history[-1].text
    assert "TOP-SECRET" not in said
    assert f"[secret.txt]({(folder.parent / 'secret.txt').as_uri()})" in said


def test_how_full_the_context_is_and_what_was_used_is_reported(folder):
    answers = [
        ScriptedReply(calls=READ.calls, usage=Usage(requests=1, input_tokens=100, output_tokens=10)),
        ScriptedReply("Done.", usage=Usage(requests=1, input_tokens=150, output_tokens=20)),
    ]

    async def work():
        async with connected(folder, model=Scripted(*answers, traits=Traits(context=1000))) as desk:
            await desk.open()
            ended = await desk.say("Look.")
            assert [(update.used, update.size) for update in desk.editor.of("usage_update")] == [(110, 1000), (170, 1000)]
            assert (ended.usage.input_tokens, ended.usage.output_tokens, ended.usage.total_tokens) == (250, 30, 280)

    run(work())


@pytest.mark.parametrize(
    ("limits", "replies", "reason"),
    [
        (Limits(rounds=1), [STOCK, "40, I think."], "max_turn_requests"),
        (Limits(tokens=10), [ScriptedReply(calls=STOCK.calls, usage=Usage(1, 0, 20, 5)), "40."], "max_tokens"),
    ],
)
def test_limits_are_stop_reasons(folder, limits, replies, reason):
    async def work():
        async with connected(folder, *replies, assistant=bank(limits=limits)) as desk:
            await desk.open()
            ended = await desk.say("How many?")
            assert ended.stop_reason == reason
            assert "40" in desk.editor.text()

    run(work())


def test_a_turn_that_fails_is_an_error_with_the_reason(folder):
    async def work():
        async with connected(folder) as desk:
            await desk.open()
            with pytest.raises(RequestError, match="has no reply left") as error:
                await desk.say("Hello?")
            assert error.value.code == -32603
            assert desk.editor.text() == ""

    run(work())


# calls


def test_calls_are_shown_with_kind_status_and_result(folder):
    replies = [
        calls(
            ("read_file", {"path": "shop.py"}),
            ("grep", {"pattern": "price"}),
            ("read_file", {"path": "missing.py"}),
            ("nonsense", {}),
        ),
        "Seen.",
    ]

    async def work():
        async with connected(folder, *replies) as desk:
            await desk.open()
            await desk.say("Look.")
            read, grep, missing, unknown = desk.editor.calls().values()
            assert (read["kind"], read["status"], read["title"]) == ("read", "completed", "read_file: shop.py")
            assert "def price" in read["content"][0]["content"]["text"]
            assert read["raw_input"] == {"path": "shop.py"}
            assert (grep["kind"], grep["status"]) == ("search", "completed")
            assert (missing["status"], missing["locations"][0]["path"]) == ("failed", str(folder / "missing.py"))
            assert unknown["status"] == "failed"
            assert desk.editor.asked == []

    run(work())


def test_an_edit_is_asked_about_with_its_diff(folder):
    async def work():
        async with connected(folder, READ, EDIT, "Fixed.") as desk:
            await desk.open()
            ended = await desk.say("Fix the price.")
            assert ended.stop_reason == "end_turn"
            assert (folder / "shop.py").read_text() == FIXED
            ((call, options),) = desk.editor.asked
            assert [option.option_id for option in options] == [
                "allow_once",
                "edits",
                "allow_session",
                "allow_always",
                "reject_once",
            ]
            diff = call.content[-1]
            assert (diff.path, diff.old_text, diff.new_text) == (str(folder / "shop.py"), SHOP, FIXED)
            _, edited = desk.editor.calls().values()
            assert (edited["kind"], edited["status"]) == ("edit", "completed")
            assert edited["locations"][0]["path"] == str(folder / "shop.py")
            assert edited["content"][-1]["new_text"] == FIXED

    run(work())


def test_a_reply_that_breaks_off_in_a_call_leaves_none_pending(folder):
    async def broken():
        yield TextDelta("I will ")
        yield CallDelta("c1", "stock")
        raise ModelUnavailable("The server went away.")

    async def work():
        async with connected(folder, lambda request: broken(), "I will not.", assistant=bank(limits=Limits(tries=2))) as desk:
            await desk.open()
            await desk.say("How many?")
            assert [call["status"] for call in desk.editor.calls().values()] == ["failed"]
            assert desk.editor.text() == "I will not."
            assert "went away" in desk.editor.text("agent_thought_chunk")

    run(work())


# permissions


def test_a_call_that_is_not_an_edit_is_asked_about_with_all_its_arguments(folder):
    async def work():
        async with connected(folder, calls(("pay", {"amount": 5})), "Paid.", assistant=bank()) as desk:
            opened = await desk.open()
            await desk.say("Pay 5.")
            assert opened.modes is None
            ((call, _),) = desk.editor.asked
            assert '"amount": 5' in call.content[-1].content.text
            assert call.raw_input == {"amount": 5}
            assert paid == [5]

    run(work())


@pytest.mark.parametrize(
    ("choice", "remembered", "status"), [("allow_once", "python3 -m compileall -q .", "completed"), ("reject_once", "", "failed")]
)
def test_a_check_is_proposed_where_there_are_no_tests(folder, choice, remembered, status):
    async def work():
        async with connected(folder, calls(("run_tests", {})), "Done.", choose=choice) as desk:
            await desk.open()
            await desk.say("Does it work?")
            ((call, options),) = desk.editor.asked
            assert call.raw_input == {"command": COMPILE}
            assert [option.option_id for option in options] == ["allow_once", "reject_once"]
            assert load_agreed_check(folder.parent / "shop-data", folder) == remembered
            assert desk.editor.calls()[call.tool_call_id]["status"] == status

    run(work())


def test_a_rejected_call_does_not_run_and_the_model_goes_on(folder):
    model = Scripted(calls(("pay", {"amount": 5})), "Then not.")

    async def work():
        async with connected(folder, model=model, choose="reject_once", assistant=bank()) as desk:
            await desk.open()
            ended = await desk.say("Pay 5.")
            assert ended.stop_reason == "end_turn"
            assert [call["status"] for call in desk.editor.calls().values()] == ["failed"]

    run(work())
    assert paid == []
    assert "The user rejected it." in model.requests[1].history[-1].parts[0].content


def test_what_is_allowed_for_the_session_is_not_asked_again_and_holds_for_this_session(folder):
    pays = [calls(("pay", {"amount": 5})), calls(("pay", {"amount": 5})), "Paid twice.", calls(("pay", {"amount": 5})), "Again."]

    async def work():
        async with connected(folder, *pays, choose="allow_session", assistant=bank()) as desk:
            await desk.open()
            await desk.say("Pay 5 twice.")
            assert len(desk.editor.asked) == 1
            assert "for this session" in desk.editor.asked[0][1][1].name
            await desk.open()
            await desk.say("Pay 5.")
            assert len(desk.editor.asked) == 2

    run(work())
    assert paid == [5, 5, 5]


def test_what_is_always_allowed_is_not_asked_in_another_session(folder):
    async def work():
        replies = [calls(("pay", {"amount": 5})), "Paid.", calls(("pay", {"amount": 5})), "Again."]
        async with connected(folder, *replies, choose="allow_always", assistant=bank()) as desk:
            for _ in range(2):
                await desk.open()
                await desk.say("Pay 5.")
            assert len(desk.editor.asked) == 1

    run(work())
    assert paid == [5, 5]


def test_a_choice_that_was_not_offered_is_a_no(folder):
    async def work():
        async with connected(folder, calls(("pay", {"amount": 5})), "No.", choose="anything", assistant=bank()) as desk:
            await desk.open()
            await desk.say("Pay 5.")

    run(work())
    assert paid == []


def test_an_editor_that_cannot_ask_has_said_no(folder):
    def fail(asked):
        raise RequestError.method_not_found("session/request_permission")

    model = Scripted(calls(("pay", {"amount": 5})), "No.")

    async def work():
        async with connected(folder, model=model, choose=fail, assistant=bank()) as desk:
            await desk.open()
            await desk.say("Pay 5.")

    run(work())
    assert paid == []
    assert "could not ask the user" in model.requests[1].history[-1].parts[0].content


# cancellation


def test_a_turn_is_cancelled_while_the_model_answers_and_the_session_goes_on(folder):
    async def work():
        pause = Pause()
        async with connected(folder, lambda request: pause.reply(), "Here I am.") as desk:
            await desk.open()
            turn = asyncio.create_task(desk.say("Think."))
            await pause.begun.wait()
            with pytest.raises(RequestError, match="A turn of this session is running"):
                await desk.say("And?")
            await desk.agent.cancel(desk.session_id)
            assert (await turn).stop_reason == "cancelled"
            assert (await desk.say("Hello?")).stop_reason == "end_turn"
            assert desk.editor.text().endswith("Here I am.")

    run(work())


def test_a_turn_is_cancelled_while_the_user_is_asked_and_nothing_runs(folder):
    async def work():
        async with connected(folder, calls(("pay", {"amount": 5})), "Fine.", choose=None, assistant=bank()) as desk:
            desk.editor.waits = asyncio.Event()
            await desk.open()
            turn = asyncio.create_task(desk.say("Pay 5."))
            await desk.editor.until_asked()
            await desk.agent.cancel(desk.session_id)
            assert (await turn).stop_reason == "cancelled"
            desk.editor.waits.set()  # the editor answers its question as cancelled
            assert [call["status"] for call in desk.editor.calls().values()] == ["failed"]
            assert (await desk.say("Never mind.")).stop_reason == "end_turn"

    run(work())
    assert paid == []


def test_a_question_that_is_answered_as_cancelled_ends_the_turn(folder):
    async def work():
        async with connected(folder, calls(("pay", {"amount": 5})), choose=None, assistant=bank()) as desk:
            await desk.open()
            assert (await desk.say("Pay 5.")).stop_reason == "cancelled"

    run(work())
    assert paid == []


def test_a_cancelled_prompt_that_has_not_begun_and_a_cancel_without_a_turn(folder):
    async def work():
        async with connected(folder, "Hello.") as desk:
            await desk.open()
            await desk.agent.cancel(desk.session_id)
            await desk.agent.cancel("nothing")
            assert (await desk.say("Hello?")).stop_reason == "end_turn"

    run(work())


def test_sessions_do_not_wait_for_each_other(folder, tmp_path):
    (tmp_path / "other").mkdir()

    async def work():
        async with connected(folder, calls(("pay", {"amount": 1})), "Here.", "Paid.", choose=None, assistant=bank()) as desk:
            desk.editor.waits = asyncio.Event()
            await desk.open()
            turn = asyncio.create_task(desk.say("Pay 1."))
            await desk.editor.until_asked()
            other = await desk.agent.new_session(str(tmp_path / "other"), mcp_servers=[])
            ended = await desk.agent.prompt(other.session_id, [text_block("Hello?")])
            assert ended.stop_reason == "end_turn"
            desk.editor.choose = "allow_once"
            desk.editor.waits.set()
            assert (await turn).stop_reason == "end_turn"

    run(work())
    assert paid == [1]


def test_loading_a_session_whose_turn_is_running_interrupts_it(folder):
    async def work():
        async with connected(folder, calls(("pay", {"amount": 1})), "Paid.", "Bye.", choose=None, assistant=bank()) as desk:
            desk.editor.waits = asyncio.Event()
            await desk.open()
            turn = asyncio.create_task(desk.say("Pay 1."))
            await desk.editor.until_asked()
            await desk.agent.load_session(str(folder), desk.session_id, mcp_servers=[])
            assert (await turn).stop_reason == "cancelled"
            desk.editor.choose, desk.editor.waits = "allow_once", None
            assert (await desk.say("Go on.")).stop_reason == "end_turn"
            assert desk.editor.text().endswith("Bye.")

    run(work())
    assert paid == [1]


# modes and commands


def test_in_accept_edits_an_edit_runs_without_asking_and_shows_its_diff(folder):
    async def work():
        async with connected(folder, READ, EDIT, "Fixed.") as desk:
            await desk.open()
            await desk.agent.set_session_mode(desk.session_id, "accept-edits")
            await desk.say("Fix it.")
            assert desk.editor.asked == []
            assert [update.current_mode_id for update in desk.editor.of("current_mode_update")] == ["accept-edits"]
            _, edited = desk.editor.calls().values()
            assert (edited["content"][-1]["old_text"], edited["content"][-1]["new_text"]) == (SHOP, FIXED)

    run(work())
    assert (folder / "shop.py").read_text() == FIXED


def test_an_edit_is_checked_by_a_language_server_and_the_model_and_the_editor_read_the_errors(folder, monkeypatch):
    server = FakeServer()
    install_server(monkeypatch, server)
    model = Scripted(READ, calls(("replace_text", {"path": "shop.py", "old": "count * 3 + 1", "new": "bad"})), "Broken.")

    async def work():
        async with connected(folder, model=model) as desk:
            await desk.open()
            await desk.agent.set_session_mode(desk.session_id, "accept-edits")
            await desk.say("Break it.")
            return list(desk.editor.calls().values())

    _, shown = run(work())
    words = "checker finds 1 new error after this change:\nshop.py:2: return bad"
    assert words in model.requests[-1].history[-1].parts[0].content
    assert shown["raw_output"]["diagnostics"]["errors"] == [{"line": 2, "message": "return bad", "code": ""}]
    assert server.starts == 1


def test_in_plan_mode_nothing_is_changed(folder):
    model = Scripted(READ, EDIT, "This is my plan.")

    async def work():
        async with connected(folder, model=model) as desk:
            await desk.open()
            await desk.agent.set_session_mode(desk.session_id, "plan")
            await desk.say("Fix it.")
            assert desk.editor.asked == []
            assert [call["status"] for call in desk.editor.calls().values()] == ["completed", "failed"]
            assert "You are in plan mode" in model.requests[0].instructions

    run(work())
    assert (folder / "shop.py").read_text() == SHOP


def test_a_mode_can_be_switched_during_a_turn(folder):
    async def work():
        async with connected(folder, READ, EDIT, UNDO_EDIT, "Done.") as desk:
            await desk.open()

            def choose(asked):
                switching.append(asyncio.ensure_future(desk.agent.set_session_mode(desk.session_id, "accept-edits")))
                return "allow_once"

            switching = []
            desk.editor.choose = choose
            await desk.say("Fix it, and undo that.")
            await asyncio.gather(*switching)
            assert len(desk.editor.asked) <= 2

    run(work())
    assert (folder / "shop.py").read_text() == SHOP


def test_modes_that_are_not_there_are_refused(folder):
    async def work():
        async with connected(folder) as desk:
            await desk.open()
            with pytest.raises(RequestError, match="the modes are ask, accept-edits, plan"):
                await desk.agent.set_session_mode(desk.session_id, "yolo")
        async with connected(folder, assistant=bank()) as desk:
            await desk.open()
            with pytest.raises(RequestError, match="bank has no modes"):
                await desk.agent.set_session_mode(desk.session_id, "ask")

    run(work())


def test_accepting_edits_switches_the_mode(folder):
    async def work():
        async with connected(folder, READ, EDIT, UNDO_EDIT, "Done.", choose="edits") as desk:
            await desk.open()
            await desk.say("Fix it, and undo that.")
            assert len(desk.editor.asked) == 1
            assert [update.current_mode_id for update in desk.editor.of("current_mode_update")] == ["accept-edits"]

    run(work())
    assert (folder / "shop.py").read_text() == SHOP


PLAN = calls(("propose_plan", {"steps": ["Change shop.py.", "Run the tests."]}))


@pytest.mark.parametrize(
    ("chosen", "mode", "asked", "becomes"),
    [("allow_once", ["plan", "ask"], 2, FIXED), ("plan", ["plan", "accept-edits"], 1, FIXED), ("reject_once", ["plan"], 1, SHOP)],
)
def test_a_plan_is_approved_and_carried_out(folder, chosen, mode, asked, becomes):
    async def work():
        async with connected(folder, READ, PLAN, EDIT, "Done.") as desk:
            await desk.open()
            await desk.agent.set_session_mode(desk.session_id, "plan")
            desk.editor.choose = lambda asked: chosen if asked[0].kind == "switch_mode" else "allow_once"
            await desk.say("Fix it.")
            assert [update.current_mode_id for update in desk.editor.of("current_mode_update")] == mode
            assert len(desk.editor.asked) == asked
            call, options = desk.editor.asked[0]
            assert [option.name for option in options] == [
                "Approve the plan",
                "Approve the plan and accept its edits",
                "Keep planning",
            ]
            assert "1. Change shop.py.\n2. Run the tests." in call.content[-1].content.text

    run(work())
    assert (folder / "shop.py").read_text() == becomes


def test_the_task_list_is_a_plan_also_when_the_session_is_loaded(folder):
    tasks = [{"title": "Look", "state": "done"}, {"title": "Fix", "state": "active"}, {"title": "Test"}]

    async def work():
        async with connected(folder, calls(("update_tasks", {"tasks": tasks})), "So far.") as desk:
            await desk.open()
            await desk.say("Fix it.")
            for _ in range(2):
                (plan,) = desk.editor.of("plan")
                said = [(entry.content, entry.status) for entry in plan.entries]
                assert said == [("Look", "completed"), ("Fix", "in_progress"), ("Test", "pending")]
                desk.editor.updates.clear()
                await desk.agent.load_session(str(folder), desk.session_id, mcp_servers=[])

    run(work())


def test_commands_are_announced_and_run_without_the_model(folder):
    model = Scripted("Hello.")

    async def work():
        async with connected(folder, model=model) as desk:
            await desk.open()
            assert (await desk.say("/compact")).stop_reason == "end_turn"
            assert desk.editor.text() == "There is too little to compact."
            (announced,) = desk.editor.of("available_commands_update")
            assert [command.name for command in announced.available_commands] == ["compact", "diff", "undo", "review"]
            assert announced.available_commands[2].input.root.hint == "N"

    run(work())
    assert model.requests == []


def test_changes_are_shown_reviewed_and_undone_exactly(folder):
    model = Scripted(READ, EDIT, "Fixed.", "It is fine.", "I see.")

    async def work():
        async with connected(folder, model=model) as desk:
            await desk.open()
            await desk.say("/undo")
            await desk.say("/diff")
            await desk.say("/review")
            assert "nothing to undo" in desk.editor.text()
            assert "changed nothing" in desk.editor.text()
            assert "nothing to review" in desk.editor.text()
            await desk.say("Fix it.")
            await desk.say("/diff")
            assert "-    return count * 3 + 1" in desk.editor.text()
            await desk.say("/review the price")
            assert "the price" in model.requests[3].history[-1].text
            with pytest.raises(RequestError, match="takes how many changes"):
                await desk.say("/undo everything")
            await desk.say("/undo all")
            assert (folder / "shop.py").read_text() == SHOP
            assert "shop.py" in desk.editor.text().splitlines()[-1]
            await desk.say("Thanks.")
            assert "The user undid your last changes of shop.py" in model.requests[4].history[-1].text

    run(work())


def test_what_the_user_changed_since_is_not_undone(folder):
    async def work():
        async with connected(folder, READ, EDIT, "Fixed.") as desk:
            await desk.open()
            await desk.say("Fix it.")
            (folder / "shop.py").write_text("mine")
            with pytest.raises(RequestError, match=r"shop\.py changed after that"):
                await desk.say("/undo")

    run(work())
    assert (folder / "shop.py").read_text() == "mine"


def test_the_symbol_index_is_built_while_a_session_is_open(folder, monkeypatch):
    seen = []
    monkeypatch.setattr("treadle.assistants.coding.session.ProjectSymbols.start", lambda self: seen.append("started"))

    async def close(self):
        seen.append("closed")

    monkeypatch.setattr("treadle.assistants.coding.session.ProjectSymbols.close", close)
    monkeypatch.setenv("TREADLE_CODING_INDEX", "true")

    async def work():
        async with connected(folder) as desk:
            await desk.open()
            assert seen == ["started"]

    run(work())
    assert seen == ["started", "closed"]


def test_a_loaded_session_is_in_the_mode_that_it_was_switched_to(folder):
    async def work():
        async with connected(folder, "One.", "Two.") as desk:
            await desk.open()
            await desk.say("Hello.")
            await desk.agent.set_session_mode(desk.session_id, "accept-edits")  # after the turn, and none follows
        async with connected(folder, "Three.") as other:
            loaded = await other.agent.load_session(str(folder), desk.session_id, mcp_servers=[])
            assert loaded.modes.current_mode_id == "accept-edits"
            await other.agent.set_session_mode(desk.session_id, "plan")
        async with connected(folder) as third:
            loaded = await third.agent.load_session(str(folder), desk.session_id, mcp_servers=[])
            assert loaded.modes.current_mode_id == "plan"

    run(work())


def test_the_mode_of_a_session_is_that_of_its_plan(folder):
    async def work():
        async with connected(folder, PLAN, "Done.", "Fine.", choose="plan") as desk:
            await desk.open()
            await desk.agent.set_session_mode(desk.session_id, "plan")
            await desk.say("Plan it.")
            loaded = await desk.agent.load_session(str(folder), desk.session_id, mcp_servers=[])
            assert loaded.modes.current_mode_id == "accept-edits"

    run(work())
