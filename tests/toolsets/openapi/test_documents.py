"""Documents of all sorts, from files, addresses and values: read, or refused with a sentence that says what to do."""

import asyncio
import json

import pytest
from aiohttp import web
from hypothesis import given
from hypothesis import strategies as st

from properties import examples
from toolsets.openapi.conftest import document, serving
from treadle import Agent, RunContext
from treadle.core.calls import Call
from treadle.core.errors import SettingsError, ToolProblem
from treadle.testing import Scripted
from treadle.toolsets.openapi import document as reading
from treadle.toolsets.openapi import openapi_tools

HERE = "https://api.example.com"
GOOD = document({"/a": {"get": {"operationId": "get_a", "responses": {}}}})
YAML = """
openapi: 3.1.0
info: {title: Small, version: 1}
servers: [{url: /v1}]
paths:
  /a:
    get:
      operationId: get_a
      responses:
        200: {description: on}
"""


def names(toolset):
    return [tool.name for tool in toolset.tools()]


def entered(given, **how):
    """The names of the tools once the toolset was entered, or what was said instead."""

    async def work():
        async with openapi_tools(given, **how) as toolset:
            return names(toolset)

    return asyncio.run(work())


# files and values


@pytest.mark.parametrize(("name", "text"), [("a.json", json.dumps(GOOD)), ("a.yaml", YAML), ("a", "\ufeff" + json.dumps(GOOD))])
@pytest.mark.parametrize("kind", [str, lambda path: path])
def test_a_file_is_json_or_yaml(tmp_path, name, text, kind):
    (tmp_path / name).write_text(text)
    assert names(openapi_tools(kind(tmp_path / name), base_url=HERE)) == ["get_a"]


def test_a_value_is_a_document():
    toolset = openapi_tools(GOOD, base_url=HERE)
    assert names(toolset) == ["get_a"]
    assert repr(toolset) == "OpenApiTools('Small', 1 tools)"
    assert toolset.tools() is toolset.tools()
    assert names(openapi_tools({**GOOD, "openapi": 3.1, "info": None}, base_url=HERE)) == ["get_a"]


BROKEN = [
    (b"", "no object"),
    (b"[1]", "no object"),
    (b"just words", "no object"),
    (b"{", "broken JSON"),
    (b'{"openapi": "3.0.0", "paths": {}, }', "broken JSON"),
    (b'{"a":' * 3000 + b"1" + b"}" * 3000, "broken JSON"),
    (b"a: [", "broken"),
    (b"a: &a [*a]", "broken"),
    (b"\xff\xfe\x00", "no text"),
    (b"<!DOCTYPE html><html></html>", "web page"),
    (b"\n <html>", "web page"),
    (b"<?xml version='1.0'?>", "web page"),
    (b'{"swagger": "2.0", "paths": {}}', "Swagger 2.0"),
    (b'{"openapi": "2.0", "paths": {}}', "only 3.0 and 3.1"),
    (b'{"openapi": "4.0.0", "paths": {}}', "only 3.0 and 3.1"),
    (b'{"asyncapi": "3.0.0"}', "which version"),
    (b'{"openapi": "3.0.0"}', "no paths"),
    (b'{"openapi": "3.0.0", "paths": []}', "no paths"),
    (b'{"openapi": "3.0.0", "paths": {}}', "no operation to offer"),
]


@pytest.mark.parametrize(("content", "words"), BROKEN)
def test_what_is_no_document_is_said_in_a_sentence(tmp_path, content, words):
    (tmp_path / "a").write_bytes(content)
    with pytest.raises(SettingsError, match=words):
        openapi_tools(tmp_path / "a", base_url=HERE)


def test_a_file_that_is_not_there_or_too_large_is_said(tmp_path):
    with pytest.raises(SettingsError, match="can't be read: There is no file"):
        openapi_tools(tmp_path / "nothing.yaml")
    with (tmp_path / "large").open("wb") as file:
        file.truncate(reading.MAX_DOCUMENT + 1)
    with pytest.raises(SettingsError, match="files up to 60 MB are read"):
        openapi_tools(tmp_path / "large")


def test_a_value_that_is_no_document_is_said():
    with pytest.raises(SettingsError, match="no object"):
        openapi_tools(5)


JUNK = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5) | st.sampled_from(["#/paths", "#/a/0", "object", "string"]),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                [
                    "$ref",
                    "schema",
                    "properties",
                    "items",
                    "allOf",
                    "oneOf",
                    "type",
                    "content",
                    "name",
                    "in",
                    "required",
                    "enum",
                    "x",
                    "discriminator",
                    "application/json",
                    "minimum",
                    "description",
                    "additionalProperties",
                    "readOnly",
                    "style",
                    "explode",
                ]
            ),
            inner,
            max_size=4,
        )
    ),
    max_leaves=12,
)
KEYS = ("parameters", "requestBody", "responses", "security", "servers", "summary", "tags", "operationId", "deprecated")


@examples(100)
@given(st.dictionaries(st.sampled_from(KEYS), JUNK, max_size=5), JUNK, st.sampled_from(["3.0.0", "3.1.0"]))
def test_a_document_that_is_wrong_in_any_way_is_read_as_far_as_it_goes(told, other, version):
    paths = {"/a/{x}": {"get": told, "parameters": other, "post": {**told, "requestBody": other}}, "/b": other}
    root = document(paths, version, components=other if isinstance(other, dict) else {})
    try:
        toolset = openapi_tools(root, base_url=HERE)
    except SettingsError:
        return
    assert len(names(toolset)) >= 1


