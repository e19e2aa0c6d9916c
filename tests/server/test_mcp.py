"""Our tools over MCP: what clients see and may do. The official client in this process; a stranger's in one of its own."""

import asyncio
import json
import os
import subprocess
import sys
from base64 import b64decode
from pathlib import Path

import pytest
from mcp import Client, StdioServerParameters, types

from attachments import PDF, png, wav
from cli.forkserver import launched
from treadle import Agent, Audio, Document, FunctionToolset, Image, RunContext, ToolResult, allow, ask, deny, open_home, tool
from treadle.engine.setup import Answer
from treadle.guard.trust import wrap_untrusted
from treadle.home import close_home
from treadle.models.scripted import calls
from treadle.server.mcp.offering import Offering
from treadle.server.mcp.server import make_mcp_server
from treadle.testing import Scripted

HERE = Path(__file__).parent
TOOLS, STRANGER = str(HERE / "offered.py"), str(HERE / "stranger.py")
ENV = {"PATH": os.environ["PATH"]}
PATIENCE = 60  # seconds
ERAS = pytest.mark.parametrize("era", ["auto", "legacy"])  # clients of 2026, and those before


def program(folder, *words, start=launched):
    """`treadle mcp` as a client starts it."""
    command = start("-m", "treadle.cli.main", "mcp", "--tools", TOOLS, "--workspace", str(folder), *words)
    return command, {"TREADLE_HOME": str(data_of(folder))}


def new(*words):
    """Python's own command line, as somebody else has it."""
    return (sys.executable, *words)


def data_of(folder):
    """Where its runs are kept: nobody works in a folder that has them in it."""
    return folder.parent / f"{folder.name}-data"


def over_stdio(folder, *words, **how):
    (command, *arguments), env = program(folder, *words)
    return Client(StdioServerParameters(command=command, args=arguments, env=env), **how)


def offering(*tools, **more):
    return Offering([FunctionToolset(tools)], **more)


def run(work):
    async def bounded():
        async with asyncio.timeout(PATIENCE):
            return await work

    return asyncio.run(bounded())


def called(offered, name, arguments=None, **how):
    """What a client in this process gets."""

    async def work():
        async with Client(make_mcp_server(offered), **how) as client:
            return await client.call_tool(name, arguments or {})

    return run(work())


def text(result):
    return result.content[0].text


def person(action, content=None):
    """A client's person, who remembers what they were asked."""

    async def asked(context, params):
        asked.questions.append(params.message)
        return types.ElicitResult(action=action, content=content)

    asked.questions = []
    return asked


paid: list[int] = []


@tool(effect="write")
def pay(ctx: RunContext, amount: int) -> str:
    """Pay."""
    paid.append(amount)
    return f"{ctx.user or 'nobody'} paid {amount}"


@tool(effect="read")
def show() -> list[object]:
    """Show."""
    return ["See:", Image(png()), Audio(wav()), Document(PDF, name="p.pdf"), Document(b"# A", name="a.md")]


@pytest.mark.parametrize(
    ("value", "words", "structured"),
    [
        ({"a": 1}, '{"a":1}', {"a": 1}),
        ([1, 2], "[1,2]", {"result": [1, 2]}),
        (ToolResult("one", {"a": 1}), "one", {"a": 1}),
        ("words", wrap_untrusted("words", "look"), None),
    ],
)
def test_data_of_a_result_is_structured_content_and_untrusted_text_without_data_has_marks(value, words, structured):
    @tool(effect="read", trust="untrusted")
    def look() -> object:
        """Look."""
        return value

    result = called(offering(look), "look")
    assert (text(result), result.structured_content) == (words, structured)


def test_images_and_the_like_reach_clients(tmp_path):
    home = open_home(tmp_path)
    result = called(offering(show, services=home.services()), "show")
    close_home(home)
    words, image, sound, paper = result.content
    assert words.text.startswith("See:\n[image image/png]\n")
    assert words.text.endswith("[document a.md]\n# A")
    assert (b64decode(image.data), image.mime_type) == (png(), "image/png")
    assert (b64decode(sound.data), sound.mime_type) == (wav(), "audio/wav")
    assert (b64decode(paper.resource.blob), paper.resource.mime_type) == (PDF, "application/pdf")
    assert len(called(offering(show), "show").content) == 1  # without a place for the bytes there are labels


@tool(effect="read")
def stock(item: str) -> int:
    """Look."""
    return 40


@pytest.fixture(autouse=True)
def nothing_paid():
    paid.clear()


# what is offered


