"""Which schemas strict mode takes, how others are written for it, and which it can't have without a change of meaning."""

from enum import Enum
from typing import Annotated, Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st
from jsonschema import Draft202012Validator
from pydantic import BaseModel, Field

from treadle.models.schemas import MAX_CHARACTERS, MAX_LEVELS, MAX_PROPERTIES, MAX_VALUES, to_answer_schema, to_strict_schema

TEXT = {"type": "string"}


def of(required=None, /, **properties):
    names = list(properties) if required is None else required
    return {"type": "object", "properties": properties, "required": names}


def closed(**properties):
    return {**of(**properties), "additionalProperties": False}


def strict_property(schema, **definitions):
    """How a schema is written as a property; None where it can't be."""
    strict = to_strict_schema({**of(x=schema), **definitions})
    return strict and strict["properties"]["x"]


# What it takes as it is


@pytest.mark.parametrize(
    "schema",
    [
        {"type": "string", "description": "A name.", "title": "Name"},
        {"type": "string", "pattern": "^a", "format": "date-time"},
        {"type": ["string", "null"], "enum": ["a", None]},
        {"type": "integer", "minimum": 1, "maximum": 5, "multipleOf": 2},
        {"type": "number", "exclusiveMinimum": 0, "exclusiveMaximum": 1},
        {"type": "boolean"},
        {"type": "null"},
        {"type": "string", "const": "a"},
        {"type": "array", "items": TEXT, "minItems": 1, "maxItems": 3},
        {"anyOf": [TEXT, {"type": "null"}], "description": "Perhaps."},
        {"$ref": "#"},
        closed(y=TEXT),
        {**closed(y=TEXT), "type": ["object", "null"]},
        {"type": "object", "properties": {}, "required": [], "additionalProperties": False},
    ],
)
def test_what_is_in_the_subset_stays_as_it_is(schema):
    assert strict_property(schema) == schema


def test_definitions_stay_where_they_are():
    schema = {
        **closed(x={"$ref": "#/$defs/Node"}),
        "$defs": {"Node": closed(next={"anyOf": [{"$ref": "#/$defs/Node"}, {"type": "null"}]})},
    }
    assert to_strict_schema(schema) == schema
    older = {**closed(x={"$ref": "#/definitions/Text"}), "definitions": {"Text": TEXT}}
    assert to_strict_schema(older) == older


def test_a_schema_is_not_changed_by_asking():
    schema = {**of(x={"type": "string", "default": "a"}), "$defs": {"A": of(y=TEXT)}}
    before = repr(schema)
    to_strict_schema(schema)
    assert repr(schema) == before


# What is written otherwise


@pytest.mark.parametrize(
    ("schema", "written"),
    [
        (of(y=TEXT), closed(y=TEXT)),
        (of(["b", "a"], a=TEXT, b=TEXT), closed(a=TEXT, b=TEXT)),
        ({"type": "array", "items": of(y=TEXT)}, {"type": "array", "items": closed(y=TEXT)}),
        ({"type": "string", "default": "a", "examples": ["b"], "$comment": "?", "deprecated": True}, TEXT),
        ({"enum": ["a", "b"]}, {"type": "string", "enum": ["a", "b"]}),
        ({"enum": ["a", 1, None, True]}, {"type": ["string", "integer", "null", "boolean"], "enum": ["a", 1, None, True]}),
        ({"const": 1.5}, {"type": "number", "const": 1.5}),
        ({"allOf": [TEXT], "description": "A name."}, {"anyOf": [TEXT], "description": "A name."}),
        ({"$ref": "#", "description": "Again."}, {"anyOf": [{"$ref": "#"}], "description": "Again."}),
        ({"$ref": "#", "default": None}, {"$ref": "#"}),
        ({"oneOf": [TEXT, {"type": "integer"}]}, {"anyOf": [TEXT, {"type": "integer"}]}),
    ],
)
def test_what_means_the_same_is_written_for_the_subset(schema, written):
    assert strict_property(schema) == written


def test_properties_may_be_called_like_keywords():
    schema = closed(default=TEXT, allOf=TEXT, examples=TEXT)
    assert to_strict_schema(schema) == schema


# What would mean something else


