"""An agent as a tool of another: one budget, the same user, approvals that surface in the outermost run and resume."""

from types import TracebackType
from typing import Any

from msgspec.structs import replace

from treadle.core.calls import Call
from treadle.core.context import RunContext
from treadle.core.entries import Returned
from treadle.core.errors import RunNotFound
from treadle.core.requests import ToolSpec
from treadle.core.tool import Tool
from treadle.engine.engine import Engine
from treadle.engine.live import LiveRun
from treadle.engine.nested import NestedResult, Suspended
from treadle.engine.result import RunResult
from treadle.engine.setup import Setup


class NestedAgent:
    """A toolset of one tool that runs this agent. Its run is named after the call, so a rerun resumes it."""

    def __init__(self, setup: Setup, name: str, description: str) -> None:
        self._setup = setup
        schema = {
            "type": "object",
            "properties": {"prompt": {"type": "string", "description": "what it should do, with all it needs to know"}},
            "required": ["prompt"],
            "additionalProperties": False,
        }
        # What it does to the world is decided call by call by its own policy; asking it is no effect in itself.
        self._tools = (Tool(ToolSpec(name, description, schema), effect="read", retry="idempotent", toolset="agents"),)

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
        untrusted = any(isinstance(entry, Returned) and entry.result.untrusted for entry in result.entries)
        if result.stopped == "failed":
            return NestedResult(f"{call.name} failed: {result.reason}", result.usage, failed=True, untrusted=untrusted)
        data = None if isinstance(result.output, str) else result.output
        return NestedResult(result.text or str(result.output), result.usage, untrusted=untrusted, data=data)

    async def _run_or_resume(self, parent: LiveRun, call: Call) -> RunResult[Any]:
        setup = replace(
            self._setup,
            approver=self._setup.approver or parent.setup.approver,
            attended=self._setup.attended and parent.setup.attended,
        )
        engine = Engine(setup, parent.services)
        run_id = f"{parent.id}.{call.id}"
        try:
            return await engine.resume(run_id, caller=parent.caller, parent=parent)
        except RunNotFound:
            return await engine.start(call.arguments["prompt"], run_id=run_id, caller=parent.caller, parent=parent)
