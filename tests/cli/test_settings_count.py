"""What `treadle.toml` says counts for every face: what each makes of the same settings is looked at where agents are made."""

import ast
import asyncio
import json
import re
import sys
import urllib.error
import urllib.request
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from threading import Thread

import pytest

import treadle
from cli.running import InProcess, asks, script
from server.running import Serving, assistant
from treadle.agent.agent import Agent
from treadle.agent.code_mode import ProgramToolset
from treadle.core.calls import Allow, Ask, Call, Deny
from treadle.core.requests import ToolSpec, Traits
from treadle.core.seams import Situation
from treadle.core.tool import Tool
from treadle.home import open_home
from treadle.models.calling.prompted import PromptedModel
from treadle.plugins import assistants as making
from treadle.server.host import make_host
from treadle.server.mcp.assistants import PrefixedPolicies
from treadle.testing import Scripted
from treadle.workers.run_spec import RunSpec, WorkerModels, open_agent

SETTLED = """
[model]
temperature = 0.3
max_tokens = 4321
dialect = "native"
[limits]
rounds = 7
seconds = 900
tokens = 50000
[context]
result_limit = 1234
compact_at = 0.55
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


def counts(setups, max_tokens=4321):
    assert setups, "no agent was made here"
    for setup in setups:
        limits = setup.terms.limits
        assert (limits.rounds, limits.seconds, limits.tokens) == (7, 900, 50_000), setup.name
        assert (setup.options.temperature, setup.options.max_tokens) == (0.3, max_tokens), setup.name
        assert (setup.result_limit, setup.compaction.at) == (1234, 0.55), setup.name
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


@pytest.mark.parametrize("words", [words for _, words in COMMANDS if words[0] == "ask"], ids=" ".join)
def test_code_mode_counts_for_every_assistant(typed, made, tmp_path, words):
    (tmp_path / "own.toml").write_text("[model]\ncode_mode = true\n")
    assert typed(*words).code == 0
    assert made
    assert all(isinstance(setup.toolset, ProgramToolset) for setup in made)


@pytest.mark.parametrize("words", [words for _, words in COMMANDS if words[0] in ("ask", "chat")], ids=" ".join)
@pytest.mark.parametrize("setting", ["true", "false"])
def test_whether_answers_are_checked_counts_for_every_assistant(typed, made, tmp_path, words, setting):
    (tmp_path / "own.toml").write_text(f"[model]\ngrounded = {setting}\n")
    assert typed(*words, stdin="Hello?\n").code == 0
    assert made
    demanded = {"platform", "guidance", "courses"}  # these check their answers always
    for setup in made:
        is_checked = setup.output is not None and setup.output.grounded
        assert is_checked == (setting == "true" or setup.name in demanded), setup.name


@pytest.mark.parametrize("native_calls", [True, False])
def test_answers_of_a_model_without_native_calls_are_checked_by_default(native_calls):
    model = Scripted("Hi.", traits=Traits(native_calls=native_calls))
    plain = making.configured_agent(None, model, parts={"name": "ask", "grounded": None})
    assert (plain.setup.output is not None and plain.setup.output.grounded) is not native_calls
    assert making.configured_agent(None, model, parts={"name": "ask"}).setup.output is None


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


@pytest.mark.parametrize(("prepare", "words"), COMMANDS[7:], ids=lambda words: "-".join(words))
def test_a_dialect_that_is_typed_counts_for_every_assistants_command(typed, made, tmp_path, prepare, words):
    if words[0] == "read":
        typed.set(TREADLE_MODEL=script(tmp_path, json.dumps(READING)))
    if prepare:
        typed(*prepare)
    wrong = typed(*words, "--dialect", "klingon")
    assert (wrong.code != 0, "There is no dialect 'klingon'" in wrong.err) == (True, True), wrong
    made.clear()
    assert typed(*words, "--dialect", "bash").code == 0
    assert words[0] == "read" or isinstance(made[0].model, PromptedModel)  # what is settled is "native"


def test_a_dialect_that_is_typed_counts_for_a_job_and_when_it_goes_on(typed, tmp_path):
    typed.set(TREADLE_MODEL=script(tmp_path, "```bash\ngive_answer --review 'All is well' --verdict APPROVE\n```"))
    (tmp_path / "change.diff").write_text("diff --git a/x b/x\n--- a/x\n+++ b/x\n@@ -1 +1 @@\n-old\n+new\n")
    (tmp_path / "own.toml").write_text('[model]\ndialect = "klingon"\n')
    review = ("review", "--diff", f"@{tmp_path / 'change.diff'}", "--json")
    ran = typed(*review, "--dialect", "bash")
    assert (ran.json["origin"]["dialect"], "klingon" in ran.json["why"]) == ("bash", False)
    assert "klingon" not in typed("jobs", "resume", ran.json["id"], "--json").json["why"]
    ran = typed(*review)
    assert (ran.code, "There is no dialect 'klingon'" in ran.json["why"]) == (1, True)
    again = typed("jobs", "resume", ran.json["id"], "--dialect", "native", "--json")
    assert "klingon" not in again.json["why"]


def test_what_is_not_settled_stays_as_the_assistant_has_it(typed, made, tmp_path):
    (tmp_path / "own.toml").write_text("[limits]\nseconds = 900\n")
    assert typed("ask", "Hello?", "-a", "platform").code == 0
    assert made[0].terms.limits == treadle.plugins.assistants.get_assistant("platform").limits.__replace__(seconds=900)


def test_they_count_for_a_worker(typed, made):
    async def opened():
        async with open_agent(RunSpec("platform", f"{script(Path(), 'Hi.')}"), open_home(), "", WorkerModels()):
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
    counts(made, body.get("max_tokens", 4321))  # what a request asks for goes before what is settled


def test_rules_count_for_what_is_offered_over_mcp(typed):
    policy = PrefixedPolicies([assistant("talk")])
    names = ("talk_look_up", "talk_send_word", "talk_drop_all")
    tools = [Tool(ToolSpec(name, "", {}), effect="write") for name in names]
    judged = [type(policy.judge(Call("c1", tool.name, {}), tool, Situation())) for tool in tools]
    assert judged == [Allow, Ask, Deny]
    assert [policy.offers(tool, Situation()) for tool in tools] == [True, True, False]


def test_a_limit_that_is_settled_stops_a_run(typed, tmp_path):
    (tmp_path / "own.toml").write_text("[limits]\nrounds = 1\n")
    tools = tmp_path / "tools.py"
    tools.write_text("def look(at: str) -> str:\n    'Look.'\n    return at\n")
    typed.set(TREADLE_MODEL=script(tmp_path, asks(("look", {"at": "here"})), "That is all."))
    ran = typed("ask", "Go on.", "--tools", f"{tools}:look", "--allow", "look", "--json")
    assert (ran.json["stopped"], ran.json["output"]) == ("limit", "That is all."), ran


# what assistants have to settle for themselves


def by_asking(typed, _):
    return typed("ask", "What about yeast?", "-a", "courses", "--json").json["calls"][0]["result"]


def by_command(typed, _):
    return "\n".join(f"[{each['source']}]" for each in typed("courses", "search", "yeast and dough", "--json").json)


def by_server(_, tmp_path):
    with Serving(tmp_path, [making.get_assistant("courses")], lent=make_host()) as server:
        body = json.dumps({"assistant": "courses", "message": "What about yeast?"}).encode()
        headers = {"content-type": "application/json", "accept": "text/event-stream"}
        lines = urllib.request.urlopen(urllib.request.Request(f"{server.url}/api/runs", body, headers)).read().decode().splitlines()
    events = [json.loads(line.removeprefix("data: ")) for line in lines if line.startswith("data: ")]
    return next(event["result"]["content"] for event in events if event["event"] == "call_returned")


def by_worker(typed, tmp_path):
    async def ran():
        async with open_agent(RunSpec("courses", f"scripted:{tmp_path / 'script.json'}"), open_home(), "", WorkerModels()) as agent:
            return (await agent.run("What about yeast?")).calls[0].result.content

    return asyncio.run(ran())


@pytest.mark.parametrize("face", [by_asking, by_command, by_server, by_worker], ids=lambda face: face.__name__)
@pytest.mark.parametrize("most", [1, 3])
def test_what_is_settled_for_an_assistant_counts_for_every_face(typed, tmp_path, face, most):
    (tmp_path / "own.toml").write_text(f'[assistants.courses]\nembeddings = "none"\nresults = {most}\nfloor = 0\n')
    call = asks(("search_course_content", {"query": "yeast and dough"}))
    typed.set(TREADLE_MODEL=script(tmp_path, call, "Found."))
    assert typed("courses", "demo").code == 0
    typed.set(TREADLE_MODEL=script(tmp_path, call, "Found."))
    assert len(re.findall(r"(?m)^\[", face(typed, tmp_path))) == most


@pytest.mark.parametrize(
    "words",
    [("ask", "Hi?", "-a", "platform"), ("platform", "ask", "Hi?"), ("courses", "list"), ("guide", "projects"), ("settings",)],
    ids=lambda words: "-".join(words),
)
def test_a_misspelt_key_of_an_assistant_is_one_sentence_everywhere(typed, tmp_path, words):
    (tmp_path / "own.toml").write_text('[assistants.guidance]\ndenied_tool = ["x"]\n')
    ran = typed(*words)
    assert ran.code != 0
    assert "assistants.guidance.denied_tool in " in ran.err
    assert "Did you mean assistants.guidance.denied_tools?" in ran.err
    assert "Traceback" not in ran.err


def test_settings_lists_what_assistants_have_with_its_origin(typed, tmp_path):
    (tmp_path / "own.toml").write_text("[assistants.courses]\nresults = 7\n")
    typed.set(TREADLE_PLATFORM_SERVER="http://localhost:9")
    rows = {row["key"]: (row["value"], row["from"]) for row in typed("settings", "--json").json["settings"]}
    assert rows["assistants.courses.results"] == (7, str(tmp_path / "own.toml"))
    assert rows["assistants.platform.server"] == ("http://localhost:9", "TREADLE_PLATFORM_SERVER")
    assert rows["assistants.guidance.denied_tools"] == ([], "default")


# An agent that is made elsewhere is made without these settings. Each has a reason.
OWN = {
    "agent/agent.py": "the agent itself",
    "plugins/assistants.py": "where settings are applied",
    "cli/commands/mcp.py": "lists tools; no model is asked",
    "evals/judge_model.py": "judges by the dataset's rubric alone, and has no tools",
    "evals/suites/agentdojo.py": "has the suite's own world and tools, without which its cases mean nothing",
    "evals/suites/bfcl.py": "has the suite's own functions, which do nothing",
    "evals/simulated_user.py": "plays a user; it has instructions and a model of its own",
    "server/mcp/call.py": "makes the one call that a client asked for; no model is asked",
}


def test_agents_are_made_where_settings_are_applied():
    root = Path(treadle.__file__).parent
    found = {str(path.relative_to(root)) for path in root.rglob("*.py") if _makes_agents(path)}
    assert found == set(OWN)


def _makes_agents(path):
    text = path.read_text()
    if "Agent" not in text:  # most files: parsing all of them takes seconds
        return False
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Call):
            function = node.func.value if isinstance(node.func, ast.Subscript) else node.func
            if isinstance(function, ast.Name) and function.id == "Agent":
                return True
    return False


# tools of one's own

TOOLS = """
from treadle import tool

