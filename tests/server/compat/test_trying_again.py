"""What fails on a wire: what is tried again here, what a program may try again, and what is refused before anything is paid for."""

import asyncio

import aiohttp
import pytest

from packages import Deferred
from server.compat.clients import MODEL, anthropic_client, openai_client, rivers, user
from server.running import Serving
from treadle.core.errors import ModelUnavailable
from treadle.core.requests import ReplyEnded, TextDelta
from treadle.loop.limits import Limits
from treadle.models.scripted import Scripted

openai = Deferred("openai")

PATIENT = rivers(limits=Limits(backoff=0.0))
BROKEN = [TextDelta("The Rhine "), TextDelta("is 1233 km "), ModelUnavailable("The connection is lost.")]
WHOLE = [TextDelta("The Rhine "), TextDelta("is 1233 km "), TextDelta("long."), ReplyEnded("done")]
SENSELESS = {"type": "object", "properties": {"km": {"type": "banana"}}}
FITTING = {"type": "object", "properties": {"km": {"type": "integer"}}, "required": ["km"]}


def shaped(schema):
    return {"type": "json_schema", "json_schema": {"name": "answer", "schema": schema}}


@pytest.mark.parametrize("stream", [True, False])
def test_words_are_said_once_when_a_reply_is_tried_again(tmp_path, stream):
    with openai_client(tmp_path, BROKEN, WHOLE, made=PATIENT) as (client, _):
        answer = client.chat.completions.create(model=MODEL, messages=[user("How long?")], stream=stream)
        pieces = [chunk.choices[0].delta.content or "" for chunk in answer] if stream else [answer.choices[0].message.content]
    assert "".join(pieces) == "The Rhine is 1233 km long."


def test_words_are_said_once_on_the_other_wire_too(tmp_path):
    how = {"model": MODEL, "max_tokens": 100, "messages": [user("How long?")]}
    with (
        anthropic_client(tmp_path, BROKEN, WHOLE, made=PATIENT) as (client, _),
        client.messages.stream(**how) as stream,
    ):
        assert "".join(stream.text_stream) == "The Rhine is 1233 km long."


def test_a_schema_that_makes_no_sense_is_refused_before_a_model_is_asked(tmp_path):
    with openai_client(tmp_path, "never") as (client, model), pytest.raises(openai.BadRequestError) as refused:
        client.chat.completions.create(model=MODEL, messages=[user("Hi.")], response_format=shaped(SENSELESS))
    assert refused.value.body["message"] == "This schema makes no sense: properties.km.type can't be 'banana'."
    assert refused.value.body["param"] == "response_format.json_schema.schema"
    assert model.requests == []


def test_a_schema_that_makes_no_sense_is_refused_on_the_other_wire_too(tmp_path):
    sent = {"model": MODEL, "max_tokens": 9, "messages": [user("Hi.")], "output_config": {"format": shape(SENSELESS)}}
    with Serving(tmp_path, [rivers()], Scripted("never")) as server:
        status, _, told = asyncio.run(posted(server, "/v1/messages", sent))
    assert (status, told["error"]["type"]) == (400, "invalid_request_error")
    assert told["error"]["message"].startswith("output_config.format.schema: This schema makes no sense")


def shape(schema):
    return {"type": "json_schema", "schema": schema}


async def posted(server, path, body):
    async with aiohttp.ClientSession(server.url) as session, session.post(path, json=body) as answer:
        return answer.status, answer.headers, await answer.json()


def test_an_answer_that_does_not_fit_is_not_paid_for_twice(tmp_path):
    model = Scripted(*["It is long."] * 9)
    sent = {"model": MODEL, "messages": [user("Hi.")], "response_format": shaped(FITTING)}
    with Serving(tmp_path, [rivers()], model) as server:
        status, headers, told = asyncio.run(posted(server, "/v1/chat/completions", sent))
        assert (status, headers["x-should-retry"]) == (502, "false")
        assert "doesn't have the shape" in told["error"]["message"]
        before = len(model.requests)
        with (
            openai.OpenAI(base_url=f"{server.url}/v1", api_key="none", max_retries=2) as client,
            pytest.raises(openai.InternalServerError),
        ):
            client.chat.completions.create(**sent)
        assert len(model.requests) == 2 * before


def test_a_model_that_is_not_there_may_be_asked_again(tmp_path):
    gone = rivers(limits=Limits(tries=1))
    with Serving(tmp_path, [gone], Scripted(ModelUnavailable("It is busy."))) as server:
        status, headers, _ = asyncio.run(posted(server, "/v1/chat/completions", {"model": MODEL, "messages": [user("Hi.")]}))
    assert (status, "x-should-retry" in headers) == (503, False)


@pytest.mark.parametrize("path", ["/v1/responses", "/v1/completions", "/v1/embeddings"])
def test_what_is_not_there_is_said_with_what_is_there_instead(tmp_path, path):
    with Serving(tmp_path, [rivers()]) as server:
        status, _, told = asyncio.run(posted(server, path, {"model": MODEL, "input": "Hi."}))
    assert (status, told["error"]["type"]) == (404, "invalid_request_error")
    assert "/v1/chat/completions" in told["error"]["message"]
