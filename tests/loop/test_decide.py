"""What to do next."""

import pytest

from treadle.core.calls import Allow, Ask, Call, Deny, Result, Written
from treadle.core.entries import Called, Finished, Judged, Noted, Replied, Returned, Said, Settled, Started, Unclear
from treadle.core.messages import Text
from treadle.core.requests import Usage
from treadle.loop.decide import (
    EMPTY_NOTE,
    AskModel,
    AwaitBackground,
    CallTools,
    CloseReply,
    Finish,
    Idle,
    Judge,
    ReadOutput,
    Recover,
    Shorten,
    TurnTerms,
    WaitForPerson,
    decide,
    decide_open_reply,
)
from treadle.loop.limits import Limits
from treadle.loop.state import RunState, replay


def run(*entries) -> RunState:
    return replay([Said(text="Find it."), *entries])


def replied(*calls, text="", **more):
    words = (Text(text),) if text else ()
    return Replied(parts=(*words, *[Written(call, "look", "{}") for call in calls]), **more)


def judged(call, verdict=None):
    return Judged(call=Call(call, "look", {}), verdict=verdict or Allow())


def came(call, content="5"):
    return Returned(result=Result(call, "look", content))


def one_round(call="c1", content="5", **more):
    return [replied(call, **more), judged(call), came(call, content)]


def ids(step):
    return [call.id for call in step.calls]


def test_first_the_model_is_asked():
    assert decide(run(), TurnTerms()) == AskModel()


def test_each_round_has_its_note_and_the_last_one_stays():
    terms = TurnTerms(notes=("may search", "may search once more"))
    assert decide(run(), terms).note == "may search"
    assert decide(run(*one_round("c1")), terms).note == "may search once more"
    assert decide(run(*one_round("c1"), *one_round("c2")), terms).note == "may search once more"


def test_calls_are_judged_then_carried_out_then_the_model_is_asked_again():
    assert ids(decide(run(replied("c1", "c2")), TurnTerms())) == ["c1", "c2"]
    assert isinstance(decide(run(replied("c1", "c2")), TurnTerms()), Judge)
    step = decide(run(replied("c1", "c2"), judged("c1"), judged("c2")), TurnTerms())
    assert isinstance(step, CallTools)
    assert ids(step) == ["c1", "c2"]
    assert decide(run(*one_round()), TurnTerms()) == AskModel()


def test_denied_calls_need_nothing_more():
    assert decide(run(replied("c1"), judged("c1", Deny())), TurnTerms()) == AskModel()


def test_what_may_run_runs_before_anybody_is_waited_for():
    state = run(replied("c1", "c2"), judged("c1", Ask()), judged("c2"))
    assert ids(decide(state, TurnTerms())) == ["c2"]
    step = decide(run(replied("c1", "c2"), judged("c1", Ask()), judged("c2"), came("c2")), TurnTerms())
    assert isinstance(step, WaitForPerson)
    assert ids(step) == ["c1"]


def test_a_tools_own_call_can_wait_for_a_person_too():
    state = run(replied("c1"), judged("c1"), Started(call_id="c1"))
    inner = [Called(call=Call("c1.1", "pay", {}), within="c1"), Judged(call=Call("c1.1", "pay", {}), verdict=Ask())]
    assert isinstance(decide(replay(inner, state), TurnTerms()), Recover)


def test_calls_that_had_begun_are_recovered():
    step = decide(run(replied("c1"), judged("c1"), Started(call_id="c1")), TurnTerms())
    assert isinstance(step, Recover)
    assert ids(step) == ["c1"]


def test_calls_that_had_begun_are_settled_before_others_begin():
    step = decide(run(replied("c1", "c2"), judged("c1"), judged("c2"), Started(call_id="c1")), TurnTerms())
    assert isinstance(step, Recover)
    assert (ids(step), [call.id for call in step.ready]) == (["c1"], ["c2"])
    unread = decide(run(replied("c1", "c2"), judged("c1"), Started(call_id="c1")), TurnTerms())
    assert isinstance(unread, Judge)


