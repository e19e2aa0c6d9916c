"""`treadle eval`: datasets are run, reports written and compared, and exit codes say how it went."""

import json
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest

from cli.running import InProcess, asks, script
from treadle.cli.exit_codes import FAILED, OK, USAGE

SHOP = Path(__file__).parents[2] / "eval_shop.py"
CASES = f"""\
name: shop
defaults: {{agent: "{SHOP}:agent"}}
cases:
  - name: stock
    input: How many A-113?
    expected: {{calls: [stock], output: "40"}}
  - name: order <ten>
    input: Order ten B-7.
    expected: {{calls: [order]}}
"""


@pytest.fixture
def treadle(home: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> InProcess:
    made = InProcess(home, monkeypatch, capsys)
    made.set(XDG_CACHE_HOME=str(home / "cache"))
    return made


@pytest.fixture
def cases(tmp_path: Path) -> str:
    path = tmp_path / "cases.yaml"
    path.write_text(CASES)
    return str(path)


def test_reports_are_written_and_compared_with_a_baseline(treadle: InProcess, cases: str, home: Path):
    junit, page, report = home / "junit.xml", home / "page.html", home / "report.json"
    ran = treadle("eval", cases, "--repeat", "2", "--junit", str(junit), "--html", str(page), "--report", str(report))
    assert ran.code == FAILED
    lines = ran.out.splitlines()
    assert lines[0].split()[:2] == ["CASE", "PASSED"]
    assert "2/2" in lines[1]
    assert "0/2" in lines[2]
    assert "there is no such call" in lines[2]
    assert "50% of 4 runs passed (15% to 85%)" in ran.err
    suite = ET.fromstring(junit.read_text())[0]
    assert (suite.get("tests"), suite.get("failures"), suite[2].get("name")) == ("4", "2", "order <ten> #1")
    shown = page.read_text()
    assert "order &lt;ten&gt;" in shown
    assert "default-src 'none'" in shown
    assert not any(word in shown for word in ("<script", "http://", "https://", "src="))
    stored = json.loads(report.read_text())
    assert [(case["name"], case["rate"]) for case in stored["cases"]] == [("stock", 1.0), ("order <ten>", 0.0)]
    assert stored["cases"][1]["attempts"][0]["asked"][0]["tool"] == "order"
    same = treadle("eval", cases, "--baseline", str(report))
    assert (same.code, "same" in same.out) == (OK, True)
    assert treadle("eval", cases, "--baseline", str(report), "--fail-on", "any").code == FAILED
    assert not list((home / "cache").rglob("*-1"))  # no workspace is left


def test_a_regression_fails(treadle: InProcess, cases: str, home: Path):
    report = home / "report.json"
    treadle("eval", cases, "--report", str(report), "--policy", str(_policy(home)))
    ran = treadle("eval", cases, "--baseline", str(report), "--json")
    assert ran.code == FAILED
    assert [(each["name"], each["change"]) for each in ran.json["changes"]] == [("stock", "same"), ("order <ten>", "regressed")]


def _policy(home: Path) -> Path:
    path = home / "policy.toml"
    path.write_text('allow = ["order"]\n')
    return path


def test_several_datasets_make_one_report(treadle: InProcess, cases: str, tmp_path: Path):
    other = tmp_path / "other.jsonl"
    other.write_text(json.dumps({"name": "stock", "input": "How many A-113?", "agent": f"{SHOP}:agent"}))
    ran = treadle("eval", "run", "-q", "--json", cases, str(other), "--agent", f"{SHOP}:agent")
    assert [case["name"] for case in ran.json["cases"]] == ["shop/stock", "shop/order <ten>", "other/stock"]
    assert ran.err == ""


def test_runs_are_kept_in_the_journal(treadle: InProcess, cases: str):
    ran = treadle("eval", cases, "--json", "--user", "ann").json
    run_id = ran["cases"][0]["attempts"][0]["run_id"]
    assert [(run["run_id"], run["user"]) for run in treadle("runs", "--json").json if run["run_id"] == run_id] == [(run_id, "ann")]


def test_resume_goes_on_with_what_was_killed(treadle: InProcess, cases: str, home: Path, monkeypatch: pytest.MonkeyPatch):
    """A kill leaves the folder of the evaluation; its runs are in the journal and aren't repeated."""
    with monkeypatch.context() as patched:
        patched.setattr("treadle.cli.commands.eval.shutil.rmtree", lambda *_, **__: None)
        first = treadle("eval", cases, "--json").json
    again = treadle("eval", cases, "--json", "--resume")
    assert f"Resuming the evaluation {first['evaluation']}" in again.err
    assert again.json["cases"] == first["cases"]
    fresh = treadle("eval", cases, "--json", "--resume")
    assert "a new one begins" in fresh.err
    assert fresh.json["evaluation"] != first["evaluation"]


def test_without_an_action_a_dataset_is_expected(treadle: InProcess):
    ran = treadle("eval")
    assert (ran.code, "required: FILE" in ran.err) == (USAGE, True)
    assert "replay kept runs" in treadle("eval", "--help").out


def test_an_assistant_is_evaluated_in_a_copy_of_its_workspace(treadle: InProcess, home: Path):
    (home / "sample").mkdir()
    (home / "sample" / "a.py").write_text("x = 1\n")
    case = {"name": "a", "input": "Hi", "assistant": "reading", "workspace": "sample", "expected": {"files": {"a.py": "x = 1"}}}
    cases = home / "cases.json"
    cases.write_text(json.dumps({"cases": [case]}))
    ran = treadle("eval", str(cases), "-m", script(home, "Hello."))
    assert (ran.code, "1/1" in ran.out) == (OK, True)
    asked = treadle("eval", "replay", "--of", "reading", "--json").json["runs"]
    assert [run["status"] for run in asked] == ["same"]


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["--fail-on", "regression"], "name it with --baseline"),
        (["--agent", "a:b", "-a", "reading"], "leave one out"),
        (["--baseline", "nowhere.json"], "can't be read"),
        (["--agent", f"{SHOP}:none"], "there is no none"),
        (["--agent", "eval_shop"], "names no object"),
    ],
)
def test_wrong_usage_gets_a_sentence(treadle: InProcess, cases: str, words: list[str], says: str):
    ran = treadle("eval", cases, *words)
    assert ran.code in (USAGE, FAILED)
    assert says in ran.err


