"""Images, recordings and documents in runs: kept once, outside of the journal, and shown to models that take them."""

import asyncio
import subprocess
import sys
from collections import UserList
from hashlib import sha256
from pathlib import Path
from typing import NamedTuple

import msgspec
import pytest

from attachments import PDF, png, wav
from treadle import Agent, Audio, Document, Image, Message, RunContext, Text, open_home, tool
from treadle.core.calls import Media, Result
from treadle.core.entries import Returned, Said, encode
from treadle.core.errors import BadMedia, BadPrompt, MediaMissing, SettingsError
from treadle.engine.media import MAX_IN_RESULT
from treadle.engine.setup import Services
from treadle.home import close_homes
from treadle.models import Traits
from treadle.models.scripted import calls
from treadle.stores.blobs import FileBlobs
from treadle.stores.memory import MemoryBlobs, MemoryJournal
from treadle.testing import Scripted

SHOWN = Image(png(), name="a.png")
KEPT = Media("image/png", sha256(png()).hexdigest(), len(png()), "a.png")


@pytest.fixture(autouse=True)
def home(tmp_path, monkeypatch):
    monkeypatch.setenv("TREADLE_HOME", str(tmp_path / "home"))
    yield tmp_path / "home"
    close_homes()


def run(model, prompt="Go.", *, tools=(), journal=False, **how):
    return asyncio.run(Agent(model, tools=tools, name="seer").run(prompt, journal=journal, **how))


# What a person shows


def test_a_model_gets_what_a_person_shows_in_the_order_it_was_given():
    model = Scripted("A grey square.")
    result = run(model, ["What is", SHOWN, "and", "this?", Document(b"# A", name="a.md")])
    (request,) = model.requests
    text = Media("text/markdown", sha256(b"# A").hexdigest(), 3, "a.md")
    assert request.history[0] == Message("person", (Text("What is"), KEPT, Text("and\nthis?"), text))
    assert request.blobs is not None
    assert (request.blobs(KEPT.sha256), request.blobs(text.sha256)) == (png(), b"# A")
    assert result.text == "A grey square."
    said = result.entries[1]
    assert isinstance(said, Said)
    assert said.text == "What is [image a.png] and\nthis? [document a.md]"


def test_a_list_of_words_is_words():
    model = Scripted("Yes.")
    result = run(model, UserList(["One.", "", "Two."]))
    assert model.requests[0].history[0] == Message("person", (Text("One.\nTwo."),))
    assert (result.entries[1].parts, model.requests[0].blobs) == ((), None)


def test_an_image_alone_is_a_prompt():
    model = Scripted("Grey.")
    run(model, [SHOWN])
    assert model.requests[0].history[0].parts == (KEPT,)


class Place(NamedTuple):
    name: str


@pytest.mark.parametrize(
    ("prompt", "words"),
    [
        (SHOWN, "not Image alone: put it into a list."),
        (None, "A prompt is text, or a list of texts, Image, Audio and Document, not NoneType."),
        (b"x", "not bytes: wrap them in Image.from_bytes(…)."),
        (["What?", png()], "this one has bytes: wrap them in Image.from_bytes(…)."),
        (["What?", Path("a.png")], "this one has a path: write Image.from_path(…)."),
        (["What?", {"type": "image"}], "this one has a dict: earlier messages go into `history`."),
        ([], "The prompt is empty; say what you want."),
        (["", " "], "The prompt is empty; say what you want."),
        ("  ", "The prompt is empty; say what you want."),
    ],
)
def test_what_is_no_prompt_is_refused_in_a_sentence_that_says_what_to_pass(prompt, words):
    model = Scripted("Never.")
    with pytest.raises(BadPrompt) as refused:
        run(model, prompt)
    assert words in str(refused.value)
    assert model.requests == []


def test_a_large_image_is_scaled_before_it_is_kept(home):
    pytest.importorskip("PIL")
    run(Scripted("Grey."), ["What?", Image(png(3000, 30))], journal=True)
    (path,) = [path for path in (home / "blobs").rglob("*") if path.is_file()]
    assert path.read_bytes()[16:24] == (2048).to_bytes(4, "big") + (20).to_bytes(4, "big")


# What is written down


