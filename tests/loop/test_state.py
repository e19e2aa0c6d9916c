"""A run is the fold of its journal."""

from itertools import pairwise
from typing import get_args

from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from treadle.core.calls import Allow, Ask, Call, Deny, Media, Opaque, Result, Written
from treadle.core.entries import (
    Approved,
    Called,
    Entry,
    Finished,
    Forked,
    Informed,
    Judged,
    Noted,
    Opened,
    Previewed,
    Refused,
    Replied,
    Resumed,
    Returned,
    Said,
    Settled,
    Shortened,
    Started,
    Unclear,
    UngroundedValue,
)
from treadle.core.grants import Grant
from treadle.core.messages import ContextItem, History, Message, Text, Thinking, person_message
from treadle.core.requests import Usage
from treadle.loop import state as fold
from treadle.loop.state import RunState, apply_entry, call_fingerprint, find_call, replay


def written(call_id="c1", name="look", text="{}"):
    return Written(call_id, name, text)


def judged(call_id="c1", verdict=None, name="look", arguments=None, **more):
    return Judged(call=Call(call_id, name, arguments or {}), verdict=verdict or Allow(), **more)


def came(call_id="c1", content="5", name="look", **more):
    return Returned(result=Result(call_id, name, content), **more)


ASKED = [Opened(at=1.0), Said(text="Find it.", at=2.0)]


def test_every_kind_of_entry_can_be_applied():
    assert set(fold._APPLY) == set(get_args(Entry))


def test_a_turn_begins_with_what_a_person_said():
    state = replay(ASKED)
    assert list(state.history) == [person_message("Find it.")]
    assert state.position == 2
    assert state.at == 2.0
    assert state.opened == ASKED[0]


def test_data_of_a_provider_stays_where_it_was_and_with_the_call_it_came_with():
    item, signature = Opaque("responses", '{"id": "rs_1"}'), Opaque("google", '{"thoughtSignature": "x"}')
    reply = Replied(parts=(item, Written("c1", "look", "{}", opaque=signature), Text("So."), item), usage=Usage(requests=1))
    state = replay([*ASKED, reply, judged(arguments={"a": 1}), came()])
    assert state.history[1].parts == (item, Call("c1", "look", {"a": 1}, signature), Text("So."), item)


def test_a_reply_that_its_server_paused_goes_back_to_be_continued():
    block = Opaque("anthropic", '{"type": "server_tool_use"}')
    paused = replay([*ASKED, Replied(parts=(Text("I'll look."), block), finish="paused", usage=Usage(requests=1))])
    assert list(paused.history) == [person_message("Find it."), Message("model", (Text("I'll look."), block))]
    assert (paused.answer, paused.empties, paused.spent.rounds) == (None, 0, 1)
    over = apply_entry(paused, Replied(parts=(Text("Found."),), usage=Usage(requests=1)))
    assert over.answer == "Found."


def test_an_empty_reply_that_was_filtered_is_told_apart():
    held = replay([*ASKED, Replied(parts=(Thinking("Hm."),), finish="filtered", usage=Usage(requests=1))])
    assert (held.empties, held.filtered) == (1, True)
    assert not apply_entry(held, Resumed()).filtered
    assert replay([*ASKED, Replied(parts=(Text("A bit."),), finish="filtered")]).answer == "A bit."


def test_what_a_person_shows_is_in_the_message_and_the_state_knows_of_it():
    image = Media("image/png", "hash", 9, "a.png")
    state = replay([Opened(), Said(text="What? [image a.png]", parts=(Text("What?"), image))])
    assert (list(state.history), state.has_media) == ([Message("person", (Text("What?"), image))], True)
    assert not replay(ASKED).has_media
    called = [*ASKED, Replied(parts=(written(),)), judged(), Returned(result=Result("c1", "look", "x", media=(image,)))]
    assert replay(called).has_media
    for part in (image, Result("c1", "look", "x", media=(image,))):
        assert replay([Opened(history=(Message("person", (Text("a"), part)),))]).has_media
    assert not replay([Opened(history=(person_message("a"), Message("tools", (Result("c1", "look", "x"),))))]).has_media


