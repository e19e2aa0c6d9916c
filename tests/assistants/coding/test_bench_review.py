"""The review benchmark: its tasks are what they say, and its counts are right for models whose answers are known."""

import ast
import asyncio
import json
from pathlib import Path
from textwrap import dedent

import pytest
from bench.review.__main__ import Outcome, format_page, measure
from bench.review.mutations import apply_edits, list_functions, list_mutations, rename_local
from bench.review.tasks import ReviewTask, make_tasks

from treadle.assistants.coding.patches import list_hunks, parse_diff
from treadle.core.requests import Request, Traits
from treadle.models.scripted import Scripted

SMALL = Traits(native_calls=False, holds=True)


@pytest.fixture(scope="module")
def tasks() -> list[ReviewTask]:
    return make_tasks()


def test_there_are_thirty_tasks_of_each_kind_and_each_is_valid(tasks: list[ReviewTask]) -> None:
    planted, clean = [task for task in tasks if task.line], [task for task in tasks if not task.line]
    assert (len(planted), len(clean), len({task.name for task in tasks})) == (30, 30, 60)
    for task in tasks:
        for text in (task.before, task.after):
            ast.parse(dedent(text))
        added = {line.number: line.text for hunk in list_hunks(parse_diff(task.diff)) for line in hunk.added_lines}
        assert added, task.name
        assert not task.line or task.line in added, task.name
        assert task.after.splitlines()[task.line - 1] == added[task.line] if task.line else True
    assert make_tasks() == tasks


def test_a_clean_change_renames_a_variable_and_nothing_else(tasks: list[ReviewTask]) -> None:
    for task in tasks:
        if not task.line and not task.name.startswith("hand-"):
            names = {node.id for node in ast.walk(ast.parse(dedent(task.after))) if isinstance(node, ast.Name)}
            [new] = names - {node.id for node in ast.walk(ast.parse(dedent(task.before))) if isinstance(node, ast.Name)}
            back = ast.dump(ast.parse(dedent(task.after))).replace(f"'{new}'", f"'{new.removesuffix('_value')}'")
            assert back == ast.dump(ast.parse(dedent(task.before)))


SOURCE = """\
def find(items, wanted):
    position = 0
    for item in items:
        if item == wanted and item is not None:
            return position + 1
        if not item:
            return False
        position = position + 1
    return -1
"""


def test_mutations_change_one_operator_of_one_line() -> None:
    [function] = list_functions(SOURCE)
    changed = [
        apply_edits(SOURCE, [each.edit]).splitlines()[each.edit.line - 1].strip() for each in list_mutations(SOURCE, function)
    ]
    assert changed == [
        "if item != wanted and item is not None:",
        "if item == wanted or item is not None:",
        "if item == wanted and item is None:",
        "return position - 1",
        "if item:",
        "return True",
        "position = position - 1",
    ]
    renamed = apply_edits(SOURCE, rename_local(function))
    assert "for item_value in items:\n        if item_value == wanted" in renamed


def reviewer(tasks: list[ReviewTask], *, alarms: bool) -> Scripted:
    """A small model that knows the planted lines; with `alarms`, it also names the first changed line of clean diffs."""

    def reply(request: Request) -> str:
        text = request.history[0].text
        assert request.shape is not None
        fields = request.shape["properties"]
        task = next(each for each in tasks if f"A change of {each.path}" in text and _shows(each, text))
        if "defect" in fields:
            return json.dumps({"reason": task.defect or "Perhaps.", "defect": "yes" if task.line or alarms else "no"})
        if "line" in fields:
            wrong = task.after.splitlines()[task.line - 1].strip()
            return json.dumps({"line": wrong if task.line else fields["line"]["enum"][0]})
        if "title" in fields:
            return json.dumps({"title": "It is wrong", "severity": "warning"})
        return json.dumps({name: "yes" if "enum" in kind else "pass" for name, kind in fields.items()})

    return Scripted(*[reply] * 200, traits=SMALL)


def _shows(task: ReviewTask, text: str) -> bool:
    hunks = list_hunks(parse_diff(task.diff))
    return all(f"{line.number:>5} +{line.text}\n" in text for hunk in hunks for line in hunk.added_lines)


@pytest.mark.parametrize(("alarms", "false"), [(False, 0), (True, 3)])
def test_found_lines_and_false_alarms_are_counted(tasks: list[ReviewTask], tmp_path: Path, alarms: bool, false: int) -> None:
    some = [task for task in tasks if task.name.startswith("hand-")]
    few = [*[task for task in some if task.line][:3], *[task for task in some if not task.line][:3]]
    known = asyncio.run(measure(reviewer(few, alarms=alarms), few, tmp_path / "kept.jsonl"))
    assert [outcome.state for outcome in known] == ["completed"] * 6
    assert sum(outcome.is_found for outcome in known) == 3
    assert sum(bool(outcome.found) for outcome in known if not outcome.line) == false
    again = asyncio.run(measure(Scripted(traits=SMALL), few, tmp_path / "kept.jsonl", resume=True))
    assert again == known


def test_what_is_near_or_failed_is_not_counted_as_found() -> None:
    page = format_page(
        [Outcome("a", 7, "completed", (8,)), Outcome("b", 7, "failed", why="x"), Outcome("c", 0, "completed", (1, 2))], "a model"
    )
    assert "| found at the right line | 0 |" in page
    assert "| found within 2 lines | 1 |" in page
    assert "| clean diffs with a false alarm | 1 |" in page
    assert "| false alarms in all | 2 |" in page
    assert "| reviews that failed | 1 |" in page
