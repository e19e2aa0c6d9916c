"""One assistant, every face: what the model is asked is the same, whichever face a person comes by."""

import asyncio
import json
import urllib.request
from pathlib import Path

import pytest

from cli.running import InProcess, asks, script
from server.running import Serving
from treadle.agent.agent import Agent
from treadle.home import open_home
from treadle.plugins import assistants as making
from treadle.plugins.assistants import get_assistant
from treadle.server.host import make_host
from treadle.stores.journal import JournalQuery
from treadle.workers.run_spec import RunSpec, WorkerModels, open_agent

EXAMPLE = Path(__file__).parents[2] / "examples" / "sixth-assistant" / "src"
QUESTION = "What is there?"
HEADERS = {"content-type": "application/json"}
MESSAGES = [{"role": "user", "content": QUESTION}]


class Heard:
    """A model, and what it was asked first."""

    def __init__(self, model, found):
        self._model, self._found = model, found
        self.name, self.traits = model.name, model.traits

    async def reply(self, request):
        self._found.append(request)
        async for delta in self._model.reply(request):
            yield delta


@pytest.fixture
def made(monkeypatch):
    """The agents that are made meanwhile, and the requests of each."""
    found = []

    class Seen(Agent):
        def __init__(self, model, **parts):
            requests = []
            super().__init__(Heard(making.resolve_model(model), requests), **parts)
            found.append((self.setup, requests))

    monkeypatch.setattr(making, "Agent", Seen)
    return found


@pytest.fixture
def typed(tmp_path, monkeypatch, capsys):
    typed = InProcess(tmp_path, monkeypatch, capsys)
    (tmp_path / "own.toml").touch()
    typed.set(TREADLE_CONFIG=str(tmp_path / "own.toml"), TREADLE_MODEL=script(tmp_path, "This.", "This."))
    (tmp_path / "project").mkdir()
    monkeypatch.chdir(tmp_path / "project")
    return typed


@pytest.fixture
def sixth(tmp_path, monkeypatch):
    """The example of an assistant from another package, as if it were installed."""
    known = tmp_path / "installed" / "treadle_almanac-0.1.dist-info"
    known.mkdir(parents=True)
    (known / "METADATA").write_text("Metadata-Version: 2.1\nName: treadle-almanac\nVersion: 0.1\n")
    (known / "entry_points.txt").write_text("[treadle.assistants]\nalmanac = treadle_almanac:ALMANAC\n")
    monkeypatch.syspath_prepend(str(known.parent))
    monkeypatch.syspath_prepend(str(EXAMPLE))


def profile(setup, request):
    """All that makes an agent what it is, to its model and to its person."""
    tools = {spec.name: spec for spec in request.tools}
    effects = {tool.name: (tool.effect, tool.retry, tool.trust) for tool in setup.toolset.tools()}
    return {
        "name": setup.name,
        "instructions": request.instructions,
        "tools": tools,
        "effects": {name: each for name, each in effects.items() if name in tools},
        "note": request.note,
        "options": request.options,
        "limits": setup.terms.limits,
        "notes": setup.terms.notes,
        "results": setup.result_limit,
        "policy": [repr(rule) for rule in getattr(setup.policy, "rules", ())],
    }


def ask_on_server(tmp_path, name, path, body, context):
    with Serving(tmp_path, [get_assistant(name)], lent=make_host()) as server:
        body = {**body, "context": context} if path == "/api/runs" and context else body
        headers = {**HEADERS, "accept": "text/event-stream"} if path == "/api/runs" else HEADERS
        asked = urllib.request.Request(f"{server.url}{path}", json.dumps(body).encode(), headers)
        with urllib.request.urlopen(asked) as answer:
            assert answer.status == 200
            answer.read()


def ask_worker(name, replies):
    async def asked():
        async with open_agent(RunSpec(name, script(Path(), *replies)), open_home(), "", WorkerModels()) as agent:
            await agent.run(QUESTION)

    asyncio.run(asked())


def faces(name, typed, tmp_path, command=None, context=None, replies=("This.",)):
    """What each face does: asks the question."""
    runs = {"assistant": name, "message": QUESTION}
    return {
        **({} if command is None else {"its own command": lambda: typed(*command)}),
        **({} if context else {"ask -a": lambda: typed("ask", QUESTION, "-a", name)}),
        **({} if context else {"chat -a": lambda: typed("chat", "-a", name, stdin=f"{QUESTION}\n")}),
        "POST /api/runs": lambda: ask_on_server(tmp_path, name, "/api/runs", runs, context),
        **(
            {}
            if context
            else {
                "/v1/chat/completions": lambda: ask_on_server(
                    tmp_path, name, "/v1/chat/completions", {"model": name, "messages": MESSAGES}, None
                ),
                "/v1/messages": lambda: ask_on_server(
                    tmp_path, name, "/v1/messages", {"model": name, "max_tokens": 800, "messages": MESSAGES}, None
                ),
                "a worker": lambda: ask_worker(name, replies),
            }
        ),
    }


def profiles(made, faces):
    found = {}
    for face, ask in faces.items():
        made.clear()
        ask()
        [(setup, requests)] = [each for each in made if each[1]]
        found[face] = profile(setup, requests[0])
    return found


