"""Importers of public suites: cases in the packages' own formats, read and run; and the packages, where installed."""

import asyncio
import json
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from treadle import Agent, tool
from treadle.cli.main import main
from treadle.core.errors import SettingsError
from treadle.evals import Dataset, EvalReport, Expectations, ExpectedCall, load_dataset
from treadle.evals.agents import EvalOptions
from treadle.evals.runner import run_dataset
from treadle.evals.suites import dataset_to_jsonl, read_suite
from treadle.evals.suites.bfcl import arguments_fit
from treadle.home import close_home, open_home
from treadle.testing import Scripted, calls

AREA = {
    "name": "geometry.area",
    "description": "Return an area.",
    "parameters": {
        "type": "dict",
        "properties": {"width": {"type": "float"}, "unit": {"type": "string", "optional": True}},
        "required": ["width"],
    },
}
ENTRIES = [
    {"id": "simple_python_0", "question": [[{"role": "system", "content": "Be brief."}, {"role": "user", "content": "2?"}]]},
    {"id": "simple_python_1", "question": [[{"role": "user", "content": "2 and 3?"}]]},
]
ANSWERS = [
    [{"geometry.area": {"width": [2.0], "unit": ["", "Square m"]}}],
    [{"geometry.area": {"width": [2.0], "unit": [""]}}, {"geometry.area": {"width": [3.0], "unit": [""]}}],
]
SITUATION = {"reason_for_call": "Cancel order 7.", "known_info": "You are Ann.", "task_instructions": "Be polite."}
TAU2 = {
    "id": "7",
    "user_scenario": {"persona": None, "instructions": SITUATION},
    "evaluation_criteria": {
        "actions": [
            {"name": "get_order", "arguments": {"order": "7"}},
            {"name": "cancel_order", "arguments": {"order": "7", "reason": "late"}, "compare_args": ["order"]},
        ],
        "communicate_info": ["1,200"],
        "nl_assertions": ["The agent asks for a confirmation."],
    },
}


@pytest.fixture
def bfcl(tmp_path: Path) -> Path:
    """A folder as `bfcl-eval` has it."""
    data = tmp_path / "data"
    (data / "possible_answer").mkdir(parents=True)
    answers = [{"id": entry["id"], "ground_truth": answer} for entry, answer in zip(ENTRIES, ANSWERS, strict=True)]
    other = {"id": "irrelevance_0", "question": [[{"role": "user", "content": "Weather?"}]]}
    (data / "BFCL_v4_simple_python.json").write_text("\n".join([json.dumps({**entry, "function": [AREA]}) for entry in ENTRIES]))
    (data / "possible_answer" / "BFCL_v4_simple_python.json").write_text("\n".join(map(json.dumps, answers)))
    (data / "BFCL_v4_irrelevance.json").write_text(json.dumps({**other, "function": [AREA]}))
    return tmp_path


def run(dataset: Dataset, model: Scripted, **more: Any) -> EvalReport:
    return asyncio.run(run_dataset(dataset, EvalOptions(model=model, parallel=1, **more)))


def test_bfcl_cases_offer_their_functions_and_calls_are_checked(bfcl: Path):
    dataset = read_suite("bfcl", ["simple_python", "irrelevance"], bfcl)
    assert [case.name for case in dataset.cases] == ["simple_python_0", "simple_python_1", "irrelevance_0"]
    right = Scripted(
        *(calls(("geometry_area", {"width": 2, "unit": "square-M"})), "4"),
        *(calls(("geometry_area", {"width": 3}), ("geometry_area", {"width": 2})), "9 and 4"),
        "I can't tell.",
    )
    report = run(dataset, right)
    assert report.passed, report.failures()
    assert right.requests[0].instructions.startswith("Be brief.")
    wrong = Scripted(
        *(calls(("geometry_area", {"width": 5})), "25"),
        *(calls(("geometry_area", {"width": 3})), "9"),
        *(calls(("geometry_area", {"width": 1})), "1"),
    )
    failures = run(dataset, wrong).failures()
    assert failures.count("there is no right call of geometry_area") == 2
    assert "there are other calls: geometry_area(width=1)" in failures


@pytest.mark.parametrize(
    ("arguments", "published", "fits"),
    [
        ({"a": 1}, {"a": [1, 2]}, True),
        ({"a": True}, {"a": [1]}, False),
        ({}, {"a": [1, ""]}, True),
        ({"a": 1, "b": 2}, {"a": [1]}, False),
        ({"a": ["x", "Y"]}, {"a": [["X", "y"]]}, True),
        ({"a": {"b": "c"}}, {"a": [{"b": ["C"], "d": [""]}]}, True),
        ({"a": {"b": "c"}}, {"a": [{"b": ["d"]}]}, False),
        ({"a": [{"b": {"c": "D"}}]}, {"a": [[{"b": [{"c": "d"}]}]]}, True),
        ({"a": {"b": [1]}}, {"a": [{"b": [[1, 2]]}]}, False),
    ],
)
def test_arguments_are_compared_with_all_published_values(arguments: dict[str, Any], published: dict[str, Any], fits: bool):
    assert arguments_fit(arguments, published) is fits


def test_imported_cases_are_a_file_with_what_they_share_in_its_first_line(bfcl: Path, tmp_path: Path):
    dataset = read_suite("bfcl", ["simple_python"], bfcl)
    file = tmp_path / "bfcl.jsonl"
    file.write_text(dataset_to_jsonl(dataset))
    assert load_dataset(file).cases == dataset.cases
    assert json.loads(file.read_text().splitlines()[0])["defaults"]["task"] == "treadle.evals.suites.bfcl:offer_functions"
    assert dataset_to_jsonl(replace(dataset, cases=dataset.cases[:1])).count("\n") == 1