@pytest.mark.parametrize(
    "schema",
    [
        of(["a"], a=TEXT, b=TEXT),  # an optional property
        of(["a", "b"], a=TEXT),
        {**of(a=TEXT), "additionalProperties": True},
        {**of(a=TEXT), "additionalProperties": TEXT},
        {"type": "object"},
        {"type": "object", "properties": {}},
        {"type": "object", "additionalProperties": TEXT},
        {"type": "array"},
        {"type": "array", "items": True},
        {"type": "array", "items": [TEXT]},
        {"type": "array", "prefixItems": [TEXT], "items": TEXT},
        {"type": "array", "items": TEXT, "uniqueItems": True},
        {"type": "string", "minLength": 1},
        {"type": "string", "format": "uri"},
        {"type": "string", "items": TEXT},
        {"type": "integer", "pattern": "1"},
        {"type": "file"},
        {},
        True,
        {"description": "Anything."},
        {"enum": [["a"]]},
        {"enum": "a"},
        {"not": TEXT},
        {"allOf": [TEXT, {"pattern": "^a"}]},
        {"anyOf": [TEXT, {}]},
        {"anyOf": [TEXT], "type": "string"},
        {"anyOf": [TEXT], "allOf": [TEXT]},
        {"oneOf": [TEXT, {"type": "string", "pattern": "^a"}]},
        {"oneOf": [{"type": "integer"}, {"type": "number"}]},
        {"oneOf": [{"enum": ["a"]}, TEXT]},
        {"oneOf": [{**closed(k={"const": name}), "type": ["object", "null"]} for name in "ab"]},  # null fits both
        {"oneOf": []},
        {"anyOf": []},
        {"if": TEXT, "then": TEXT},
        {"$ref": "#/$defs/Missing"},
        {"$ref": "other.json"},
        {"$ref": "#", "minLength": 1},
        {"type": "object", "properties": [], "required": [], "additionalProperties": False},
        {"type": "string", "nullable": True},
        {"type": "string", "something_newer": 1},
    ],
)
def test_what_would_change_its_meaning_is_not_written_for_it(schema):
    assert strict_property(schema) is None


@pytest.mark.parametrize("schema", [TEXT, {"anyOf": [closed(a=TEXT)]}, {"type": "array", "items": TEXT}, {"$ref": "#"}, {}])
def test_the_root_is_an_object(schema):
    assert to_strict_schema(schema) is None


def nested(levels):
    return closed(x=TEXT) if levels == 1 else closed(x=nested(levels - 1))


def values(count):
    return closed(x={"type": "integer", "enum": list(range(count))})


def properties(count):
    return closed(**{f"p{number}": TEXT for number in range(count)})


def constant(length):
    return closed(x={"type": "string", "const": "a" * length})


@pytest.mark.parametrize(
    ("make", "most"),
    [(nested, MAX_LEVELS), (properties, MAX_PROPERTIES), (values, MAX_VALUES), (constant, MAX_CHARACTERS - len("x"))],
)
def test_it_has_limits(make, most):
    assert to_strict_schema(make(most)) == make(most)
    assert to_strict_schema(make(most + 1)) is None


def test_a_schema_of_any_depth_is_no_trouble():
    deep = TEXT
    for _ in range(100_000):
        deep = {"anyOf": [deep]}
    assert strict_property(deep) is None


KEYWORDS = st.sampled_from(
    [
        "type",
        "enum",
        "const",
        "properties",
        "required",
        "additionalProperties",
        "items",
        "anyOf",
        "oneOf",
        "allOf",
        "$ref",
        "$defs",
        "format",
    ]
)
LEAVES = st.sampled_from(["object", "string", "array", "#", "#/$defs/a", "a", 1, True, False, None])
ANYTHING = st.recursive(
    LEAVES, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYWORDS | st.just("a"), inner, max_size=4)
)


@given(ANYTHING, st.dictionaries(st.just("a"), ANYTHING))
def test_nothing_that_is_called_a_schema_is_any_trouble(schema, definitions):
    strict = to_strict_schema({**of(a=schema), "$defs": definitions})
    if strict is not None:
        assert to_strict_schema(strict) == strict


# Schemas of real models


class Colour(Enum):
    RED = "red"
    BLUE = "blue"


class Cat(BaseModel):
    kind: Literal["cat"]
    lives: int


class Dog(BaseModel):
    kind: Literal["dog"]
    colour: Colour = Field(description="Of its coat.")


class Owner(BaseModel):
    name: str | None
    pets: list[Annotated[Cat | Dog, Field(discriminator="kind")]]
    friends: list["Owner"]


class Household(BaseModel):
    owner: Owner


class Loose(BaseModel):
    name: str = "nobody"


