"""`treadle mcp` as a process: what it writes, what it takes, how it ends."""

import asyncio
import json
import os
import select
import signal
import subprocess
import sys
import time
from pathlib import Path

import httpx2
import pytest
from mcp import Client, StdioServerParameters, types
from mcp.client.streamable_http import streamable_http_client

from assistants.coding.stage import MENDED, needs_git, project
from cli.forkserver import launched
from cli.running import PATIENCE, TOOLBOX, asks, environment, opened, script, treadle

OFFERED = str(Path(__file__).parents[2] / "server" / "offered.py")
INITIALIZE = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}},
}


class Served:
    """The command with pipes, spoken to by hand."""

    def __init__(self, home, *words):
        pipe = subprocess.PIPE
        self.process = opened("mcp", *words, stdin=pipe, stdout=pipe, stderr=pipe, env=environment(home), cwd=home, bufsize=0)
        self._rest = b""

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.process.wait()
        for pipe in (self.process.stdin, self.process.stdout, self.process.stderr):
            pipe.close()

    def say(self, **message):
        self.process.stdin.write(json.dumps(message).encode() + b"\n")

    def hear(self):
        """The next message."""
        deadline = time.monotonic() + PATIENCE * 2
        while b"\n" not in self._rest:
            assert select.select([self.process.stdout], [], [], max(deadline - time.monotonic(), 0))[0], "it says nothing"
            self._rest += os.read(self.process.stdout.fileno(), 65536)
        line, _, self._rest = self._rest.partition(b"\n")
        return json.loads(line)

    def ask(self, number, method, **params):
        self.say(jsonrpc="2.0", id=number, method=method, params=params)
        answer = self.hear()
        assert answer["id"] == number
        return answer

    def begin(self):
        self.say(**INITIALIZE)
        begun = self.hear()
        self.say(jsonrpc="2.0", method="notifications/initialized")
        return begun


def test_stdout_is_for_the_protocol_alone_and_the_end_of_stdin_is_the_end(home):
    with Served(home, "--tools", OFFERED, "--no-journal") as served:
        assert served.begin()["result"]["serverInfo"]["name"] == "treadle"
        served.process.stdin.write(b"this is no message\n")
        assert served.hear()["error"]["code"] == -32700
        said = served.ask(2, "tools/call", name="noisy", arguments={})["result"]
        assert said["content"][0]["text"] == "said"
        served.process.stdin.close()
        assert served.process.wait(PATIENCE) == 0
        assert served.process.stdout.read() == b""
        errors = served.process.stderr.read().decode()
    assert "imported, and says so" in errors
    assert "noise of a child" in errors
    assert "Traceback" not in errors


def test_a_line_that_is_no_message_is_answered_with_an_error_and_the_server_goes_on(home):
    with Served(home, "--tools", OFFERED, "--no-journal") as served:
        served.begin()
        told = []
        for line in (b"not json", b"\xff\xfe", b'{"jsonrpc": "2.0", "id": 7}', b'{"id": true, "method": 1}', b"[]", b"3"):
            served.process.stdin.write(line + b"\n")
            answer = served.hear()
            told.append((answer["jsonrpc"], answer["id"], answer["error"]["code"]))
        served.process.stdin.write(b"\n \n")  # empty lines are nothing
        listed = served.ask(8, "tools/list")
    assert told == [
        ("2.0", None, -32700),
        ("2.0", None, -32700),
        ("2.0", 7, -32600),
        ("2.0", None, -32600),
        ("2.0", None, -32600),
        ("2.0", None, -32600),
    ]
    assert listed["result"]["tools"]


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_it_at_once_although_the_client_says_nothing(home, number):
    with Served(home, "--tools", OFFERED) as served:
        served.begin()
        served.say(jsonrpc="2.0", id=2, method="tools/call", params={"name": "slow", "arguments": {}})
        deadline = time.monotonic() + PATIENCE
        while not (home / "begun").exists():
            assert time.monotonic() < deadline
            time.sleep(0.01)
        served.process.send_signal(number)
        assert served.process.wait(PATIENCE) == 130
        assert b"Traceback" not in served.process.stderr.read()
    (info,) = treadle(home, "runs", "--json").json
    assert info["status"] == "cancelled"


def connected(home, *words, **how):
    program, *arguments = launched("-m", "treadle.cli.main", "mcp", *words)
    server = StdioServerParameters(command=program, args=arguments, env=environment(home), cwd=home)
    return Client(server, **how)


