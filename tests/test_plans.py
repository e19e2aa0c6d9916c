"""What plans that lead a small model have in common."""

from hypothesis import given
from hypothesis import strategies as st

from treadle import Call, Message, Result, Text
from treadle.core.calls import Opaque
from treadle.models.calling.guided import WIRE
from treadle.plans import IntentClassifier, format_result_lines, last_turn, load_plan_state

CHOICE = IntentClassifier("Messages in a shop.", {"stock": "what is there", "talk": "anything else"}, (("Any tin left?", "stock"),))
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(), lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner)
)


def test_a_choice_is_asked_with_its_examples_and_held_to_its_names():
    question = CHOICE.question("How\nmuch  lead?")
    assert question.text == "Message: How much lead?"
    assert '- stock: what is there\n- talk: anything else\n\nMessage: Any tin left?\n{"about": "stock"}' in question.instructions
    assert question.shape["properties"]["about"]["enum"] == ["stock", "talk"]


@given(st.text())
def test_whatever_is_said_one_of_the_names_comes_out(said):
    assert CHOICE.read(said) in CHOICE.about


def test_what_is_said_is_read():
    assert [CHOICE.read(said) for said in ('{"about": "stock"}', '{"about": "x"}', '{"about": []}', "[]", "")] == [
        "stock",
        *["talk"] * 4,
    ]


def test_a_turn_is_what_was_said_last_and_what_came_of_it():
    history = [
        Message("person", (Text("One"),)),
        Message("model", (Call("a", "look", {}),)),
        Message("tools", (Result("a", "look", "1"),)),
        Message("person", (Text("Two"),)),
        Message("model", (Call("b", "look", {}), Call("c", "see", {}))),
        Message("tools", (Result("b", "look", "2"), Result("c", "see", "3"))),
    ]
    message, results = last_turn(history)
    assert (message, [each.content for each in results]) == ("Two", ["2", "3"])
    assert last_turn(()) == ("", [])


def told(data):
    return format_result_lines(Result("c", "look", "text", data=data))


def test_json_becomes_lines_and_words_stay():
    assert format_result_lines(Result("c", "look", '{"just": "words"}')) == '{"just": "words"}'
    assert told({"a": 1, "id": 9, "b": {"c": [1, 2]}, "e": []}) == "a: 1\nb:\n  c:\n    - 1\n    - 2"
    listed = [{"name": "x", "tags": ["p", "q"], "more": {"k": 1}}, "and 3 more"]
    assert told(listed) == "- name: x; tags: p, q; more: k: 1\n- and 3 more"


@given(JSON)
def test_any_json_can_be_told(value):
    assert isinstance(told(value), str)


def test_a_plan_finds_the_state_of_its_last_move_that_had_one():
    moves = [Message("model", (Opaque(WIRE, "[1]"), Call("a", "look", {}))), Message("model", (Opaque("other", "[9]"),))]
    assert load_plan_state([*moves, Message("model", (Text("Hm."),))]) == [1]
    assert load_plan_state(moves[1:]) is None