@tool(effect="write")
def rollback_application(name: str) -> str:
    "Take an application back to the version before."
    return f"{name} is back at v41"
"""
DOCUMENT = {
    "openapi": "3.1.0",
    "info": {"title": "Shop", "version": "1"},
    "servers": [{"url": "https://shop.example"}],
    "paths": {"/things": {"get": {"operationId": "list_things", "responses": {"200": {"description": "found"}}}}},
}
OWN_TOOLS = ("rollback_application", "shop_list_things")


@pytest.fixture
def equipped(typed, tmp_path):
    """The same, with tools for all assistants, or for those that are named."""

    def settle(assistants="[]"):
        (tmp_path / "tools.py").write_text(TOOLS)
        (tmp_path / "shop.json").write_text(json.dumps(DOCUMENT))
        (tmp_path / "own.toml").write_text(
            f'[tools.ops]\npython = ["tools.py:rollback_application"]\nassistants = {assistants}\n'
            f'[openapi.shop]\ndocument = "shop.json"\nassistants = {assistants}\n'
        )

    settle()
    return settle


def tools_in(setup):
    return [tool.name for tool in setup.toolset.tools() if tool.name in OWN_TOOLS]


@pytest.mark.parametrize(
    ("prepare", "words"), [each for each in COMMANDS if each[1][0] != "read"], ids=lambda words: "-".join(words)
)
def test_ones_own_tools_are_there_in_every_command(typed, made, equipped, prepare, words):
    if prepare:
        typed(*prepare)
    made.clear()
    ran = typed(*words, stdin="Hello?\n")
    assert ran.code == 0, ran.err
    assert [tools_in(setup) for setup in made] == [list(OWN_TOOLS)] * len(made) != []


def test_fixed_steps_have_no_tools_of_ones_own(typed, made, equipped, tmp_path):
    typed.set(TREADLE_MODEL=script(tmp_path, json.dumps(READING)))
    assert typed("read", "add.py").code == 0
    assert made
    assert not any(tools_in(setup) for setup in made)


def test_tools_can_be_for_some_assistants_alone(typed, made, equipped):
    equipped('["platform", "courses"]')
    typed("ask", "Hello?", "-a", "platform")
    typed("ask", "Hello?", "-a", "guidance")
    typed("ask", "Hello?")
    assert [tools_in(setup) for setup in made] == [list(OWN_TOOLS), [], []]


def test_a_worker_has_them(typed, made, equipped):
    async def opened():
        async with open_agent(RunSpec("platform", f"{script(Path(), 'Hi.')}"), open_home(), "", WorkerModels()):
            pass

    asyncio.run(opened())
    assert [tools_in(setup) for setup in made] == [list(OWN_TOOLS)]


@pytest.mark.parametrize(("shared", "there"), [(False, OWN_TOOLS), (True, ())])
def test_a_server_of_one_person_has_them_and_one_of_many_has_not(typed, made, equipped, tmp_path, shared, there):
    (tmp_path / "project" / "theirs").mkdir()
    host = make_host().__replace__(shared=shared, folder=tmp_path / "project" / "theirs")
    making.assistant_agent(assistant("talk"), host, script(tmp_path, "Hi."))
    assert tools_in(made[0]) == list(there)


def test_the_platform_assistant_rolls_an_application_back(typed, equipped, tmp_path):
    call = asks(("rollback_application", {"name": "shop"}))
    typed.set(TREADLE_MODEL=script(tmp_path, call, "It is back."))
    waits = typed("ask", "Roll shop back.", "-a", "platform", "--json")
    assert waits.json["stopped"] == "waiting", waits
    typed.set(TREADLE_MODEL=script(tmp_path, call, "It is back."))
    ran = typed("ask", "Roll shop back.", "-a", "platform", "--allow", "rollback_*", "--json")
    assert ran.json["output"] == "It is back.", ran
    assert "shop is back at v41" in ran.json["calls"][0]["result"]


def test_a_tool_that_only_has_the_name_of_an_assistants_toolset_is_asked_about(typed, made, equipped, tmp_path):
    (tmp_path / "own.toml").write_text('[openapi.shell]\ndocument = "shop.json"\neffects = {"*" = "write"}\n')
    typed("ask", "Hello?", "-a", "coding")
    (tool,) = [tool for tool in made[0].toolset.tools() if tool.name == "shell_list_things"]
    assert isinstance(made[0].policy.judge(Call("c1", tool.name, {}), tool, Situation()), Ask)


@pytest.mark.parametrize(
    ("settled", "said"),
    [
        ('[tools.ops]\npython = ["none.py"]\n', "tools.ops in .*own.toml can't be used: There is no file .*none.py."),
        ('[tools.ops]\npython = ["tools.py:roll"]\n', "tools.ops in .* there is no roll. There are: rollback_application."),
        ('[openapi.shop]\ndocument = "none.json"\n', "openapi.shop in .*own.toml can't be used: .*none.json"),
        ('[mcp.gone]\ncommand = ["treadle-no-such-program"]\n', "The MCP server gone .*"),
        ('[assistants.platfrom]\nserver = "http://localhost"\n', ".* Did you mean platform?"),
        (
            '[tools.a]\npython = ["tools.py"]\n[tools.b]\npython = ["tools.py"]\n',
            "There are two tools called rollback_application.*",
        ),
    ],
)
@pytest.mark.parametrize("words", [("ask", "Hello?"), ("ask", "Hello?", "-a", "courses")], ids=["plain", "assistant"])
def test_what_cannot_be_had_is_one_sentence(typed, equipped, tmp_path, settled, said, words):
    (tmp_path / "own.toml").write_text(settled)
    ran = typed(*words)
    assert ran.code != 0
    assert re.search(said, ran.err), ran.err
    assert "Traceback" not in ran.err


def test_a_server_that_cannot_be_reached_is_one_sentence_over_http_too(typed, tmp_path):
    (tmp_path / "own.toml").write_text('[mcp.gone]\ncommand = ["treadle-no-such-program"]\n')
    body = {"model": "talk", "messages": [{"role": "user", "content": "Hello?"}]}
    with Serving(tmp_path, [assistant("talk")], lent=make_host()) as server:
        headers = {"content-type": "application/json"}
        asked = urllib.request.Request(f"{server.url}/v1/chat/completions", json.dumps(body).encode(), headers)
        with pytest.raises(urllib.error.HTTPError) as refused:
            urllib.request.urlopen(asked)
        said = json.loads(refused.value.read())["error"]["message"]
    assert said.startswith("The MCP server gone can't be started: ")


def test_an_mcp_server_is_there_for_a_plain_question(typed, tmp_path):
    command = json.dumps([sys.executable, "-m", "mcp_server_time"])
    (tmp_path / "own.toml").write_text(f"[mcp.time]\ncommand = {command}\n[policy]\nallow = ['time_*']\n")
    typed.set(TREADLE_MODEL=script(tmp_path, asks(("time_get_current_time", {"timezone": "Asia/Tokyo"})), "Late."))
    ran = typed("ask", "How late is it in Tokyo?", "--json")
    assert ran.json["output"] == "Late.", ran
    assert "Asia/Tokyo" in ran.json["calls"][0]["result"]


def test_a_credential_of_the_environment_goes_with_a_call(typed, equipped, tmp_path):
    seen = []

    class Shop(BaseHTTPRequestHandler):
        def do_GET(self):
            seen.append((self.headers["Authorization"], self.headers["X-Team"]))
            self.send_response(200)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", "2")
            self.end_headers()
            self.wfile.write(b"[]")

        def log_message(self, *_):
            pass

    with HTTPServer(("127.0.0.1", 0), Shop) as shop:
        Thread(target=shop.serve_forever, daemon=True).start()
        (tmp_path / "own.toml").write_text(
            f'[openapi.shop]\ndocument = "shop.json"\nbase_url = "http://127.0.0.1:{shop.server_port}"\nprivate = true\n'
            'credentials = { bearer = "SHOP_TOKEN" }\nheaders = { X-Team = "{SHOP_TEAM}" }\n'
        )
        typed.set(
            SHOP_TOKEN="tok-of-ann", SHOP_TEAM="red", TREADLE_MODEL=script(tmp_path, asks(("shop_list_things", {})), "Nothing.")
        )
        ran = typed("ask", "What is there?", "--json")
        shop.shutdown()
    assert ran.json["output"] == "Nothing.", ran
    assert seen == [("Bearer tok-of-ann", "red")]
    assert "tok-of-ann" not in ran.out
