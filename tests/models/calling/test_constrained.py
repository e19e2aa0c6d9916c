"""A model that is held to calls: it calls where a tool fits, answers where none does, and never makes a call out of thin air."""

import json
from math import inf

from msgspec.structs import replace

from treadle.core.calls import Call, Result
from treadle.core.messages import History, Message, person_message
from treadle.core.requests import Options, ReplyEnded, Request, TextDelta, ToolDecision, ToolSpec, Traits, Usage
from treadle.models.calling.constrained import ConstrainedModel
from treadle.models.scripted import Scripted, ScriptedReply
from wire import ask, calls_in, text_in

STOCK = ToolSpec(
    "stock",
    "How many of an item there are.",
    {"type": "object", "properties": {"item": {"type": "string"}, "shelf": {"type": "integer"}}, "required": ["item"]},
)
ONE = Usage(requests=1)


def sure(odds):
    """A reply to the question whether a tool fits."""
    return [TextDelta("yes" if odds > 0 else "no"), ReplyEnded("done", ONE, chances={"yes": float(odds), "no": 0.0})]


def held(*replies, **settings):
    inner = Scripted(*replies, traits=Traits(native_calls=False, holds=True))
    return ConstrainedModel(inner, **settings), inner


def asked(*messages, tools=(STOCK,), note=""):
    return Request("Be brief.", History(messages or [person_message("How many A-113 are there?")]), tools, note)


CALL = '{"calls": [{"name": "stock", "arguments": {"item": "A-113"}}]}'


def test_where_a_tool_fits_it_is_held_to_calls():
    model, inner = held(sure(2), CALL)
    deltas = ask(model, asked())
    assert [(call.name, call.text) for call in calls_in(deltas)] == [("stock", '{"item": "A-113"}')]
    assert deltas[-1].finish == "calls"
    assert deltas[-1].usage.requests == 2
    shape = inner.requests[1].shape
    assert shape["required"] == ["calls"]
    assert shape["properties"]["calls"]["items"]["anyOf"][0]["properties"]["arguments"] == STOCK.parameters


def test_where_no_tool_fits_it_is_asked_for_an_answer_without_a_word_of_the_tools():
    model, inner = held(sure(-2), "Paris.")
    deltas = ask(model, asked(note="Two more rounds."))
    assert text_in(deltas) == "Paris."
    assert inner.requests[1].shape is None
    assert inner.requests[1].instructions == "Be brief."
    assert inner.requests[1].note.startswith("Two more rounds. If this is about something of the user's own")
    model, inner = held(sure(0), "Paris.")
    ask(model, asked(person_message("What's the difference between A and B?"), note="Two more rounds."))
    assert inner.requests[1].note == "Two more rounds."  # general knowledge
    assert deltas[-1].usage.requests == 2


def test_the_reply_says_how_probable_a_fitting_tool_was_and_whether_one_was_called():
    model, _ = held(sure(-2), "Paris.")
    assert ask(model, asked())[-1].decision == ToolDecision(0.1192, called=False)
    model, _ = held(sure(-0.5), CALL)  # even odds aren't asked for
    assert ask(model, asked())[-1].decision == ToolDecision(0.3775, called=True)
    model, _ = held(sure(2), CALL)
    assert ask(model, asked())[-1].decision == ToolDecision(0.8808, called=True)
    model, _ = held(CALL, sure=-inf)
    assert ask(model, asked())[-1].decision is None


def test_a_required_call_is_made_without_asking_whether_one_fits():
    model, inner = held(CALL)
    deltas = ask(model, replace(asked(), options=Options(tool_choice="required")))
    assert ([call.name for call in calls_in(deltas)], len(inner.requests)) == (["stock"], 1)


def test_a_named_tool_is_the_only_one_that_can_be_called():
    model, inner = held(CALL)
    ask(model, replace(asked(tools=(STOCK, replace(STOCK, name="order"))), options=Options(tool_choice="stock")))
    assert [each["properties"]["name"] for each in inner.requests[0].shape["properties"]["calls"]["items"]["anyOf"]] == [
        {"const": "stock"}
    ]


