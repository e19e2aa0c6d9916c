"""OpenAI's wire: the official client, asking our assistants."""

import asyncio
import json

import pytest
from pydantic import BaseModel

from packages import Deferred
from server.compat.clients import MODEL, Done, asked, openai_client, openai_tool, rivers, several, user
from server.running import Serving
from treadle.core.errors import ContextTooLong, ModelRefused, ModelUnavailable
from treadle.core.requests import ReplyEnded, TextDelta, Usage
from treadle.loop.limits import Limits
from treadle.models.scripted import Scripted, ScriptedReply

openai = Deferred("openai")

ONE_TRY = rivers(limits=Limits(tries=1))


def complete(client, *messages, **more):
    return client.chat.completions.create(model=more.pop("model", MODEL), messages=list(messages), **more)


def joined(chunks):
    """A stream's words, and its last finish reason."""
    choices = [chunk.choices[0] for chunk in chunks if chunk.choices]
    return "".join([choice.delta.content or "" for choice in choices]), choices[-1].finish_reason


# plain


def test_an_assistant_answers_as_a_model(tmp_path):
    used = ScriptedReply("1233 km.", usage=Usage(requests=1, input_tokens=30, output_tokens=5, cache_read_tokens=8))
    with openai_client(tmp_path, used) as (client, model):
        answer = complete(client, user("How long is the Rhine?"))
    assert (answer.object, answer.model, answer.choices[0].finish_reason) == ("chat.completion", MODEL, "stop")
    assert answer.choices[0].message.content == "1233 km."
    assert (answer.usage.prompt_tokens, answer.usage.completion_tokens, answer.usage.total_tokens) == (30, 5, 35)
    assert answer.usage.prompt_tokens_details.cached_tokens == 8
    assert answer.id.startswith(f"chatcmpl-{answer._request_id}")
    assert model.requests[0].history[-1].text == "How long is the Rhine?"


def test_its_own_tools_run_here_and_the_whole_turn_is_counted(tmp_path):
    done, each = Done(), Usage(requests=1, input_tokens=10, output_tokens=2)
    looks = asked("length", {"river": "Rhine"}, "Let me look.", each)
    with openai_client(tmp_path, looks, ScriptedReply("1233 km.", usage=each), made=rivers(done)) as (client, _):
        answer = complete(client, user("How long is the Rhine?"))
    assert answer.choices[0].message.content == "Let me look.\n\n1233 km."
    assert answer.choices[0].message.tool_calls is None
    assert (answer.usage.prompt_tokens, answer.usage.completion_tokens) == (20, 4)
    assert done.what == ["looked at Rhine"]


def test_what_was_said_before_is_the_history_and_the_callers_instructions_come_below_ours(tmp_path):
    before = [
        {"role": "system", "content": "Be brief."},
        {"role": "developer", "content": [{"type": "text", "text": "In English."}]},
        user("Hi."),
        {"role": "assistant", "content": [{"type": "text", "text": "Hello."}]},
    ]
    with openai_client(tmp_path, "Yes.") as (client, model):
        complete(client, *before, user("Is the Rhine long?"))
    request = model.requests[0]
    assert request.instructions == "You know rivers.\n\nBe brief.\n\nIn English."
    assert [(message.role, message.text) for message in request.history] == [
        ("person", "Hi."),
        ("model", "Hello."),
        ("person", "Is the Rhine long?"),
    ]


@pytest.mark.parametrize("awaits", [True, False])
def test_instructions_that_are_found_out_get_the_callers_below_them_too(tmp_path, awaits):
    async def later(context):
        return "It is spring."

    made = rivers(instructions=later if awaits else lambda context: "It is spring.")
    with openai_client(tmp_path, "Yes.", made=made) as (client, model):
        complete(client, {"role": "system", "content": "Be brief."}, user("Hi."))
    assert model.requests[0].instructions == "It is spring.\n\nBe brief."


def test_how_to_write_is_handed_on(tmp_path):
    with openai_client(tmp_path, "a", "b") as (client, model):
        complete(client, user("Hi."), temperature=0.5, top_p=0.9, seed=7, max_tokens=9, stop=["\n", "."])
        complete(client, user("Hi."), max_completion_tokens=11, stop="x", presence_penalty=1, user="ann")
    first, second = [request.options for request in model.requests]
    assert (first.temperature, first.top_p, first.seed, first.max_tokens, first.stop) == (0.5, 0.9, 7, 9, ("\n", "."))
    assert (second.max_tokens, second.stop) == (11, ("x",))


