import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from properties import examples
from treadle.core.errors import BadTool
from treadle.tools.issues import ArgumentIssue
from treadle.tools.validate import InvalidArguments, ValidArguments, Validator, format_issues, validate_tool_arguments


def of(schema: Any, value: Any, **more: Any) -> ValidArguments | InvalidArguments:
    """The verdict on one argument, `x`."""
    return validate_tool_arguments({"x": value}, {"type": "object", "properties": {"x": schema}, "required": ["x"], **more})


def became(schema: Any, value: Any, **more: Any) -> Any:
    result = of(schema, value, **more)
    assert isinstance(result, ValidArguments), result
    return result.arguments["x"]


def refused(schema: Any, value: Any, **more: Any) -> tuple[ArgumentIssue, ...]:
    result = of(schema, value, **more)
    assert isinstance(result, InvalidArguments), result
    return result.issues


# What fits


def test_arguments_that_fit_are_handed_on_untouched():
    arguments = {"a": 1, "b": "x"}
    schema = {"type": "object", "properties": {"a": {"type": "integer"}, "b": {"type": "string"}}, "required": ["a"]}
    result = validate_tool_arguments(arguments, schema)
    assert isinstance(result, ValidArguments)
    assert result.arguments is arguments
    assert result.converted == ()


def test_defaults_are_not_filled_in():
    assert validate_tool_arguments(
        {}, {"type": "object", "properties": {"a": {"type": "integer", "default": 5}}}
    ) == ValidArguments({})


@pytest.mark.parametrize(
    ("schema", "value"),
    [
        ({}, None),
        (True, [1]),
        ({"type": "any"}, 5),
        ({"type": []}, 5),
        ({"type": ["integer", "null"]}, None),
        ({"type": ["integer", "string", "null"]}, "5"),
        ({"type": "number"}, 5),
        ({"type": "number"}, 5.5),
        ({"type": "boolean"}, False),
        ({"type": "integer", "nullable": True}, None),
        ({"enum": ["a", 1]}, 1.0),
        ({"enum": [[1, {"a": 2}]]}, [1, {"a": 2}]),
        ({"const": 5}, 5),
        ({"enum": "broken"}, 5),
        ({"type": "integer", "minimum": 1, "maximum": 3, "multipleOf": 1}, 3),
        ({"exclusiveMinimum": 1, "exclusiveMaximum": 3}, 2),
        ({"minimum": 5}, "text is no number"),
        ({"minimum": "5"}, 1),
        ({"minimum": True}, 0),
        ({"multipleOf": 0.1}, 0.3),
        ({"multipleOf": 0}, 7),
        ({"multipleOf": "2"}, 7),
        ({"minLength": 2, "maxLength": 3}, "abc"),
        ({"pattern": "b"}, "abc"),
        ({"pattern": "("}, "anything"),
        ({"pattern": "[[a]"}, "a"),
        ({"pattern": 5}, "anything"),
        ({"minItems": 1, "maxItems": 2, "uniqueItems": True}, [1, 2]),
        ({"uniqueItems": False}, [1, 1]),
        ({"items": {"type": "integer"}}, [1, 2]),
        ({"items": {"type": "integer"}}, "no list"),
        ({"prefixItems": [{"type": "integer"}, {"type": "string"}]}, [1, "a", None]),
        ({"prefixItems": [{"type": "integer"}], "items": False}, [1]),
        ({"prefixItems": [{"type": "integer"}]}, "no list"),
        ({"items": [{"type": "integer"}], "additionalItems": {"type": "string"}}, [1, "a"]),
        ({"items": "broken"}, [1]),
        ({"minProperties": 1, "maxProperties": 1}, {"a": 1}),
        ({"properties": {"a": {"type": "integer"}}}, {"a": 1, "b": 2}),
        ({"properties": {"a": {"type": "integer"}}}, "no object"),
        ({"properties": "broken", "required": "broken", "patternProperties": 5}, {"a": 1}),
        ({"required": ["a", 5]}, {"a": 1}),
        ({"additionalProperties": {"type": "integer"}}, {"a": 1}),
        ({"patternProperties": {"^n_": {"type": "integer"}, "(": False}}, {"n_a": 1, "b": "x"}),
        ({"patternProperties": {"^n_": {"type": "integer"}}}, "no object"),
        ({"anyOf": [{"type": "integer"}, {"type": "string"}, {"type": "null"}]}, "5"),
        ({"anyOf": []}, 5),
        ({"anyOf": "broken"}, 5),
        ({"oneOf": [{"type": "integer"}, {"type": "string"}]}, "5"),
        ({"allOf": [{"minimum": 1}, {"maximum": 3}, {"type": "integer"}]}, 2),
        ({"not": {"type": "string"}}, 5),
        ({"not": 5}, 5),
        ({"format": "email"}, "not checked"),
        ({"$ref": "#/nowhere"}, 5),
        ({"$ref": "elsewhere.json"}, 5),
        ({"$ref": 5}, 5),
    ],
)
def test_values_that_fit_stay_as_they_are(schema: Any, value: Any):
    arguments = {"x": value}
    result = validate_tool_arguments(arguments, {"properties": {"x": schema}})
    assert isinstance(result, ValidArguments)
    assert result.arguments is arguments


