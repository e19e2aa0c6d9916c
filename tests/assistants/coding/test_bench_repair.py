"""The repair benchmark: tasks fail because of what was planted, and a wrong claim would be counted as one."""

import asyncio
from pathlib import Path

import pytest
from bench.repair.__main__ import RepairOutcome, format_page, measure
from bench.repair.tasks import RepairTask, make_tasks, run_tests

from assistants.coding.stage import needs_git
from treadle.core.requests import Request, Traits
from treadle.models.scripted import Scripted


@pytest.fixture(autouse=True)
def without_plugins(monkeypatch: pytest.MonkeyPatch) -> None:
    """Leave out our own plug-ins, which take longer to start than these tests."""
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")


SMALL = Traits(native_calls=False)
RIGHT = """\
def one(value, low, high):
    if value is None:
        return low
    if value < low:
        return low
    if value > high:
        return high
    return value
"""
TESTS = """\
from {name} import {name}


def test_clip():
    assert [{name}(value, 2, 5) for value in (None, 1, 3, 9)] == [2, 2, 3, 5]
"""


def package(place: Path, *names: str) -> Path:
    root = place / "clips-1.0"
    (root / "tests").mkdir(parents=True)
    (root / "src").mkdir()
    for name in names:
        (root / "src" / f"{name}.py").write_text(RIGHT.replace("one(", f"{name}("))
        (root / "tests" / f"test_{name}.py").write_text(TESTS.format(name=name))
    return root


def test_a_task_is_a_mutation_that_the_tests_of_its_module_show(tmp_path: Path) -> None:
    root = package(tmp_path, "one")
    (root / "src" / "untested.py").write_text(RIGHT)
    [task] = make_tasks([root], least_lines=5)
    assert (task.module, task.tests) == ("src/one.py", ("tests/test_one.py",))
    assert (task.right, task.buggy == RIGHT) == (RIGHT, False)
    assert run_tests(root, task.module, task.tests, task.right)
    assert not run_tests(root, task.module, task.tests, task.buggy)
    assert list(make_tasks([root])) == []  # shorter than a hundred lines


def planted(root: Path, name: str) -> RepairTask:
    right = RIGHT.replace("one(", f"{name}(")
    buggy = right.replace("return high", "return low")  # no single edit fixes it
    return RepairTask(name, root, f"src/{name}.py", (f"tests/test_{name}.py",), right, buggy, 7, "another name")


@needs_git
def test_right_patches_count_and_wrong_ones_are_never_claimed(tmp_path: Path) -> None:
    root = package(tmp_path, "one", "two")

    def reply(request: Request) -> str:
        knows = "def one(" in request.history[0].text
        return f"```python\n{RIGHT}```" if knows else "```\n```"

    tasks = [planted(root, "one"), planted(root, "two")]
    known = asyncio.run(measure(Scripted(*[reply] * 200, traits=SMALL), tasks, tmp_path / "kept.jsonl"))
    assert [(each.task, each.way, each.fixed, each.claimed) for each in known] == [
        ("one", "once", True, False),
        ("one", "debug", True, True),
        ("two", "once", False, False),
        ("two", "debug", False, False),
    ]
    page = format_page(known, "a stand-in")
    assert "| fixed | 1 | 1 |" in page
    assert "| claimed wrongly |  | 0 |" in page
    assert "| given up honestly |  | 1 |" in page


def test_a_wrong_claim_is_counted() -> None:
    assert "| claimed wrongly |  | 1 |" in format_page([RepairOutcome("a", "debug", fixed=False, claimed=True)], "a model")
