"""OpenAI's wire: what is sent, and the many odd ways in which servers write calls."""

import json

import pytest

import wire
from treadle.core.calls import Call, Result, Written
from treadle.core.errors import MissingKey, ModelUnavailable
from treadle.core.messages import Message, Text, Thinking, person_message
from treadle.core.requests import CallDelta, Options, Progress, ReplyEnded, TextDelta, ThinkingDelta, Traits, Usage
from treadle.models.wires.openai import OPENAI_URL, OpenAI, from_name
from wire import WireServer, ask, calls_in, events, hear, raw, request, text_in, thinking_in

ROUND = (
    person_message("Add 1 and 2."),
    Message(
        "model", (Thinking("Easy."), Text("I'll "), Text("add."), Call("c1", "add", {"a": 1, "b": "é"}), Call("c2", "now", {}))
    ),
    Message("tools", (Result("c1", "add", "3"), Result("c2", "now", "no clock", problem="raised"))),
)


def sent(asked, **settings):
    with WireServer(["fine"]) as server:
        ask(wire.model(server, **settings), asked)
    return server.requests[0].body


def heard(*chunks, done=True):
    with WireServer([events(*chunks, done=done)]) as server:
        return ask(wire.model(server))


def delta(finish=None, **fields):
    return {"choices": [{"index": 0, "delta": fields, "finish_reason": finish}]}


def piece(index=0, call_id=None, name=None, arguments=None, **function):
    fields = {"index": index, "id": call_id, "function": {"name": name, "arguments": arguments, **function}}
    return {name: value for name, value in fields.items() if value is not None}


def pieces(*given, finish="tool_calls"):
    return [*(delta(tool_calls=[one]) for one in given), delta(finish)]


def written(deltas):
    return [(one.id, one.name, one.text) for one in calls_in(deltas)]


# What is sent


def test_messages_as_this_wire_has_them():
    assert sent(request(*ROUND))["messages"] == [
        {"role": "system", "content": "Be brief."},
        {"role": "user", "content": "Add 1 and 2."},
        {
            "role": "assistant",
            "content": "I'll add.",
            "tool_calls": [
                {"id": "c1", "type": "function", "function": {"name": "add", "arguments": '{"a":1,"b":"é"}'}},
                {"id": "c2", "type": "function", "function": {"name": "now", "arguments": "{}"}},
            ],
        },
        {"role": "tool", "tool_call_id": "c1", "content": "3"},
        {"role": "tool", "tool_call_id": "c2", "content": "no clock"},
    ]


def test_calls_without_words_have_no_content():
    assert sent(request("hi", Message("model", (Call("c1", "now", {}),)), *ROUND[2:]))["messages"][2]["content"] is None


def test_a_note_after_results_is_a_message_of_the_user():
    assert sent(request(*ROUND, note='Say "done".'))["messages"][-1] == {"role": "user", "content": '[Say "done".]'}


def test_a_note_after_a_persons_words_joins_them():
    assert sent(request("hi", note='Say "done".'))["messages"][1:] == [{"role": "user", "content": 'hi\n\n[Say "done".]'}]


def test_options_as_this_wire_has_them():
    options = Options(temperature=0.5, max_tokens=100, top_p=0.9, seed=7, stop=("END",), extra={"logprobs": True, "top_p": None})
    body = sent(request(options=options))
    del body["messages"]
    assert body == {
        "model": "wired",
        "stream": True,
        "stream_options": {"include_usage": True},
        "temperature": 0.5,
        "max_tokens": 100,
        "seed": 7,
        "stop": ["END"],
        "logprobs": True,
    }


def test_a_whole_reply_is_asked_for_without_options_for_streams():
    body = sent(request(), stream=False)
    assert body["stream"] is False
    assert "stream_options" not in body


def test_the_public_endpoint_gets_the_newer_name_of_the_limit():
    body = OpenAI("gpt-5", api_key="k", base_url=OPENAI_URL)._body(request(options=Options(max_tokens=9)))
    assert json.loads(body)["max_completion_tokens"] == 9
    assert "max_tokens" not in json.loads(body)


