"""What type checkers infer about code that uses Treadle, without any annotation. Checked by pyright and mypy, never run."""

from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum
from functools import partial
from typing import Any, Literal, TypedDict, assert_type

from msgspec import Struct
from pydantic import BaseModel

from treadle import Agent, CallRecord, FunctionToolset, RequestRecord, RunContext, RunResult, Toolset, Usage, tool
from treadle.events import CallReturned, RunEnded, TextArrived
from treadle.steps import CallsStep, EndStep, RequestStep, RunSteps


@dataclass
class Report:
    title: str


class Invoice(BaseModel):
    total: float


class Point(Struct):
    x: int


class Movie(TypedDict):
    title: str


class Colour(Enum):
    RED = "red"


@dataclass
class Deps:
    user: str


# the type of the answer

assert_type(Agent("m"), Agent[object, str])
assert_type(Agent("m", output_type=str), Agent[object, str])
assert_type(Agent("m", output_type=Report), Agent[object, Report])
assert_type(Agent("m", output_type=Invoice), Agent[object, Invoice])
assert_type(Agent("m", output_type=Point), Agent[object, Point])
assert_type(Agent("m", output_type=Movie), Agent[object, Movie])
assert_type(Agent("m", output_type=Colour), Agent[object, Colour])
assert_type(Agent("m", output_type=int), Agent[object, int])
assert_type(Agent("m", output_type=list[Report]), Agent[object, list[Report]])
assert_type(Agent("m", output_type=dict[str, int]), Agent[object, dict[str, int]])
assert_type(Agent("m", output_type=tuple[int, str]), Agent[object, tuple[int, str]])
assert_type(Agent("m", output_type=Report | Invoice), Agent[object, Report | Invoice])
assert_type(Agent("m", output_type=Report | str), Agent[object, Report | str])
assert_type(Agent("m", output_type=int | None), Agent[object, int | None])
assert_type(Agent("m", output_type=list[Report] | None), Agent[object, list[Report] | None])
assert_type(Agent("m", output_type=Literal["a", "b"]), Agent[object, Literal["a", "b"]])
assert_type(Agent("m", output_type=Literal["a", "b"] | Point), Agent[object, Literal["a", "b"] | Point])
schema: Any = {"type": "object"}
assert_type(Agent("m", output_type=schema), Agent[object, Any])
default: Agent = Agent("m")  # the parameters have defaults
assert_type(default, Agent[object, str])


# results

report = Agent("m", output_type=Report).run_sync("Go.")
assert_type(report, RunResult[Report])
assert_type(report.output, Report)
assert_type(report.output.title, str)
assert_type(report.calls, list[CallRecord])
assert_type(report.usage, Usage)
assert_type(Agent("m").run_sync("Go.").output, str)
assert_type(Agent("m", output_type=Literal["a", "b"]).run_sync("Go.").output, Literal["a", "b"])
assert_type(Agent("m", output_type=Report | str).resume_sync("r1").output, Report | str)


async def results() -> None:
    agent = Agent("m", output_type=list[Report], deps_type=Deps)
    assert_type(await agent.run("Go.", deps=Deps("ann")), RunResult[list[Report]])
    assert_type((await agent.resume("r1", deps=Deps("ann"))).output, list[Report])
    async for event in agent.stream("Go.", deps=Deps("ann"), run_id="r1"):
        match event:
            case TextArrived():
                assert_type(event.text, str)
            case CallReturned():
                assert_type(event.result.content, str)
            case RunEnded():
                assert_type(event.result, RunResult[list[Report]])
                assert_type(event.result.output, list[Report])
            case _:
                pass
    async for event in agent.stream_resumed("r1", user="ann"):
        if isinstance(event, RunEnded):
            assert_type(event.result.output, list[Report])


# tools keep their signatures


@tool
def add(a: int, b: int = 0) -> int:
    return a + b


@tool(effect="read", timeout=5)
async def fetch(ctx: RunContext[Deps], url: str) -> str:
    return ctx.deps.user + url