def test_an_earlier_conversation_comes_before_the_first_words():
    earlier = (person_message("Hi"), Message("model", (Text("Hello"),)))
    assert list(replay([Opened(history=earlier), Said(text="And?")]).history) == [*earlier, person_message("And?")]


def test_a_reply_without_calls_is_the_answer():
    state = replay([*ASKED, Replied(parts=(Thinking("hm"), Text(" It is here. ")), usage=Usage(1, 0, 10, 5))])
    assert state.answer == "It is here."
    assert state.history[-1] == Message("model", (Thinking("hm"), Text(" It is here. ")))
    assert state.usage == state.spent.usage == Usage(1, 0, 10, 5)
    assert state.spent.last_tokens == 15


def test_an_empty_reply_is_counted_and_joins_no_history():
    state = replay([*ASKED, Replied(parts=(Text("  "),))])
    assert (state.answer, state.empties, len(state.history)) == (None, 1, 1)


def test_a_round_joins_the_history_when_every_call_has_its_result():
    reply = Replied(parts=(Text("Let me look."), written("c1"), written("c2")))
    state = replay([*ASKED, reply, judged("c1", arguments={"x": 1}), judged("c2"), came("c2", "two")])
    assert len(state.history) == 1
    state = apply_entry(state, came("c1", "one"))
    assert state.calls == ()
    assert state.spent.rounds == 1
    assert list(state.history)[1:] == [
        Message("model", (Text("Let me look."), Call("c1", "look", {"x": 1}), Call("c2", "look", {}))),
        Message("tools", (Result("c1", "look", "one"), Result("c2", "look", "two"))),
    ]
    assert state.words == "Let me look."


def test_a_reply_may_come_in_pieces_and_its_calls_may_return_before_its_end():
    state = replay([*ASKED, Replied(parts=(Text("a"), written("c1")), more=True), judged("c1"), came("c1")])
    assert state.reply_open
    assert len(state.history) == 1
    state = replay([Replied(parts=(written("c2"),), more=True), judged("c2"), came("c2")], state)
    state = apply_entry(state, Replied(parts=(), usage=Usage(1)))
    assert not state.reply_open
    assert [part.call_id for part in state.history[-1].parts] == ["c1", "c2"]


def test_a_call_that_could_not_be_read_stands_in_the_history_without_arguments():
    state = replay([*ASKED, Replied(parts=(written("c1", text="{nonsense"),))])
    state = apply_entry(state, judged("c1", Deny("reading", "No JSON.", "unreadable")))
    assert state.history[-2].parts == (Call("c1", "look", {}),)
    assert state.history[-1].parts == (Result("c1", "look", "No JSON.", "unreadable"),)
    assert state.spent.usage.calls == 0


def test_calls_in_a_reply_that_was_asked_for_without_tools_do_not_count():
    state = replay([*ASKED, Replied(parts=(Text("So."), written()), last=True)])
    assert state.calls == ()
    assert (state.answer, state.last) == ("So.", True)
    assert state.history[-1].parts == (Text("So."),)


def test_a_call_goes_from_written_to_judged_to_started_to_returned():
    state = replay([*ASKED, Replied(parts=(written(),))])
    assert state.calls[0].verdict is None
    state = apply_entry(state, judged(at=3.0))
    assert state.calls[0].ready
    assert state.calls[0].judged_at == 3.0
    state = apply_entry(state, Started(call_id="c1", key="k"))
    assert state.calls[0].interrupted
    assert not state.calls[0].ready
    assert state.calls[0].key == "k"
    assert apply_entry(state, came()).calls == ()


def unclear(*more):
    return replay(
        [*ASKED, Replied(parts=(written(),)), judged(), Started(call_id="c1", at=4.0), Unclear(call_id="c1", at=9.0), *more]
    )