def test_a_tool_without_a_usable_schema_takes_anything():
    assert validate_tool_arguments({"a": 1}, {}) == ValidArguments({"a": 1})
    assert validate_tool_arguments({"a": 1}, None) == ValidArguments({"a": 1})  # pyright: ignore[reportArgumentType] - a server's mistake


# Certain conversions


@pytest.mark.parametrize(
    ("schema", "value", "wanted"),
    [
        ({"type": "integer"}, "5", 5),
        ({"type": "integer"}, " -5 ", -5),
        ({"type": "integer"}, "5.0", 5),
        ({"type": "integer"}, 5.0, 5),
        ({"type": "integer"}, "1e3", 1000),
        ({"type": "number"}, "2.5", 2.5),
        ({"type": "number"}, "5", 5),
        ({"type": "boolean"}, "true", True),
        ({"type": "boolean"}, "FALSE", False),
        ({"type": "string"}, 5, "5"),
        ({"type": ["string", "null"]}, 5, "5"),
        ({"type": ["integer", "null"]}, "null", None),
        ({"type": ["integer", "null"]}, "None", None),
        ({"type": "integer", "nullable": True}, "None", None),
        ({"anyOf": [{"type": "integer"}, {"type": "null"}]}, "null", None),
        ({"anyOf": [{"type": "integer"}, {"type": "null"}]}, "5", 5),
        ({"anyOf": [{"type": "integer"}, {"type": "number"}]}, "5", 5),
        ({"oneOf": [{"type": "integer"}, {"type": "boolean"}]}, "true", True),
        ({"type": "array", "items": {"type": "integer"}}, "[1, 2]", [1, 2]),
        ({"type": "array", "items": {"type": "integer"}}, '["1", 2]', [1, 2]),
        ({"type": "object"}, '{"a": 1}', {"a": 1}),
        ({"type": "object", "properties": {"a": {"type": "integer"}}}, {"a": "1", "b": "1"}, {"a": 1, "b": "1"}),
        ({"type": "object", "additionalProperties": {"type": "integer"}}, {"a": "1"}, {"a": 1}),
        ({"type": "object", "patternProperties": {"^n": {"type": "integer"}}}, {"n": "1", "m": "1"}, {"n": 1, "m": "1"}),
        ({"prefixItems": [{"type": "integer"}], "items": {"type": "boolean"}}, ["1", "true"], [1, True]),
        ({"enum": ["north", "south"]}, "North ", "north"),
        ({"enum": [1, 2]}, "2", 2),
        ({"enum": ["1", "2"]}, 2, "2"),
        ({"enum": [True, False]}, "True", True),
        ({"const": "a"}, "A", "a"),
        ({"type": "integer", "enum": [1, 2]}, "1", 1),
        ({"allOf": [{"type": "integer"}]}, "5", 5),
        ({"$ref": "#/$defs/count"}, "5", 5),
    ],
)
def test_a_value_that_is_certain_is_converted(schema: Any, value: Any, wanted: Any):
    found = became(schema, value, **{"$defs": {"count": {"type": "integer"}}})
    assert found == wanted
    assert type(found) is type(wanted)


