"""How a small model reviews: one changed function at a time, and each finding is looked at a second time."""

import json
from pathlib import Path
from typing import Any

import msgspec
import pytest

from assistants.coding.stage import carried_out, git, needs_git, project
from assistants.coding.test_debug_plan import history
from treadle.assistants.coding.answers import ReviewFinding
from treadle.assistants.coding.patches import DiffLine, FileDiff, parse_diff
from treadle.assistants.coding.review_plan import ReviewState, check_suggestion, list_units, plan_review
from treadle.core.requests import Request
from treadle.core.seams import Traits
from treadle.models.scripted import Scripted

SMALL = Traits(native_calls=False, holds=True)
SOURCE = """\
LIMIT = 10


def price(count):
    # how much
    total = count * 3
    return total


def label(name):
    return name.strip()
"""
DIFF = """\
--- a/shop.py
+++ b/shop.py
@@ -1 +1 @@
-LIMIT = 9
+LIMIT = 10
@@ -4,3 +4,4 @@
 def price(count):
+    # how much
     total = count * 3
-    return total + 1
+    return total
@@ -9,2 +10,2 @@
 def label(name):
-    return name
+    return name.strip()
"""


def units(source: str | None, path: str = "shop.py", diff: str = DIFF) -> list[tuple[str, list[str]]]:
    [file] = parse_diff(diff.replace("shop.py", path))
    return [(unit.name, [line.text.strip() for line in unit.candidates]) for unit in list_units(file, source)]


def test_each_changed_function_is_a_unit_with_the_code_that_was_changed() -> None:
    assert units(SOURCE) == [("LIMIT", ["LIMIT = 10"]), ("price", ["return total"]), ("label", ["return name.strip()"])]
    [file] = parse_diff(DIFF)
    assert list_units(file, SOURCE)[1].text == (
        "    4  def price(count):\n    5 +    # how much\n    6      total = count * 3\n"
        "      -    return total + 1\n    7 +    return total"
    )


@pytest.mark.parametrize(("source", "path"), [(None, "shop.py"), ("another = 1\n", "shop.py"), (SOURCE, "shop.js")])
def test_without_the_new_file_each_hunk_is_a_unit(source: str | None, path: str) -> None:
    assert units(source, path) == [("", ["LIMIT = 10"]), ("", ["return total"]), ("", ["return name.strip()"])]


def test_comments_alone_are_nothing_to_look_at() -> None:
    assert units(None, diff="--- a/x.py\n+++ b/x.py\n@@ -1 +1,2 @@\n x = 1\n+# why\n") == []


def test_code_that_was_only_removed_is_looked_at() -> None:
    assert units("x = 1\n", "x.py", "--- a/x.py\n+++ b/x.py\n@@ -1,2 +1 @@\n x = 1\n-check(x)\n") == [("", ["check(x)"])]


def test_what_is_long_is_shown_in_parts_around_what_was_changed() -> None:
    rows = ["def long():", *[f"    a{number} = {number}" for number in range(200)]]
    hunk = "@@ -101,1 +101,1 @@\n-    old = 1\n+    a99 = 99\n"
    [file] = parse_diff(f"--- a/x.py\n+++ b/x.py\n{hunk}")
    [unit] = list_units(file, "\n".join(rows))
    assert (unit.name, len(unit.lines), [line.text.strip() for line in unit.candidates]) == ("long", 14, ["a99 = 99"])
    added = "".join(f"+a{number} = {number}\n" for number in range(150))
    [new] = parse_diff(f"--- /dev/null\n+++ b/x.js\n@@ -0,0 +1,150 @@\n{added}")
    assert [len(unit.lines) for unit in list_units(new, None)] == [60, 60, 30]


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        ("return total + tax", "    return total + tax"),
        ("`return total + 1`", "    return total + 1"),
        ("return  total", ""),  # the same
        ("return (total", ""),  # breaks the file
        ("x = 1\nreturn x", ""),
        ("", ""),
    ],
)
def test_a_corrected_line_has_to_change_something_and_to_parse(code: str, expected: str) -> None:
    assert check_suggestion(code, DiffLine("+", "    return total", 7), "shop.py", SOURCE) == expected


def test_a_line_that_was_removed_has_no_correction() -> None:
    assert check_suggestion("x = 2", DiffLine("-", "x = 1", 1), "shop.py", SOURCE) == ""


BEFORE = SOURCE.replace("LIMIT = 10", "LIMIT = 9").replace("    # how much\n", "").replace("name.strip()", "name")


class Reviewer:
    """A small model that answers by what it is asked; `no` refutes."""

    def __init__(self, **answers: dict[str, Any]) -> None:
        self.answers = answers
        self.asked: list[str] = []

    def __call__(self, request: Request) -> str:
        text = request.history[0].text
        kinds = {
            "Does this change": "defect",
            "Which line": "line",
            "what is wrong, in at most": "title",
            "A reviewer says": "refute",
            "Write this one line": "correct",
        }
        kind = next(name for words, name in kinds.items() if words in text)
        place = "price" if "in price." in text else "label" if "in label." in text else "LIMIT"
        self.asked.append(f"{kind} {place}")
        said = self.answers.get(kind, {}).get(place)
        default = {
            "defect": {"reason": "Fine.", "defect": "no"},
            "title": {"title": "The tax is missing.", "severity": "critical"},
            "refute": {"reason": "So it is.", "is_defect": "yes"},
        }
        return said if isinstance(said, str) else json.dumps(said or default[kind])


def shop(tmp_path: Path) -> Path:
    folder = project(tmp_path)
    (folder / "shop.py").write_text(BEFORE)
    git(folder, "commit", "--quiet", "-am", "A shop")
    (folder / "shop.py").write_text(SOURCE)
    return folder