def test_a_call_that_is_unclear_waits_and_is_nothing_that_can_be_recovered():
    (call,) = unclear().calls
    assert (call.waits, call.unclear, call.interrupted, call.ready, call.again) == (True, True, False, False, False)
    assert (call.began_at, call.question.at) == (4.0, 9.0)


def test_what_a_person_says_became_of_it_is_its_result():
    state = unclear(Settled(call_id="c1", said="happened", by="Ann"))
    assert (state.calls, state.history[-1].parts[0].problem) == ((), None)
    assert unclear(Settled(call_id="c1", said="not_happened")).history[-1].parts[0].problem == "interrupted"


def test_one_that_is_tried_again_has_begun_once_more_and_may_become_unclear_once_more():
    again = Settled(call_id="c1", said="again", by="Ann")
    (call,) = unclear(again).calls
    assert (call.again, call.interrupted, call.waits, call.question.by) == (True, True, False, "Ann")
    (call,) = unclear(again, Started(call_id="c1", attempt=2, at=11.0)).calls
    assert (call.again, call.interrupted, call.attempts, call.began_at) == (False, True, 2, 11.0)
    assert unclear(again, Started(call_id="c1", attempt=2), Unclear(call_id="c1")).calls[0].unclear


def test_an_answer_to_no_question_changes_nothing():
    begun = [*ASKED, Replied(parts=(written("c1"), written("c2"))), judged("c1"), judged("c2"), Started(call_id="c1")]
    for call_id in ("c1", "c9"):
        state = replay([*begun, Settled(call_id=call_id, said="happened")])
        assert state.calls == replay(begun).calls
    over = replay([*begun, Unclear(call_id="c1"), came("c1"), Settled(call_id="c1", said="happened")])
    assert find_call(over, "c1").result.content == "5"


def test_the_time_before_a_persons_word_is_not_the_runs():
    assert unclear(Settled(call_id="c1", said="again", at=5000.0)).spent.seconds < 10


def test_a_call_that_needs_a_person_waits_until_one_approves():
    state = replay([*ASKED, Replied(parts=(written(),)), judged(verdict=Ask(), arguments={"x": 1})])
    assert state.calls[0].waits
    assert not state.calls[0].ready
    assert apply_entry(state, Previewed(call_id="c1", text="it would look")).calls[0].preview == "it would look"
    approved = apply_entry(state, Approved(call_id="c1"))
    assert approved.calls[0].ready
    assert approved.calls[0].call == Call("c1", "look", {"x": 1})
    edited = apply_entry(state, Approved(call_id="c1", digest="d", arguments={"x": 2}))
    assert edited.calls[0].digest == "d"
    assert edited.calls[0].call == Call("c1", "look", {"x": 2})


def test_what_is_allowed_for_the_conversation_is_in_the_state_and_what_is_for_always_is_in_its_own_file():
    state = replay([*ASKED, Replied(parts=(written(),)), judged(verdict=Ask())])
    grant = Grant("g1", "look", "conversation", "agent", "write")
    for_now = apply_entry(state, Approved(call_id="c1", grant=grant))
    assert (for_now.grants, for_now.calls[0].scope) == ((grant,), "conversation")
    always = apply_entry(state, Approved(call_id="c1", grant=replace(grant, scope="always")))
    assert (always.grants, always.calls[0].scope) == ((), "always")
    covered = apply_entry(state, Approved(call_id="c1", covered="g1"))
    assert (covered.calls[0].covered, covered.calls[0].ready) == ("g1", True)


def test_a_refused_call_has_its_result_and_the_model_reads_why():
    state = replay([*ASKED, Replied(parts=(written(),)), judged(verdict=Ask())])
    refused = apply_entry(state, Refused(call_id="c1", by="Ann", reason="too dear"))
    assert refused.history[-1].parts == (Result("c1", "look", "Ann refused this call: too dear", "denied"),)
    assert apply_entry(state, Refused(call_id="c1")).history[-1].parts[0].content == "A person refused this call."


