"""A recording replays what was recorded, in any order, and says clearly where a request departs from it."""

import json

import msgspec
import pytest

import wire
from treadle.core.calls import Call, Result
from treadle.core.errors import ModelUnavailable, RecordingDeparted, SettingsError
from treadle.core.messages import Message, Text
from treadle.core.requests import Options, ToolSpec, Traits
from treadle.models.profiles import DEFAULT_WINDOW
from treadle.models.recorded import Recorded, from_name
from treadle.models.scripted import Scripted, ScriptedReply, calls
from treadle.models.wires.chat_media import MODALITIES
from wire import ADD, WireServer, ask, hear, request, text_in


@pytest.fixture
def file(tmp_path):
    return tmp_path / "deeper" / "recording.jsonl"


def record(file, *exchanges, **settings):
    """Record these requests with these replies."""
    model = Recorded(file, Scripted(*[reply for _, reply in exchanges], **settings), "record")
    return [ask(model, asked) for asked, _ in exchanges]


def departed(file, asked):
    with pytest.raises(RecordingDeparted) as caught:
        ask(Recorded(file), asked)
    return str(caught.value)


ROUND = (
    "Add 1 and 2.",
    Message("model", (Text("I'll add."), Call("c1", "add", {"a": 1, "b": 2}))),
    Message("tools", (Result("c1", "add", "3"),)),
)


def test_a_replay_gives_the_same_deltas_in_any_order(file):
    first, second = request("one", tools=(ADD,)), request(*ROUND, note="quick", options=Options(temperature=0.5))
    answer = ScriptedReply(thinking="Hm.", text="so", calls=calls(("add", {"a": 1})).calls)
    heard_first, heard_second = record(file, (first, "Hello there."), (second, answer), chunk=3)
    replay = Recorded(file)
    assert ask(replay, second) == heard_second
    assert ask(replay, first) == heard_first
    assert ask(replay, first) == heard_first


def test_a_replay_has_the_name_and_traits_of_what_was_recorded(file):
    record(file, (request(), "hi"), name="openai:gpt-5", traits=Traits(context=99))
    replay = from_name(str(file))
    assert (replay.name, replay.traits) == ("openai:gpt-5", Traits(context=99))


def test_a_real_model_can_be_recorded(file):
    with WireServer([wire.reply(wire.say("Hello."), wire.call("add", {"a": 1}))]) as server:
        heard = ask(Recorded(file, wire.model(server), "record"))
    assert ask(Recorded(file)) == heard


def test_a_recording_can_be_read_by_people_and_holds_no_secrets(file):
    secret = "sk-proj-abcdefghijklmnopqrstuvwxyz"
    with WireServer([f"Your key is {secret}"]) as server:
        ask(Recorded(file, wire.model(server), "record"), request(f"My key is {secret}"))
    about, exchange = map(json.loads, file.read_text().splitlines())
    assert (about["recording"], about["model"]) == (1, "openai:wired")
    assert msgspec.convert(about["traits"], Traits) == Traits(context=DEFAULT_WINDOW, modalities=MODALITIES)
    assert exchange["asked"]["history"][0]["role"] == "person"
    assert exchange["reply"][0]["delta"] == "text"
    assert secret not in file.read_text()
    assert "test-key" not in file.read_text()
    assert ask(Recorded(file), request(f"My key is {secret}"))


def test_the_same_request_gets_its_replies_in_order_and_the_last_one_again(file):
    record(file, (request(), "one"), (request(), "two"))
    replay = Recorded(file)
    assert [text_in(ask(replay)) for _ in range(3)] == ["one", "two", "two"]


def test_recording_begins_anew(file):
    record(file, (request("old"), "old"))
    record(file, (request("new"), "new"))
    assert text_in(ask(Recorded(file), request("new"))) == "new"
    assert "old" in departed(file, request("old"))


def test_auto_asks_for_what_is_missing_and_adds_it(file):
    for _ in range(2):
        inner = Scripted("fresh", "fresh too")
        model = Recorded(file, inner, "auto")
        assert [text_in(ask(model, request(words))) for words in ("a", "b", "a")] == ["fresh", "fresh too", "fresh"]
    assert inner.requests == []
    assert text_in(ask(Recorded(file, mode="auto"), request("b"))) == "fresh too"
    with pytest.raises(RecordingDeparted):
        ask(Recorded(file, mode="auto"), request("c"))


