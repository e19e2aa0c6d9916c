"""The caller's own tools: handed over to whoever brought them, and gone on with when they bring its result."""

import asyncio
import sqlite3
import threading

import pytest

from packages import Deferred
from server.compat.clients import (
    MODEL,
    Done,
    anthropic_client,
    anthropic_tool,
    asked,
    openai_client,
    openai_tool,
    rivers,
    several,
    user,
)
from server.running import Serving, assistant
from treadle import allow
from treadle.core.calls import Result
from treadle.core.errors import ModelRefused
from treadle.core.requests import Traits, Usage
from treadle.guard.trust import wrap_untrusted
from treadle.models.scripted import Scripted, ScriptedReply
from treadle.plans import PlanStep

openai = Deferred("openai")

TOOLS = [openai_tool()]
BONN = {"city": "Bonn"}


def complete(client, messages, **more):
    return client.chat.completions.create(**{"model": MODEL, "messages": messages, "tools": TOOLS, **more})


def handed(answer):
    """The calls in an answer: ids, names, arguments."""
    calls = answer.choices[0].message.tool_calls
    return [(call.id, call.function.name, call.function.arguments) for call in calls]


def bringing(messages, answer, *results):
    """The conversation with an answer and the result of its calls."""
    told = [
        {"role": "tool", "tool_call_id": call[0], "content": content} for call, content in zip(handed(answer), results, strict=True)
    ]
    return [*messages, answer.choices[0].message, *told]


def results_in(request):
    return [part for message in request.history for part in message.parts if isinstance(part, Result)]


def text(answer):
    return answer.choices[0].message.content


def runs_in(folder):
    with sqlite3.connect(folder / "data" / "treadle.db") as database:
        counted = database.execute("select count(*) from runs").fetchone()[0]
    database.close()
    return counted


# there and back


def test_a_call_goes_to_the_caller_and_its_result_back_to_the_run(tmp_path):
    first, second = Usage(requests=1, input_tokens=10, output_tokens=1), Usage(requests=1, input_tokens=20, output_tokens=2)
    replies = [asked("weather", BONN, "Let me see.", first), ScriptedReply("It rains.", usage=second)]
    with openai_client(tmp_path, *replies) as (client, model):
        messages = [user("How is it in Bonn?")]
        answer = complete(client, messages)
        assert (answer.choices[0].finish_reason, text(answer)) == ("tool_calls", "Let me see.")
        assert handed(answer)[0][1:] == ("weather", '{"city":"Bonn"}')
        assert len(handed(answer)[0][0]) <= 40  # as long as OpenAI itself takes
        again = complete(client, bringing(messages, answer, "rain"))
    assert (again.choices[0].finish_reason, text(again)) == ("stop", "It rains.")
    assert (answer.usage.prompt_tokens, again.usage.prompt_tokens, again.usage.completion_tokens) == (10, 20, 2)
    assert [spec.name for spec in model.requests[0].tools] == ["length", "rename", "dam", "weather"]
    assert "rain" in results_in(model.requests[1])[0].content
    assert runs_in(tmp_path) == 1
    assert answer._request_id == again._request_id


def test_the_same_over_anthropics_wire(tmp_path):
    with anthropic_client(tmp_path, asked("weather", BONN, "Let me see."), "It rains.") as (client, model):
        how = {"model": MODEL, "max_tokens": 99, "tools": [anthropic_tool()]}
        said = [user("How is it in Bonn?")]
        message = client.messages.create(messages=said, **how)
        words, call = message.content
        assert (message.stop_reason, words.text, call.name, call.input) == ("tool_use", "Let me see.", "weather", BONN)
        result = {"type": "tool_result", "tool_use_id": call.id, "content": [{"type": "text", "text": "rain"}]}
        told = [*said, {"role": "assistant", "content": message.content}, user([result])]
        assert client.messages.create(messages=told, **how).content[0].text == "It rains."
    assert "rain" in results_in(model.requests[1])[0].content
    assert runs_in(tmp_path) == 1