def test_how_a_reply_ended_is_told(tmp_path):
    with openai_client(tmp_path, ScriptedReply("too lo", finish="length"), ScriptedReply("no", finish="filtered")) as (client, _):
        assert complete(client, user("Hi."), max_tokens=2).choices[0].finish_reason == "length"
        assert complete(client, user("Hi.")).choices[0].finish_reason == "content_filter"


def test_words_at_a_limit_are_the_answer(tmp_path):
    made = rivers(limits=Limits(rounds=1, at_limit="words", words="That is all I could do."))
    with openai_client(tmp_path, asked("length", {"river": "Rhine"}, "Hm."), made=made) as (client, _):
        assert complete(client, user("Hi.")).choices[0].message.content == "Hm.\n\nThat is all I could do."


# streaming


def test_words_are_streamed_as_they_come_with_the_usage_at_the_end(tmp_path):
    used = ScriptedReply("The Rhine.", usage=Usage(requests=1, input_tokens=3, output_tokens=2))
    with openai_client(tmp_path, used, chunk=4) as (client, _):
        chunks = list(complete(client, user("Which?"), stream=True, stream_options={"include_usage": True}))
    assert [chunk.choices[0].delta.content for chunk in chunks if chunk.choices] == ["The ", "Rhin", "e.", None]
    assert chunks[0].choices[0].delta.role == "assistant"
    assert joined(chunks) == ("The Rhine.", "stop")
    assert (chunks[-1].choices, chunks[-1].usage.total_tokens) == ([], 5)
    assert len({chunk.id for chunk in chunks}) == 1


def test_usage_is_streamed_only_where_it_is_wanted(tmp_path):
    with openai_client(tmp_path, "Yes.") as (client, _):
        assert all(chunk.usage is None for chunk in complete(client, user("Hi."), stream=True))


def test_a_stream_says_what_an_answer_in_one_says(tmp_path):
    looks = asked("length", {"river": "Rhine"}, "Let me look.")
    with openai_client(tmp_path, looks, "1233 km.", chunk=5) as (client, _):
        assert joined(complete(client, user("How long?"), stream=True)) == ("Let me look.\n\n1233 km.", "stop")


def test_the_first_words_are_there_before_the_last_are_written(tmp_path):
    going_on = asyncio.Event()

    async def slowly():
        yield TextDelta("One.")
        await asyncio.wait_for(going_on.wait(), 120)
        yield TextDelta(" Two.")
        yield ReplyEnded("done")

    loops = []

    def reply(request):
        loops.append(asyncio.get_running_loop())
        return slowly()

    with openai_client(tmp_path, reply) as (client, _):
        stream = complete(client, user("Count."), stream=True)
        first = next(stream)
        loops[0].call_soon_threadsafe(going_on.set)
        assert (first.choices[0].delta.content, joined(stream)[0]) == ("One.", " Two.")


def test_a_model_that_fails_before_it_says_anything_is_an_error_also_in_a_stream(tmp_path):
    with (
        openai_client(tmp_path, ModelUnavailable("Overloaded.", status=503), made=ONE_TRY) as (client, _),
        pytest.raises(openai.InternalServerError, match="Overloaded"),
    ):
        complete(client, user("Hi."), stream=True)


def test_a_model_that_fails_later_ends_the_stream_with_an_error(tmp_path):
    with openai_client(tmp_path, [TextDelta("The R"), ModelUnavailable("Gone.")], made=ONE_TRY) as (client, _):
        stream = complete(client, user("Hi."), stream=True)
        assert next(stream).choices[0].delta.content == "The R"
        with pytest.raises(openai.APIError, match="Gone"):
            list(stream)


def test_asynchronous_clients_are_served_side_by_side(tmp_path):
    async def ask(client, number):
        stream = await client.chat.completions.create(model=MODEL, messages=[user(f"{number}?")], stream=True)
        return "".join([chunk.choices[0].delta.content or "" async for chunk in stream])

    async def work(url):
        async with openai.AsyncOpenAI(base_url=f"{url}/v1", api_key="none", max_retries=0) as client:
            return await asyncio.gather(*[ask(client, number) for number in range(5)])

    echo = [lambda request: request.history[-1].text] * 5
    with Serving(tmp_path, [rivers()], Scripted(*echo, chunk=1)) as server:
        assert asyncio.run(work(server.url)) == [f"{number}?" for number in range(5)]


# what can't be done


