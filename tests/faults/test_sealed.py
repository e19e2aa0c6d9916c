"""The process is killed while opaque parts are in flight: what another one then sends is, byte for byte, what would have been sent.

Reasoning items, signatures of thinking and of calls, and reasoning that has to come back: the server of each wire refuses what it
hasn't written itself.
"""

from contextlib import contextmanager

import pytest

from faults.lives import Nursery
from providers.oracles import is_installed
from providers.script import Ask, Say, Think, reply
from providers.servers import SERVERS
from providers.servers.base import KEY, Session
from providers.servers.http import serve
from providers.servers.mock import Mock

WIRES = ("gpt-6", "claude", "gemini", "deepseek")
REPLIES = [
    reply(Think("The first thing first.", "c2VhbC1vbmU="), Say("One moment."), Ask("idempotent", {"number": 1})),
    reply(Think("Now the second.", "c2VhbC10d28="), Ask("idempotent", {"number": 2})),
    reply(Think("That was all.", "c2VhbC10aHJlZQ=="), "Both are done."),
]
# Where the process dies: in the second round, when the first one's seals are in the journal and the second one's are on their way.
POINTS = {
    "in the reply": {"kill_in_reply": 2},
    "after the call was recorded": {"kill_after_kind": "Replied", "kill_after_words": '"number": 2'},
    "in the tool": {"kill_in_tool": "idempotent 2"},
    "after its result": {"kill_after_kind": "Returned", "kill_after_words": "idempotent 2"},
}


class Conversation:
    """A strict server that gives the same reply to the same conversation, and writes down the bodies of requests."""

    def __init__(self, at):
        self.server, self.session, self.bodies = SERVERS[at], Session([]), []
        self._wires = self.server.wires()
        self._mock = Mock(self._wires, self.session)

    def __call__(self, request):
        wire = next(wire for wire in self._wires if wire.serves(request))
        step = sum(len(turn.results) for turn in wire.turns(request.body))
        self.session.script = [("Do it all.", REPLIES[step])]
        del self.session.issued[step:]  # what never arrived is written again
        self.bodies.append(request.raw)
        return self._mock(request)


@pytest.fixture(scope="module")
def nursery():
    nursery = Nursery("", stream=True)
    yield nursery
    nursery.close()


@contextmanager
def conversation(at):
    """A server, and what lives at it are told."""
    talk = Conversation(at)
    with serve(talk) as url:
        yield talk, {"url": url + talk.server.base, "model": f"{talk.server.provider}:{talk.server.model}", "key": KEY}


@pytest.fixture(scope="module", params=WIRES)
def undisturbed(request, nursery, tmp_path_factory):
    """A wire, and the bodies of the requests of a run that nobody kills."""
    if not is_installed(SERVERS[request.param].needs):
        pytest.skip(f"{SERVERS[request.param].needs} isn't installed, so that its requests can't be checked")
    with conversation(request.param) as (talk, order):
        report = nursery.life(tmp_path_factory.mktemp("whole"), resume=False, **order)
    assert (report["killed"], report.get("text"), talk.session.violations) == (False, "Both are done.", []), report
    assert len(talk.bodies) == len(REPLIES)
    return request.param, talk.bodies


@pytest.mark.parametrize("point", POINTS)
def test_what_is_sent_after_a_kill_is_what_would_have_been_sent(nursery, undisturbed, tmp_path, point):
    at, (first, second, third) = undisturbed
    with conversation(at) as (talk, order):
        assert nursery.life(tmp_path, resume=False, **order, **POINTS[point])["killed"]
        before = list(talk.bodies)
        report = nursery.life(tmp_path, resume=True, **order)
    assert (report.get("stopped"), report.get("text"), talk.session.violations) == ("answered", "Both are done.", []), report
    assert before == [first, second]
    assert talk.bodies[len(before) :] == ([second, third] if point == "in the reply" else [third])
    seals = {"gpt-6": b"c2VhbC1vbmU=", "claude": b"c2VhbC1vbmU=", "gemini": b"c2VhbC1vbmU=", "deepseek": b"The first thing first."}
    assert seals[at] in third
