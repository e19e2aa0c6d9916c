"""What the suite wants a server to offer, as far as Treadle's server offers such things: tools whose results are text."""

import asyncio
from collections.abc import Callable
from types import TracebackType
from typing import Any

from treadle import Call, FunctionToolset, RunContext, Tool, ToolProblem, Toolset, tool
from treadle.core.requests import ToolSpec

SCHEMA: dict[str, Any] = {
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    "type": "object",
    "$defs": {"address": {"type": "object", "properties": {"street": {"type": "string"}, "city": {"type": "string"}}}},
    "properties": {"name": {"type": "string"}, "address": {"$ref": "#/$defs/address"}},
    "additionalProperties": False,
}


@tool(effect="read")
async def test_simple_text() -> str:
    """Says something."""
    return "This is a simple text response for testing."


@tool(effect="read")
async def test_error_handling() -> str:
    """Fails."""
    raise ToolProblem("This tool intentionally returns an error for testing")


@tool(effect="read")
async def test_tool_with_progress(ctx: RunContext[Any]) -> str:
    """Takes its time, and says how far it is."""
    for share in (0, 50, 100):
        ctx.progress(f"{share} of 100")
        await asyncio.sleep(0.05)
    return "done"


@tool(effect="read")
async def test_reconnection() -> str:
    """Takes a moment."""
    await asyncio.sleep(0.1)
    return "done"


@tool(effect="write")
async def test_elicitation(message: str) -> str:
    """Has an effect, so that the person at the client is asked first."""
    return message


class Described:
    """A toolset whose one tool comes with a schema of its own, as those of other servers do."""

    async def __aenter__(self) -> "Described":
        return self

    async def __aexit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        return None

    def tools(self) -> tuple[Tool, ...]:
        """The one."""
        return (Tool(ToolSpec("json_schema_2020_12_tool", "Tool with JSON Schema 2020-12 features", SCHEMA), effect="read"),)

    async def call(self, call: Call, context: RunContext[Any]) -> str:
        """Nothing comes of it."""
        return "done"


described = Described()


def toolsets() -> list[Toolset]:
    """All of it."""
    functions: list[Callable[..., Any]] = [
        test_simple_text,
        test_error_handling,
        test_tool_with_progress,
        test_reconnection,
        test_elicitation,
    ]
    return [FunctionToolset(functions), described]
