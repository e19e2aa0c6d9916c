"""A process is killed during a call that must not run twice: a person says what its outcome was, from another process.

Every process may be killed in turn, also the one that was told.
"""

from pathlib import Path

import pytest

import wire
from faults.lives import Nursery
from wire import call

CALL = "call_once_0"


def script(received):
    """One call that may happen once, then an answer."""
    asked = [message for message in received.body["messages"] if message["role"] == "assistant"]
    return "all done" if asked else call("once", {"number": 0}, id=CALL)


@pytest.fixture(scope="module")
def nursery():
    with wire.WireServer(script) as server:
        nursery = Nursery(server.url, stream=True)
        yield nursery
        nursery.close()


def effects(home: Path) -> list[str]:
    return (home / "effects").read_text().splitlines() if (home / "effects").exists() else []


@pytest.fixture
def killed(nursery, tmp_path):
    """A home whose run was killed when its call had begun, perhaps before it happened."""
    assert nursery.life(tmp_path, resume=False, kill_after_kind="Started")["killed"]
    return tmp_path


def waits(nursery: Nursery, home: Path) -> None:
    report = nursery.life(home, resume=True, attended=True)
    assert (report["stopped"], report["unclear"]) == ("waiting", [CALL])


@pytest.mark.parametrize(
    ("said", "more", "problem"),
    [("happened", 0, "says that it took effect"), ("not_happened", 0, "says that it did not take effect"), ("again", 1, "")],
)
def test_each_answer_from_another_process(nursery, killed, said, more, problem):
    waits(nursery, killed)
    waits(nursery, killed)
    before = len(effects(killed))
    report = nursery.life(killed, resume=True, attended=True, settle=[CALL, said])
    assert (report["stopped"], report["text"], report["audit"]) == ("answered", "all done", True)
    assert len(effects(killed)) == before + more
    assert len(report["problems"]) == (said == "not_happened")
    assert not report["problems"] or problem in report["problems"][0]


@pytest.mark.parametrize("said", ["happened", "not_happened", "again"])
@pytest.mark.parametrize("writes", [1, 2, 3, 4])
def test_killed_again_after_the_answer(nursery, killed, said, writes):
    waits(nursery, killed)
    before = len(effects(killed))
    nursery.life(killed, resume=True, attended=True, settle=[CALL, said], kill_after=writes)
    report = nursery.life(killed, resume=True, attended=True)
    if report["stopped"] == "waiting":  # it died in the second attempt, so that somebody has to look once more
        assert (said, report["unclear"]) == ("again", [CALL])
        report = nursery.life(killed, resume=True, attended=True, settle=[CALL, "happened"])
    assert report["text"] == "all done"
    assert len(effects(killed)) <= before + (said == "again")


def test_an_answer_is_taken_once_and_only_for_a_call_in_question(nursery, killed):
    waits(nursery, killed)
    assert "waits for a person" in nursery.life(killed, resume=True, attended=True, settle=["c9", "again"])["error"]
    assert nursery.life(killed, resume=True, attended=True, settle=[CALL, "happened"])["stopped"] == "answered"
    assert "waits for a person" in nursery.life(killed, resume=True, attended=True, settle=[CALL, "happened"])["error"]


def test_where_nobody_is_there_the_run_ends_and_reports_it(nursery, killed):
    report = nursery.life(killed, resume=True)
    assert (report["stopped"], report["interrupted"]) == ("answered", ["once 0"])