def test_where_calls_are_ruled_out_it_answers_without_being_asked_whether_a_tool_fits():
    model, inner = held("Paris.")
    assert text_in(ask(model, replace(asked(), options=Options(tool_choice="none")))) == "Paris."
    assert (len(inner.requests), inner.requests[0].instructions) == (1, "Be brief.")


def test_how_sure_it_has_to_be_can_be_said():
    model, _ = held(sure(1), "No.", sure=1.5)
    assert text_in(ask(model, asked())) == "No."


def test_a_call_of_values_that_nobody_said_needs_more_certainty():
    made_up = '{"calls": [{"name": "stock", "arguments": {"item": "B-7"}}]}'
    model, inner = held(sure(1), made_up, "Which item?")
    deltas = ask(model, asked(person_message("How many are there?")))
    assert (text_in(deltas), calls_in(deltas)) == ("Which item?", [])
    assert len(inner.requests) == 3
    assert deltas[-1].usage.requests == 3
    model, _ = held(sure(3), made_up)
    assert len(calls_in(ask(model, asked(person_message("How many are there?"))))) == 1


def test_values_may_come_from_results():
    history = (
        person_message("Look at the list."),
        Message("model", (Call("c1", "read", {}),)),
        Message("tools", (Result("c1", "read", "item B-7"),)),
        Message("model", ()),
        person_message("How many are there?"),
    )
    model, _ = held(sure(0.5), '{"calls": [{"name": "stock", "arguments": {"item": "B-7"}}]}')
    assert len(calls_in(ask(model, asked(*history)))) == 1


def after_results(reply, *more):
    history = (
        person_message("How many A-113?"),
        Message("model", (Call("c1", "stock", {"item": "A-113"}),)),
        Message("tools", (Result("c1", "stock", "40"),)),
    )
    model, inner = held(reply, *more)
    return ask(model, asked(*history)), inner


def test_after_results_it_chooses_itself():
    deltas, inner = after_results('{"answer": "There are \\"40\\"."}')
    assert text_in(deltas) == 'There are "40".'
    assert inner.requests[0].shape["anyOf"][0]["required"] == ["answer"]
    deltas, _ = after_results('{"calls": [{"name": "stock", "arguments": {"item": "B-7"}}]}')
    assert [call.text for call in calls_in(deltas)] == ['{"item": "B-7"}']


def test_one_that_only_repeats_itself_is_asked_for_an_answer():
    deltas, inner = after_results(CALL, "There are 40.")
    assert (text_in(deltas), calls_in(deltas)) == ("There are 40.", [])
    assert inner.requests[1].note == "You know enough now. Answer in plain words."


def test_an_answer_that_calls_all_the_same_calls_nothing():
    deltas, _ = after_results(CALL, f"Sorry.\n{CALL}")
    assert calls_in(deltas) == []


def test_without_tools_it_just_answers():
    model, inner = held("Hello.")
    assert text_in(ask(model, asked(tools=()))) == "Hello."
    assert inner.requests[0].shape is None


def test_a_call_that_was_cut_off_is_handed_on_as_such():
    model, _ = held(sure(2), ScriptedReply('{"calls": [{"name": "stock", "arguments": {"item": "A-1', finish="length"))
    (call,) = calls_in(ask(model, asked()))
    assert call.cut


def called(*items):
    return json.dumps({"calls": [{"name": "stock", "arguments": {"item": item}} for item in items]})


def test_one_that_is_to_call_in_any_case_is_not_asked_whether_a_tool_fits():
    model, inner = held(called("made up"), sure=float("-inf"))
    assert len(calls_in(ask(model, asked(person_message("hello"))))) == 1
    assert len(inner.requests) == 1


