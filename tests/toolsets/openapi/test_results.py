"""Whatever a server answers becomes a result or a problem that a model can use."""

import asyncio

import pytest
from aiohttp import web

from toolsets.openapi.conftest import document
from treadle.toolsets.openapi import results

TEXT = {"type": "string"}
THING = {
    "type": "object",
    "properties": {
        "name": TEXT,
        "secret": {**TEXT, "writeOnly": True},
        "inner": {"type": "object", "properties": {"a": TEXT}},
        "list": {"type": "array", "items": {"$ref": "#/components/schemas/Item"}},
        "free": {"type": "object"},
        "map": {"type": "object", "additionalProperties": {"type": "object", "properties": {"a": TEXT}}},
        "open": {"type": "object", "properties": {"a": TEXT}, "additionalProperties": True},
    },
}
ITEM = {"type": "object", "properties": {"id": {"type": "integer"}, "again": {"$ref": "#/components/schemas/Item"}}}


def root(schema=None, kind="application/json", method="get", status="200", **schemas):
    content = {} if schema is None else {kind: {"schema": schema}}
    told = {"operationId": "it", "responses": {status: {"description": "fine", "content": content}}}
    return document({"/a": {method: told}}, components={"schemas": {"Item": ITEM, **schemas}})


def reply(body=b"", status=200, kind="application/json", **headers):
    async def answer(request):
        plain = {name.replace("_", "-"): value for name, value in headers.items()}
        return web.Response(body=body, status=status, headers={**plain, **({"Content-Type": kind} if kind else {})})

    return {"/a": answer}


# data


def test_data_is_cut_to_what_is_described(call):
    more = {"a": "1", "b": "2"}
    answer = {
        "name": "n",
        "secret": "s",
        "other": 1,
        "inner": more,
        "list": [{"id": 1, "x": 2, "again": {"id": 3, "y": 4}}],
        "free": more,
        "map": {"k": more},
        "open": more,
    }
    made = call(root(THING), ("it", {}), answers={"/a": answer})
    assert made.result == (
        '{"name":"n","inner":{"a":"1"},"list":[{"id":1,"again":{"id":3}}],"free":{"a":"1","b":"2"},"map":{"k":{"a":"1"}},'
        '"open":{"a":"1","b":"2"}}'
    )


@pytest.mark.parametrize(
    ("schema", "answer", "kept"),
    [
        (None, {"a": 1}, '{"a":1}'),
        ({}, {"a": 1}, '{"a":1}'),
        (THING, [1, 2], "[1,2]"),
        (THING, {"unknown": 1}, '{"unknown":1}'),
        (THING, {"secret": 1}, "{}"),
        (THING, {}, "{}"),
        ({"type": "array", "items": ITEM}, [{"id": 1, "b": 2}], '[{"id":1}]'),
        ({"type": "array", "items": ITEM}, {"id": 1, "b": 2}, '{"id":1,"b":2}'),
        ({"allOf": [ITEM, {"properties": {"b": TEXT}}, {"required": ["c"]}]}, {"id": 1, "b": "2", "c": 3}, '{"id":1,"b":"2"}'),
        ({"allOf": [ITEM, {"additionalProperties": True}]}, {"id": 1, "c": 3}, '{"id":1,"c":3}'),
        ({"allOf": [{"type": "array", "items": ITEM}]}, [{"id": 1, "b": 2}], '[{"id":1}]'),
        ({"allOf": [TEXT]}, [1], "[1]"),
        ({"oneOf": [ITEM, {"required": ["b"], "properties": {"b": TEXT}}]}, {"id": 1, "c": 2}, '{"id":1}'),
        ({"oneOf": [ITEM, {"required": ["b"], "properties": {"b": TEXT}}]}, {"id": 1, "b": "2", "c": 2}, '{"id":1,"b":"2"}'),
        ({"anyOf": [{"type": "object"}, ITEM]}, {"id": 1, "c": 2}, '{"id":1,"c":2}'),
        ({"anyOf": [ITEM, {"type": "null"}]}, {"id": 1, "c": 2}, '{"id":1}'),
        ({"anyOf": [{"required": ["z"], "properties": {"z": TEXT}}]}, {"id": 1, "z2": 2}, '{"id":1,"z2":2}'),
        ({"properties": {"a": TEXT}, "patternProperties": {"^x": {}}}, {"a": "1", "b": 2}, '{"a":"1","b":2}'),
        ({"$ref": "#/components/schemas/Loop"}, {"a": 1}, '{"a":1}'),
    ],
)
def test_what_is_described_otherwise(call, schema, answer, kept):
    loop = {"allOf": [{"$ref": "#/components/schemas/Loop"}]}
    assert call(root(schema, Loop=loop), ("it", {}), answers={"/a": answer}).result == kept


