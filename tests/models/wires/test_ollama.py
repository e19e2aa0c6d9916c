"""Ollama's own wire: the window that is asked for, and what happens where it is too small."""

import asyncio

import pytest
from msgspec.structs import replace

import wire
from treadle.core.calls import Call, Result
from treadle.core.errors import ContextTooLong, SettingsError
from treadle.core.messages import Message, Text, person_message
from treadle.core.requests import Options, Traits, Usage
from treadle.models.wires.ollama import Ollama, from_name, is_ollama_running, list_ollama_models, ollama_address
from wire import WireServer, ask, calls_in, collect, hear, lines, request, text_in
from wire.script import Used


def sent(asked, **settings):
    with WireServer([wire.reply("fine", used=None)]) as server:
        ask(wire.model(server, "ollama", **settings), asked)
    return server.requests[0].body


def test_messages_as_this_wire_has_them():
    history = (
        person_message("Add 1 and 2."),
        Message("model", (Text("I'll add."), Call("c1", "add", {"a": 1}))),
        Message("tools", (Result("c1", "add", "3"),)),
        Message("model", (Text("Three."),)),
    )
    assert sent(request(*history, note="Go on."))["messages"] == [
        {"role": "system", "content": "Be brief."},
        {"role": "user", "content": "Add 1 and 2."},
        {
            "role": "assistant",
            "content": "I'll add.",
            "tool_calls": [{"id": "c1", "function": {"name": "add", "arguments": {"a": 1}}}],
        },
        {"role": "tool", "tool_name": "add", "tool_call_id": "c1", "content": "3"},
        {"role": "assistant", "content": "Three."},
        {"role": "user", "content": "[Go on.]"},
    ]


def test_a_note_after_a_persons_words_joins_them():
    assert sent(request("hi", note="Go on."))["messages"][-1] == {"role": "user", "content": "hi\n\n[Go on.]"}


def test_a_reply_can_be_held_to_a_shape():
    shape = {"type": "object", "properties": {"answer": {"type": "string"}}}
    assert sent(request(shape=shape))["format"] == shape
    assert "format" not in sent(request())


def test_options_as_this_wire_has_them():
    extra = {"think": True, "keep_alive": "10m", "options": {"top_k": 5, "mirostat": 1}}
    body = sent(request(options=Options(temperature=0.5, max_tokens=100, top_p=0.9, seed=7, stop=("END",), extra=extra)))
    del body["messages"]
    assert body == {
        "model": "wired",
        "stream": True,
        "truncate": False,
        "shift": False,
        "think": True,
        "keep_alive": "10m",
        "options": {
            "temperature": 0.5,
            "num_predict": 100,
            "top_p": 0.9,
            "seed": 7,
            "stop": ["END"],
            "top_k": 5,
            "mirostat": 1,
            "num_ctx": 4096,
        },
    }


@pytest.mark.parametrize(
    ("size", "context", "window"),
    [
        (10, None, 4096),
        (10_000, None, 8192),
        (30_000, None, 16384),
        (200_000, None, 32768),
        (200_000, 131072, 131072),
        (10, 2048, 2048),
    ],
)
def test_the_window_is_large_enough_for_the_request(size, context, window):
    assert sent(request("x" * size), context=context)["options"]["num_ctx"] == window


def test_the_window_leaves_room_for_the_reply():
    assert sent(request(options=Options(max_tokens=10_000)))["options"]["num_ctx"] == 16384


def test_a_window_asked_for_by_hand_is_asked_for():
    assert sent(request("x" * 100_000, options=Options(extra={"options": {"num_ctx": 6000}})))["options"]["num_ctx"] == 6000


def test_the_window_never_shrinks():
    with WireServer(lambda _: "fine") as server:

        async def long_then_short():
            model = wire.model(server, "ollama")
            for words in ("x" * 20_000, "x"):
                await collect(model, request(words))

        asyncio.run(long_then_short())
    assert [received.body["options"]["num_ctx"] for received in server.requests] == [16384, 16384]


@pytest.mark.parametrize("stream", [True, False])
def test_a_window_that_the_reply_has_filled_was_too_small(stream):
    with WireServer([wire.reply("Once upon a", finish="length", used=Used(read=4000, wrote=96))]) as server:
        _, error = hear(wire.model(server, "ollama", stream=stream))
    assert type(error) is ContextTooLong
    assert "4096 tokens" in str(error)
    assert error.usage == Usage(requests=1, input_tokens=4000, output_tokens=96)


def test_a_prompt_of_which_too_little_was_read_was_cut():
    with WireServer([wire.reply("What?", used=Used(read=3000, wrote=5))]) as server:
        _, error = hear(wire.model(server, "ollama", context=4096), request("words " * 10_000))
    assert type(error) is ContextTooLong


def test_a_prompt_that_was_denser_than_feared_was_not_cut():
    with WireServer([wire.reply("Yes.", used=Used(read=3900, wrote=5))]) as server:
        deltas = ask(wire.model(server, "ollama", context=4096), request("words " * 3000))
    assert text_in(deltas) == "Yes."


