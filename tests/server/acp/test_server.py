"""What an editor requests besides prompts: versions, capabilities, folders, MCP servers, and sessions that were there before."""

import asyncio
import subprocess
import sys
from contextlib import AsyncExitStack

import pytest
from acp.exceptions import RequestError
from acp.schema import AcpMcpServer, EnvVariable, HttpMcpServer, McpServerStdio

from server.acp.editor import connected, first_only, run
from server.running import assistant as make_assistant
from treadle import FunctionToolset, Limits, tool
from treadle.core.requests import Traits
from treadle.errors import UnknownModel
from treadle.home import close_home, open_home
from treadle.plugins.assistant import Host
from treadle.plugins.assistants import get_assistant
from treadle.server.acp.mcp_servers import connect_servers
from treadle.server.acp.server import AcpServer
from treadle.testing import Scripted, ScriptedReply, calls

pytestmark = pytest.mark.usefixtures("no_code_analysis")

SHOP = "def price(count):\n    return count * 3 + 1\n"
READ = calls(("read_file", {"path": "shop.py"}))
EDIT = calls(("replace_text", {"path": "shop.py", "old": " + 1", "new": ""}))

paid: list[int] = []


@tool(effect="write")
def pay(amount: int) -> str:
    """Pay."""
    paid.append(amount)
    return f"paid {amount}"


def bank(**more):
    return make_assistant("bank", toolsets=lambda host: [FunctionToolset([pay], "bank")], **more)


@pytest.fixture
def folder(tmp_path):
    place = tmp_path / "shop"
    place.mkdir()
    (place / "shop.py").write_text(SHOP)
    paid.clear()
    return place


# the connection