def test_a_discriminator_says_what_came(call):
    schema = {
        "oneOf": [{"$ref": "#/components/schemas/Cat"}, {"$ref": "#/components/schemas/Dog"}],
        "discriminator": {"propertyName": "kind", "mapping": {"c": "#/components/schemas/Cat"}},
    }
    cat = {"type": "object", "properties": {"kind": TEXT, "lives": TEXT}}
    dog = {"type": "object", "properties": {"kind": TEXT, "tricks": TEXT}}
    for kind, kept in (("c", '{"kind":"c","lives":"9"}'), ("Dog", '{"kind":"Dog","tricks":"2"}')):
        answer = {"kind": kind, "lives": "9", "tricks": "2"}
        assert call(root(schema, Cat=cat, Dog=dog), ("it", {}), answers={"/a": answer}).result == kept
    both = call(root(schema, Cat=cat, Dog=dog), ("it", {}), answers={"/a": {"kind": "?", "lives": "9", "tricks": "2", "x": 1}})
    assert both.result == '{"kind":"?","lives":"9","tricks":"2"}'


@pytest.mark.parametrize("status", ["2XX", "default", "201"])
def test_the_description_is_found_by_status(call, status):
    made = call(root(ITEM, status=status), ("it", {}), answers=reply(b'{"id":1,"b":2}', status=201))
    assert made.result == '{"id":1}'


@pytest.mark.parametrize(("kind", "described"), [("application/vnd.x+json", "application/json"), ("application/json", "*/*")])
def test_the_description_is_found_by_kind(call, kind, described):
    assert call(root(ITEM, described), ("it", {}), answers=reply(b'{"id":1,"b":2}', kind=kind)).result == '{"id":1}'


def test_json_that_does_not_say_so_is_json(call):
    assert call(root(ITEM), ("it", {}), answers=reply(b' {"id":1,"b":2}', kind="")).result.strip().startswith("{")


def test_json_that_is_none_is_a_problem(call):
    made = call(root(ITEM), ("it", {}), answers=reply(b'{"id":'))
    assert made.result.startswith("PROBLEM it brought nothing: the server said that it answers with JSON, but what came is none.")


# everything else


def test_nothing_is_said_to_be_nothing(call):
    assert call(root(), ("it", {}), answers=reply(status=204)).result == (
        "Done: the server answered 204 No Content, with nothing more to say."
    )
    assert call(root(), ("it", {}), answers=reply(b"", status=200)).result.startswith("Done: the server answered 200 OK")
    assert call(root(), ("it", {}), answers=reply(b"", status=299)).result.startswith("Done: the server answered 299 ,")


def test_a_head_says_what_there_is(call):
    made = call(root(method="head"), ("it", {}), answers=reply(status=200, kind="text/x", ETag="e"))
    assert made.result.splitlines()[0] == "200 OK"
    assert "content-type: text/x" in made.result
    assert "etag: e" in made.result


@pytest.mark.parametrize(
    "kind", ["text/plain", "text/csv", "application/xml", "application/rss+xml", "application/yaml", "application/octet-stream", ""]
)
def test_text_is_text(call, kind):
    assert call(root(), ("it", {}), answers=reply("grüße".encode(), kind=kind)).result == "grüße"


def test_very_long_text_is_cut(call):
    made = call(root(), ("it", {}), answers=reply(b"x" * (results.MAX_TEXT + 5), kind="text/plain"))
    assert made.result.endswith("x\n[… 5 more characters]")


@pytest.mark.parametrize("kind", ["image/png", "application/octet-stream", "application/pdf"])
def test_bytes_are_named_not_shown(call, kind):
    made = call(root(), ("it", {}), answers=reply(b"\x89PNG\x00\xff" * 10, kind=kind))
    assert made.result == f"The answer is {kind}, 60 bytes, and isn't shown."


@pytest.mark.parametrize(
    ("kind", "body"),
    [
        ("text/html", b"<html><head><title>Sign in &amp; go</title></head><body>x</body></html>"),
        ("text/plain", b"<!DOCTYPE html><title>Sign in &amp; go</title>"),
        ("text/html", b"<p>Sign in &amp; go</p><script>var x = '<b>';</script>"),
    ],
)
def test_a_web_page_is_no_data(call, kind, body):
    made = call(root(ITEM), ("it", {}), answers=reply(body, kind=kind))
    assert made.result.startswith("PROBLEM it brought nothing: the server answered with a web page, not with data.")
    assert "Sign in & go" in made.result
    assert "<title>" not in made.result


def test_a_web_page_that_was_described_is_what_was_asked_for(call):
    assert call(root(TEXT, "text/html"), ("it", {}), answers=reply(b"<p>x</p>", kind="text/html")).result == "<p>x</p>"