# Names, keys and addresses


def test_the_public_endpoint_needs_a_key(monkeypatch):
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    monkeypatch.delenv("OPENAI_BASE_URL", raising=False)
    with pytest.raises(MissingKey, match="OPENAI_API_KEY"):
        from_name("gpt-5")


def test_the_key_and_the_address_come_from_the_environment(monkeypatch):
    with WireServer(["fine"]) as server:
        monkeypatch.setenv("OPENAI_API_KEY", "from-environment")
        monkeypatch.setenv("OPENAI_BASE_URL", f"{server.url}/v9/")
        model = from_name("gpt-5", context=1000)
        ask(model)
    assert model.name == "openai:gpt-5"
    expected = Traits(context=1000, reasons=True, modalities=frozenset(("image", "document")), structured_output="yes")
    assert model.traits == expected
    assert server.requests[0].path == "/v9/chat/completions"
    assert server.requests[0].headers["authorization"] == "Bearer from-environment"


def test_a_server_of_ones_own_needs_no_key(monkeypatch):
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    with WireServer(["fine"]) as server:
        assert text_in(ask(OpenAI("local", base_url=server.url))) == "fine"
    assert "authorization" not in server.requests[0].headers


# What comes back


def test_arguments_may_come_as_an_object():
    deltas = heard(*pieces(piece(0, "a", "add", {"x": [1, 2.5]})))
    assert written(deltas) == [("a", "add", '{"x":[1,2.5]}')]


def test_a_call_without_id_gets_one():
    assert written(heard(*pieces(piece(0, None, "add", '{"x":1}'), piece(1, "", "now", "{}")))) == [
        ("call_1_1", "add", '{"x":1}'),
        ("call_1_2", "now", "{}"),
    ]


def test_a_name_that_is_repeated_with_every_piece_is_one_call():
    for call_id in ("a", None):
        deltas = heard(*pieces(piece(0, call_id, "add", '{"x"'), piece(0, call_id, "add", ":1}"), piece(0, call_id, "add", "")))
        assert [(name, text) for _, name, text in written(deltas)] == [("add", '{"x":1}')]
        assert len([one for one in deltas if isinstance(one, CallDelta)]) == 1


def test_an_id_that_changes_with_every_piece_is_one_call():
    assert written(heard(*pieces(piece(0, "a", "add", '{"x"'), piece(0, "b", None, ":1}")))) == [("a", "add", '{"x":1}')]


def test_one_index_for_several_calls_is_several_calls():
    assert written(heard(*pieces(piece(0, "a", "add", '{"x":1}'), piece(0, "b", "add", '{"x":2}')))) == [
        ("a", "add", '{"x":1}'),
        ("b", "add", '{"x":2}'),
    ]


def test_one_index_for_several_calls_without_ids_is_several_calls():
    assert [text for *_, text in written(heard(*pieces(piece(0, None, "add", '{"x":1}'), piece(0, None, "add", '{"x":2}'))))] == [
        '{"x":1}',
        '{"x":2}',
    ]


def test_calls_without_index_are_told_apart():
    chunks = pieces(
        piece(None, "a", "add", '{"x":'),
        piece(None, None, None, "1}"),
        piece(None, "b", "now", "{}"),
        piece(None, None, "other", ""),
        piece(None, None, None, '{"y":2}'),
        piece(None, None, "other", '{"y":3}'),
    )
    assert [(name, text) for _, name, text in written(heard(*chunks))] == [
        ("add", '{"x":1}'),
        ("now", "{}"),
        ("other", '{"y":2}'),
        ("other", '{"y":3}'),
    ]