def test_references_lead_anywhere_within_the_document():
    paths = {
        "/a": {"$ref": "#/x-items/0", "summary": "s"},
        "/b": {"$ref": "#/x-items/9"},
        "/c": {"$ref": "#/paths/~1c"},
        "no": {"get": {}},
    }
    root = document(paths)
    root["x-items"] = [{"get": {"operationId": "got", "parameters": [{"$ref": "#/x%2Dparameters/a~0b"}]}}]
    root["x-parameters"] = {"a~b": {"name": "q", "in": "query", "schema": {"type": "string"}}}
    toolset = openapi_tools(root, base_url=HERE)
    assert names(toolset) == ["got"]
    assert list(toolset.tools()[0].parameters["properties"]) == ["q"]


# addresses


def test_a_document_with_an_address_is_fetched_when_it_is_entered():
    async def work():
        async with serving({"/docs/openapi.yaml": YAML, "/v1/a": {"a": 1}}) as server:
            toolset = openapi_tools(f"{server.origin}/docs/openapi.yaml?v=1", private=True)
            assert toolset.tools() == ()
            with pytest.raises(ToolProblem, match="no operation"):
                await toolset.call(Call("c", "get_a", {}), RunContext())
            async with toolset, toolset:
                result = await toolset.call(Call("c", "get_a", {}), RunContext())
            async with toolset:
                pass
            return names(toolset), str(result), [request.path for request in server.requests]

    assert asyncio.run(work()) == (["get_a"], '{"a":1}', ["/docs/openapi.yaml", "/v1/a"])


def test_an_agent_enters_it():
    async def work():
        async with serving({"/openapi.json": {**GOOD, "servers": [{"url": "/"}]}}) as server:
            model = Scripted("Fine.")
            await Agent(model, tools=[openapi_tools(f"{server.origin}/openapi.json", private=True)]).run("Look.")
            return [tool.name for tool in model.requests[0].tools]

    assert asyncio.run(work()) == ["get_a"]


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        (web.Response, "broken|no object"),
        (lambda: web.Response(status=404), "answered 404"),
        (lambda: web.Response(status=500), "answered 500"),
        (lambda: web.Response(status=302, headers={"Location": "http://169.254.169.254/"}), "answered 302"),
        (lambda: web.Response(text="<!doctype html><p>Sign in", content_type="text/html"), "web page"),
        (lambda: web.json_response({"swagger": "2.0"}), "Swagger 2.0"),
    ],
)
def test_what_is_at_an_address_and_is_no_document_is_said(answer, words):
    async def work():
        async def reply(request):
            return answer()

        async with serving({"/openapi.json": reply}) as server:
            with pytest.raises(SettingsError, match=words) as caught:
                async with openapi_tools(f"{server.origin}/openapi.json?key=geheim", private=True):
                    pass
            return str(caught.value)

    assert "geheim" not in asyncio.run(work())


def test_a_document_at_a_private_address_needs_to_be_allowed():
    async def work():
        async with serving({"/openapi.json": GOOD}) as server:
            for address in (server.origin, server.origin.replace("127.0.0.1", "localhost")):
                with pytest.raises(SettingsError, match="loopback"):
                    async with openapi_tools(f"{address}/openapi.json"):
                        pass
            return server.requests

    assert asyncio.run(work()) == []


def test_an_address_that_is_none_and_one_that_nobody_is_at_are_said():
    with pytest.raises(SettingsError, match="can't be fetched: That is no address"):
        entered("http://a b/openapi.json")

    async def gone():
        async with serving() as server:
            return server.origin

    origin = asyncio.run(gone())
    with pytest.raises(SettingsError, match="the connection is refused"):
        entered(f"{origin}/openapi.json", private=True)


# where calls may go


def test_a_server_at_a_private_address_is_not_asked():
    async def work():
        async with serving({"/a": {"a": 1}}) as server:
            async with openapi_tools(GOOD, base_url=server.origin) as toolset:
                with pytest.raises(ToolProblem, match="loopback"):
                    await toolset.call(Call("c", "get_a", {}), RunContext())
            return server.requests

    assert asyncio.run(work()) == []


def test_a_name_that_resolves_to_loopback_is_not_asked():
    async def lookup(host, port):
        return ["127.0.0.1"]

    async def work():
        async with serving({"/a": {"a": 1}}) as server:
            address = server.origin.replace("127.0.0.1", "api.example")
            async with openapi_tools(GOOD, base_url=address, lookup=lookup) as toolset:
                with pytest.raises(ToolProblem, match="loopback"):
                    await toolset.call(Call("c", "get_a", {}), RunContext())
            return server.requests

    assert asyncio.run(work()) == []


def test_a_server_outside_of_the_origins_is_not_asked():
    async def work():
        async with openapi_tools(GOOD, base_url=HERE, origins=["https://other.example"]) as toolset:
            with pytest.raises(ToolProblem, match="isn't among the places"):
                await toolset.call(Call("c", "get_a", {}), RunContext())

    asyncio.run(work())


def test_settings_of_the_client_are_checked_at_once():
    with pytest.raises(SettingsError):
        openapi_tools(GOOD, base_url=HERE, timeout=0)
    with pytest.raises(SettingsError):
        openapi_tools(GOOD, base_url=HERE, origins=["nonsense"])
