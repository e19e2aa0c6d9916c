"""What a model is warmed with is what its first request begins with, through everything that wraps a model."""

import asyncio
from math import inf

import pytest

from treadle import Agent, Options, RunContext, tool
from treadle.agent.budget import BudgetedModel
from treadle.core.messages import History, person_message
from treadle.core.requests import Request, ToolSpec, Traits
from treadle.dialects.constrained_json import CONSTRAINED
from treadle.models.calling.constrained import ConstrainedModel
from treadle.models.calling.flat_tools import FlatToolsModel
from treadle.models.calling.guided import FindingsQuestion, GuidedModel, PartialPlan, PlanQuestion, PlanStep
from treadle.models.calling.prompted import PromptedModel
from treadle.models.scripted import Scripted

STOCK = ToolSpec("stock", "Look up how many there are.", {"type": "object", "properties": {"item": {"type": "string"}}})
REQUEST = Request("You are a clerk.", History([person_message("How many lamps are there?")]), (STOCK,))


class Small(Scripted):
    """A model without native calls that can be warmed."""

    def __init__(self, *replies):
        super().__init__(*replies, traits=Traits(native_calls=False, holds=True, warms=True))
        self.warmed = []

    async def warm(self, request):
        self.warmed.append(request)


def plan(request):
    number = yield PlanQuestion(f"Message: {request.history[-1].text}", "You choose a tool.", Options(max_tokens=3))
    return PlanStep(text=number)


def calls_first(request):
    yield from ()
    return PlanStep((("stock", {"item": "lamps"}),))


def checks_first(request):
    said = yield FindingsQuestion("How many?", "5 lamps")
    return PlanStep(text=said)


async def waits_first(request):
    await asyncio.sleep(0)
    return plan(request)


def beginning(request):
    return request.instructions, tuple(request.history[: request.fixed])


async def take(model, request):
    return [delta async for delta in model.reply(request)]


@pytest.mark.parametrize(
    ("wrap", "replies"),
    [
        (lambda model: ConstrainedModel(model), ("yes", '{"tool": "stock", "arguments": {"item": "lamps"}}')),
        (lambda model: ConstrainedModel(model, sure=-inf), ('{"tool": "stock", "arguments": {"item": "lamps"}}',)),
        (lambda model: PromptedModel(model, CONSTRAINED), ("There are 5.",)),
        (lambda model: FlatToolsModel(PromptedModel(model, CONSTRAINED)), ("There are 5.",)),
        (lambda model: BudgetedModel(model), ("There are 5.",)),
        (lambda model: ConstrainedModel(BudgetedModel(model)), ("yes", '{"tool": "stock", "arguments": {"item": "lamps"}}')),
        (lambda model: GuidedModel(model, plan), ("5",)),
        (lambda model: GuidedModel(model, waits_first), ("5",)),
        (lambda model: GuidedModel(model, PartialPlan(lambda request: None), PromptedModel(model, CONSTRAINED)), ("5",)),
    ],
)
def test_a_wrapped_model_is_warmed_with_what_its_first_requests_begin_with(wrap, replies):
    model = Small(*replies)
    asyncio.run(wrap(model).warm(REQUEST))
    assert not model.requests
    asyncio.run(take(wrap(model), REQUEST))
    assert [*map(beginning, model.warmed)] == [*map(beginning, model.requests)]


@pytest.mark.parametrize("lead", [calls_first, checks_first])
def test_a_plan_that_asks_the_model_nothing_at_first_has_it_loaded(lead):
    model = Small()
    asyncio.run(GuidedModel(model, lead).warm(REQUEST))
    assert [*map(beginning, model.warmed)] == [("", ())]


@tool(effect="read")
def stock(item: str) -> int:
    """Look up how many there are."""
    return 5


@tool(effect="read")
def count(ctx: RunContext[str]) -> int:
    """Count everything."""
    return 12


def only_for_owners(ctx, prepared):
    return prepared if ctx.deps == "owner" else None


@tool(effect="read", prepare=only_for_owners)
def secret() -> int:
    """Look up what only owners may know."""
    return 1


def test_an_agent_warms_its_model_with_what_its_runs_begin_with():
    model = Small("yes", '{"calls": [{"name": "count", "arguments": {}}]}', '{"answer": "There are 12."}')
    agent = Agent(model, tools=[stock, count, secret], instructions=lambda ctx: f"You work for {ctx.user}.", deps_type=str)
    asyncio.run(agent.warm("How many?", user="ann", deps="guest"))
    assert len(model.warmed) == 2
    result = asyncio.run(agent.run("How many?", user="ann", deps="guest"))
    assert [call.name for call in result.calls] == ["count"]
    assert [*map(beginning, model.warmed)] == [*map(beginning, model.requests[:2])]
    assert "You work for ann." in model.warmed[-1].instructions
    assert "secret" not in model.warmed[-1].instructions


def test_a_model_that_cannot_be_warmed_is_not_asked_and_its_tools_are_not_opened():
    class Opened:
        opened = False

        def tools(self):
            return ()

        async def call(self, call, context):
            raise AssertionError

        async def __aenter__(self):
            self.opened = True
            return self

        async def __aexit__(self, *about):
            return None

    source, model = Opened(), Scripted()
    asyncio.run(Agent(model, toolsets=[source]).warm())
    assert not source.opened
    assert not model.requests