@pytest.mark.parametrize(
    ("given", "param"),
    [
        ({"n": 2}, "n"),
        ({"logprobs": True}, "logprobs"),
        ({"functions": [{"name": "f"}]}, "functions"),
        ({"modalities": ["text", "audio"]}, "modalities"),
        ({"stop": ["a", "b", "c", "d", "e"]}, "stop"),
        ({"temperature": 3}, "temperature"),
        ({"max_tokens": "many"}, "max_tokens"),
        ({"response_format": {"type": "grammar"}}, "response_format"),
        ({"tools": [{"type": "custom", "custom": {"name": "x"}}]}, "tools[0].type"),
        ({"tools": [openai_tool("two words")]}, "tools[0].function.name"),
        ({"tools": [openai_tool(), openai_tool()]}, "tools[1]"),
        ({"tools": [openai_tool("length")]}, "tools[0]"),
        ({"tools": [openai_tool("find_tools")]}, "tools[0]"),
        ({"tool_choice": "required"}, "tool_choice"),
        ({"tool_choice": "sometimes"}, "tool_choice"),
        ({"tool_choice": {"type": "function", "function": {"name": "no"}}}, "tool_choice"),
        ({"tool_choice": {"type": "custom"}}, "tool_choice"),
        ({"messages": []}, "messages"),
        ({"messages": [user(" ")]}, "messages"),
        ({"messages": [{"role": "system", "content": "Be brief."}]}, "messages"),
        ({"messages": [user("Hi."), {"role": "assistant", "content": "Hello."}]}, "messages"),
        ({"messages": [{"role": "function", "name": "f", "content": "1"}]}, "messages[0].role"),
        ({"messages": [user([{"type": "image_url", "image_url": {"url": "data:"}}])]}, "messages[0].content[0]"),
        ({"messages": [user([{"type": "input_audio", "input_audio": {}}])]}, "messages[0].content[0]"),
        ({"messages": [user("x"), {"role": "tool", "tool_call_id": "c", "content": "1"}]}, "messages"),
        (
            {"messages": [{"role": "assistant", "function_call": {"name": "f", "arguments": ""}}, user("x")]},
            "messages[0].function_call",
        ),
    ],
)
def test_what_cannot_be_done_is_refused_by_its_name(tmp_path, given, param):
    with openai_client(tmp_path) as (client, model), pytest.raises(openai.BadRequestError) as refused:
        complete(client, *given.pop("messages", [user("Hi.")]), **given)
    assert (refused.value.param, refused.value.type) == (param, "invalid_request_error")
    assert model.requests == []


def test_a_call_without_its_result_is_named(tmp_path):
    call = {"id": "c1", "type": "function", "function": {"name": "weather", "arguments": "{}"}}
    other = {**call, "id": "c2"}
    result = {"role": "tool", "tool_call_id": "c1", "content": "rain"}
    for messages in (
        [{"role": "assistant", "tool_calls": [call, other]}, result],
        [{"role": "assistant", "tool_calls": [other]}, user("And?")],
        [{"role": "assistant", "tool_calls": [other]}],
    ):
        with openai_client(tmp_path) as (client, _), pytest.raises(openai.BadRequestError, match=r"none for c2 \(weather\)"):
            complete(client, user("Weather?"), *messages)


def test_a_model_that_is_not_there_is_not_found(tmp_path):
    with openai_client(tmp_path) as (client, _):
        for name in ("gpt-4o", "rivers@openai:gpt-4o"):
            with pytest.raises(openai.NotFoundError) as refused:
                complete(client, user("Hi."), model=name)
            assert (refused.value.code, refused.value.param) == ("model_not_found", "model")


def test_the_default_model_may_also_be_named(tmp_path):
    with openai_client(tmp_path, "Yes.") as (client, _):
        answer = complete(client, user("Hi."), model="rivers@scripted")
        assert (answer.model, answer.choices[0].message.content) == ("rivers@scripted", "Yes.")
        assert client.models.retrieve("rivers@scripted").id == "rivers@scripted"


@pytest.mark.parametrize(
    ("error", "kind", "code"),
    [
        (ModelUnavailable("Too many.", status=429), openai.RateLimitError, None),
        (ModelUnavailable("Overloaded.", status=503), openai.InternalServerError, None),
        (ContextTooLong("Too long.", status=400), openai.BadRequestError, "context_length_exceeded"),
        (ModelRefused("Bad temperature.", status=400), openai.BadRequestError, None),
        (ModelRefused("Wrong key.", status=401), openai.InternalServerError, None),
    ],
)
def test_what_a_model_refuses_has_the_status_that_clients_know(tmp_path, error, kind, code):
    with openai_client(tmp_path, error, made=ONE_TRY) as (client, _), pytest.raises(kind, match=str(error)) as refused:
        complete(client, user("Hi."))
    assert refused.value.code == code


