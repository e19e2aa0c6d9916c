"""Toolsets made of toolsets: combined, filtered, renamed, with other settings, or created lazily.

Add behaviour by wrapping.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, AsyncExitStack
from copy import copy
from fnmatch import fnmatchcase
from types import TracebackType
from typing import Any, Self

from msgspec.structs import replace

from treadle.core.calls import REPEATABLE, Call, Preview
from treadle.core.context import RunContext
from treadle.core.errors import BadTool
from treadle.core.messages import ContextItem
from treadle.core.seams import Toolset
from treadle.core.tool import RetryPolicy, Tool
from treadle.tools.name_matching import hint_for


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

    async def prepare(self, context: RunContext[Any]) -> tuple[Tool, ...]:
        """Return the tools for the next request; the same value as `tools` where none is prepared."""
        everything = self.tools()
        lists = [await prepare_toolset(toolset, context) for toolset in self._toolsets]
        if all(made is listed for made, listed in zip(lists, self._seen, strict=True)):
            return everything
        return tuple([tool for tools in lists for tool in tools])

    async def provide_context(self, context: RunContext[Any]) -> Sequence[ContextItem] | None:
        """Return what all toolsets have for the model to read; None where none of them has a source of it."""
        found = [await provide_context(toolset, context) for toolset in self._toolsets]
        given = [items for items in found if items is not None]
        return [item for items in given for item in items] if given else None

    async def for_run(self, context: RunContext[Any]) -> Toolset:
        """Return the toolset of one run."""
        toolsets = [await toolset_for_run(toolset, context) for toolset in self._toolsets]
        same = all(new is old for new, old in zip(toolsets, self._toolsets, strict=True))
        return self if same else CombinedToolset(*toolsets)

    def _claim(self, toolset: Toolset, tools: Sequence[Tool]) -> None:
        for tool in tools:
            if tool.name in self._owners:
                raise BadTool(f"There are two tools called {tool.name}; put `prefixed` around one of the toolsets.")
            self._owners[tool.name] = toolset

    async def call(self, call: Call, context: RunContext[Any]) -> Any:
        """Call the tool in its own toolset."""
        return await self._owners[call.name].call(call, context)

    def return_schema(self, name: str) -> dict[str, Any] | None:
        """Return what the tool's own toolset knows of its results."""
        return return_schema(self._owners[name], name)

    async def reconcile(self, call: Call, context: RunContext[Any]) -> Any:
        """Delegate to the tool's own toolset."""
        return await reconcile_interrupted(self._owners[call.name], call, context)

    async def preview(self, call: Call, context: RunContext[Any]) -> Preview:
        """Delegate to the tool's own toolset."""
        return await preview_call(self._owners[call.name], call, context)


class WrapperToolset:
    """A toolset around another one. It passes everything on: subclasses override what they do differently."""

    def __init__(self, inner: Toolset) -> None:
        if not hasattr(inner, "tools"):
            raise BadTool(f"Put functions into a toolset before you wrap it: FunctionToolset([…]), not {inner!r}.")
        self._inner = inner

    async def __aenter__(self) -> Self:
        await self._inner.__aenter__()
        return self

    async def __aexit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        await self._inner.__aexit__(kind, error, trace)

    def tools(self) -> Sequence[Tool]:
        """Return the tools."""
        return self._inner.tools()

    async def prepare(self, context: RunContext[Any]) -> Sequence[Tool]:
        """Return the tools for the next request."""
        return await prepare_toolset(self._inner, context)

    async def provide_context(self, context: RunContext[Any]) -> Sequence[ContextItem] | None:
        """Return what the toolset has for the model to read."""
        return await provide_context(self._inner, context)

    async def for_run(self, context: RunContext[Any]) -> Toolset:
        """Return the toolset of one run: a copy around another toolset, if the wrapped one has one for each run."""
        inner = await toolset_for_run(self._inner, context)
        if inner is self._inner:
            return self
        made = copy(self)
        made._inner = inner
        return made

    async def call(self, call: Call, context: RunContext[Any]) -> Any:
        """Execute a call."""
        return await self._inner.call(call, context)

    def return_schema(self, name: str) -> dict[str, Any] | None:
        """Return what the toolset knows of a tool's results."""
        return return_schema(self._inner, name)

    async def reconcile(self, call: Call, context: RunContext[Any]) -> Any:
        """Return whether an interrupted call happened."""
        return await reconcile_interrupted(self._inner, call, context)

    async def preview(self, call: Call, context: RunContext[Any]) -> Preview:
        """Return what a call would do."""
        return await preview_call(self._inner, call, context)