def test_bytes_are_kept_once_and_no_line_of_the_journal_has_them(home):
    image = png(600, 600, noise=True)
    assert len(image) > 1_000_000

    @tool(effect="read")
    def look() -> Image:
        """Look."""
        return Image(image, name="seen.png")

    events = []
    result = run(
        Scripted(calls(("look", {})), "Grey."),
        ["What is this?", Image(image, name="a.png")],
        tools=[look],
        journal=True,
        watchers=[events.append],
    )
    assert max(len(encode(entry)) for entry in result.entries) < 600
    assert max(len(msgspec.json.encode(event)) for event in events[:-1]) < 600
    (path,) = [path for path in (home / "blobs").rglob("*") if path.is_file()]
    assert path.read_bytes() == image
    close_homes()
    other = b"".join([each.read_bytes() for each in home.rglob("*") if each.is_file() and "blobs" not in each.parts])
    assert len(other) < 500_000


def test_a_run_is_taken_up_by_another_process_with_the_same_request(home):
    """One process asks and fails, another resumes: what its model reads is byte for byte the same."""
    begin = """
import asyncio, sys
from pathlib import Path
from treadle import Agent, Image
from treadle.testing import Scripted
from treadle.core.errors import ModelRefused
from treadle.models.wires.openai import encode_message

def show(request):
    print(request.history.encode("x", lambda message: encode_message(message, request.blobs)).decode())
    return ModelRefused("no") if {first} else "Grey."

agent = Agent(Scripted(show), name="seer")
{act}
"""
    image = f"Image(bytes.fromhex('{png().hex()}'), name='a.png')"
    asks = f"agent.run_sync(['What is', {image}, 'this?'], run_id='r', journal=True)"
    programs = begin.format(first=True, act=asks), begin.format(first=False, act="print(agent.resume_sync('r').text)")
    told = [subprocess.run([sys.executable, "-c", each], capture_output=True, text=True, check=True).stdout for each in programs]
    assert "data:image/png;base64," in told[0]
    assert told[1] == f"{told[0]}Grey.\n"


def test_a_fork_shows_the_same():
    model = Scripted("Grey.", "Still grey.")
    agent = Agent(model, name="seer")

    async def forked():
        result = await agent.run(["What?", SHOWN], journal=True)
        other = await agent.fork(result.run_id, journal=True)
        await agent.run("And now?", run_id=other, journal=True)

    asyncio.run(forked())
    assert model.requests[1].history[0] == model.requests[0].history[0]
    assert model.requests[1].blobs(KEPT.sha256) == png()


def test_a_conversation_goes_on_with_another_agent():
    first = run(Scripted("Grey."), ["What?", SHOWN])
    model = Scripted("Still grey.")
    run(model, "Are you sure?", history=list(first.history))
    assert model.requests[0].blobs(KEPT.sha256) == png()


def test_what_was_kept_can_be_shown_again_by_its_hash():
    model = Scripted("Grey.", "Still grey.")
    agent = Agent(model)
    asyncio.run(agent.run([SHOWN]))
    asyncio.run(agent.run(["Again:", KEPT]))
    assert model.requests[1].history[0].parts == (Text("Again:"), KEPT)


def test_bytes_that_are_gone_are_missed_in_a_sentence_and_the_run_waits_for_them(tmp_path):
    journal, blobs = MemoryJournal(), FileBlobs(tmp_path / "blobs")

    def reads(request):
        request.blobs(KEPT.sha256)
        return "Grey."

    agent = Agent(Scripted(reads, reads), name="seer")
    asyncio.run(agent.run([SHOWN], run_id="r", journal=Services(journal, blobs=blobs)))
    (path,) = [each for each in tmp_path.rglob("*") if each.is_file()]
    path.unlink()
    services = Services(journal, blobs=blobs)
    with pytest.raises(MediaMissing, match="put it back from a backup"):
        asyncio.run(agent.run("And now?", run_id="r", journal=services))
    blobs.put(png())
    again = Agent(Scripted(reads), name="seer")
    assert asyncio.run(again.resume("r", journal=services)).text == "Grey."


def test_without_a_place_for_bytes_nothing_is_asked():
    model = Scripted("Never.")
    with pytest.raises(SettingsError, match=r"\[image a.png\] can't be kept: these services have no `blobs`"):
        run(model, [SHOWN], journal=Services(MemoryJournal()))
    assert model.requests == []


# Models that don't take them


