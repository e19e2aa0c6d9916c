"""A failing test leads to the definition that is wrong: by its trace, what it calls, its words, and recent changes."""

from pathlib import Path

import pytest

from assistants.coding.packages import LISTS, SLUG, TOML, plant, run_package_tests
from treadle.assistants.coding.fault_localisation import (
    MAX_EXCERPTS,
    BugReport,
    failing_test_files,
    find_locations,
    narrow_targets,
    place_at,
    rank_places,
    widen_target,
)
from treadle.assistants.coding.project_sources import ProjectSources
from treadle.workspace import CheckFailure, CheckOutcome

TOML_RE, TOML_PARSER = "src/minitoml/_re.py", "src/minitoml/_parser.py"


def python(files: dict[str, str]) -> ProjectSources:
    return ProjectSources({path: text for path, text in files.items() if path.endswith(".py")})


@pytest.mark.parametrize(
    ("files", "path", "right", "wrong", "name"),
    [
        (TOML, TOML_RE, 'sign = 1 if sign_str == "+" else -1', "sign = 1", "cached_tz"),
        (TOML, TOML_RE, "return date(year, month, day)", "return date(year, day, month)", "match_to_datetime"),
        (TOML, TOML_RE, "return date(year, month, day)", "return date(year, month, [day])", "match_to_datetime"),
        (TOML, TOML_PARSER, "if key[-1] in table:", "if key[0] in ():", "Output.set_value"),
        (TOML, TOML_PARSER, "for item in items if item]", "for item in items[1:] if item]", "parse_array"),
        (SLUG, "minislug/slugify.py", "if word not in stopwords]", "if word in stopwords]", "slugify"),
        (SLUG, "minislug/slugify.py", "next_len + len(separator) <= max_length", "next_len <= max_length - 5", "smart_truncate"),
        (SLUG, "minislug/slugify.py", r'r"(?<=\d),(?=\d)"', r'r"(?<=\d);(?=\d)"', "NUMBERS_PATTERN"),
        (LISTS, "minibolts/listutils.py", "return length + current.index(item)", "return current.index(item)", "BarrelList.index"),
        (LISTS, "minibolts/listutils.py", "item = self.lists[-1].pop()", "item = self.lists[0].pop()", "BarrelList.pop"),
        (LISTS, "minibolts/mathutils.py", "while value >= base", "while value > base", "log_base"),
    ],
)
def test_the_definition_that_is_wrong_is_among_the_first_three(tmp_path: Path, files, path, right, wrong, name) -> None:
    planted = plant(files, path, right, wrong)
    ranked = rank_places(python(planted), run_package_tests(tmp_path, planted), BugReport())
    assert (path, name) in [(place.path, place.name) for place in ranked[:3]]


def failed(*failures: CheckFailure) -> CheckOutcome:
    return CheckOutcome("pytest", "pytest", 0, len(failures), 0, 0, failures, "failed", "", 0.1)


FAILURE = CheckFailure("tests/test_misc.py::test_values", "assert {} == {1: 2}", "tests/test_misc.py", 13)


def test_a_trace_outweighs_everything_else() -> None:
    traced = CheckFailure("tests/test_misc.py::test_values", "ValueError: x", TOML_RE, line_of("sign = 1 if"))
    assert rank_places(python(TOML), failed(traced), BugReport())[0].name == "cached_tz"
    symptom = f'File "/home/ann/app/{TOML_PARSER}", line {line_of("quoted = False", TOML_PARSER)}, in strip_comment'
    assert rank_places(python(TOML), failed(FAILURE), BugReport(symptom))[0].name == "strip_comment"


def test_lines_of_recent_commits_count() -> None:
    recent = {TOML_PARSER: (line_of("quoted = False", TOML_PARSER),)}
    order = [place.name for place in rank_places(python(TOML), failed(FAILURE), BugReport())]
    later = [place.name for place in rank_places(python(TOML), failed(FAILURE), BugReport(recent=recent))]
    assert later.index("strip_comment") < (order.index("strip_comment") if "strip_comment" in order else len(order))


def line_of(text: str, path: str = TOML_RE) -> int:
    return TOML[path][: TOML[path].index(text)].count("\n") + 1


def test_a_place_is_the_innermost_definition_by_any_path_that_ends_like_its_own() -> None:
    line = line_of("if key[-1] in table", TOML_PARSER)
    found = place_at(python(TOML), f"/srv/job/{TOML_PARSER}", line)
    assert found is not None
    assert found.name == "Output.set_value"
    assert place_at(python(TOML), "/usr/lib/python3/json/__init__.py", 3) is None
    assert place_at(python(TOML), TOML_PARSER, 1) is None


def test_locations_are_read_from_traces_and_from_runners_in_order() -> None:
    text = 'a.py:3: in f\n  File "b/c.py", line 7, in g\nd.js:9'
    assert find_locations(text) == [("a.py", 3), ("b/c.py", 7), ("d.js", 9)]


def test_failing_tests_are_found_by_their_names_also_where_code_raised() -> None:
    assert failing_test_files(failed(CheckFailure("tests/test_a.py::test_x", "KeyError", "src/a.py", 3))) == ["tests/test_a.py"]


def test_excerpts_widen_within_limits_and_stay_valid_code() -> None:
    project = python(LISTS)
    places = [project.module("minibolts/listutils.py").places["BarrelList._translate_index"]]
    narrow = narrow_targets(project, places)[0]
    wider = widen_target(project, narrow, places)
    assert narrow.shown.count("def ") == 1
    assert [len(target.shown) <= most + 100 for target, most in zip(wider, MAX_EXCERPTS, strict=False)] == [True] * len(wider)
    for target in (narrow, *wider):
        compile(target.shown, "excerpt", "exec")
        assert "Permission" not in target.shown