@pytest.mark.parametrize(
    ("schema", "value"),
    [
        ({"type": "string"}, "null"),
        ({"type": "string"}, "None"),
        ({"type": ["string", "null"]}, "null"),
        ({"anyOf": [{"type": "string"}, {"type": "integer"}]}, "5"),
        ({"anyOf": [{"type": "string"}, {"type": "array"}]}, "[1]"),
    ],
)
def test_a_text_that_fits_as_text_stays_text(schema: Any, value: Any):
    assert became(schema, value) == value


@pytest.mark.parametrize(
    ("schema", "value"),
    [
        ({"type": "integer"}, "five"),
        ({"type": "integer"}, "5.5"),
        ({"type": "integer"}, 5.5),
        ({"type": "integer"}, True),
        ({"type": "integer"}, 1e300),
        ({"type": "integer"}, "1,000"),
        ({"type": "integer"}, "0x10"),
        ({"type": "integer"}, "\u0665"),
        ({"type": "integer"}, "9" * 5000),
        ({"type": "integer"}, None),
        ({"type": "number"}, float("nan")),
        ({"type": "number"}, float("inf")),
        ({"type": "number"}, "NaN"),
        ({"type": "number"}, "1e999"),
        ({"type": "boolean"}, "yes"),
        ({"type": "boolean"}, 1),
        ({"type": "string"}, True),
        ({"type": "string"}, 3.1),
        ({"type": "string"}, {"a": 1}),
        ({"type": "string"}, None),
        ({"type": "null"}, "nil"),
        ({"type": "array"}, "a"),
        ({"type": "array", "items": {"type": "string"}}, '{"a": 1}'),
        ({"type": "array", "items": {"type": "integer"}}, 1),
        ({"type": "object"}, "{broken"),
        ({"type": "object"}, "{" + '"a":{' * 3000),
        ({"type": "object"}, "\ud800"),
        ({"type": ["integer", "boolean"]}, "x"),
        ({"enum": ["a", "A"]}, " a"),
        ({"enum": [1, "1"]}, " 1"),
        ({"enum": [None, 2.5]}, "None"),
        ({"enum": ["a"]}, 2.5),
        ({"enum": []}, "a"),
        (False, 1),
    ],
)
def test_a_value_that_is_not_certain_is_an_issue(schema: Any, value: Any):
    assert [issue.path for issue in refused(schema, value)] == ["x"]


def test_a_union_in_which_two_branches_read_the_value_differently_is_an_issue():
    branches = [{"type": "object", "properties": {"a": {"type": kind}}, "required": ["a"]} for kind in ("integer", "boolean")]
    twice = {"anyOf": [{"type": "array", "items": {"enum": ["A", "b"]}}, {"type": "array", "items": {"enum": ["a", "B"]}}]}
    assert refused({"anyOf": branches}, {"a": "x"})
    assert refused(twice, ["a", "b"])


def test_a_conversion_that_then_breaks_another_rule_is_an_issue():
    assert refused({"type": "integer", "minimum": 10}, "5") == (ArgumentIssue("x", "a number of at least 10", "5"),)


def test_a_schema_that_nothing_fits_refuses_whatever_is_converted():
    assert refused({"allOf": [{"type": "string"}, {"type": "integer"}]}, 5) == (
        ArgumentIssue("", "arguments that fit the whole schema", "an object with x"),
    )


def test_what_was_converted_is_named():
    schema = {
        "properties": {
            "count": {"type": "integer"},
            "rows": {"type": "array", "items": {"properties": {"a": {"type": "integer"}}}},
            "same": {"type": "string"},
        }
    }
    result = validate_tool_arguments({"count": "5", "rows": [{"a": 1}, {"a": "2"}], "same": "x"}, schema)
    assert result == ValidArguments({"count": 5, "rows": [{"a": 1}, {"a": 2}], "same": "x"}, ("count", "rows[1].a"))