def test_answers_about_calls_that_are_not_there_change_nothing_but_the_position():
    state = replay([*ASKED, Replied(parts=(written(),)), judged(verdict=Ask())])
    for entry in (Approved(call_id="c9"), Refused(call_id="c9"), came("c9")):
        after = apply_entry(state, entry)
        assert after.calls == state.calls
        assert after.position == state.position + 1


def test_what_was_refused_stays_refused_when_it_is_refused_again():
    state = replay([*ASKED, Replied(parts=(written("c1"), written("c2"))), judged("c1", Ask()), judged("c2", Ask())])
    once = apply_entry(state, Refused(call_id="c1", reason="no"))
    assert apply_entry(once, Refused(call_id="c1", reason="really no")).calls == once.calls


def test_a_note_is_added_to_the_result_it_belongs_to():
    state = replay([*ASKED, Replied(parts=(written(),)), judged(note="[again?]"), came()])
    result = state.history[-1].parts[0]
    assert (result.content, result.note) == ("5", "[again?]")


def test_a_tools_own_calls_are_kept_apart_from_the_models():
    state = replay([*ASKED, Replied(parts=(written(),)), judged()])
    state = replay([Called(call=Call("c1.1", "sub", {}), within="c1"), judged("c1.1", name="sub")], state)
    assert find_call(state, "c1.1").within == "c1"
    assert find_call(state, "c1.2") is None
    state = apply_entry(state, came("c1.1", "inner", "sub"))
    assert find_call(state, "c1.1").result.content == "inner"
    assert state.spent.usage.calls == 2
    state = apply_entry(state, came())
    assert [message.role for message in state.history] == ["person", "model", "tools"]
    assert state.inner == ()


def test_what_nested_runs_spent_counts():
    state = replay([*ASKED, Replied(parts=(written(),)), judged(), came(usage=Usage(3, 4, 100, 50))])
    assert state.spent.usage == Usage(3, 5, 100, 50)
    assert state.usage == Usage(3, 5, 100, 50)


def test_untrusted_results_taint_the_run():
    state = replay([*ASKED, Replied(parts=(written(),)), judged()])
    assert apply_entry(state, Returned(result=Result("c1", "look", "page", untrusted=True))).tainted
    assert not apply_entry(state, came()).tainted


def test_a_run_inside_of_a_tainted_one_or_that_goes_on_with_a_tainted_conversation_is_tainted():
    read = Message("tools", (Result("c1", "look", "page", untrusted=True),))
    assert not replay(ASKED).tainted
    assert replay([Opened(tainted=True)]).tainted
    assert replay([Opened(history=(person_message("Look."), read))]).tainted
    assert not replay([Opened(history=(person_message("Look."),))]).tainted


def test_an_answer_that_was_made_of_the_arguments_is_the_output():
    state = replay([*ASKED, Replied(parts=(written(),)), judged(arguments={"a": 1})])
    assert apply_entry(state, came(final=True, output={"value": 2})).output == {"value": 2}
    assert apply_entry(replay([*ASKED, Replied(parts=(written(),))]), came(final=True)).output == {}  # it was never read


def test_rejected_answers_are_counted_in_their_turn():
    rejected = Returned(result=Result("c1", "look", "Not accepted: no.", "invalid"), rejected=True)
    state = apply_entry(replay([*ASKED, Replied(parts=(written(),)), judged()]), rejected)
    assert (state.rejections, state.rejection) == (1, "Not accepted: no.")
    assert apply_entry(state, Said(text="again")).rejections == 0


def test_found_tools_kept_results_and_final_answers_are_remembered():
    state = replay([*ASKED, Replied(parts=(written(),)), judged(arguments={"a": 1})])
    state = apply_entry(state, came(kept="r1", revealed=("order", "stock"), final=True))
    assert (state.revealed, state.keeps) == (("order", "stock"), True)
    assert state.output == {"a": 1}
    assert apply_entry(state, came(final=True, output={"a": 2})).output == {"a": 1}  # the round is over: no such call is open


def test_calls_are_counted_by_tool():
    reply = Replied(parts=(written("c1"), written("c2"), written("c3", "other")))
    state = replay([*ASKED, reply, judged("c1"), judged("c2"), judged("c3", name="other")])
    assert state.tool_calls == {"look": 2, "other": 1}