class MappedToolset(WrapperToolset):
    """A toolset whose tools are mapped by `change`: another value for a tool, or None to leave it out."""

    def __init__(self, inner: Toolset, change: Callable[[Tool], Tool | None]) -> None:
        super().__init__(inner)
        self._change = change
        self._seen: Sequence[Tool] | None = None
        self._tools: tuple[Tool, ...] = ()
        self._names: dict[str, str] = {}

    def tools(self) -> tuple[Tool, ...]:
        """Return the mapped tools."""
        inner = super().tools()
        if inner is not self._seen:
            changed = [(tool.name, self._change(tool)) for tool in inner]
            self._tools = tuple([tool for _, tool in changed if tool is not None])
            self._names = {tool.name: name for name, tool in changed if tool is not None}
            self._seen = inner
        return self._tools

    async def prepare(self, context: RunContext[Any]) -> Sequence[Tool]:
        """Return the mapped tools for the next request."""
        everything = self.tools()
        made = await super().prepare(context)
        if made is self._seen:
            return everything
        return tuple([changed for tool in made if (changed := self._change(tool)) is not None])

    async def call(self, call: Call, context: RunContext[Any]) -> Any:
        """Execute a call by the tool's inner name."""
        return await super().call(self._to_inner(call), context)

    def return_schema(self, name: str) -> dict[str, Any] | None:
        """Return what the toolset knows of a tool's results."""
        return super().return_schema(self._names[name])

    async def reconcile(self, call: Call, context: RunContext[Any]) -> Any:
        """Return whether an interrupted call happened, by the tool's inner name."""
        return await super().reconcile(self._to_inner(call), context)

    async def preview(self, call: Call, context: RunContext[Any]) -> Preview:
        """Return what a call would do, by the tool's inner name."""
        return await super().preview(self._to_inner(call), context)

    def _to_inner(self, call: Call) -> Call:
        return Call(call.id, self._names[call.name], call.arguments)


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

    async def prepare(self, context: RunContext[Any]) -> Sequence[Tool]:
        """Return the tools for the next request."""
        return await prepare_toolset(self._entered[-1][1], context)

    async def provide_context(self, context: RunContext[Any]) -> Sequence[ContextItem] | None:
        """Return what the toolset has for the model to read."""
        return await provide_context(self._entered[-1][1], context)

    async def call(self, call: Call, context: RunContext[Any]) -> Any:
        """Execute a call."""
        return await self._entered[-1][1].call(call, context)

    def return_schema(self, name: str) -> dict[str, Any] | None:
        """Return what the toolset knows of a tool's results."""
        return return_schema(self._entered[-1][1], name)

    async def reconcile(self, call: Call, context: RunContext[Any]) -> Any:
        """Return whether an interrupted call happened."""
        return await reconcile_interrupted(self._entered[-1][1], call, context)

    async def preview(self, call: Call, context: RunContext[Any]) -> Preview:
        """Return what a call would do."""
        return await preview_call(self._entered[-1][1], call, context)


async def prepare_toolset(toolset: Toolset, context: RunContext[Any]) -> Sequence[Tool]:
    """Return a toolset's tools for the next request."""
    prepare = getattr(toolset, "prepare", None)
    return toolset.tools() if prepare is None else await prepare(context)


