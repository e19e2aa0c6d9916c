"""`treadle read --since`: which definitions a change touches, and what it is for. Without a sandbox for git tests are skipped."""

import asyncio
import json
import shutil
import subprocess

import pytest

from assistants.reading.sample_outlines import node, parts
from assistants.reading.test_routes import call
from cli.running import script, treadle
from server.running import Serving
from treadle.assistants.reading import assistant
from treadle.assistants.reading.change_reading import DefinitionChange, find_touched_definitions
from treadle.models.scripted import Scripted
from treadle.sandbox.probe import check_sandbox

BEFORE = """RATE = 1.19


class Shelf:
    def put(self, item):
        self.items.append(item)

    def take(self):
        return self.items.pop()


def price(item):
    return item.cost * RATE


def total(items):
    return sum(price(item) for item in items)
"""
AFTER = """RATE = 1.19


class Shelf:
    def put(self, item):
        self.check(item)
        self.items.append(item)

    def check(self, item):
        assert item.cost


def price(item):
    return round(item.cost * RATE, 2)


def total(items):
    return sum(price(item) for item in items)
"""
ANSWER = {
    "change_intent": "Items without a price are refused.",
    "definitions": [
        {"path": "shop.py", "name": "price", "explanation": "Rounds to cents."},
        {"path": "shop.py", "name": "nosuch", "explanation": "Isn't there."},
        "odd",
    ],
}


@pytest.fixture
def project(tmp_path):
    """A repository whose only commit is tagged v1, with a change that isn't committed."""
    if shutil.which("git") is None:
        pytest.skip("there is no git here")
    folder = tmp_path / "project"
    folder.mkdir()
    here = asyncio.run(check_sandbox(folder))
    if not here.sandboxed:
        pytest.skip(here.why)
    (folder / "shop.py").write_text(BEFORE)
    (folder / "docs").mkdir()
    (folder / "docs" / "notes.txt").write_text("one\n")
    who = ("-c", "user.name=Ada", "-c", "user.email=ada@example.org")
    for words in (("init", "-q", "-b", "main"), ("add", "."), (*who, "commit", "-qm", "first"), ("tag", "v1")):
        subprocess.run(["git", *words], cwd=folder, check=True)
    (folder / "shop.py").write_text(AFTER)
    (folder / "docs" / "notes.txt").write_text("one\ntwo\n")
    return folder


def test_without_a_model_a_change_is_a_list_of_its_definitions_with_their_lines(tmp_path, project):
    for more in ((), ("--no-model",)):
        ran = treadle(tmp_path, "read", "--since", "v1", *more, cwd=project)
        assert ran.code == 0, ran.err
        first, label, _, *lines = ran.out.splitlines()
        assert first == "Files changed since v1: 2 (5 lines added, 3 removed). Definitions: 1 added, 2 changed, 1 removed."
        assert label.startswith("A list, made without a model")
        assert lines == [
            "docs/notes.txt changed +1 -0",
            "shop.py changed +4 -3",
            "  changed method Shelf.put 5-7 +1 -0",
            "  added method Shelf.check 9-10 +2 -0",
            "  changed function price 13-14 +1 -1",
            "  removed method Shelf.take 8-9 +0 -2",
        ]


def test_a_model_explains_a_change_and_its_run_is_listed(tmp_path, project):
    ran = treadle(tmp_path, "read", "--since", "v1", "--json", "-m", script(tmp_path, json.dumps(ANSWER)), cwd=project)
    found = ran.json
    assert (ran.code, found["change_intent"], found["sketch"]) == (0, "Items without a price are refused.", False)
    explained = {each["name"]: each["explanation"] for file in found["files"] for each in file["definitions"]}
    assert explained == {"Shelf.put": "", "Shelf.check": "", "price": "Rounds to cents.", "Shelf.take": ""}
    (listed,) = treadle(tmp_path, "runs", "--json").json
    assert listed["run_id"] == found["run_id"]
    shown = treadle(tmp_path, "show", found["run_id"]).out
    assert "changed function price 13-14 +1 -1" in shown
    assert "+    return round(item.cost * RATE, 2)" in shown


def test_a_change_is_shown_with_its_explanations_and_as_markdown(tmp_path, project):
    model = script(tmp_path, json.dumps(ANSWER))
    out = treadle(tmp_path, "read", "--since", "v1", "-m", model, cwd=project).out
    assert out.startswith("Items without a price are refused.\n\n")
    assert "  changed function price 13-14 +1 -1: Rounds to cents.\n" in out
    page = treadle(tmp_path, "read", "--since", "v1", "--markdown", "-m", model, cwd=project).out
    assert page.startswith("# Changes since v1\n\nItems without a price are refused.\n\n## docs/notes.txt\n")
    assert "- `price` (function, changed, +1 -1): Rounds to cents." in page


