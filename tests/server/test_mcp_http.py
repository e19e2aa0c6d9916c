"""The assistants' tools over MCP, in the server: the official client, and somebody else's."""

import asyncio
import http.client
import json
import subprocess
import sys
import threading

import pytest
from mcp import Client
from mcp.client.streamable_http import streamable_http_client
from mcp.shared._httpx_utils import create_mcp_http_client
from msgspec import Struct

from server.running import Serving, assistant
from server.test_mcp import ENV, ERAS, STRANGER, person, text
from treadle import FunctionToolset, RunContext, allow, deny, open_home, tool
from treadle.home import close_home
from treadle.jobs.execution import JobKind
from treadle.server.mcp.http import McpEndpoint
from treadle.stores.accounts import Allowance
from treadle.stores.users import Users

PATIENCE = 60  # seconds


def offered(paid):
    """Tools as those that the stranger calls."""

    @tool(effect="read")
    async def count(ctx: RunContext, up_to: int) -> str:
        """Count."""
        for number in range(up_to):
            ctx.progress(f"at {number + 1}")
        return f"counted to {up_to}"

    @tool(effect="write")
    def pay(ctx: RunContext, amount: int) -> str:
        """Pay."""
        paid.append(amount)
        return f"paid {amount}"

    @tool(effect="write")
    def wipe() -> str:
        """Wipe."""
        return "wiped"

    return FunctionToolset([count, pay, wipe])


def rivers(paid, **more):
    tools = offered(paid)
    return assistant("rivers", toolsets=lambda host: [tools], **{"policy": [allow("wipe")], **more})


def talking(url, work, **how):
    """What comes of talking to a server as its client."""

    async def talk():
        async with asyncio.timeout(PATIENCE), Client(url, **how) as client:
            return await work(client)

    return asyncio.run(talk())


async def listed(client):
    return [each.name for each in (await client.list_tools()).tools]


@ERAS
def test_all_assistants_are_offered_together_and_each_alone(tmp_path, era):
    seas = assistant("seas", toolsets=lambda host: [offered([])], policy=[deny("pay")])
    with Serving(tmp_path, [rivers([]), seas, assistant("bare")]) as server:
        names = talking(f"{server.url}/mcp", listed, mode=era)
        assert names == ["rivers_count", "rivers_pay", "rivers_wipe", "seas_count", "seas_wipe"]
        assert talking(f"{server.url}/mcp/rivers", listed, mode=era) == ["count", "pay", "wipe"]


@ERAS
def test_each_assistants_own_policy_judges_its_calls(tmp_path, era):
    paid = []

    async def call(client):
        return [await client.call_tool(name, {"amount": 3}) for name in ("rivers_pay", "seas_pay")]

    seas = assistant("seas", toolsets=lambda host: [offered(paid)], policy=[allow("pay")])
    with Serving(tmp_path, [rivers(paid), seas]) as server:
        refused, done = talking(f"{server.url}/mcp", call, mode=era)
    assert (refused.is_error, done.is_error, text(done), paid) == (True, False, "paid 3", [3])
    assert text(refused).endswith("Use a client that can ask you about it, or ask the assistant on the page.")


@ERAS
def test_the_person_at_the_client_is_asked(tmp_path, era):
    paid, asked = [], person("accept", {"approve": True})
    with Serving(tmp_path, [rivers(paid)]) as server:
        result = talking(
            f"{server.url}/mcp/rivers", lambda client: client.call_tool("pay", {"amount": 3}), mode=era, elicitation_callback=asked
        )
    assert (text(result), paid, len(asked.questions)) == ("paid 3", [3], 1)


def test_how_far_a_call_has_come_is_told(tmp_path):
    heard = []

    async def hear(done, total, message):
        heard.append(message)

    with Serving(tmp_path, [rivers([])]) as server:
        talking(f"{server.url}/mcp", lambda client: client.call_tool("rivers_count", {"up_to": 3}, progress_callback=hear))
    assert heard == ["at 1", "at 2", "at 3"]


def test_calls_are_kept_as_runs_of_the_person(tmp_path):
    with Serving(tmp_path, [rivers([])]) as server:
        talking(f"{server.url}/mcp", lambda client: client.call_tool("rivers_count", {"up_to": 1}))
    home = open_home(tmp_path / "data")
    try:
        audit = asyncio.run(home.audit.records())
    finally:
        close_home(home)
    assert [link.record.tool_name for link in audit] == ["rivers_count"]