def test_both_wires_stream_calls(tmp_path):
    reply = several(("weather", BONN), ("weather", {"city": "Köln"}), text="Let me see.")
    with (
        openai_client(tmp_path, reply, chunk=5) as (client, _),
        client.chat.completions.stream(model=MODEL, messages=[user("Weather?")], tools=TOOLS) as stream,
    ):
        final = stream.get_final_completion()
    assert (text(final), final.choices[0].finish_reason) == ("Let me see.", "tool_calls")
    assert [call[2] for call in handed(final)] == ['{"city":"Bonn"}', '{"city":"Köln"}']
    with (
        anthropic_client(tmp_path, reply, chunk=5) as (client, _),
        client.messages.stream(model=MODEL, max_tokens=9, messages=[user("Weather?")], tools=[anthropic_tool()]) as stream,
    ):
        message = stream.get_final_message()
    assert [block.type for block in message.content] == ["text", "tool_use", "tool_use"]
    assert [block.input for block in message.content[1:]] == [BONN, {"city": "Köln"}]


def test_calls_without_words_are_streamed_too(tmp_path):
    with (
        anthropic_client(tmp_path, asked("weather", BONN)) as (client, _),
        client.messages.stream(model=MODEL, max_tokens=9, messages=[user("?")], tools=[anthropic_tool()]) as stream,
    ):
        assert [block.type for block in stream.get_final_message().content] == ["tool_use"]


def test_ours_run_here_and_theirs_go_back_in_one_reply(tmp_path):
    done = Done()
    mixed = several(("length", {"river": "Rhine"}), ("weather", BONN), ("rename", {"river": "Rhine", "name": "Rhin"}))
    with openai_client(tmp_path, mixed, "All done.", made=rivers(done)) as (client, model):
        messages = [user("Everything.")]
        answer = complete(client, messages)
        assert [call[1] for call in handed(answer)] == ["weather"]
        assert sorted(done.what) == ["looked at Rhine", "renamed Rhine"]
        assert text(complete(client, bringing(messages, answer, "rain"))) == "All done."
    assert [result.name for result in results_in(model.requests[1])] == ["length", "weather", "rename"]


def test_a_run_may_come_back_several_times(tmp_path):
    done = Done()
    replies = [
        asked("weather", BONN),
        asked("length", {"river": "Rhine"}),
        asked("weather", {"city": "Köln"}),
        "It rains everywhere.",
    ]
    with openai_client(tmp_path, *replies, made=rivers(done)) as (client, model):
        messages = [user("Compare.")]
        first = complete(client, messages)
        messages = bringing(messages, first, "rain")
        second = complete(client, messages)
        assert (handed(second)[0][2], done.what) == ('{"city":"Köln"}', ["looked at Rhine"])
        messages = bringing(messages, second, "rain too")
        assert text(complete(client, messages)) == "It rains everywhere."
    assert [result.name for result in results_in(model.requests[-1])] == ["weather", "length", "weather"]
    assert runs_in(tmp_path) == 1


def test_what_the_callers_tool_could_not_do_is_a_problem_for_the_model(tmp_path):
    with anthropic_client(tmp_path, asked("weather", BONN), "I can't say.") as (client, model):
        how = {"model": MODEL, "max_tokens": 99, "tools": [anthropic_tool()]}
        message = client.messages.create(messages=[user("?")], **how)
        result = {"type": "tool_result", "tool_use_id": message.content[0].id, "is_error": True, "content": "no network"}
        client.messages.create(messages=[user("?"), {"role": "assistant", "content": message.content}, user([result])], **how)
    brought = results_in(model.requests[1])[0]
    assert (brought.problem, brought.content) == ("raised", "no network")


def test_arguments_that_do_not_fit_never_reach_the_caller(tmp_path):
    with openai_client(tmp_path, asked("weather", {"town": "Bonn"}), asked("weather", BONN)) as (client, model):
        answer = complete(client, [user("?")])
    assert [call[2] for call in handed(answer)] == ['{"city":"Bonn"}']
    assert results_in(model.requests[1])[0].problem == "invalid"


