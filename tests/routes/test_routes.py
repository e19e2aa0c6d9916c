"""What the routes of assistants have in common besides handlers: events as they happen, and decisions."""

import asyncio
import json
import logging
import subprocess
import sys

import msgspec
import pytest
from msgspec import Struct

import treadle.routes
from treadle import Answer, TreadleError
from treadle.routes import Decision, stream_response


class Asked(Struct, frozen=True):
    message: str


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
        found, stream = [], stream_response(events, beat=beat).body_iterator
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
    decided = msgspec.json.decode(b'{"settled": "again", "digest": "d"}', type=Decision)
    assert (decided.runs, decided.answer("Ann").settled, decided.answer("Ann").approved) == (True, "again", False)
    yes = Decision(approved=True, digest="d", reason="r")
    assert (yes.runs, yes.answer("Ann", {"x": 1})) == (True, Answer(True, "Ann", "r", {"x": 1}))
    assert not Decision(approved=False, digest="d").runs
    assert not Decision(settled="happened", digest="d").runs
    for body in (b'{"digest": "d"}', b'{"digest": "d", "approved": true, "settled": "again"}'):
        with pytest.raises(msgspec.ValidationError, match="say `approved`, or `settled`"):
            msgspec.json.decode(body, type=Decision)