def test_calls_whose_pieces_alternate_are_put_together():
    chunks = pieces(
        piece(0, "a", "add", '{"x":'),
        piece(1, "b", "add", '{"x":'),
        piece(0, None, None, "1}"),
        piece(1, None, None, "2}"),
    )
    assert written(heard(*chunks)) == [("a", "add", '{"x":1}'), ("b", "add", '{"x":2}')]


def test_several_calls_in_one_chunk():
    both = delta(tool_calls=[piece(0, "a", "add", '{"x":1}'), piece(1, "b", "now", "{}")])
    assert written(heard(both, delta("tool_calls"))) == [("a", "add", '{"x":1}'), ("b", "now", "{}")]


def test_an_empty_object_before_the_arguments_is_not_taken_for_them():
    assert written(heard(*pieces(piece(0, "a", "add", "{}"), piece(0, None, None, '{"x":1}')))) == [("a", "add", '{}{"x":1}')]


def test_a_name_may_come_after_the_arguments():
    deltas = heard(*pieces(piece(0, "a", None, '{"x":1}'), piece(0, "a", "add", None)))
    assert written(deltas) == [("a", "add", '{"x":1}')]


def test_a_call_without_a_name_is_handed_on_without_one():
    assert written(heard(*pieces(piece(0, "a", None, '{"x":1}')))) == [("a", "", '{"x":1}')]


def test_a_call_without_a_function_is_a_call_all_the_same():
    assert written(heard(delta(tool_calls=[{"index": 0, "id": "a"}]), delta("tool_calls"))) == [("a", "", "{}")]


def test_the_old_form_of_a_call_is_understood():
    deltas = heard(
        delta(function_call={"name": "add", "arguments": ""}),
        delta(function_call={"arguments": '{"x":1}'}),
        delta("function_call"),
    )
    assert written(deltas) == [("call_1_1", "add", '{"x":1}')]
    assert deltas[-1].finish == "calls"


def test_the_old_form_beside_the_new_one_is_no_second_call():
    message = {"role": "assistant", "tool_calls": [piece(0, "a", "now", "{}")], "function_call": {"name": "now", "arguments": "{}"}}
    with WireServer([raw(json.dumps({"choices": [{"message": message}]}).encode(), content_type="application/json")]) as server:
        assert written(ask(wire.model(server, stream=False))) == [("a", "now", "{}")]


def test_nulls_and_empty_choices_are_no_trouble():
    deltas = heard(
        {"choices": []},
        {"choices": None},
        {},
        {"choices": [{"delta": None, "finish_reason": None}]},
        delta(content=None, tool_calls=None, reasoning=None),
        delta(content=""),
        delta(content="hi", refusal=None),
        delta("stop"),
        {"choices": [], "usage": None},
    )
    assert deltas == [TextDelta("hi"), ReplyEnded("done", Usage(requests=1), "openai:wired")]


def test_finish_reasons_of_other_servers():
    for reason, finish in (
        ("eos", "done"),
        ("end_turn", "done"),
        ("max_tokens", "length"),
        ("model_length", "length"),
        ("MAX_TOKENS", "length"),
        ("safety", "filtered"),
        ("SAFETY", "filtered"),
        ("RECITATION", "filtered"),
        ("content_filter: PROHIBITED_CONTENT", "filtered"),
    ):
        assert heard(delta(content="hi"), delta(reason))[-1].finish == finish


def test_a_reply_with_calls_finishes_for_them_whatever_the_server_says():
    assert heard(*pieces(piece(0, "a", "now", "{}"), finish="stop"))[-1].finish == "calls"


def test_a_model_that_stopped_for_an_error_is_unavailable():
    for reason in (
        "error",
        "insufficient_system_resource",
        "MALFORMED_FUNCTION_CALL",
        "function_call_filter: MALFORMED_FUNCTION_CALL",
    ):
        with WireServer([events(delta(content="hi"), delta(reason))]) as server:
            deltas, error = hear(wire.model(server))
        assert text_in(deltas) == "hi"
        assert type(error) is ModelUnavailable


