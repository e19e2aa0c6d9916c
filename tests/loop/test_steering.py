"""Messages that a user sends while a turn runs: delivered between two rounds, each once."""

import pytest

from treadle.core.calls import Allow, Ask, Call, Media, Result, Written
from treadle.core.entries import (
    Delivered,
    Entry,
    Finished,
    Judged,
    Opened,
    Replied,
    Resumed,
    Returned,
    Said,
    Steered,
    decode,
    encode,
)
from treadle.core.messages import Message, Text, person_message
from treadle.core.requests import Usage
from treadle.loop.decide import AskModel, CallTools, CloseReply, Deliver, Finish, Idle, TurnTerms, WaitForPerson, decide
from treadle.loop.limits import Limits
from treadle.loop.state import RunState, replay

ASKED: list[Entry] = [Opened(at=1.0), Said(text="Book Oslo.", at=2.0)]
CALLED = Replied(parts=(Written("c1", "book", "{}"),))
JUDGED = Judged(call=Call("c1", "book", {}), verdict=Allow())
CAME = Returned(result=Result("c1", "book", "booked"))
ANSWERED = Replied(parts=(Text("Done."),), usage=Usage(requests=1))
BERGEN = Steered(id="m1", text="Bergen, please.")


def run(*entries: Entry) -> RunState:
    return replay([*ASKED, *entries])


def next_step(*entries: Entry, **terms):
    return decide(run(*entries), TurnTerms(**terms))


def test_it_is_delivered_before_the_next_request():
    assert next_step(BERGEN) == Deliver(("m1",))
    assert next_step(CALLED, JUDGED, CAME, BERGEN) == Deliver(("m1",))
    assert next_step(BERGEN, Delivered(message_ids=("m1",))) == AskModel()


def test_it_waits_for_the_results_of_the_round():
    assert isinstance(next_step(CALLED, JUDGED, BERGEN), CallTools)
    waits = Judged(call=JUDGED.call, verdict=Ask("policy"))
    assert isinstance(next_step(CALLED, waits, BERGEN), WaitForPerson)
    assert next_step(Replied(parts=(Text("I"),), more=True), BERGEN) == CloseReply()
    state = run(CALLED, JUDGED, BERGEN, CAME, Delivered(message_ids=("m1",)))
    assert [message.role for message in state.history] == ["person", "model", "tools", "person"]
    assert state.history[-1] == person_message("Bergen, please.")
    assert state.transcript is state.history
    assert state.steering == ()


def test_one_that_was_sent_during_the_answer_leads_to_a_further_round():
    assert next_step(ANSWERED) == Finish("answered", text="Done.")
    assert next_step(BERGEN, ANSWERED) == Deliver(("m1",))
    assert next_step(BERGEN, ANSWERED, Delivered(message_ids=("m1",))) == AskModel()
    structured = Returned(result=CAME.result, final=True)
    assert next_step(CALLED, JUDGED, structured) == Finish("answered")
    assert next_step(CALLED, JUDGED, structured, BERGEN, Delivered(message_ids=("m1",))) == AskModel()


def test_an_answer_that_was_cut_is_continued_before_it_is_delivered():
    cut = Replied(parts=(Text("Once upon"),), finish="length", continues=True, usage=Usage(requests=1))
    assert isinstance(next_step(cut, BERGEN), AskModel)
    assert next_step(cut, BERGEN, Replied(parts=(Text(" a time."),), usage=Usage(requests=1))) == Deliver(("m1",))
    state = run(cut, BERGEN, Finished(stopped="cancelled"), Said(text="And?"))
    assert [message.text for message in state.history] == ["Book Oslo.", "Once upon", "Bergen, please.\n\nAnd?"]


def test_the_same_message_sent_again_counts_once():
    state = run(BERGEN, BERGEN)
    assert state.steering == (BERGEN,)
    state = run(BERGEN, Delivered(message_ids=("m1",)), BERGEN)
    assert (state.steering, len(state.history)) == ((), 2)
    said = replay([Opened(), Said(text="Book Oslo.", id="m0"), Steered(id="m0", text="Book Oslo.")])
    assert said.steering == ()