def test_somebody_elses_client_understands_us(tmp_path):
    paid = []
    with Serving(tmp_path, [rivers(paid)]) as server:
        command = [sys.executable, STRANGER, "http", f"{server.url}/mcp/rivers"]
        done = subprocess.run(command, capture_output=True, text=True, timeout=90, check=False, env=ENV)
    assert done.returncode == 0, done.stderr
    heard = json.loads(done.stdout)
    counted, misfit, wiped, refused = heard["called"]
    assert [tool["name"] for tool in heard["tools"]] == ["count", "pay", "wipe"]
    assert (counted["content"][0]["text"], wiped["content"][0]["text"]) == ("counted to 1", "wiped")
    assert (misfit["isError"], refused["isError"], paid) == (True, True, [])


def test_the_work_of_assistants_is_offered_too(tmp_path):
    class Given(Struct):
        river: str

    work = JobKind("survey", "survey a river", Given, None)
    made = rivers([], work=lambda: [work])
    with Serving(tmp_path, [made]) as server:
        names = talking(f"{server.url}/mcp/rivers", listed)
    assert "survey" in names
    assert "get_job_status" in names


WITHOUT = """
import asyncio, sys
sys.modules["mcp"] = None
from starlette.exceptions import HTTPException
from treadle.server.mcp.http import McpEndpoint
try:
    asyncio.run(McpEndpoint(None).hear())
except HTTPException as refused:
    print(refused.status_code, refused.detail)
"""


def test_without_its_package_it_says_how_to_get_it():
    done = subprocess.run([sys.executable, "-c", WITHOUT], capture_output=True, text=True, check=True, timeout=60)
    assert done.stdout.startswith("501 ")
    assert "pip install 'treadle[mcp]'" in done.stdout


def test_a_place_that_nobody_came_to_is_closed_easily():
    asyncio.run(McpEndpoint(lambda: pytest.fail("nobody came")).close())


def status_of(server, path, headers):
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=PATIENCE)
    try:
        connection.request("POST", path, b"{}", {"content-type": "application/json", **headers})
        return connection.getresponse().status
    finally:
        connection.close()


@pytest.mark.parametrize("path", ["/mcp", "/mcp/rivers"])
def test_other_names_and_pages_are_turned_away_before(tmp_path, path):
    with Serving(tmp_path, [rivers([])]) as server:
        assert status_of(server, path, {"Host": "evil.example"}) == 400
        assert status_of(server, path, {"Origin": "http://evil.example"}) == 403


def test_people_are_known_by_their_tokens(tmp_path):
    users = Users(tmp_path / "users.db")
    token = users.add("ann")
    who = []

    @tool(effect="read")
    def me(ctx: RunContext) -> str:
        """Who asks."""
        who.append(ctx.user)
        return ctx.user

    made = assistant("rivers", toolsets=lambda host: [FunctionToolset([me])])
    with Serving(tmp_path, [made], users=users) as server:

        async def talk():
            async with create_mcp_http_client(headers={"authorization": f"Bearer {token}"}) as web:
                transport = streamable_http_client(f"{server.url}/mcp", http_client=web)
                async with asyncio.timeout(PATIENCE), Client(transport) as client:
                    return await client.call_tool("rivers_me")

        assert text(asyncio.run(talk())) == "ann"
        assert status_of(server, "/mcp", {}) == 401
    assert who == ["ann"]


def test_calls_count_as_runs_under_way_and_in_the_figures(tmp_path):
    users = Users(tmp_path / "users.db")
    token = users.add("ann", "admin", Allowance(runs=1))
    held = {"authorization": f"Bearer {token}"}
    begun, gate = threading.Event(), threading.Event()

    @tool(effect="read")
    async def hold() -> str:
        """Hold."""
        begun.set()
        await asyncio.to_thread(gate.wait, PATIENCE)
        return "held"

    made = assistant("rivers", toolsets=lambda host: [FunctionToolset([hold])])
    with Serving(tmp_path, [made], users=users) as server:

        async def talk():
            async with (
                asyncio.timeout(PATIENCE),
                create_mcp_http_client(headers=held) as web,
                Client(streamable_http_client(f"{server.url}/mcp", http_client=web)) as client,
            ):
                first = asyncio.create_task(client.call_tool("rivers_hold"))
                await asyncio.to_thread(begun.wait, PATIENCE)
                second = await client.call_tool("rivers_hold")
                gate.set()
                return await first, second, await client.call_tool("rivers_hold")

        done, refused, after = asyncio.run(talk())
        figures = body_of(server, "/metrics", held)
    assert (text(done), text(after), refused.is_error) == ("held", "held", True)
    assert text(refused) == "You have 1 runs under way and may have 1; wait until one has ended, or cancel one."
    assert 'treadle_calls_total{effect="read",problem="none"} 2\n' in figures


def body_of(server, path, headers):
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=PATIENCE)
    try:
        connection.request("GET", path, headers=headers)
        return connection.getresponse().read().decode()
    finally:
        connection.close()
