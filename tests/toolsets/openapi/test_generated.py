"""A document with every style of parameter and kind of body, and a server made of it: what fits a tool fits the document."""

import asyncio
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from properties import examples
from toolsets.openapi.conftest import document
from toolsets.openapi.judge import judging
from toolsets.openapi.maker import Maker
from treadle import RunContext
from treadle.core.calls import Call
from treadle.tools.validate import ValidArguments, Validator
from treadle.toolsets.openapi import openapi_tools
from treadle.web import Client

WORD = {"type": "string", "minLength": 1, "maxLength": 8, "pattern": "^[A-Za-z0-9 äß%&=+#?/;:@'*!-]+$"}
PLAIN = {"type": "string", "pattern": "^[A-Za-z0-9]{1,8}$"}
NUMBER = {"type": "integer", "minimum": -1000, "maximum": 1000}
WORDS = {"type": "array", "minItems": 1, "maxItems": 3, "items": PLAIN}
OBJECT = {
    "type": "object",
    "required": ["first"],
    "properties": {"first": PLAIN, "second": NUMBER, "third": {"type": "boolean"}},
    "additionalProperties": False,
}


def query(name: str, schema: Any, **more: Any) -> dict[str, Any]:
    return {"name": name, "in": "query", "schema": schema, **more}


def operation(*parameters: Any, body: Any = None, kind: str = "application/json") -> dict[str, Any]:
    told: dict[str, Any] = {"parameters": list(parameters), "responses": {"200": {"description": "fine"}}}
    if body is not None:
        told["requestBody"] = {"required": True, "content": {kind: {"schema": body}}}
    return told


def in_path(schema: Any, **more: Any) -> dict[str, Any]:
    return {"name": "id", "in": "path", "required": True, "schema": schema, **more}


PATHS = {
    "/simple/{id}": {"get": operation(in_path(WORD), query("n", NUMBER), query("b", {"type": "boolean"}), query("w", WORD))},
    "/lists/{id}": {"get": operation(in_path(WORDS))},
    "/objects/{id}": {"get": operation(in_path(OBJECT, explode=True))},
    "/form": {"get": operation(query("a", WORDS), query("b", WORDS, explode=False))},
    "/space": {"get": operation(query("a", WORDS, style="spaceDelimited", explode=False))},
    "/pipe": {"get": operation(query("a", WORDS, style="pipeDelimited", explode=False))},
    "/deep": {"get": operation(query("a", OBJECT, style="deepObject", explode=True))},
    "/json": {"get": operation({"name": "q", "in": "query", "content": {"application/json": {"schema": OBJECT}}})},
    "/header": {
        "get": operation({"name": "X-Word", "in": "header", "schema": PLAIN}, {"name": "X-N", "in": "header", "schema": NUMBER})
    },
    "/cookie": {"get": operation({"name": "sid", "in": "cookie", "schema": PLAIN})},
    "/flat": {"post": operation(query("q", WORD), body=OBJECT)},
    "/nested": {
        "post": operation(
            body={
                "type": "object",
                "required": ["tree"],
                "properties": {
                    "tree": {"$ref": "#/components/schemas/Tree"},
                    "pet": {"$ref": "#/components/schemas/Pet"},
                    "maybe": {"type": "string", "nullable": True},
                    "id": {"type": "string", "readOnly": True},
                    "over": {"type": "integer", "minimum": 3, "exclusiveMinimum": True},
                },
            }
        )
    },
    "/list": {"put": operation(body=WORDS)},
    "/urlencoded": {"post": operation(body=OBJECT, kind="application/x-www-form-urlencoded")},
    "/multipart": {"post": operation(body={**OBJECT, "properties": {"first": WORD, "more": WORD}}, kind="multipart/form-data")},
    "/text": {"post": operation(body={"type": "string"}, kind="text/plain")},
}
SCHEMAS = {
    "Tree": {
        "type": "object",
        "required": ["name"],
        "properties": {"name": WORD, "children": {"type": "array", "maxItems": 2, "items": {"$ref": "#/components/schemas/Tree"}}},
    },
    "Cat": {"type": "object", "required": ["kind"], "properties": {"kind": {"type": "string"}, "lives": NUMBER}},
    "Dog": {"type": "object", "required": ["kind"], "properties": {"kind": {"type": "string"}, "tricks": WORDS}},
    "Pet": {
        "oneOf": [{"$ref": "#/components/schemas/Cat"}, {"$ref": "#/components/schemas/Dog"}],
        "discriminator": {"propertyName": "kind", "mapping": {"cat": "#/components/schemas/Cat"}},
    },
}
ROOT = document(PATHS, components={"schemas": SCHEMAS})


@examples(12)
@given(st.integers(0, 10**9), st.sampled_from([0.0, 0.5, 1.0]), st.sampled_from([0.0, 1.0]))
def test_every_call_that_fits_the_tool_fits_the_document(seed, more, odd):
    async def work():
        async with judging(ROOT) as judge, openapi_tools(ROOT, base_url=judge.host, private=True) as toolset:
            for tool in toolset.tools():
                arguments = Maker(seed, tool.parameters, more=more, odd=odd).make(tool.parameters)
                assert isinstance(Validator(tool.parameters).check(arguments), ValidArguments)
                await toolset.call(Call("c", tool.name, arguments), RunContext(key="k"))
            return judge

    judge = asyncio.run(work())
    assert judge.wrong == []
    assert len(judge.seen) == len(PATHS)


def test_the_judge_finds_fault():
    async def work():
        async with judging(ROOT) as judge, Client([judge.host], private=True) as client:
            for path in ("/simple/a?n=x", "/form?b=%ZZ,", "/deep?a[first]=&a[other]=1", "/nowhere"):
                await client.send("GET", judge.host + path)
            body = b'{"tree": {"name": 5}}'
            await client.send("POST", f"{judge.host}/nested", headers={"Content-Type": "application/json"}, body=body)
            return judge.wrong

    assert len(asyncio.run(work())) >= 5
