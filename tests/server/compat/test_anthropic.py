"""Anthropic's wire: the official client, asking our assistants."""

import asyncio

import pytest
from pydantic import BaseModel

from packages import Deferred
from server.compat.clients import MODEL, Done, anthropic_client, anthropic_tool, asked, rivers, user
from server.running import Serving
from treadle.core.errors import ContextTooLong, ModelRefused, ModelUnavailable
from treadle.core.requests import TextDelta, Usage
from treadle.loop.limits import Limits
from treadle.models.scripted import Scripted, ScriptedReply

anthropic = Deferred("anthropic")

ONE_TRY = rivers(limits=Limits(tries=1))


def say(client, *messages, **more):
    return client.messages.create(**{"model": MODEL, "max_tokens": 100, "messages": list(messages), **more})


def test_an_assistant_answers_as_a_model(tmp_path):
    used = Usage(requests=1, input_tokens=30, output_tokens=5, cache_read_tokens=8, cache_write_tokens=2)
    with anthropic_client(tmp_path, ScriptedReply("1233 km.", usage=used)) as (client, model):
        message = say(
            client,
            user("How long is the Rhine?"),
            system="Be brief.",
            stop_sequences=["x"],
            extra_body={"temperature": 0.5, "top_k": 3},
        )
    assert (message.type, message.role, message.model, message.stop_reason) == ("message", "assistant", MODEL, "end_turn")
    assert [block.text for block in message.content] == ["1233 km."]
    assert (message.usage.input_tokens, message.usage.output_tokens) == (20, 5)
    assert (message.usage.cache_read_input_tokens, message.usage.cache_creation_input_tokens) == (8, 2)
    request = model.requests[0]
    assert (request.instructions, request.history[-1].text) == ("You know rivers.\n\nBe brief.", "How long is the Rhine?")
    assert (request.options.temperature, request.options.max_tokens, request.options.stop) == (0.5, 100, ("x",))
    assert message.id.startswith(f"msg_{message._request_id}")


def test_conversations_come_in_blocks_and_thoughts_are_left_out(tmp_path):
    said = [
        user([{"type": "text", "text": "Hi"}, {"type": "text", "text": "."}]),
        {
            "role": "assistant",
            "content": [{"type": "thinking", "thinking": "Hm.", "signature": "s"}, {"type": "text", "text": "Hello."}],
        },
        user("Is the Rhine long?"),
    ]
    with anthropic_client(tmp_path, "Yes.") as (client, model):
        say(client, *said, system=[{"type": "text", "text": "Be brief."}, {"type": "text", "text": "Be kind."}])
    request = model.requests[0]
    assert request.instructions == "You know rivers.\n\nBe brief.\n\nBe kind."
    assert [message.text for message in request.history] == ["Hi.", "Hello.", "Is the Rhine long?"]


def test_a_stream_comes_in_the_events_that_the_client_knows(tmp_path):
    used = ScriptedReply("The Rhine.", usage=Usage(requests=1, input_tokens=7, output_tokens=3))
    with (
        anthropic_client(tmp_path, used, chunk=4) as (client, _),
        client.messages.stream(model=MODEL, max_tokens=9, messages=[user("Which?")]) as stream,
    ):
        words = list(stream.text_stream)
        message = stream.get_final_message()
    assert words == ["The ", "Rhin", "e."]
    assert (message.content[0].text, message.stop_reason) == ("The Rhine.", "end_turn")
    assert (message.usage.input_tokens, message.usage.output_tokens) == (7, 3)


def test_its_own_tools_run_here(tmp_path):
    done = Done()
    with anthropic_client(tmp_path, asked("length", {"river": "Rhine"}, "Hm."), "1233 km.", made=rivers(done)) as (client, _):
        message = say(client, user("How long?"))
    assert ([block.text for block in message.content], done.what) == (["Hm.\n\n1233 km."], ["looked at Rhine"])


def test_how_a_reply_ended_is_told(tmp_path):
    with anthropic_client(tmp_path, ScriptedReply("too lo", finish="length"), ScriptedReply("no", finish="filtered")) as (
        client,
        _,
    ):
        assert say(client, user("Hi.")).stop_reason == "max_tokens"
        assert say(client, user("Hi.")).stop_reason == "refusal"