def test_a_refused_repeat_and_a_repeated_problem_are_remembered():
    state = replay([*ASKED, Replied(parts=(written(),)), judged(verdict=Deny("repeats", "again", "repeat"))])
    assert state.refused_repeat
    state = replay([*ASKED, Replied(parts=(written(),)), judged(verdict=Deny("reading", "no", "invalid"))])
    assert len(state.trail.steps) == 1


def test_equal_calls_have_equal_fingerprints_whatever_their_order_of_arguments():
    assert call_fingerprint(Call("a", "t", {"x": 1, "y": 2})) == call_fingerprint(Call("b", "t", {"y": 2, "x": 1}))


def test_a_note_to_the_model_takes_the_answer_back():
    state = replay([*ASKED, Replied(parts=(Text("words"),)), Noted(text="As JSON, please.")])
    assert (state.answer, state.note, state.notes) == (None, "As JSON, please.", 1)
    assert apply_entry(state, Replied(parts=(Text("{}"),))).note == ""


def test_shortening_changes_what_the_model_reads():
    long = replay([*ASKED, Replied(parts=(written(),)), judged(), came(content="x" * 5000)])
    assert long.history.size > 5000
    assert apply_entry(long, Shortened(call_ids=("c1",))).history.size < 1000


def test_a_new_turn_starts_limits_and_repeats_afresh_and_keeps_the_history():
    first = [*ASKED, Replied(parts=(written(),), usage=Usage(1, 0, 9)), judged(), came(), Replied(parts=(Text("Here."),))]
    state = replay([*first, Finished(stopped="answered", text="Here.")])
    assert state.finished.stopped == "answered"
    state = apply_entry(state, Said(text="And now?"))
    assert state.finished is None
    assert state.spent.rounds == state.spent.usage.calls == 0
    assert state.usage.calls == 1
    assert state.trail == RunState().trail
    assert len(state.history) == 5


def test_a_run_that_is_taken_up_again_is_no_longer_over():
    state = replay([*ASKED, Finished(stopped="failed", usage=Usage(2))])
    assert state.usage.requests == 2
    assert apply_entry(state, Resumed()).finished is None


def test_a_fork_changes_nothing_but_the_position():
    state = replay(ASKED)
    forked = apply_entry(state, Forked(run_id="r", entries=2, at=2.0))
    assert (forked.position, forked.history) == (3, state.history)


def test_only_working_time_counts():
    state = replay([Opened(at=100.0), Said(text="a", at=160.0)])
    assert state.spent.seconds == 0
    state = replay([Replied(parts=(written(),), at=163.0), judged(verdict=Ask(), at=164.0)], state)
    assert state.spent.seconds == 4.0
    state = replay([Resumed(at=9000.0), Approved(call_id="c1", at=9001.0), came(at=9003.0)], state)
    assert state.spent.seconds == 6.0


def test_a_clock_that_goes_back_takes_no_time_back():
    state = replay([*ASKED, Replied(parts=(Text("a"),), at=1.0)])
    assert (state.at, state.spent.seconds) == (2.0, 0.0)


ENTRIES = st.sampled_from(
    [
        Said(text="go", at=1.0),
        Replied(parts=(Text("t"),)),
        Replied(parts=(written("c1"), written("c2"))),
        Replied(parts=(written("c3"),), more=True),
        judged("c1"),
        judged("c2", Ask()),
        judged("c3", Deny()),
        Approved(call_id="c2"),
        Refused(call_id="c2"),
        Started(call_id="c1"),
        came("c1"),
        came("c2"),
        Resumed(),
        Noted(text="n"),
        Informed(agent="a", items=(ContextItem("s", "t", untrusted=True),)),
        Finished(stopped="failed"),
        Shortened(call_ids=("c1",)),
        Called(call=Call("c1.1", "look", {}), within="c1"),
    ]
)