def test_arguments_that_are_text_are_decoded():
    assert validate_tool_arguments('{"a": 1}', {"properties": {"a": {"type": "integer"}}}) == ValidArguments(
        {"a": 1}, ("arguments",)
    )


def test_arguments_that_are_no_object_are_an_issue():
    assert validate_tool_arguments([1], {"properties": {"a": {}}, "required": ["a"]}) == InvalidArguments(
        (ArgumentIssue("", "an object with a", "a list of 1"),)
    )


# Issues


def test_every_field_is_named_with_what_was_expected_and_what_came():
    schema = {
        "type": "object",
        "properties": {
            "item": {"type": "string"},
            "count": {"type": "integer", "minimum": 1},
            "color": {"enum": ["red", "blue"]},
            "to": {"type": "object", "properties": {"street": {"type": "string"}, "zip": {"type": "string"}}, "required": ["zip"]},
        },
        "required": ["item", "count"],
        "additionalProperties": False,
    }
    result = validate_tool_arguments({"count": "many", "colour": "red", "to": {"street": None}, "zzz": 1}, schema)
    assert isinstance(result, InvalidArguments)
    assert result.issues == (
        ArgumentIssue("count", "a whole number", 'the text "many"'),
        ArgumentIssue("colour", 'nothing of this name (did you mean "color"?)', 'the text "red"'),
        ArgumentIssue("to.street", "text", "null"),
        ArgumentIssue("to.zip", "text", "nothing"),
        ArgumentIssue("zzz", "nothing of this name (only item, count, color, to)", "1"),
        ArgumentIssue("item", "text", "nothing"),
    )
    text = format_issues(result.issues, "order")
    assert text.startswith("The arguments don't fit order, so it was not run:")
    assert all(re.search(rf"^- {re.escape(issue.path)}: expected ", text, re.MULTILINE) for issue in result.issues)


def test_the_name_suggested_is_one_that_was_not_given():
    schema = {"properties": {"color": {}, "colon": {}}}
    result = validate_tool_arguments({"color": 1, "colour": 2}, schema)
    assert isinstance(result, InvalidArguments)
    assert result.issues[0].expected == 'nothing of this name (did you mean "colon"?)'


def test_a_tool_without_arguments_takes_none():
    result = validate_tool_arguments({"a": 1}, {"type": "object", "properties": {}, "additionalProperties": False})
    assert result == InvalidArguments((ArgumentIssue("a", "nothing of this name", "1"),))


def test_unknown_arguments_are_issues_unless_the_schema_lets_them_through():
    properties = {"properties": {"a": {"type": "integer"}}}
    assert isinstance(validate_tool_arguments({"b": 1}, properties), InvalidArguments)
    assert isinstance(validate_tool_arguments({"b": 1}, {**properties, "additionalProperties": True}), ValidArguments)
    assert isinstance(validate_tool_arguments({"b": 1}, {**properties, "patternProperties": {"^b": {}}}), ValidArguments)
    assert isinstance(
        validate_tool_arguments({"a": 1, "b": 1}, {**properties, "allOf": [{"properties": {"b": {}}}]}), ValidArguments
    )


