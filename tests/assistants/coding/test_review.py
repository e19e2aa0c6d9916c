"""Reviews: findings are compared with the diff, and what doesn't fit it goes back to the model once, then is dropped."""

import json
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from assistants.coding.stage import MENDED, asks, carried_out, git, needs_git, project
from treadle.assistants.coding.answers import PlacedFinding, ReviewFinding
from treadle.assistants.coding.patches import FileDiff, format_hunk_lines, format_numbered_diff, list_hunks, parse_diff
from treadle.assistants.coding.review import check_findings, place_finding
from treadle.assistants.coding.review_output import to_sarif
from treadle.models.scripted import Scripted

DIFF = """\
commit message above it

diff --git a/shop.py b/shop.py
index 1..2 100644
--- a/shop.py
+++ b/shop.py
@@ -10,6 +10,5 @@ def price(count):
     total = 0
-    if count < 0:
-        raise ValueError(count)
+    if count <= 0:
+        return None
+
     for item in range(count):
-- not a heading
--- nor this
@@ -40,2 +41,1 @@
     return total
-    # the end
diff --git a/old name.py b/old name.py
deleted file mode 100644
--- a/old name.py\t
+++ /dev/null
@@ -1,1 +0,0 @@
-KEY = 1
\\ No newline at end of file
diff --git a/logo.png b/logo.png
Binary files a/logo.png and b/logo.png differ
"""
PLAIN = (
    "--- old/a.c\t2026-01-01 10:00\n+++ new/a.c\t2026-01-02 10:00\n@@ -1 +1 @@\n-int a;\n+long a;\n"
    "--- b.c\n+++ b.c\n@@ -3,0 +4 @@\n+int c;\n"
)


def numbered(files: tuple[FileDiff, ...]) -> dict[str, list[tuple[str, int]]]:
    return {file.path: [(line.sign, line.number) for hunk in file.hunks for line in hunk.lines] for file in files}


def test_every_line_of_a_diff_has_its_number_in_the_new_file() -> None:
    files = parse_diff(DIFF)
    assert [(file.path, file.kind, len(file.hunks)) for file in files] == [
        ("shop.py", "modified", 2),
        ("old name.py", "deleted", 1),
        ("logo.png", "modified", 0),
    ]
    first = [*zip(" --+++ --", (10, 11, 11, 11, 12, 13, 14, 15, 15), strict=True)]
    assert numbered(files)["shop.py"] == [*first, (" ", 41), ("-", 42)]
    assert [(hunk.start, hunk.end) for hunk in list_hunks(files)] == [(10, 14), (41, 41), (1, 0)]


def test_plain_diffs_and_line_ends_of_windows_are_read() -> None:
    assert numbered(parse_diff(PLAIN)) == {"new/a.c": [("-", 1), ("+", 1)], "b.c": [("+", 4)]}
    assert numbered(parse_diff(DIFF.replace("\n", "\r\n"))) == numbered(parse_diff(DIFF))
    assert [line.text for hunk in list_hunks(parse_diff(PLAIN.replace("\n", "\r\n"))) for line in hunk.lines][1] == "long a;"
    assert parse_diff("nothing\n--- of it\n") == ()


def test_a_hunk_that_is_cut_ends_where_the_diff_ends() -> None:
    [hunk] = list_hunks(parse_diff("--- a\n+++ a\n@@ -1,9 +1,9 @@\n one\n+two\nnot of it\n"))
    assert [line.text for line in hunk.lines] == ["one", "two"]


def test_a_model_reads_the_numbers_and_hunks_that_are_too_much_are_named() -> None:
    first = "\n".join(format_hunk_lines(list_hunks(parse_diff(DIFF))[0]))
    text, left_out = format_numbered_diff(parse_diff(DIFF), len(first) + 20)
    assert "   11 +    if count <= 0:\n   12 +        return None" in text
    assert "      -    if count < 0:" in text
    assert "logo.png (modified)" in text
    assert left_out == ("shop.py:41-41", "old name.py:1-1")
    assert format_numbered_diff(parse_diff(DIFF), 10_000)[1] == ()


def finding(quote: str, line: int = 0, path: str = "shop.py", title: str = "Wrong", **more: Any) -> ReviewFinding:
    return ReviewFinding("warning", title, "Because.", path, quote, line, **more)