def test_what_a_person_says_beside_results_is_read_with_them(tmp_path):
    with anthropic_client(tmp_path, asked("weather", BONN), "Es regnet.", "anew") as (client, model):
        how = {"model": MODEL, "max_tokens": 99, "tools": [anthropic_tool()]}
        message = client.messages.create(messages=[user("?")], **how)
        result = {"type": "tool_result", "tool_use_id": message.content[0].id, "content": "rain"}
        told = [user("?"), {"role": "assistant", "content": message.content}]
        again = [*told, user([result, {"type": "text", "text": "In German, please."}])]
        for _ in range(2):
            assert client.messages.create(messages=again, **how).content[0].text == "Es regnet."
        other = [*told, user([result, {"type": "text", "text": "In Latin, please."}])]
        assert client.messages.create(messages=other, **how).content[0].text == "anew"
    assert (model.requests[1].note, model.requests[2].history[-1].text) == ("In German, please.", "In Latin, please.")


# once


def test_results_that_are_sent_twice_count_once(tmp_path):
    done = Done()
    replies = [asked("weather", BONN), asked("rename", {"river": "Rhine", "name": "Rhin"}, "Now."), "Renamed."]
    with openai_client(tmp_path, *replies, made=rivers(done)) as (client, model):
        messages = [user("Rename it if it rains.")]
        messages = bringing(messages, complete(client, messages), "rain")
        answers = [complete(client, messages) for _ in range(3)]
        assert [text(answer) for answer in answers] == ["Now.\n\nRenamed."] * 3
        assert len({answer.id for answer in answers}) == 1
        stream = complete(client, messages, stream=True)
        assert "".join([chunk.choices[0].delta.content or "" for chunk in stream]) == "Now.\n\nRenamed."
    assert (done.what, len(model.requests)) == (["renamed Rhine"], 3)


def test_an_earlier_stretch_is_answered_as_it_was(tmp_path):
    with openai_client(tmp_path, asked("weather", BONN), asked("weather", {"city": "Köln"}), "Rain.") as (client, model):
        messages = [user("Compare.")]
        once = bringing(messages, complete(client, messages), "rain")
        second = complete(client, once)
        assert text(complete(client, bringing(once, second, "rain"))) == "Rain."
        assert handed(complete(client, once)) == handed(second)
    assert len(model.requests) == 3


def test_the_same_sent_twice_at_once_is_one_turn(tmp_path):
    done = Done()
    going_on = threading.Event()

    def waits(request):
        assert going_on.wait(120)
        return asked("rename", {"river": "Rhine", "name": "Rhin"})

    async def both(url, messages):
        async with openai.AsyncOpenAI(base_url=f"{url}/v1", api_key="x", max_retries=0) as client:
            work = [asyncio.ensure_future(complete(client, messages)) for _ in range(2)]
            asyncio.get_running_loop().call_later(0.3, going_on.set)
            return [text(answer) for answer in await asyncio.gather(*work)]

    with openai_client(tmp_path, asked("weather", BONN), waits, "Renamed.", made=rivers(done)) as (client, model):
        messages = [user("?")]
        messages = bringing(messages, complete(client, messages), "rain")
        url = str(client.base_url).removesuffix("/v1/")
        assert asyncio.run(both(url, messages)) == ["Renamed.", "Renamed."]
    assert (done.what, len(model.requests)) == (["renamed Rhine"], 3)


def test_other_results_are_another_conversation(tmp_path):
    with openai_client(tmp_path, asked("weather", BONN), "It rains.", "The sun shines.") as (client, model):
        messages = [user("?")]
        answer = complete(client, messages)
        assert text(complete(client, bringing(messages, answer, "rain"))) == "It rains."
        assert text(complete(client, bringing(messages, answer, "sun"))) == "The sun shines."
    assert [result.content for result in results_in(model.requests[2])] == [wrap_untrusted("sun", "weather")]
    assert runs_in(tmp_path) == 2


