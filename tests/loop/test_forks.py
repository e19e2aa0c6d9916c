"""What a fork has of another run."""

import pytest

from treadle.core.calls import Allow, Call, Media, Written
from treadle.core.entries import Entry, Finished, Forked, Judged, Opened, Replied, Said, Steered
from treadle.core.messages import Text
from treadle.loop.forks import CLOSED, CUT, find_message, fork_entries, message_parts
from treadle.loop.state import replay

IMAGE = Media("image/png", "hash", 9, "a.png")
CALLED = [Replied(parts=(Written("c1", "book", "{}"),)), Judged(call=Call("c1", "book", {}), verdict=Allow())]
RUN: list[Entry] = [
    Opened(origin={"face": "cli"}),
    Said(text="Book Oslo."),
    *CALLED,
    Steered(id="m1", text="Like this: a.png", parts=(Text("Like this:"), IMAGE)),
    Finished(stopped="cancelled"),
    Said(text="And?"),
]


@pytest.mark.parametrize(("number", "at"), [(1, 1), (2, 4), (3, 6), (4, None), (0, None), (-1, 6), (-3, 1), (-4, None)])
def test_messages_of_the_user_are_counted_from_either_end(number, at):
    assert find_message(RUN, number) == at


def test_a_message_is_sent_again_with_what_was_shown():
    assert message_parts(RUN[1]) == ["Book Oslo."]
    assert message_parts(RUN[4]) == ["Like this:", IMAGE]


def test_it_begins_with_the_same_entries_and_says_so():
    assert fork_entries("r", RUN[:4], 9.0) == [*RUN[:4], Forked(run_id="r", entries=4, at=9.0)]
    assert fork_entries("r", RUN[:2], 9.0, origin={"face": "server"})[0] == Opened(origin={"face": "server"})


def test_an_open_turn_is_closed_for_another_message():
    state = replay(fork_entries("r", RUN[:4], 9.0, closed=True))
    assert state.finished == Finished(stopped="cancelled", reason=CLOSED, at=9.0)
    assert state.history[-1].parts[0].content == CUT
    streaming = [*RUN[:2], Replied(parts=(Text("I"),), more=True)]
    assert not replay(fork_entries("r", streaming, 9.0, closed=True)).reply_open
    assert fork_entries("r", RUN[:6], 9.0, closed=True) == fork_entries("r", RUN[:6], 9.0)