@pytest.mark.parametrize(
    ("schema", "value", "expected"),
    [
        ({"maximum": 3}, 5, "a number of at most 3"),
        ({"exclusiveMinimum": 5}, 5, "a number above 5"),
        ({"exclusiveMaximum": 5}, 5, "a number below 5"),
        ({"multipleOf": 2}, 5, "a multiple of 2"),
        ({"multipleOf": 0.1}, 0.35, "a multiple of 0.1"),
        ({"multipleOf": 0.5}, 10**400, "a multiple of 0.5"),
        ({"multipleOf": 1e-300}, 1e300, "a multiple of 1e-300"),
        ({"minLength": 2}, "a", "text of at least 2 characters"),
        ({"maxLength": 2}, "abc", "text of at most 2 characters"),
        ({"pattern": "^a"}, "b", "text that matches ^a"),
        ({"minItems": 2}, [1], "a list of at least 2"),
        ({"maxItems": 0}, [1], "a list of at most 0"),
        ({"uniqueItems": True}, [1, 1.0], "a list without repeats"),
        ({"minProperties": 1}, {}, "an object with at least 1 fields"),
        ({"maxProperties": 0}, {"a": 1}, "an object with at most 0 fields"),
        ({"not": {"type": "integer"}}, 5, "anything but a whole number"),
        ({"const": "a"}, "b", '"a"'),
        ({"const": 5, "minimum": 10}, 5, "a number of at least 10"),
        ({"enum": ["a", None, True, False, 2]}, "b", 'one of "a", null, true, false, 2'),
        ({"type": ["integer", "null"]}, "b", "a whole number or null"),
        ({"type": "array", "items": {"type": "integer"}}, 5, "a list of whole numbers"),
        ({"type": "array", "items": {"type": []}}, 5, "a list"),
        ({"type": "object", "properties": {"a": {}}, "required": ["a"]}, 5, "an object with a"),
        ({"anyOf": [{"type": "integer"}, {"type": "object", "required": ["a"]}]}, "b", "a whole number or an object"),
        ({"oneOf": [{"type": "integer"}, {"type": "number"}]}, 5, "only one of a whole number or a number"),
        ({"anyOf": [{"$ref": "#/x"}, {"properties": {}, "type": "integer"}], "not": {}}, 5, "anything but any value"),
        (False, 1, "nothing here"),
    ],
)
def test_what_was_expected_is_said_in_words(schema: Any, value: Any, expected: str):
    assert [issue.expected for issue in refused(schema, value)] == [expected]


def test_what_a_missing_field_should_be_is_said_whatever_its_schema():
    wanted = {
        "a": True,
        "b": {"$ref": "#/$defs/b"},
        "c": {"anyOf": "broken"},
        "d": {"type": 5},
        "e": {"type": "strange"},
        "f": {"properties": {}},
        "g": {},
        "h": {"anyOf": [{"anyOf": [{"anyOf": [{"anyOf": [{"anyOf": [{"type": "null"}]}]}]}]}]},
    }
    result = validate_tool_arguments({}, {"properties": wanted, "required": list(wanted)})
    assert isinstance(result, InvalidArguments)
    assert [issue.expected for issue in result.issues] == [
        "any value",
        "an object",
        "any value",
        "any value",
        "any value",
        "an object",
        "any value",
        "any value",
    ]


def test_an_item_is_named_by_its_place():
    assert [issue.path for issue in refused({"type": "array", "items": {"type": "integer"}}, [1, "b", 3, "d"])] == ["x[1]", "x[3]"]


def test_a_false_schema_in_a_list_expects_nothing():
    assert refused({"prefixItems": [{}], "items": False}, [1, 2]) == (ArgumentIssue("x[1]", "nothing here", "2"),)


def test_a_union_with_one_branch_that_took_the_value_for_what_it_is_names_what_is_wrong_inside():
    address = {"type": "object", "properties": {"zip": {"type": "string"}}, "required": ["zip"]}
    assert refused({"anyOf": [address, {"type": "null"}]}, {"zip": None}) == (ArgumentIssue("x.zip", "text", "null"),)


def test_null_where_a_union_has_no_null_is_an_issue():
    assert refused({"anyOf": [{"type": "integer"}, {"type": "boolean"}]}, None) == (
        ArgumentIssue("x", "a whole number or true or false", "null"),
    )


def test_what_several_patterns_ask_of_a_field_is_all_asked():
    schema = {"patternProperties": {"^a": {"type": "integer"}, "b$": {"minimum": 5}}, "required": ["c"]}
    assert refused(schema, {"ab": "1"}) == (
        ArgumentIssue("x.ab", "a number of at least 5", "1"),
        ArgumentIssue("x.c", "any value", "nothing"),
    )


def test_the_same_issue_is_named_once():
    assert len(refused({"allOf": [{"type": "integer"}, {"type": "integer"}]}, "b")) == 1


def test_very_many_issues_are_counted():
    result = of({"type": "array", "items": {"type": "integer"}}, ["b"] * 250)
    assert isinstance(result, InvalidArguments)
    text = format_issues(result.issues, "add")
    assert "- and 150 more like these" in text
    assert text.count("\n- ") == 101


