"""Answers with a shape."""

import asyncio
from dataclasses import dataclass
from typing import TypedDict

import msgspec
import pytest
from pydantic import BaseModel

from treadle import Agent, Limits, RunContext, RunFailed, ToolProblem, tool
from treadle.core.events import OutputArrived, TextArrived
from treadle.core.requests import Traits
from treadle.errors import SettingsError
from treadle.models.scripted import calls
from treadle.stores.memory import MemoryJournal
from treadle.testing import Scripted


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
    assert (result.stopped, result.output_or_none, result.answer_at_limit) == ("limit", None, Point(5))


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
    assert (result.stopped, result.output_or_none, result.answer_at_limit) == ("limit", None, Point(5))
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


# Unions: with text, and of several types


class Circle(msgspec.Struct):
    radius: int


@pytest.mark.parametrize("text", ["It is far.", "5", '{"other": 1}', "Here it is: {'x': 1}"])
def test_a_union_with_text_takes_plain_text_as_it_is(text):
    result, model = ask(Point | str, text)
    assert (result.output, result.stopped, len(model.requests)) == (text, "answered", 1)
    assert [spec.name for spec in model.requests[0].tools] == ["give_answer"]
    assert "plain text" in model.requests[0].tools[0].description
    assert not model.requests[0].must_call


def test_a_union_with_text_takes_a_call_and_json_as_the_type():
    assert ask(Point | str, calls(("give_answer", {"x": 5})))[0].output == Point(5)
    assert ask(Person | str, '{"name": "Ann", "age": "40"}')[0].output == Person(name="Ann", age=40)
    assert ask(str | Circle | Point, calls(("give_answer", {"value": {"x": 5}})))[0].output == Point(5)
    assert ask(str | None, calls(("give_answer", {"value": None})))[0].output is None


def test_a_server_that_enforces_schemas_is_not_given_one_for_an_answer_that_may_be_text():
    result, model = native(Point | str, "Far.")
    assert (result.output, model.requests[0].shape) == ("Far.", None)
    with pytest.raises(SettingsError, match="written as native"):
        native(Point | str, "Far.", output_mode="native")


def test_text_at_a_limit_is_an_answer_as_without_a_type():
    replies = calls(("look", {})), "Five."
    result, _ = ask(Point | str, *replies, tools=[look], limits=Limits(rounds=1))
    assert (result.stopped, result.answer_at_limit, result.reason) == ("limit", "Five.", "the limit of 1 round")
    result, _ = ask(Point | str, *replies, tools=[look], limits=Limits(rounds=1, at_limit="conclude"))
    assert (result.stopped, result.output) == ("answered", "Five.")
    result, _ = ask(Point | str, replies[0], tools=[look], limits=Limits(rounds=1, at_limit="words", words="Enough."))
    assert (result.stopped, result.answer_at_limit) == ("limit", "Enough.")


@pytest.mark.parametrize("value", [Point(1, 2), Circle(3), Person(name="Ann", age=40)])
def test_a_union_of_types_gives_the_one_that_fits(value):
    arguments = {"value": msgspec.to_builtins(value) if not isinstance(value, Person) else value.model_dump()}
    assert ask(Point | Circle | Person, calls(("give_answer", arguments)))[0].output == value


def test_a_model_whose_answer_the_type_refuses_is_told_the_name_of_the_tool():
    class Even(BaseModel):
        number: int

        def model_post_init(self, context: object) -> None:
            if self.number % 2:
                raise ValueError("odd")

    for output_type in (Even, Even | str):
        _, model = ask(output_type, calls(("give_answer", {"number": 3})), calls(("give_answer", {"number": 4})))
        told = model.requests[1].history[-1].parts[0].content
        assert "Call give_answer again" in told
        assert "odd" in told


# Validators


def validated(output_type, validator, *replies, **settings):
    model = Scripted(*replies)
    agent = Agent(model, output_type=output_type, **settings)
    agent.output_validator(validator)
    return agent.run_sync("Go.", deps=10), model


def below_ten(point: Point) -> None:
    if point.x >= 10:
        raise ToolProblem("x has to be below 10.")


def test_a_validator_may_have_the_model_try_again():
    result, model = validated(Point, below_ten, calls(("give_answer", {"x": 12})), calls(("give_answer", {"x": 5})))
    assert result.output == Point(5)
    assert model.requests[1].history[-1].parts[0].content == "Not accepted: x has to be below 10."
    result, model = validated(Point, below_ten, '{"x": 12}', '{"x": 5}')
    assert result.output == Point(5)
    assert "x has to be below 10." in model.requests[1].note


def test_a_validator_may_be_async_get_the_context_and_return_another_output():
    async def add_deps(ctx: RunContext[int], point: Point) -> Point:
        return Point(point.x + ctx.deps, point.y)

    result, _ = validated(Point, add_deps, calls(("give_answer", {"x": 5})))
    assert result.output == Point(15)
    assert result.entries[-1].output == {"x": 15, "y": 0}


