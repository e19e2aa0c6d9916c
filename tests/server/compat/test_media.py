"""Images, recordings and documents on both wires, as the official clients send them."""

import sqlite3
from base64 import b64encode
from hashlib import sha256

import pytest

from attachments import PDF, png, wav
from packages import Deferred
from server.compat.clients import MODEL, anthropic_client, anthropic_tool, asked, openai_client, rivers, user
from server.running import Serving
from treadle.core.calls import Call, Media, Result
from treadle.core.errors import ModelUnavailable
from treadle.core.messages import Message, Text
from treadle.core.requests import Traits
from treadle.guard.trust import wrap_untrusted
from treadle.loop.limits import Limits
from treadle.models.scripted import Scripted
from treadle.server.compat.turn_request import find_results
from treadle.stores.blobs import FileBlobs

anthropic = Deferred("anthropic")
openai = Deferred("openai")

IMAGE = Media("image/png", sha256(png()).hexdigest(), len(png()))
BONN = {"city": "Bonn"}


def coded(data):
    return b64encode(data).decode()


def url(data, kind):
    return f"data:{kind};base64,{coded(data)}"


def shown(data=None, kind="image/png"):
    return {"type": "image_url", "image_url": {"url": url(png() if data is None else data, kind), "detail": "low"}}


def block(data=None, kind="image/png"):
    return {"type": "image", "source": {"type": "base64", "media_type": kind, "data": coded(png() if data is None else data)}}


def complete(client, *messages, **more):
    return client.chat.completions.create(model=MODEL, messages=list(messages), **more)


def say(client, *messages, **more):
    return client.messages.create(**{"model": MODEL, "max_tokens": 100, "messages": list(messages), **more})


def test_what_clients_of_openai_show_reaches_the_model(tmp_path):
    content = [
        {"type": "text", "text": "What is this?"},
        shown(),
        {"type": "input_audio", "input_audio": {"data": coded(wav()), "format": "wav"}},
        {"type": "file", "file": {"filename": "a.pdf", "file_data": url(PDF, "application/pdf")}},
        {"type": "file", "file": {"filename": "a.md", "file_data": coded(b"# A")}},
    ]
    with openai_client(tmp_path, "A square.") as (client, model):
        answer = complete(client, user(content))
    assert answer.choices[0].message.content == "A square."
    (request,) = model.requests
    words, *media = request.history[-1].parts
    assert (words, media[0]) == (Text("What is this?"), IMAGE)
    assert [(each.media_type, each.name) for each in media[1:]] == [
        ("audio/wav", ""),
        ("application/pdf", "a.pdf"),
        ("text/markdown", "a.md"),
    ]
    assert [request.blobs(each.sha256) for each in media] == [png(), wav(), PDF, b"# A"]


def test_what_clients_of_anthropic_show_reaches_the_model(tmp_path):
    content = [
        block(),
        {"type": "document", "title": "a", "source": {"type": "base64", "media_type": "application/pdf", "data": coded(PDF)}},
        {"type": "document", "source": {"type": "text", "media_type": "text/plain", "data": "Words."}},
        {"type": "text", "text": "What is this?"},
    ]
    with anthropic_client(tmp_path, "A square.") as (client, model):
        assert say(client, user(content)).content[0].text == "A square."
        assert client.messages.count_tokens(model=MODEL, messages=[user([block()])]).input_tokens > 1000
    (request,) = model.requests
    assert request.history[-1].parts[0] == IMAGE
    assert [request.blobs(part.sha256) for part in request.history[-1].parts[:3]] == [png(), PDF, b"Words."]
    assert request.history[-1].parts[1].name == "a"


@pytest.mark.parametrize(("wire", "part"), [(openai_client, shown()), (anthropic_client, block())])
def test_what_was_shown_before_is_shown_again_and_the_journal_stays_small(tmp_path, wire, part):
    large = png(500, 500, noise=True)
    part = shown(large) if part["type"] == "image_url" else block(large)
    said = [user([part]), {"role": "assistant", "content": "Noise."}, user("Really?")]
    with wire(tmp_path, "Yes.") as (client, model):
        complete(client, *said) if wire is openai_client else say(client, *said)
    first, _, last = model.requests[0].history
    assert (model.requests[0].blobs(first.parts[0].sha256), last.text) == (large, "Really?")
    with sqlite3.connect(tmp_path / "data" / "treadle.db") as database:
        (size,) = database.execute("SELECT sum(length(lines)) FROM entries").fetchone()
    assert size < 5_000