def test_where_the_answer_is_a_call_it_is_held_to_calls_at_once_and_after_results():
    model, inner = held(CALL, CALL)
    for history in ((person_message("hello"),), (*asked().history, *answered_before())):
        deltas = ask(model, replace(asked(*history), must_call=True))
        assert len(calls_in(deltas)) == 1
    assert [request.shape["required"] for request in inner.requests] == [["calls"], ["calls"]]


def answered_before():
    call = Call("1", "stock", {"item": "A-113"})
    return Message("model", (call,)), Message("tools", (Result("1", "stock", "7"),))


PLANTS = ToolSpec(
    "plants", "List plants.", {"type": "object", "properties": {"room": {"type": "string"}, "limit": {"type": "integer"}}}
)
LISTED = '{"calls": [{"name": "plants", "arguments": {"room": "kitchen", "limit": 9}}]}'


def reading(*messages: Message, said: str = "How often does the fern need water?") -> Request:
    return replace(asked(*(messages or [person_message(said)]), tools=(PLANTS,)), read_only=frozenset(("plants",)))


def test_a_tool_that_only_reads_is_called_at_lower_odds():
    model, _ = held(sure(-1.8), LISTED)
    assert [call.name for call in calls_in(ask(model, reading()))] == ["plants"]
    model, _ = held(sure(-1.8), "Hm.")
    assert text_in(ask(model, asked(tools=(PLANTS,)))) == "Hm."
    model, _ = held(sure(-2.2), "Hm.")
    assert text_in(ask(model, reading())) == "Hm."
    model, _ = held(sure(0.2), "Hm.")
    assert text_in(ask(model, reading(said="Explain what a fern is."))) == "Hm."  # -1.8, but general knowledge


def test_beside_a_tool_that_reads_one_that_acts_needs_its_own_odds():
    model, _ = held(sure(-1.8), CALL, "Hm.")
    both = replace(reading(), tools=(PLANTS, STOCK))
    assert text_in(ask(model, both)) == "Hm."


def test_a_filter_that_the_model_made_up_is_dropped_from_a_lookup():
    model, _ = held(sure(2), LISTED)
    assert [call.text for call in calls_in(ask(model, reading()))] == ['{"limit":9}']
    model, _ = held(sure(2), LISTED)
    assert '"room": "kitchen"' in calls_in(ask(model, reading(said="Which plants are in the kitchen?")))[0].text
    model, _ = held(sure(2), LISTED)
    assert '"room": "kitchen"' in calls_in(ask(model, replace(reading(), read_only=frozenset())))[0].text
    model, _ = held(sure(2), LISTED)
    assert '"room": "kitchen"' in calls_in(ask(model, replace(reading(), instructions="The user is in the kitchen.")))[0].text


def test_a_lookup_that_repeats_an_earlier_one_but_for_a_made_up_filter_is_no_new_one():
    made = Message("model", (Call("1", "plants", {"limit": 9}),))
    found = Message("tools", (Result("1", "plants", "fern: every 3 days"),))
    model, _ = held(LISTED, '{"answer": "Every 3 days."}')
    deltas = ask(model, reading(person_message("How often does the fern need water?"), made, found))
    assert (calls_in(deltas), text_in(deltas)) == ([], "Every 3 days.")


def test_where_a_call_was_made_up_another_lookup_may_fit():
    find = ToolSpec("find", "Find.", {"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]})
    made_up = '{"calls": [{"name": "find", "arguments": {"name": "Xaver"}}]}'
    both = replace(reading(), tools=(PLANTS, find), read_only=frozenset(("plants", "find")))
    model, inner = held(sure(0), made_up, '{"calls": [{"name": "plants", "arguments": {}}]}')
    deltas = ask(model, both)
    assert [call.name for call in calls_in(deltas)] == ["plants"]
    assert [each["properties"]["name"] for each in inner.requests[2].shape["properties"]["calls"]["items"]["anyOf"]] == [
        {"const": "plants"}
    ]
    assert deltas[-1].usage.requests == 3
    model, inner = held(sure(0), made_up, "Which one?")  # no other one reads
    assert text_in(ask(model, replace(both, read_only=frozenset(("find",))))) == "Which one?"
