"""Schemas of tools for servers with native calls: what each server refuses is gone, and what they all take stays as it was."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

import wire
from properties import examples
from treadle.core.requests import Shorthand, ToolSpec
from treadle.models.tool_schemas import to_tool_fields, to_tool_parameters
from wire import WireServer, ask, request

TEXT = {"type": "string"}
NUMBER = {"type": "integer"}


def of(**properties):
    return {"type": "object", "properties": properties}


@pytest.mark.parametrize(
    "schema",
    [
        of(a=TEXT) | {"required": ["a"], "additionalProperties": False},
        of(a={"type": ["string", "null"], "default": None}, b={"const": None}, c={"enum": ["x", 1, None, True]}),
        of(n={"$ref": "#/$defs/a~1b"}) | {"$defs": {"a/b": of(kids={"type": "array", "items": {"$ref": "#/$defs/a~1b"}})}},
        of(m={"type": "object", "additionalProperties": NUMBER}, u={"anyOf": [TEXT, {"type": "null"}]}),
        of(t={"type": "array", "prefixItems": [TEXT, NUMBER], "items": False}, type=TEXT, properties=TEXT, required=TEXT),
    ],
)
def test_a_schema_that_every_server_takes_stays_as_it_is(schema):
    assert json.dumps(to_tool_parameters(schema)) == json.dumps(schema)


@pytest.mark.parametrize("schema", [{}, {"type": "object"}, {"type": "object", "properties": None}, {"type": "string"}])
def test_arguments_are_always_an_object_with_properties(schema):
    assert to_tool_parameters(schema) == of()


ROUTE_OR_FILE = [{"required": ["route"]}, {"required": ["file"]}]


@pytest.mark.parametrize(
    ("schema", "merged"),
    [
        (
            of(route=TEXT, file=TEXT) | {"anyOf": ROUTE_OR_FILE},
            of(route=TEXT, file=TEXT) | {"description": "Needs route, or file."},
        ),
        (
            {
                "oneOf": [
                    of(kind={"const": "a"}, x=NUMBER) | {"required": ["kind", "x"]},
                    of(kind={"const": "b"}) | {"required": ["kind"]},
                ]
            },
            of(kind={"anyOf": [{"const": "a"}, {"const": "b"}]}, x=NUMBER) | {"required": ["kind"]},
        ),
        ({"allOf": [of(a=TEXT) | {"required": ["a"]}, of(b=TEXT)]}, of(a=TEXT, b=TEXT) | {"required": ["a"]}),
        (
            of(a=TEXT) | {"if": of(a={"const": "q"}), "then": of(b=TEXT) | {"required": ["b"]}, "else": {"required": ["a"]}},
            of(a=TEXT, b=TEXT),
        ),
        (of(a=TEXT) | {"not": {"required": ["b"]}, "description": "One."}, of(a=TEXT) | {"description": "One."}),
    ],
)
def test_alternatives_of_the_whole_become_one_object(schema, merged):
    assert to_tool_parameters(schema) == merged


def test_a_reference_of_the_whole_is_followed():
    schema = {"$ref": "#/$defs/X", "$defs": {"X": of(a=TEXT, more={"$ref": "#/$defs/X"}) | {"required": ["a"]}}}
    assert to_tool_parameters(schema) == of(**schema["$defs"]["X"]["properties"]) | {"required": ["a"], "$defs": schema["$defs"]}


def test_references_that_lead_back_end():
    assert to_tool_parameters({"$ref": "#"}) == of()
    doubled = {f"d{n}": {"anyOf": [{"$ref": f"#/$defs/d{n + 1}"}] * 2} for n in range(60)} | {"d60": of(a=TEXT)}
    assert to_tool_parameters({"$ref": "#/$defs/d0", "$defs": doubled})["properties"] == {"a": TEXT}


@pytest.mark.parametrize(
    ("inner", "valid"),
    [
        ({"type": "array"}, {"type": "array", "items": {}}),
        ({"type": "array", "items": [TEXT, NUMBER]}, {"type": "array", "prefixItems": [TEXT, NUMBER], "items": {}}),
        ({"type": "number", "minimum": 0, "exclusiveMinimum": True}, {"type": "number", "exclusiveMinimum": 0}),
        ({"type": "number", "minimum": 0, "exclusiveMinimum": False}, {"type": "number", "minimum": 0}),
        ({"type": "string", "required": True}, TEXT),
        ({"type": "any"}, {}),
        ({"type": ["string", "any"]}, {"type": ["string"]}),
        ({"enum": []}, {}),
        ({"$ref": "#/$defs/missing"}, {}),
        (True, {}),
    ],
)
def test_forms_of_older_drafts_and_of_none_are_replaced_at_any_depth(inner, valid):
    schema = {"$schema": "http://json-schema.org/draft-04/schema#", **of(a={"type": "array", "items": inner})}
    assert to_tool_parameters(schema) == of(
        a={"type": "array", "items": {} if inner is True else valid} if inner is not True else {"type": "array", "items": True}
    )


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=3), lambda inner: st.lists(inner, max_size=3), max_leaves=4
)
SCHEMAS = st.recursive(
    JSON
    | st.fixed_dictionaries(
        {}, optional={"type": JSON | st.sampled_from(["array", "object", "string"]), "required": JSON, "enum": JSON}
    ),
    lambda inner: st.dictionaries(
        st.sampled_from(["anyOf", "allOf", "oneOf", "items", "properties", "not", "then", "$ref", "$defs", "exclusiveMaximum"]),
        st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from("ab"), inner, max_size=2) | inner | st.just("#/$defs/a"),
        max_size=4,
    ),
    max_leaves=12,
)


@examples(200)
@given(
    st.dictionaries(
        st.sampled_from(["anyOf", "allOf", "oneOf", "items", "properties", "$ref", "$defs"]),
        SCHEMAS | st.lists(SCHEMAS, max_size=3),
        max_size=4,
    )
)
def test_whatever_a_tools_server_says_the_result_is_a_schema_of_an_object(schema):
    converted = to_tool_parameters(schema)
    Draft202012Validator.check_schema({"properties": converted["properties"], "type": converted["type"]})
    assert converted["type"] == "object"
    assert not converted.keys() & {"anyOf", "oneOf", "allOf", "not", "$ref"}


PLACES = {
    "openai": lambda body: body["tools"][0]["function"]["parameters"],
    "ollama": lambda body: body["tools"][0]["function"]["parameters"],
    "responses": lambda body: body["tools"][0]["parameters"],
    "anthropic": lambda body: body["tools"][0]["input_schema"],
    "bedrock": lambda body: body["toolConfig"]["tools"][0]["toolSpec"]["inputSchema"]["json"],
}


@pytest.mark.parametrize("name", PLACES)
def test_every_wire_sends_one_object(name):
    tool = ToolSpec("look", "Look.", of(route=TEXT, file=TEXT) | {"anyOf": ROUTE_OR_FILE})
    with WireServer(["fine"]) as server:
        ask(wire.model(server, name), request(tools=(tool,)))
    assert PLACES[name](server.requests[0].body) == of(route=TEXT, file=TEXT) | {"description": "Needs route, or file."}


@pytest.mark.parametrize("name", ["openai", "ollama", "responses"])
def test_nothing_is_sent_of_how_a_tool_is_called_by_a_command_line(name):
    tool = ToolSpec("look", "Look.", of(route=TEXT), {"": Shorthand(sets={"route": "/"})})
    assert to_tool_fields(tool).keys() == {"name", "description", "parameters"}
    with WireServer(["fine"]) as server:
        ask(wire.model(server, name), request(tools=(tool,)))
    assert "command_line" not in json.dumps(server.requests[0].body)