def test_several_join_the_conversation_as_one_message():
    image = Media("image/png", "hash", 9, "a.png")
    shown = Steered(id="m2", text="Like this: a.png", parts=(Text("Like this:"), image))
    more = Steered(id="m3", text="Or not.")
    state = run(BERGEN, shown, more)
    assert decide(state, TurnTerms()) == Deliver(("m1", "m2", "m3"))
    state = run(BERGEN, shown, more, Delivered(message_ids=("m1", "m2", "m3")))
    assert state.history[-1].parts == (Text("Bergen, please.\n\nLike this:"), image, Text("Or not."))
    assert state.has_media


def test_only_those_that_are_named_are_delivered():
    later = Steered(id="m2", text="By train.")
    state = run(BERGEN, later, Delivered(message_ids=("m1",)))
    assert (state.history[-1], state.steering) == (person_message("Bergen, please."), (later,))
    assert not state.has_media


@pytest.mark.parametrize("stopped", ["failed", "cancelled"])
def test_one_that_a_turn_did_not_come_to_is_read_with_the_next_message(stopped):
    state = run(BERGEN, Finished(stopped=stopped), Said(text="And?", id="m2"))
    assert state.history[-1] == person_message("Bergen, please.\n\nAnd?")
    assert state.steering == ()
    assert state.message_ids == {"m1", "m2"}


def test_one_that_a_turn_did_not_come_to_is_delivered_when_it_is_resumed():
    assert next_step(BERGEN, Finished(stopped="failed")) == Idle()
    assert next_step(BERGEN, Finished(stopped="failed"), Resumed()) == Deliver(("m1",))


def test_one_that_is_sent_while_the_run_waits_for_a_person_leaves_it_waiting_and_takes_no_time():
    waits = Judged(call=JUDGED.call, verdict=Ask("policy"), at=3.0)
    state = run(CALLED, waits, Finished(stopped="waiting", at=4.0), Steered(id="m1", text="Well?", at=90.0))
    assert state.finished is not None
    assert (state.spent.seconds, state.at) == (2.0, 90.0)
    assert run(Steered(id="m1", text="Well?", at=90.0)).spent.seconds == 88.0


def test_at_a_limit_it_is_answered_without_tools():
    at_limit = (CALLED, JUDGED, CAME, Replied(parts=(Text("Enough."),), last=True, usage=Usage(requests=1)))
    limits = Limits(rounds=1)
    assert next_step(*at_limit, limits=limits) == Finish("limit", text="Enough.", reason="the limit of 1 round", limit="rounds")
    step = next_step(*at_limit, BERGEN, Delivered(message_ids=("m1",)), limits=limits)
    assert isinstance(step, AskModel)
    assert step.last


def test_after_it_the_model_may_call_again_what_was_refused_as_repeated_and_be_empty_once():
    state = run(Replied(parts=()), Replied(parts=()), BERGEN)
    assert state.empties == 2
    assert decide(run(Replied(parts=()), Replied(parts=()), BERGEN, Delivered(message_ids=("m1",))), TurnTerms()) == AskModel()
    rounds = [CALLED, JUDGED, CAME]
    assert run(*rounds).trail != RunState().trail
    assert run(*rounds, BERGEN, Delivered(message_ids=("m1",))).trail == RunState().trail


def test_entries_of_steering_are_lines_of_the_journal():
    for entry in (BERGEN, Delivered(message_ids=("m1",)), Said(text="Hi", id="m0")):
        assert decode(encode(entry)) == entry
    assert decode(encode(Said(text="Hi"))) == Said(text="Hi")
    assert run(BERGEN, Delivered(message_ids=("m1",))).history[1] == Message("person", (Text("Bergen, please."),))
