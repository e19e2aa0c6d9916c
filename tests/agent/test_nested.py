"""Agents as tools of other agents: typed input, output as data, several at once, in the background, each with its own budget."""

import asyncio
from dataclasses import dataclass
from typing import TypedDict

import pytest
from msgspec import Struct
from pydantic import BaseModel, field_validator

from treadle import Agent, Limits, allow, tool
from treadle.errors import SettingsError
from treadle.models.scripted import calls
from treadle.testing import Scripted


class Place(Struct):
    """A place."""

    town: str
    floor: int = 0


@dataclass
class PlaceClass:
    town: str
    floor: int = 0


class PlaceModel(BaseModel):
    town: str
    floor: int = 0

    @field_validator("town")
    @classmethod
    def known(cls, town: str) -> str:
        if town == "Atlantis":
            raise ValueError("it sank")
        return town


class PlaceDict(TypedDict):
    town: str


def answer(request) -> str:
    return request.history[-1].parts[0].content


def ask_outer(arguments, *, inner_says="Fine.", output_type=str, **how):
    inner = Scripted(inner_says)
    agent = Agent(inner, name="weather", output_type=output_type)
    outer = Scripted(calls(("weather", arguments)), answer)
    result = Agent(outer, tools=[agent.as_tool(**how)]).run_sync("Go.")
    return result, inner, outer


@pytest.mark.parametrize("input_type", [Place, PlaceClass, PlaceModel, PlaceDict])
def test_the_fields_of_a_type_are_the_arguments_and_the_prompt_is_their_json(input_type):
    result, inner, outer = ask_outer({"town": "Bern"}, input_type=input_type, description="The weather.")
    assert next(iter(outer.requests[0].tools[0].parameters["properties"])) == "town"
    assert inner.requests[0].history[0].text == '{"town":"Bern"}'
    assert result.output == "Fine."


@pytest.mark.parametrize(("input_type", "read"), [(Place, Place), (PlaceClass, PlaceClass), (PlaceModel, PlaceModel)])
def test_a_template_makes_the_prompt_of_the_value(input_type, read):
    seen = []

    def template(place) -> str:
        seen.append(place)
        return f"How is {place.town}?"

    _, inner, _ = ask_outer({"town": "Bern", "floor": "3"}, input_type=input_type, template=template)
    assert inner.requests[0].history[0].text == "How is Bern?"
    assert seen == [read(town="Bern", floor=3)]


def test_what_the_type_refuses_is_told_to_the_outer_model():
    result, inner, _ = ask_outer({"town": "Atlantis"}, input_type=PlaceModel, template=lambda place: place.town)
    assert "it sank" in result.output
    assert "Call weather again" in result.output
    assert inner.requests == []


def test_structured_output_is_read_by_the_outer_model_and_is_data_for_code():
    says = calls(("give_answer", {"town": "Bern", "floor": 2}), text="Here it is.")
    result, _, _ = ask_outer({"prompt": "Where?"}, inner_says=says, output_type=Place)
    assert result.output == '{"town":"Bern","floor":2}'
    assert result.calls[0].result.data == {"town": "Bern", "floor": 2}


def test_an_input_has_fields_and_a_template_has_an_input():
    agent = Agent(Scripted("a"))
    with pytest.raises(SettingsError, match="has no fields"):
        agent.as_tool(input_type=list[int])
    with pytest.raises(SettingsError, match="both, or neither"):
        agent.as_tool(template=str)


def meeting(parties: int):
    """A tool that returns once so many calls of it run at the same time."""
    met = asyncio.Barrier(parties)

    @tool(effect="read")
    async def meet() -> str:
        """Meet."""
        async with asyncio.timeout(120):
            await met.wait()
        return "met"

    return meet


def test_several_run_at_the_same_time_each_in_a_run_of_its_own():
    async def main():
        meet = meeting(3)
        inner = [Agent(Scripted(calls(("meet", {})), f"{name} met."), tools=[meet], name=name) for name in ("ann", "bob", "cy")]
        model = Scripted(calls(*[(agent.name, {"prompt": "Go."}) for agent in inner]), "All met.")
        return await Agent(model, tools=[agent.as_tool() for agent in inner]).run("Go.", run_id="r")

    result = asyncio.run(main())
    assert result.output == "All met."
    assert [record.result.content for record in result.calls] == ["ann met.", "bob met.", "cy met."]


def test_in_the_background_the_outer_agent_goes_on_and_reads_the_answer_later():
    started, released = asyncio.Event(), asyncio.Event()

    @tool(effect="read")
    async def look() -> str:
        """Look."""
        started.set()
        await released.wait()
        return "three letters"

    @tool(effect="read")
    async def work() -> str:
        """Do something else meanwhile."""
        await started.wait()
        released.set()
        return "worked"

    inner = Agent(Scripted(calls(("look", {})), "There are three letters."), tools=[look], name="archivist")
    script = [calls(("archivist", {"prompt": "Look."})), calls(("work", {})), calls(("background_result", {"id": "call_1_1"}))]
    outer = Agent(Scripted(*script, "Three."), tools=[inner.as_tool(background=True), work], policy=[allow("*")])

    async def main():
        async with asyncio.timeout(120):
            return await outer.run("Go.")

    result = asyncio.run(main())
    assert result.output == "Three."
    assert "There are three letters." in [record.result.content for record in result.calls]


def test_the_limits_of_the_nested_agent_are_the_budget_of_one_call():
    @tool(effect="read")
    def look(where: int) -> str:
        """Look."""
        return f"nothing at {where}"

    script = [calls(("look", {"where": number})) for number in range(20)]
    inner = Agent(Scripted(*script), tools=[look], name="searcher", limits=Limits(calls=3))
    outer = Agent(
        Scripted(calls(("searcher", {"prompt": "Look."})), "It isn't there."), tools=[inner.as_tool()], limits=Limits(calls=9)
    )
    result = outer.run_sync("Go.")
    assert (result.stopped, result.output) == ("answered", "It isn't there.")
    assert result.usage.calls == 4