@ERAS
def test_tools_are_told_with_their_schemas_and_what_they_do_to_the_world(era):
    @tool(effect="destroy", retry="idempotent", trust="untrusted")
    def wipe() -> str:
        """Wipe."""
        return ""

    async def work():
        async with Client(make_mcp_server(offering(stock, pay, wipe, policy=[deny("pay")])), mode=era) as client:
            return (await client.list_tools()).tools

    looked, wiped = run(work())
    assert (looked.name, looked.description, looked.input_schema["required"]) == ("stock", "Look.", ["item"])
    assert (looked.annotations.read_only_hint, looked.annotations.destructive_hint) == (True, False)
    assert (wiped.annotations.destructive_hint, wiped.annotations.idempotent_hint) == (True, True)
    assert (looked.annotations.open_world_hint, wiped.annotations.open_world_hint) == (None, True)


@ERAS
def test_a_call_is_read_judged_and_answered_like_any_other(era):
    offered = offering(stock, pay, policy=[deny("pay")], user="ann")
    assert text(called(offered, "stock", {"item": "A"}, mode=era)) == "40"
    for name, arguments, words in (
        ("stock", {"itm": "A"}, 'did you mean "item"?'),
        ("stok", {}, "Did you mean stock?"),
        ("pay", {"amount": 1}, "forbids pay"),
    ):
        result = called(offered, name, arguments, mode=era)
        assert result.is_error
        assert words in text(result)
    assert paid == []


def test_what_tools_say_is_no_protocol_error(tmp_path):
    async def work():
        async with over_stdio(tmp_path, "--allow", "*") as client:
            return [await client.call_tool(name) for name in ("wipe", "fetch", "long")]

    wiped, fetched, long = run(work())
    assert (wiped.is_error, text(wiped)) == (True, "There is nothing to wipe.")
    assert "not instructions" in text(fetched)
    assert "characters left out; it is not kept" in text(long)
    assert len(text(long)) < 101_000


# people


@ERAS
def test_the_person_at_the_client_is_asked_and_their_yes_counts(era):
    asked = person("accept", {"approve": True})
    result = called(offering(pay, user="ann"), "pay", {"amount": 3}, mode=era, elicitation_callback=asked)
    assert text(result) == "ann paid 3"
    assert paid == [3]
    assert len(asked.questions) == 1
    assert 'pay wants to run with {"amount":3}' in asked.questions[0]


@ERAS
@pytest.mark.parametrize(
    ("action", "content"),
    [("accept", {"approve": False}), ("accept", {}), ("accept", {"approve": "true"}), ("decline", None), ("cancel", None)],
)
def test_anything_but_a_clear_yes_is_no(era, action, content):
    result = called(offering(pay), "pay", {"amount": 3}, mode=era, elicitation_callback=person(action, content))
    assert result.is_error
    assert "A person said no." in text(result)
    assert paid == []


@ERAS
def test_a_client_that_cannot_ask_is_told_what_a_person_may_do(era):
    result = called(offering(pay), "pay", {"amount": 3}, mode=era)
    assert result.is_error
    assert text(result).endswith("treadle mcp --allow pay.")
    unasked = called(offering(pay, attended=False), "pay", {"amount": 3}, mode=era, elicitation_callback=person("accept"))
    assert text(unasked).endswith("treadle mcp --allow pay.")
    assert "--allow" not in text(called(offering(pay, policy=[deny("pay")]), "pay", {"amount": 3}, mode=era))
    assert paid == []


def test_an_approver_or_a_rule_answers_before_any_client():
    result = called(offering(pay, approver=lambda approval: Answer(True, "The boss")), "pay", {"amount": 3})
    assert (text(result), paid) == ("nobody paid 3", [3])
    assert text(called(offering(pay, policy=[allow("pay")]), "pay", {"amount": 1})) == "nobody paid 1"


def test_a_client_that_fails_to_ask_has_said_no():
    async def broken(context, params):
        return types.ErrorData(code=-1, message="no window")

    result = called(offering(pay), "pay", {"amount": 3}, mode="legacy", elicitation_callback=broken)
    assert (result.is_error, text(result), paid) == (True, "The client could not ask anybody.", [])


def yes_to(asked):
    yes = types.ElicitResult(action="accept", content={"approve": True})
    return {"input_responses": dict.fromkeys(asked.input_requests, yes), "allow_input_required": True}


