"""What the routes of assistants have in common: a request's JSON, and events as they happen."""

import asyncio
import json
import logging

import pytest
from msgspec import Struct
from starlette.exceptions import HTTPException
from starlette.requests import Request

from treadle import TreadleError
from treadle.routes import body_of, streamed


class Asked(Struct, frozen=True):
    message: str


def request(body: bytes) -> Request:
    async def receive():
        return {"type": "http.request", "body": body, "more_body": False}

    return Request({"type": "http", "method": "POST", "headers": [], "path": "/"}, receive)


def test_a_body_is_read_as_what_it_has_to_be():
    assert asyncio.run(body_of(request(b'{"message": "hi", "more": 1}'), Asked)) == Asked("hi")


@pytest.mark.parametrize("body", [b"", b"{", b"[]", b'{"message": 1}', b'{"message": "\xff"}'])
def test_one_that_doesnt_fit_is_refused_with_a_sentence(body):
    with pytest.raises(HTTPException, match="has to be a JSON object") as refused:
        asyncio.run(body_of(request(body), Asked))
    assert refused.value.status_code == 400


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
