"""The assistant over HTTP: the original's contract, what the panel needs, and bad input."""

import asyncio
import json

import aiohttp
import pytest

from assistants.courses.course_setup import ASTRONOMY, SAILING, add, staged, write
from wire import call, refuse, say

KEEL = call("search_course_content", {"query": "keel"})


@pytest.fixture
def home(tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path))
    add(tmp_path / "data", write(tmp_path / "material", sailing=SAILING, moon=ASTRONOMY))
    return tmp_path


def test_the_courses_are_listed_as_clients_of_the_original_know_it(home):
    with staged(home) as stage:
        status, told = stage.ask("GET", "/api/courses")
    assert (status, told["total_courses"]) == (200, 2)
    assert told["course_titles"] == ["Sailing for Beginners", "The Moon and Her Effects"]
    assert told["courses"][0]["lessons"][0] == {
        "number": 0,
        "title": "Before you cast off",
        "link": "https://example.org/sailing/0",
    }


def test_a_query_is_answered_as_clients_of_the_original_know_it(home):
    with staged(home, KEEL, say("Upright.")) as stage:
        status, told = stage.ask("POST", "/api/query", {"query": "What is the keel for?"})
    assert status == 200
    assert told["answer"] == "Upright."
    assert told["sources"][0]["text"] == "Sailing for Beginners - Lesson 1"
    assert told["session_id"].startswith("session_")


@pytest.mark.parametrize(
    ("body", "status", "says"),
    [
        ({}, 422, "query"),
        ({"query": 5}, 422, "query"),
        ([], 422, "object"),
        ({"query": "  "}, 422, "Ask something"),
        ({"query": "x" * 100_000}, 413, "20,000 characters at most; this one has 100,000"),
    ],
)
def test_a_query_that_cant_be_answered_is_refused_with_a_sentence(home, body, status, says):
    with staged(home) as stage:
        found, told = stage.ask("POST", "/api/query", body)
        assert stage.requests == []
    assert found == status
    assert says in told["error"]
    assert told["detail"] == told["error"]


def test_a_model_that_fails_is_said_to_and_the_material_can_still_be_searched(home):
    with staged(home, *[refuse(400, "no such model")] * 9) as stage:
        status, told = stage.ask("POST", "/api/query", {"query": "keel?"})
        searched = stage.ask("GET", "/api/courses/search?q=keel")[1]["found"]
    assert status == 502
    assert "no such model" in told["detail"]
    assert (searched[0]["source"], searched[0]["url"]) == ("Sailing for Beginners - Lesson 1", "https://example.org/sailing/1")


def test_sessions_survive_a_restart_and_are_separate(home):
    with staged(home, say("One."), say("Two.")) as stage:
        first, second = stage.query("First?"), stage.query("Second?")
    assert first["session_id"] != second["session_id"]
    with staged(home, say("Three."), say("Four.")) as stage:
        assert stage.query("Third?", first["session_id"])["session_id"] == first["session_id"]
        assert stage.query("Fourth?", "session_unknown")["session_id"] not in ("session_unknown", first["session_id"])
        said = [str(message["content"]) for message in stage.requests[0]["messages"]]
        assert len(said) == 3
        listed = stage.ask("GET", "/api/courses/sessions")[1]["sessions"]
        assert [each["question"] for each in listed] == ["Fourth?", "First?", "Second?"]
        path = f"/api/courses/sessions/{first['session_id']}"
        assert [each["answer"] for each in stage.ask("GET", path)[1]["exchanges"]] == ["One.", "Three."]
        assert stage.ask("DELETE", path)[0] == 204
        assert stage.ask("DELETE", path)[0] == 404
        assert stage.ask("GET", path)[0] == 404


def test_an_answer_is_seen_as_it_comes(home):
    async def events(url, session_id):
        body = {"assistant": "courses", "message": "Keel?", "context": {"session_id": session_id}}
        headers = {"accept": "text/event-stream"}
        async with aiohttp.ClientSession() as session, session.post(f"{url}/api/runs", json=body, headers=headers) as answer:
            return [json.loads(line[6:]) async for line in answer.content if line.startswith(b"data: ")]

    with staged(home, KEEL, say("It keeps the boat upright.")) as stage:
        session_id = stage.ask("POST", "/api/courses/sessions")[1]["session_id"]
        seen = asyncio.run(events(stage.url, session_id))
        assert [each["event"] for each in seen].index("call_started") < [each["event"] for each in seen].index("text_arrived")
        reply = seen[-1]
        assert (reply["event"], reply["message"], reply["approvals"]) == ("reply", "It keeps the boat upright.", [])
        assert reply["data"]["sources"][0]["passages"][0]["id"].startswith("material/sailing.txt#")
        kept = stage.ask("GET", f"/api/courses/sessions/{session_id}")[1]["exchanges"]
        assert [(each["question"], each["answer"], each["run_id"]) for each in kept] == [
            ("Keel?", "It keeps the boat upright.", reply["run_id"])
        ]
        again = stage.ask("GET", f"/api/runs/{reply['run_id']}")[1]
        assert again["replies"] == [reply["data"]]


def test_a_source_opens_its_passage(home):
    with staged(home) as stage:
        found = stage.ask("GET", "/api/courses/search?q=keel&course=sailing&lesson=1")[1]["found"][0]
        status, passage = stage.ask("GET", "/api/courses/passage", params={"id": found["id"]})
        assert (status, passage["before"], passage["after"], passage["lesson"]) == (200, None, None, 1)
        assert passage["headings"] == ["Lesson 1: Parts of a boat"]
        lesson = stage.ask("GET", "/api/courses/lesson", params={"course": passage["course"], "lesson": "0"})[1]
        assert "life jacket" in lesson["passages"][0]["text"]


@pytest.mark.parametrize(
    ("path", "status"),
    [
        ("/api/courses/passage?id=nothing", 404),
        ("/api/courses/passage", 404),
        ("/api/courses/lesson?course=nothing&lesson=1", 404),
        ("/api/courses/lesson?course=material/sailing.txt&lesson=99", 404),
        ("/api/courses/lesson?course=material/sailing.txt&lesson=one", 422),
        ("/api/courses/search?q=", 422),
        ("/api/courses/search?q=keel&course=Chess", 404),
        ("/api/courses/search?q=keel&lesson=-", 422),
    ],
)
def test_what_isnt_there_is_said_to_be(home, path, status):
    with staged(home) as stage:
        assert stage.ask("GET", path)[0] == status