def test_calls_under_way_hold_nothing_up_while_the_reply_is_still_coming():
    state = run(replied("c1", "c2", more=True), judged("c1"), judged("c2"), Started(call_id="c1"))
    assert ids(decide_open_reply(state)) == ["c2"]


def test_a_reply_whose_process_died_is_closed():
    assert decide(run(Replied(parts=(), more=True)), TurnTerms()) == CloseReply()
    assert decide(run(replied("c1", more=True), judged("c1"), came("c1")), TurnTerms()) == CloseReply()


def test_calls_of_an_open_reply_are_judged_and_carried_out_at_once():
    assert decide_open_reply(run()) is None
    assert isinstance(decide_open_reply(run(replied("c1", more=True))), Judge)
    assert isinstance(decide_open_reply(run(replied("c1", more=True), judged("c1"))), CallTools)
    assert decide_open_reply(run(replied("c1", more=True), judged("c1", Ask()))) is None
    assert decide_open_reply(run(replied("c1", more=True), judged("c1"), came("c1"))) is None


def test_words_without_calls_end_the_turn():
    assert decide(run(replied(text="Here.")), TurnTerms()) == Finish("answered", text="Here.")
    assert decide(run(replied(text="Here."), Finished(stopped="answered")), TurnTerms()) == Idle()


def test_an_answer_with_a_shape_is_read_first():
    assert decide(run(replied(text='{"a": 1}')), TurnTerms(wants_output=True)) == ReadOutput('{"a": 1}')


@pytest.mark.parametrize(
    ("at_limit", "step"),
    [
        ("answer", ReadOutput("{}", "limit", "the limit of 1 round", "rounds")),
        ("conclude", ReadOutput("{}")),
    ],
)
def test_an_answer_with_a_shape_that_comes_at_a_limit_ends_as_any_other(at_limit, step):
    terms = TurnTerms(Limits(rounds=1, at_limit=at_limit), wants_output=True)
    assert decide(run(*one_round(), replied(text="{}", last=True)), terms) == step


def test_answers_are_rejected_only_so_often():
    terms = TurnTerms(limits=Limits(output_retries=1), wants_output=True)
    rejections = [
        entry
        for call in ("c1", "c2")
        for entry in (replied(call), judged(call), Returned(result=Result(call, "look", f"Not {call}.", "invalid"), rejected=True))
    ]
    assert isinstance(decide(run(*rejections[:3]), terms), AskModel)
    step = decide(run(*rejections), terms)
    assert isinstance(step, Finish)
    assert (step.stopped, step.reason.endswith("Not c2.")) == ("failed", True)


def test_the_call_that_gives_the_answer_ends_the_turn():
    final = Returned(result=Result("c1", "look", "ok"), final=True)
    assert decide(run(replied("c1", text="Done."), judged("c1"), final), TurnTerms(wants_output=True)) == Finish(
        "answered", text="Done."
    )


def test_nothing_is_asked_for_once_more_and_then_fails():
    assert decide(run(replied()), TurnTerms()) == AskModel(note=EMPTY_NOTE)
    assert decide(run(replied(), replied()), TurnTerms()) == Finish("failed", reason="The model answered with nothing, twice.")


def test_a_reply_that_a_filter_held_back_is_not_asked_for_again():
    step = decide(run(replied(finish="filtered")), TurnTerms())
    assert isinstance(step, Finish)
    assert (step.stopped, "content filter" in step.reason) == ("failed", True)


def test_a_note_goes_with_the_next_request():
    state = run(replied(text="words"), Noted(text="As JSON."))
    assert decide(state, TurnTerms(wants_output=True)) == AskModel(note="As JSON.")


def test_at_a_limit_the_model_is_asked_for_an_answer_without_tools():
    terms = TurnTerms(Limits(rounds=1))
    step = decide(run(*one_round()), terms)
    assert step == AskModel(note=terms.final_note, last=True, reason="the limit of 1 round")
    ended = decide(run(*one_round(), replied(text="So far: 5.", last=True)), terms)
    assert ended == Finish("limit", text="So far: 5.", reason="the limit of 1 round", limit="rounds")