class Twice(BaseModel):
    either: Annotated[Cat | Dog, Field(discriminator="kind")]
    count: int


GOOD = {"name": None, "pets": [{"kind": "cat", "lives": 9}, {"kind": "dog", "colour": "red"}], "friends": []}


def test_a_model_without_optional_fields_can_be_strict():
    strict = to_strict_schema(Household.model_json_schema())
    assert strict is not None
    assert strict["additionalProperties"] is False
    assert "oneOf" not in repr(strict)
    for value, fine in (
        (GOOD, True),
        ({**GOOD, "friends": [GOOD]}, True),
        ({**GOOD, "more": 1}, False),
        ({**GOOD, "pets": [{"kind": "cat", "colour": "red"}]}, False),
        ({**GOOD, "friends": [{**GOOD, "name": 1}]}, False),
    ):
        assert Draft202012Validator(strict).is_valid({"owner": value}) is fine


def test_it_asks_for_what_the_client_of_openai_asks_for():
    from openai.lib._pydantic import to_strict_json_schema  # which takes long to import

    ours, theirs = to_strict_schema(Cat.model_json_schema()), to_strict_json_schema(Cat)
    assert ours == theirs


def test_a_model_with_an_optional_field_cannot():
    assert to_strict_schema(Loose.model_json_schema()) is None


def test_a_choice_by_a_shared_constant_is_a_choice():
    schema = Twice.model_json_schema()
    assert "oneOf" in schema["properties"]["either"]
    assert to_strict_schema(schema) is not None
    schema["$defs"]["Dog"]["properties"]["kind"]["const"] = "cat"  # now both might fit
    assert to_strict_schema(schema) is None
    schema["$defs"]["Dog"]["properties"]["kind"] = {"type": "string"}
    assert to_strict_schema(schema) is None


# Schemas of answers


class Item(BaseModel):
    label: str = Field(max_length=3, description="Short.")
    weight: float = Field(1.0, ge=0)
    tags: list[str] = Field(default_factory=list, max_length=5)
    home: str = Field("", json_schema_extra={"format": "iri"})


def test_all_properties_of_an_answer_are_required_and_constraints_are_told():
    shape = to_answer_schema(Item.model_json_schema())
    assert shape is not None
    assert (shape["required"], shape["additionalProperties"]) == (["label", "weight", "tags", "home"], False)
    properties = shape["properties"]
    assert properties["label"] == {"description": "Short. (maxLength: 3)", "title": "Label", "type": "string"}
    assert properties["weight"] == {"description": "minimum: 0", "title": "Weight", "type": "number"}
    assert properties["tags"]["description"] == "maxItems: 5"
    assert properties["home"]["description"] == 'format: "iri"'


def test_what_fits_the_schema_of_an_answer_fits_the_schema_but_for_constraints():
    shape = to_answer_schema(Item.model_json_schema())
    full = {"label": "abc", "weight": 2, "tags": [], "home": ""}
    assert Draft202012Validator(shape).is_valid(full)
    assert Draft202012Validator(Item.model_json_schema()).is_valid(full)
    assert to_strict_schema(shape) == shape  # so that OpenAI's strict mode takes it too


@pytest.mark.parametrize(
    "schema",
    [
        {"type": "object"},
        {"type": "object", "properties": {}},
        {"type": "object", "additionalProperties": {"type": "integer"}},
        {"type": "object", "properties": {"a": {"type": "object", "additionalProperties": {"type": "string"}}}},
        {"type": "object", "properties": {"a": {"$ref": "#"}}},
        {
            "type": "object",
            "properties": {"a": {"$ref": "#/$defs/A"}},
            "$defs": {"A": {"type": "array", "items": {"$ref": "#/$defs/A"}}},
        },
        {"type": "object", "properties": {"a": {"$ref": "#/$defs/B"}}, "$defs": {}},
        {"type": "object", "properties": {"a": {}}},
        {"type": "string"},
    ],
)
def test_an_answer_that_servers_cannot_be_held_to_has_no_such_schema(schema):
    assert to_answer_schema(schema) is None


def test_a_choice_need_not_be_exclusive_in_an_answer():
    one = {"type": "object", "properties": {"a": {"type": "string"}}, "required": ["a"]}
    two = {"type": "object", "properties": {"b": {"type": "string"}}}
    shape = to_answer_schema({"type": "object", "properties": {"value": {"oneOf": [one, two]}}})
    assert shape is not None
    assert len(shape["properties"]["value"]["anyOf"]) == 2
