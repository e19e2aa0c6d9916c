"""The process is killed after every write and at any instant: no effect happens twice, none is lost silently."""

import json
import random
from collections import Counter
from pathlib import Path

import pytest

import wire
from faults.lives import Nursery
from wire import call

ROUNDS = [
    [("once", 0)],
    [("keyed", 1), ("checkable", 2)],
    [("read", 3), ("once", 4)],
    [("idempotent", 5), ("once", 6), ("keyed", 7)],
    [("checkable", 8)],
]
EFFECTS = [f"{name} {number}" for calls in ROUNDS for name, number in calls if name != "read"]


def script(received):
    """The same reply to the same conversation. What a kill cut off of a reply is asked for once more, and nothing twice."""
    messages = [message for message in received.body["messages"] if message["role"] == "assistant"]
    asked = [
        (one["function"]["name"], json.loads(one["function"]["arguments"])["number"])
        for said in messages
        for one in said.get("tool_calls", ())
    ]
    for calls in ROUNDS:
        missing = [one for one in calls if one not in asked]
        if missing:
            return tuple(call(name, {"number": number}, id=f"call_{name}_{number}") for name, number in missing)
    return "all done"


@pytest.fixture(scope="module", params=[True, False], ids=["streamed", "whole"])
def nursery(request):
    with wire.WireServer(script) as server:
        nursery = Nursery(server.url, request.param)
        yield nursery
        nursery.close()


def finish(nursery: Nursery, home: Path) -> dict:
    """Take the run up, or start it if the process died before it was known."""
    report = nursery.life(home, resume=True)
    return nursery.life(home, resume=False) if "RunNotFound" in report.get("error", "") else report


def check(home: Path, report: dict) -> None:
    """The same answer as ever; no effect twice; every effect happened or was reported."""
    assert (report.get("stopped"), report.get("text")) == ("answered", "all done"), report
    lines = (home / "effects").read_text().splitlines() if (home / "effects").exists() else []
    happened = Counter(" ".join(line.split()[:2]) for line in lines)
    twice = [effect for effect, count in happened.items() if count > 1 and not effect.startswith("idempotent")]
    assert twice == []
    lost = [effect for effect in EFFECTS if not happened[effect] and effect not in report["interrupted"]]
    assert lost == []
    assert all(effect.startswith("once") for effect in report["interrupted"])
    assert report["audit"]


def test_an_undisturbed_run_does_everything_once(nursery, tmp_path):
    report = nursery.life(tmp_path, resume=False)
    check(tmp_path, report)
    assert report["interrupted"] == []
    assert sorted(" ".join(line.split()[:2]) for line in (tmp_path / "effects").read_text().splitlines()) == sorted(EFFECTS)


def test_killed_after_every_write_in_turn_a_run_reaches_the_same_answer(nursery, tmp_path):
    writes = nursery.life(tmp_path / "whole", resume=False)["writes"]
    assert writes > 25
    for number in range(1, writes + 1):
        home = tmp_path / str(number)
        first = nursery.life(home, resume=False, kill_after=number)
        assert first["killed"] or first["writes"] < number  # how a stream pauses decides how many writes there are
        check(home, finish(nursery, home) if first["killed"] else first)


def test_killed_twice_at_writes_of_either_life(nursery, tmp_path):
    for first in (3, 9, 15):
        for second in (1, 2, 4, 8):
            home = tmp_path / f"{first}-{second}"
            nursery.life(home, resume=False, kill_after=first)
            nursery.life(home, resume=True, kill_after=second)
            check(home, finish(nursery, home))


@pytest.mark.timeout(300)
def test_killed_at_random_instants_a_run_reaches_the_same_answer(nursery, tmp_path):
    chance = random.Random(4711)
    landed = 0
    for number in range(12):  # `make faults` does it a thousand times
        home = tmp_path / str(number)
        report = nursery.life(home, resume=False, kill_at=chance.uniform(0.0, 0.2))
        while report["killed"] and chance.random() < 0.3:
            report = nursery.life(home, resume=True, kill_at=chance.uniform(0.0, 0.15))
        landed += report["killed"]
        check(home, finish(nursery, home))
    assert landed > 6