@pytest.mark.parametrize(
    ("given", "place"),
    [
        (finding("    if count <= 0:", 11), ("shop.py", 11, 11, "line")),
        (finding("if count<=0:", 99), ("shop.py", 11, 11, "line")),  # the code says where it is, not the number
        (finding("+    if count <= 0:\n+        return None", 12), ("shop.py", 11, 12, "line")),
        (finding("   12 +        return None"), ("shop.py", 12, 12, "line")),
        (finding("return None\nfor item in range(count):"), ("shop.py", 12, 14, "line")),  # over a blank line
        (finding("", 14), ("shop.py", 14, 14, "line")),
        (finding("raise ValueError(count)", 12), ("shop.py", 11, 11, "hunk")),
        (finding("# the end"), ("shop.py", 41, 41, "hunk")),
        (finding("KEY = 1", path="b/old name.py"), ("old name.py", 0, 0, "hunk")),
    ],
)
def test_a_finding_is_placed_by_the_code_it_quotes(given: ReviewFinding, place: tuple[str, int, int, str]) -> None:
    found = place_finding(given, parse_diff(DIFF))
    assert isinstance(found, PlacedFinding)
    assert (found.path, found.line, found.end_line, found.anchor) == place


@pytest.mark.parametrize(
    ("given", "reason"),
    [
        (finding("if count == 0:", 11), "the quoted code isn't in the diff of shop.py"),
        (finding("", 20), "line 20 of shop.py isn't in this diff"),
        (finding("x", path="other.py"), "other.py is no file of this diff"),
        (finding("x", path=""), "an empty path is no file of this diff"),
        (finding("if", 11), "the quoted code isn't in the diff of shop.py"),  # too short to be a part of a line
        (finding("", 11, title=" "), "it has no title"),
    ],
)
def test_a_finding_that_does_not_fit_the_diff_is_rejected(given: ReviewFinding, reason: str) -> None:
    assert place_finding(given, parse_diff(DIFF)) == reason


def test_a_short_path_is_enough_if_it_fits_one_file() -> None:
    one = parse_diff("--- a/src/a.py\n+++ b/src/a.py\n@@ -1 +1 @@\n-x\n+yyyy\n")
    assert not isinstance(place_finding(finding("yyyy", path="a.py"), one), str)
    two = parse_diff("--- a/lib/a.py\n+++ b/lib/a.py\n@@ -1 +1 @@\n-x\n+yyyy\n")
    assert place_finding(finding("yyyy", path="a.py"), (*one, *two)) == "a.py is no file of this diff"


def test_of_findings_that_say_the_same_one_stays_and_a_suggestion_must_change_something() -> None:
    checked = check_findings(
        [
            finding("return None", title="None is returned", suggestion="        return None"),
            finding("return None", title="Returned is None here"),
            finding("return None", title="Zero is a valid count", suggestion="        return 0\n"),
            finding("nowhere"),
        ],
        parse_diff(DIFF),
    )
    assert [(each.title, each.suggestion) for each in checked.placed] == [
        ("None is returned", ""),
        ("Zero is a valid count", "        return 0"),
    ]
    assert [each.reason for each in checked.rejected] == ["the quoted code isn't in the diff of shop.py"]


TEXT = {"type": "object", "properties": {"text": {"type": "string", "minLength": 1}}, "required": ["text"]}
REGION = {"type": "object", "properties": {"startLine": {"type": "integer", "minimum": 1}}, "required": ["startLine"]}
PLACE = {
    "type": "object",
    "properties": {"artifactLocation": {"required": ["uri"]}, "region": REGION},
    "required": ["artifactLocation"],
}
RESULT = {
    "type": "object",
    "properties": {
        "ruleId": {"type": "string"},
        "ruleIndex": {"type": "integer", "minimum": 0, "maximum": 3},
        "level": {"enum": ["none", "note", "warning", "error"]},
        "message": TEXT,
        "locations": {"type": "array", "items": {"properties": {"physicalLocation": PLACE}}},
        "partialFingerprints": {"type": "object", "additionalProperties": {"type": "string"}},
        "fixes": {"items": {"required": ["artifactChanges"]}},
        "properties": {"type": "object"},
    },
    "required": ["message"],
    "additionalProperties": False,
}
RUN = {
    "type": "object",
    "properties": {
        "tool": {"properties": {"driver": {"required": ["name"]}}, "required": ["driver"]},
        "invocations": {"type": "array", "items": {"required": ["executionSuccessful"]}},
        "results": {"type": "array", "items": RESULT},
        "columnKind": {"enum": ["utf16CodeUnits", "unicodeCodePoints"]},
    },
    "required": ["tool"],
    "additionalProperties": False,
}
SARIF = {  # the parts of the SARIF 2.1.0 schema that are used, written for this test
    "type": "object",
    "properties": {"$schema": {"type": "string"}, "version": {"const": "2.1.0"}, "runs": {"type": "array", "items": RUN}},
    "required": ["version", "runs"],
    "additionalProperties": False,
}


