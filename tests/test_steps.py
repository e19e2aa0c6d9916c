"""A run step by step."""

import asyncio

import pytest

from treadle import Agent, ask, tool
from treadle.core.events import TextArrived
from treadle.models.scripted import calls
from treadle.steps import CallsStep, EndStep, RequestStep
from treadle.stores.memory import MemoryJournal
from treadle.testing import Scripted

SEEN: list[str] = []


@tool(effect="read")
async def look(place: str) -> str:
    """Look."""
    SEEN.append(place)
    return f"nothing in {place}"


def collect(agent, **how):
    async def tale():
        async with agent.iter("Go.", **how) as steps:
            return [step async for step in steps], steps.result

    return asyncio.run(tale())


def test_a_run_yields_its_requests_its_calls_and_its_end():
    model = Scripted(calls(("look", {"place": "A"}), ("look", {"place": "B"}), text="Let me see."), "Nothing.")
    texts = []
    agent = Agent(model, tools=[look], name="finder", notes=["Look first."])
    steps, result = collect(agent, watchers=[lambda event: texts.append(event) if isinstance(event, TextArrived) else None])
    assert [type(step) for step in steps] == [RequestStep, CallsStep, RequestStep, EndStep]
    assert (steps[0].round, steps[0].agent, steps[0].model, steps[0].note) == (1, "finder", "scripted", "Look first.")
    assert [(call.arguments["place"], call.result.content) for call in steps[1].calls] == [
        ("A", "nothing in A"),
        ("B", "nothing in B"),
    ]
    assert (steps[1].text, steps[1].usage.requests) == ("Let me see.", 1)
    assert (steps[2].round, len(steps[2].history)) == (2, 3)
    assert steps[3].result is result
    assert result.output == "Nothing."
    assert texts


def test_nothing_happens_between_two_steps_and_leaving_stops_the_run():
    async def tale():
        journal, model = MemoryJournal(), Scripted(calls(("look", {"place": "A"})), "Go on.")
        agent = Agent(model, tools=[look])
        SEEN.clear()
        async with agent.iter("Go.", run_id="r", journal=journal) as steps:
            async for step in steps:
                with pytest.raises(RuntimeError, match="isn't over"):
                    _ = steps.result
                if isinstance(step, RequestStep) and step.round == 1:
                    assert (model.requests, SEEN) == ([], [])
                if isinstance(step, CallsStep):
                    break
        assert (len(model.requests), SEEN, steps.result.stopped) == (1, ["A"], "cancelled")
        assert [step async for step in steps] == []
        return await agent.run("And now?", run_id="r", journal=journal)

    assert asyncio.run(tale()).output == "Go on."


def test_an_answer_by_a_call_a_refusal_and_a_wait_are_steps_too():
    steps, result = collect(Agent(Scripted(calls(("give_answer", {"value": 7}))), output_type=int))
    assert [type(step) for step in steps] == [RequestStep, CallsStep, EndStep]
    assert result.output == 7
    agent = Agent(Scripted(calls(("look", {"place": "A"}), ("nothing", {}))), tools=[look], policy=[ask("*")])
    steps, result = collect(agent)
    assert [type(step) for step in steps] == [RequestStep, CallsStep, EndStep]
    assert [call.problem for call in steps[1].calls] == ["unknown_tool"]
    assert result.stopped == "waiting"


def test_the_steps_of_an_agent_that_is_a_tool_are_a_part_of_its_call():
    inner = Agent(Scripted(calls(("look", {"place": "A"})), "Nothing."), tools=[look], name="inner")
    steps, _ = collect(Agent(Scripted(calls(("inner", {"prompt": "Look."})), "Done."), tools=[inner.as_tool()]))
    assert [type(step) for step in steps] == [RequestStep, CallsStep, RequestStep, EndStep]
    assert steps[1].calls[0].result.content == "Nothing."


def test_what_a_run_raises_is_raised():
    def broken(ctx):
        raise KeyError("bug")

    async def tale(agent):
        async with agent.iter("Go.") as steps:
            with pytest.raises(KeyError):
                await anext(steps)
            return [step async for step in steps]

    assert asyncio.run(tale(Agent(Scripted("a"), instructions=broken))) == []


def test_a_block_that_is_left_at_once_runs_nothing_and_one_that_is_left_early_on_cancels():
    async def tale():
        entered = asyncio.Event()

        async def slow(ctx):
            entered.set()
            await asyncio.Event().wait()

        model = Scripted("a")
        async with Agent(model).iter("Go."):
            pass
        async with Agent(model, instructions=slow).iter("Go.") as steps:
            first = asyncio.ensure_future(anext(steps))
            await entered.wait()
        with pytest.raises(asyncio.CancelledError):
            await first
        return model.requests

    assert asyncio.run(tale()) == []
