"""Whether a program that is run again makes the calls that are in the journal."""

import pytest

from treadle.core.calls import Allow, Call, Result, Written
from treadle.core.entries import Approved, Called, Judged, Opened, Replied, Returned, Said
from treadle.loop.program_replay import differs_from_journal, find_inner_calls, inner_call_id, reads_untrusted
from treadle.loop.state import replay

FIRST = Call("c1.1", "pay", {"amount": 1})
BEFORE = [
    Opened(),
    Said(text="Go."),
    Replied(parts=(Written("c1", "run_program", "{}"),)),
    Judged(call=Call("c1", "run_program", {}), verdict=Allow("")),
    Called(call=FIRST, within="c1"),
]


def returned(call_id, name, **how):
    return Returned(result=Result(call_id, name, "ok", **how))


def test_ids_are_numbered_by_the_outer_call():
    assert inner_call_id("c1", 2) == "c1.2"


@pytest.mark.parametrize(
    ("call", "differs"),
    [
        (FIRST, False),
        (Call("c1.1", "pay", {"amount": 2}), True),
        (Call("c1.1", "refund", {"amount": 1}), True),
        (Call("c1.2", "pay", {"amount": 2}), False),
        (Call("c1", "run_program", {}), True),
    ],
)
def test_another_call_in_the_place_of_one_differs(call, differs):
    state = replay([*BEFORE[:3], *BEFORE[4:]])
    assert differs_from_journal(state, call) is differs


def test_a_call_that_a_user_edited_is_the_one_that_was_requested():
    state = replay([*BEFORE, Judged(call=FIRST, verdict=Allow("")), Approved(call_id="c1.1", arguments={"amount": 7})])
    assert not differs_from_journal(state, FIRST)
    assert differs_from_journal(state, Call("c1.1", "pay", {"amount": 7}))


def test_what_a_tool_has_called_and_whether_it_read_untrusted_content():
    state = replay([*BEFORE, Called(call=Call("c2.1", "pay", {}), within="c2"), returned("c1.1", "pay")])
    assert [call.id for call in find_inner_calls(state, "c1")] == ["c1.1"]
    assert not reads_untrusted(find_inner_calls(state, "c1"))
    assert not reads_untrusted(find_inner_calls(replay(BEFORE), "c1"))
    assert reads_untrusted(find_inner_calls(replay([*BEFORE, returned("c1.1", "pay", untrusted=True)]), "c1"))
    assert reads_untrusted(find_inner_calls(replay([*BEFORE, returned("c1.1", "pay", problem="raised", quoted=2)]), "c1"))


def test_calls_of_tools_are_kept_when_their_round_is_over_where_its_results_are():
    state = replay(
        [*BEFORE, returned("c1.1", "pay"), Called(call=Call("c1.2", "pay", {}), within="c1"), returned("c1", "run_program")]
    )
    (made,) = state.inner_calls
    assert made.call == FIRST
    assert state.transcript[made.at].role == "tools"
    assert state.inner == ()


def test_a_call_knows_whether_it_was_judged_after_untrusted_content_was_read():
    state = replay([*BEFORE, returned("c1.1", "pay", untrusted=True), Called(call=Call("c1.2", "pay", {}), within="c1")])
    state = replay([Judged(call=Call("c1.2", "pay", {}), verdict=Allow(""))], state)
    assert [call.tainted for call in (*state.calls, *state.inner)] == [False, False, True]