def test_a_review_is_a_valid_sarif_log() -> None:
    placed = check_findings(
        [
            finding("return None", suggestion="        return 0"),
            finding("KEY = 1", path="old name.py"),
            finding("# the end"),
        ],
        parse_diff(DIFF),
    ).placed
    log = to_sarif(placed, ["Not reviewed: x."])
    jsonschema.validate(log, SARIF)
    [run] = log["runs"]
    places = [result["locations"][0]["physicalLocation"] for result in run["results"]]
    assert [place["artifactLocation"]["uri"] for place in places] == ["old%20name.py", "shop.py", "shop.py"]
    assert [place.get("region", {}).get("startLine") for place in places] == [None, 12, 41]
    assert run["results"][1]["fixes"][0]["artifactChanges"][0]["replacements"] == [
        {"deletedRegion": {"startLine": 12, "endLine": 12}, "insertedContent": {"text": "        return 0\n"}}
    ]
    assert run["invocations"][0]["executionSuccessful"] is True
    failed = to_sarif([], [], problem="It failed.")
    jsonschema.validate(failed, SARIF)
    assert failed["runs"][0]["invocations"][0]["executionSuccessful"] is False


FINDING = {
    "severity": "critical",
    "title": "Prices are wrong",
    "explanation": "One is missing.",
    "path": "shop.py",
    "line": 2,
    "quote": "return count * 3",
}


def answers(*findings: dict[str, Any], verdict: str = "COMMENT") -> Any:
    return asks(("give_answer", {"summary": "Changes the price.", "verdict": verdict, "findings": list(findings)}))


@needs_git
def test_a_finding_that_quotes_other_code_goes_back_once_and_is_then_dropped(tmp_path: Path) -> None:
    folder = project(tmp_path)
    (folder / "shop.py").write_text(MENDED)
    made_up = {**FINDING, "title": "A lock is missing", "quote": "lock.acquire()"}
    model = Scripted(answers(FINDING, made_up), answers(FINDING, made_up, verdict="REQUEST_CHANGES"))
    job = carried_out(tmp_path, folder, "review", {}, model)
    assert len(model.requests) == 2
    assert "A lock is missing: the quoted code isn't in the diff of shop.py" in str(model.requests[1].history[-1].parts)
    assert [(each["title"], each["line"]) for each in job.output["findings"]] == [("Prices are wrong", 2)]
    assert [each["reason"] for each in job.output["dropped"]] == ["the quoted code isn't in the diff of shop.py"]
    assert "1 finding was dropped" in job.output["review_text"]
    assert job.output["verdict"] == "REQUEST_CHANGES"


@needs_git
def test_everything_since_a_commit_is_reviewed_committed_or_not(tmp_path: Path) -> None:
    folder = project(tmp_path)
    (folder / "shop.py").write_text(MENDED)
    git(folder, "commit", "--quiet", "-am", "Change the price")
    (folder / "new.py").write_text("x = 1\n")
    model = Scripted(answers(FINDING))
    job = carried_out(tmp_path, folder, "review", {"since": "HEAD~1"}, model)
    text = model.requests[0].history[0].text
    assert "    1 +x = 1" in text
    assert "    2 +    return count * 3" in text
    assert job.output["issues_found"] == 1


def test_what_is_no_diff_is_refused(tmp_path: Path) -> None:
    job = carried_out(tmp_path, project(tmp_path), "review", {"diff": "please look at my code"}, Scripted())
    assert job.state == "failed"
    assert job.why.startswith("What was given is no diff")


def test_json_of_a_review_has_every_field_of_a_finding(tmp_path: Path) -> None:
    folder = project(tmp_path, repository=False)
    job = carried_out(tmp_path, folder, "review", {"diff": DIFF}, Scripted(answers({**FINDING, "quote": "return None"})))
    assert json.loads(json.dumps(job.output["findings"])) == [
        {
            "severity": "critical",
            "title": "Prices are wrong",
            "explanation": "One is missing.",
            "path": "shop.py",
            "line": 12,
            "end_line": 12,
            "quote": "        return None",
            "suggestion": "",
            "anchor": "line",
        }
    ]
