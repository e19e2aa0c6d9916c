"""Answers with a shape."""

import asyncio
from dataclasses import dataclass
from typing import TypedDict

import msgspec
import pytest
from pydantic import BaseModel

from treadle import Agent, Limits, RunFailed, Scripted, SettingsError, tool
from treadle.core.events import OutputArrived, TextArrived
from treadle.core.requests import Traits
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


# Native structured output: the server is given the schema


NATIVE = Traits(structured_output="yes")
ALONE = Traits(structured_output="without_tools")


@tool(effect="read")
async def look() -> str:
    """Look."""
    return "5"


def native(output_type, *replies, traits=NATIVE, chunk=None, **settings):
    model = Scripted(*replies, traits=traits, chunk=chunk)
    return Agent(model, output_type=output_type, **settings).run_sync("Go."), model


def streamed(agent):
    async def collect():
        return [event async for event in agent.stream("Go.")]

    return asyncio.run(collect())


def test_a_server_that_takes_schemas_is_given_the_schema_instead_of_a_tool():
    result, model = native(Point, calls(("look", {})), '{"x": 5, "y": 1}', tools=[look])
    assert result.output == Point(5, 1)
    for request in model.requests:
        assert [spec.name for spec in request.tools] == ["look"]
        assert request.shape is not None
        assert request.shape["required"] == ["x", "y"]
        assert not request.must_call


def test_one_that_takes_them_without_tools_is_given_it_only_then():
    result, model = native(Point, calls(("look", {})), calls(("give_answer", {"x": 5})), traits=ALONE, tools=[look])
    assert result.output == Point(5)
    assert [spec.name for spec in model.requests[0].tools] == ["look", "give_answer"]
    assert model.requests[0].shape is None
    _, model = native(Point, '{"x": 5, "y": 0}', traits=ALONE)
    assert (model.requests[0].tools, model.requests[0].shape is not None) == ((), True)


def test_the_last_request_at_a_limit_has_the_schema_too():
    result, model = native(Point, calls(("look", {})), '{"x": 5, "y": 0}', traits=ALONE, tools=[look], limits=Limits(rounds=1))
    assert (result.stopped, result.output) == ("limit", Point(5))
    assert model.requests[1].shape is not None


def test_a_server_that_ignored_the_schema_is_shown_it():
    result, model = native(Point, "It is five.", '{"x": 5, "y": 0}')
    assert result.output == Point(5)
    assert '"required":["x","y"]' in model.requests[1].note
    assert "give_answer" not in model.requests[1].note


def test_a_native_answer_that_the_type_refuses_is_sent_back():
    class Even(BaseModel):
        number: int

        def model_post_init(self, context: object) -> None:
            if self.number % 2:
                raise ValueError("odd")

    result, model = native(Even, '{"number": 3}', '{"number": 4}')
    assert result.output == Even(number=4)
    assert "odd" in model.requests[1].note


class Tree(TypedDict):
    name: str
    children: list["Tree"]


@pytest.mark.parametrize("output_type", [dict[str, int], Tree])
def test_what_no_such_schema_can_express_is_asked_for_as_a_call(output_type):
    arguments = {"value": {"a": 1}} if output_type is not Tree else {"name": "a", "children": []}
    _, model = native(output_type, calls(("give_answer", arguments)))
    assert (model.requests[0].shape, model.requests[0].must_call) == (None, True)
    with pytest.raises(SettingsError, match="written as native"):
        Agent(Scripted("x", traits=NATIVE), output_type=output_type, output_mode="native")


def test_the_mode_can_be_chosen():
    _, model = native(Point, calls(("give_answer", {"x": 5})), output_mode="tool")
    assert model.requests[0].shape is None
    assert native(Point, '{"x": 5, "y": 0}', output_mode="native")[0].output == Point(5)
    with pytest.raises(SettingsError, match='output_mode="tool"'):
        Agent(Scripted("x"), output_type=Point, output_mode="native")


def test_a_native_answer_is_told_of_as_it_grows():
    answer = '{"name": "Ann and Bob", "age": 40}'
    agent = Agent(Scripted(answer, traits=NATIVE, chunk=3), output_type=Person)
    events = streamed(agent)
    told = [event.output for event in events if isinstance(event, OutputArrived)]
    assert told[0] == {}
    assert told[-1] == {"name": "Ann and Bob", "age": 40}
    assert {"name": "Ann and "} in told
    assert not [event for event in events if isinstance(event, TextArrived)]


def test_a_long_answer_is_not_read_again_for_each_piece():
    answer = msgspec.json.encode({"name": "n" * 20_000, "age": 1}).decode()
    agent = Agent(Scripted(answer, traits=NATIVE, chunk=4), output_type=Person)
    told = [event for event in streamed(agent) if isinstance(event, OutputArrived)]
    assert 50 < len(told) < 200


def test_words_before_a_call_are_words():
    model = Scripted(calls(("look", {}), text="Let me look."), '{"x": 5, "y": 0}', traits=NATIVE)
    events = streamed(Agent(model, tools=[look], output_type=Point))
    assert [event.text for event in events if isinstance(event, TextArrived)] == ["Let me look."]
    assert [event.output for event in events if isinstance(event, OutputArrived)] == [{"x": 5, "y": 0}]


def test_secrets_are_not_told_with_it():
    secret = "sk-proj-abcdefghijklmnopqrstuvwxyz0123456789"
    agent = Agent(Scripted(f'{{"name": "{secret}", "age": 1}}', traits=NATIVE), output_type=Person)
    told = [event.output for event in streamed(agent) if isinstance(event, OutputArrived)]
    assert told
    assert secret not in str(told)