def test_the_whole_of_the_arguments_is_called_arguments():
    assert "- arguments: expected" in format_issues([ArgumentIssue("", "an object", "null")], "add")


# References


def test_references_are_followed():
    schema = {
        "type": "object",
        "properties": {
            "a": {"$ref": "#/$defs/n~1m~0"},
            "b": {"$ref": "#/definitions/old"},
            "c": {"$ref": "#/properties/list/0"},
            "d": {"$ref": "#/$defs/with%20space"},
            "list": {"$ref": "#/lists/1"},
            "e": {"$ref": "#/lists/9"},
        },
        "$defs": {"n/m~": {"type": "integer"}, "with space": {"type": "boolean"}},
        "definitions": {"old": {"type": "string"}},
        "lists": [{"type": "integer"}, {"type": "integer"}],
    }
    assert isinstance(validate_tool_arguments({"a": 1, "b": "x", "d": True, "list": 1, "e": "?", "c": 5}, schema), ValidArguments)
    result = validate_tool_arguments({"a": "x", "b": None, "d": 1, "list": "x"}, schema)
    assert isinstance(result, InvalidArguments)
    assert [issue.path for issue in result.issues] == ["a", "b", "d", "list"]


TREE = {
    "type": "object",
    "properties": {"tree": {"$ref": "#/$defs/node"}},
    "$defs": {
        "node": {
            "type": "object",
            "properties": {"value": {"type": "integer"}, "kids": {"type": "array", "items": {"$ref": "#/$defs/node"}}},
            "required": ["value"],
            "additionalProperties": False,
        }
    },
}


def test_a_recursive_schema_is_checked_all_the_way_down():
    good = {"value": 1, "kids": [{"value": 2, "kids": [{"value": "3"}]}]}
    assert validate_tool_arguments({"tree": good}, TREE) == ValidArguments(
        {"tree": {"value": 1, "kids": [{"value": 2, "kids": [{"value": 3}]}]}}, ("tree.kids[0].kids[0].value",)
    )
    bad = {"value": 1, "kids": [{"value": 2, "kids": [{}]}]}
    assert validate_tool_arguments({"tree": bad}, TREE) == InvalidArguments(
        (ArgumentIssue("tree.kids[0].kids[0].value", "a whole number", "nothing"),)
    )


def test_references_that_lead_round_in_a_circle_refuse_instead_of_hanging():
    validator = Validator({"properties": {"a": {"$ref": "#/$defs/b"}}, "$defs": {"b": {"$ref": "#/$defs/b"}}})
    assert isinstance(validator.check({"a": 1}), InvalidArguments)
    assert not validator.accepts({"a": 1})


def test_arguments_nested_too_deeply_are_refused():
    deep: dict[str, Any] = {"value": 1}
    for _ in range(5000):
        deep = {"value": 1, "kids": [deep]}
    assert validate_tool_arguments({"tree": deep}, TREE) == InvalidArguments(
        (ArgumentIssue("", "arguments that are nested less deeply", "too many levels"),)
    )


def test_a_schema_nested_too_deeply_can_not_be_a_tools():
    deep: dict[str, Any] = {}
    for _ in range(5000):
        deep = {"items": deep}
    with pytest.raises(BadTool, match="nested too deeply"):
        Validator({"properties": {"a": deep}})


# Whatever comes


JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text(st.characters())
    | st.sampled_from(["5", "null", "[1]", "{}"]),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.sampled_from("abx") | st.text(max_size=3), inner, max_size=4),
    max_leaves=12,
)