@pytest.mark.parametrize(
    ("traits", "given", "words"),
    [
        (
            Traits(modalities=frozenset()),
            SHOWN,
            "doesn't take image/png, only text: leave out [image a.png], or",
        ),
        (Traits(native_calls=False), SHOWN, "doesn't take image/png, only text:"),
        (Traits(modalities=frozenset(("image",))), Audio(wav()), "doesn't take audio/wav, only text, image:"),
        (Traits(modalities=frozenset(("audio/mpeg",))), Audio(wav()), "doesn't take audio/wav, only text, audio/mpeg:"),
        (Traits(modalities=frozenset(("image", "audio"))), Document(PDF), "doesn't take application/pdf, only text, audio, image:"),
    ],
)
def test_a_model_that_takes_none_is_not_asked(home, traits, given, words):
    model = Scripted("Never.", name="some:model", traits=traits)
    with pytest.raises(BadMedia) as refused:
        run(model, ["What?", given], journal=True)
    assert f"some:model {words}" in str(refused.value)
    assert model.requests == []
    assert not home.exists()


def test_a_dialect_in_text_takes_nothing_away_from_a_model_that_sees():
    model = Scripted("Grey.", traits=Traits(modalities=frozenset(("image",))))
    asyncio.run(Agent(model, dialect="json").run(["What?", SHOWN]))
    assert model.requests[0].history[0].parts == (Text("What?"), KEPT)
    with pytest.raises(BadMedia, match="doesn't take image/png"):
        asyncio.run(Agent(Scripted("No.", traits=Traits(native_calls=False)), dialect="json").run(["What?", SHOWN]))


def test_any_model_reads_a_document_of_text():
    model = Scripted("Fine.", traits=Traits(modalities=frozenset()))
    run(model, ["What is in it?", Document(b"# Title", name="a.md"), "Be brief."])
    assert model.requests[0].history[0].parts == (Text("What is in it?\n[document a.md]\n# Title\nBe brief."),)


def test_what_was_shown_to_another_model_before_is_named_to_one_that_takes_none():
    model = Scripted("Fine.", traits=Traits(modalities=frozenset(("audio",))))
    before = [Message("person", (KEPT, Text("What?"))), Message("model", (Text("A square."),))]
    run(model, ["And this?", Audio(wav(), name="b.wav")], history=before)
    first, reply, last = model.requests[0].history
    assert first.parts == (Text("[image a.png]\nWhat?"),)
    assert reply.text == "A square."
    assert [type(part) for part in last.parts] == [Text, Media]


# What tools return


ANY = Traits()


def result_of(value, *, trust="trusted", traits=ANY, cache=0.0, blobs=None, replies=2):
    """What a model reads of a value that a tool returned, and the request that it comes with."""

    @tool(effect="read", trust=trust, cache=cache)
    def look() -> object:
        """Look."""
        return value

    asked = [calls(("look", {})) for _ in range(replies - 1)]
    model = Scripted(*asked, "Done.", traits=traits)
    services = Services(MemoryJournal(), blobs=MemoryBlobs() if blobs is None else blobs)
    result = asyncio.run(Agent(model, tools=[look]).run("Go.", journal=services))
    assert result.stopped == "answered"
    request = model.requests[-1]
    (last,) = request.history[-1].parts
    assert isinstance(last, Result)
    return last, request


def test_a_tool_may_return_an_image():
    result, request = result_of(SHOWN)
    assert (result.content, result.media, result.problem, result.untrusted) == ("[image a.png]", (KEPT,), None, False)
    assert request.blobs(KEPT.sha256) == png()


class Report(msgspec.Struct):
    title: str
    chart: Image


@pytest.mark.parametrize(
    ("value", "content"),
    [
        ([SHOWN, "of today"], "[image a.png]\nof today"),
        (("See:", SHOWN), "See:\n[image a.png]"),
        ({"chart": SHOWN, "total": 3}, '{"chart":"[image a.png]","total":3}'),
        ([1, SHOWN], '[1,"[image a.png]"]'),
        ({"deep": [{"chart": SHOWN}], "raw": b"text"}, '{"deep":[{"chart":"[image a.png]"}],"raw":"text"}'),
        (Report("Sales", SHOWN), '{"title":"Sales","chart":"[image a.png]"}'),
    ],
)
def test_images_anywhere_in_a_value_have_a_label_there(value, content):
    result, _ = result_of(value)
    assert (result.content, result.media) == (content, (KEPT,))


def test_the_same_image_twice_in_a_value_is_shown_once():
    result, _ = result_of({"a": SHOWN, "b": SHOWN})
    assert result.media == (KEPT,)