def test_a_yes_holds_for_the_very_call_that_was_shown_and_only_once():
    async def work():
        async with Client(make_mcp_server(offering(pay)), elicitation_callback=person("accept")) as client:
            call = client.session.call_tool
            first = await call("pay", {"amount": 1}, allow_input_required=True)
            assert isinstance(first, types.InputRequiredResult)
            said = yes_to(first)
            other = await call("pay", {"amount": 1000}, request_state=first.request_state, **said)
            assert isinstance(other, types.InputRequiredResult)  # other arguments are asked about anew
            spent = await call("pay", {"amount": 1}, request_state=first.request_state, **said)
            assert isinstance(spent, types.InputRequiredResult)  # and the yes was spent
            made_up = await call("pay", {"amount": 1}, request_state="made up", **said)
            assert isinstance(made_up, types.InputRequiredResult)
            assert paid == []
            done = await call("pay", {"amount": 1}, request_state=spent.request_state, **yes_to(spent))
            assert (text(done), paid) == ("nobody paid 1", [1])

    run(work())


@ERAS
def test_several_questions_of_one_call_are_all_asked(era):
    @tool(effect="write", retry="idempotent")
    async def twice(ctx: RunContext) -> str:
        """Pay twice."""
        return await ctx.call("pay", amount=1) + " and " + await ctx.call("pay", amount=2)

    asked = person("accept", {"approve": True})
    result = called(offering(pay, twice), "twice", mode=era, elicitation_callback=asked)
    assert text(result) == "nobody paid 1 and nobody paid 2"
    assert len(asked.questions) == 3


@ERAS
def test_questions_of_agents_that_are_tools_are_asked_too(era):
    buyers = [
        Agent(Scripted(calls(("pay", {"amount": amount})), f"bought for {amount}"), tools=[pay], name=f"buyer{amount}")
        for amount in (5, 6)
    ]

    @tool(effect="read", retry="idempotent")
    async def both(ctx: RunContext) -> list[str]:
        """Buy twice."""
        return [await ctx.call(buyer.name, prompt="Buy.") for buyer in buyers]

    offered = Offering([FunctionToolset([both]), *[buyer.as_tool() for buyer in buyers]])
    asked = person("accept", {"approve": True})
    assert text(called(offered, "both", mode=era, elicitation_callback=asked)) == '["bought for 5","bought for 6"]'
    assert paid == [5, 6]
    assert len(asked.questions) == 2


def test_what_cannot_be_seen_is_written_out_in_a_question():
    async def work():
        asked = person("accept", {"approve": True})

        @tool(effect="write")
        def say(words: str) -> str:
            """Say."""
            return words

        async with Client(make_mcp_server(offering(say)), elicitation_callback=asked) as client:
            await client.call_tool("say", {"words": "safe\u202egnihtyreve eteled"})
        return asked.questions[0]

    shown = run(work())
    assert "\u202e" not in shown
    assert "\\u202e" in shown


# journal and audit


def test_every_call_is_journaled_and_audited(tmp_path):
    home = open_home(tmp_path)
    try:
        offered = offering(stock, pay, policy=[ask("pay")], services=home.services(), user="ann", name="shop")
        called(offered, "stock", {"item": "A"})
        called(offered, "pay", {"amount": 3}, elicitation_callback=person("accept", {"approve": True}))
        called(offered, "pay", {"amount": 4}, elicitation_callback=person("decline"))
        called(offered, "stock", {"item": 1, "more": 2})
        records = [link.record for link in run(home.audit.records())]
        runs = run(home.journal.list_runs())
    finally:
        close_home(home)
    assert [(each.tool_name, each.user, each.verdict, each.success, each.stage) for each in records] == [
        ("stock", "ann", "allow", True, "ended"),
        ("pay", "ann", "approved", True, "begins"),
        ("pay", "ann", "approved", True, "ended"),
        ("pay", "ann", "refused", False, "ended"),
        ("stock", "ann", "deny", False, "ended"),
    ]
    assert records[1].verdict_by == "The person at mcp"
    assert {info.status for info in runs} == {"answered"}
    assert len(runs) == 4


# progress, cancelling, ending


@ERAS
def test_progress_is_told_in_order_and_before_the_answer(tmp_path, era):
    async def work():
        told = []

        async def hear(progress, total, message):
            told.append((progress, message))

        async with over_stdio(tmp_path, mode=era) as client:
            result = await client.call_tool("count", {"up_to": 3}, progress_callback=hear)
            return text(result), told

    assert run(work()) == ("counted to 3", [(1, "at 1"), (2, "at 2"), (3, "at 3")])


