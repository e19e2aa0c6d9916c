"""`treadle read`, as a person types it."""

import json
import sysconfig
import time
from pathlib import Path

import pytest

from cli.running import PATIENCE, Terminal, asks, script, start, treadle

SHOP = '''"""Keeps a shop's shelf and knows its prices."""

RATE = 1.19


class Shelf:
    """Where things lie."""

    def put(self, item):
        self.items.append(item)


def price(item):
    return item.cost * RATE


def total(items):
    return sum(price(item) for item in items)
'''
ANSWER = {
    "file_intent": "Runs a shop.",
    "responsibilities": [
        {"label": "Keeping the shelf", "description": "Puts things.", "ranges": [[6, 10]]},
        {"label": "Knowing prices", "description": "Adds up.", "ranges": [[3, 3], [13, 18]]},
    ],
}


@pytest.fixture
def shop(tmp_path):
    file = tmp_path / "shop.py"
    file.write_text(SHOP)
    return file


def answers(tmp_path, *replies):
    return script(tmp_path, *[reply if isinstance(reply, str) else json.dumps(reply) for reply in replies])


def test_a_file_is_read(tmp_path, shop):
    ran = treadle(tmp_path, "read", str(shop), "-m", answers(tmp_path, ANSWER))
    assert ran.code == 0
    assert ran.out.startswith("Runs a shop.\n\n① Keeping the shelf  6-10\n  Puts things.\n")
    assert "fast-path by scripted:" in ran.err


def test_a_reading_is_a_run_that_is_listed_shown_audited_and_counted(tmp_path, shop):
    model = answers(tmp_path, ANSWER)
    run_id = treadle(tmp_path, "read", str(shop), "--json", "-m", model).json["metadata"]["run_id"]
    (listed,) = treadle(tmp_path, "runs", "--json").json
    assert (listed["run_id"], listed["agent"], listed["status"]) == (run_id, "reading", "answered")
    assert "What is shop.py for" in treadle(tmp_path, "show", run_id).out
    assert run_id in treadle(tmp_path, "audit").out
    assert "1 run, 1 request" in treadle(tmp_path, "stats").out
    treadle(tmp_path, "read", str(shop), "-m", model)
    treadle(tmp_path, "read", str(shop), "--no-model")
    assert len(treadle(tmp_path, "runs", "--json").json) == 1, "what is kept and what is a sketch is no run"


def test_a_reading_that_was_killed_is_resumed_by_the_usual_command(tmp_path, shop):
    (tmp_path / "model.sh").write_text(
        f"touch {tmp_path}/reached; while [ ! -e {tmp_path}/open ]; do sleep 0.05; done; cat {tmp_path}/said"
    )
    (tmp_path / "said").write_text(json.dumps(ANSWER))
    with start(tmp_path, "read", str(shop), "-m", f"command:sh {tmp_path}/model.sh") as reading:
        until = time.monotonic() + PATIENCE
        while not (tmp_path / "reached").exists():
            assert time.monotonic() < until
            time.sleep(0.02)
        reading.kill()
    (tmp_path / "open").touch()
    (open_run,) = treadle(tmp_path, "runs", "--json").json
    assert open_run["status"] == "open"
    shop.write_text("changed = True\n")
    ran = treadle(tmp_path, "resume", open_run["run_id"], "--json")
    assert (ran.code, ran.json["stopped"], ran.json["output"]["file_intent"]) == (0, "answered", "Runs a shop."), ran


def test_its_source_is_shown_on_request_only_so_that_the_answer_stays_on_the_screen(tmp_path, shop):
    model = answers(tmp_path, ANSWER)
    with Terminal(tmp_path, "read", str(shop), "-m", model) as terminal:
        shown = terminal.until("fast-path")
    assert "Keeping the shelf" in shown
    assert "def put(self, item):" not in shown
    with Terminal(tmp_path, "read", str(shop), "--source", "-m", model) as terminal:
        shown = terminal.until("fast-path")
    assert " 9     def put(self, item):" in shown
    assert "\x1b[36m" in shown


def test_json_is_the_contract(tmp_path, shop):
    found = treadle(tmp_path, "read", str(shop), "--json", "-m", answers(tmp_path, ANSWER)).json
    assert set(found) == {"file_intent", "responsibilities", "metadata"}
    assert found["responsibilities"][1]["elements"] == {
        "functions": ["price", "total"],
        "state": [],
        "imports": [],
        "types": [],
        "constants": ["RATE"],
    }
    assert found["responsibilities"][0]["ranges"] == [[6, 10]]


def test_markdown_is_for_pages(tmp_path, shop):
    out = treadle(tmp_path, "read", str(shop), "--markdown", "-m", answers(tmp_path, ANSWER)).out
    assert out.startswith("# shop.py\n\nRuns a shop.\n\n## Keeping the shelf\n")
    assert "- functions: `price`, `total`" in out


