"""Every command prints JSON with `--json`, and nothing else on stdout: found by walking the parser, tried in stories."""

import argparse
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from zipfile import ZipFile

import pytest

from assistants.coding.stage import MENDED, needs_git, project
from assistants.courses.course_setup import ASTRONOMY, SAILING, write
from assistants.platform.platform_setup import SPEC
from cli.running import TOOLBOX, InProcess, asks, script
from treadle.cli.options import build_parser
from treadle.cli.parser import CommandParser
from treadle.demo.platform import start_demo
from treadle.plugins.assistants import AssistantCommand, add_command_options, collect_commands, find_assistants

WITHOUT = {
    "acp": "speaks the Agent Client Protocol on stdout, which is JSON-RPC",
    "completion": "prints a script for a shell",
    "eval import": "prints a dataset, which is JSONL",
    "help": "prints help, which is for people",
    "mcp": "speaks MCP on stdout, which is JSON-RPC",
    "parse": "prints JSON always",
    "patch": "prints a patch, which is for `git apply`",
    "platform demo": "prints the address and the tokens of a server that runs until Ctrl-C",
    "serve": "prints one URL, and serves until Ctrl-C",
    "worker": "prints a line for each run until Ctrl-C; `treadle runs --json` has all of them",
}
ELSEWHERE = {  # tried in a test of their own
    **dict.fromkeys(("cancel", "watch", "wait", "retry"), "commands/test_run_control.py"),
    **dict.fromkeys(
        ("dead-letters", "dead-letters list", "dead-letters retry", "dead-letters remove", "queues"), "commands/test_queues.py"
    ),
    "event": "commands/test_event.py",
    "models pull": "commands/test_models_pull.py",
    "models remove": "commands/test_models_pull.py",
    "models probe": "commands/test_models_probe.py",
}
declared: dict[str, str] = {}


def tries(*commands: str) -> Callable[[Any], Any]:
    """Declare the commands that a story tries."""

    def mark(test: Any) -> Any:
        declared.update(dict.fromkeys(commands, test.__name__))
        test.commands = set(commands)
        return test

    return mark


def _walk(parser: argparse.ArgumentParser, path: str = "") -> Iterator[tuple[str, argparse.ArgumentParser]]:
    """All commands and actions; one that needs an action is none by itself."""
    inner = [action for action in parser._actions if isinstance(action, argparse._SubParsersAction)]
    if path and not any(action.required for action in inner):
        yield path, parser
    for action in inner:
        for name, child in action.choices.items():
            yield from _walk(child, f"{path} {name}".strip())


def all_commands() -> dict[str, argparse.ArgumentParser]:
    found = dict(_walk(build_parser()))
    for name, offer in collect_commands([each for each in find_assistants()[0] if each.package == "treadle"])[0].items():
        for part in offer.command.parts or (offer.command,):
            parser = CommandParser()
            add_command_options(parser, AssistantCommand(offer.assistant, part))
            found[name if part.name == name else f"{name} {part.name}"] = parser
    return found


def test_every_command_has_the_option_or_a_reason_not_to():
    flags = {path: parser._option_string_actions.get("--json") for path, parser in all_commands().items()}
    assert {path for path, flag in flags.items() if flag is None} == set(WITHOUT)
    assert all(flag is None or flag.nargs == 0 for flag in flags.values())


def test_every_command_that_has_it_is_tried():
    assert set(declared) | set(ELSEWHERE) == set(all_commands()) - set(WITHOUT)
    for path, file in ELSEWHERE.items():
        text = (Path(__file__).parent / file).read_text()
        assert f'"{path.split()[-1]}"' in text
        assert '"--json"' in text


class Story:
    """Commands with `--json`, one after the other, whose output is decoded."""

    def __init__(self, typed: InProcess) -> None:
        self.typed = typed
        self.tried: set[str] = set()

    def __call__(self, path: str, *words: str, code: int | None = 0, lines: bool = False, **how: Any) -> Any:
        ran = self.typed(*path.split(), *words, "--json", **how)
        assert code in (None, ran.code), f"{path}: {ran.code} {ran.err}"
        self.tried.add(path)
        return [json.loads(line) for line in ran.out.splitlines()] if lines else json.loads(ran.out)