async def provide_context(toolset: Toolset, context: RunContext[Any]) -> Sequence[ContextItem] | None:
    """Return what a toolset has for the model to read from the start; None where it has no source of it."""
    provide = getattr(toolset, "provide_context", None)
    return None if provide is None else await provide(context)


def return_schema(toolset: Toolset, name: str) -> dict[str, Any] | None:
    """Return the JSON schema of a tool's results, where its toolset knows it."""
    find = getattr(toolset, "return_schema", None)
    return None if find is None else find(name)


async def toolset_for_run(toolset: Toolset, context: RunContext[Any]) -> Toolset:
    """Return the toolset of one run."""
    for_run = getattr(toolset, "for_run", None)
    return toolset if for_run is None else await for_run(context)


async def reconcile_interrupted(toolset: Toolset, call: Call, context: RunContext[Any]) -> Any:
    """Return whether an interrupted call happened, where the toolset can tell."""
    reconcile = getattr(toolset, "reconcile", None)
    if reconcile is None:
        raise BadTool(f"{call.name} has nothing to reconcile with.")
    return await reconcile(call, context)


async def preview_call(toolset: Toolset, call: Call, context: RunContext[Any]) -> Preview:
    """Return what a call would do, where the toolset supports previews."""
    ask = getattr(toolset, "preview", None)
    return Preview("") if ask is None else await ask(call, context)


def only(toolset: Toolset, *patterns: str) -> MappedToolset:
    """Return only the tools whose names match one of the patterns."""
    for pattern in patterns:
        if not isinstance(pattern, str):  # pyright: ignore[reportUnnecessaryIsInstance]  # what a program passes isn't known
            raise BadTool(f"`only` takes names of tools, not {pattern!r}; `prepared` takes a function that leaves tools out.")
    mapped = MappedToolset(toolset, lambda tool: tool if any(fnmatchcase(tool.name, pattern) for pattern in patterns) else None)
    _check_names("only", toolset, [pattern for pattern in patterns if not any(sign in pattern for sign in "*?[")])
    return mapped


def renamed(toolset: Toolset, names: Mapping[str, str]) -> MappedToolset:
    """Rename some tools: `{"old": "new"}`."""
    mapped = MappedToolset(toolset, lambda tool: _with_name(tool, names.get(tool.name, tool.name)))
    _check_names("renamed", toolset, names)
    return mapped


def prefixed(toolset: Toolset, prefix: str) -> MappedToolset:
    """Prefix all names: `prefixed(files, "docs")` makes `read` into `docs_read`."""
    return MappedToolset(toolset, lambda tool: _with_name(tool, f"{prefix}_{tool.name}"))


def with_cache(toolset: Toolset, seconds: float) -> MappedToolset:
    """Allow results of read-only tools to be reused for a while."""
    return MappedToolset(
        toolset, lambda tool: replace(tool, cache=seconds) if "read" in (tool.effect, *tool.effects.values()) else tool
    )


def with_retries(toolset: Toolset, retries: RetryPolicy) -> MappedToolset:
    """Try calls again that raised, where their tool's retry class allows that: reads, and writes that may run twice."""
    return MappedToolset(toolset, lambda tool: replace(tool, retries=retries) if tool.retry in REPEATABLE else tool)


def untrusted(toolset: Toolset) -> MappedToolset:
    """Mark the results of these tools as untrusted."""
    return MappedToolset(toolset, lambda tool: replace(tool, trust="untrusted"))


def _check_names(function: str, toolset: Toolset, names: Iterable[str]) -> None:
    """Raise where a toolset has no tool of such a name, as far as it lists its tools already."""
    known = [tool.name for tool in toolset.tools()]
    for name in names:
        if known and name not in known:
            raise BadTool(f"`{function}` names {name!r}, which this toolset doesn't have. {hint_for(name, known)}")


def _with_name(tool: Tool, name: str) -> Tool:
    return replace(tool, spec=replace(tool.spec, name=name))
