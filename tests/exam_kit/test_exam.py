"""The exam: Treadle passes a sample of each suite in this process, a bad adapter fails, and the published page is generated."""

import os
import sys
from pathlib import Path

import pytest

from agent_exam.adapters.treadle_adapter import TreadleAdapter
from agent_exam.candidate import Verdict, candidate_of
from agent_exam.page import load_results, page_of
from agent_exam.runner import LocalHost, process_host, run_case
from agent_exam.suites import CASES, SUITES
from exam_kit.bad_adapter import BadAdapter

RESULTS = Path(__file__).parents[2] / "bench" / "results"


@pytest.mark.parametrize(
    "case_id",
    ["misbehaviour/wrong-type", "misbehaviour/same-ids", "provider/gpt-4o-parallel-stream", "approval/parallel", "approval/edited"],
)
def test_treadle_passes(case_id):
    adapter = TreadleAdapter()
    verdict = run_case(CASES[case_id], LocalHost(adapter))
    assert verdict.status == "passed", verdict.reasons


@pytest.mark.parametrize(
    ("case_id", "reason"),
    [
        ("misbehaviour/wrong-type", "payment A1 five happened, and shouldn't have"),
        ("misbehaviour/unknown-tool", "crashed with KeyError: 'pay_order'"),
        ("misbehaviour/tool-raises", "crashed with RuntimeError: The carrier refused A1."),
        ("misbehaviour/empty-reply", "answered ''"),
        ("approval/approved", "waited for approval of nothing, not of ['A1']"),
        ("approval/denied", "payment A1 5 happened, and shouldn't have"),
    ],
)
def test_a_bad_adapter_fails(case_id, reason, capsys):
    adapter = BadAdapter()
    verdict = run_case(CASES[case_id], LocalHost(adapter))
    assert verdict.status == "failed"
    assert reason in verdict.reasons


def test_a_run_that_begins_anew_after_a_kill_fails(monkeypatch):
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(sys.path))
    with process_host("exam_kit.bad_adapter:adapter") as host:
        verdicts = [run_case(CASES[name], host) for name in ("kill/before-a1", "kill/after-a1", "kill/request-3")]
    twice = [f"payment {name} happened 2 times" for name in ("A1 5", "A2 7", "A3 9")]
    assert [list(verdict.reasons) for verdict in verdicts] == [[], twice[:1], twice]


def test_a_missing_feature_is_no_failure():
    adapter = BadAdapter()
    adapter.features = frozenset()
    verdict = run_case(CASES["kill/after-a1"], LocalHost(adapter))
    assert (verdict.status, verdict.reasons) == ("unsupported", ("no durability",))


def test_the_page_counts_passed_cases_and_names_reasons():
    bad = candidate_of(BadAdapter())
    first, second = [case.id for case in SUITES["approval"]][:2]
    bad.verdicts = {first: Verdict(first, "passed"), second: Verdict(second, "failed", ("paid | twice",))}
    page = page_of([bad])
    assert "| bad | not run | not run | not run | 1/2 | 1/2 |" in page
    assert f"- `{second}`: paid \\| twice" in page


def test_the_published_page_is_made_of_its_results():
    results = load_results(RESULTS / "exam.json")
    assert (RESULTS / "exam.md").read_text("utf-8") == page_of(list(results.values()))
    assert len(results) >= 6
    assert all(set(candidate.verdicts) == set(CASES) for candidate in results.values())