DEFECT = {"price": {"reason": "It leaves out the tax.", "defect": "yes"}}


@needs_git
def test_a_finding_of_a_small_model_has_its_line_and_is_looked_at_twice(tmp_path: Path) -> None:
    reviewer = Reviewer(
        defect=DEFECT, line={"price": {"line": "total = count*3"}}, correct={"price": {"code": "total = count * 3 + 1"}}
    )
    folder = shop(tmp_path)
    (folder / "shop.py").write_text(SOURCE.replace("count * 3", "count*3"))
    model = Scripted(*[reviewer] * 20, traits=SMALL)
    job = carried_out(tmp_path, folder, "review", {}, model)
    assert job.state == "completed", job.why
    assert reviewer.asked == [
        *("defect LIMIT", "defect price", "line price", "title price", "refute price", "correct price", "defect label")
    ]
    [finding] = job.output["findings"]
    assert (finding["path"], finding["line"], finding["severity"]) == ("shop.py", 6, "critical")
    assert (finding["explanation"], finding["suggestion"]) == ("It leaves out the tax.", "    total = count * 3 + 1")
    assert job.output["verdict"] == "REQUEST_CHANGES"
    assert job.output["summary"].endswith("with a small model: 1 finding.")
    line = next(request for request in model.requests if "Which line" in request.history[0].text)
    assert line.shape is not None
    assert line.shape["properties"]["line"]["enum"] == ["total = count*3"]  # comments and unchanged lines can't be chosen


@needs_git
def test_what_the_model_refutes_is_dropped(tmp_path: Path) -> None:
    reviewer = Reviewer(
        defect=DEFECT, line={"price": {"line": "total = count * 4"}}, refute={"price": {"reason": "No.", "is_defect": "no"}}
    )
    folder = shop(tmp_path)
    (folder / "shop.py").write_text(SOURCE.replace("count * 3", "count * 4"))
    job = carried_out(tmp_path, folder, "review", {}, Scripted(*[reviewer] * 20, traits=SMALL))
    assert (job.output["findings"], job.output["verdict"]) == ([], "COMMENT")
    assert "no defect was found; 1 more didn't hold at a second look" in job.output["summary"]


@needs_git
def test_what_gets_no_usable_answer_twice_is_named_as_not_reviewed(tmp_path: Path) -> None:
    reviewer = Reviewer(defect={"LIMIT": "I think it is fine."})
    job = carried_out(tmp_path, shop(tmp_path), "review", {}, Scripted(*[reviewer] * 20, traits=SMALL))
    assert reviewer.asked[:2] == ["defect LIMIT"] * 2
    assert job.output["left_out"] == ["shop.py:1"]
    assert "Not reviewed: shop.py:1." in job.output["review_text"]


@needs_git
def test_a_model_that_may_choose_its_tools_is_not_guided(tmp_path: Path) -> None:
    model = Scripted("APPROVE, I think.", *["APPROVE"] * 9, traits=SMALL)
    carried_out(tmp_path, shop(tmp_path), "review", {"free": True}, model)
    assert "Does this change have a defect" not in model.requests[0].history[0].text


def test_a_very_long_unit_is_not_shown_to_a_small_model(tmp_path: Path) -> None:
    diff = f"--- a/x.js\n+++ b/x.js\n@@ -0,0 +1 @@\n+{'x' * 9_000}\n"
    model = Scripted(traits=SMALL)
    job = carried_out(tmp_path, project(tmp_path, repository=False), "review", {"diff": diff}, model)
    assert (job.output["left_out"], model.requests) == (["x.js:1"], [])


def test_of_very_many_hunks_some_are_left_out_by_name(tmp_path: Path) -> None:
    diff = "".join(f"--- a/{name}.js\n+++ b/{name}.js\n@@ -0,0 +1 @@\n+x = {name}\n" for name in range(42))
    model = Scripted(*[json.dumps({"reason": "Fine.", "defect": "no"})] * 60, traits=SMALL)
    job = carried_out(tmp_path, project(tmp_path, repository=False), "review", {"diff": diff}, model)
    assert (len(model.requests), job.output["left_out"]) == (40, ["40.js:1-1", "41.js:1-1"])


def test_a_deleted_file_is_reviewed_by_what_was_removed() -> None:
    [file] = parse_diff("diff --git a/x.py b/x.py\ndeleted file mode 100644\n--- a/x.py\n+++ /dev/null\n@@ -1 +0,0 @@\n-lock(x)\n")
    assert isinstance(file, FileDiff)
    assert [line.text for line in list_units(file, None)[0].candidates] == ["lock(x)"]


def test_a_review_that_was_interrupted_goes_on_with_the_next_file() -> None:
    diff = "".join(f"--- a/{name}.js\n+++ b/{name}.js\n@@ -0,0 +1 @@\n+x = '{name}'\n" for name in ("one", "two"))
    found = ReviewFinding("warning", "Wrong", "So.", "one.js", "x = 'one'", 1)
    state = msgspec.to_builtins(ReviewState(1, (found,), 2))
    past = history((state, [("read_file", {"path": "two.js"}, "There is no such file.")]))
    plan = plan_review(Request("", past), parse_diff(diff), "")
    assert "A change of two.js." in next(plan).text
    with pytest.raises(StopIteration) as over:
        plan.send('{"reason": "Fine.", "defect": "no"}')
    [(name, answer)] = over.value.value.calls
    assert (name, [each["title"] for each in answer["findings"]]) == ("give_answer", ["Wrong"])
    assert answer["summary"].endswith("1 finding; 2 more didn't hold at a second look.")
