"""Whatever is posted: an answer, or an error in the shape of the wire. Never a failure of the server's."""

import http.client
import json
from urllib.parse import urlsplit

import pytest
from hypothesis import given
from hypothesis import strategies as st

from properties import examples
from server.compat.clients import MODEL, rivers
from server.running import Serving
from treadle.core.requests import ReplyEnded, TextDelta, Traits

PATHS = ("/v1/chat/completions", "/v1/messages", "/v1/messages/count_tokens")


class Yes:
    """A model that always says yes."""

    name = "yes"
    traits = Traits()

    async def reply(self, request):
        yield TextDelta("Yes.")
        yield ReplyEnded("done")


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    with Serving(tmp_path_factory.mktemp("any"), [rivers()], Yes()) as serving:
        yield serving


def posted(server, path, body):
    connection = http.client.HTTPConnection("127.0.0.1", urlsplit(server.url).port, timeout=120)
    try:
        connection.request("POST", path, body, {"content-type": "application/json"})
        response = connection.getresponse()
        return response.status, response.read()
    finally:
        connection.close()


def check(server, path, body):
    status, content = posted(server, path, body)
    assert 200 <= status < 500, content
    if status == 200:
        return
    error = json.loads(content)["error"]
    assert error["message"]
    if path == PATHS[0]:
        assert set(error) == {"message", "type", "param", "code"}
    else:
        assert json.loads(content)["type"] == "error"
        assert set(error) == {"type", "message"}


values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=6,
)
words = st.sampled_from(["", "Hi.", "x\x00y", "call_0123456789abcdef_0123456789ab", "toolu_1", "user", "tool", "text"])
kinds = st.sampled_from(["text", "tool_use", "tool_result", "image", "image_url", "thinking", "function", "custom", "auto", "any"])
call = st.fixed_dictionaries({"id": words, "function": st.fixed_dictionaries({"name": words, "arguments": words | values})})
block = st.fixed_dictionaries(
    {"type": kinds},
    optional={
        "text": words | values,
        "id": words,
        "name": words,
        "input": values,
        "tool_use_id": words,
        "content": words | st.lists(st.fixed_dictionaries({"type": kinds, "text": words}), max_size=2) | values,
        "is_error": st.booleans(),
    },
)
message = st.fixed_dictionaries(
    {"role": st.sampled_from(["user", "assistant", "tool", "system", "developer", "function"])},
    optional={
        "content": words | st.lists(block, max_size=2) | values,
        "tool_calls": st.lists(call, max_size=2) | values,
        "tool_call_id": words,
    },
)
schema = st.fixed_dictionaries(
    {}, optional={"type": words, "properties": values, "pattern": words, "$ref": words, "required": values}
)
tool = st.fixed_dictionaries(
    {"name": st.sampled_from(["weather", "length", "a b", ""])},
    optional={
        "type": kinds,
        "description": words | values,
        "input_schema": schema | values,
        "function": st.fixed_dictionaries({"name": words}, optional={"parameters": schema | values}),
    },
)
near = st.fixed_dictionaries(
    {"model": st.just(MODEL) | words, "messages": st.lists(message, max_size=4), "max_tokens": st.integers(1, 9)},
    optional={
        "stream": st.booleans(),
        "stream_options": st.just({"include_usage": True}) | values,
        "temperature": st.floats(0, 1) | values,
        "tools": st.lists(tool, max_size=2) | values,
        "tool_choice": st.fixed_dictionaries({"type": kinds}, optional={"name": words, "function": values}) | kinds | values,
        "system": words | st.lists(block, max_size=2) | values,
        "stop": words | st.lists(words, max_size=5) | values,
        "stop_sequences": st.lists(words, max_size=5) | values,
        "response_format": st.fixed_dictionaries(
            {"type": st.sampled_from(["json_schema", "json_object", "x"])}, optional={"json_schema": values}
        )
        | values,
        "output_config": values,
        "n": values,
        "seed": values,
        "modalities": values,
    },
)
said = st.sampled_from(["Hi.", "x\x00y", "{}", "🌧" * 3, "a\u2028b", "</tool_call>"])
shapes = st.recursive(
    st.fixed_dictionaries(
        {}, optional={"type": kinds | values, "enum": values, "pattern": words, "$ref": words, "minimum": values}
    ),
    lambda inner: st.fixed_dictionaries(
        {"type": st.sampled_from(["object", "array"])},
        optional={"properties": st.dictionaries(words, inner, max_size=2), "items": inner, "anyOf": st.lists(inner, max_size=2)},
    ),
    max_leaves=4,
)


@st.composite
def sound(draw, path):
    """A request as it should be, whatever stands in it."""
    messages = []
    for number in range(draw(st.integers(0, 2))):
        call_id = draw(st.sampled_from([f"c{number}", "call_0123456789abcdef_0123456789ab"]))
        messages += [{"role": "user", "content": draw(said)}, *_called(path, call_id, draw(values), draw(said))]
    messages.append({"role": "user", "content": draw(said | st.just([{"type": "text", "text": "Hi."}]))})
    if draw(st.booleans()) and len(messages) > 1:
        messages.pop()
    parameters = draw(shapes)
    tool = {"type": "function", "function": {"name": "weather", "parameters": parameters}}
    tools = [tool if path == PATHS[0] else {"name": "weather", "input_schema": parameters}]
    more = draw(st.sampled_from([{}, {"tools": tools}, {"stream": True}, {"temperature": 0.5, "seed": 1, "stop": "x"}]))
    return {"model": MODEL, "max_tokens": 9, "messages": messages, **more}


def _called(path, call_id, arguments, result):
    """A call in a conversation, and its result."""
    if path == PATHS[0]:
        function = {"name": "weather", "arguments": json.dumps(arguments)}
        calls = [{"id": call_id, "type": "function", "function": function}]
        return [{"role": "assistant", "tool_calls": calls}, {"role": "tool", "tool_call_id": call_id, "content": result}]
    fields = arguments if isinstance(arguments, dict) else {"value": arguments}
    used = {"type": "tool_use", "id": call_id, "name": "weather", "input": fields}
    brought = {"type": "tool_result", "tool_use_id": call_id, "content": result}
    return [{"role": "assistant", "content": [used]}, {"role": "user", "content": [brought]}]


calm = examples(120)


@calm
@given(path=st.sampled_from(PATHS), body=values)
def test_any_json_is_answered(server, path, body):
    check(server, path, json.dumps(body))


@calm
@given(path=st.sampled_from(PATHS), body=near)
def test_anything_like_a_request_is_answered(server, path, body):
    check(server, path, json.dumps(body))


@calm
@given(data=st.data(), path=st.sampled_from(PATHS))
def test_whatever_stands_in_a_sound_request_it_is_answered(server, data, path):
    body = json.dumps(data.draw(sound(path)))
    status, content = posted(server, path, body)
    assert status == 200, (content, body)


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"{",
        b"\xff\xfe",
        b"[" * 100_000,
        b'{"model": "rivers", "max_tokens": 1, "messages": [{"role": "user", "content": "\\ud800"}]}',
        b'{"model": "rivers", "max_tokens": 1, "messages": [{"role": "user", "content": "x"}],'
        b' "tools": [{"name": "t", "type": "function",'
        b' "function": {"name": "t", "parameters": ' + b'{"properties": {"a": ' * 400 + b"1" + b"}}" * 400 + b"}}]}",
    ],
)
@pytest.mark.parametrize("path", PATHS)
def test_what_is_no_json_or_too_deep_is_refused(server, path, body):
    check(server, path, body)
