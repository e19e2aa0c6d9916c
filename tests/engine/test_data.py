"""The data of results: a tool returns a value, the model reads text, code gets the value, and both are in the journal."""

import asyncio
from dataclasses import dataclass

import pytest
from msgspec import Struct

from treadle import Agent, ResultOptions, RunContext, ToolProblem, ToolResult, allow, tool
from treadle.core.entries import Returned
from treadle.core.events import CallReturned
from treadle.engine.setup import Services
from treadle.guard.trust import wrap_untrusted
from treadle.models.scripted import calls
from treadle.stores.memory import MemoryCache, MemoryJournal, MemoryResults
from treadle.testing import Scripted

SECRET = "sk-proj-abcdefghijklmnopqrstuvwxyz"


class Point(Struct):
    x: int
    y: int = 0


@dataclass
class Town:
    name: str


class Dumped:
    """As a pydantic model is."""

    def model_dump(self, mode: str) -> dict[str, int]:
        return {"a": 1}


class Run:
    """One turn with a tool, and everything that can be seen of its result."""

    def __init__(self, function, *, turns=1, services=None, **agent):
        self.services = services or Services(journal=MemoryJournal(), results=MemoryResults())
        self.events, self.requests = [], []
        self.model = Scripted(*[step for _ in range(turns) for step in (calls((function.tool.name, {})), "done")])
        made = Agent(self.model, tools=[function], policy=[allow("*")], **agent)
        for _ in range(turns):
            how = {"journal": self.services, "watchers": [self.events.append]}
            self.result = asyncio.run(made.run("Go.", **how))
        self.returned = self.result.calls[-1].result
        self.told = next(event.result for event in reversed(self.events) if isinstance(event, CallReturned))

    @property
    def journaled(self):
        entries = asyncio.run(self.services.journal.read(self.result.run_id))
        return next(entry.result for entry in reversed(entries) if isinstance(entry, Returned))

    @property
    def read(self):
        """What the model read."""
        return self.model.requests[-1].history[-1].parts[-1].content


def returning(value, **terms):
    @tool(effect="read", **terms)
    async def look() -> object:
        """Look."""
        if isinstance(value, Exception):
            raise value
        return value

    return look


@pytest.mark.parametrize(
    ("value", "content", "data"),
    [
        ("words", "words", None),
        ('{"a": 1}', '{"a": 1}', None),
        (None, "(no result)", None),
        (5, "5", 5),
        (True, "true", True),
        ({"a": [1, None]}, '{"a":[1,null]}', {"a": [1, None]}),
        ([], "[]", []),
        (Point(1), '{"x":1,"y":0}', {"x": 1, "y": 0}),
        (Town("Ur"), '{"name":"Ur"}', {"name": "Ur"}),
        (Dumped(), '{"a":1}', {"a": 1}),
        (float("nan"), "NaN", None),
        (ToolResult("3 towns", [Town("Ur")]), "3 towns", [{"name": "Ur"}]),
        (ToolResult("none"), "none", None),
        (ToolResult("a name", "Ur"), "a name", "Ur"),
    ],
)
def test_a_tool_returns_a_value_the_model_reads_text_and_code_gets_the_value(value, content, data):
    run = Run(returning(value))
    for result in (run.returned, run.told, run.journaled):
        assert (result.content, result.data) == (content, data)
    assert run.read == content


def test_data_is_redacted_as_the_text_is():
    shown = Run(returning(ToolResult(f"The key is {SECRET}.", {"key": SECRET, "password": "hunter2hunter2"})))
    for result in (shown.returned, shown.told, shown.journaled):
        assert SECRET not in f"{result.content}{result.data}"
        assert "hunter2hunter2" not in str(result.data)


def test_an_agent_that_shows_secrets_keeps_them_out_of_journals_and_events():
    shown = Run(returning(ToolResult(SECRET, {"key": SECRET})), results=ResultOptions(show_secrets=True))
    assert shown.read == SECRET
    for result in (shown.told, shown.journaled):
        assert SECRET not in f"{result.content}{result.data}"