def test_a_turn_that_changed_something_and_failed_is_not_tried_again_by_the_client(tmp_path):
    done = Done()
    renames = asked("rename", {"river": "Rhine", "name": "Rhin"})
    replies = [renames, ModelUnavailable("Gone."), "never"]
    with (
        openai_client(tmp_path, *replies, made=rivers(done, limits=Limits(tries=1))) as (client, model),
        pytest.raises(openai.InternalServerError),
    ):
        complete(client.with_options(max_retries=2), user("Rename it."))
    assert (done.what, len(model.requests)) == (["renamed Rhine"], 2)


def test_what_stands_before_the_wire_refuses_in_its_shape(tmp_path):
    with openai_client(tmp_path, body_limit=1000) as (client, _):
        with pytest.raises(openai.APIStatusError) as refused:
            complete(client, user("x" * 2000))
        assert (refused.value.status_code, "bytes" in refused.value.body["message"]) == (413, True)
        with pytest.raises(openai.NotFoundError, match=r"Nothing is embedded here: .* Ask at /v1/chat/completions"):
            client.embeddings.create(model=MODEL, input="x")
        with pytest.raises(openai.NotFoundError, match="There is nothing at"):
            client.moderations.create(model=MODEL, input="x")


# approvals


def test_what_a_person_has_to_approve_is_said_with_where(tmp_path):
    done = Done()
    with openai_client(tmp_path, asked("dam", {"river": "Rhine"}, "I'd like to."), made=rivers(done)) as (client, _):
        answer = complete(client, user("Dam it."))
        message, base = answer.choices[0].message, str(client.base_url).removesuffix("/v1/")
    assert (answer.choices[0].finish_reason, message.tool_calls, done.what) == ("stop", None, [])
    waits = 'dam with {"river":"Rhine"} waits for a person\'s approval.'
    assert message.content == f"I'd like to.\n\n{waits} Approve or refuse it at {base}/runs/{answer._request_id}."


def test_long_arguments_of_what_waits_are_cut(tmp_path):
    with openai_client(tmp_path, asked("dam", {"river": "R" * 5000})) as (client, _):
        assert len(complete(client, user("Dam it.")).choices[0].message.content) < 600


# values


class River(BaseModel):
    name: str
    length: int


def test_an_answer_can_be_a_value(tmp_path):
    given = {"name": "Rhine", "length": 1233}
    looks = asked("length", {"river": "Rhine"}, "Let me look.")
    with openai_client(tmp_path, looks, asked("give_answer", given, "Here."), json.dumps(given)) as (client, _):
        parsed = client.chat.completions.parse(model=MODEL, messages=[user("Which?")], response_format=River)
        assert parsed.choices[0].message.parsed == River(**given)
        words = complete(client, user("Which?"), response_format={"type": "json_object"}, stream=True)
        assert json.loads(joined(words)[0]) == given


def test_text_may_be_asked_for_by_name(tmp_path):
    with openai_client(tmp_path, "Yes.") as (client, _):
        assert complete(client, user("Hi."), response_format={"type": "text"}).choices[0].message.content == "Yes."


# models


def test_assistants_are_listed_as_models(tmp_path):
    with openai_client(tmp_path) as (client, _):
        listed = list(client.models.list())
        assert [(each.id, each.owned_by, each.object) for each in listed] == [(MODEL, "treadle", "model")]
        assert client.models.retrieve(MODEL).id == MODEL
        with pytest.raises(openai.NotFoundError):
            client.models.retrieve("seas")


def test_without_assistants_the_list_is_empty(tmp_path):
    with Serving(tmp_path) as server, openai.OpenAI(base_url=f"{server.url}/v1", api_key="x") as client:
        assert list(client.models.list()) == []


def test_several_calls_of_its_own_run_in_one_turn(tmp_path):
    done = Done()
    both = several(("length", {"river": "Rhine"}), ("rename", {"river": "Rhine", "name": "Rhin"}))
    with openai_client(tmp_path, both, "Done.", made=rivers(done)) as (client, _):
        assert complete(client, user("Do it.")).choices[0].message.content == "Done."
    assert sorted(done.what) == ["looked at Rhine", "renamed Rhine"]
