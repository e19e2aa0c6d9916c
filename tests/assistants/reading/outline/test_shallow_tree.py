from typing import Any

import pytest

from assistants.reading.outline import samples
from treadle.assistants.reading.outline.languages import language_names
from treadle.assistants.reading.outline.shallow_tree import build_shallow_tree

TEXT = """\
import base, { Row, Bay as B } from "./place";
import "./side";

// Where stock lies.
export class Shelf { // a class
  put() { return 1; }
}

const most = 3, rows = [], made = make(1, 2), later;
/* Lays it down. */
function put(item, place = 1, ...more) {
  // inside
  if (item) { return 1; }
}
"""


def every(node: dict[str, Any]) -> list[dict[str, Any]]:
    inner = [*node.get("children", ()), *[child for listed in node.get("fields", {}).values() for child in listed]]
    return [node, *[found for child in inner for found in every(child)]]


def of_type(tree: dict[str, Any], kind: str) -> list[dict[str, Any]]:
    return [node for node in every(tree) if node["type"] == kind]


def test_the_root_has_the_nodes_at_the_top_as_children():
    tree = build_shallow_tree(TEXT, "javascript")
    assert (tree["type"], tree["line_range"]) == ("program", [1, 14])
    assert [child["type"] for child in tree["children"]] == [
        "import_statement",
        "import_statement",
        "export_statement",
        "lexical_declaration",
        "function_declaration",
    ]


@pytest.mark.parametrize("language", language_names())
def test_every_node_has_its_type_and_both_its_lines(language: str):
    text = samples.BY_LANGUAGE[language]
    for node in every(build_shallow_tree(text, language, 5)):
        start, end = node["line_range"]
        assert node["type"]
        assert 1 <= start <= end <= text.count("\n") + 1


@pytest.mark.parametrize("language", language_names())
def test_comments_are_told_with_nodes_and_are_none_themselves(language: str):
    assert not [node for node in every(build_shallow_tree(samples.BY_LANGUAGE[language], language, 6)) if "comment" in node["type"]]


def test_the_outermost_node_has_the_comments():
    export = build_shallow_tree(TEXT, "javascript")["children"][2]
    assert (export["leading_comment"], export["trailing_comment"]) == ("Where stock lies.", "a class")
    declared = export["fields"]["declaration"][0]
    assert declared["name"] == "Shelf"
    assert "leading_comment" not in declared


def test_bodies_are_only_their_lines():
    put = build_shallow_tree(TEXT, "javascript")["children"][4]
    assert put["fields"]["body"] == [{"type": "statement_block", "line_range": [11, 14]}]
    assert (put["name"], put["leading_comment"]) == ("put", "Lays it down.")


def test_what_lies_deeper_is_counted():
    tree = build_shallow_tree(TEXT, "javascript")
    assert of_type(tree, "import_clause")[0]["extra_children_count"] == 2
    assert all("children" not in node for node in of_type(tree, "import_clause"))
    assert of_type(build_shallow_tree(TEXT, "javascript", 3), "named_imports")[0]["extra_children_count"] == 2


def test_no_depth_leaves_the_root_alone():
    assert build_shallow_tree(TEXT, "javascript", 0) == {"type": "program", "line_range": [1, 14], "extra_children_count": 5}
    assert build_shallow_tree(TEXT, "javascript", -3) == build_shallow_tree(TEXT, "javascript", 0)


def test_imports_say_what_they_bring_in():
    first, second = of_type(build_shallow_tree(TEXT, "javascript"), "import_statement")
    assert first["import_details"] == {
        "import_type": "mixed",
        "namespace_import": None,
        "default_import": "base",
        "named_imports": ["Row", "B"],
        "source": "./place",
    }
    assert second["import_details"]["import_type"] == "side_effect"


def test_imports_say_it_in_other_languages_too():
    tree = build_shallow_tree(samples.RUST, "rust")
    assert [node["import_details"]["source"] for node in of_type(tree, "use_declaration")] == ["std", "std", "crate::place"]


def test_variables_say_their_values():
    told = {node["name"]: node for node in of_type(build_shallow_tree(TEXT, "javascript"), "variable_declarator")}
    assert (told["most"]["simple_value"], told["most"]["value_type"]) == ("3", "number")
    assert (told["rows"]["simple_value"], told["rows"]["value_type"]) == ("[]", "array")
    assert (told["made"]["value_type"], told["made"]["extra_children_count"]) == ("call_expression", 2)
    assert told["later"]["value_type"] == "uninitialized"


def test_parameters_are_listed():
    listed = of_type(build_shallow_tree(TEXT, "javascript"), "formal_parameters")[0]
    assert listed["parameters"] == [
        {"name": "item", "type": None, "has_default": False},
        {"name": "place", "type": None, "has_default": True},
        {"name": "...more", "type": None, "has_default": False},
    ]
    assert (listed["parameter_count"], listed["has_rest"]) == (3, True)


def test_parameters_have_their_types():
    listed = of_type(build_shallow_tree("function f(a: string, b?: number): void {}", "typescript"), "formal_parameters")[0]
    assert [(one["name"], one["type"]) for one in listed["parameters"]] == [("a", "string"), ("b", "number")]
    assert not listed["has_rest"]


def test_a_field_may_have_many_nodes():
    text = "from a import b, c\n"
    assert [node["type"] for node in build_shallow_tree(text, "python")["children"][0]["fields"]["name"]] == [
        "dotted_name",
        "dotted_name",
    ]


def test_any_depth_may_be_asked_for():
    assert build_shallow_tree("x = " + "(" * 500 + ")" * 500, "python", 10_000)["type"] == "module"