def test_an_image_is_scaled_down(tmp_path):
    pytest.importorskip("PIL")
    with openai_client(tmp_path, "Wide.") as (client, model):
        complete(client, user([shown(png(3000, 30))]))
    (media,) = model.requests[0].history[-1].parts
    assert model.requests[0].blobs(media.sha256)[16:20] == (2048).to_bytes(4, "big")


@pytest.mark.parametrize(
    ("part", "words"),
    [
        ({"type": "image_url", "image_url": {"url": "https://example.com/a.png"}}, "Images aren't fetched from an address"),
        ({"type": "image_url", "image_url": {"url": "data:image/png;base64,!"}}, "This image isn't Base64"),
        (shown(PDF, "application/pdf"), "This image is application/pdf, which isn't a PNG"),
        (shown(b"", "image/png"), "This image is empty"),
        ({"type": "file", "file": {"file_id": "file-1"}}, "Files by an id aren't kept here"),
        (
            {"type": "input_audio", "input_audio": {"data": coded(b"\0\1"), "format": "wav"}},
            "isn't a WAV, MP3, Ogg or FLAC",
        ),
        ({"type": "video", "text": "x"}, "Parts of the type 'video' can't be read here"),
    ],
)
def test_what_cannot_be_taken_is_refused_on_openais_wire(tmp_path, part, words):
    with openai_client(tmp_path) as (client, model), pytest.raises(openai.BadRequestError) as refused:
        complete(client, user([{"type": "text", "text": "What?"}, part]))
    assert words in refused.value.body["message"]
    assert (refused.value.body["param"], model.requests) == ("messages[0].content[1]", [])
    assert not (tmp_path / "data" / "blobs").exists()


@pytest.mark.parametrize(
    ("part", "words"),
    [
        (
            {"type": "image", "source": {"type": "url", "url": "https://example.com/a.png"}},
            "of the type 'url' aren't fetched",
        ),
        ({"type": "document", "source": {"type": "file", "file_id": "f"}}, "Sources of the type 'file' aren't fetched"),
        (block(b"hello"), "This image is text/plain, which isn't a PNG"),
        ({"type": "document", "source": {"type": "text", "media_type": "text/plain", "data": ""}}, "This document is empty"),
        ({"type": "image"}, "Sources of the type '' aren't fetched"),
    ],
)
def test_what_cannot_be_taken_is_refused_on_anthropics_wire(tmp_path, part, words):
    with anthropic_client(tmp_path) as (client, model), pytest.raises(anthropic.BadRequestError) as refused:
        say(client, user([part]))
    assert refused.value.body["error"]["message"].startswith("messages[0].content[0]: ")
    assert words in refused.value.body["error"]["message"]
    assert model.requests == []


def test_a_model_that_takes_none_is_named_to_the_caller(tmp_path):
    blind = Scripted("Never.", name="blind", traits=Traits(modalities=frozenset()))
    with (
        Serving(tmp_path, [rivers()], blind) as server,
        openai.OpenAI(base_url=f"{server.url}/v1", api_key="none", max_retries=0) as client,
        pytest.raises(openai.BadRequestError, match="blind doesn't take image/png, only text"),
    ):
        complete(client, user([shown()]))
    assert blind.requests == []


def test_a_body_that_is_too_large_is_refused_with_how_large_it_may_be(tmp_path):
    with openai_client(tmp_path) as (client, _), pytest.raises(openai.APIStatusError) as refused:
        complete(client, user([shown(png(1300, 1300, noise=True))]))
    assert (refused.value.status_code, "4,194,304 bytes" in refused.value.body["message"]) == (413, True)


