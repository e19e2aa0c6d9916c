"""A run that is seen as it happens: whoever leaves stops it, the conversation goes on, and so does a run that was approved."""

import asyncio
import json

import aiohttp
import pytest
from msgspec.structs import replace

from server.running import Serving
from treadle import Scripted
from treadle.assistants.platform import assistant
from treadle.core.requests import ReplyEnded, TextDelta, Usage
from treadle.testing import calls


@pytest.fixture
def serve(demo, tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("TREADLE_PLATFORM_SERVER", demo.url)
    monkeypatch.setenv("TREADLE_PLATFORM_TOKEN", demo.token("alice"))
    return lambda *replies: Serving(tmp_path, [replace(assistant, panel=None)], Scripted(*replies))


async def slow():
    for number in range(1000):
        yield TextDelta(f"word {number} ")
        await asyncio.sleep(0.01)
    yield ReplyEnded("done", Usage(), "scripted")


async def events(http, path, body, most=10_000):
    """The first so many events of what is posted."""
    found = []
    async with http.post(path, json=body, headers={"accept": "text/event-stream"}) as answer:
        async for line in answer.content:
            if line.startswith(b"data: "):
                found.append(json.loads(line[6:]))
            if len(found) == most:
                answer.close()
                break
    return found


def test_a_conversation_goes_on_after_an_answer_that_nobody_waited_for(serve):
    async def talk(url):
        async with aiohttp.ClientSession(url) as http:
            left = await events(http, "/api/platform/chat", {"message": "Everything!"}, most=5)
            body = {"message": "Short, please.", "run_id": left[0]["run_id"]}
            for _ in range(100):  # until the server has noticed
                after = await events(http, "/api/platform/chat", body)
                if after[-1]["event"] == "reply":
                    return left[-1], after[-1]
                await asyncio.sleep(0.02)
        raise AssertionError(after)

    with serve(lambda request: slow(), "In short.") as server:
        last, reply = asyncio.run(talk(server.url))
    assert last["event"] == "text_arrived"
    assert (reply["message"], reply["stopped"]) == ("In short.", "answered")


@pytest.mark.parametrize("approved", [True, False])
def test_what_comes_of_an_approval_is_streamed_where_that_is_asked_for(serve, approved):
    async def talk(url):
        async with aiohttp.ClientSession(url) as http:
            (asked,) = (await events(http, "/api/platform/chat", {"message": "Delete it."}))[-1]["approvals"]
            path = f"/api/platform/approvals/{asked['run_id']}/{asked['call_id']}"
            wrong = await events(http, path, {"approved": True, "digest": "0" * 64})
            return wrong, await events(http, path, {"approved": approved, "digest": asked["digest"]})

    with serve(calls(("delete_application", {"app_name": "demo-app"})), "Done.") as server:
        wrong, after = asyncio.run(talk(server.url))
    assert [each["event"] for each in wrong] == ["error"]
    names = [each["event"] for each in after]
    assert (names[0], names[-1], after[-1]["message"]) == ("run_started", "reply", "Done.")
    assert ("call_returned" in names) == approved
