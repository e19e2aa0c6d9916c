"""`treadle ask -a coding`: looking at a project needs no question, and a change is asked about with its diff."""

import json
import urllib.request

import pytest
from msgspec.structs import replace

from assistants.coding.stage import MENDED, SHOP, needs_git, project
from cli.running import InProcess, asks, script
from server.running import Serving, host
from treadle.plugins.assistants import get_assistant
from treadle.testing import Scripted, calls

RETRY = "def fetch():\n    for attempt in range(3):  # retry\n        pass\n"
LOOKING = (
    ("search", {"action": "grep", "pattern": "retry"}),
    ("file", {"action": "read", "path": "retry.py"}),
    ("code_edit", {"action": "get_lines", "path": "retry.py", "start_line": 1, "end_line": 2}),
    ("navigate", {"action": "list_directory"}),
    ("git", {"action": "status"}),
    ("git", {"action": "log"}),
)


@pytest.fixture
def typed(tmp_path, monkeypatch, capsys):
    typed = InProcess(tmp_path, monkeypatch, capsys)
    folder = project(tmp_path)
    (folder / "retry.py").write_text(RETRY)
    monkeypatch.chdir(folder)
    return typed


@needs_git
def test_a_question_about_the_code_is_answered_without_a_question(typed, tmp_path):
    model = script(tmp_path, asks(*LOOKING, ("test", {})), "In retry.py; no test is about it.")
    ran = typed("ask", "-a", "coding", "Where is the retry logic, and is it tested?", "-m", model)
    assert (ran.code, ran.out) == (0, "In retry.py; no test is about it.\n"), ran.err
    assert "wants to run" not in ran.err
    audit = typed("audit", "--json").json
    ended = [(each["tool_name"], each["verdict"], each["success"]) for each in audit if each["stage"] == "ended"]
    assert sorted(ended) == sorted([(name, "allow", True) for name in (*[name for name, _ in LOOKING], "test")])
    assert [each["tool_name"] for each in audit if each["stage"] == "begins"] == ["test"]


LINE_2 = {"start_line": 2, "end_line": 2}
CHANGES = [
    ("file", {"action": "write", "path": "shop.py", "content": MENDED}),
    ("file", {"action": "replace", "path": "shop.py", "old": " + 1", "new": ""}),
    (
        "code_edit",
        {"action": "edit_lines", "path": "shop.py", **LINE_2, "new_content": "    return count * 3"},
    ),
]


@needs_git
@pytest.mark.parametrize("change", CHANGES, ids=lambda change: change[1]["action"])
def test_a_change_waits_with_its_diff_and_is_made_once_it_is_approved(typed, tmp_path, change):
    reading = ("file", {"action": "read", "path": "shop.py"})
    model = script(tmp_path, asks(reading), asks(change))
    ran = typed("ask", "-a", "coding", "Mend the price.", "-m", model)
    assert ran.code == 3, ran.err
    assert "-    return count * 3 + 1\n" in ran.err
    assert "+    return count * 3\n" in ran.err
    shop = tmp_path / "shop" / "shop.py"
    assert shop.read_text() == SHOP
    (run,) = typed("runs", "--json").json
    assert typed("approve", run["run_id"], "call_2_1").code == 0
    script(tmp_path, "Mended.")
    ran = typed("resume", run["run_id"])
    assert (ran.code, shop.read_text()) == (0, MENDED), ran.err


@needs_git
@pytest.mark.parametrize("call", [("bash", {"command": "ls"}), ("git", {"action": "add", "files": ["retry.py"]})])
def test_commands_and_changes_of_the_repository_are_asked_about(typed, tmp_path, call):
    ran = typed("ask", "-a", "coding", "Go on.", "-m", script(tmp_path, asks(call), "Done."))
    assert ran.code == 3, ran.err


@needs_git
def test_tests_outside_of_the_sandbox_are_asked_about(typed, tmp_path):
    (tmp_path / "own.toml").write_text("[commands]\nsandbox = false\n")
    typed.set(TREADLE_CONFIG=str(tmp_path / "own.toml"))
    ran = typed("ask", "-a", "coding", "Which tests fail?", "-m", script(tmp_path, asks(("test", {})), "None."))
    assert ran.code == 3, ran.err


@needs_git
def test_on_the_page_looking_needs_no_question_and_a_change_is_asked_about_with_its_diff(tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("TREADLE_CONFIG", str(tmp_path / "own.toml"))
    (tmp_path / "own.toml").touch()
    folder = project(tmp_path)
    (folder / "retry.py").write_text(RETRY)
    reading = ("file", {"action": "read", "path": "shop.py"})
    model = Scripted(calls(*LOOKING, reading), calls(CHANGES[0]))
    body = json.dumps({"assistant": "coding", "message": "Mend the price."}).encode()
    headers = {"content-type": "application/json", "accept": "text/event-stream"}
    lent = replace(host(tmp_path, model), folder=folder)
    with (
        Serving(tmp_path, [get_assistant("coding")], lent=lent) as server,
        urllib.request.urlopen(urllib.request.Request(f"{server.url}/api/runs", body, headers)) as answer,
    ):
        events = [json.loads(line[6:]) for line in answer if line.startswith(b"data: ")]
    needed = [each for each in events if each["event"] == "approval_needed"]
    assert [each["call"]["arguments"]["action"] for each in needed] == ["write"]
    assert (events[-1]["stopped"], len(events[-1]["approvals"])) == ("waiting", 1)
    assert "-    return count * 3 + 1\n+    return count * 3" in events[-1]["approvals"][0]["preview"]
    assert (folder / "shop.py").read_text() == SHOP
