"""A reply that was cut at the output limit is continued by the next one."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from treadle.core.calls import Allow, Call, Deny, Written
from treadle.core.entries import Finished, Judged, Replied, Resumed, Said
from treadle.core.messages import Text
from treadle.core.requests import Usage
from treadle.loop.continuation import TAIL, Joint, continuation_note, find_tail, is_continued, join_rest
from treadle.loop.decide import AskModel, Finish, Judge, TurnTerms, decide
from treadle.loop.limits import Limits, Spent, find_limit_mistakes
from treadle.loop.state import RunState, replay

PART = "The first thing to know about bread is that it is made of flour, water, salt and ti"


def cut(text=PART, **more):
    return Replied(parts=(Text(text),), finish="length", continues=True, **more)


def run(*entries) -> RunState:
    return replay([Said(text="Tell me."), *entries])


def test_a_rest_that_came_at_once_is_joined_too():
    assert join_rest("flour, water and ti", "water and time.") == "me."


def join(before: str, *pieces: str) -> str:
    joint = Joint(before)
    return before + "".join([joint.feed(piece) for piece in pieces]) + joint.close()


def test_the_rest_of_a_cut_reply_is_asked_for_with_its_last_words():
    step = decide(run(cut()), TurnTerms())
    assert step == AskModel(note=continuation_note(PART))
    assert step.note.endswith("know about bread is that it is made of flour, water, salt and ti"[-len(find_tail(PART)) :])


def test_both_parts_are_one_message_and_one_answer():
    state = run(cut("One, two, "), Replied(parts=(Text("three."),)))
    assert decide(state, TurnTerms()) == Finish("answered", text="One, two, three.")
    assert [message.role for message in state.history] == ["person", "model"]
    assert state.history[-1].text == "One, two, three."
    assert state.cut == 0


def test_a_rest_that_is_cut_again_is_continued_again():
    state = run(cut("One, "), cut("two, "), Replied(parts=(Text("three."),)))
    assert state.answer == "One, two, three."
    assert run(cut("One, "), cut("two, ")).cut == 2


def test_a_rest_that_is_empty_ends_the_answer():
    state = run(cut("One, two"), Replied(parts=()))
    assert decide(state, TurnTerms()) == Finish("answered", text="One, two")


def test_calls_in_the_rest_belong_to_the_same_reply():
    state = run(cut("I'll look"), Replied(parts=(Text(" it up."), Written("c1", "look", "{}"))))
    assert isinstance(decide(state, TurnTerms()), Judge)
    closed = replay([Judged(call=Call("c1", "look", {}), verdict=Deny("rule", "No.", "denied"))], state)
    assert [message.role for message in closed.history] == ["person", "model", "tools"]
    assert closed.history[1].text == "I'll look it up."
    assert closed.cut == 0


def test_the_last_answer_is_continued_without_tools():
    limits = Limits(rounds=1)
    state = run(cut(last=True))
    assert decide(state, TurnTerms(limits)) == AskModel(continuation_note(PART), last=True, reason="a limit")


def test_a_turn_that_failed_in_between_resumes_with_the_rest():
    failed = run(cut(), Finished(stopped="failed", reason="gone"))
    assert failed.words == PART
    assert decide(replay([Resumed()], failed), TurnTerms()) == AskModel(note=continuation_note(PART))


def test_what_came_is_in_the_history_of_the_next_turn():
    state = replay([Finished(stopped="failed", reason="gone"), Said(text="Never mind.")], run(cut()))
    assert [message.text for message in state.history] == ["Tell me.", PART, "Never mind."]
    assert decide(state, TurnTerms()) == AskModel()


@pytest.mark.parametrize(
    ("state", "limits", "parts", "expected"),
    [
        (RunState(), Limits(), [Text("a")], True),
        (RunState(), Limits(), [Text(" ")], False),
        (RunState(), Limits(), [], False),
        (RunState(cut=4), Limits(), [Text("a")], True),
        (RunState(cut=5), Limits(), [Text("a")], False),
        (RunState(), Limits(continuations=0), [Text("a")], False),
        (RunState(spent=Spent(rounds=50)), Limits(), [Text("a")], True),
        (RunState(), Limits(tokens=29), [Text("a")], False),
        (RunState(), Limits(tokens=30), [Text("a")], True),
        (RunState(spent=Spent(seconds=10)), Limits(seconds=10), [Text("a")], False),
    ],
)
def test_a_reply_is_continued_when_it_was_cut_and_limits_allow_it(state, limits, parts, expected):
    assert is_continued(state, limits, parts, Usage(requests=1, input_tokens=6, output_tokens=4)) is expected


def test_a_negative_number_of_continuations_is_a_mistake():
    assert "Limits.continuations is -1" in " ".join(find_limit_mistakes(Limits(continuations=-1)))


@pytest.mark.parametrize(
    ("before", "pieces", "whole"),
    [
        ("It is made of flour and ti", ["It is made of flour and time."], "It is made of flour and time."),
        ("It is made of flour and ti", ["…made of flour and time."], "It is made of flour and time."),
        ("It is made of flour and ti", ["“of flour and ti” me."], "It is made of flour and ti me."),
        ("def f():\n", ["def f():\n    return 1\n"], "def f():\n    return 1\n"),
        ("a = [\n  1,\n", ["a = [ 1,\n  2]"], "a = [\n  1,\n  2]"),
        ("one two three", ["four five"], "one two three four five"),
        ("Done with that.", ["Next."], "Done with that. Next."),
        ("one two three", [", four"], "one two three, four"),
        ("one two ", ["four"], "one two four"),
        ("short", ["shorter"], "shorter"),
        ("It is made", ["It ", "is ", "made of flour."], "It is made of flour."),
        ("It is made", [], "It is made"),
    ],
)
def test_the_parts_are_joined_without_the_repetition(before, pieces, whole):
    assert join(before, *pieces) == whole


def test_after_the_repetition_everything_passes_at_once():
    joint = Joint(PART)
    assert joint.feed("salt and ti") == ""
    assert joint.feed("me, " + "and more of it " * 10).startswith("me, and more")
    assert joint.feed("now") == "now"
    assert joint.close() == ""


@given(st.text(min_size=1, max_size=300), st.integers(0, 300), st.integers(1, 40))
def test_an_exact_repetition_is_dropped_wherever_the_text_was_cut(text, at, size):
    before, rest = text[:at].rstrip(), text[at:]
    if len(find_tail(before)) < 10 or before != text[:at]:
        return
    said = find_tail(before) + rest
    pieces = [said[start : start + size] for start in range(0, len(said), size)]
    assert "".join(join(before, *pieces).split()) == "".join(text.split())


def test_the_quoted_words_begin_with_a_word_where_there_is_one():
    assert find_tail("short ") == "short"
    assert len(find_tail("x" * 100)) == TAIL
    assert find_tail("word " * 100) == " ".join(["word"] * 12)


def partial(text='{"path": "a.py", "content": "first part'):
    return Judged(call=Call("c1", "write", {}), verdict=Deny("reading", "cut", "cut_off"), partial=text)


def test_a_call_that_was_cut_is_kept_until_its_tool_is_called():
    state = run(Replied(parts=(Written("c1", "write", "{", cut=True),), finish="length"), partial())
    assert state.partial == Written("c1", "write", '{"path": "a.py", "content": "first part', cut=True)
    denied = [
        Replied(parts=(Written("c2", "x", "{}"),)),
        Judged(call=Call("c2", "write", {}), verdict=Deny("rule", "No.", "denied")),
    ]
    assert replay(denied, state).partial is not None
    assert replay([Said(text="Stop.")], state).partial is None
    sent = [
        Replied(parts=(Written("c3", "continue_call", "{}"),)),
        Judged(call=Call("c3", "write", {"path": "a"}), verdict=Allow()),
    ]
    assert replay(sent, state).partial is None
