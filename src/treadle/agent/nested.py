"""An agent as a tool of another: one budget, the same user, approvals that surface in the outermost run and resume."""

from collections.abc import Callable
from types import TracebackType
from typing import Any

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from treadle.core.calls import Call
from treadle.core.context import RunContext
from treadle.core.entries import Entry, Informed, Returned
from treadle.core.errors import RunNotFound, SettingsError
from treadle.core.media import Prompt
from treadle.core.requests import ToolSpec
from treadle.core.tool import Tool
from treadle.engine.engine import Engine
from treadle.engine.live import LiveRun
from treadle.engine.outcome import NestedResult, Suspended
from treadle.engine.result import RunResult
from treadle.engine.setup import Caller, Setup
from treadle.tools.readers import make_reader
from treadle.tools.schema import type_schema
from treadle.tools.text import to_text


class AgentInput(Struct, frozen=True):
    """What an agent that is a tool gets: the schema of its arguments, and the prompt that is made of them."""

    schema: dict[str, Any]
    to_prompt: Callable[[dict[str, Any]], Prompt]


PROMPT_INPUT = AgentInput(
    {
        "type": "object",
        "properties": {"prompt": {"type": "string", "description": "what it should do, with all it needs to know"}},
        "required": ["prompt"],
        "additionalProperties": False,
    },
    lambda arguments: arguments["prompt"],
)


def make_input(input_type: Any, template: Callable[[Any], Prompt] | None, tool_name: str) -> AgentInput:
    """Return the input of a type with fields: a struct, a dataclass, a pydantic model or a typed dict.

    The prompt is what `template` makes of the value; without one, the arguments as JSON.
    """
    if input_type is None:
        if template is not None:
            raise SettingsError("as_tool takes a template of an input_type: write both, or neither.")
        return PROMPT_INPUT
    schema = type_schema(input_type)
    if schema.get("type") != "object" or "properties" not in schema:
        raise SettingsError(f"{input_type!r} has no fields that could be the arguments of {tool_name}; use a class with fields.")
    if template is None:
        return AgentInput(schema, lambda arguments: msgspec.json.encode(arguments).decode())
    read = make_reader(input_type, tool_name)
    return AgentInput(schema, lambda arguments: template(read(arguments)))


class NestedAgent:
    """A toolset of one tool that runs an agent. Its run is named after the call, so a rerun resumes it.

    `resolve` returns the agent's setup and who its run acts for, given who the outer run acts for.
    """

    def __init__(
        self,
        resolve: Callable[[Caller], tuple[Setup, Caller]],
        name: str,
        description: str,
        takes: AgentInput = PROMPT_INPUT,
        *,
        background: bool = False,
    ) -> None:
        self._resolve = resolve
        self._input = takes
        spec = ToolSpec(name, description, takes.schema)
        # What it does to the world is decided call by call by its own policy; asking it is no effect in itself.
        self._tools = (Tool(spec, effect="read", retry="idempotent", toolset="agents", background=background),)

    async def __aenter__(self) -> "NestedAgent":
        return self

    async def __aexit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        return None

    def tools(self) -> tuple[Tool, ...]:
        """Return the one tool."""
        return self._tools

    async def call(self, call: Call, context: RunContext[Any]) -> NestedResult:
        """Run the agent, or resume its run."""
        parent = context._run  # pyright: ignore[reportPrivateUsage]  # kept there for just this
        assert isinstance(parent, LiveRun)  # only the engine calls toolsets
        result = await self._run_or_resume(parent, call)
        if result.stopped == "waiting":
            raise Suspended(result.approvals)
        untrusted = any(map(_is_untrusted, result.entries))
        if result.stopped == "failed":
            return NestedResult(f"{call.name} failed: {result.reason}", result.usage, failed=True, untrusted=untrusted)
        output: Any = result.output_or_none if result.stopped == "answered" else result.answer_at_limit
        data = None if isinstance(output, str) else output
        words = result.text or result.message if data is None else to_text(data)
        return NestedResult(words, result.usage, untrusted=untrusted, data=data)

    async def _run_or_resume(self, parent: LiveRun, call: Call) -> RunResult[Any]:
        own, caller = self._resolve(parent.caller)
        setup = replace(
            own,
            approver=own.approver or parent.setup.approver,
            attended=own.attended and parent.setup.attended,
            raise_tool_errors=own.raise_tool_errors or parent.setup.raise_tool_errors,
        )
        engine = Engine(setup, parent.services)
        run_id = f"{parent.id}.{call.id}"
        try:
            return await engine.resume(run_id, caller=caller, parent=parent, within=call.id)
        except RunNotFound:
            prompt = self._input.to_prompt(call.arguments)
            return await engine.start(prompt, run_id=run_id, caller=caller, parent=parent, within=call.id)


def _is_untrusted(entry: Entry) -> bool:
    """Return whether a run read untrusted content with this entry."""
    if isinstance(entry, Informed):
        return any(item.untrusted for item in entry.items)
    return isinstance(entry, Returned) and entry.result.untrusted