KEYWORDS = [
    "type", "properties", "required", "additionalProperties", "patternProperties", "items", "prefixItems", "enum", "const", "anyOf",
    "oneOf", "allOf", "not", "$ref", "minimum", "maximum", "exclusiveMinimum", "multipleOf", "minLength", "maxLength", "pattern",
    "minItems", "uniqueItems", "minProperties", "nullable",
]  # fmt: skip
NONSENSE = st.recursive(
    JSON | st.sampled_from(["integer", "string", "array", "object", "#", "#/properties/a"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from([*KEYWORDS, "a", "b"]), inner, max_size=5),
    max_leaves=15,
)


@given(JSON, st.dictionaries(st.sampled_from(KEYWORDS), NONSENSE, max_size=6))
@examples(150)
def test_any_value_against_any_schema_gets_a_verdict(value: Any, schema: dict[str, Any]):
    validator = Validator(schema)
    result = validator.check(value)
    if isinstance(result, ValidArguments):
        assert validator.accepts(result.arguments)
    else:
        assert result.issues
        assert format_issues(result.issues, "tool")


def bounded_integers() -> st.SearchStrategy[tuple[dict[str, Any], st.SearchStrategy[Any]]]:
    ends = st.tuples(st.integers(-50, 50), st.integers(0, 50))
    return ends.map(lambda each: ({"type": "integer", "minimum": each[0], "maximum": sum(each)}, st.integers(each[0], sum(each))))


LEAVES: st.SearchStrategy[tuple[dict[str, Any], st.SearchStrategy[Any]]] = st.one_of(
    bounded_integers(),
    st.just(({"type": "string", "maxLength": 5}, st.text(max_size=5))),
    st.just(({"type": "number"}, st.floats(allow_nan=False, allow_infinity=False) | st.integers())),
    st.just(({"type": "boolean"}, st.booleans())),
    st.just(({"type": "null"}, st.none())),
    st.just(({"enum": ["a", 1, True, None]}, st.sampled_from(["a", 1, True, None]))),
    st.just(({}, JSON)),
)

Pair = tuple[dict[str, Any], st.SearchStrategy[Any]]


def lists(pair: Pair) -> Pair:
    return {"type": "array", "items": pair[0], "maxItems": 3}, st.lists(pair[1], max_size=3)


def rows(pairs: list[Pair]) -> Pair:
    schema = {"type": "array", "prefixItems": [schema for schema, _ in pairs], "items": False}
    return schema, st.tuples(*[values for _, values in pairs]).map(list)


def unions(pairs: list[Pair]) -> Pair:
    return {"anyOf": [schema for schema, _ in pairs]}, st.one_of([values for _, values in pairs])


def objects(pairs: dict[str, tuple[Pair, bool]]) -> Pair:
    schema = {
        "type": "object",
        "properties": {name: pair[0] for name, (pair, _) in pairs.items()},
        "required": [name for name, (_, required) in pairs.items() if required],
        "additionalProperties": False,
    }
    required = {name: pair[1] for name, (pair, needed) in pairs.items() if needed}
    optional = {name: pair[1] for name, (pair, needed) in pairs.items() if not needed}
    return schema, st.fixed_dictionaries(required, optional=optional)


def grown(inner: st.SearchStrategy[Pair]) -> st.SearchStrategy[Pair]:
    return st.one_of(
        inner.map(lists),
        st.lists(inner, min_size=1, max_size=3).map(rows),
        st.lists(inner, min_size=1, max_size=3).map(unions),
        st.dictionaries(st.text(max_size=4), st.tuples(inner, st.booleans()), max_size=3).map(objects),
    )


@given(
    st.data(), st.dictionaries(st.text(max_size=4), st.tuples(st.recursive(LEAVES, grown, max_leaves=6), st.booleans()), max_size=4)
)
@examples(100)
def test_what_was_made_by_a_schema_fits_it_untouched(data: st.DataObject, pairs: dict[str, tuple[Pair, bool]]):
    schema, values = objects(pairs)
    arguments = data.draw(values)
    result = validate_tool_arguments(arguments, schema)
    assert isinstance(result, ValidArguments)
    assert result.arguments is arguments


def test_references_that_branch_again_and_again_are_given_up():
    parts = {f"a{at}": {"anyOf": [{"$ref": f"#/$defs/a{at + 1}"}] * 2} for at in range(40)}
    schema = {"properties": {"x": {"$ref": "#/$defs/a0"}}, "$defs": {**parts, "a40": {"type": "integer"}}}
    validator = Validator(schema)
    assert validator.check({"x": "no"}) == InvalidArguments(
        (ArgumentIssue("", "arguments that take less to check", "too many branches of the schema"),)
    )
    assert validator.accepts({"x": 1})