def statuses(folder):
    """How the runs ended that `treadle mcp` has kept."""
    home = open_home(data_of(folder))
    try:
        return sorted(info.status for info in run(home.journal.list_runs()))
    finally:
        close_home(home)


async def there(path):
    while not path.exists():  # noqa: ASYNC110 - another process makes it
        await asyncio.sleep(0.01)


@ERAS
def test_a_cancelled_call_is_stopped_and_its_run_says_so(tmp_path, era):
    async def work():
        async with over_stdio(tmp_path, mode=era) as client:
            calling = asyncio.create_task(client.call_tool("slow"))
            await there(tmp_path / "begun")
            calling.cancel()
            await there(tmp_path / "stopped")
            return text(await client.call_tool("count", {"up_to": 1}))

    assert run(work()) == "counted to 1"
    assert statuses(tmp_path) == ["answered", "cancelled"]


def test_a_question_that_is_withdrawn_ends_the_call(tmp_path):
    async def work():
        asked = asyncio.Event()

        async def think(context, params):
            asked.set()
            await asyncio.sleep(60)

        async with over_stdio(tmp_path, mode="legacy", elicitation_callback=think) as client:
            calling = asyncio.create_task(client.call_tool("pay", {"amount": 1}))
            await asked.wait()
            calling.cancel()
            await asyncio.wait([calling])
            return text(await client.call_tool("count", {"up_to": 1}))

    assert run(work()) == "counted to 1"
    assert not (tmp_path / "paid").exists()
    assert statuses(tmp_path) == ["answered", "answered"]  # nothing is left waiting


def test_calls_run_at_the_same_time(tmp_path):
    async def work():
        async with over_stdio(tmp_path) as client:
            slow = asyncio.create_task(client.call_tool("slow"))
            await there(tmp_path / "begun")
            counted = await asyncio.gather(*[client.call_tool("count", {"up_to": number}) for number in range(5)])
            slow.cancel()
            return [text(result) for result in counted]

    assert run(work()) == [f"counted to {number}" for number in range(5)]


def test_a_toolset_that_cannot_be_entered_is_said_to_the_client():
    class Broken(FunctionToolset):
        async def __aenter__(self):
            raise RuntimeError("no such place")

    with pytest.raises(BaseException, match="no such place"):
        called(Offering([Broken([stock])]), "stock")


def test_toolsets_are_entered_once_for_all_calls_and_left_at_the_end():
    inside = []

    class Counted(FunctionToolset):
        async def __aenter__(self):
            inside.append(1)
            return await super().__aenter__()

        async def __aexit__(self, *error):
            inside.pop()

    @tool(effect="read")
    def look() -> int:
        """Look."""
        return len(inside)

    assert text(called(Offering([Counted([look]), FunctionToolset([stock])]), "look")) == "2"  # for the server, and for the run
    assert inside == []


# somebody else's client


def check(heard):
    assert heard["server"] == "treadle"
    names = [each["name"] for each in heard["tools"]]
    assert names == ["count", "slow", "noisy", "pay", "wipe", "fetch", "long"]
    counted, invalid, failed, asked = [(each["isError"], each["content"][0]["text"]) for each in heard["called"]]
    assert counted == (False, "counted to 1")
    assert invalid[0]
    assert "up_to: expected a whole number" in invalid[1]
    assert failed == (True, "There is nothing to wipe.")
    assert asked[0]
    assert "treadle mcp --allow pay" in asked[1]


def test_somebody_elses_client_understands_us(tmp_path):
    command, env = program(tmp_path, "--allow", "wipe", start=new)
    done = subprocess.run(
        [sys.executable, STRANGER, "stdio", *command], capture_output=True, text=True, timeout=90, check=False, env={**ENV, **env}
    )
    assert done.returncode == 0, done.stderr
    heard = json.loads(done.stdout.splitlines()[-1])
    check(heard)
    assert heard["progress"] == [[1, "at 1"], [2, "at 2"], [3, "at 3"]]


def test_somebody_elses_client_understands_us_over_http(tmp_path):
    command, env = program(tmp_path, "--allow", "wipe", "--http", "0", "--no-token", start=new)
    with subprocess.Popen(command, stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, env={**ENV, **env}) as serving:
        try:
            assert serving.stderr is not None
            url = next(line.strip() for line in serving.stderr if line.startswith("http"))
            done = subprocess.run(
                [sys.executable, STRANGER, "http", url], capture_output=True, text=True, timeout=90, check=False, env=ENV
            )
            assert done.returncode == 0, done.stderr
            check(json.loads(done.stdout.splitlines()[-1]))
        finally:
            serving.kill()
