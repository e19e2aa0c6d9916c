"""`treadle acp` as a process, driven by the SDK's own client: whole sessions, kills, and what it writes."""

import asyncio
import json
import os
import select
import signal
import subprocess
import sys
import time
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from acp.stdio import spawn_agent_process

from cli.forkserver import launched
from cli.running import PATIENCE, asks, environment, opened, script, treadle
from server.acp.editor import Desk, Editor, first_only

pytestmark = pytest.mark.usefixtures("no_code_analysis")

SHOP = "def price(count):\n    return count * 3 + 1\n"
FIXED = SHOP.replace(" + 1", "")
READ = asks(("read_file", {"path": "shop.py"}))
EDIT = asks(("replace_text", {"path": "shop.py", "old": " + 1", "new": ""}))
SLOW_TOOLS = Path(__file__).parents[1] / "slow_tools.py"


@pytest.fixture
def folder(home):
    place = home / "shop"
    place.mkdir()
    (place / "shop.py").write_text(SHOP)
    return place


@asynccontextmanager
async def program(home, folder, *replies, choose="allow_once", name="script.json", start=launched, **env):
    """An editor with `treadle acp` as its agent."""
    command, *words = start("-m", "treadle.cli.main", "acp", "--model", script(home, *replies, name=name))
    editor = Editor(choose)
    async with spawn_agent_process(editor, command, *words, env=environment(home, **env), cwd=folder) as (agent, process):
        try:
            async with asyncio.timeout(PATIENCE * 2):
                await agent.initialize(1)
                yield Desk(editor, agent, folder), process
        finally:
            if process.returncode == -signal.SIGKILL:
                process._transport.close()  # the SDK reads what is left of a program that ends by itself


def itself(*words):
    """A process that a signal kills, with nothing in between."""
    return (sys.executable, *words)


async def appeared(path):
    """Wait for a file."""
    while not path.exists():  # noqa: ASYNC110 - another process writes it
        await asyncio.sleep(0.01)


def test_a_whole_session(home, folder):
    async def work():
        async with program(home, folder, READ, EDIT, {"text": "Fixed.", "thinking": "Good."}, "Bye.") as (desk, process):
            opened = await desk.open()
            assert opened.modes.current_mode_id == "ask"
            ended = await desk.say("Fix the price.")
            assert (ended.stop_reason, desk.editor.text()) == ("end_turn", "Fixed.")
            assert desk.editor.text("agent_thought_chunk") == "Good."
            ((call, _),) = desk.editor.asked
            assert (call.content[-1].old_text, call.content[-1].new_text) == (SHOP, FIXED)
            assert [call["status"] for call in desk.editor.calls().values()] == ["completed", "completed"]
            desk.editor.updates.clear()
            await desk.agent.load_session(str(folder), desk.session_id, mcp_servers=[])
            assert (desk.editor.text("user_message_chunk"), desk.editor.text()) == ("Fix the price.", "Fixed.")
            await desk.agent.set_session_mode(desk.session_id, "plan")
            assert (await desk.say("Thanks.")).stop_reason == "end_turn"
        return desk.session_id, process.returncode

    session_id, code = asyncio.run(work())
    assert code == 0
    assert (folder / "shop.py").read_text() == FIXED
    (info,) = treadle(home, "runs", "--json").json
    assert (info["run_id"], info["status"], info["agent"]) == (session_id, "answered", "coding")
    assert "Fix the price." in treadle(home, "show", session_id).out


def test_a_turn_is_cancelled_and_nothing_runs(home, folder):
    async def work():
        async with program(home, folder, READ, EDIT, "Fine.", choose=None) as (desk, _):
            desk.editor.waits = asyncio.Event()
            await desk.open()
            turn = asyncio.create_task(desk.say("Fix the price."))
            await desk.editor.until_asked()
            await desk.agent.cancel(desk.session_id)
            assert (await turn).stop_reason == "cancelled"
            desk.editor.waits.set()
            assert (await desk.say("Leave it.")).stop_reason == "end_turn"

    asyncio.run(work())
    assert (folder / "shop.py").read_text() == SHOP


def test_a_session_of_a_killed_process_goes_on_with_nothing_repeated(home, folder):
    """Killed while the user is asked: the question is asked again, and the edit is made once."""
    edits = asks(*[("write_file", {"path": f"{name}.txt", "content": "once\n"}) for name in "12"])

    async def begin():
        async with program(home, folder, edits, choose=first_only, start=itself) as (desk, process):
            await desk.open()
            turn = asyncio.create_task(desk.say("Write both."))
            await desk.editor.until_asked(2)
            process.send_signal(signal.SIGKILL)
            await process.wait()
            await asyncio.wait([turn])
            assert turn.exception() is not None
            return desk.session_id

    async def go_on(session_id):
        async with program(home, folder, "Both are written.", "Bye.", name="later.json") as (desk, _):
            await desk.agent.load_session(str(folder), session_id, mcp_servers=[])
            desk.session_id = session_id
            assert (await desk.say("And?")).stop_reason == "end_turn"
            return desk.editor

    editor = asyncio.run(go_on(asyncio.run(begin())))
    assert "2.txt" in [asked[0].raw_input["path"] for asked in editor.asked]
    assert [(folder / f"{name}.txt").read_text() for name in "12"] == ["once\n", "once\n"]
    assert editor.text().endswith("Bye.")
    records = treadle(home, "audit", "--json").json
    ended = [record["arguments"]["path"] for record in records if record["stage"] == "ended" and record["success"]]
    assert sorted(ended) == ["1.txt", "2.txt"]


