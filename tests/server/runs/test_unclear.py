"""Runs whose server was killed during a call that must not run twice: the next one asks a person its outcome."""

import json

import pytest

from server.pages.kept import left_behind
from server.pages.shop import Shop
from server.running import Serving
from server.runs.asking import names, with_server
from treadle.testing import Scripted, calls

PATH = "/api/runs/r/approvals/c1"


@pytest.fixture
def shop(tmp_path):
    left_behind(tmp_path, "r")
    return Shop(tmp_path)


def serving(shop, *replies):
    return Serving(shop.folder, [shop.assistant], Scripted(*replies))


def test_a_server_that_takes_the_run_up_shows_it_waiting_with_the_question(shop):
    async def work(ask):
        shown = await ask.ended("r", "waiting")
        _, waiting = await ask("GET", "/api/approvals")
        return shown, waiting["approvals"], await ask.events("/api/runs/r/events")

    with serving(shop) as server:
        shown, (asked,), told = with_server(server, work)
    assert (asked["unclear"], asked["name"], asked["root"], asked["preview"]) == (True, "order_items", "r", "")
    assert asked["began_at"] == shown["entries"][4]["at"]
    assert shown["approvals"][0]["unclear"] is True
    assert shown["entries"][-2]["kind"] == "unclear"
    (needed,) = [event.data for event in told if event.name == "approval_needed"]
    assert (needed["unclear"], needed["began_at"]) == (True, asked["began_at"])
    assert told[-1].data["approvals"][0]["unclear"] is True
    assert shop.ordered == []


@pytest.mark.parametrize(
    ("said", "ordered", "event", "content"),
    [
        ("happened", [], "call_returned", "says that it took effect, so it was not run again. Their words: It is order 17."),
        ("not_happened", [], "call_returned", "says that it did not take effect"),
        ("again", [("lamp", 10)], "call_started", "10 ordered"),
    ],
)
def test_each_answer_goes_on_with_the_run(shop, said, ordered, event, content):
    async def work(ask):
        (asked,) = (await ask.ended("r", "waiting"))["approvals"]
        went_on = await ask.events(PATH, {"settled": said, "reason": "It is order 17.", "digest": asked["digest"]})
        return went_on, await ask("GET", "/api/runs/r"), await ask("POST", PATH, {"settled": "happened"})

    with serving(shop, "So.") as server:
        went_on, (_, shown), (late, _) = with_server(server, work)
    assert event in names(went_on)
    assert went_on[-1].data["message"] == "So."
    assert content in json.dumps([one.data for one in went_on])
    assert (shop.ordered, late) == (ordered, 409)
    settled = [entry for entry in shown["entries"] if entry["kind"] == "settled"]
    assert [(entry["said"], entry["words"]) for entry in settled] == [(said, "It is order 17.")]


@pytest.mark.parametrize(
    ("body", "status", "sentence"),
    [
        ({"approved": False}, 409, "can't be approved or denied"),
        ({"approved": True, "digest": "x"}, 409, "can't be approved or denied"),
        ({"settled": "again"}, 422, "`digest`"),
        ({"settled": "again", "digest": "another"}, 409, "not those that were approved"),
        ({"settled": "again", "digest": "x", "arguments": {}}, 409, "tried again as it was"),
        ({"settled": "perhaps"}, 400, "perhaps"),
        ({}, 400, "say `approved`, or `settled`"),
        ({"approved": True, "settled": "again", "digest": "x"}, 400, "and not both"),
    ],
)
def test_what_is_no_answer_is_a_sentence(shop, body, status, sentence):
    async def work(ask):
        await ask.ended("r", "waiting")
        return await ask("POST", PATH, body)

    with serving(shop) as server:
        code, said = with_server(server, work)
    assert (code, sentence in said["error"]) == (status, True), said
    assert shop.ordered == []


def test_a_call_that_waits_for_a_yes_has_nothing_become_of_it(tmp_path):
    async def work(ask):
        _, begun = await ask("POST", "/api/runs", {"assistant": "shop", "message": "Order."})
        (asked,) = (await ask.ended(begun["run_id"], "waiting"))["approvals"]
        assert (asked["unclear"], asked["began_at"]) == (False, 0.0)
        return await ask("POST", f"/api/runs/{begun['run_id']}/approvals/{asked['call_id']}", {"settled": "happened"})

    shop = Shop(tmp_path)
    with serving(shop, calls(("order_items", {"item": "lamp", "amount": 1}))) as server:
        status, said = with_server(server, work)
    assert (status, "approve it or deny it" in said["error"]) == (409, True)
