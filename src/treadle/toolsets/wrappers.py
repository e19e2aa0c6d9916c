"""Toolsets made of toolsets: combined, filtered, renamed, with other settings, or created lazily.

Add behaviour by wrapping.
"""

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, AsyncExitStack
from fnmatch import fnmatchcase
from types import TracebackType
from typing import Any

from msgspec.structs import replace

from treadle.core.calls import Call, Preview
from treadle.core.context import RunContext
from treadle.core.errors import BadTool
from treadle.core.seams import Toolset
from treadle.core.tool import Tool


class CombinedToolset:
    """Several toolsets as one. Two tools with the same name are refused."""

    def __init__(self, *toolsets: Toolset) -> None:
        self._toolsets = toolsets
        self._stacks: list[AsyncExitStack] = []
        self._seen: tuple[Sequence[Tool], ...] = ()
        self._tools: tuple[Tool, ...] = ()
        self._owners: dict[str, Toolset] = {}

    async def __aenter__(self) -> "CombinedToolset":
        stack = AsyncExitStack()
        for toolset in self._toolsets:
            await stack.enter_async_context(toolset)
        self._stacks.append(stack)
        return self

    async def __aexit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        await self._stacks.pop().aclose()

    def tools(self) -> tuple[Tool, ...]:
        """Return all tools; the same value as long as none of the toolsets changes what it lists."""
        lists = tuple([toolset.tools() for toolset in self._toolsets])
        if len(lists) != len(self._seen) or any(new is not old for new, old in zip(lists, self._seen, strict=True)):
            self._owners = {}
            for toolset, tools in zip(self._toolsets, lists, strict=True):
                self._claim(toolset, tools)
            self._seen = lists
            self._tools = tuple([tool for tools in lists for tool in tools])
        return self._tools

    def _claim(self, toolset: Toolset, tools: Sequence[Tool]) -> None:
        for tool in tools:
            if tool.name in self._owners:
                raise BadTool(f"There are two tools called {tool.name}; put `prefixed` around one of the toolsets.")
            self._owners[tool.name] = toolset

    async def call(self, call: Call, context: RunContext[Any]) -> Any:
        """Call the tool in its own toolset."""
        return await self._owners[call.name].call(call, context)

    async def reconcile(self, call: Call, context: RunContext[Any]) -> Any:
        """Delegate to the tool's own toolset."""
        return await _reconcile(self._owners[call.name], call, context)

    async def preview(self, call: Call, context: RunContext[Any]) -> Preview:
        """Delegate to the tool's own toolset."""
        return await preview_call(self._owners[call.name], call, context)


class WrapperToolset:
    """One toolset whose tools are mapped by `change`: another value for a tool, or None to leave it out."""

    def __init__(self, inner: Toolset, change: Callable[[Tool], Tool | None]) -> None:
        self._inner = inner
        self._change = change
        self._seen: Sequence[Tool] | None = None
        self._tools: tuple[Tool, ...] = ()
        self._names: dict[str, str] = {}

    async def __aenter__(self) -> "WrapperToolset":
        await self._inner.__aenter__()
        return self

    async def __aexit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        await self._inner.__aexit__(kind, error, trace)

    def tools(self) -> tuple[Tool, ...]:
        """Return the mapped tools."""
        inner = self._inner.tools()
        if inner is not self._seen:
            changed = [(tool.name, self._change(tool)) for tool in inner]
            self._tools = tuple([tool for _, tool in changed if tool is not None])
            self._names = {tool.name: name for name, tool in changed if tool is not None}
            self._seen = inner
        return self._tools

    async def call(self, call: Call, context: RunContext[Any]) -> Any:
        """Call the tool by its inner name."""
        return await self._inner.call(Call(call.id, self._names[call.name], call.arguments), context)

    async def reconcile(self, call: Call, context: RunContext[Any]) -> Any:
        """Delegate by the tool's inner name."""
        return await _reconcile(self._inner, Call(call.id, self._names[call.name], call.arguments), context)

    async def preview(self, call: Call, context: RunContext[Any]) -> Preview:
        """Delegate by the tool's inner name."""
        return await preview_call(self._inner, Call(call.id, self._names[call.name], call.arguments), context)


class LazyToolset:
    """A toolset that is created when it is entered, and closed on exit: for tools that need a resource to be opened first.

    `open` returns it as a context manager: a function decorated with `@asynccontextmanager`.
    """

    def __init__(self, open: Callable[[], AbstractAsyncContextManager[Toolset]]) -> None:  # noqa: A002 - it is what it does
        self._open = open
        self._entered: list[tuple[AbstractAsyncContextManager[Toolset], Toolset]] = []

    async def __aenter__(self) -> "LazyToolset":
        context = self._open()
        self._entered.append((context, await context.__aenter__()))
        return self

    async def __aexit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        context, _ = self._entered.pop()
        await context.__aexit__(kind, error, trace)

    def tools(self) -> Sequence[Tool]:
        """Return the tools, once entered."""
        return self._entered[-1][1].tools() if self._entered else ()

    async def call(self, call: Call, context: RunContext[Any]) -> Any:
        """Execute a call."""
        return await self._entered[-1][1].call(call, context)

    async def reconcile(self, call: Call, context: RunContext[Any]) -> Any:
        """Return whether an interrupted call happened."""
        return await _reconcile(self._entered[-1][1], call, context)

    async def preview(self, call: Call, context: RunContext[Any]) -> Preview:
        """Return what a call would do."""
        return await preview_call(self._entered[-1][1], call, context)


async def _reconcile(toolset: Toolset, call: Call, context: RunContext[Any]) -> Any:
    reconcile = getattr(toolset, "reconcile", None)
    if reconcile is None:
        raise BadTool(f"{call.name} has nothing to reconcile with.")
    return await reconcile(call, context)


async def preview_call(toolset: Toolset, call: Call, context: RunContext[Any]) -> Preview:
    """Return what a call would do, where the toolset supports previews."""
    ask = getattr(toolset, "preview", None)
    return Preview("") if ask is None else await ask(call, context)


def only(toolset: Toolset, *patterns: str) -> WrapperToolset:
    """Return only the tools whose names match one of the patterns."""
    return WrapperToolset(toolset, lambda tool: tool if any(fnmatchcase(tool.name, pattern) for pattern in patterns) else None)


def renamed(toolset: Toolset, names: Mapping[str, str]) -> WrapperToolset:
    """Rename some tools: `{"old": "new"}`."""
    return WrapperToolset(toolset, lambda tool: _with_name(tool, names.get(tool.name, tool.name)))


def prefixed(toolset: Toolset, prefix: str) -> WrapperToolset:
    """Prefix all names: `prefixed(files, "docs")` makes `read` into `docs_read`."""
    return WrapperToolset(toolset, lambda tool: _with_name(tool, f"{prefix}_{tool.name}"))


def with_cache(toolset: Toolset, seconds: float) -> WrapperToolset:
    """Allow results of read-only tools to be reused for a while."""
    return WrapperToolset(
        toolset, lambda tool: replace(tool, cache=seconds) if "read" in (tool.effect, *tool.effects.values()) else tool
    )


def untrusted(toolset: Toolset) -> WrapperToolset:
    """Mark the results of these tools as untrusted."""
    return WrapperToolset(toolset, lambda tool: replace(tool, trust="untrusted"))


def _with_name(tool: Tool, name: str) -> Tool:
    return replace(tool, spec=replace(tool.spec, name=name))