@pytest.mark.parametrize(
    ("rounds", "answer", "stopped"),
    [
        (1, {}, "answered"),
        (1, {"calls": ("c9",)}, "limit"),  # it asks for a tool although there is none
        (None, {}, "limit"),  # another limit was reached
    ],
)
def test_rounds_may_be_how_a_turn_is_meant_to_go(rounds, answer, stopped):
    terms = TurnTerms(Limits(rounds=rounds, calls=1, at_limit="conclude"))
    asked = decide(run(*one_round()), terms)
    assert (asked.last, asked.note) == (True, terms.final_note)
    state = run(*one_round(), replied(*answer.get("calls", ()), text="5.", last=True))
    assert decide(state, terms).stopped == stopped


@pytest.mark.parametrize(("problem", "is_over"), [("raised", True), ("timeout", True), ("invalid", False), (None, False)])
def test_a_tool_that_failed_may_be_the_end_of_tools(problem, is_over):
    failed = Returned(result=Result("c1", "look", "broken", problem), usage=Usage(calls=1))
    step = decide(run(replied("c1"), judged("c1"), failed), TurnTerms(Limits(failures=1)))
    assert (step.last, step.reason) == ((True, "the limit of 1 failed call") if is_over else (False, ""))


def test_a_note_is_not_lost_at_a_limit():
    terms = TurnTerms(Limits(rounds=1), wants_output=True)
    state = run(*one_round(), replied(text="words", last=True), Noted(text="As JSON."))
    assert decide(state, terms).note == f"As JSON.\n{terms.final_note}"


def test_a_model_that_says_nothing_at_the_limit_is_asked_once_more_and_never_spoken_for():
    terms = TurnTerms(Limits(rounds=1))
    assert decide(run(*one_round(), replied(last=True)), terms) == AskModel(
        note=EMPTY_NOTE, last=True, reason="the limit of 1 round"
    )
    ended = decide(run(*one_round(), replied(last=True), replied(last=True)), terms)
    assert ended == Finish("limit", text="", reason="the limit of 1 round", limit="rounds")
    ended = decide(run(*one_round(text="Looking."), replied(last=True), replied(last=True)), terms)
    assert ended.text == "Looking."


@pytest.mark.parametrize(
    ("limits", "step"),
    [
        (
            Limits(rounds=1, at_limit="fail"),
            Finish(
                "failed", text="Looking.", reason="The run stopped at the limit of 1 round; what was done is kept.", limit="rounds"
            ),
        ),
        (
            Limits(rounds=1, at_limit="words", words="Ask for less at once."),
            Finish("limit", text="Ask for less at once.", reason="the limit of 1 round", limit="rounds"),
        ),
        (Limits(rounds=1, at_limit="last_text"), Finish("limit", text="Looking.", reason="the limit of 1 round", limit="rounds")),
    ],
)
def test_an_assistant_may_choose_another_ending(limits, step):
    assert decide(run(*one_round(text="Looking.")), TurnTerms(limits)) == step


def test_without_any_words_yet_the_last_ones_are_asked_for():
    assert decide(run(*one_round()), TurnTerms(Limits(rounds=1, at_limit="last_text"))).last


def test_a_refused_repeat_leads_to_an_answer_without_tools():
    state = run(replied("c1"), judged("c1", Deny("repeats", "again", "repeat")))
    assert decide(state, TurnTerms()) == AskModel(note=TurnTerms().final_note, last=True, reason="the same call again and again")


def test_what_the_rest_of_the_tree_spent_counts():
    assert decide(run(), TurnTerms(), "the limit of 9 calls").reason == "the limit of 9 calls"
    state = run(replied(text="So.", last=True))
    assert decide(state, TurnTerms(), "the limit of 9 calls") == Finish("limit", text="So.", reason="the limit of 9 calls")
    assert decide(state, TurnTerms()) == Finish("limit", text="So.", reason="a limit")


