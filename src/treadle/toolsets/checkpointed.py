"""A toolset with a checkpoint before and after each change, so that it can be reported and undone, also for commands."""

from collections.abc import Callable, Collection, Sequence
from types import TracebackType
from typing import Any

from msgspec.structs import replace

from treadle.checkpoints.checkpoints import Checkpoints
from treadle.core.calls import Call, Preview
from treadle.core.context import RunContext
from treadle.core.errors import BadTool
from treadle.core.messages import ContextItem
from treadle.core.seams import Toolset
from treadle.core.tool import Tool, ToolResult
from treadle.tools.text import to_data
from treadle.toolsets.wrappers import prepare_toolset, preview_call, provide_context, toolset_for_run

MAX_NAMED = 20


class CheckpointedToolset:
    """A toolset that takes a checkpoint before and after calls with an effect; `on_change` gets the files that each changed.

    Tools of `silent` toolsets don't say themselves what they change, so it is added to their results.
    """

    def __init__(
        self, inner: Toolset, checkpoints: Checkpoints, on_change: Callable[[Sequence[str]], object], silent: Collection[str]
    ) -> None:
        self._inner = inner
        self._checkpoints = checkpoints
        self._on_change = on_change
        self._silent = silent

    async def __aenter__(self) -> "CheckpointedToolset":
        await self._inner.__aenter__()
        return self

    async def __aexit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        await self._inner.__aexit__(kind, error, trace)

    def tools(self) -> Sequence[Tool]:
        """Return the tools of the wrapped toolset."""
        return self._inner.tools()

    async def prepare(self, context: RunContext[Any]) -> Sequence[Tool]:
        """Return the tools for the next request."""
        return await prepare_toolset(self._inner, context)

    async def provide_context(self, context: RunContext[Any]) -> Sequence[ContextItem] | None:
        """Return what the toolset has for the model to read."""
        return await provide_context(self._inner, context)

    async def for_run(self, context: RunContext[Any]) -> Toolset:
        """Return the toolset of one run."""
        inner = await toolset_for_run(self._inner, context)
        return self if inner is self._inner else CheckpointedToolset(inner, self._checkpoints, self._on_change, self._silent)

    async def call(self, call: Call, context: RunContext[Any]) -> Any:
        """Take a checkpoint, make the call, and take another one."""
        tool = next((tool for tool in self.tools() if tool.name == call.name), None)
        if tool is None or tool.effect_of(call.arguments) == "read":
            return await self._inner.call(call, context)
        before = await self._checkpoints.take(f"before {call.name}")
        try:
            result = await self._inner.call(call, context)
        finally:
            paths = await self._find_changed(before, f"after {call.name}")
        return _add_files(result, paths) if paths and tool.toolset in self._silent else result

    async def _find_changed(self, before: str, label: str) -> list[str]:
        """Return the files that a call has changed."""
        after = await self._checkpoints.take(label)
        changes = await self._checkpoints.changes(before, after) if after != before else ()
        paths = list(dict.fromkeys(path for change in changes for path in (change.was, change.path) if path))
        if paths:
            self._on_change(paths)
        return paths

    async def reconcile(self, call: Call, context: RunContext[Any]) -> Any:
        """Delegate to the wrapped toolset."""
        reconcile = getattr(self._inner, "reconcile", None)
        if reconcile is None:
            raise BadTool(f"{call.name} has nothing to reconcile with.")
        return await reconcile(call, context)

    async def preview(self, call: Call, context: RunContext[Any]) -> Preview:
        """Delegate to the wrapped toolset."""
        return await preview_call(self._inner, call, context)


def _add_files(result: Any, paths: Sequence[str]) -> ToolResult:
    """Return a result that names the changed files: in its text, and as `files` of its data."""
    more = f" and {len(paths) - MAX_NAMED} more" if len(paths) > MAX_NAMED else ""
    named = f"Modified files: {', '.join(paths[:MAX_NAMED])}{more}"
    known: Any = to_data(result.data) if isinstance(result, ToolResult) else None
    told = ToolResult(f"{result}\n\n{named}", {**(known or {}), "files": list(paths[:MAX_NAMED])})
    return replace(told, untrusted=result.untrusted, about=result.about) if isinstance(result, ToolResult) else told


def _ignore_paths(paths: Sequence[str]) -> None:
    """Ignore the changed files; the default callback."""


def checkpointed(
    toolset: Toolset,
    checkpoints: Checkpoints,
    on_change: Callable[[Sequence[str]], object] = _ignore_paths,
    silent: Collection[str] = ("shell",),
) -> CheckpointedToolset:
    """Return the toolset with a checkpoint before and after each change."""
    return CheckpointedToolset(toolset, checkpoints, on_change, silent)