@pytest.fixture
def story(tmp_path, monkeypatch, capsys, request):
    typed = InProcess(tmp_path, monkeypatch, capsys)
    (tmp_path / "own.toml").write_text("")
    typed.set(TREADLE_CONFIG=str(tmp_path / "own.toml"))
    made = Story(typed)
    yield made
    assert made.tried == request.function.commands


ORDERS = asks(("order", {"item": "A"}))


@tries(*("ask", "chat", "resume", "runs", "runs list", "runs cancel", "runs rate", "runs delete", "show", "fork", "audit", "stats"))
def test_runs(story, tmp_path):
    model, tools = script(tmp_path, "Hello."), ("--tools", TOOLBOX)
    run = story("ask", "Hi", "-m", model)["run_id"]
    assert [each["output"] for each in story("chat", "-m", model, stdin="Hi\n", lines=True)] == ["Hello."]
    assert story("show", run)["run_id"] == run
    copy = story("fork", run)["run_id"]
    assert {each["run_id"] for each in story("runs")} >= {run}
    assert story("runs list", "--status", "waiting") == []
    assert story("runs rate", run, "good")["feedback"]["rating"] == "good"
    assert story("runs delete", copy, "--force")
    waits = story("ask", "Buy", "-m", script(tmp_path, ORDERS), *tools, code=3)["run_id"]
    story("resume", waits, code=3)
    story("runs cancel", waits)
    assert story("audit")
    assert story("stats")


@tries(*("approve", "deny", "settle", "tool list", "tool show", "tool call"))
def test_calls(story):
    tools = ("--tools", TOOLBOX)
    assert story("tool list", *tools)[0]["spec"]["name"] == "stock"
    assert story("tool show", "stock", *tools)["effect"] == "read"
    assert story("tool call", "stock", "--arguments", '{"item": "A"}', *tools) == 40
    order = ("tool", "call", "order", "--arguments", '{"item": "A"}', *tools)
    for command in ("approve", "deny"):
        assert story.typed(*order).code == 3
        waiting = json.loads(story.typed("runs", "--json").out)[0]["run_id"]
        assert [each["call_id"] for each in story(command, waiting, "--list")] == ["call_1"]
        assert story(command, waiting, "call_1")
    assert story("settle", waiting, code=None) == []


@tries("permissions", "permissions list", "permissions revoke")
def test_permissions(story):
    assert story.typed("tool", "call", "order", "--arguments", '{"item": "A"}', "--tools", TOOLBOX).code == 3
    assert story.typed("approve", "--for", "always").code == 0
    [grant] = story("permissions")
    assert story("permissions list") == [grant]
    assert story("permissions revoke", grant["id"])
    assert story("permissions") == []


@tries("eval run", "eval replay", "permissions test")
def test_evaluations(story, tmp_path):
    story.typed("ask", "Hi", "-m", script(tmp_path, "Hello."), "--run-id", "r")
    assert [run["status"] for run in story("eval replay", "r")["runs"]] == ["same"]
    policy, cases = tmp_path / "policy.json", tmp_path / "cases.json"
    policy.write_text("{}")
    assert story("permissions test", str(policy))["runs"] == 1
    cases.write_text(json.dumps({"cases": [{"name": "a", "input": "Hi", "assistant": "reading"}]}))
    assert story("eval run", str(cases), "-m", script(tmp_path, "Hello."), code=None)["dataset"] == "cases"


@tries("memory", "memory list", "memory show", "memory forget", "memory path")
def test_memory(story):
    folder = Path(story("memory path")["user"])
    folder.mkdir(parents=True)
    (folder / "style.md").write_text("Use tabs.")
    assert story("memory") == story("memory list") == [story("memory show", "style")]
    assert story("memory forget", "style")["text"] == "Use tabs."
    assert story("memory") == []


