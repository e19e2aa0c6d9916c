"""Answers of a grounded agent: asked for again once, journaled, marked; and what is never checked."""

import pytest

from treadle import Agent, Limits, tool
from treadle.core.entries import Finished, Noted, decode, encode
from treadle.core.events import AnswerUngrounded, NoToolFit
from treadle.core.requests import Options, ReplyEnded, TextDelta, ToolDecision, Traits, Usage
from treadle.errors import SettingsError
from treadle.loop.state import replay
from treadle.models.scripted import calls
from treadle.testing import Scripted

LOOK = calls(("stock", {"item": "A-113"}))
MADE_UP = "There are 17 in Rome."


@tool(effect="read")
def stock(item: str) -> int:
    """How many of an item there are."""
    return 40


def asked(*replies, prompt="How many A-113 are there?", **parts):
    model, events = Scripted(*replies), []
    agent = Agent(model, tools=[stock], **{"grounded": True, **parts})
    result = agent.run_sync(prompt, watchers=[events.append])
    return result, model, events


def test_an_answer_with_a_made_up_value_is_asked_for_again_with_a_problem_the_model_can_act_on():
    result, model, events = asked(LOOK, MADE_UP, "There are 40 of A-113.")
    assert (result.output, result.ungrounded) == ("There are 40 of A-113.", ())
    assert "«17», «Rome»" in model.requests[2].note
    assert [[value.text for value in event.values] for event in events if isinstance(event, AnswerUngrounded)] == [["17", "Rome"]]


def test_what_is_still_there_is_marked_and_the_text_stays_as_it_is():
    result, model, _ = asked(LOOK, MADE_UP, MADE_UP)
    assert (result.stopped, result.text, len(model.requests)) == ("answered", MADE_UP, 3)
    assert [(value.text, value.kind, result.text[value.start : value.end]) for value in result.ungrounded] == [
        ("17", "number", "17"),
        ("Rome", "name", "Rome"),
    ]
    assert result.message == "There are 17 [?] in Rome [?]."


def test_the_journal_has_both_and_replays_to_the_same_state():
    result, _, _ = asked(LOOK, MADE_UP, MADE_UP)
    again = [decode(encode(entry)) for entry in result.entries]
    assert again == result.entries
    state = replay(again)
    assert (state.asked_again, state.notes, state.finished) == (True, 0, again[-1])
    assert [entry.ungrounded for entry in again if isinstance(entry, Noted)] == [result.ungrounded]
    assert decode('{"v":2,"kind":"finished","stopped":"answered"}') == Finished(stopped="answered")


def test_the_second_question_of_a_conversation_may_be_asked_again_too():
    result, _, _ = asked(LOOK, MADE_UP, MADE_UP)
    agent = Agent(Scripted(calls(("stock", {"item": "B-7"})), "There are 18.", "There are 40."), tools=[stock], grounded=True)
    again = agent.run_sync("And of B-7?", history=result.history)
    assert again.output == "There are 40."


def test_without_a_call_nothing_is_checked():
    result, model, _ = asked(MADE_UP)
    assert (result.output, result.ungrounded, len(model.requests)) == (MADE_UP, (), 1)


def test_an_agent_that_is_not_grounded_is_not_checked():
    result, model, _ = asked(LOOK, MADE_UP, grounded=False)
    assert (result.ungrounded, len(model.requests)) == ((), 2)


def test_at_a_limit_that_ends_the_turn_nothing_is_asked_again():
    result, model, _ = asked(LOOK, MADE_UP, limits=Limits(calls=1))
    assert (result.stopped, len(model.requests), bool(result.ungrounded)) == ("limit", 2, True)


def test_where_all_rounds_are_used_the_answer_is_asked_for_again_without_tools():
    result, model, _ = asked(LOOK, MADE_UP, "There are 40.", limits=Limits(rounds=1, at_limit="conclude"))
    assert (result.stopped, result.text, model.requests[2].tools) == ("answered", "There are 40.", ())


def test_only_answers_in_text_can_be_checked():
    with pytest.raises(SettingsError, match="answers in text"):
        Agent(Scripted(""), output_type=int, grounded=True)
    assert Agent(Scripted(""), output_type=int | str, grounded=True).setup.output.grounded


# whether to call at all


def fits(odds):
    return [TextDelta("no"), ReplyEnded("done", Usage(requests=1), chances={"yes": float(odds), "no": 0.0})]


def held(*replies, **parts):
    events = []
    agent = Agent(Scripted(*replies, traits=Traits(native_calls=False, holds=True)), tools=[stock], **parts)
    return agent.run_sync("What's the capital of France?", watchers=[events.append]), events


def test_a_decision_against_calling_is_journaled_and_an_event():
    result, events = held(fits(-1), "Paris.")
    assert [event.probability for event in events if isinstance(event, NoToolFit)] == [0.0474]  # -1, and general knowledge
    replied = [entry for entry in result.entries if entry.__class__.__name__ == "Replied"]
    assert replied[0].decision == ToolDecision(0.0474, called=False)
    assert decode(encode(replied[0])) == replied[0]


def test_a_call_is_required_once_in_a_turn():
    call = '{"calls": [{"name": "stock", "arguments": {"item": "A-113"}}]}'
    result, events = held(call, '{"answer": "There are 40."}', options=Options(tool_choice="required"))
    assert (result.output, [record.name for record in result.calls]) == ("There are 40.", ["stock"])
    assert not [event for event in events if isinstance(event, NoToolFit)]


def test_the_option_is_sent_until_a_tool_was_called():
    model = Scripted(LOOK, "There are 40.", "Bye.")
    agent = Agent(model, tools=[stock], options=Options(tool_choice="stock"))
    agent.run_sync("How many?")
    assert [request.options.tool_choice for request in model.requests] == ["stock", None]
