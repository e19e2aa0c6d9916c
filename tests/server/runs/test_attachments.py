"""Runs that begin with an image, over real HTTP."""

from base64 import b64encode
from hashlib import sha256

import pytest

from attachments import png
from server.running import Serving
from server.runs.asking import rivers, with_server
from treadle.core.calls import Media
from treadle.core.messages import Text
from treadle.core.requests import Traits
from treadle.models.scripted import Scripted

IMAGE = {"data": b64encode(png()).decode(), "media_type": "image/png", "name": "a.png"}
KEPT = Media("image/png", sha256(png()).hexdigest(), len(png()), "a.png")


def test_what_is_attached_reaches_the_model_in_a_new_run_and_in_one_that_is_there(tmp_path):
    async def work(ask):
        first = await ask.events("/api/runs", {"assistant": "rivers", "message": "What is this?", "attachments": [IMAGE]})
        run_id = first[-1].data["run_id"]
        await ask.events("/api/runs", {"run_id": run_id, "message": "And this?", "attachments": [{"data": IMAGE["data"]}]})
        return first, await ask("GET", f"/api/runs/{run_id}"), await ask.events(f"/api/runs/{run_id}/events")

    model = Scripted("A square.", "The same.")
    with Serving(tmp_path, [rivers()], model) as server:
        first, (status, said), told = with_server(server, work)
    assert model.requests[0].history[-1].parts == (Text("What is this?"), KEPT)
    assert model.requests[1].history[-1].parts[1].sha256 == KEPT.sha256
    assert model.requests[1].blobs(KEPT.sha256) == png()
    assert [event.data["text"] for event in first if event.name == "said"] == ["What is this? [image a.png]"]
    assert next(event.data["text"] for event in told if event.name == "said") == "What is this? [image a.png]"
    assert (status, said["run"]["title"]) == (200, "What is this? [image a.png]")
    assert IMAGE["data"] not in str(said)


@pytest.mark.parametrize(
    ("attached", "words"),
    [
        ({"data": "!"}, "isn't Base64"),
        ({"data": ""}, "is empty"),
        ({"data": "AAAA", "media_type": "image/png", "name": "a.png"}, "a.png (image/png) isn't a PNG, JPEG, GIF or WebP image"),
        ({"data": IMAGE["data"], "url": "https://example.com"}, "unknown field"),
        ({"media_type": "image/png"}, "missing required field `data`"),
        (None, "Expected `array` of length <= 20"),
    ],
)
def test_what_cannot_be_attached_is_refused(tmp_path, attached, words):
    model = Scripted("Never.")
    with Serving(tmp_path, [rivers()], model) as server:
        body = {"assistant": "rivers", "message": "What?", "attachments": [attached] if attached else [IMAGE] * 21}
        status, said = with_server(server, lambda ask: ask("POST", "/api/runs", body))
    assert (status, words in said["error"], model.requests) == (400, True, [])


def test_a_model_that_takes_none_is_named_at_once_and_the_next_turn_has_its_place(tmp_path):
    async def work(ask):
        refused = await ask("POST", "/api/runs", {"assistant": "rivers", "message": "What?", "attachments": [IMAGE]})
        return refused, await ask.events("/api/runs", {"assistant": "rivers", "message": "Hello."})

    blind = Scripted("Hi.", name="blind", traits=Traits(modalities=frozenset()))
    with Serving(tmp_path, [rivers()], blind) as server:
        (status, said), told = with_server(server, work)
    assert (status, "blind doesn't take image/png" in said["error"]) == (400, True)
    assert told[-1].data["message"] == "Hi."