# refusals


@pytest.mark.parametrize(
    ("status", "words"),
    [
        (400, "the server refused it (400 Bad Request). Put the call right."),
        (401, "(401 Unauthorized). The person isn't signed in, or no longer: tell them to sign in again."),
        (403, "(403 Forbidden). The person isn't allowed to do this: tell them."),
        (404, "(404 Not Found). Check the names and ids in the call."),
        (409, "(409 Conflict). It clashes with how things are now: look at that first."),
        (429, "(429 Too Many Requests). There were too many calls: wait before the next one."),
        (499, "the server refused it (499). Put the call right."),
        (500, "the server failed (500 Internal Server Error). Try again later, or do without."),
    ],
)
@pytest.mark.parametrize(
    ("kind", "body"), [("application/json", b'{"error": "its words"}'), ("text/plain", b"its words"), ("", b"its words")]
)
def test_a_refusal_is_told_with_the_words_of_the_server(call, status, words, kind, body):
    made = call(root(), ("it", {}), answers=reply(body, status, kind))
    assert words in made.result
    assert "its words" in made.result
    assert "its words" in made.came[-1].quote
    assert words not in made.came[-1].quote


def test_the_words_of_a_server_that_is_trusted_are_not_marked(call):
    made = call(root(), ("it", {}), answers=reply(b"its words", 400, "text/plain"), trust="trusted")
    assert made.result.endswith("\nIt says: its words")
    assert made.came[-1].quote == ""


def test_a_refusal_as_a_web_page_is_told_by_its_title(call):
    made = call(
        root(),
        ("it", {}),
        answers=reply(b"<html><title>502 Bad Gateway</title><body>" + b"x" * 9999, 502, "text/html"),
        trust="trusted",
    )
    assert made.result.endswith("It says: 502 Bad Gateway")


def test_long_words_are_cut_and_bytes_are_none(call):
    made = call(root(), ("it", {}), answers=reply(b"word " * 9999, 400, "text/plain"))
    assert len(made.result) < 2000
    assert "It says" not in call(root(), ("it", {}), answers=reply(b"\x00\xff" * 99, 400, "image/png")).result


def test_how_long_to_wait_is_told(call):
    made = call(root(), ("it", {}), answers=reply(b"", 429, Retry_After="7"))
    assert "It asks to wait 7 seconds" in made.result
    assert "It asks" not in call(root(), ("it", {}), answers=reply(b"", 429, Retry_After="tomorrow")).result


def test_a_write_that_failed_may_have_happened(call):
    assert "may or may not have taken effect" in call(root(method="post"), ("it", {}), answers=reply(b"", 500)).result


@pytest.mark.parametrize(
    ("location", "words"),
    [
        (
            "https://elsewhere.example/path?token=x",
            "302 Found and sends on to https://elsewhere.example, where this tool doesn't go.",
        ),
        ("http://169.254.169.254/latest", "sends on to http://169.254.169.254, where"),
        ("file:///etc/passwd", "302 Found instead of an answer."),
        (None, "302 Found instead of an answer."),
    ],
)
def test_a_redirect_elsewhere_is_not_followed(call, location, words):
    headers = {} if location is None else {"Location": location}
    made = call(root(), ("it", {}), answers=reply(b"", 302, **headers))
    assert words in made.result
    assert len(made.server.requests) == 1
    assert "token" not in made.result


def test_a_redirect_of_a_write_is_not_followed(call):
    made = call(root(method="post"), ("it", {}), answers=reply(b"", 307, Location="/b"))
    assert "307 Temporary Redirect and sends on" in made.result
    assert len(made.server.requests) == 1


# bounds


def test_too_much_is_a_problem(call):
    made = call(root(), ("it", {}), answers=reply(b"x" * 3000, kind="text/plain"), limit=1000)
    assert "PROBLEM The answer of http://127.0.0.1" in made.result
    assert "too large" in made.result


def test_a_hundred_megabytes_are_not_read(call):
    async def pour(request):
        response = web.StreamResponse(headers={"Content-Type": "application/json"})
        await response.prepare(request)
        try:
            for _ in range(100):
                await response.write(b" " * 1_000_000)
        except ConnectionError:
            pass
        return response

    assert "too large" in call(root(), ("it", {}), answers={"/a": pour}).result


def test_a_slow_drip_is_given_up(call):
    async def drip(request):
        response = web.StreamResponse()
        await response.prepare(request)
        try:
            while True:
                await response.write(b" ")
                await asyncio.sleep(0.02)
        except ConnectionError:
            return response

    assert "gave no whole answer within 0.3 seconds" in call(root(), ("it", {}), answers={"/a": drip}, timeout=0.3).result