def test_without_a_model_it_is_a_sketch_and_says_so(tmp_path, shop):
    for more in ((), ("--no-model",)):
        ran = treadle(tmp_path, "read", str(shop), *more)
        assert ran.code == 0
        assert ran.out.startswith("Keeps a shop's shelf and knows its prices.")
        assert "A sketch, made without a model" in ran.err


def test_a_model_that_fails_is_said_on_both_streams_and_by_the_exit_code(tmp_path, shop):
    ran = treadle(tmp_path, "read", str(shop), "--quiet", "-m", answers(tmp_path, "What?", "What?", "What?", "What?", "What?"))
    assert ran.code == 1
    assert "[FALLBACK] Sketch, made without a model: fast-path failed: " in ran.out
    assert "[FALLBACK] Sketch, made without a model" in ran.err
    found = treadle(tmp_path, "read", str(shop), "--json", "-m", answers(tmp_path, "What?", "What?", "What?", "What?", "What?"))
    assert (found.code, [each["path"] for each in found.json["metadata"]["fallbacks"]]) == (1, ["fast-path", "two-stage"])


def test_a_model_that_was_named_and_is_not_there_is_an_error(tmp_path, shop):
    ran = treadle(tmp_path, "read", str(shop), "-m", "nosuch:model")
    assert (ran.code, ran.out) == (2, "")


def test_an_answer_is_kept(tmp_path, shop):
    model = answers(tmp_path, ANSWER)
    assert not treadle(tmp_path, "read", str(shop), "--json", "-m", model).json["metadata"]["cached"]
    assert treadle(tmp_path, "read", str(shop), "--json", "-m", model).json["metadata"]["cached"]
    assert not treadle(tmp_path, "read", str(shop), "--json", "--fresh", "-m", model).json["metadata"]["cached"]
    shop.write_text(SHOP + "\n\nX = 1\n")
    assert not treadle(tmp_path, "read", str(shop), "--json", "-m", model).json["metadata"]["cached"]


def test_a_report_is_written(tmp_path, shop):
    ran = treadle(tmp_path, "read", str(shop), "--debug", "-m", answers(tmp_path, ANSWER), cwd=tmp_path)
    page = next((tmp_path / "debug_reports").glob("shop.py_fast_path_*_debug.md"))
    assert f"Report: debug_reports/{page.name}" in ran.err
    tree = json.loads(next((tmp_path / "debug_reports").glob("*_shallow_ast.json")).read_text())
    assert list(tree) == [
        *("filename", "language", "snapshots", "metrics", "llm_stages", "failed_requests", "execution_path", "fallbacks"),
        *("tokens", "tool_reads", "tool_calls", "tool_call_count", "summary"),
    ]
    assert tree["llm_stages"]["fast_path_analysis"]["llm_response"] == json.dumps(ANSWER)


def test_the_outline_can_be_seen(tmp_path, shop):
    out = treadle(tmp_path, "read", "--outline", str(shop)).out
    assert "6-10 class Shelf" in out


@pytest.mark.parametrize(
    ("name", "data", "said"),
    [
        ("gone.py", None, "There is no file "),
        (f"{'n' * 300}.py", None, "n.py: File name too long."),
        ("what.xyz", b"hello", "can't be told from its name. Known are: python, "),
        ("prog.py", bytes(range(256)) * 40, "binary"),
        ("huge.py", b"x = 1\n" * 9_000_000, "54 MB; files up to 10 MB are read"),
    ],
)
def test_what_can_not_be_read_is_said_in_a_sentence(tmp_path, name, data, said):
    if data is not None:
        (tmp_path / name).write_bytes(data)
    ran = treadle(tmp_path, "read", str(tmp_path / name))
    assert ran.code == 1
    assert said in ran.err
    assert ran.err.count("\n") == 1


def test_an_empty_file_is_empty(tmp_path):
    (tmp_path / "empty.py").write_text("")
    assert treadle(tmp_path, "read", str(tmp_path / "empty.py")).out == "Empty file\n"


def test_the_standard_input_is_read_and_its_language_told_by_its_content(tmp_path):
    ran = treadle(tmp_path, "read", "-", "--no-model", "--json", stdin=SHOP)
    assert (ran.code, ran.json["metadata"]["language"]) == (0, "python")
    assert (
        treadle(tmp_path, "read", "-", "--no-model", "--json", "--language", "go", stdin=SHOP).json["metadata"]["language"] == "go"
    )


def test_a_language_can_be_said(tmp_path):
    (tmp_path / "what.xyz").write_text(SHOP)
    assert treadle(tmp_path, "read", str(tmp_path / "what.xyz"), "--language", "py").code == 0
    assert "isn't known" in treadle(tmp_path, "read", str(tmp_path / "what.xyz"), "--language", "klingon").err