def test_a_call_that_was_running_when_the_process_was_killed_is_not_repeated_but_asked_about(home, folder):
    settings = home / "treadle.toml"
    settings.write_text(f'[tools.slow]\npython = ["{SLOW_TOOLS}"]\n')
    marker = home / "begun"

    async def begin():
        change = asks(("change", {"marker": str(marker)}))
        async with program(home, folder, change, start=itself, TREADLE_CONFIG=str(settings)) as (desk, process):
            await desk.open()
            turn = asyncio.create_task(desk.say("Change it."))
            await appeared(marker)
            process.send_signal(signal.SIGKILL)
            await process.wait()
            await asyncio.wait([turn])
            assert turn.exception() is not None
            return desk.session_id

    async def go_on(session_id):
        later = program(home, folder, "It is done.", "Bye.", choose="happened", name="later.json", TREADLE_CONFIG=str(settings))
        async with later as (desk, _):
            await desk.agent.load_session(str(folder), session_id, mcp_servers=[])
            desk.session_id = session_id
            assert (await desk.say("And?")).stop_reason == "end_turn"
            ((_, options),) = desk.editor.asked
            assert [option.option_id for option in options] == ["happened", "not_happened", "again"]

    asyncio.run(go_on(asyncio.run(begin())))


class Served:
    """The command with pipes, spoken to by hand."""

    def __init__(self, home, *words):
        pipe = subprocess.PIPE
        self.process = opened("acp", *words, stdin=pipe, stdout=pipe, stderr=pipe, env=environment(home), cwd=home, bufsize=0)
        self._rest = b""

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.process.wait()
        for pipe in (self.process.stdin, self.process.stdout, self.process.stderr):
            pipe.close()

    def write(self, line):
        self.process.stdin.write(line + b"\n")

    def hear(self):
        """The next message."""
        deadline = time.monotonic() + PATIENCE * 2
        while b"\n" not in self._rest:
            assert select.select([self.process.stdout], [], [], max(deadline - time.monotonic(), 0))[0], "it says nothing"
            self._rest += os.read(self.process.stdout.fileno(), 65536)
        line, _, self._rest = self._rest.partition(b"\n")
        return json.loads(line)

    def begin(self):
        self.write(b'{"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {"protocolVersion": 1}}')
        return self.hear()


def test_lines_that_are_no_messages_are_answered_and_the_end_of_stdin_is_the_end(home):
    with Served(home, "--model", script(home, "Hello.")) as served:
        assert served.begin()["result"]["agentInfo"]["name"] == "treadle"
        told = []
        for line in (b"not json", b"\xff\xfe", b'{"jsonrpc": "2.0", "id": 7}', b'{"id": true, "method": "x"}', b"[]", b"3"):
            served.write(line)
            answer = served.hear()
            told.append((answer["id"], answer["error"]["code"]))
        assert told == [(None, -32700), (None, -32700), (7, -32600), (None, -32600), (None, -32600), (None, -32600)]
        served.write(b'{"jsonrpc": "2.0", "id": 8, "method": "session/unknown", "params": {}}')
        assert served.hear()["error"]["code"] == -32601
        served.write(b'{"jsonrpc": "2.0", "id": 9, "method": "session/new", "params": {"cwd": 1}}')
        assert served.hear()["error"]["code"] == -32602
        served.process.stdin.close()
        assert served.process.wait(PATIENCE) == 0
        assert served.process.stdout.read() == b""
        assert b"Traceback" not in served.process.stderr.read()


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_it_at_once_although_the_editor_says_nothing(home, number):
    with Served(home, "--model", script(home, "Hello.")) as served:
        served.begin()
        served.process.send_signal(number)
        assert served.process.wait(PATIENCE) == 130
        assert b"Traceback" not in served.process.stderr.read()


def test_other_assistants_and_wrong_ones(home):
    with Served(home, "-a", "reading", "--model", script(home, "Hello.")) as served:
        assert "Reading" in served.begin()["result"]["agentInfo"]["title"]
    ran = treadle(home, "acp", "-a", "nobody")
    assert ran.code == 2
    assert "There is no assistant 'nobody'" in ran.err