def test_untrusted_content_has_marks_in_the_request_and_nowhere_else():
    run = Run(returning({"a": "Buy!"}, trust="untrusted"))
    for result in (run.returned, run.told, run.journaled):
        assert (result.content, result.data, result.untrusted) == ('{"a":"Buy!"}', {"a": "Buy!"}, True)
    assert run.read == wrap_untrusted('{"a":"Buy!"}', "look")


def test_what_a_problem_quotes_has_marks_in_the_request_and_nowhere_else():
    run = Run(returning(ToolProblem("The server says: ", f"Obey! {SECRET}"), trust="untrusted"))
    assert run.journaled.content == run.told.content
    assert run.told.content.startswith("The server says: Obey! ")
    assert run.read.startswith("The server says: <untrusted-")
    assert SECRET not in run.read


def test_a_quote_that_a_secret_runs_into_is_marked_with_all_before_it():
    run = Run(returning(ToolProblem("Its key is sk-proj-abcdefghijkl", "mnopqrstuvwxyz. Obey!")))
    assert "mnopqrstuvwxyz" not in run.told.content
    assert run.read.startswith("<untrusted-")


def test_data_that_is_too_large_for_the_conversation_is_not_kept_with_it():
    run = Run(returning(["x" * 300]), results=ResultOptions(limit=200))
    assert run.returned.data is None
    assert "left out" in run.returned.content
    large = Run(returning(ToolResult("short", ["x" * 300])), results=ResultOptions(limit=200))
    assert (large.returned.content, large.returned.data) == ("short", None)


def test_a_cached_result_has_its_data_too():
    services = Services(journal=MemoryJournal(), cache=MemoryCache())
    for value in ([{"a": 1}], ToolResult("one", {"a": 1})):
        run = Run(returning(value, cache=60, name=f"look_{type(value).__name__}"), turns=2, services=services)
        assert run.result.calls[-1].cached
        assert run.returned.data == (value.data if isinstance(value, ToolResult) else value)


def test_a_tool_that_calls_another_gets_its_data():
    @tool(effect="read")
    async def towns() -> ToolResult:
        """Towns."""
        return ToolResult("1 town", [{"name": "x" * 300}])

    got = []

    @tool(effect="read")
    async def count(ctx: RunContext) -> int:
        """Count."""
        got.append(await ctx.call("towns"))
        return len(got[0])

    model = Scripted(calls(("count", {})), "done")
    result = asyncio.run(Agent(model, tools=[towns, count], results=ResultOptions(limit=200)).run("Go."))
    assert got == [[{"name": "x" * 300}]], "whole, whatever the limit"
    assert result.calls[0].result.data == 1


def test_a_problem_keeps_its_quote_on_its_way_through_another_tool():
    @tool(effect="read")
    async def page() -> str:
        """Page."""
        raise ToolProblem("It says: ", "Obey!")

    @tool(effect="read")
    async def outer(ctx: RunContext) -> str:
        """Outer."""
        return await ctx.call("page")

    model = Scripted(calls(("outer", {})), "done")
    asyncio.run(Agent(model, tools=[page, outer]).run("Go."))
    assert model.requests[-1].history[-1].parts[0].content == f"It says: {wrap_untrusted('Obey!', 'outer')}"


def test_the_output_of_a_nested_agent_is_the_data_of_its_call():
    inner = Agent(Scripted(calls(("give_answer", {"x": 3, "y": 4}))), output_type=Point, name="finder")
    model = Scripted(calls(("ask_finder", {"prompt": "Where?"})), "done")
    result = asyncio.run(Agent(model, tools=[inner.as_tool("ask_finder", "Find.")]).run("Go."))
    assert result.calls[0].result.data == {"x": 3, "y": 4}


def test_a_resumed_request_has_the_same_bytes():
    """The marks depend on the content alone, so a server's cache of a prompt still fits after a restart."""
    run = Run(returning("Buy!", trust="untrusted"))
    model = Scripted("again")
    agent = Agent(model, tools=[returning("Buy!", trust="untrusted")])
    asyncio.run(agent.run("And?", run_id=run.result.run_id, journal=run.services))
    assert list(model.requests[0].history)[: len(run.model.requests[-1].history)] == list(run.model.requests[-1].history)
