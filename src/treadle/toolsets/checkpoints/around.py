"""Tools with a checkpoint before and after each change, so that it can be told and taken back; and what a command changed."""

from collections.abc import Callable, Collection, Sequence
from types import TracebackType
from typing import Any

from treadle.core.calls import Call, Preview
from treadle.core.context import RunContext
from treadle.core.errors import BadTool
from treadle.core.seams import Toolset
from treadle.core.tool import Tool, ToolResult
from treadle.tools.text import to_data
from treadle.toolsets.checkpoints.checkpoints import Checkpoints
from treadle.toolsets.wrap import preview

MOST_NAMED = 20


class Checkpointed:
    """A toolset whose calls with an effect have a checkpoint before and after them; `told` hears which files each has changed.

    Those of `silent` toolsets don't say themselves what they change, so it is added to their results.
    """

    def __init__(
        self, inner: Toolset, checkpoints: Checkpoints, told: Callable[[Sequence[str]], object], silent: Collection[str]
    ) -> None:
        self._inner = inner
        self._checkpoints = checkpoints
        self._told = told
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
        """A checkpoint, the call, and another one."""
        tool = next((tool for tool in self.tools() if tool.name == call.name), None)
        if tool is None or tool.effect_of(call.arguments) == "read":
            return await self._inner.call(call, context)
        before = await self._checkpoints.take(f"before {call.name}")
        try:
            result = await self._inner.call(call, context)
        finally:
            paths = await self._changed(before, f"after {call.name}")
        return _with_files(result, paths) if paths and tool.toolset in self._silent else result

    async def _changed(self, before: str, label: str) -> list[str]:
        """Which files a call has changed."""
        after = await self._checkpoints.take(label)
        changes = await self._checkpoints.changes(before, after) if after != before else ()
        paths = list(dict.fromkeys(path for change in changes for path in (change.was, change.path) if path))
        if paths:
            self._told(paths)
        return paths

    async def reconcile(self, call: Call, context: RunContext[Any]) -> Any:
        """Ask inside."""
        reconcile = getattr(self._inner, "reconcile", None)
        if reconcile is None:
            raise BadTool(f"{call.name} has nothing to reconcile with.")
        return await reconcile(call, context)

    async def preview(self, call: Call, context: RunContext[Any]) -> Preview:
        """Ask inside."""
        return await preview(self._inner, call, context)


def _with_files(result: Any, paths: Sequence[str]) -> ToolResult:
    """A result that says which files were changed: in its text, and as `files` of its data."""
    more = f" and {len(paths) - MOST_NAMED} more" if len(paths) > MOST_NAMED else ""
    named = f"Modified files: {', '.join(paths[:MOST_NAMED])}{more}"
    known: Any = to_data(result.data) if isinstance(result, ToolResult) else None
    return ToolResult(f"{result}\n\n{named}", {**(known or {}), "files": list(paths[:MOST_NAMED])})


def _nobody(paths: Sequence[str]) -> None:
    """For those who don't want to know."""


def checkpointed(
    toolset: Toolset,
    checkpoints: Checkpoints,
    told: Callable[[Sequence[str]], object] = _nobody,
    silent: Collection[str] = ("shell",),
) -> Checkpointed:
    """The toolset with a checkpoint before and after each change."""
    return Checkpointed(toolset, checkpoints, told, silent)