def test_calls_of_one_line_arrive_with_ids_and_text():
    asked = [{"function": {"name": "add", "arguments": {"a": 1}}}, {"function": {"name": "add", "arguments": '{"a": 2}'}}]
    asked += [{"id": "x", "function": {"name": "now"}}]
    with WireServer([lines({"message": {"content": "", "tool_calls": asked}}, {"done": True, "done_reason": "stop"})]) as server:
        calls = calls_in(ask(wire.model(server, "ollama")))
    assert [(one.id, one.name, one.text) for one in calls] == [
        ("call_1_1", "add", '{"a":1}'),
        ("call_1_2", "add", '{"a": 2}'),
        ("x", "now", "{}"),
    ]


def test_what_comes_after_the_end_is_not_read():
    with WireServer([lines({"message": {"content": "hi"}, "done": True}, {"error": "late"})]) as server:
        assert text_in(ask(wire.model(server, "ollama"))) == "hi"


@pytest.mark.parametrize(
    ("host", "address"),
    [
        ("", "http://127.0.0.1:11434"),
        ("example", "http://example:11434"),
        ("example:80", "http://example:80"),
        (":8080", "http://127.0.0.1:8080"),
        ("0.0.0.0", "http://127.0.0.1:11434"),
        ("0.0.0.0:8080", "http://127.0.0.1:8080"),
        ("http://example", "http://example"),
        ("https://example:8443/ollama/", "https://example:8443/ollama"),
        ("[::1]:8080", "http://[::1]:8080"),
    ],
)
def test_the_address_is_read_as_ollama_reads_it(monkeypatch, host, address):
    monkeypatch.setenv("OLLAMA_HOST", host)
    assert ollama_address() == address
    monkeypatch.delenv("OLLAMA_HOST")
    assert ollama_address(host) == address


def test_an_address_that_is_none_is_a_matter_of_settings():
    with pytest.raises(SettingsError, match="no address of an Ollama"):
        Ollama("x", base_url="host:99999")


def test_the_model_behind_a_name():
    model = from_name("qwen3", context=8192)
    assert isinstance(model, Ollama)
    assert model.name == "ollama:qwen3"
    traits = Traits(context=8192, modalities=frozenset(("image",)), structured_output="without_tools")
    assert model.traits == traits
    assert from_name("qwen3").traits == replace(traits, context=32768)


def test_a_running_server_is_found():
    with WireServer() as server:
        assert asyncio.run(is_ollama_running(server.url))
        assert asyncio.run(is_ollama_running(server.url.removeprefix("http://")))
        assert not asyncio.run(is_ollama_running(f"{server.url}/elsewhere"))


def test_a_server_that_is_not_there_is_not_running():
    with WireServer() as server:
        pass
    assert not asyncio.run(is_ollama_running(server.url))
    assert not asyncio.run(is_ollama_running("https://127.0.0.1:1"))
    assert not asyncio.run(is_ollama_running("example:99999"))


def test_a_server_that_says_nothing_is_not_running():
    with WireServer() as server:
        assert not asyncio.run(is_ollama_running(server.url.replace("http", "https"), seconds=0.2))


def test_installed_models_are_listed_without_those_that_only_embed():
    models = [
        {"name": "qwen3:8b", "details": {"family": "qwen3"}},
        {"name": "nomic-embed-text:latest", "details": {"family": "nomic-bert"}},
        {"name": "all-minilm:latest", "details": {"family": "bert"}},
        {"name": "llama3.2:latest"},
    ]
    with WireServer() as server:
        server.tags = {"models": models}
        assert asyncio.run(list_ollama_models(server.url)) == ["qwen3:8b", "llama3.2:latest"]
        server.tags = {"models": None}
        assert asyncio.run(list_ollama_models(server.url)) == []
        server.tags = "nonsense"
        assert asyncio.run(list_ollama_models(server.url)) == []
    assert asyncio.run(list_ollama_models(server.url)) == []


def test_how_likely_the_first_token_was_is_told():
    likely = [
        {"token": "yes", "logprob": -0.1, "top_logprobs": [{"token": "yes", "logprob": -0.1}, {"token": "no", "logprob": -2.4}]}
    ]
    later = [{"token": "!", "logprob": 0.0, "top_logprobs": [{"token": "!", "logprob": 0.0}]}]
    said = {"message": {"content": "yes"}, "logprobs": likely}, {"message": {"content": "!"}, "logprobs": later}
    with WireServer([lines(*said, {"done": True, "done_reason": "stop"})]) as server:
        deltas = ask(wire.model(server, "ollama"))
    assert deltas[-1].chances == {"yes": -0.1, "no": -2.4}


@pytest.mark.parametrize(
    ("name", "effort", "think"),
    [
        ("qwen3", None, None),
        ("qwen3", "none", False),
        ("qwen3", "high", True),
        ("gpt-oss:20b", "xhigh", "high"),
        ("gpt-oss", "none", "low"),
    ],
)
def test_how_much_it_should_think(name, effort, think):
    with WireServer(["fine"]) as server:
        ask(wire.model(server, "ollama", name=name), request(options=Options(reasoning=effort)))
    assert server.requests[0].body.get("think") == think
