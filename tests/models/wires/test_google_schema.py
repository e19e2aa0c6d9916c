"""Schemas as Gemini takes them: whatever goes in, what comes out keeps to the rules by which Google refuses requests."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from treadle.models.wires.google_schema import MAX_NODES, to_gemini_parameters, to_gemini_schema

STRING, INTEGER = {"type": "STRING"}, {"type": "INTEGER"}
ANYTHING = {"anyOf": [{"type": "STRING"}, {"type": "NUMBER"}, {"type": "BOOLEAN"}, {"type": "OBJECT"}]}
FIELDS = {
    "STRING": {"enum", "format", "minLength", "maxLength", "pattern"},
    "INTEGER": {"format", "minimum", "maximum"},
    "NUMBER": {"format", "minimum", "maximum"},
    "BOOLEAN": set(),
    "ARRAY": {"items", "minItems", "maxItems"},
    "OBJECT": {"properties", "required"},
}
FORMATS = {"date-time", "int32", "int64", "float", "double"}


def obeys(schema):
    """What Google's servers check: they refuse a request with one schema that doesn't keep to it."""
    if "anyOf" in schema:
        assert schema.keys() == {"anyOf"}
        assert len(schema["anyOf"]) > 1
        for branch in schema["anyOf"]:
            assert "anyOf" not in branch
            obeys(branch)
        return
    assert schema.keys() - {"type", "description", "nullable"} <= FIELDS[schema["type"]]
    assert all(value and isinstance(value, str) for value in schema.get("enum", ["x"]))
    assert schema.get("enum") != []
    assert schema.get("format", "int32") in FORMATS
    assert set(schema.get("required", ())) <= schema.get("properties", {}).keys()
    assert ("items" in schema) == (schema["type"] == "ARRAY")
    for inner in [*schema.get("properties", {}).values(), *([schema["items"]] if "items" in schema else [])]:
        obeys(inner)


@pytest.mark.parametrize(
    ("schema", "converted"),
    [
        ({"type": "string", "title": "T", "default": "x", "$comment": "c", "examples": ["x"]}, STRING),
        ({"type": ["string", "null"]}, {"type": "STRING", "nullable": True}),
        ({"type": "string", "nullable": True}, {"type": "STRING", "nullable": True}),
        ({"type": "null"}, {"type": "STRING", "nullable": True}),
        ({"type": ["integer", "string"], "description": "d"}, {"anyOf": [{"type": "INTEGER", "description": "d"}, STRING]}),
        ({"type": "string", "format": "date-time"}, {"type": "STRING", "format": "date-time"}),
        ({"type": "string", "format": "uri", "description": "Where."}, {"type": "STRING", "description": "Where. Format: uri."}),
        ({"type": "integer", "format": "int32"}, {"type": "INTEGER", "format": "int32"}),
        ({"type": "string", "minLength": 1, "pattern": "^a+$"}, {"type": "STRING", "minLength": 1, "pattern": "^a+$"}),
        ({"type": "string", "pattern": "^(?!x)"}, STRING),
        ({"type": "integer", "exclusiveMinimum": 0, "maximum": 9, "multipleOf": 3}, {"type": "INTEGER", "maximum": 9}),
        ({"const": "a"}, {"type": "STRING", "enum": ["a"]}),
        ({"enum": ["a", "b", "a"]}, {"type": "STRING", "enum": ["a", "b"]}),
        ({"enum": ["a", None]}, {"type": "STRING", "enum": ["a"], "nullable": True}),
        ({"enum": ["", "a"]}, {"type": "STRING", "description": 'One of: "", "a".'}),
        ({"type": "integer", "enum": [1, 2]}, {"type": "INTEGER", "description": "One of: 1, 2."}),
        ({"enum": [1, 2.5]}, {"type": "NUMBER", "description": "One of: 1, 2.5."}),
        ({"enum": [True]}, {"type": "BOOLEAN", "description": "One of: true."}),
        ({"enum": [["a"]]}, {"type": "ARRAY", "items": ANYTHING, "description": 'One of: ["a"].'}),
        ({"const": {}}, {"type": "OBJECT", "description": "One of: {}."}),
        ({"enum": ["a", 1]}, {"anyOf": [{"type": "STRING", "enum": ["a"]}, {"type": "INTEGER", "description": "One of: 1."}]}),
        ({"const": None}, {"type": "STRING", "nullable": True}),
        ({"enum": []}, ANYTHING),
        ({}, ANYTHING),
        ({"type": "tuple"}, ANYTHING),
        ({"minimum": 1}, {"type": "NUMBER", "minimum": 1}),
        ({"type": "array"}, {"type": "ARRAY", "items": ANYTHING}),
        ({"items": {"type": "string"}, "maxItems": 3}, {"type": "ARRAY", "items": STRING, "maxItems": 3}),
        ({"prefixItems": [{"type": "string"}, {"type": "integer"}]}, {"type": "ARRAY", "items": {"anyOf": [STRING, INTEGER]}}),
        ({"type": "array", "items": [{"type": "string"}, {"type": "string"}]}, {"type": "ARRAY", "items": STRING}),
        ({"type": "object", "additionalProperties": {"type": "string"}, "patternProperties": {}}, {"type": "OBJECT"}),
        ({"additionalProperties": False}, {"type": "OBJECT"}),
    ],
)
def test_a_schema_becomes(schema, converted):
    assert to_gemini_schema(schema) == converted


@pytest.mark.parametrize("keyword", ["anyOf", "oneOf"])
def test_alternatives(keyword):
    text, number, null = {"type": "string"}, {"type": "integer"}, {"type": "null"}
    assert to_gemini_schema({keyword: [text, number]}) == {"anyOf": [STRING, INTEGER]}
    assert to_gemini_schema({keyword: [text, null], "description": "d", "default": None}) == {
        "type": "STRING",
        "nullable": True,
        "description": "d",
    }
    assert to_gemini_schema({keyword: [text, number, null], "description": "d"}) == {
        "anyOf": [{"type": "STRING", "description": "d", "nullable": True}, {"type": "INTEGER", "nullable": True}]
    }
    assert to_gemini_schema({keyword: [{"const": "a"}, {"enum": ["b"]}, null]}) == {
        "type": "STRING",
        "enum": ["a", "b"],
        "nullable": True,
    }
    assert to_gemini_schema({keyword: [text, {keyword: [number, {"type": "boolean"}]}]}) == {
        "anyOf": [STRING, INTEGER, {"type": "BOOLEAN"}]
    }
    assert to_gemini_schema({keyword: [null]}) == {"type": "STRING", "nullable": True}


def test_alternatives_of_an_object_become_one_object():
    schema = {
        "type": "object",
        "properties": {"a": {"type": "string"}},
        "required": ["a"],
        "anyOf": [{"required": ["b"]}, {"properties": {"b": {"type": "integer"}, "a": {"type": "integer"}}}],
    }
    assert to_gemini_schema(schema) == {"type": "OBJECT", "properties": {"a": STRING, "b": INTEGER}, "required": ["a"]}
    assert to_gemini_schema({"type": "string", "anyOf": [{"minLength": 1}]}) == STRING


def test_all_of_several_schemas_is_merged():
    schema = {
        "$defs": {"Base": {"properties": {"id": {"type": "integer"}}, "required": ["id"], "description": "Base."}},
        "allOf": [{"$ref": "#/$defs/Base"}, {"properties": {"name": {"type": "string"}}, "required": ["name"]}],
    }
    assert to_gemini_schema(schema) == {
        "type": "OBJECT",
        "properties": {"id": INTEGER, "name": STRING},
        "required": ["id", "name"],
        "description": "Base.",
    }


def test_names_are_required_only_where_they_are_defined():
    schema = {"type": "object", "properties": {"a": {}}, "required": ["a", "ghost", "a"]}
    assert to_gemini_schema(schema)["required"] == ["a"]
    assert "required" not in to_gemini_schema({"type": "object", "required": ["ghost"]})
    assert "properties" not in to_gemini_schema({"type": "string", "properties": {"a": {}}})


def test_references_are_inlined():
    schema = {
        "$defs": {
            "Point": {"type": "object", "properties": {"x": {"type": "integer"}}, "description": "A point."},
            "Either": {"anyOf": [{}, {"type": "string"}]},
        },
        "definitions": {"a/b": {"type": "string"}},
        "properties": {
            "from": {"$ref": "#/$defs/Point"},
            "to": {"$ref": "#/$defs/Point", "description": "Where to."},
            "name": {"$ref": "#/definitions/a~1b"},
            "inner": {"$ref": "#/$defs/Point/properties/x"},
            "listed": {"$ref": "#/$defs/Either/anyOf/1"},
            "unlisted": {"$ref": "#/$defs/Either/anyOf/2"},
            "nowhere": {"$ref": "#/$defs/Ghost"},
            "remote": {"$ref": "https://example.org/schema"},
            "anchor": {"$ref": "#anchor"},
        },
    }
    properties = to_gemini_schema(schema)["properties"]
    assert properties["from"] == {"type": "OBJECT", "properties": {"x": INTEGER}, "description": "A point."}
    assert properties["to"]["description"] == "Where to."
    assert (properties["name"], properties["listed"], properties["inner"]) == (STRING, STRING, INTEGER)
    assert properties["unlisted"] == properties["nowhere"] == properties["remote"] == properties["anchor"] == ANYTHING


def test_a_recursive_schema_ends_in_a_plain_object():
    tree = {
        "type": "object",
        "description": "A tree.",
        "properties": {"children": {"type": "array", "items": {"$ref": "#/$defs/T"}}},
    }
    inner = {"type": "OBJECT", "description": "A tree. Another T."}
    once = {"type": "OBJECT", "properties": {"children": {"type": "ARRAY", "items": inner}}, "description": "A tree."}
    twice = {"type": "OBJECT", "properties": {"children": {"type": "ARRAY", "items": once}}, "description": "A tree."}
    assert to_gemini_schema({"$defs": {"T": tree}, "$ref": "#/$defs/T"}) == twice


@pytest.mark.parametrize(
    "schema",
    [
        {"$ref": "#"},
        {"allOf": [{"$ref": "#"}]},
        {"anyOf": [{"$ref": "#"}, {"type": "string"}]},
        {"$defs": {"A": {"$ref": "#/$defs/B"}, "B": {"$ref": "#/$defs/A"}}, "$ref": "#/$defs/A"},
        {"properties": {"child": {"allOf": [{"$ref": "#"}]}}},
        {"type": "object", "oneOf": [{"$ref": "#"}]},
        {
            "$defs": {"Json": {"anyOf": [{"type": "array", "items": {"$ref": "#/$defs/Json"}}, {"type": "number"}]}},
            "$ref": "#/$defs/Json",
        },
    ],
)
def test_no_recursion_goes_on_forever(schema):
    obeys(to_gemini_schema(schema))


def test_definitions_that_all_name_each_other_stay_small_and_later_ones_are_still_described():
    names = [f"T{number}" for number in range(12)]
    everyone = {name: {"$ref": f"#/$defs/{name}"} for name in names}
    definitions = {name: {"type": "object", "properties": everyone} for name in names}
    definitions["Last"] = {"type": "object", "properties": {"x": {"type": "integer"}}}
    schema = {"$defs": definitions, "properties": {"all": {"$ref": "#/$defs/T0"}, "last": {"$ref": "#/$defs/Last"}}}
    converted = to_gemini_schema(schema)
    assert json.dumps(converted).count('"type"') < 3 * MAX_NODES
    assert converted["properties"]["last"] == {"type": "OBJECT", "properties": {"x": INTEGER}}


def test_properties_keep_their_order_where_it_matters():
    schema = {"type": "object", "properties": {"z": {"type": "string"}, "a": {"type": "string"}}}
    assert to_gemini_schema(schema, ordered=True)["propertyOrdering"] == ["z", "a"]
    assert "propertyOrdering" not in to_gemini_schema(schema)


def test_parameters_are_an_object_or_nothing():
    a = {"type": "object", "properties": {"a": {"type": "string"}, "c": {}}, "required": ["a", "c"]}
    b = {"properties": {"c": {}}, "required": ["c"]}
    assert to_gemini_parameters({"anyOf": [a, b], "description": "d"}) == {
        "type": "OBJECT",
        "properties": {"a": STRING, "c": ANYTHING},
        "required": ["c"],
        "description": "d",
    }
    for empty in ({}, {"type": "object"}, {"type": "object", "properties": {}}, {"type": "string"}):
        assert to_gemini_parameters(empty) is None


def test_the_schema_that_is_given_stays_as_it_is():
    schema = {"type": "object", "properties": {"a": {"allOf": [{"type": "string"}]}}, "anyOf": [{"properties": {"b": {}}}]}
    before = json.dumps(schema)
    to_gemini_schema(schema)
    assert json.dumps(schema) == before


TYPES = ["string", "integer", "number", "boolean", "array", "object", "null", "strange", ["string", "null"], 3]
leaves = st.fixed_dictionaries(
    {},
    optional={
        "type": st.sampled_from(TYPES),
        "description": st.text(max_size=5),
        "enum": st.lists(st.none() | st.booleans() | st.integers() | st.text(max_size=3), max_size=3),
        "const": st.none() | st.integers() | st.text(max_size=3),
        "format": st.sampled_from(["uri", "date-time", "int32"]),
        "pattern": st.sampled_from(["a", "(?=b)"]),
        "minimum": st.integers() | st.text(max_size=2),
        "required": st.lists(st.sampled_from("ab"), max_size=2) | st.just(True),
        "nullable": st.booleans(),
        "$ref": st.sampled_from(["#", "#/$defs/A", "#/$defs/B", "#/properties/a", "elsewhere"]),
    },
)
schemas = st.recursive(
    leaves | st.booleans(),
    lambda inner: st.fixed_dictionaries(
        {},
        optional={
            "type": st.sampled_from(["array", "object", ["array", "object"]]),
            "properties": st.dictionaries(st.sampled_from("ab"), inner) | st.booleans(),
            "items": inner | st.lists(inner, max_size=2),
            "prefixItems": st.lists(inner, max_size=2),
            "anyOf": st.lists(inner, max_size=3),
            "oneOf": st.lists(inner, max_size=2),
            "allOf": st.lists(inner, max_size=2),
            "additionalProperties": inner,
            "description": st.text(max_size=5),
        },
    ),
    max_leaves=12,
)


@given(schemas, schemas, schemas)
def test_whatever_goes_in_what_comes_out_keeps_to_the_rules(schema, a, b):
    root = {**(schema if isinstance(schema, dict) else {}), "$defs": {"A": a, "B": b}}
    obeys(to_gemini_schema(root))
    parameters = to_gemini_parameters(root)
    if parameters is not None:
        assert parameters["type"] == "OBJECT"
        obeys(parameters)


@given(schemas)
def test_googles_types_take_what_comes_out(schema):
    types = pytest.importorskip("google.genai.types", reason="google-genai isn't installed")
    root = schema if isinstance(schema, dict) else {}
    types.Schema.model_validate_json(json.dumps(to_gemini_schema(root, ordered=True)))