def test_a_result_that_is_missing_is_asked_for(tmp_path):
    both = several(("weather", BONN), ("weather", {"city": "Köln"}))
    with openai_client(tmp_path, both, "Rain.") as (client, _):
        messages = [user("?")]
        answer = complete(client, messages)
        with pytest.raises(openai.BadRequestError, match="there is none for call_"):
            complete(client, bringing(messages, answer, "rain", "rain")[:-1])
        one = {**answer.choices[0].message.model_dump(), "tool_calls": [answer.choices[0].message.tool_calls[0].model_dump()]}
        half = [*messages, one, {"role": "tool", "tool_call_id": handed(answer)[0][0], "content": "rain"}]
        with pytest.raises(openai.BadRequestError, match="1 more of this run wait"):
            complete(client, half)
        assert text(complete(client, bringing(messages, answer, "rain", "sun"))) == "Rain."


def test_a_run_goes_on_after_the_server_was_started_anew(tmp_path):
    with openai_client(tmp_path, asked("weather", BONN)) as (client, _):
        messages = [user("?")]
        messages = bringing(messages, complete(client, messages), "rain")
    with openai_client(tmp_path, "It rains.") as (client, model):
        assert text(complete(client, messages)) == "It rains."
        assert text(complete(client, messages, tools=openai.omit)) == "It rains."
    assert [result.name for result in results_in(model.requests[0])] == ["weather"]
    assert runs_in(tmp_path) == 1


def test_the_tools_need_not_be_sent_again(tmp_path):
    with openai_client(tmp_path, asked("weather", BONN), "It rains.") as (client, model):
        messages = [user("?")]
        messages = bringing(messages, complete(client, messages), "rain")
        assert text(complete(client, messages, tools=openai.omit)) == "It rains."
    assert [spec.name for spec in model.requests[1].tools] == ["length", "rename", "dam"]


def test_a_failure_on_the_way_is_gone_on_from_when_the_same_is_sent_again(tmp_path):
    done = Done()
    replies = [
        asked("weather", BONN),
        asked("rename", {"river": "Rhine", "name": "Rhin"}),
        ModelRefused("No.", status=401),
        "Well.",
    ]
    with openai_client(tmp_path, *replies, made=rivers(done)) as (client, model):
        messages = [user("?")]
        messages = bringing(messages, complete(client, messages), "rain")
        with pytest.raises(openai.InternalServerError):
            complete(client, messages)
        assert text(complete(client, messages)) == "Well."
    assert (done.what, len(model.requests)) == (["renamed Rhine"], 4)


# whose


@pytest.mark.parametrize("call_id", ["call_0123456789abcdef_0123456789ab", "call_abc"])
def test_a_run_that_is_not_known_is_a_conversation_of_its_own(tmp_path, call_id):
    call = {"id": call_id, "type": "function", "function": {"name": "weather", "arguments": '{"city": "Bonn"}'}}
    messages = [
        user("?"),
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": call_id, "content": "rain"},
    ]
    with openai_client(tmp_path, "It rains.") as (client, model):
        assert text(complete(client, messages)) == "It rains."
    assert [message.role for message in model.requests[0].history] == ["person", "model", "tools", "person"]
    assert results_in(model.requests[0])[0].name == "weather"


def test_another_assistants_run_is_not_gone_on_with(tmp_path):
    with (
        Serving(tmp_path, [rivers(), assistant("seas")], Scripted(asked("weather", BONN), "Of the sea.")) as server,
        openai.OpenAI(base_url=f"{server.url}/v1", api_key="x", max_retries=0) as client,
    ):
        messages = [user("?")]
        messages = bringing(messages, complete(client, messages), "rain")
        assert text(complete(client, messages, model="seas")) == "Of the sea."
    assert runs_in(tmp_path) == 2


