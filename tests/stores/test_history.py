"""Conversations as JSON."""

import asyncio
import json

import pytest

from attachments import png
from treadle import Agent, Image, RunResult, Usage, dump_history, load_history, tool
from treadle.core.calls import Call, Media, Opaque, Result
from treadle.core.entries import VERSION, Finished
from treadle.core.errors import MediaMissing, SettingsError
from treadle.core.messages import History, Message, Text, Thinking
from treadle.core.requests import Traits
from treadle.engine.setup import Services
from treadle.models.scripted import calls
from treadle.stores.blobs import FileBlobs
from treadle.stores.memory import MemoryBlobs, MemoryJournal
from treadle.testing import Scripted

PARTS = (
    Thinking("Hm.", "signature"),
    Opaque("anthropic", '{"type": "redacted_thinking", "data": "x y"}'),
    Text("Let me look."),
    Call("c1", "look", {"place": "Ärmel"}, Opaque("google", '{"thought": 1}')),
)
MESSAGES = (
    Message("person", (Text("Look."),)),
    Message("model", PARTS),
    Message("tools", (Result("c1", "look", "<b>Buy!</b>", untrusted=True, data={"a": [1, None]}, quoted=3, note="n"),)),
)


@tool(effect="read")
async def draw() -> Image:
    """Draw."""
    return Image(png(9, 9))


def test_messages_of_every_kind_survive_the_round_trip():
    assert load_history(dump_history(MESSAGES)) == History(MESSAGES)
    assert load_history(dump_history(History(MESSAGES)).encode()) == History(MESSAGES)
    assert load_history(dump_history(())) == History()


def test_the_json_has_a_kind_and_the_version_of_the_journal():
    document = json.loads(dump_history(MESSAGES))
    assert (document["kind"], document["v"], len(document["messages"])) == ("history", VERSION, 3)
    assert "media" not in document


def test_a_conversation_goes_on_from_json_with_its_images_in_another_process():
    said = [png(), "What is it?"]

    async def first():
        model = Scripted(calls(("draw", {})), "A square.")
        return await Agent(model, tools=[draw]).run([Image(said[0]), said[1]])

    stored = asyncio.run(first()).history_json()
    blobs = MemoryBlobs()
    model = Scripted("Still one.", traits=Traits(modalities=frozenset(("image",))))
    services = Services(MemoryJournal(), blobs=blobs)
    result = Agent(model).run_sync("And now?", history=stored, journal=services)
    assert [message.role for message in result.history] == ["person", "model", "tools", "model", "person", "model"]
    media = model.requests[0].history[0].parts[0]
    assert (isinstance(media, Media), model.requests[0].blobs(media.sha256)) == (True, said[0])
    drawn = model.requests[0].history[2].parts[0].media[0]
    assert blobs.get(drawn.sha256) == png(9, 9)
    assert dump_history(result.history, blobs) == result.history_json()


def test_messages_of_this_process_bring_their_images_to_another_store(tmp_path):
    first = Agent(Scripted("A square.")).run_sync([Image(png(7, 7))])
    files = FileBlobs(tmp_path)
    Agent(Scripted("Still.")).run_sync("And now?", history=first.history, journal=Services(MemoryJournal(), blobs=files))
    sha256 = first.history[0].parts[0].sha256
    assert files.get(sha256) == png(7, 7)
    again = Agent(Scripted("Still.")).run_sync("?", history=load_history(first.history_json(), files))
    assert again.output == "Still."


def test_media_that_are_not_here_are_not_left_out_silently(tmp_path):
    missing = (Message("person", (Media("image/png", "0" * 64, 5),)),)
    with pytest.raises(MediaMissing):
        dump_history(missing)
    with pytest.raises(MediaMissing, match="without them"):
        RunResult("r", Finished(stopped="answered"), "a", Usage(), History(missing), []).history_json()
    services = Services(MemoryJournal(), blobs=FileBlobs(tmp_path))
    assert Agent(Scripted("Hm.")).run_sync("Go.", history=missing, journal=services).output == "Hm."  # its model never asked


@pytest.mark.parametrize(
    ("data", "words"),
    [
        ("[]", "no history"),
        ('{"kind": "said", "text": "Go."}', "no history"),
        ("{", "no history"),
        (b"\xff", "no history"),
        (json.dumps({"kind": "history", "v": VERSION + 1, "messages": []}), "newer Treadle"),
        (json.dumps({"kind": "history", "v": VERSION, "messages": [], "media": {"0" * 64: "AAAA"}}), "isn't what was written"),
    ],
)
def test_what_is_no_history_is_refused(data, words):
    with pytest.raises(SettingsError, match=words):
        load_history(data)
    with pytest.raises(SettingsError, match=words):
        Agent(Scripted("a")).run_sync("Go.", history=data)


def test_what_an_older_treadle_wrote_is_upgraded_as_its_journal_is():
    marked = "<untrusted-1>\nfrom look\n\nBuy!\n</untrusted-1>"
    old = Message("tools", (Result("c1", "look", marked, untrusted=True),))
    document = json.loads(dump_history([old])) | {"v": 1}
    assert load_history(json.dumps(document))[0].parts[0].content == "Buy!"