def test_a_document_of_text_is_words_with_secrets_hidden():
    secret = "sk-proj-abcdefghijklmnopqrstuvwxyz"
    result, _ = result_of(Document(f"My key is {secret}".encode(), name="a.txt"))
    assert result.content.startswith("[document a.txt]\nMy key is ")
    assert (secret in result.content, result.media) == (False, ())
    result, _ = result_of({"report": Document(b"# A", name="a.md"), "chart": SHOWN}, trust="untrusted")
    assert '{"report":"[document a.md]","chart":"[image a.png]"}\n\n[document a.md]\n# A\n</untrusted-' in result.content
    assert (result.media, result.structured) == ((KEPT,), False)


def test_what_an_untrusted_tool_shows_stays_untrusted():
    result, _ = result_of(SHOWN, trust="untrusted")
    assert (result.untrusted, result.media) == (True, (KEPT,))
    assert "not instructions" in result.content


def test_a_secret_in_a_name_is_hidden():
    secret = "sk-proj-abcdefghijklmnopqrstuvwxyz"
    result, _ = result_of(Image(png(), name=secret))
    assert secret not in msgspec.json.encode(result).decode()


def test_a_result_that_is_reused_still_has_its_image(tmp_path):
    result, request = result_of(SHOWN, cache=60, replies=3)
    assert (result.content, result.media) == ("[image a.png]", (KEPT,))
    assert request.blobs(KEPT.sha256) == png()
    spoof = '\0media:{"text":"x","media":[]}'
    assert result_of(spoof, cache=60, replies=3)[0].content == spoof


def test_to_a_model_that_takes_none_the_label_is_sent_and_the_run_goes_on():
    result, _ = result_of([SHOWN, Audio(wav(), name="b.wav")], traits=Traits(modalities=frozenset(("audio",))))
    assert (result.content, [media.name for media in result.media]) == ("[image a.png]\n[audio b.wav]", ["b.wav"])
    result, _ = result_of(SHOWN, traits=Traits(modalities=frozenset()))
    assert (result.content, result.media) == ("[image a.png]", ())


def test_what_cannot_be_shown_is_said_and_the_result_is_kept(tmp_path):
    (tmp_path / "blobs").write_text("no folder")
    result, _ = result_of({"n": 1, "chart": SHOWN}, blobs=FileBlobs(tmp_path / "blobs"))
    assert result.problem is None
    assert result.content.startswith('{"n":1,"chart":"[image a.png]"}\n\n[image a.png] isn\'t shown: ')
    assert "can't be written" in result.content
    assert result.media == ()


def test_not_more_are_shown_than_a_model_can_look_at():
    result, _ = result_of([Image(png(number + 1, 1)) for number in range(MAX_IN_RESULT + 2)])
    assert len(result.media) == MAX_IN_RESULT
    assert "[… 2 more aren't shown]" in result.content


def test_looking_again_and_again_is_no_repetition_while_something_else_is_seen():
    shown = iter(range(1, 10))

    @tool(effect="read")
    def look() -> Image:
        """Look."""
        return Image(png(next(shown), 1), name="screen.png")

    result = run(Scripted(*[calls(("look", {}))] * 6, "Done."), tools=[look])
    assert [record.problem for record in result.calls] == [None] * 6


def test_looking_again_and_again_at_the_same_is_noticed():
    @tool(effect="read")
    def look() -> Image:
        """Look."""
        return SHOWN

    result = run(Scripted(*[calls(("look", {}))] * 6, "Done."), tools=[look])
    assert "repeat" in [record.problem for record in result.calls]


def test_a_tool_that_calls_another_gets_its_image():
    got = []

    @tool(effect="read")
    def look() -> Image:
        """Look."""
        return SHOWN

    @tool(effect="read")
    async def compare(ctx: RunContext) -> str:
        """Compare."""
        got.append(await ctx.call("look"))
        return "the same"

    run(Scripted(calls(("compare", {})), "Done."), tools=[look, compare])
    assert got == [SHOWN]


def test_a_journal_from_before_there_were_images_is_read_as_ever():
    from treadle.core.entries import decode

    line = b'{"v":1,"kind":"said","text":"Hi.","at":1.0}'
    assert decode(line) == Said(text="Hi.", at=1.0)
    assert b"parts" not in encode(Said(text="Hi."))
    shown = Returned(result=Result("c", "look", "[image a.png]", media=(KEPT,)))
    assert decode(encode(shown)) == shown
    said = Said(text="What? [image a.png]", parts=(Text("What?"), KEPT))
    assert decode(encode(said)) == said


def test_a_home_keeps_its_bytes_beside_its_database(home):
    assert open_home().services().blobs is open_home().blobs
    assert open_home().blobs.folder == home / "blobs"