@tries(*("models", "models list", "settings", "assistants", "plugins", "version", "doctor", "backup", "restore"))
def test_the_installation(story, tmp_path):
    assert story("models")["kinds"] == story("models list")["kinds"]
    assert story("settings")["settings"]
    assert "coding" in json.dumps(story("assistants"))
    assert story("plugins")
    assert story("version")
    story.typed("ask", "Hi", "-m", script(tmp_path, "Hello."))
    assert story("doctor", code=None)
    assert story("backup", str(tmp_path / "all.tar.gz"))["files"] > 0
    assert story("restore", str(tmp_path / "all.tar.gz"), "--replace")["folder"] == str(tmp_path / "data")


@tries(*("users", "users list", "users add", "users change", "users token", "users remove", "users link", "users quotas"))
def test_users(story, tmp_path):
    assert story("users add", "anna")["token"]
    quota = '[quotas.each]\nusers = ["*"]\ntokens = 9\n'
    (tmp_path / "own.toml").write_text(f'[oidc]\nissuer = "https://login.example.org"\nclient_id = "x"\n{quota}')
    assert story("users link", "anna", "s-1")["subject"] == "s-1"
    assert [(each["quota"], each["tokens"], each["token_limit"]) for each in story("users quotas", "anna")] == [("each", 0, 9)]
    assert story("users change", "anna", "--role", "admin")
    assert story("users token", "anna")["token"]
    assert story("users") == story("users list")
    assert story("users remove", "anna")["name"] == "anna"


@tries(*("submit", "schedules", "schedules list", "schedules remove", "retention", "retention show", "retention apply"))
def test_queues_and_retention(story, tmp_path):
    assert story("submit", "-a", "courses", "Hi", "-m", "scripted:x.json")["run_id"]
    name = story("submit", "-a", "courses", "Hi", "-m", "scripted:x.json", "--every", "0 7 * * *")
    assert story("schedules") == story("schedules list")
    assert story("schedules remove", name["schedule"] if "schedule" in name else name["name"])
    (tmp_path / "own.toml").write_text("[retention]\nruns_days = 1\n")
    assert story("retention") == story("retention show") == story("retention apply") == {"runs": [], "jobs": []}


@tries("notifications", "notifications list", "notifications send")
def test_notifications(story, tmp_path):
    (tmp_path / "own.toml").write_text("[notifications.desk]\ndesktop = true\nevents = ['result']\n")
    assert story("notifications") == story("notifications list") == story("notifications send") == []


READS_AND_MENDS = asks(
    ("file", {"action": "read", "path": "shop.py"}), ("file", {"action": "write", "path": "shop.py", "content": MENDED})
)
REPORTS = asks(("give_answer", {"summary": "Mend the price.", "done": True}))


@needs_git
@tries(
    *("code", "debug", "build", "review", "triage", "follow-up", "diff", "undo", "merge", "pr"),
    *("jobs", "jobs list", "jobs show", "jobs watch", "jobs cancel", "jobs resume", "jobs delete"),
)
def test_jobs(story, tmp_path, monkeypatch):
    folder = project(tmp_path)
    monkeypatch.chdir(folder)
    (tmp_path / ".gitconfig").write_text("[user]\n\tname = Ann\n\temail = ann@example.org\n")
    assert story("code", "What is it?", "-m", script(tmp_path, "A shop."))["output"] == "A shop."
    job = story("debug", "-m", script(tmp_path, READS_AND_MENDS, REPORTS))["id"]
    assert story("diff", job)["files"][0]["path"] == "shop.py"
    assert story("merge", job)["job"] == job
    assert story("pr", job, code=None)["job"] == job
    assert story("undo", job, "--force", code=None)["job"] == job
    assert story("jobs")[0]["id"] == story("jobs list")[0]["id"] == story("jobs show", job)["id"] == job
    assert story("jobs watch", job, lines=True)
    assert story("jobs cancel", job)["state"] == "completed"
    assert story("jobs resume", job)["id"] == job
    over = script(tmp_path, asks(("give_answer", {"summary": "Nothing.", "done": True})))
    assert story("build", "Say hello", "-m", over, code=None)["kind"] == "build"
    assert story("follow-up", job, "And more", "-m", over, code=None)["facts"]
    assert story("review", "-m", over, code=None)["kind"] == "review"
    assert story("triage", "It fails", "-m", over, code=None)["kind"] == "triage"
    assert story("jobs delete", job) == {"deleted": job}


