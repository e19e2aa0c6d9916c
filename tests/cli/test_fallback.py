"""Several models where one can be settled on: every command, and the server, asks the next one where the first is down."""

import asyncio
import json
import urllib.request

import msgspec
import pytest

from cli.running import InProcess, asks, script
from packages import install
from server.running import Serving, assistant
from treadle.core.entries import Opened
from treadle.core.errors import SettingsError, UnknownModel
from treadle.plugins.models import check_model_name, configured_model, model_spec, resolve_model, split_model_names
from treadle.server.demo.model import find_demo_model
from treadle.server.host import make_host
from treadle.workers.run_spec import WorkerModels, run_spec_of
from wire import WireServer, refuse

DOWN = "openai:gpt-6"
ONWARDS = "Going on with scripted:"


@pytest.fixture
def typed(tmp_path, monkeypatch, capsys):
    """Commands of a person whose first model is always down."""
    with WireServer(lambda request: refuse(503)) as down:
        typed = InProcess(tmp_path, monkeypatch, capsys)
        typed.set(OPENAI_BASE_URL=f"{down.url}/v1", OPENAI_API_KEY="k", TREADLE_CONFIG=str(tmp_path / "own.toml"))
        (tmp_path / "own.toml").write_text("")
        yield typed


@pytest.fixture
def settle(tmp_path):
    """Settles on the model that is down, and on one that says this."""

    def settle(*replies, text='model = ["{}", "{}"]\n'):
        other = script(tmp_path, *replies)
        (tmp_path / "own.toml").write_text(text.format(DOWN, other))
        return other

    return settle


@pytest.mark.parametrize("text", ['model = ["{}", "{}"]\n', '[model]\nname = ["{}", "{}"]\n', 'model = "{}, {}"\n'])
def test_several_are_settled_on_in_any_form(typed, settle, text):
    settle("Hi.", text=text)
    ran = typed("ask", "Hello?")
    assert (ran.code, ran.out) == (0, "Hi.\n")
    assert "can't answer now (503)" in ran.err
    assert ONWARDS in ran.err


def test_they_may_be_typed_one_after_the_other_and_stand_in_a_variable(typed, settle):
    other = settle("Hi.", text="")
    assert typed("ask", "Hello?", "-m", DOWN, "-m", other).out == "Hi.\n"
    typed.set(TREADLE_MODEL=f"{DOWN}, {other}")
    assert typed("ask", "Hello?").out == "Hi.\n"


def test_one_model_can_be_settled_on_without_a_table(typed, settle):
    settle("Hi.", text='model = "{1}"\n')
    ran = typed("ask", "Hello?")
    assert (ran.code, ran.out, ONWARDS in ran.err) == (0, "Hi.\n", False)


def test_a_conversation_has_them(typed, settle):
    settle("One.", "Two.")
    ran = typed("chat", stdin="first\nsecond\n")
    assert (ran.code, ran.out) == (0, "One.\nTwo.\n")
    assert ran.err.count(ONWARDS) == 1  # the one that is down rests


READING = {"file_intent": "Adds.", "responsibilities": [{"label": "Adding up", "description": "Adds.", "ranges": [[1, 2]]}]}


@pytest.mark.parametrize(
    ("prepare", "words"),
    [
        ((), ("ask", "Hello?", "-a", "reading")),
        ((), ("platform", "ask", "Hello?")),
        (("guide", "demo"), ("guide", "ask", "Hello?")),
        (("courses", "demo"), ("courses", "ask", "Hello?")),
        ((), ("triage", "It fails.", "-C", "project", "--json")),
        ((), ("read", "add.py")),
    ],
    ids=lambda words: "-".join(words[:2]),
)
def test_assistants_have_them(typed, settle, tmp_path, prepare, words):
    (tmp_path / "project").mkdir()
    (tmp_path / "add.py").write_text("def add(a, b):\n    return a + b\n")
    report = {"severity": "low", "category": "bug", "summary": "Hi.", "root_cause": "Nothing."}
    settle({"read": json.dumps(READING), "triage": asks(("give_answer", report))}.get(words[0], "Hi."))
    if prepare:
        typed(*prepare)
    ran = typed(*words)
    assert ran.code == 0, ran.err
    assert {"read": "Adds.", "triage": '"summary": "Hi."'}.get(words[0], "Hi.\n") in ran.out
    if words[0] == "triage":
        assert ran.json["origin"]["model"] == ", ".join([DOWN, f"scripted:{tmp_path}/script.json"])  # what it is resumed with