def test_a_callers_tool_may_return_an_image(tmp_path):
    tools = [anthropic_tool()]
    with anthropic_client(tmp_path, asked("weather", BONN), "Sunny.", "Never.") as (client, model):
        first = say(client, user("How is it?"), tools=tools)
        result = {"type": "tool_result", "tool_use_id": first.content[0].id, "content": [{"type": "text", "text": "See:"}, block()]}
        said = [user("How is it?"), {"role": "assistant", "content": first.content}, user([result])]
        second = say(client, *said, tools=tools)
        again = say(client, *said, tools=tools)
    assert (second.content[0].text, again.id) == ("Sunny.", second.id)
    (brought,) = [part for part in model.requests[1].history[-1].parts if isinstance(part, Result)]
    assert (brought.media, brought.untrusted) == ((IMAGE,), True)
    assert "See:\n[image image/png]" in brought.content
    assert model.requests[1].blobs(IMAGE.sha256) == png()
    assert len(model.requests) == 2


def test_another_image_is_another_result(tmp_path):
    def brought(data):
        media = Media("image/png", sha256(data).hexdigest(), len(data))
        handle = f"toolu_{'a' * 16}_{'b' * 12}"
        said = Message("model", (Call(handle, "weather", {}),)), Message("tools", (Result(handle, "weather", "", media=(media,)),))
        return find_results(said).mark("b" * 12)

    assert brought(b"1") == brought(b"1") != brought(b"2")


def test_an_image_beside_results_makes_the_conversation_one_of_its_own(tmp_path):
    tools = [anthropic_tool()]
    with anthropic_client(tmp_path, asked("weather", BONN), "I see.") as (client, model):
        first = say(client, user("How is it?"), tools=tools)
        result = {"type": "tool_result", "tool_use_id": first.content[0].id, "content": "Sunny."}
        said = [user("How is it?"), {"role": "assistant", "content": first.content}, user([result, block()])]
        assert say(client, *said, tools=tools).content[0].text == "I see."
    assert [message.role for message in model.requests[1].history] == ["person", "model", "tools", "person"]
    assert model.requests[1].history[-1].parts == (IMAGE,)


def test_images_in_results_of_an_earlier_conversation_are_shown_and_named(tmp_path):
    called = {"type": "tool_use", "id": "t1", "name": "weather", "input": {}}
    result = {"type": "tool_result", "tool_use_id": "t1", "content": [block()]}
    said = [user("How is it?"), {"role": "assistant", "content": [called]}, user([result]), user("Well?")]
    with anthropic_client(tmp_path, "Sunny.") as (client, model):
        say(client, *said)
    (told,) = model.requests[0].history[2].parts
    assert (told.content, told.media, told.untrusted) == (wrap_untrusted("[image image/png]", "weather"), (IMAGE,), True)


def test_there_may_not_be_any_number_of_images(tmp_path):
    images = [shown(png(number + 1, 1)) for number in range(51)]
    with openai_client(tmp_path) as (client, _), pytest.raises(openai.BadRequestError, match="There may be 50 images"):
        complete(client, user(images))


def test_results_on_openais_wire_are_text(tmp_path):
    called = {"id": "c1", "type": "function", "function": {"name": "weather", "arguments": "{}"}}
    said = [
        user("Hi."),
        {"role": "assistant", "tool_calls": [called]},
        {"role": "tool", "tool_call_id": "c1", "content": [shown()]},
    ]
    with openai_client(tmp_path) as (client, _), pytest.raises(openai.BadRequestError, match="Images can't be read here"):
        complete(client, *said)


def test_a_failed_turn_leaves_the_bytes_for_the_next_try(tmp_path):
    made = rivers(limits=Limits(tries=1))
    with openai_client(tmp_path, ModelUnavailable("Busy."), "Grey.", made=made) as (client, _):
        with pytest.raises(openai.InternalServerError):
            complete(client, user([shown()]))
        assert complete(client, user([shown()])).choices[0].message.content == "Grey."
    assert FileBlobs(tmp_path / "data" / "blobs").get(IMAGE.sha256) == png()
    assert len([path for path in (tmp_path / "data" / "blobs").rglob("*") if path.is_file()]) == 1
