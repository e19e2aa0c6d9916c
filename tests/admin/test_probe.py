"""What counts as right in a probe, which ways are worth trying, and which one is the best."""

import pytest

from treadle.admin.probe import (
    QUESTIONS,
    TOOLS,
    ProbeResult,
    best_result,
    candidate_modes,
    confidence_threshold,
    first_questions,
    is_correct_reply,
)
from treadle.core.calls import Written
from treadle.core.requests import Traits
from treadle.models.scripted import Scripted
from treadle.settings.calling_modes import CallingMode

FAR, _, BOTH, NO_TOOL, _, AFTER = QUESTIONS


def call(name, text, cut=False):
    return Written("", name, text, cut)


def test_the_questions_only_want_tools_that_are_on_offer():
    names = {tool.name: tool for tool in TOOLS}
    for question in QUESTIONS:
        for name, arguments in question.wanted:
            assert set(names[name].parameters["required"]) == set(arguments)
    assert list(first_questions()) == list(QUESTIONS[:-1])


@pytest.mark.parametrize(
    "text",
    ['{"start": "Porto", "end": "Lisbon"}', '{"end": "lisbon ", "start": "PORTO"}', "{'start': 'Porto', 'end': 'Lisbon',}"],
)
def test_a_call_is_right_by_name_and_arguments(text):
    assert is_correct_reply(FAR, [call("distance", text)], "Let me look.")


def test_numbers_may_be_written_as_words_that_the_tool_takes_for_numbers():
    timer = QUESTIONS[1]
    for minutes in ("12", '"12"', "12.0"):
        assert is_correct_reply(timer, [call("set_timer", f'{{"minutes": {minutes}, "label": "eggs"}}')], "")
    assert not is_correct_reply(timer, [call("set_timer", '{"minutes": "twelve", "label": "eggs"}')], "")


@pytest.mark.parametrize(
    "calls",
    [
        [],
        [call("distance", '{"start": "Lisbon", "end": "Porto"}')],
        [call("distance", '{"start": "Porto"}')],
        [call("distance", '{"start": "Porto", "end": "Lisbon"', cut=True)],
        [call("distance", '{"start": "Porto", "end": "Lisbon"}', cut=True)],
        [call("distance", "no idea")],
        [call("route", '{"start": "Porto", "end": "Lisbon"}')],
        [call("distance", '{"start": "Porto", "end": "Lisbon"}')] * 2,
    ],
)
def test_anything_else_is_wrong(calls):
    assert not is_correct_reply(FAR, calls, "313 km")


def test_two_calls_may_come_in_any_order():
    ghent, turin = (call("stock", f'{{"item": "A-113", "city": "{city}"}}') for city in ("Ghent", "Turin"))
    assert is_correct_reply(BOTH, [ghent, turin], "")
    assert is_correct_reply(BOTH, [turin, ghent], "")
    assert not is_correct_reply(BOTH, [ghent, ghent], "")


def test_where_no_call_is_wanted_words_are():
    assert is_correct_reply(NO_TOOL, [], "The Tagus.")
    assert not is_correct_reply(NO_TOOL, [], " ")
    assert not is_correct_reply(NO_TOOL, [call("distance", "{}")], "The Tagus.")


def test_an_answer_after_a_result_has_to_have_it_in_it():
    assert is_correct_reply(AFTER, [], "There are 417 of them.")
    assert not is_correct_reply(AFTER, [], "There are some.")


def test_how_sure_a_model_has_to_be_lies_halfway_if_it_can_be_told():
    assert confidence_threshold([(True, 4.0), (True, 2.0), (False, -1.0), (False, -9.0)]) == 0.5
    assert confidence_threshold([(True, 20.0), (False, -20.0)]) == 0
    assert confidence_threshold([(True, 2.0), (False, 3.0)]) == 0
    assert confidence_threshold([(True, 2.0)]) == confidence_threshold([(False, 2.0)]) == 0


def named(name, **traits):
    return Scripted(name=name, traits=Traits(**traits))


def test_what_is_worth_trying_depends_on_the_model():
    assert candidate_modes(named("anthropic:claude")) == ["native", "json", "hermes"]
    assert candidate_modes(named("openai:mistral-7b")) == ["native", "held", "mistral", "json", "hermes"]
    assert candidate_modes(named("command:x", native_calls=False)) == ["json", "hermes"]
    assert candidate_modes(named("llamacpp:x", native_calls=False, holds=True, dialect="pythonic")) == [
        "held",
        "pythonic",
        "json",
        "hermes",
    ]


def test_a_dialect_that_is_the_same_by_another_name_is_tried_once():
    assert candidate_modes(named("ollama:qwen3")) == ["native", "held", "hermes_json", "json"]


def test_a_template_tells_of_a_dialect_too():
    assert candidate_modes(named("ollama:mine"), "{{ <tool_call> [TOOL_CALLS] }}") == [
        "native",
        "held",
        "mistral",
        "json",
        "hermes",
    ]
    assert candidate_modes(named("openai:qwen2.5-coder"), "<tool_call>") == ["native", "held", "json", "hermes_json"]


def tried(name, right, problem=""):
    return ProbeResult(CallingMode(name, right=right, of=6), problem=problem)


def test_the_way_with_the_most_right_is_the_best_and_the_earlier_of_two_that_have_as_many():
    assert best_result([tried("native", 4), tried("held", 6), tried("json", 6)]).way.dialect == "held"
    assert best_result([tried("native", 0, "refused"), tried("json", 1)]).way.dialect == "json"
    assert best_result([tried("native", 0), tried("json", 0)]) is None