def test_a_model_that_fails_is_said_on_both_streams_and_by_the_exit_code(tmp_path, project):
    ran = treadle(tmp_path, "read", "--since", "v1", "--quiet", "-m", script(tmp_path, "What?"), cwd=project)
    assert ran.code == 1
    for stream in (ran.out, ran.err):
        assert "[FALLBACK] The model couldn't be asked about the change: what it answered can't be read." in stream
    assert "changed function price" in ran.out
    found = treadle(tmp_path, "read", "--since", "v1", "--json", "-m", script(tmp_path, "What?"), cwd=project)
    assert (found.code, found.json["sketch"], bool(found.json["fallback"])) == (1, True, True)
    assert treadle(tmp_path, "read", "--since", "v1", "-m", "nosuch:model", cwd=project).code == 2


def test_a_change_is_that_of_a_folder_or_a_file_where_one_is_named(tmp_path, project):
    found = treadle(tmp_path, "read", "--since", "v1", "--no-model", "--json", str(project / "docs")).json
    assert [file["path"] for file in found["files"]] == ["docs/notes.txt"]
    found = treadle(tmp_path, "read", str(project / "shop.py"), "--since", "v1", "--no-model", "--json").json
    assert [file["path"] for file in found["files"]] == ["shop.py"]


def test_where_nothing_has_changed_no_model_is_asked(tmp_path, project):
    (project / "shop.py").write_text(BEFORE)
    ran = treadle(tmp_path, "read", "--since", "v1", "-m", script(tmp_path), str(project / "shop.py"))
    assert (ran.code, ran.out.strip()) == (0, "Nothing has changed since v1.")


def test_files_that_are_new_or_can_not_be_read_are_listed(tmp_path, project):
    (project / "new.py").write_text("def one():\n    return 1\n")
    (project / "server.pem").write_text("secret\n")
    out = treadle(tmp_path, "read", "--since", "v1", "--no-model", cwd=project).out
    assert "new.py added +2 -0\n  added function one 1-2 +2 -0\n" in out
    assert "server.pem added +0 -0: " in out


@pytest.mark.parametrize(
    ("typed", "code", "said"),
    [
        ((), 2, "There is nothing to read"),
        (("--since", "v1", "--outline", "--debug"), 2, "there is no --outline and no --debug"),
        (("--since", "v1", "-"), 2, "not of the standard input"),
        (("--since", "v1"), 1, "is in no git repository"),
    ],
)
def test_what_does_not_fit_together_is_said(tmp_path, typed, code, said):
    ran = treadle(tmp_path, "read", *typed, cwd=tmp_path)
    assert (ran.code, ran.err.count("\n")) == (code, 1)
    assert said in ran.err


def test_a_commit_that_is_not_there_and_a_linked_worktree_are_said(tmp_path, project):
    assert "There is no branch or commit v2." in treadle(tmp_path, "read", "--since", "v2", cwd=project).err
    subprocess.run(["git", "worktree", "add", "-q", "../linked"], cwd=project, check=True)
    ran = treadle(tmp_path, "read", "--since", "v1", cwd=tmp_path / "linked")
    assert (ran.code, "is a linked worktree" in ran.err) == (1, True)


def test_lines_behind_a_nested_definition_belong_to_the_outer_one():
    outer = parts(node("function", "outer", 1, 9, node("function", "inner", 3, 5)))
    assert find_touched_definitions(outer, outer, (), (4, 8)) == [
        DefinitionChange("outer", "function", "changed", 1, 9, 1, 0),
        DefinitionChange("outer.inner", "function", "changed", 3, 5, 1, 0),
    ]


def changes(tmp_path, project, monkeypatch, *replies, **body):
    monkeypatch.chdir(project)
    with Serving(tmp_path, [assistant], Scripted(*replies) if replies else None) as server:
        return call(server, "POST", "/api/reading/changes", {"since": "v1", **body})


def test_a_change_is_read_over_http_with_its_explanation(tmp_path, project, monkeypatch):
    status, found = changes(tmp_path, project, monkeypatch, json.dumps(ANSWER))
    assert (status, found["success"], found["change_intent"]) == (200, True, "Items without a price are refused.")
    explained = {each["name"]: each["explanation"] for file in found["files"] for each in file["definitions"]}
    assert explained["price"] == "Rounds to cents."
    assert found["run_id"]


def test_over_http_a_change_is_that_of_a_file_beneath_the_folder_and_a_model_is_asked_on_request_only(
    tmp_path, project, monkeypatch
):
    status, found = changes(tmp_path, project, monkeypatch, path="shop.py", explain=False)
    assert (status, found["sketch"], [file["path"] for file in found["files"]]) == (200, True, ["shop.py"])
    for wrong in ({"path": "../"}, {"path": "nosuch"}, {"since": "nosuch"}, {"since": "--output=x"}, {"since": ""}):
        status, answer = changes(tmp_path, project, monkeypatch, explain=False, **wrong)
        assert (status, answer["success"]) == (400, False)


def test_a_model_that_fails_to_explain_a_change_is_502_with_the_list(tmp_path, project, monkeypatch):
    status, found = changes(tmp_path, project, monkeypatch, "What?")
    assert (status, found["success"], found["sketch"]) == (502, False, True)
    assert "what it answered can't be read" in found["error"]
    assert [file["path"] for file in found["files"]] == ["docs/notes.txt", "shop.py"]
