"""The scripted model says what was written for it, in order, and shows what it was asked."""

import asyncio

import pytest

from treadle.core.calls import Written
from treadle.core.errors import ModelRefused, ModelUnavailable, SettingsError
from treadle.core.requests import CallDelta, CallDone, ReplyEnded, TextDelta, ThinkingDelta, Traits, Usage
from treadle.models.scripted import Scripted, ScriptedCall, ScriptedReply, calls, from_name
from wire import ask, calls_in, hear, request, text_in

ENDED = ReplyEnded("done", Usage(requests=1), "scripted")


def test_words_are_a_reply():
    assert ask(Scripted("Hello.")) == [TextDelta("Hello."), ENDED]


def test_words_may_be_streamed_in_pieces():
    assert ask(Scripted("Hello.", chunk=4)) == [TextDelta("Hell"), TextDelta("o."), ENDED]


def test_no_words_are_an_empty_reply():
    assert ask(Scripted("")) == [ENDED]


def test_calls_are_a_reply():
    model = Scripted("hi", calls(("add", {"a": 1}), ("now", "{broken"), text="Let me see."))
    ask(model)
    assert ask(model) == [
        TextDelta("Let me see."),
        CallDelta("call_2_1", "add"),
        CallDone(Written("call_2_1", "add", '{"a":1}')),
        CallDelta("call_2_2", "now"),
        CallDone(Written("call_2_2", "now", "{broken")),
        ReplyEnded("calls", Usage(requests=1), "scripted"),
    ]


def test_an_answer_says_everything():
    usage = Usage(requests=1, input_tokens=5)
    answer = ScriptedReply(thinking="Hm.", calls=(ScriptedCall("add", '{"a"', id="x"),), usage=usage, finish="length")
    assert ask(Scripted(answer)) == [
        ThinkingDelta("Hm."),
        CallDelta("x", "add"),
        CallDone(Written("x", "add", '{"a"', cut=True)),
        ReplyEnded("length", usage, "scripted"),
    ]


def test_an_exception_is_raised_and_the_next_request_goes_on():
    model = Scripted(ModelUnavailable("busy"), "fine")
    assert type(hear(model)[1]) is ModelUnavailable
    assert text_in(ask(model)) == "fine"


def test_deltas_are_given_as_they_are_with_exceptions_between_them():
    deltas, error = hear(Scripted([TextDelta("so far"), ModelUnavailable("gone")]))
    assert deltas == [TextDelta("so far")]
    assert type(error) is ModelUnavailable


def test_a_function_of_the_request_may_answer():
    model = Scripted(lambda asked: f"{len(asked.history)} messages", lambda _: calls(("now", {})))
    assert text_in(ask(model, request("a", "b"))) == "2 messages"
    assert [one.name for one in calls_in(ask(model))] == ["now"]


def test_a_function_may_take_its_time():
    async def slowly(_):
        await asyncio.sleep(0)
        yield TextDelta("at last")

    assert ask(Scripted(slowly)) == [TextDelta("at last")]


def test_a_script_that_is_over_says_so():
    model = Scripted("one")
    ask(model)
    with pytest.raises(ModelRefused, match="no reply left for request 2; it has 1"):
        ask(model)


def test_requests_are_shown():
    model = Scripted("one", "two", name="me", traits=Traits(context=5))
    asked = [request("a"), request("b", note="quick")]
    for one in asked:
        ask(model, one)
    assert model.requests == asked
    assert (model.name, model.traits) == ("me", Traits(context=5))


FILES = {
    "script.json": '["hi", {"text": "so", "calls": [{"name": "add", "arguments": {"a": 1}}], "usage": {"input_tokens": 5}}]',
    "script.jsonl": '"hi"\n\n{"text": "so", "calls": [{"name": "add", "arguments": {"a": 1}}], "usage": {"input_tokens": 5}}\n',
    "script.toml": """
        replies = ["hi", {text = "so", calls = [{name = "add", arguments = {a = 1}}], usage = {input_tokens = 5}}]
    """,
    "named.json": """
        {"replies": ["hi", {"text": "so", "calls": [{"name": "add", "arguments": {"a": 1}}], "usage": {"input_tokens": 5}}]}
    """,
}


@pytest.mark.parametrize("file", FILES)
def test_a_script_may_be_a_file(tmp_path, file):
    path = tmp_path / file
    path.write_text(FILES[file])
    model = from_name(str(path), chunk=1)
    assert model.name == f"scripted:{path}"
    assert ask(model)[:2] == [TextDelta("h"), TextDelta("i")]
    second = ask(model)
    assert calls_in(second) == [Written("call_2_1", "add", '{"a":1}')]
    assert second[-1].usage == Usage(input_tokens=5)


def test_a_file_that_is_not_there_is_a_matter_of_settings(tmp_path):
    with pytest.raises(SettingsError, match="can't be opened"):
        from_name(str(tmp_path / "none.json"))


@pytest.mark.parametrize(
    ("file", "content"),
    [
        ("a.json", "{"),
        ("a.json", '[{"texts": "typo"}]'),
        ("a.jsonl", "[1]"),
        ("a.toml", "replies = 1"),
        ("a.toml", "= ="),
        ("a.json", b"\xff"),
    ],
)
def test_a_file_that_is_no_script_is_a_matter_of_settings(tmp_path, file, content):
    path = tmp_path / file
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    with pytest.raises(SettingsError, match="can't be read"):
        from_name(str(path))