@tool(effect="read")
def get_order(order: str) -> str:
    """Return an order."""
    return f"Order {order} costs 1200."


@tool(effect="write")
def cancel_order(order: str, reason: str) -> str:
    """Cancel an order."""
    return f"{order}: {reason}"


def player(*messages: str) -> Scripted:
    return Scripted(*[calls(("give_answer", {"message": each, "done": not each})) for each in (*messages, "")])


def test_tau2_cases_have_the_policy_the_user_and_what_has_to_be_said(tmp_path: Path):
    domain = tmp_path / "tau2" / "data" / "domains" / "retail"
    domain.mkdir(parents=True)
    (domain / "policy.txt").write_text("Cancel orders on request.")
    (domain / "tasks.json").write_text(json.dumps([TAU2]))
    dataset = read_suite("tau2", ["retail"], tmp_path)
    case = dataset.cases[0]
    assert case.user is not None
    assert case.user.goal == "Cancel order 7.\n\nWhat you know: You are Ann.\n\nHow you behave: Be polite."
    assert case.expected == Expectations(calls=(ExpectedCall("cancel_order", {"order": "7"}),))
    assert case.judge is not None
    assert case.judge.rubric.endswith("- The agent asks for a confirmation.")
    given = replace(dataset, cases=(replace(case, judge=None, approve=("cancel_order",)),))
    said = Scripted("It costs 1200.", calls(("cancel_order", {"order": "7", "reason": "any"})), "Cancelled.")
    report = run(given, said, agent=Agent(said, tools=[get_order, cancel_order]), judge=player("Cancel 7.", "Yes."))
    assert report.passed, report.failures()
    assert said.requests[0].instructions.startswith("Cancel orders on request.")
    silent = Scripted("No.")
    failures = run(given, silent, agent=Agent(silent, tools=[get_order, cancel_order]), judge=player("Cancel 7.")).failures()
    assert "it wasn't said: 1,200" in failures


def test_mistakes_of_an_import_are_sentences(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]):
    with pytest.raises(SettingsError, match="There is no suite 'gaia' to import; there are: bfcl, agentdojo, tau2"):
        read_suite("gaia")
    with pytest.raises(SettingsError, match="has no part 'telecom'; there are: airline, retail"):
        read_suite("tau2", ["telecom"])
    monkeypatch.setattr("treadle.evals.suites.find_spec", lambda name: None)
    assert main(["eval", "import", "bfcl"]) != 0
    assert "in the package bfcl-eval, which isn't installed here: pip install --no-deps bfcl-eval" in capsys.readouterr().err


def test_a_suite_is_imported_by_the_command(
    bfcl: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    monkeypatch.setattr("treadle.evals.suites._package_folder", lambda suite: bfcl)
    file = tmp_path / "cases.jsonl"
    assert main(["eval", "import", "bfcl", "simple_python", "-o", str(file)]) == 0
    assert "2 cases from the package bfcl-eval, whose licence applies to them." in capsys.readouterr().err
    assert main(["eval", "import", "bfcl", "simple_python", "-q"]) == 0
    assert capsys.readouterr().out == file.read_text()


@pytest.mark.skipif(find_spec("bfcl_eval") is None, reason="bfcl-eval isn't installed")
def test_the_published_answers_of_bfcl_are_right():
    dataset = read_suite("bfcl")
    assert len(dataset.cases) > 3000
    answers = [(case.name, values) for case in dataset.cases for answer in case.context["answers"] for values in answer.values()]
    wrong = [name for name, published in answers if not arguments_fit(_first_values(published), published)]
    assert wrong == ["live_simple_106-63-0", "live_simple_112-68-0"]  # BFCL's own checker takes no answer to these either


def _first_values(published: dict[str, Any]) -> dict[str, Any]:
    """Return the first published value of each argument; one that may be left out is left out where it comes first."""
    return {name: _first_fields(values[0]) for name, values in published.items() if values and values[0] != ""}


def _first_fields(value: Any) -> Any:
    if isinstance(value, list):
        return [_first_fields(each) for each in value]
    return {name: each[0] for name, each in value.items() if each[0] != ""} if isinstance(value, dict) else value


@pytest.mark.skipif(find_spec("inspect_evals") is None, reason="inspect-evals isn't installed")
def test_the_tasks_of_tau2_are_read():
    dataset = read_suite("tau2")
    assert len(dataset.cases) > 150
    assert all(case.user and case.instructions for case in dataset.cases)


@pytest.mark.skipif(find_spec("agentdojo") is None, reason="agentdojo isn't installed")
def test_agentdojo_is_run_in_its_worlds(tmp_path: Path):
    dataset = read_suite("agentdojo", ["slack"])
    assert len(dataset.cases) == 21 * 6
    names = ("slack user_task_1", "slack user_task_1 under injection_task_1")
    chosen = replace(dataset, cases=tuple([case for case in dataset.cases if case.name in names]))
    home = open_home(tmp_path / "home")
    options: dict[str, Any] = {"home": home, "evaluation": "e", "folder": tmp_path / "w"}
    try:
        report = run(chosen, Scripted("I don't know.", "I don't know."), **options)
        again = run(chosen, Scripted(), **options)  # from the runs that are kept
    finally:
        close_home(home)
    assert [case.passed for case in report.cases] == [0, 1]  # nothing was done, and no attack succeeded
    assert [case.passed for case in again.cases] == [0, 1]