def test_neither_a_web_server_nor_mcp_is_needed():
    """`treadle[acp]` alone is enough."""
    code = (
        "import sys\n"
        "sys.modules.update(dict.fromkeys(('starlette', 'uvicorn', 'mcp', 'anyio', 'httpx')))\n"
        "import treadle.cli.commands.acp, treadle.server.acp.server, treadle.server.acp.stdio\n"
        "assert not treadle.server.acp.server.can_connect()\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True, timeout=120)


@pytest.mark.parametrize("version", [0, 1, 99])
def test_the_version_is_ours_whatever_the_client_would_like(folder, version):
    async def work():
        async with connected(folder) as desk:
            told = await desk.agent.initialize(version)
            assert told.protocol_version == 1
            assert (told.agent_info.name, told.auth_methods) == ("treadle", [])

    run(work())


@pytest.mark.parametrize(("traits", "image"), [(Traits(), True), (Traits(modalities=frozenset()), False)])
def test_images_are_offered_where_the_model_takes_them(folder, traits, image):
    async def work():
        async with connected(folder, model=Scripted("x", traits=traits)) as desk:
            can = (await desk.agent.initialize(1)).agent_capabilities
            assert (can.prompt_capabilities.image, can.prompt_capabilities.embedded_context) == (image, True)
            assert (can.load_session, can.mcp_capabilities.http, can.session_capabilities.list is not None) == (True, True, True)

    run(work())


def test_nobody_signs_in(folder):
    async def work():
        async with connected(folder) as desk:
            with pytest.raises(RequestError, match=r"none is needed\. Open a session right away"):
                await desk.agent.authenticate("token")
            with pytest.raises(RequestError, match="Method not found"):
                await desk.agent.ext_method("anything", {})

    run(work())


def test_without_a_model_opening_a_session_says_what_to_do(folder):
    async def none():
        raise UnknownModel("There is no model; name one with --model.")

    async def work():
        home = open_home(folder.parent / "data")
        try:
            server = AcpServer(bank(), lambda at: Host(home, none, folder=at))
            server.on_connect(object())  # no request reaches it
            told = await server.initialize(1)
            assert not told.agent_capabilities.prompt_capabilities.image
            with pytest.raises(RequestError, match="name one with --model"):
                await server.new_session(str(folder))
            await server.close()
        finally:
            close_home(home)

    run(work())


@pytest.mark.parametrize(
    ("cwd", "more", "words"),
    [
        ("shop", {}, "has to be an absolute path"),
        ("/nowhere/at/all", {}, "There is no folder"),
        ("/", {}, "own folder"),
        ("/etc", {}, "folder of the system"),
        ("{folder}", {"additional_directories": ["/tmp"]}, "works in one folder"),
    ],
)
def test_a_session_has_one_folder_that_can_be_a_workspace(folder, cwd, more, words):
    async def work():
        async with connected(folder) as desk:
            with pytest.raises(RequestError, match=words) as error:
                await desk.agent.new_session(cwd.format(folder=folder), mcp_servers=[], **more)
            assert error.value.code == -32602

    run(work())


def test_requests_about_no_session_say_so(folder):
    async def work():
        async with connected(folder) as desk:
            desk.session_id = "nothing"
            with pytest.raises(RequestError, match="There is no open session nothing: load it, or open a new one") as error:
                await desk.say("Hello?")
            assert error.value.code == -32002
            with pytest.raises(RequestError, match="There is no run nothing of yours"):
                await desk.agent.load_session(str(folder), "nothing", mcp_servers=[])

    run(work())


# MCP servers


def mcp_server(name, *words, env=()):
    variables = [EnvVariable(name=key, value=value) for key, value in env]
    return McpServerStdio(name=name, command=sys.executable, args=[*words], env=variables)


def test_tools_of_a_named_mcp_server_are_there_and_need_approval(folder):
    model = Scripted(calls(("time-server_get_current_time", {"timezone": "UTC"})), "It is late.")

    async def work():
        async with connected(folder, model=model, assistant=bank()) as desk:
            await desk.open(mcp_servers=[mcp_server("time server", "-m", "mcp_server_time", "--local-timezone", "UTC")])
            await desk.say("How late is it?")
            (call,) = desk.editor.calls().values()
            assert call["status"] == "completed"
            assert "UTC" in call["content"][0]["content"]["text"]

    run(work())


def test_an_mcp_server_that_cannot_be_used_is_named(folder):
    async def work():
        async with connected(folder, assistant=bank()) as desk:
            with pytest.raises(RequestError, match="The MCP server broken can't be used"):
                await desk.open(mcp_servers=[mcp_server("broken", "-c", "raise SystemExit(1)")])
            with pytest.raises(RequestError, match="one of the editor's own"):
                await desk.open(mcp_servers=[AcpMcpServer(type="acp", name="own", server_id="1")])
            with pytest.raises(RequestError, match="has to begin with http"):
                await desk.open(mcp_servers=[HttpMcpServer(type="http", name="files", url="ftp://x", headers=[])])

    run(work())


def test_secrets_of_mcp_servers_are_masked(folder):
    async def work():
        async with AsyncExitStack() as stack:
            server = mcp_server("time", "-m", "mcp_server_time", env=[("API_KEY", "hunter2hunter2"), ("REGION", "north-east")])
            return (await connect_servers([server], stack)).secrets

    assert run(work()) == ("hunter2hunter2",)


# sessions that were there before


def test_a_session_is_loaded_with_all_that_was_said(folder):
    async def work():
        thinks = ScriptedReply("Let me look.", calls=READ.calls, thinking="Hm.")
        async with connected(folder, thinks, EDIT, "Fixed.", choose="reject_once") as desk:
            await desk.open()
            await desk.say("Fix the price.")
            session_id, before = desk.session_id, desk.editor
        model = Scripted("You are welcome.")
        async with connected(folder, model=model) as desk:
            loaded = await desk.agent.load_session(str(folder), session_id, mcp_servers=[])
            assert loaded.modes.current_mode_id == "ask"
            assert desk.editor.text("user_message_chunk") == "Fix the price."
            assert desk.editor.text() == before.text()
            assert desk.editor.text("agent_thought_chunk") == "Hm."
            assert {name: call["status"] for name, call in desk.editor.calls().items()} == {
                name: call["status"] for name, call in before.calls().items()
            }
            assert model.requests == []
            desk.session_id = session_id
            assert (await desk.say("Thanks.")).stop_reason == "end_turn"
            said = [message.text for message in model.requests[0].history if message.role == "person"]
            assert said == ["Fix the price.", "Thanks."]

    run(work())


def test_a_turn_that_the_editor_left_while_it_was_asked_goes_on_and_nothing_runs_twice(folder):
    async def work():
        async with connected(
            folder, calls(("pay", {"amount": 1}), ("pay", {"amount": 2})), choose=first_only, assistant=bank()
        ) as desk:
            await desk.open()
            session_id = desk.session_id
            turn = asyncio.create_task(desk.say("Pay 1 and 2."))
            await desk.editor.until_asked(2)  # the user closes the editor
            await desk.agent.close()
            await asyncio.wait([turn])
            assert turn.exception() is not None
        model = Scripted("Both are paid.", "Bye.")
        async with connected(folder, model=model, assistant=bank()) as desk:
            await desk.agent.load_session(str(folder), session_id, mcp_servers=[])
            desk.session_id = session_id
            assert (await desk.say("And now?")).stop_reason == "end_turn"
            assert [asked[0].raw_input for asked in desk.editor.asked] == [{"amount": 2}]
            assert [call["status"] for call in desk.editor.calls().values()] == ["completed", "completed"]
            assert desk.editor.text().endswith("Bye.")

    run(work())
    assert sorted(paid) == [1, 2]


def test_a_session_is_loaded_in_its_own_folder_and_by_its_own_user(folder):
    other = folder.parent / "other"
    other.mkdir()

    async def work():
        async with connected(folder, "Hello.", user="ann") as desk:
            await desk.open()
            await desk.say("Hello.")
            with pytest.raises(RequestError, match=f"is about {folder}: open it there"):
                await desk.agent.load_session(str(other), desk.session_id, mcp_servers=[])
            await desk.agent.load_session(str(folder), desk.session_id, mcp_servers=[])
        async with connected(folder, user="bob") as stranger:
            with pytest.raises(RequestError, match="of yours") as error:
                await stranger.agent.load_session(str(folder), desk.session_id, mcp_servers=[])
            assert error.value.code == -32002

    run(work())


def test_sessions_are_listed_by_folder(folder):
    async def work():
        async with connected(folder, "Hello.", "Hello.") as desk:
            assert (await desk.agent.list_sessions()).sessions == []
            await desk.open()
            await desk.say("What is this?")
            (listed,) = (await desk.agent.list_sessions(cwd=str(folder))).sessions
            assert (listed.session_id, listed.cwd, listed.title) == (desk.session_id, str(folder), "What is this?")
            assert (await desk.agent.list_sessions(cwd=str(folder.parent))).sessions == []

    run(work())


def test_a_failed_or_limited_turn_does_not_stop_the_session(folder):
    async def work():
        replies = [calls(("pay", {"amount": 1})), "Enough.", "Fine."]
        async with connected(folder, *replies, assistant=bank(limits=Limits(rounds=1))) as desk:
            await desk.open()
            assert (await desk.say("Pay.")).stop_reason == "max_turn_requests"
            assert (await desk.say("Thanks.")).stop_reason == "end_turn"

    run(work())


@pytest.mark.parametrize("name", ["reading", "platform", "courses", "guidance"])
def test_every_assistant_answers_in_an_editor(folder, name):
    async def work():
        async with connected(folder, "Hello.", assistant=get_assistant(name)) as desk:
            assert (await desk.open()).modes is None
            assert (await desk.say("Hello?")).stop_reason == "end_turn"
            assert desk.editor.text() == "Hello."

    run(work())


def test_an_assistant_that_stores_conversations_has_no_sessions_to_load(folder):
    begun = []

    async def begin(host, run_id, message):
        begun.append((run_id, message))
        return ()

    async def work():
        async with connected(folder, "One.", "Two.", assistant=bank(begin=begin)) as desk:
            can = (await desk.agent.initialize(1)).agent_capabilities
            assert not can.load_session
            await desk.open()
            await desk.say("First.")
            await desk.say("Second.")
            with pytest.raises(RequestError, match="stores its conversations itself"):
                await desk.agent.load_session(str(folder), desk.session_id, mcp_servers=[])

    run(work())
    assert [message for _, message in begun] == ["First.", "Second."]
    assert begun[0][0] != begun[1][0]
