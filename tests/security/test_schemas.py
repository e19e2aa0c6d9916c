"""Schemas that strangers write, of MCP servers, OpenAPI documents and clients: none may keep the event loop busy.

Each attempt took Python's `re`, or the checks as they were, longer than the limit on a test.
"""

import asyncio

import pytest

from treadle import Agent, allow
from treadle.core.requests import ToolSpec
from treadle.core.tool import Tool
from treadle.models.scripted import calls
from treadle.testing import Scripted
from treadle.tools.validate import InvalidArguments, Validator
from treadle.toolsets.mcp.offers import AdvertisedTool, build_offers
from treadle.toolsets.mcp.server import McpServer
from treadle.toolsets.openapi.toolset import openapi_tools

LONG = "a" * 60 + "!"
CATASTROPHIC = {
    "nested repeats": ("^(a+)+$", LONG),
    "nested stars": ("^(a*)*$", LONG),
    "the same twice": ("^(a|a)*$", LONG),
    "overlapping choices": ("^(a|aa)+$", LONG),
    "an optional in a repeat": ("^(a?){60}a{60}$", "a" * 59),
    "classes that overlap": (r"^(\w+\s?)*$", LONG),
    "an address": (
        r"^([a-zA-Z0-9])(([\-.]|[_]+)?([a-zA-Z0-9]+))*(@){1}[a-z0-9]+[.]{1}(([a-z]{2,3})|([a-z]{2,3}[.]{1}[a-z]{2,3}))$",
        LONG,
    ),
    "many stars": (".*" * 12 + "x", "a" * 4000),
    "spaces before the end": (r"\s+$", " " * 400_000 + "x"),
    "a wide window": ("a[ab]{900}c", "ab" * 200_000),
    "numbers": (r"^(\d+)*\.$", "1" * 60),
    "quotes": (r'^"(?:[^"\\]|\\.|\w+)*"$', '"' + "a" * 60),
}


def branching(keyword, depth):
    """References of which each leads to two more."""
    parts = {f"a{at}": {keyword: [{"$ref": f"#/$defs/a{at + 1}"}] * 2} for at in range(depth)}
    return {"type": "object", "properties": {"x": {"$ref": "#/$defs/a0"}}, "$defs": {**parts, f"a{depth}": {"type": "integer"}}}


@pytest.mark.parametrize("attempt", CATASTROPHIC)
def test_a_catastrophic_pattern_is_matched_in_linear_time(attempt):
    pattern, text = CATASTROPHIC[attempt]
    checked = Validator({"type": "object", "properties": {"x": {"type": "string", "pattern": pattern}}}).check({"x": text})
    assert isinstance(checked, InvalidArguments) or attempt == "a wide window"


@pytest.mark.parametrize("attempt", ["nested repeats", "the same twice", "classes that overlap", "many stars"])
def test_a_catastrophic_pattern_of_names_is_matched_in_linear_time(attempt):
    pattern, text = CATASTROPHIC[attempt]
    schema = {"type": "object", "patternProperties": {pattern: {"type": "integer"}}, "additionalProperties": False}
    assert isinstance(Validator(schema).check({text: 1}), InvalidArguments)


@pytest.mark.parametrize("keyword", ["anyOf", "oneOf", "allOf"])
def test_references_that_branch_are_followed_for_a_while_only(keyword):
    validator = Validator(branching(keyword, 60))
    checked = validator.check({"x": "no number"})
    assert isinstance(checked, InvalidArguments)
    assert checked.issues[0].got == "too many branches of the schema"
    assert not validator.accepts({"x": "no number"})


def test_a_check_after_one_that_was_given_up_is_made_in_full():
    schema = branching("anyOf", 12)
    validator = Validator(schema)
    assert isinstance(validator.check({"x": "no number"}), InvalidArguments)
    for _ in range(5000):
        assert validator.accepts({"x": 5})


def test_a_pattern_of_an_mcp_server_does_not_hold_the_server_up():
    told = AdvertisedTool("find", schema={"type": "object", "properties": {"x": {"type": "string", "pattern": "^(a+)+$"}}})
    [offer] = build_offers(McpServer(name="strange", command=["strange"]), [told]).values()
    assert isinstance(Validator(offer.tool.parameters).check({"x": LONG}), InvalidArguments)


def test_a_pattern_of_an_openapi_document_does_not_hold_the_server_up():
    parameter = {"name": "x", "in": "query", "schema": {"type": "string", "pattern": "^(a+)+$"}}
    document = {
        "openapi": "3.1.0",
        "info": {"title": "Strange", "version": "1"},
        "servers": [{"url": "https://api.example"}],
        "paths": {"/x": {"get": {"operationId": "find", "parameters": [parameter], "responses": {"200": {"description": "x"}}}}},
    }
    [tool] = openapi_tools(document).tools()
    assert isinstance(Validator(tool.parameters).check({"x": LONG}), InvalidArguments)


def test_other_runs_go_on_beside_a_catastrophic_pattern():
    class Strange:
        async def __aenter__(self):
            return self

        async def __aexit__(self, *error):
            return None

        def tools(self):
            schema = {"type": "object", "properties": {"x": {"type": "string", "pattern": "^(a+)+$"}}}
            return (Tool(ToolSpec("find", "", schema), effect="read"),)

        async def call(self, call, context):
            raise AssertionError("the arguments don't fit")

    async def both():
        hostile = Agent(Scripted(calls(("find", {"x": LONG})), "Done."), toolsets=[Strange()], policy=[allow("*")])
        other = Agent(Scripted("Hello."))
        return await asyncio.gather(hostile.run("Find it."), other.run("Hello?"))

    first, second = asyncio.run(both())
    assert (first.calls[0].problem, second.text) == ("invalid", "Hello.")