def bounded(work):
    async def inside():
        async with asyncio.timeout(60):
            return await work()

    return asyncio.run(inside())


def test_options_are_those_of_other_commands(home):
    (home / "space").mkdir()

    async def work():
        words = ("--tools", TOOLBOX, "--workspace", "space", "--allow", "order", "--deny", "boom", "--user", "ann")
        async with connected(home, *words) as client:
            names = [tool.name for tool in (await client.list_tools()).tools]
            said = [(await client.call_tool(name, arguments)).content[0].text for name, arguments in CALLS]
            return names, said

    names, said = bounded(work)
    assert names == ["stock", "order", "here", "refund"]
    assert said == ["1 A ordered for ann", str(home / "space")]
    assert [record["user"] for record in treadle(home, "audit", "--json").json] == ["ann"] * 3


CALLS = (("order", {"item": "A"}), ("here", {}))


def test_yes_and_nobody_answer_for_the_person(home):
    async def work(word):
        async with connected(home, "--tools", f"{TOOLBOX}:order", word, elicitation_callback=never) as client:
            return await client.call_tool("order", {"item": "A"})

    async def never(context, params):
        raise AssertionError("nobody is to be asked")

    assert bounded(lambda: work("--yes")).content[0].text == "1 A ordered for nobody"
    assert bounded(lambda: work("--no-person")).is_error


def test_an_assistants_tools_can_be_offered(home):
    (home / "project").mkdir()
    (home / "project" / "main.py").write_text("def run():\n    return 1\n")

    async def work():
        async with connected(home, "-a", "reading", "--workspace", str(home / "project")) as client:
            return (await client.list_tools()).tools

    tools = bounded(work)
    assert tools
    assert all(tool.annotations.read_only_hint for tool in tools)


def test_the_tools_of_another_server_are_passed_on_under_our_policy(home):
    (home / "gateway.py").write_text(
        "import sys\n"
        "from treadle.toolsets.mcp import McpServer, mcp_tools\n"
        "time = mcp_tools(McpServer('time', command=(sys.executable, '-m', 'mcp_server_time'), reads=('get_*',)))\n"
    )

    async def work():
        async with connected(home, "--tools", "gateway.py:time") as client:
            names = [tool.name for tool in (await client.list_tools()).tools]
            said = await client.call_tool("time_get_current_time", {"timezone": "Asia/Tokyo"})
            wrong = await client.call_tool("time_get_current_time", {"zone": "Asia/Tokyo"})
            asked = await client.call_tool("time_convert_time", CONVERT)
            return names, said, wrong, asked

    names, said, wrong, asked = bounded(work)
    assert names == ["time_get_current_time", "time_convert_time"]
    assert "Asia/Tokyo" in said.content[0].text
    assert "timezone: expected" in wrong.content[0].text
    assert "--allow time_convert_time" in asked.content[0].text
    assert len(treadle(home, "audit", "--json").json) == 3


CONVERT = {"source_timezone": "UTC", "time": "12:00", "target_timezone": "Asia/Tokyo"}


def test_a_question_that_nobody_came_back_to_is_answered_later_by_hand(home):
    async def work():
        async with connected(home, "--tools", TOOLBOX, "--user", "ann", elicitation_callback=_later) as client:
            left = await client.session.call_tool("order", {"item": "A"}, allow_input_required=True)
            assert isinstance(left, types.InputRequiredResult)

    bounded(work)
    (info,) = treadle(home, "runs", "--json", "--status", "waiting").json
    treadle(home, "approve", info["run_id"], "call_1")
    assert treadle(home, "resume", info["run_id"], "-q") == (0, "1 A ordered for ann\n", "")


async def _later(context, params):
    raise AssertionError("not asked through it")


def test_over_http_it_serves_this_machine_alone(home):
    pipe = subprocess.PIPE
    serving = opened("mcp", "--tools", TOOLBOX, "--http", "0", stdout=pipe, stderr=pipe, text=True, env=environment(home))
    try:
        url = serving.stderr.readline().strip()
        assert url.startswith("http://127.0.0.1:")

        file = home / "data" / "server.token"
        assert serving.stderr.readline() == f"Clients send the token in {file} as `Authorization: Bearer …`.\n"
        bearer = {"Authorization": f"Bearer {file.read_text().strip()}"}

        async def work():
            async with httpx2.AsyncClient(headers=bearer) as http, Client(streamable_http_client(url, http_client=http)) as client:
                return (await client.call_tool("stock", {"item": "A"})).content[0].text

        assert bounded(work) == "40"
        assert bounded(lambda: _status(url)) == 401
        assert bounded(lambda: _status(url, Authorization=f"{bearer['Authorization']}x")) == 401
        assert bounded(lambda: _status(url, Host="evil.example", **bearer)) == 421
        assert bounded(lambda: _status(url, Origin="http://evil.example", **bearer)) == 403
        serving.send_signal(signal.SIGTERM)
        assert serving.wait(PATIENCE) == 0
        assert serving.stdout.read() == ""
    finally:
        serving.kill()
        serving.communicate()


