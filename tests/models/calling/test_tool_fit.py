"""Whether a tool fits, and how sure the model is."""

import asyncio

import pytest

from treadle.core.messages import History, Message, Text, person_message
from treadle.core.requests import ReplyEnded, Request, TextDelta, ToolSpec, Usage
from treadle.models.calling.tool_fit import judge_tool_fit
from treadle.models.calling.yes_no import CERTAIN_ODDS
from treadle.models.scripted import Scripted

STOCK = ToolSpec("stock", "How many\nare there.", {"properties": {"item": {}, "shelf": {}}})


def odds(said, chances=None, *messages):
    model = Scripted([TextDelta(said), ReplyEnded("done", Usage(requests=1, input_tokens=9), chances=chances or {})])
    found = asyncio.run(judge_tool_fit(model, Request("", History(messages or [person_message("How many?")]), (STOCK,))))
    assert found.usage.input_tokens == 9
    return found.odds, model.requests[0]


def test_the_odds_are_those_of_yes_against_no():
    assert odds("yes", {"yes": -0.5, " Yes": -3.0, "no": -2.0, "maybe": -4.0})[0] == pytest.approx(1.5)
    assert odds("no", {"No": -0.25, "yes": -1.25})[0] == pytest.approx(-1.0)


def test_a_word_that_is_not_among_the_likeliest_is_very_unlikely():
    assert odds("yes", {"yes": -0.5})[0] == pytest.approx(CERTAIN_ODDS - 0.5)


@pytest.mark.parametrize(("said", "sign"), [("yes", 1), ("No.", -1), ("", 1), ("Certainly", 1)])
def test_without_probabilities_the_word_itself_counts(said, sign):
    assert odds(said)[0] == sign * CERTAIN_ODDS


def test_it_is_asked_about_the_tools_and_the_last_question():
    _, request = odds(
        "yes", None, person_message("How many red ones?"), Message("model", (Text("4"),)), person_message("And  blue\nones?")
    )
    asked = request.history[-1].parts[0].text
    assert asked == "Tools:\n- stock(item, shelf): How many are there.\nUser: (Before that: How many red ones?) And blue ones?"
    assert request.tools == ()


def test_the_examples_come_first_and_are_always_the_same():
    first, second = odds("yes")[1], odds("no", None, person_message("Something else"))[1]
    assert first.fixed == second.fixed == len(first.history) - 1
    assert first.history[: first.fixed] == second.history[: second.fixed]
    answers = [message.parts[0].text for message in first.history[: first.fixed] if message.role == "model"]
    assert 0.3 < answers.count("yes") / len(answers) < 0.7


@pytest.mark.parametrize(
    ("message", "penalty"),
    [
        ("Thanks, that's all.", 4.0),
        ("hi there", 4.0),
        ("Explain what a body mass index is", 2.0),
        ("How do I write a good bug report?", 2.0),
        ("How often should one water a fern?", 2.0),
        ("Why is the sky blue?", 2.0),
        ("What's a mutex?", 2.0),
        ("What does LEFT JOIN do?", 2.0),
        ("write me a short poem about cats", 2.0),
        ("How do my sales look?", 0.0),
        ("How often do I have to water the fern?", 0.0),
        ("Why did run 7 fail?", 0.0),
        ("What's in the readme?", 0.0),
        ("history of orders", 0.0),
        ("Who was at the meeting?", 0.0),
    ],
)
def test_small_talk_and_general_knowledge_lower_the_odds(message, penalty):
    assert odds("yes", {"yes": 0.0, "no": -1.0}, person_message(message))[0] == pytest.approx(1.0 - penalty)