@pytest.mark.parametrize(
    ("given", "where"),
    [
        ({"max_tokens": 0}, "max_tokens"),
        ({"extra_body": {"temperature": 2}}, "temperature"),
        ({"tools": [{"type": "web_search_20250305", "name": "web_search"}]}, "tools[0].type"),
        ({"tools": [anthropic_tool("length")]}, "tools[0]"),
        ({"tools": [anthropic_tool("two words")]}, "tools[0].name"),
        ({"tool_choice": {"type": "tool", "name": "no"}}, "tool_choice"),
        ({"extra_body": {"mcp_servers": [{"url": "x"}]}}, "mcp_servers"),
        ({"extra_body": {"output_config": {"format": {"type": "grammar"}}}}, "output_config.format"),
        ({"messages": [{"role": "system", "content": "x"}]}, "messages[0].role"),
        ({"messages": [user("x"), {"role": "assistant", "content": "Once"}]}, "messages"),
        ({"messages": [user([{"type": "image", "source": {"type": "url", "url": "x"}}])]}, "messages[0].content[0]"),
        ({"messages": [user([{"type": "tool_result", "tool_use_id": "t", "content": "1"}])]}, "messages"),
    ],
)
def test_what_cannot_be_done_is_refused_by_its_name(tmp_path, given, where):
    with anthropic_client(tmp_path) as (client, model), pytest.raises(anthropic.BadRequestError) as refused:
        say(client, *given.pop("messages", [user("Hi.")]), **given)
    error = refused.value.body["error"]
    assert (error["type"], error["message"].partition(": ")[0]) == ("invalid_request_error", where)
    assert model.requests == []


@pytest.mark.parametrize(
    ("error", "kind", "name"),
    [
        (ModelUnavailable("Too many.", status=429), anthropic.RateLimitError, "rate_limit_error"),
        (ModelUnavailable("Overloaded.", status=503), anthropic.InternalServerError, "overloaded_error"),
        (ContextTooLong("Too long.", status=400), anthropic.BadRequestError, "invalid_request_error"),
        (ModelRefused("Wrong key.", status=401), anthropic.InternalServerError, "api_error"),
    ],
)
def test_what_a_model_refuses_has_the_status_that_clients_know(tmp_path, error, kind, name):
    with anthropic_client(tmp_path, error, made=ONE_TRY) as (client, _), pytest.raises(kind) as refused:
        say(client, user("Hi."))
    assert refused.value.body["error"]["type"] == name
    assert str(error) in refused.value.body["error"]["message"]


def test_a_model_that_fails_in_the_middle_ends_the_stream_with_an_error(tmp_path):
    with (
        anthropic_client(tmp_path, [TextDelta("The R"), ModelUnavailable("Gone.")], made=ONE_TRY) as (client, _),
        client.messages.stream(model=MODEL, max_tokens=9, messages=[user("Hi.")]) as stream,
        pytest.raises(anthropic.APIStatusError, match="Gone"),
    ):
        list(stream)


def test_a_model_that_is_not_there_is_not_found(tmp_path):
    with anthropic_client(tmp_path) as (client, _):
        with pytest.raises(anthropic.NotFoundError):
            say(client, user("Hi."), model="claude")
        with pytest.raises(anthropic.NotFoundError):
            client.messages.count_tokens(model="claude", messages=[user("Hi.")])


def test_assistants_are_listed_as_models(tmp_path):
    with anthropic_client(tmp_path) as (client, _):
        assert [(each.id, each.display_name, each.type) for each in client.models.list()] == [(MODEL, "Rivers", "model")]
        assert client.models.retrieve(MODEL).display_name == "Rivers"


def test_tokens_are_counted_roughly(tmp_path):
    with anthropic_client(tmp_path) as (client, model):
        few = client.messages.count_tokens(model=MODEL, messages=[user("Hi.")])
        more = client.messages.count_tokens(model=MODEL, messages=[user("Hi. " * 100)], system="x" * 100, tools=[anthropic_tool()])
    assert (few.input_tokens, model.requests) == (1, [])
    assert 100 < more.input_tokens < 300


class River(BaseModel):
    name: str


def test_an_answer_can_be_a_value(tmp_path):
    with anthropic_client(tmp_path, asked("give_answer", {"name": "Rhine"}, "Here.")) as (client, _):
        parsed = client.messages.parse(model=MODEL, max_tokens=9, messages=[user("Which?")], output_format=River)
    assert parsed.parsed_output == River(name="Rhine")


def test_asynchronous_clients_are_served(tmp_path):
    async def work(url):
        async with (
            anthropic.AsyncAnthropic(base_url=url, api_key="none", max_retries=0) as client,
            client.messages.stream(model=MODEL, max_tokens=9, messages=[user("Hi.")]) as stream,
        ):
            return await stream.get_final_text()

    with Serving(tmp_path, [rivers()], Scripted("Hello.", chunk=2)) as server:
        assert asyncio.run(work(server.url)) == "Hello."
