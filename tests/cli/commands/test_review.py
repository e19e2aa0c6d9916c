"""`treadle review` on the command line: SARIF and JSON alone on stdout, and exit codes that a CI job can rely on."""

import json
from pathlib import Path
from typing import Any

import pytest

from assistants.coding.stage import MENDED, needs_git, project
from cli.running import InProcess, asks, script

pytestmark = needs_git

FINDING = {
    "severity": "warning",
    "title": "Prices are wrong",
    "explanation": "One is missing.",
    "path": "shop.py",
    "quote": "return count * 3",
}


@pytest.fixture
def typed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> InProcess:
    folder = project(tmp_path)
    (folder / "shop.py").write_text(MENDED)
    made = InProcess(tmp_path, monkeypatch, capsys)
    monkeypatch.chdir(folder)
    return made


def model(tmp_path: Path, *findings: dict[str, Any]) -> str:
    return script(tmp_path, asks(("give_answer", {"summary": "So.", "verdict": "COMMENT", "findings": list(findings)})))


def test_sarif_is_alone_on_stdout(typed: InProcess, tmp_path: Path) -> None:
    ran = typed("review", "--sarif", "-m", model(tmp_path, FINDING))
    assert ran.code == 0
    [run] = json.loads(ran.out)["runs"]
    assert [result["ruleId"] for result in run["results"]] == ["review/warning"]
    assert run["results"][0]["locations"][0]["physicalLocation"]["region"]["startLine"] == 2


def test_a_review_that_failed_is_a_sarif_log_that_says_so(typed: InProcess, tmp_path: Path) -> None:
    ran = typed("review", "--sarif", "--diff", "no diff", "-m", model(tmp_path))
    assert ran.code == 1
    [invocation] = json.loads(ran.out)["runs"][0]["invocations"]
    assert invocation["executionSuccessful"] is False
    assert "no diff" in invocation["toolExecutionNotifications"][0]["message"]["text"]


@pytest.mark.parametrize(("least", "code"), [("critical", 0), ("warning", 1), ("nit", 1)])
def test_findings_that_are_severe_enough_fail(typed: InProcess, tmp_path: Path, least: str, code: int) -> None:
    ran = typed("review", "--fail-on", least, "-m", model(tmp_path, FINDING))
    assert ran.code == code
    assert "`shop.py:2`: Prices are wrong. One is missing." in ran.out
    assert (f"1 finding is {least} or worse." in ran.err) is bool(code)


def test_without_findings_nothing_fails(typed: InProcess, tmp_path: Path) -> None:
    assert typed("review", "--fail-on", "nit", "--json", "-m", model(tmp_path)).code == 0


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--since", "HEAD", "feature"), "--since reviews everything since a commit"),
        (("--sarif", "--detach"), "need the result: leave out --detach"),
        (("--fail-on", "bad"), "critical"),
        (("--sarif", "--json"), "not allowed with"),
        (("--since", "nowhere"), "nowhere"),
    ],
)
def test_what_makes_no_sense_is_refused(typed: InProcess, tmp_path: Path, words: tuple[str, ...], said: str) -> None:
    ran = typed("review", *words, "-m", model(tmp_path))
    assert ran.code in (1, 2)
    assert said in ran.err