def test_a_run_is_resumed_with_them(typed, settle, tmp_path):
    install(tmp_path, "a-probe", "a_probe", "probe = FunctionToolset([change])")
    settle(asks(("change", {"thing": "a"})))
    ran = typed("ask", "Change a.", "--tools", str(tmp_path / "a_probe.py"), "--ask", "change", "--run-id", "r")
    assert ran.code == 3, ran.err
    assert typed("approve", "r", "call_1_1").code == 0
    settle("Done.", text="")  # what is left of the script; the run itself knows its models
    ran = typed("resume", "r")
    assert (ran.code, ran.out) == (0, "Done.\n")
    assert ONWARDS in ran.err


def test_runs_for_workers_have_them(typed, settle):
    other = settle("Hi.")
    run_id = typed("submit", "-a", "reading", "Hello?").out.strip()
    opened = json.loads(typed("show", run_id, "--entries").out.splitlines()[0])
    assert (opened["model"], opened["origin"]["model"]) == (DOWN, f"{DOWN}, {other}")
    order = run_spec_of(run_id, msgspec.convert(opened, Opened))
    assert [model.name for model in WorkerModels().get_model(order).models] == [DOWN, other]  # what any worker asks


def test_a_server_has_them(typed, settle, tmp_path):
    settle("Hi.")
    with Serving(tmp_path, [assistant("talk")], lent=make_host()) as server:
        body = json.dumps({"assistant": "talk", "message": "Hello?"}).encode()
        headers = {"content-type": "application/json"}
        with urllib.request.urlopen(urllib.request.Request(f"{server.url}/api/runs", body, headers)) as answer:
            run_id = json.load(answer)["run_id"]
        with urllib.request.urlopen(f"{server.url}/api/runs/{run_id}/events") as events:
            told = events.read().decode()
    assert "Hi." in told
    assert ONWARDS in told
    assert asyncio.run(find_demo_model()) == (f"{DOWN}, scripted:{tmp_path}/script.json", "")


def test_they_are_shown(typed, settle):
    other = settle("Hi.")
    rows = {row["key"]: row for row in typed("settings", "--json").json["settings"]}
    assert rows["model.name"]["value"] == f"{DOWN}, {other}"
    assert f'"{DOWN}, {other}"' in typed("settings").out
    assert typed("models", "--json").json["default"] == f"{DOWN}, {other}"
    assert f"{DOWN} is the default, then {other} if it is down." in typed("doctor").out


def test_one_address_is_not_that_of_several_servers(typed, settle):
    settle("Hi.")
    ran = typed("ask", "Hello?", "--base-url", "http://127.0.0.1:9/v1")
    assert (ran.code, ran.out, ran.err.count("\n")) == (2, "", 1)
    assert "[providers.KIND]" in ran.err


def test_a_comma_before_what_looks_like_a_name_separates(typed, settle):
    with pytest.raises(UnknownModel, match="'nosuch'"):
        check_model_name("openai:a, nosuch:b")
    assert split_model_names("command:echo a, b: c") == ["command:echo a, b: c"]
    assert split_model_names("openai:a,ollama:b , anthropic:c") == ["openai:a", "ollama:b", "anthropic:c"]
    settle("Hi.")
    assert model_spec(resolve_model(configured_model()[0])) == configured_model()[0]
    with pytest.raises(SettingsError, match="several models"):
        resolve_model("openai:a, openai:b", base_url="http://127.0.0.1:9")