@tool
def whoami(ctx: RunContext) -> str:  # a context without its type has deps of type `object`
    assert_type(ctx, RunContext[object])
    assert_type(ctx.deps, object)
    return ctx.user


@tool
def store(value: Any, key: str) -> None: ...


def plain(name: str, amount: float = 1) -> str:
    return name * int(amount)


def greet(ctx: RunContext[Deps], word: str) -> str:
    assert_type(ctx.deps, Deps)
    return word + ctx.deps.user


def count(ctx: RunContext[int]) -> int:
    return ctx.deps


class Desk:
    @tool(effect="read")
    def look(self, ctx: RunContext[Deps], drawer: int) -> str:
        return f"{drawer} of {ctx.deps.user}"

    def order(self, name: str) -> str:
        return name

    def tools(self) -> list[Callable[..., Any]]:
        return [self.look, self.order]


context = RunContext(deps=Deps("ann"))
assert_type(context, RunContext[Deps])
assert_type(add(1, b=2), int)
assert_type(whoami(context), str)
store(1, key="a")
assert_type(Desk().look(context, 3), str)
assert_type(greet(context, "hello"), str)


# dependencies

assert_type(Agent("m", deps_type=Deps), Agent[Deps, str])
assert_type(Agent("m", deps_type=dict[str, int]), Agent[dict[str, int], str])
assert_type(Agent("m", deps_type=Deps | None, output_type=Report), Agent[Deps | None, Report])
assert_type(Agent("m", deps_type=Deps, tools=[fetch, greet, add, plain, whoami]), Agent[Deps, str])
assert_type(Agent("m", tools=[add, plain]), Agent[object, str])
assert_type(Agent("m", deps_type=Deps, instructions=lambda ctx: ctx.deps.user), Agent[Deps, str])
assert_type(Agent("m", deps_type=Deps, tools=Desk().tools()), Agent[Deps, str])
assert_type(Agent("m", tools=[FunctionToolset([plain]), Agent("m").as_tool()]), Agent[object, str])


async def awaited() -> None:
    assert_type(await fetch(context, "/"), str)


async def instructions(ctx: RunContext[Deps]) -> str:
    return ctx.deps.user


def everything_that_is_a_tool(toolset: Toolset) -> None:
    def literal(kind: Literal["a", "b"]) -> None: ...
    def optional(name: str | None = None) -> None: ...
    def typed_dict(movie: Movie) -> None: ...
    def structure(report: Report, colour: Colour) -> None: ...
    def items(values: list[int], switch: bool) -> None: ...
    def nothing() -> None: ...
    def many(*names: str) -> None: ...

    desk = Desk()
    Agent("m", deps_type=Deps, instructions=instructions, tools=[literal, optional, typed_dict, structure, items, nothing, many])
    Agent("m", deps_type=Deps, tools=[desk.order, desk.look, partial(plain, "a"), store, add, toolset, lambda: 1])


def takes_any_agent(agent: Agent[Any, Any]) -> None: ...
def takes_an_agent_with_deps(agent: Agent[Deps, object]) -> None: ...


takes_any_agent(Agent("m", deps_type=Deps, output_type=Report))
takes_an_agent_with_deps(Agent("m"))  # one that needs nothing will do where some dependencies are given
takes_an_agent_with_deps(Agent("m", deps_type=Deps, output_type=Report))


async def step_by_step() -> None:
    agent = Agent("m", output_type=Report)
    async with agent.iter("Go.") as steps:
        assert_type(steps, RunSteps[Report])
        async for step in steps:
            assert_type(step, RequestStep | CallsStep | EndStep[Report])
            if isinstance(step, EndStep):
                assert_type(step.result.output, Report)
    assert_type(steps.result.output, Report)
    assert_type(steps.result.requests, list[RequestRecord])
    await agent.run("Go on.", history=steps.result.history_json())


def overridden(agent: Agent[Deps, Report]) -> None:
    @agent.output_validator
    def check(report: Report) -> None: ...

    assert_type(check(Report("a")), None)
    with agent.override(model="test", tools=[plain], deps=Deps("Ann")):
        assert_type(agent.run_sync("Go.").output, Report)