async def _status(url, **headers):
    import aiohttp

    async with aiohttp.ClientSession() as session, session.post(url, json=INITIALIZE, headers=headers) as response:
        return response.status


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        ([], "There are no tools"),
        (["--tools", "/no/such/file.py"], "There is no file"),
        (["--tools", TOOLBOX, "--workspace", "/no/such/folder"], "can't be entered"),
        (["-a", "nobody"], "There is no assistant"),
        (["--tools", TOOLBOX, "--http", "99999"], "There is no port"),
    ],
)
def test_wrong_usage_is_a_sentence(home, words, sentence):
    ran = treadle(home, "mcp", *words)
    assert (ran.code, ran.out) == (2, "")
    assert sentence in ran.err
    assert "Traceback" not in ran.err


def test_without_the_package_it_says_what_to_install(home):
    code = "import sys; sys.modules['mcp'] = None; from treadle.cli.main import main; sys.exit(main(['mcp', '--tools', 'x']))"
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, env=environment(home), timeout=60, check=False
    )
    assert done.returncode == 2
    assert "treadle[mcp]" in done.stderr


@needs_git
def test_the_coding_assistant_offers_its_tools_its_work_and_its_jobs(home):
    folder, told = project(home), []
    (folder / "shop.py").write_text(MENDED)
    review = asks(("give_answer", {"summary": "Right.", "verdict": "APPROVE", "findings": []}))
    words = ("-a", "coding", "--workspace", str(folder), "-m", script(home, asks(("git_status", {})), review))

    async def heard(progress, total, message):
        told.append(message)

    async def work():
        async with connected(home, *words) as client:
            tools = {tool.name: tool for tool in (await client.list_tools()).tools}
            reviewed = await client.call_tool("review", {"description": "the price"}, progress_callback=heard)
            jobs = await client.call_tool("list_jobs", {})
            status = await client.call_tool("get_job_status", {"job_id": json.loads(reviewed.content[0].text)["job_id"]})
            return tools, reviewed, jobs, status

    tools, reviewed, jobs, status = bounded(work)
    seven = {"file", "code_edit", "search", "navigate", "git", "bash", "test"}
    assert seven | {"build", "debug", "review", "triage", "get_job_status", "list_jobs", "cancel_job"} == set(tools)
    assert {"description", "failing_test", "stack_trace"} < set(tools["debug"].input_schema["properties"])
    assert (tools["review"].annotations.read_only_hint, tools["build"].annotations.read_only_hint) == (True, False)
    assert json.loads(reviewed.content[0].text)["output"]["verdict"] == "APPROVE"
    assert json.loads(jobs.content[0].text)[0]["state"] == "completed"
    assert json.loads(status.content[0].text)["output"]["review_text"].endswith("**APPROVE**")
    assert "Round 1." in told
    assert "git_status …" in told


@needs_git
def test_over_mcp_the_coding_assistant_reads_without_a_question_and_asks_about_a_change_with_its_diff(home):
    folder, questions = project(home), []

    async def declines(context, params):
        questions.append(params.message)
        return types.ElicitResult(action="decline")

    async def work():
        async with connected(home, "-a", "coding", "--workspace", str(folder), elicitation_callback=declines) as client:
            looked = [await client.call_tool(*call) for call in LOOKS]
            before = list(questions)
            change = {"action": "replace", "path": "shop.py", "old": " + 1", "new": ""}
            return looked, before, await client.call_tool("file", change)

    looked, before, changed = bounded(work)
    assert ([each.is_error for each in looked], before) == ([False] * len(LOOKS), [])
    assert changed.is_error
    assert "-    return count * 3 + 1\n+    return count * 3" in questions[0]
    assert "+ 1" in (folder / "shop.py").read_text()


LOOKS = (
    ("file", {"action": "read", "path": "shop.py"}),
    ("search", {"action": "grep", "pattern": "price"}),
    ("git", {"action": "status"}),
)