def test_text_is_validated_too():
    def short(text: str) -> str:
        if len(text) > 5:
            raise ToolProblem("At most five letters, please.")
        return text.upper()

    for output_type in (str, Point | str):
        result, model = validated(output_type, short, "much too long", "ok")
        assert (result.output, result.text, result.stopped) == ("OK", "ok", "answered")
        assert model.requests[1].note == "Your answer was not accepted. Answer again. At most five letters, please."
    assert model.requests[0].tools


@pytest.mark.parametrize("reply", [calls(("give_answer", {"x": 12})), '{"x": 12}'])
def test_a_model_that_never_passes_the_validator_fails_at_the_limit(reply):
    replies = [reply, calls(("give_answer", {"x": 13})), calls(("give_answer", {"x": 14}))]
    result, model = validated(Point, below_ten, *replies, limits=Limits(output_retries=2))
    assert (result.stopped, len(model.requests)) == ("failed", 3)
    with pytest.raises(RunFailed, match="x has to be below 10"):
        _ = result.output
    result, model = validated(str, lambda text: below_ten(Point(99)), *["text"] * 9, limits=Limits(output_retries=1))
    assert (result.stopped, len(model.requests)) == ("failed", 2)


def test_what_a_validator_does_wrong_is_raised_and_the_run_can_be_resumed():
    async def tale():
        journal, agent = MemoryJournal(), Agent(Scripted(calls(("give_answer", {"x": 5}))), output_type=Point)
        bugs = [KeyError("bug")]

        @agent.output_validator
        def fails_once(point: Point) -> Point:
            if bugs:
                raise bugs.pop()
            return point

        with pytest.raises(KeyError):
            await agent.run("Go.", run_id="r", journal=journal)
        return await agent.resume("r", journal=journal)

    assert asyncio.run(tale()).output == Point(5)


@pytest.mark.parametrize("wrong", [Circle(3), "far", object()])
def test_a_validator_has_to_return_the_type(wrong):
    with pytest.raises(SettingsError, match="isn't of the output type"):
        validated(Point, lambda point: wrong, calls(("give_answer", {"x": 5})))


def test_the_output_is_the_same_after_a_resume_and_nothing_is_validated_again():
    async def tale():
        journal, seen = MemoryJournal(), []

        def agent(*replies):
            made = Agent(Scripted(*replies), output_type=list[Person])

            @made.output_validator
            def older(people: list[Person]) -> list[Person]:
                seen.append(people)
                return [Person(name=person.name, age=person.age + 1) for person in people]

            return made

        first = await agent('{"value": [{"name": "Ann", "age": 40}]}').run("Go.", run_id="r", journal=journal)
        again = await agent().resume("r", journal=journal)
        return first.output, again.output, len(seen)

    assert asyncio.run(tale()) == ([Person(name="Ann", age=41)], [Person(name="Ann", age=41)], 1)


# Output functions


async def measure(ctx: RunContext[int], x: int, y: int = 0) -> Circle:
    """Measure how far it is."""
    if x < 0:
        raise ToolProblem("x has to be positive.")
    return Circle(x + y + ctx.deps)


def test_of_a_function_the_arguments_are_asked_for_and_the_return_value_is_the_output():
    async def tale():
        journal, model = MemoryJournal(), Scripted(calls(("measure", {"x": -1})), calls(("measure", {"x": "1", "y": 2})))
        first = await Agent(model, output_type=measure).run("Go.", deps=10, run_id="r", journal=journal)
        again = await Agent(Scripted(), output_type=measure).resume("r", journal=journal)  # without the deps: it isn't called
        return first, again, model

    first, again, model = asyncio.run(tale())
    assert first.output == again.output == Circle(13)
    assert first.entries[-1].output == {"value": {"radius": 13}}
    assert model.requests[0].tools[0].description == "Measure how far it is."
    assert "x has to be positive." in model.requests[1].history[-1].parts[0].content


def test_a_function_may_be_asked_for_natively_and_its_output_is_validated():
    def double(number: int):
        return [number, number]

    assert native(double, '{"number": 4}')[0].output == [4, 4]

    def no_lists(value: object) -> None:
        raise ToolProblem("No lists.")

    result, _ = validated(double, no_lists, *[calls(("double", {"number": 4 + n})) for n in range(4)])
    assert "No lists" in result.reason


def test_an_output_function_has_no_effects_and_returns_what_json_can_carry():
    with pytest.raises(SettingsError, match="look has an effect"):
        Agent(Scripted("a"), output_type=tool(look.function, name="look"))
    assert ask(look, calls(("look", {})))[0].output == "5"

    def odd(x: int) -> asyncio.Event: ...

    with pytest.raises(SettingsError):
        Agent(Scripted("a"), output_type=odd)
