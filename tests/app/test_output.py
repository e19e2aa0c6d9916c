"""Answers with a shape."""

from dataclasses import dataclass
from typing import TypedDict

import pytest
from pydantic import BaseModel

from treadle import Agent, Limits, RunFailed, Scripted, tool
from treadle.models.scripted import calls


@dataclass
class Point:
    x: int
    y: int = 0


class Person(BaseModel):
    name: str
    age: int


class Movie(TypedDict):
    title: str


def ask(output_type, *replies, **settings):
    model = Scripted(*replies)
    return Agent(model, output_type=output_type, **settings).run_sync("Go."), model


@pytest.mark.parametrize(
    ("output_type", "arguments", "value"),
    [
        (Point, {"x": "5"}, Point(5)),
        (Person, {"name": "Ann", "age": 40}, Person(name="Ann", age=40)),
        (Movie, {"title": "Heat"}, {"title": "Heat"}),
        (list[int], {"value": [1, 2]}, [1, 2]),
        (int, {"value": 7}, 7),
        (list[Point], {"value": [{"x": 1}]}, [Point(1)]),
    ],
)
def test_a_type_becomes_a_tool_whose_arguments_are_the_answer(output_type, arguments, value):
    result, model = ask(output_type, calls(("give_answer", arguments), text="Here."))
    assert result.output == value
    assert result.stopped == "answered"
    assert [spec.name for spec in model.requests[0].tools] == ["give_answer"]


def test_json_in_words_will_do():
    assert ask(Point, '{"x": 1, "y": 2}')[0].output == Point(1, 2)
    assert ask(Point, "```json\n{'x': 1,}\n```")[0].output == Point(1)


def test_a_wrong_answer_is_sent_back_with_what_is_wrong():
    result, model = ask(Point, "It is five.", calls(("give_answer", {"x": "far"})), calls(("give_answer", {"x": 5})))
    assert result.output == Point(5)
    assert "give_answer" in model.requests[1].note
    assert model.requests[2].history[-1].parts[0].problem == "invalid"


def test_a_value_the_type_refuses_is_sent_back_too():
    class Even(BaseModel):
        number: int

        def model_post_init(self, context: object) -> None:
            if self.number % 2:
                raise ValueError("odd")

    result, _ = ask(Even, calls(("give_answer", {"number": 3})), calls(("give_answer", {"number": 4})))
    assert result.output == Even(number=4)


def test_a_model_that_never_gets_it_right_fails():
    result, model = ask(Point, *["words"] * 9)
    assert result.stopped == "failed"
    assert len(model.requests) == 4
    with pytest.raises(RunFailed, match="shape"):
        _ = result.output


def test_at_a_limit_the_answer_may_still_come_as_json():
    @tool(effect="read")
    async def look() -> str:
        """Look."""
        return "5"

    model = Scripted(calls(("look", {})), '{"x": 5}')
    result = Agent(model, tools=[look], output_type=Point, limits=Limits(rounds=1)).run_sync("Go.")
    assert (result.stopped, result.output) == ("limit", Point(5))


def test_other_calls_of_the_same_reply_still_run():
    ran = []

    @tool(effect="read")
    async def note() -> str:
        """Note."""
        ran.append(1)
        return "ok"

    result, _ = ask(Point, calls(("give_answer", {"x": 1}), ("note", {})), tools=[note])
    assert result.output == Point(1)
    assert ran == [1]


@pytest.mark.parametrize(
    ("schema", "given", "answer"),
    [
        ({"type": "object", "properties": {"x": {"type": "integer"}}, "required": ["x"]}, {"x": 1}, {"x": 1}),
        ({"type": "object"}, {"any": "thing"}, {"any": "thing"}),
        ({"type": "array", "items": {"type": "integer"}}, {"value": [1, 2]}, [1, 2]),
    ],
)
def test_a_shape_may_be_a_json_schema(schema, given, answer):
    assert ask(schema, calls(("give_answer", given)))[0].output == answer
