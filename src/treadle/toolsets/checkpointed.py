"""A toolset with a checkpoint before and after each change, so that it can be reported and undone, also for commands."""

from collections.abc import Callable, Collection, Sequence
from inspect import isawaitable
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from treadle.checkpoints.checkpoints import Checkpoints
from treadle.core.calls import Call
from treadle.core.context import RunContext
from treadle.core.seams import Toolset
from treadle.core.tool import ToolResult
from treadle.tools.text import to_data
from treadle.toolsets.wrappers import WrapperToolset

MAX_NAMED = 20


class ToolChange(Struct, frozen=True):
    """What one call changed: its files, and the checkpoints before and after it.

    Before the call runs there is one without `after`, so that a change survives a process that ends in the middle of it.
    `previewed` says that a person approved the call with what it would change.
    """

    call_id: str
    tool: str
    before: str
    after: str = ""
    paths: tuple[str, ...] = ()
    previewed: bool = False


OnChange = Callable[[ToolChange], object]  # may return an awaitable


class CheckpointedToolset(WrapperToolset):
    """A toolset that takes a checkpoint before and after calls with an effect; `on_change` is called before and after each.

    Tools of `silent` toolsets don't say themselves what they change, so it is added to their results.
    """

    def __init__(self, inner: Toolset, checkpoints: Checkpoints, on_change: OnChange, silent: Collection[str]) -> None:
        super().__init__(inner)
        self._checkpoints = checkpoints
        self._on_change = on_change
        self._silent = silent

    async def call(self, call: Call, context: RunContext[Any]) -> Any:
        """Take a checkpoint, make the call, and take another one."""
        tool = next((tool for tool in self.tools() if tool.name == call.name), None)
        if tool is None or tool.effect_of(call.arguments) == "read":
            return await self._inner.call(call, context)
        change = ToolChange(call.id, call.name, await self._checkpoints.take(f"before {call.name}"), previewed=bool(context.seal))
        await self._report(change)
        try:
            result = await self._inner.call(call, context)
        finally:
            change = await self._complete(change)
            await self._report(change)
        return _add_files(result, change.paths) if change.paths and tool.toolset in self._silent else result

    async def _complete(self, change: ToolChange) -> ToolChange:
        """Return a change with the checkpoint after it, and the files that are different there."""
        after = await self._checkpoints.take(f"after {change.tool}")
        changes = await self._checkpoints.changes(change.before, after) if after != change.before else ()
        paths = dict.fromkeys(path for each in changes for path in (each.was, each.path) if path)
        return replace(change, after=after, paths=tuple(paths))

    async def _report(self, change: ToolChange) -> None:
        reported = self._on_change(change)
        if isawaitable(reported):
            await reported


def _add_files(result: Any, paths: Sequence[str]) -> ToolResult:
    """Return a result that names the changed files: in its text, and as `files` of its data."""
    more = f" and {len(paths) - MAX_NAMED} more" if len(paths) > MAX_NAMED else ""
    named = f"Modified files: {', '.join(paths[:MAX_NAMED])}{more}"
    known: Any = to_data(result.data) if isinstance(result, ToolResult) else None
    told = ToolResult(f"{result}\n\n{named}", {**(known or {}), "files": list(paths[:MAX_NAMED])})
    return replace(told, untrusted=result.untrusted, about=result.about) if isinstance(result, ToolResult) else told


def _ignore_change(change: ToolChange) -> None:
    """Ignore a change; the default callback."""


def checkpointed(
    toolset: Toolset,
    checkpoints: Checkpoints,
    on_change: OnChange = _ignore_change,
    silent: Collection[str] = ("shell",),
) -> CheckpointedToolset:
    """Return the toolset with a checkpoint before and after each change."""
    return CheckpointedToolset(toolset, checkpoints, on_change, silent)