def test_auto_without_a_recording_or_a_model_has_nothing(file):
    model = Recorded(file, mode="auto")
    assert (model.name, model.traits) == (f"recorded:{file}", Traits())
    with pytest.raises(RecordingDeparted, match="Nothing is"):
        ask(model)


def test_a_reply_that_failed_is_not_recorded(file):
    model = Recorded(file, Scripted(ModelUnavailable("busy"), "fine"), "record")
    assert type(hear(model)[1]) is ModelUnavailable
    assert not file.exists()
    ask(model)
    assert text_in(ask(Recorded(file))) == "fine"


def test_recording_needs_a_model(file):
    with pytest.raises(SettingsError, match="a model is needed"):
        Recorded(file, mode="record")


def test_a_recording_that_is_not_there_is_a_matter_of_settings(file):
    with pytest.raises(SettingsError, match="There is no recording"):
        Recorded(file)


@pytest.mark.parametrize(
    "content",
    [b"", b"{", b'{"recording":1}', b'{"recording":1,"model":"m","traits":{}}\n{"asked":{},"reply":[{"delta":"new"}]}', b"\xff\n"],
)
def test_a_file_that_is_no_recording_is_a_matter_of_settings(file, content):
    file.parent.mkdir()
    file.write_bytes(content)
    with pytest.raises(SettingsError, match="can't be read"):
        Recorded(file)


def test_a_recording_of_a_newer_treadle_is_not_half_understood(file):
    file.parent.mkdir()
    file.write_text('{"recording":2,"model":"m","traits":{}}\n')
    with pytest.raises(SettingsError, match="newer Treadle"):
        Recorded(file)


# Where a request departs


def test_a_departure_names_the_nearest_request_and_the_place(file):
    record(file, (request("something else"), "hi"), (request(*ROUND), "hi"))
    other = Message("tools", (Result("c1", "add", "4"),))
    said = departed(file, request(*ROUND[:2], other))
    assert "Request 1 isn't in the recording" in said
    assert "recorded as number 2" in said
    assert "message 3 (tools), part 1 (result), content: recorded '3', asked '4'" in said
    assert "mode='record'" in said


@pytest.mark.parametrize(
    ("asked", "place"),
    [
        (request("hi", instructions="Be long."), "instructions: recorded 'Be brief.', asked 'Be long.'"),
        (request("hi", note="quick"), "note: recorded '', asked 'quick'"),
        (request("hi", options=Options(temperature=0.5)), "options, temperature: recorded None, asked 0.5"),
        (request("hi", options=Options(extra={"k": 1})), "options, extra, k: recorded nothing, asked 1"),
        (request("hi", tools=(ADD,)), "tool 1 (add): recorded nothing, asked {"),
        (request("hello"), "message 1 (person), part 1 (text), text: recorded 'hi', asked 'hello'"),
        (request("hi", *ROUND[1:]), "message 2 (model): recorded nothing, asked {"),
        (request("hi", options=Options(stop=("a",))), "options, item 1: recorded nothing, asked 'a'"),
    ],
)
def test_what_departs_is_said_in_words(file, asked, place):
    record(file, (request("hi"), "fine"))
    assert place in departed(file, asked)


def test_a_tool_that_changed_is_named(file):
    record(file, (request("hi", tools=(ADD,)), "fine"))
    changed = ToolSpec("add", "Add numbers.", ADD.parameters)
    assert "tool 1 (add), description: recorded 'Add two numbers.', asked 'Add numbers.'" in departed(
        file, request("hi", tools=(changed,))
    )
    assert "tool 1 (add): recorded {" in departed(file, request("hi"))


def test_long_texts_are_shown_where_they_differ(file):
    record(file, (request("x" * 500 + "recorded" + "y" * 500), "fine"))
    said = departed(file, request("x" * 500 + "asked" + "y" * 500))
    assert "…xxxxxxxxxxxxxxxxxxxxrecorded" in said
    assert "…xxxxxxxxxxxxxxxxxxxxaskedyyy" in said
    assert len(said) < 600


def test_a_text_that_goes_on_is_shown_where_it_does(file):
    record(file, (request("x" * 500), "fine"))
    assert "…xxxxxxxxxxxxxxxxxxxxand more'" in departed(file, request("x" * 500 + "and more"))