def test_a_file_that_changes_while_it_is_read_is_told(tmp_path, shop):
    program = tmp_path / "model.sh"
    program.write_text(f"#!/bin/sh\ncat > /dev/null\necho '# new' >> {shop}\ncat {tmp_path / 'answer.json'}\n")
    program.chmod(0o755)
    (tmp_path / "answer.json").write_text(json.dumps(ANSWER))
    ran = treadle(tmp_path, "read", str(shop), "-m", f"command:{program}")
    assert ran.out.startswith("Runs a shop.")
    assert "has changed while it was read" in ran.err


def test_a_large_file_takes_the_tool(tmp_path):
    file = Path(sysconfig.get_path("stdlib"), "argparse.py")
    lines = file.read_text().count("\n")
    answer = {
        "file_intent": "Reads arguments.",
        "responsibilities": [{"label": "All of it", "description": "x", "ranges": [[1, lines]]}],
    }
    model = script(
        tmp_path, asks(("refer_to_source_code", {"start_line": 1, "end_line": 9})), json.dumps(answer), json.dumps(answer)
    )
    metadata = treadle(tmp_path, "read", str(file), "--json", "-m", model).json["metadata"]
    assert (metadata["execution_path"], metadata["tool_reads"][0]["end_line"]) == ("tool-calling", 9)


# Folders


@pytest.fixture
def folder(tmp_path):
    home = tmp_path / "project"
    for name, text in {
        "shop.py": SHOP,
        "web/page.js": "export function page() { return 1 }\n",
        "node_modules/x/y.js": "var z = 1\n",
        ".hidden/a.py": "x = 1\n",
        "notes.txt": "hello\n",
        "bin.py": "",
    }.items():
        path = home / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return home


def test_a_folder_is_read_file_by_file(tmp_path, folder):
    ran = treadle(tmp_path, "read", "--no-model", str(folder))
    assert ran.out.startswith("3 source files in 2 folders. A sketch, made without a model.")
    assert "  shop.py: Keeps a shop's shelf" in ran.out
    assert "3/3 " in ran.err
    assert "node_modules" not in ran.out + ran.err


def test_a_folder_is_summed_up_by_a_model(tmp_path, folder):
    whole = {
        "folder_intent": "A shop on the web.",
        "groups": [{"label": "Selling things", "description": "d", "files": ["shop.py", "no.py"]}],
    }
    page = {
        "file_intent": "Makes the page.",
        "responsibilities": [{"label": "Making pages", "description": "x", "ranges": [[1, 1]]}],
    }
    model = answers(tmp_path, ANSWER, page, whole)
    found = treadle(tmp_path, "read", "--json", "-j", "1", str(folder), "-m", model).json
    assert found["folder_intent"] == "A shop on the web."
    assert [group["files"] for group in found["groups"]] == [["shop.py"], ["bin.py", "web/page.js"]]
    assert [file["path"] for file in found["files"]] == ["bin.py", "shop.py", "web/page.js"]
    again = treadle(tmp_path, "read", "--json", str(folder), "-m", model).json
    assert [file["reading"]["metadata"]["cached"] for file in again["files"]] == [False, True, True]
    markdown = treadle(tmp_path, "read", "--markdown", "--no-model", str(folder)).out
    assert markdown.startswith("# project\n")


def test_words_of_the_prompt_are_never_shown_as_what_a_file_or_a_folder_is_for(tmp_path, shop, folder):
    planted = "why it is there and what its parts do"
    echo = {**ANSWER, "file_intent": planted}
    ran = treadle(tmp_path, "read", str(shop), "-m", answers(tmp_path, *[echo] * 8))
    assert planted not in ran.out
    assert (ran.code, "it repeats its instructions" in ran.err) == (1, True)
    whole = {"folder_intent": "Says what the files of a group do together.", "groups": []}
    page = {"file_intent": "Makes it.", "responsibilities": [{"label": "Making pages", "description": "x", "ranges": [[1, 1]]}]}
    ran = treadle(tmp_path, "read", "-j", "1", str(folder), "-m", answers(tmp_path, ANSWER, page, whole, whole))
    assert whole["folder_intent"] not in ran.out
    assert "it repeats its instructions" in ran.out


def test_a_file_of_a_folder_that_can_not_be_read_stops_nothing(tmp_path, folder):
    (folder / "odd.py").write_bytes(bytes(range(256)) * 40)
    ran = treadle(tmp_path, "read", "--no-model", str(folder))
    assert ran.code == 0
    assert "odd.py: not read: " in ran.out


def test_a_folder_without_code_is_said(tmp_path):
    (tmp_path / "empty").mkdir()
    ran = treadle(tmp_path, "read", str(tmp_path / "empty"))
    assert (ran.code, ran.err.count("\n")) == (1, 1)
    assert "holds no source code" in ran.err


def test_links_that_lead_nowhere_are_passed_by(tmp_path, folder):
    (folder / "dead.py").symlink_to(folder / "gone.py")
    assert "dead.py" not in treadle(tmp_path, "read", "--no-model", str(folder)).out
