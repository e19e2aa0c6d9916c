"""What `treadle.toml` says counts for every face: what each makes of the same settings is looked at where agents are made."""

import ast
import asyncio
import json
import urllib.request
from pathlib import Path

import pytest

import treadle
from cli.running import InProcess, asks, script
from server.running import Serving, assistant
from treadle.app import assistants as making
from treadle.app.agent import Agent
from treadle.app.home import open_home
from treadle.app.workers.order import Models, Order, agent_for
from treadle.core.calls import Call
from treadle.core.requests import ToolSpec
from treadle.core.seams import Situation
from treadle.core.tool import Tool
from treadle.server.hosting import make_host

SETTLED = """
[model]
temperature = 0.3
dialect = "native"
[limits]
rounds = 7
seconds = 900
tokens = 50000
[context]
result_limit = 1234
[policy]
allow = ["look_*"]
ask = ["send_*"]
deny = ["drop_*"]
"""
READING = {"file_intent": "Adds.", "responsibilities": [{"label": "Adding up", "description": "Adds.", "ranges": [[1, 2]]}]}
ADD = "def add(a, b):\n    return a + b\n"


@pytest.fixture
def typed(tmp_path, monkeypatch, capsys):
    """Commands of a person with settings."""
    typed = InProcess(tmp_path, monkeypatch, capsys)
    typed.set(TREADLE_CONFIG=str(tmp_path / "own.toml"), TREADLE_MODEL=script(tmp_path, "Hi.", "Hi."))
    (tmp_path / "own.toml").write_text(SETTLED)
    (tmp_path / "project").mkdir()
    (tmp_path / "project" / "add.py").write_text(ADD)
    monkeypatch.chdir(tmp_path / "project")
    return typed


@pytest.fixture
def made(monkeypatch):
    """The agents that are made meanwhile."""
    found = []

    class Seen(Agent):
        def __init__(self, *args, **parts):
            super().__init__(*args, **parts)
            found.append(self.setup)

    monkeypatch.setattr(making, "Agent", Seen)
    return found


def counts(setups):
    assert setups, "no agent was made here"
    for setup in setups:
        limits = setup.terms.limits
        assert (limits.rounds, limits.seconds, limits.tokens) == (7, 900, 50_000), setup.name
        assert setup.options.temperature == 0.3, setup.name
        assert setup.result_limit == 1234, setup.name
        assert [judged(setup, name) for name in ("look_up", "send_word", "drop_all")] == ["Allow", "Ask", "Deny"], setup.name


def judged(setup, name):
    tool = Tool(ToolSpec(name, "", {}), effect="write")
    return type(setup.policy.judge(Call("c1", name, {}), tool, Situation())).__name__


COMMANDS = [
    ((), ("ask", "Hello?")),
    ((), ("ask", "Hello?", "-a", "reading")),
    ((), ("ask", "Hello?", "-a", "platform")),
    ((), ("ask", "Hello?", "-a", "guidance")),
    ((), ("ask", "Hello?", "-a", "courses")),
    ((), ("ask", "Hello?", "-a", "coding")),
    ((), ("chat",)),
    ((), ("read", "add.py")),
    ((), ("platform", "ask", "Hello?")),
    (("guide", "demo"), ("guide", "ask", "Hello?")),
    (("courses", "demo"), ("courses", "ask", "Hello?")),
]


@pytest.mark.parametrize(("prepare", "words"), COMMANDS, ids=lambda words: "-".join(words))
def test_settings_count_for_every_command(typed, made, tmp_path, prepare, words):
    if words[0] == "read":
        typed.set(TREADLE_MODEL=script(tmp_path, json.dumps(READING)))
    if prepare:
        typed(*prepare)
    made.clear()
    ran = typed(*words, stdin="Hello?\n")
    assert ran.code == 0, ran.err
    counts(made)


def test_what_is_typed_goes_before_what_is_settled(typed, made):
    assert typed("ask", "Hello?", "--rounds", "2", "--temperature", "0.9").code == 0
    assert typed("ask", "Hello?", "-a", "platform", "--rounds", "2", "--temperature", "0.9").code == 0
    for setup in made:
        assert (setup.terms.limits.rounds, setup.terms.limits.tokens, setup.options.temperature) == (2, 50_000, 0.9)


def test_what_is_not_settled_stays_as_the_assistant_has_it(typed, made, tmp_path):
    (tmp_path / "own.toml").write_text("[limits]\nseconds = 900\n")
    assert typed("ask", "Hello?", "-a", "platform").code == 0
    assert made[0].terms.limits == treadle.app.assistants.assistant("platform").limits.__replace__(seconds=900)


def test_they_count_for_a_worker(typed, made):
    async def opened():
        async with agent_for(Order("platform", f"{script(Path(), 'Hi.')}"), open_home(), "", Models()):
            pass

    asyncio.run(opened())
    counts(made)


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("/api/runs", {"assistant": "talk", "message": "Hello?"}),
        ("/v1/chat/completions", {"model": "talk", "messages": [{"role": "user", "content": "Hello?"}]}),
        ("/v1/messages", {"model": "talk", "max_tokens": 100, "messages": [{"role": "user", "content": "Hello?"}]}),
    ],
)
def test_they_count_on_a_server(typed, made, tmp_path, path, body):
    with Serving(tmp_path, [assistant("talk")], lent=make_host()) as server:
        headers = {"content-type": "application/json"}
        asked = urllib.request.Request(f"{server.url}{path}", json.dumps(body).encode(), headers)
        assert urllib.request.urlopen(asked).status in (200, 202)
    counts(made)


def test_a_limit_that_is_settled_stops_a_run(typed, tmp_path):
    (tmp_path / "own.toml").write_text("[limits]\nrounds = 1\n")
    tools = tmp_path / "tools.py"
    tools.write_text("def look(at: str) -> str:\n    'Look.'\n    return at\n")
    typed.set(TREADLE_MODEL=script(tmp_path, asks(("look", {"at": "here"})), "That is all."))
    ran = typed("ask", "Go on.", "--tools", f"{tools}:look", "--allow", "look", "--json")
    assert (ran.json["stopped"], ran.json["output"]) == ("limit", "That is all."), ran


# Whoever makes an agent of their own passes these settings by. Each that does has a reason.
OWN = {
    "app/agent.py": "the agent itself",
    "app/assistants.py": "where settings are applied",
    "assistants/coding/routes.py": "answers an approval; no model is asked",
    "cli/mcp.py": "lists tools; no model is asked",
    "cli/nobody.py": "answers an approval; no model is asked",
    "cli/tool.py": "makes the one call that was typed; no model is asked",
    "server/mcp/calling.py": "makes the one call that a client asked for; no model is asked",
    "server/runs/service.py": "answers an approval; no model is asked",
}


def test_agents_are_made_where_settings_are_applied():
    root = Path(treadle.__file__).parent
    found = {str(path.relative_to(root)) for path in root.rglob("*.py") if _makes_agents(path)}
    assert found == set(OWN)


def _makes_agents(path):
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Call):
            function = node.func.value if isinstance(node.func, ast.Subscript) else node.func
            if isinstance(function, ast.Name) and function.id == "Agent":
                return True
    return False