@pytest.mark.parametrize(
    "failure",
    [
        {"message": "Encountered a server error.", "type": "server_error", "param": "", "code": ""},
        {"choices": [{"delta": {"content": ""}, "finish_reason": "error", "error": {"code": 502, "message": "It failed."}}]},
    ],
)
def test_an_error_in_a_stream_may_stand_beside_or_inside_of_choices(failure):
    with WireServer([events(delta(content="hi"), failure)]) as server:
        deltas, error = hear(wire.model(server))
    assert text_in(deltas) == "hi"
    assert type(error) is ModelUnavailable
    assert (failure.get("message") or "It failed.") in str(error)


def test_a_stream_may_end_with_a_reason_and_no_more():
    assert heard(delta(content="hi"), delta("stop"), done=False)[-1].finish == "done"


def test_a_stream_may_end_without_a_reason_if_it_says_that_it_ended():
    deltas = heard(delta(content="hi"), delta(tool_calls=[piece(0, "a", "add", '{"x"')]))
    assert calls_in(deltas) == [Written("a", "add", '{"x"', cut=True)]
    assert deltas[-1].finish == "calls"


def test_thinking_goes_by_several_names():
    said = heard(
        delta(reasoning="a"),
        delta(reasoning_content="b"),
        delta(reasoning="c", reasoning_content="c"),
        delta(reasoning_text="d"),
        delta(reasoning_details=[{"type": "reasoning.text", "text": "e"}, {"type": "reasoning.encrypted", "data": "…"}]),
        delta(reasoning="f", reasoning_details=[{"type": "reasoning.text", "text": "f"}]),
        delta("stop"),
    )
    assert thinking_in(said) == "abcdef"


def test_content_may_come_in_parts():
    parts = [
        {"type": "thinking", "thinking": [{"type": "text", "text": "Hm"}, {"type": "text", "text": "."}]},
        {"type": "thinking", "thinking": "So."},
        {"type": "text", "text": "Four."},
        {"type": "reference", "reference_ids": [1]},
    ]
    deltas = heard(delta(content=parts), delta("stop"))
    assert deltas[:3] == [ThinkingDelta("Hm."), ThinkingDelta("So."), TextDelta("Four.")]


def test_a_refusal_is_what_the_model_says():
    assert text_in(heard(delta(refusal="I can't."), delta("stop"))) == "I can't."


def test_the_last_count_of_tokens_holds():
    counts = [{"choices": [], "usage": {"prompt_tokens": 5, "completion_tokens": count}} for count in (1, 2)]
    assert heard(delta("stop"), *counts)[-1].usage == Usage(requests=1, input_tokens=5, output_tokens=2)


COUNTED = {"prompt_tokens": 10, "completion_tokens": 5}


@pytest.mark.parametrize(
    ("last", "cached", "written_there"),
    [
        ({"choices": [], "usage": {**COUNTED, "cached_tokens": 4}}, 4, 0),
        ({"choices": [], "usage": {**COUNTED, "prompt_cache_hit_tokens": 4, "prompt_cache_miss_tokens": 6}}, 4, 0),
        ({"choices": [], "usage": {**COUNTED, "prompt_tokens_details": {"cached_tokens": 4, "cache_write_tokens": 3}}}, 4, 3),
        ({"choices": [{"delta": {}, "finish_reason": "stop", "usage": {**COUNTED, "cached_tokens": 4}}]}, 4, 0),
        ({**delta("stop"), "x_groq": {"id": "req", "usage": COUNTED}}, 0, 0),
        ({"choices": [], "usage": {"prompt_tokens": 10.0, "completion_tokens": "5"}}, 0, 0),
    ],
)
def test_tokens_are_counted_wherever_a_server_puts_them(last, cached, written_there):
    usage = Usage(requests=1, input_tokens=10, output_tokens=5, cache_read_tokens=cached, cache_write_tokens=written_there)
    assert heard(delta(content="hi"), delta("stop"), last)[-1].usage == usage