def test_a_report_that_cannot_be_written_says_so(treadle: InProcess, cases: str, home: Path):
    ran = treadle("eval", cases, "--report", str(home / "none" / "x.json"))
    assert "can't be written" in ran.err


# replays


@pytest.fixture
def kept(treadle: InProcess, home: Path) -> InProcess:
    """A run that ordered two, approved by --yes, and one that only asked for the stock."""
    orders = script(home, asks(("stock", {"item": "A-113"})), asks(("order", {"item": "A-113", "count": 2})), "Two.")
    treadle("ask", "Order two of A-113.", "-m", orders, "--tools", str(SHOP), "--yes", "--run-id", "ordered")
    treadle(
        "ask", "How many?", "-m", script(home, asks(("stock", {"item": "B-7"})), "None."), "--tools", str(SHOP), "--run-id", "asked"
    )
    return treadle


def test_replays_of_the_same_agent_are_the_same(kept: InProcess, home: Path):
    ran = kept("eval", "replay", "--report", str(home / "replay.json"))
    assert (ran.code, ran.out) == (OK, "")
    assert "2 runs" in ran.err
    assert "2 the same, 0 departed, 0 skipped" in ran.err
    assert [run["status"] for run in json.loads((home / "replay.json").read_text())["runs"]] == ["same", "same"]


def test_a_replay_says_where_and_why_a_run_departs(kept: InProcess, home: Path):
    other = script(home, asks(("stock", {"item": "A-113"})), "No.", name="other.json")
    ran = kept("eval", "replay", "ordered", "-m", other, "-i", "Never order.")
    assert ran.code == FAILED
    assert ran.out.splitlines()[1].split() == [
        "ordered",
        "turn",
        "1,",
        "call",
        "2",
        "call",
        "order(item='A-113',",
        "count=2)",
        "no",
        "call",
        "-",
    ]
    stricter = home / "stricter.toml"
    stricter.write_text('deny = [{tool = "order", where = {count = "> 1"}}]\n')
    found = kept("eval", "replay", "--query", "Order", "--policy", str(stricter), "--json").json["runs"]
    assert [(run["run_id"], run["departure"]["kind"], run["verdicts"][0]["now"]) for run in found] == [
        ("ordered", "verdict", "deny")
    ]


def test_a_replay_of_an_agent_in_code_needs_its_name(treadle: InProcess, cases: str):
    run_id = treadle("eval", cases, "--json").json["cases"][0]["attempts"][0]["run_id"]
    skipped = treadle("eval", "replay", run_id)
    assert (skipped.code, "name it: --agent MODULE:NAME" in skipped.err) == (OK, True)
    same = treadle("eval", "replay", run_id, "--agent", f"{SHOP}:agent", "--run-reads", "--json").json["runs"][0]
    assert (same["status"], same["calls"]) == ("same", 1)
    assert "has to be an Agent" in treadle("eval", "replay", run_id, "--agent", f"{SHOP}:STOCK").err


def test_replays_need_runs_and_instructions_a_model(treadle: InProcess):
    assert "no such runs" in treadle("eval", "replay").err
    assert "name it with -m" in treadle("eval", "replay", "-i", "Be brief.").err


def test_a_policy_file_is_tested_on_kept_calls(kept: InProcess, home: Path):
    policy = home / "policy.toml"
    policy.write_text('allow = ["order"]\n')
    looser = kept("permissions", "test", str(policy))
    assert looser.code == FAILED
    assert looser.out.splitlines()[1].split()[:3] == ["ordered", "ask", "allow"]
    assert "3 calls of 2 runs judged again: 1 would differ, 1 of them would be allowed." in " ".join(looser.err.split())
    policy.write_text('ask = ["stock"]\n')
    stricter = kept("permissions", "test", str(policy), "--json", "--agent", f"{SHOP}:agent")
    assert (stricter.code, stricter.json["assumed"], len(stricter.json["changes"])) == (OK, 0, 2)
    assert kept("permissions", "test", str(policy), "--strict").code == FAILED
    assert kept("permissions", "test", str(policy), "ordered", "--strict", "-a", "reading").code == FAILED
    policy.write_text("")
    assert kept("permissions", "test", str(policy), "--strict").code == OK