def test_an_overgrown_history_is_shortened_before_the_model_is_asked():
    rounds = [entry for number in range(4) for entry in one_round(f"c{number}", f"{number}" * 4000)]
    state = run(*rounds)
    assert decide(state, TurnTerms(window=15_000)) == Shorten(("c0", "c1"))
    assert decide(state, TurnTerms(window=50_000)) == AskModel()
    assert decide(run(*one_round("c0", "x" * 9000)), TurnTerms(window=1000)) == AskModel()


def test_usage_of_tokens_leads_to_the_last_answer():
    state = run(replied("c1", usage=Usage(1, 0, 500, 100)), judged("c1"), came("c1"))
    assert decide(state, TurnTerms(Limits(tokens=1500))).last
    assert not decide(state, TurnTerms(Limits(tokens=2000))).last


UNCLEAR = [Started(call_id="c1"), Unclear(call_id="c1")]


def test_a_call_that_is_unclear_is_asked_about_and_nothing_else_begins():
    step = decide(run(replied("c1", "c2", "c3"), judged("c1"), judged("c2"), judged("c3", Ask()), *UNCLEAR), TurnTerms())
    assert (type(step), ids(step)) == (WaitForPerson, ["c1", "c3"])


def test_what_can_be_recovered_is_beside_it_and_what_is_ready_waits():
    entries = [replied("c1", "c2", "c3"), judged("c1"), judged("c2"), judged("c3"), *UNCLEAR, Started(call_id="c2")]
    step = decide(run(*entries), TurnTerms())
    assert (type(step), ids(step), step.ready) == (Recover, ["c2"], ())


def test_a_reply_that_was_coming_in_is_closed_first():
    assert decide(run(replied("c1", more=True), judged("c1"), *UNCLEAR), TurnTerms()) == CloseReply()


def test_one_that_a_person_wants_tried_again_is_recovered():
    step = decide(run(replied("c1"), judged("c1"), *UNCLEAR, Settled(call_id="c1", said="again")), TurnTerms())
    assert (type(step), ids(step)) == (Recover, ["c1"])


BEHIND = [
    replied("c1"),
    judged("c1"),
    Called(call=Call("c1.1", "look", {}), within="c1", background=True),
    judged("c1.1"),
    came("c1", "started"),
]


def test_the_model_is_asked_while_work_goes_on_in_the_background():
    assert isinstance(decide(run(*BEHIND), TurnTerms()), AskModel)


def test_an_answer_waits_for_the_work_in_the_background():
    step = decide(run(*BEHIND, replied(text="Done.")), TurnTerms())
    assert isinstance(step, AwaitBackground)
    assert ids(step) == ["c1.1"]
    told = [came("c1.1"), Noted(text="It has ended.", about=("c1.1",)), replied(text="Done.")]
    assert decide(run(*BEHIND, replied(text="Early."), *told), TurnTerms()) == Finish("answered", text="Done.")


def test_a_final_call_waits_for_the_work_in_the_background():
    final = [replied("c2"), judged("c2"), Returned(result=Result("c2", "look", "Accepted."), final=True)]
    assert isinstance(decide(run(*BEHIND, *final), TurnTerms()), AwaitBackground)


def test_an_answer_at_a_limit_waits_for_nothing():
    step = decide(run(*BEHIND, replied(text="So far.", last=True)), TurnTerms(Limits(rounds=1)))
    assert step == Finish("limit", text="So far.", reason="the limit of 1 round", limit="rounds")


def test_a_person_is_asked_about_work_in_the_background_that_is_unclear():
    unclear = [Started(call_id="c1.1"), Unclear(call_id="c1.1")]
    step = decide(run(*BEHIND, *unclear, replied(text="Done.")), TurnTerms())
    assert isinstance(step, WaitForPerson)
    assert ids(step) == ["c1.1"]
