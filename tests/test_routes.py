"""What the routes of assistants have in common: a request's JSON, and events as they happen."""

import asyncio
import json
import logging
import subprocess
import sys

import pytest
from msgspec import Struct
from starlette.exceptions import HTTPException
from starlette.requests import Request

import treadle.routes
from treadle import Answer, TreadleError
from treadle.routes import Decision, Described, Operation, body_of, query_of, streamed, together


class Asked(Struct, frozen=True):
    message: str


def request(body: bytes) -> Request:
    async def receive():
        return {"type": "http.request", "body": body, "more_body": False}

    return Request({"type": "http", "method": "POST", "headers": [], "path": "/"}, receive)


def test_a_body_is_read_as_what_it_has_to_be():
    assert asyncio.run(body_of(request(b'{"message": "hi", "more": 1}'), Asked)) == Asked("hi")


@pytest.mark.parametrize("body", [b"", b"{", b"[]", b'{"message": 1}', b'{"message": "\xff"}', b"[" * 100_000])
def test_one_that_doesnt_fit_is_refused_with_a_sentence(body):
    with pytest.raises(HTTPException, match="has to be a JSON object") as refused:
        asyncio.run(body_of(request(body), Asked))
    assert refused.value.status_code == 400


def test_a_route_may_say_with_which_status_what_does_not_fit_is_refused():
    with pytest.raises(HTTPException) as refused:
        asyncio.run(body_of(request(b"{"), Asked, unfit=422))
    assert refused.value.status_code == 422


class Sought(Struct, frozen=True):
    q: str
    most: int = 5


def sought(query: bytes) -> Sought:
    return query_of(Request({"type": "http", "method": "GET", "headers": [], "path": "/", "query_string": query}), Sought)


def test_what_stands_behind_the_question_mark_is_read_as_what_it_has_to_be():
    assert sought(b"q=keel%20and%20rudder") == Sought("keel and rudder")
    assert sought(b"q=keel&most=7") == Sought("keel", 7)


@pytest.mark.parametrize(
    ("query", "said"),
    [
        (b"", "missing required field `q`"),
        (b"q=a&most=many", "Expected `int`"),
        (b"q=a&limit=3", "There is no 'limit' to ask by; there are q, most."),
    ],
)
def test_what_does_not_fit_there_is_refused_with_a_sentence(query, said):
    with pytest.raises(HTTPException, match=said) as refused:
        sought(query)
    assert refused.value.status_code == 400


async def deep(request):
    raise AssertionError("nobody asks")


def test_routes_at_one_path_know_of_each_other():
    shown, changed, other = together(
        [
            Described("/lakes", deep, Operation("How deep")),
            Described("/lakes", deep, Operation("Deeper"), "PUT"),
            Described("/ponds", deep, Operation("How shallow")),
        ]
    )
    assert shown.allowed == changed.allowed == {"GET", "HEAD", "PUT"}
    assert other.allowed == {"GET", "HEAD"}


def test_nothing_of_a_server_is_imported_before_one_asks():
    program = "import sys, treadle.routes; print('starlette' in sys.modules, 'asyncio' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout == "False False\n"


def test_the_names_are_all_there_and_no_others():
    assert [name for name in dir(treadle.routes) if not hasattr(treadle.routes, name)] == []
    with pytest.raises(AttributeError, match="no attribute 'undescribed'"):
        _ = treadle.routes.undescribed


def lines(events, beat=60.0, most=99):
    async def read():
        found, stream = [], streamed(events, beat=beat).body_iterator
        async for line in stream:
            found.append(line.decode())
            if len(found) == most:
                break
        await stream.aclose()
        return found

    return asyncio.run(read())


def test_each_event_is_a_line_of_json():
    async def events():
        yield {"a": 1}
        yield Asked("x\ny")

    assert lines(events()) == ['data: {"a":1}\n\n', 'data: {"message":"x\\ny"}\n\n']


def test_silence_is_broken_by_signs_of_life():
    async def events():
        await asyncio.sleep(0.2)
        yield 1

    found = lines(events(), beat=0.05)
    assert found[0] == ": still here\n\n"
    assert found[-1] == "data: 1\n\n"


@pytest.mark.parametrize(
    ("error", "said"),
    [(TreadleError("No key AKIAIOSFODNN7EXAMPLE."), "No key"), (ValueError("secret"), "Something went wrong in the server")],
)
def test_what_goes_wrong_is_the_last_event_and_tells_no_secret(error, said, caplog):
    async def events():
        yield 1
        raise error

    with caplog.at_level(logging.CRITICAL, "treadle"):
        found = json.loads(lines(events())[-1].removeprefix("data: "))
    assert found["event"] == "error"
    assert said in found["error"]
    assert "AKIA" not in found["error"]
    assert "secret" not in found["error"]


def test_whoever_leaves_stops_what_makes_the_events():
    ended = []

    async def events():
        try:
            while True:
                yield 1
                await asyncio.sleep(0)
        finally:
            ended.append(True)

    assert len(lines(events(), most=3)) == 3
    assert ended == [True]


def test_events_may_come_from_anything_that_can_be_asked_for_the_next():
    class Two:
        def __init__(self):
            self.left = [1, 2]

        def __aiter__(self):
            return self

        async def __anext__(self):
            if not self.left:
                raise StopAsyncIteration
            return self.left.pop(0)

    assert lines(Two()) == ["data: 1\n\n", "data: 2\n\n"]


def test_a_decision_is_one_answer_and_says_whether_the_call_then_runs():
    decided = asyncio.run(body_of(request(b'{"settled": "again", "digest": "d"}'), Decision))
    assert (decided.runs, decided.answer("Ann").settled, decided.answer("Ann").approved) == (True, "again", False)
    yes = Decision(approved=True, digest="d", reason="r")
    assert (yes.runs, yes.answer("Ann", {"x": 1})) == (True, Answer(True, "Ann", "r", {"x": 1}))
    assert not Decision(approved=False, digest="d").runs
    assert not Decision(settled="happened", digest="d").runs
    for body in (b'{"digest": "d"}', b'{"digest": "d", "approved": true, "settled": "again"}'):
        with pytest.raises(HTTPException) as refused:
            asyncio.run(body_of(request(body), Decision))
        assert "say `approved`, or `settled`" in refused.value.detail