@tries("read")
def test_reading(story, tmp_path):
    (tmp_path / "shop.py").write_text('"""A shop."""\n')
    assert story("read", "shop.py", "--no-model")["metadata"]["language"] == "python"


@tries(*[f"courses {name}" for name in ("add", "remove", "delete", "list", "search", "ask", "chat", "demo")])
def test_courses(story, tmp_path):
    folder = write(tmp_path / "material", sailing=SAILING, moon=ASTRONOMY)
    assert story("courses add", str(folder))["added"] == 2
    assert len(story("courses list")) == 2
    assert story("courses search", "keel")
    assert story("courses ask", "Is it?", "-m", script(tmp_path, "Yes."))
    assert [each["output"] for each in story("courses chat", "-m", script(tmp_path, "Yes."), stdin="Is it?\n", lines=True)] == [
        "Yes."
    ]
    assert story("courses remove", str(folder))["removed"] == 2
    assert story("courses demo")["courses"]
    with ZipFile(tmp_path / "more.zip", "w") as archive:
        archive.writestr("sailing.txt", SAILING)
    assert story("courses add", str(tmp_path / "more.zip"))["added"] == 1
    assert story("courses delete", "sailing")["deleted"]


SITUATIONS = '{"scenarios": [{"name": "Snow", "description": "Two weeks of it"}]}'
PROPOSED = '{"candidates": [{"description": "Signals first", "effects": []}]}'
JUDGED = '{"judgements": [{"constraint": "Fares", "reason": "They stay", "score": 90}]}'


@tries(
    *("guide demo", "guide new", "guide projects", "guide show", "guide ask", "guide chat", "guide share", "guide unshare"),
    *("guide delete", "guide run", "guide runs", "guide resume", "guide cancel", "guide compare", "guide adr", "guide candidate"),
    *("guide issue", "guide issues"),
)
def test_guidance(story, tmp_path):
    assert story("guide demo")["title"]
    assert story("guide run", "--candidates", "1", "-m", script(tmp_path, SITUATIONS, PROPOSED, JUDGED))["candidates"]
    assert story("guide adr", story("guide compare")["candidates"][0]["id"])["record"].startswith("# ")
    assert story("guide runs")
    assert story("guide resume", story("guide candidate", "A ferry")["run_id"], "-m", script(tmp_path, SITUATIONS, JUDGED))
    assert story("guide cancel", story("guide candidate", "A boat")["run_id"])["status"] == "cancelled"
    assert story("guide issue", "No weather")
    assert story("guide issues")
    assert story("guide show")
    assert story("guide ask", "Can I run it?", "-m", script(tmp_path, "Yes."))
    assert [each["output"] for each in story("guide chat", "-m", script(tmp_path, "Yes."), stdin="So?\n", lines=True)] == ["Yes."]
    made = story("guide new", "Tea")["id"]
    assert story("guide share", made, "ben")["members"] == ["ben"]
    assert story("guide unshare", made, "ben")["members"] == []
    assert len(story("guide projects")) == 2
    assert story("guide delete", made) == {"deleted": made}


@tries(*[f"platform {name}" for name in ("ask", "chat", "generate", "deploy", "delete", "run", "retry", "validate")])
def test_the_platform(story, tmp_path):
    (tmp_path / "score.yaml").write_text(SPEC)
    with start_demo(tmp_path / "platform.db", pace=None) as demo:
        story.typed.set(TREADLE_PLATFORM_SERVER=demo.url, TREADLE_PLATFORM_TOKEN=demo.token("alice"))
        assert story("platform ask", "Is it?", "-m", script(tmp_path, "Yes."))["output"] == "Yes."
        assert story("platform chat", "-m", script(tmp_path, "Yes."), stdin="Is it?\n", lines=True)[0]["output"] == "Yes."
        assert story("platform generate", "x", "-m", script(tmp_path, f"```yaml\n{SPEC}```"), code=None)["spec"]
        assert story("platform deploy", "score.yaml", "--yes")
        assert story("platform run", "deploy-app", "score.yaml", "--yes", code=None)
        assert story("platform delete", "checkout", "--yes")
        assert story("platform retry", "7", "--yes")
        assert story("platform validate", "score.yaml")["score.yaml"]["valid"]