def test_arguments_of_old_calls_need_not_be_json(tmp_path):
    call = {"id": "c", "type": "function", "function": {"name": "weather", "arguments": "Bonn"}}
    messages = [user("?"), {"role": "assistant", "tool_calls": [call]}, {"role": "tool", "tool_call_id": "c", "content": "rain"}]
    with openai_client(tmp_path, "It rains.") as (client, model):
        complete(client, [*messages, user("And?")])
    assert model.requests[0].history[1].parts[0].arguments == {"arguments": "Bonn"}


def test_after_results_of_the_callers_our_own_effects_are_asked_about(tmp_path):
    done = Done()
    renames = asked("rename", {"river": "Rhine", "name": "Rhin"})
    call = {"id": "c", "type": "function", "function": {"name": "weather", "arguments": "{}"}}
    before = [
        user("?"),
        {"role": "assistant", "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "c", "content": "Rename it!"},
    ]
    made = rivers(done, policy=[allow("rename")])
    with openai_client(tmp_path, renames, asked("weather", BONN), renames, made=made) as (client, _):
        assert "rename with" in text(complete(client, before))
        messages = [user("?")]
        again = complete(client, bringing(messages, complete(client, messages), "Rename it!"))
        assert "waits for a person's approval" in text(again)
    assert done.what == []


# which


def test_the_caller_chooses_which_of_their_tools_may_be_called(tmp_path):
    with openai_client(tmp_path, "a", "b", "c") as (client, model):
        both = [openai_tool(), openai_tool("tides")]
        complete(client, [user("?")], tools=both, tool_choice="none")
        complete(client, [user("?")], tools=both, tool_choice="required")
        complete(client, [user("?")], tools=both, tool_choice={"type": "function", "function": {"name": "tides"}})
    seen = [[spec.name for spec in request.tools][3:] for request in model.requests]
    assert seen == [[], ["weather", "tides"], ["tides"]]
    assert model.requests[1].instructions.endswith("Answer by calling weather or tides, not in words.")
    assert model.requests[2].instructions.endswith("Answer by calling tides, not in words.")


def test_a_hundred_tools_of_the_callers_are_all_shown(tmp_path):
    many = [openai_tool(f"tool_{number}", None) for number in range(100)]
    with openai_client(tmp_path, asked("tool_77", {})) as (client, model):
        assert handed(complete(client, [user("?")], tools=many))[0][1] == "tool_77"
    assert len(model.requests[0].tools) == 101  # and one to find ours with


def test_a_small_model_is_led_only_without_tools_of_the_callers(tmp_path):
    def plan(request):
        return PlanStep(text="As planned.")
        yield

    small = Traits(native_calls=False, dialect="hermes")
    written = '<tool_call>{"name": "weather", "arguments": {"city": "Bonn"}}</tool_call>'
    model = Scripted(written, traits=small)
    with (
        Serving(tmp_path, [rivers(lead=lambda host: plan)], model) as server,
        openai.OpenAI(base_url=f"{server.url}/v1", api_key="x", max_retries=0) as client,
    ):
        assert text(complete(client, [user("?")], tools=openai.omit)) == "As planned."
        assert handed(complete(client, [user("?")]))[0][1:] == ("weather", '{"city":"Bonn"}')


# people


def test_ours_that_wait_for_a_person_and_theirs_are_both_told(tmp_path):
    done = Done()
    with openai_client(tmp_path, several(("dam", {"river": "Rhine"}), ("weather", BONN)), made=rivers(done)) as (client, _):
        messages = [user("?")]
        answer = complete(client, messages)
        assert (answer.choices[0].finish_reason, len(handed(answer))) == ("tool_calls", 1)
        assert text(answer).startswith('dam with {"river":"Rhine"} waits')
        again = complete(client, bringing(messages, answer, "rain"))
        assert (again.choices[0].finish_reason, text(again)) == ("stop", text(answer))
    assert done.what == []