@given(st.lists(ENTRIES, max_size=30), st.integers(0, 30))
def test_replaying_at_once_or_in_two_halves_is_the_same(entries, cut):
    assert replay(entries) == replay(entries[cut:], replay(entries[:cut]))


@given(st.lists(ENTRIES, max_size=30))
def test_the_history_only_grows_and_calls_and_results_stay_paired(entries):
    state, length = RunState(), 0
    for entry in entries:
        state = apply_entry(state, entry)
        assert len(state.history) >= length
        length = len(state.history)
    assert state.position == len(entries)
    pairs(state.history)


def pairs(history: History) -> None:
    for message, after in pairwise(history):
        calls = [part.id for part in message.parts if isinstance(part, Call)]
        if calls:
            assert [part.call_id for part in after.parts] == calls


WORK = [Called(call=Call("c1.1", "look", {}), within="c1", background=True), judged("c1.1", Allow("background"))]
BEHIND = [*ASKED, Replied(parts=(written(),)), judged(), *WORK, came(content="started")]


def test_work_in_the_background_outlives_its_round_and_is_no_further_call():
    state = replay(BEHIND)
    assert (state.calls, [call.id for call in state.background], state.spent.usage.calls) == ((), ["c1.1"], 1)
    state = replay([came("c1.1", "a house")], state)
    assert state.background[0].result.content == "a house"
    assert len(state.history) == 3


def test_the_model_knows_of_the_end_by_a_note_or_by_the_result():
    answered = replay([came("c1.1"), Replied(parts=(Text("words"),))], replay(BEHIND))
    state = replay([Noted(text="It has ended.", about=("c1.1",))], answered)
    assert (state.background, state.note, state.answer, state.notes) == ((), "It has ended.", None, 0)
    reads = [Replied(parts=(written("c2", "background_result"),)), judged("c2", name="background_result")]
    state = replay([came("c1.1"), *reads, came("c2", name="background_result", about=("c1.1",))], replay(BEHIND))
    assert state.background == ()


def test_work_in_the_background_is_what_was_approved():
    asked = [*ASKED, Replied(parts=(written(),)), judged("c1", Ask()), Previewed(call_id="c1", text="It would.", seal="s")]
    assert replay([*asked, Approved(call_id="c1"), *WORK]).inner[0].seal == "s"
    assert replay([*asked, Approved(call_id="c1", arguments={"a": 1}), *WORK]).inner[0].seal == ""
    assert replay(WORK).inner[0].seal == ""


def test_a_new_turn_has_nothing_in_the_background():
    assert replay([Said(text="More.")], replay(BEHIND)).inner == ()


def test_the_first_hand_off_of_a_round_counts():
    asked = [Replied(parts=(written("c1"), written("c2"))), judged("c1"), judged("c2")]
    handed = [Returned(result=Result(call, "look", "ok"), handoff=agent) for call, agent in (("c1", "clerk"), ("c2", "cook"))]
    assert replay([*ASKED, *asked, *handed]).agent == "clerk"


def test_an_answer_whose_values_nothing_vouches_for_is_asked_for_again_once_in_a_turn():
    doubtful = Noted(text="No result says 17.", ungrounded=(UngroundedValue(0, 2, "17", "number"),))
    state = replay([Said(text="How many?"), Replied(parts=(Text("17"),)), doubtful])
    assert (state.answer, state.note, state.asked_again, state.notes) == (None, "No result says 17.", True, 0)
    assert not replay([Replied(parts=(Text("40"),)), Said(text="And now?")], state).asked_again


def test_the_context_of_an_agent_is_kept_and_untrusted_context_taints_the_run():
    state = replay([Opened(), Informed(agent="a", items=(ContextItem("s", "t"),))])
    assert (state.context, state.tainted) == ({"a": (ContextItem("s", "t"),)}, False)
    more = replay([Informed(agent="b", items=(ContextItem("s", "t", untrusted=True),))], state)
    assert (sorted(more.context), more.tainted) == (["a", "b"], True)
    assert replay([Informed(agent="c")], more).tainted