def test_counts_may_be_missing():
    usage = {"prompt_tokens": None, "prompt_tokens_details": {"cached_tokens": None}}
    assert heard(delta("stop"), {"usage": usage})[-1].usage == Usage(requests=1)


def test_a_whole_message_inside_of_a_stream_is_understood():
    assert text_in(heard({"choices": [{"message": {"content": "hi"}, "finish_reason": "stop"}]})) == "hi"


def function(arguments, **fields):
    return {"function": {"name": "add", "arguments": arguments}, **fields}


@pytest.mark.parametrize(
    "calls",
    [
        [function('{"x":1}', id="a"), function("{}", id="a")],
        [function('{"x":1}'), function({})],
        [function('{"x":1}'), function(None)],
        [function('{"x":1}', index=0), function("", index=0)],
    ],
)
def test_calls_of_a_whole_reply_are_as_many_as_there_are(calls):
    body = {"choices": [{"message": {"content": None, "tool_calls": calls}, "finish_reason": "tool_calls"}]}
    with WireServer([raw(json.dumps(body).encode(), content_type="application/json")]) as server:
        deltas = ask(wire.model(server, stream=False))
    assert [(name, text) for _, name, text in written(deltas)] == [("add", '{"x":1}'), ("add", "{}")]
    assert len({call_id for call_id, *_ in written(deltas)}) == 2


def test_a_reply_can_be_held_to_a_shape():
    shape = {"type": "object", "properties": {"answer": {"type": "string"}}}
    assert sent(request(shape=shape))["response_format"] == {
        "type": "json_schema",
        "json_schema": {"name": "reply", "schema": shape},
    }
    closed = {**shape, "required": ["answer"], "additionalProperties": False}
    assert sent(request(shape=closed))["response_format"]["json_schema"] == {"name": "reply", "schema": closed, "strict": True}
    assert "response_format" not in sent(request())


FIRST = {"token": "yes", "logprob": -0.2, "top_logprobs": [{"token": "yes", "logprob": -0.2}, {"token": "no", "logprob": -1.7}]}


def test_it_is_told_what_the_first_word_might_have_been():
    said = {"choices": [{"delta": {"content": "yes"}, "logprobs": {"content": [FIRST]}}]}
    later = {"choices": [{"delta": {"content": "!"}, "logprobs": {"content": [{"token": "!", "top_logprobs": []}]}}]}
    deltas = heard(said, later, delta("stop"))
    assert text_in(deltas) == "yes!"
    assert deltas[-1].chances == {"yes": -0.2, "no": -1.7}


def test_a_whole_reply_tells_it_too():
    body = {"choices": [{"message": {"content": "yes"}, "logprobs": {"content": [FIRST]}, "finish_reason": "stop"}]}
    with WireServer([raw(json.dumps(body).encode(), content_type="application/json")]) as server:
        assert ask(wire.model(server, stream=False))[-1].chances == {"yes": -0.2, "no": -1.7}


def test_no_word_at_all_might_have_been_nothing():
    assert heard({"choices": [{"delta": {"content": "a"}, "logprobs": {"content": []}}]}, delta("stop"))[-1].chances == {}


def test_llama_cpp_says_how_far_it_is_with_the_prompt():
    read = {"prompt_progress": {"total": 1000, "cache": 200, "processed": 600, "time_ms": 7}}
    first = {"choices": [{"delta": {"role": "assistant", "content": ""}}], **read}
    last = {"choices": [{"delta": {"content": "Hi"}, "finish_reason": "stop"}]}
    reported = []
    with WireServer([events(first, last), events(first, last)]) as server:
        model = OpenAI("m", base_url=f"{server.url}/v1")
        assert text_in(ask(model, request(progress=reported.append))) == "Hi"
        assert text_in(ask(model)) == "Hi"  # nobody wants to know
    assert reported[0] == Progress("reading", 400, 800)
    assert [progress.stage for progress in reported] == ["reading", "writing"]
