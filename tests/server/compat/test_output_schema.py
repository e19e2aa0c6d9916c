"""Schemas that an answer is to fit: which make sense, and what is said of the others."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from jsonschema import Draft202012Validator, SchemaError

from treadle.server.compat.errors import CompatError
from treadle.server.compat.output_schema import check_output_schema

DEEP = {"type": "object"}
for _ in range(3000):
    DEEP = {"properties": {"a": DEEP}}


@pytest.mark.parametrize(
    ("schema", "words"),
    [
        ({"type": "banana"}, "type can't be 'banana'"),
        ({"type": []}, "type can't be a list like this"),
        ({"type": ["string", 3]}, "type can't be a list like this"),
        ({"type": "object", "properties": 5}, "properties can't be 5"),
        ({"type": "object", "properties": {"a": 3}}, "properties.a has to be a schema"),
        ({"type": "object", "properties": {"a": {"type": "strin"}}}, "properties.a.type can't be 'strin'"),
        ({"required": "a"}, "required can't be 'a'"),
        ({"required": ["a", 1]}, "required can't be a list like this"),
        ({"enum": []}, "enum can't be a list like this"),
        ({"anyOf": {}}, "anyOf can't be an object"),
        ({"anyOf": [{}, {"type": 1}]}, "anyOf[1].type can't be 1"),
        ({"items": {"minLength": -1}}, "items.minLength can't be -1"),
        ({"maxItems": True}, "maxItems can't be True"),
        ({"minimum": "x" * 100}, f"minimum can't be '{'x' * 39}…"),
        ({"pattern": 3}, "pattern can't be 3"),
        ({"additionalProperties": 3}, "additionalProperties has to be a schema"),
        ({"$ref": "#"}, "$ref leads nowhere: '#'"),
        ({"$ref": 3}, "$ref leads nowhere: 3"),
        ({"properties": {"a": {"$ref": "#/$defs/x"}}}, "properties.a.$ref leads nowhere: '#/$defs/x'"),
        ({"prefixItems": [{}], "items": {"$ref": "#/prefixItems/1"}}, "items.$ref leads nowhere: '#/prefixItems/1'"),
        ({"$defs": {"x": {"$ref": "#/$defs/y"}, "y": {"$ref": "#/$defs/x"}}}, "$defs.y.$ref leads nowhere: '#/$defs/x'"),
    ],
)
def test_what_makes_no_sense_is_said_with_its_place(schema, words):
    with pytest.raises(CompatError) as refused:
        check_output_schema(schema, "here")
    assert (refused.value.status, refused.value.words, refused.value.param) == (
        400,
        f"This schema makes no sense: {words}.",
        "here",
    )


def test_a_schema_that_is_nested_too_deeply_is_refused_too():
    with pytest.raises(CompatError, match="nested too deeply"):
        check_output_schema(DEEP, "here")


@pytest.mark.parametrize(
    "schema",
    [
        {},
        {"type": ["string", "null"], "pattern": "^\\p{L}+$"},
        {"type": "object", "properties": {"next": {"$ref": "#"}}, "required": [], "additionalProperties": False},
        {"$ref": "#/$defs/a~1b", "$defs": {"a/b": {"type": "string"}}},
        {"prefixItems": [{}], "items": {"$ref": "#/prefixItems/0"}},
        {"items": {"$ref": "https://example.org/schema"}, "then": True, "unknown": 3},
        {"minimum": 1.5, "multipleOf": 2, "minItems": 0, "enum": [1]},
    ],
)
def test_what_makes_sense_is_taken_as_it_is(schema):
    assert check_output_schema(schema, "here") is schema


NAMES = st.sampled_from(["type", "properties", "required", "enum", "anyOf", "items", "$ref", "$defs", "minimum", "minLength", "a"])
JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-2, 2) | st.sampled_from(["string", "object", "#", "#/$defs/a", "x"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(NAMES, inner, max_size=4),
    max_leaves=12,
)


@given(st.dictionaries(NAMES, JSON, max_size=5))
def test_whatever_it_is_it_is_taken_or_there_is_a_sentence_and_what_the_standard_takes_is_taken(schema):
    words = refused(schema)
    assert words == "" or words.startswith("This schema makes no sense: ")
    if words and "leads nowhere" not in words and "enum" not in words:
        with pytest.raises(SchemaError):
            Draft202012Validator.check_schema(schema)


def refused(schema):
    try:
        check_output_schema(schema, "here")
    except CompatError as error:
        return error.words
    return ""
