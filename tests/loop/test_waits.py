"""When a wait ends, what it is called, and what follows for the state of a run."""

from treadle.core.calls import Allow, Call, Delivery, Result, Wait, WaitRequest, Written
from treadle.core.entries import Awaited, Finished, Judged, Replied, Returned, Said, Started, Woken
from treadle.loop.decide import AskModel, CallTools, Recover, Sleep, TurnTerms, decide
from treadle.loop.facts import FoldState, fold_facts
from treadle.loop.forks import fork_entries
from treadle.loop.state import replay
from treadle.loop.waits import begin_wait, describe_wait, is_over, matches_request, timeout_result

BEGUN = [Said(text="Go."), Replied(parts=(Written("c1", "pay", "{}"),)), Judged(call=Call("c1", "pay", {}), verdict=Allow())]
PAID = Wait(None, "paid", "7")


def test_a_wait_begins_when_it_is_asked_for():
    assert begin_wait(WaitRequest(5.0), 100.0) == Wait(105.0, seconds=5.0)
    assert begin_wait(WaitRequest(-5.0), 100.0).until == 100.0
    assert begin_wait(WaitRequest(until=70.0), 100.0) == Wait(70.0)
    assert begin_wait(WaitRequest(event="paid", key="7"), 100.0) == PAID


def test_the_same_wait_is_recognized_whatever_its_time():
    assert matches_request(Wait(105.0, seconds=5.0), WaitRequest(9.0))
    assert matches_request(Wait(105.0), WaitRequest(until=200.0))
    assert not matches_request(Wait(105.0), WaitRequest(5.0))
    assert not matches_request(PAID, WaitRequest(event="paid", key="8"))


def test_a_wait_is_over_when_the_event_or_the_time_has_come():
    assert not is_over(PAID, None, 1e12)
    assert is_over(PAID, Delivery(), 0.0)
    assert [is_over(Wait(5.0), None, now) for now in (4.9, 5.0)] == [False, True]


def test_waits_in_words():
    assert describe_wait(Wait(0.0)) == "until 1970-01-01T00:00:00Z"
    assert describe_wait(PAID) == "for the event 'paid' of '7'"
    assert describe_wait(Wait(60.0, "paid")) == "for the event 'paid', until 1970-01-01T00:01:00Z at the latest"
    assert timeout_result("c1", "pay", Wait(60.0, "paid")) == Result(
        "c1", "pay", "The event 'paid' hasn't come by 1970-01-01T00:01:00Z.", "timeout"
    )


def test_a_call_that_waits_is_neither_run_nor_recovered_and_the_turn_sleeps():
    state = replay([*BEGUN, Started(call_id="c1"), Awaited(call_id="c1", wait=PAID)])
    step = decide(state, TurnTerms())
    assert isinstance(step, Sleep)
    assert [call.id for call in step.calls] == [call.id for call in state.sleeping] == ["c1"]
    result = Result("c1", "pay", "No.", "timeout")
    over = replay([Returned(result=result, waited=True)], state)
    assert (over.sleeping, over.spent.failures) == ((), 0)
    assert decide(over, TurnTerms()) == AskModel()
    assert replay([Returned(result=result)], state).spent.failures == 1


def test_a_tool_that_waits_in_the_middle_of_its_work_is_called_anew():
    reading = replay([*BEGUN, Awaited(call_id="c1.1", wait=PAID, within="c1")])
    writing = replay([*BEGUN, Started(call_id="c1"), Awaited(call_id="c1.1", wait=Wait(5.0), within="c1")])
    assert isinstance(decide(reading, TurnTerms()), CallTools)
    assert isinstance(decide(writing, TurnTerms()), Recover)
    assert [(call.id, call.name) for state in (reading, writing) for call in state.sleeping] == [
        ("c1.1", "wait_for_event"),
        ("c1.1", "sleep"),
    ]
    for untrusted in (True, False):
        woken = replay([Woken(result=Result("c1.1", "wait_for_event", "12", untrusted=untrusted))], reading)
        assert (woken.sleeping, woken.tainted) == ((), untrusted)


def test_a_wait_is_no_call_in_the_statistics():
    entries = [
        *BEGUN,
        Awaited(call_id="c1.1", wait=PAID, within="c1"),
        Woken(result=Result("c1.1", "wait_for_event", "12")),
        Returned(result=Result("c1", "pay", "12")),
    ]
    _, facts = fold_facts(FoldState(), entries)
    assert [fact.tool for fact in facts] == ["pay"]


def test_a_closed_fork_waits_for_nothing():
    asleep = [*BEGUN, Awaited(call_id="c1", wait=PAID), Finished(stopped="waiting", asleep=True)]
    forked = fork_entries("r", asleep, 9.0, closed=True)
    assert [entry.waited for entry in forked if isinstance(entry, Returned)] == [True]
    assert replay(forked).sleeping == ()
    assert [entry.resumable for entry in forked if isinstance(entry, Finished)] == [True, False]