def compare(found):
    first, *others = found
    for other in others:
        for part, value in found[first].items():
            theirs = found[other][part]
            if part == "policy" and other.startswith("/v1"):
                continue  # judged by the same rules, inside of one that hands the caller's own tools on
            if part == "options" and other == "/v1/messages":
                continue  # which demands a `max_tokens` of its clients
            assert theirs == value, f"{part} at {other} and at {first}"


@pytest.mark.parametrize(
    ("name", "command"),
    [
        ("courses", ("courses", "ask", QUESTION)),
        ("platform", ("platform", "ask", QUESTION)),
        ("reading", None),
        ("coding", None),
        ("guidance", None),
        ("almanac", None),
    ],
)
def test_every_face_asks_the_same_model_the_same(made, typed, sixth, tmp_path, name, command):
    if name == "courses":
        typed("courses", "demo")
    compare(profiles(made, faces(name, typed, tmp_path, command)))


async def latest_context():
    journal = open_home().journal
    run = (await journal.list_runs(JournalQuery(limit=1)))[0]
    return (await journal.read(run.run_id))[0].origin["about"]


def test_every_face_asks_the_same_about_a_project(made, typed, tmp_path):
    typed("guide", "demo")
    project = typed("guide", "projects", "--json").json[0]["id"]
    typed("guide", "ask", QUESTION, "-p", project)
    context = asyncio.run(latest_context())
    command = ("guide", "ask", QUESTION, "-p", project)
    found = profiles(made, faces("guidance", typed, tmp_path, command, context))
    compare(found)
    assert "get_problem_spec" in found["POST /api/runs"]["tools"]


def test_a_face_that_adds_an_option_of_its_own_is_noticed(made, typed, tmp_path):
    asked = {
        "ask -a": lambda: typed("ask", QUESTION, "-a", "platform"),
        "another": lambda: typed("ask", QUESTION, "-a", "platform", "--temperature", "0.9"),
    }
    with pytest.raises(AssertionError, match="options at another and at ask -a"):
        compare(profiles(made, asked))


def test_what_is_settled_for_an_assistant_counts_at_every_face(made, typed, tmp_path):
    own = tmp_path / "own.toml"
    document = openapi_document(tmp_path)
    own.write_text(f"[assistants.courses]\nrounds = 3\n\n[assistants.platform]\nopenapi = '{document}'\n")
    typed("courses", "demo")
    found = profiles(made, faces("courses", typed, tmp_path, ("courses", "ask", QUESTION)))
    rounds = {face: (each["limits"].rounds, "3 times at most" in each["notes"][0]) for face, each in found.items()}
    assert rounds == dict.fromkeys(found, (3, True))
    found = profiles(made, faces("platform", typed, tmp_path, ("platform", "ask", QUESTION)))
    assert {face: sorted(each["tools"]) for face, each in found.items()} == {face: ["listShips"] for face in found}


def openapi_document(folder):
    """A platform of another kind, with one operation."""
    shown = {"summary": "List the ships", "operationId": "listShips", "responses": {"200": {"description": "ships"}}}
    document = {"openapi": "3.1.0", "info": {"title": "Harbour", "version": "1"}, "paths": {"/ships": {"get": shown}}}
    path = folder / "harbour.json"
    path.write_text(json.dumps({**document, "servers": [{"url": "http://127.0.0.1:9"}]}))
    return path


def test_a_tool_that_is_denied_to_guidance_is_offered_at_no_face(made, typed, tmp_path):
    (tmp_path / "own.toml").write_text("[assistants.guidance]\ndenied_tools = ['list_runs']\n")
    typed("guide", "demo")
    project = typed("guide", "projects", "--json").json[0]["id"]
    command = ("guide", "ask", QUESTION, "-p", project)
    typed(*command)
    found = profiles(made, faces("guidance", typed, tmp_path, command, asyncio.run(latest_context())))
    assert {
        face: ("list_runs" in each["tools"], "get_problem_spec" in each["tools"]) for face, each in found.items()
    } == dict.fromkeys(found, (False, True))


LOOKS = {
    "courses": ("search_course_content", {"query": "bread"}),
    "platform": ("list_applications", {}),
    "reading": ("list_source_files", {}),
    "coding": ("file", {"action": "list", "path": "."}),
}


@pytest.mark.parametrize(
    ("name", "command"),
    [("courses", ("courses", "ask", QUESTION)), ("platform", ("platform", "ask", QUESTION)), ("reading", None), ("coding", None)],
)
def test_one_round_that_is_settled_ends_every_face_after_one_round(made, typed, tmp_path, name, command):
    (tmp_path / "own.toml").write_text("[limits]\nrounds = 1\n")
    replies = [asks(LOOKS[name]), "This.", "Too much."]
    if name == "courses":
        typed("courses", "demo")
    for face, ask in faces(name, typed, tmp_path, command, replies=replies).items():
        made.clear()
        typed.set(TREADLE_MODEL=script(tmp_path, *replies))
        ask()
        [requests] = [requests for _, requests in made if requests]
        assert [bool(each.tools) for each in requests] == [True, False], face
