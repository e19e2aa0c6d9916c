"""Tools with a checkpoint before each change, so that it can be taken back; and what a command changed, in its result."""

from collections.abc import Collection, Sequence
from types import TracebackType
from typing import Any

from treadle.core.calls import Call
from treadle.core.context import RunContext
from treadle.core.errors import BadTool
from treadle.core.seams import Toolset
from treadle.core.tool import Tool
from treadle.toolsets.checkpoints.checkpoints import Checkpoints

MOST_NAMED = 20


class Checkpointed:
    """A toolset whose calls with an effect are preceded by a checkpoint. Those of `silent` toolsets don't say what they change."""

    def __init__(self, inner: Toolset, checkpoints: Checkpoints, silent: Collection[str]) -> None:
        self._inner = inner
        self._checkpoints = checkpoints
        self._silent = silent

    async def __aenter__(self) -> "Checkpointed":
        await self._inner.__aenter__()
        return self

    async def __aexit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        await self._inner.__aexit__(kind, error, trace)

    def tools(self) -> Sequence[Tool]:
        """Those of the toolset inside."""
        return self._inner.tools()

    async def call(self, call: Call, context: RunContext[Any]) -> Any:
        """A checkpoint, then the call."""
        tool = next((tool for tool in self.tools() if tool.name == call.name), None)
        if tool is None or tool.effect == "read":
            return await self._inner.call(call, context)
        before = await self._checkpoints.take(f"before {call.name}")
        result = await self._inner.call(call, context)
        return f"{result}{await self._changed(before)}" if tool.toolset in self._silent else result

    async def _changed(self, before: str) -> str:
        """Which files a call has changed, for its result."""
        paths = [change.path for change in await self._checkpoints.changes(before)]
        more = f" and {len(paths) - MOST_NAMED} more" if len(paths) > MOST_NAMED else ""
        return f"\n\nModified files: {', '.join(paths[:MOST_NAMED])}{more}" if paths else ""

    async def reconcile(self, call: Call, context: RunContext[Any]) -> Any:
        """Ask inside."""
        reconcile = getattr(self._inner, "reconcile", None)
        if reconcile is None:
            raise BadTool(f"{call.name} has nothing to reconcile with.")
        return await reconcile(call, context)


def checkpointed(toolset: Toolset, checkpoints: Checkpoints, silent: Collection[str] = ("shell",)) -> Checkpointed:
    """The toolset with a checkpoint before each change."""
    return Checkpointed(toolset, checkpoints, silent)
