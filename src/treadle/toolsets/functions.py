"""Functions as tools. Coroutines run in the event loop, other functions in threads, unless they are marked as quick."""

from collections.abc import Callable, Iterable
from types import TracebackType
from typing import Any

from msgspec.structs import replace

from treadle.core.calls import Call, Preview
from treadle.core.context import RunContext
from treadle.core.errors import BadTool
from treadle.core.tool import Tool
from treadle.tools.tool import FunctionTool, as_tool
from treadle.toolsets.threads import ThreadPool

_threads = ThreadPool()


class FunctionToolset:
    """A toolset of functions and `@tool`s."""

    def __init__(self, functions: Iterable[FunctionTool | Callable[..., Any]], name: str = "functions") -> None:
        self._functions: dict[str, FunctionTool] = {}
        for function in functions:
            made = as_tool(function)
            if made.tool.name in self._functions:
                raise BadTool(f"There are two tools called {made.tool.name}; give one of them another name.")
            self._functions[made.tool.name] = made
        self._tools = tuple([_to_tool(made, name) for made in self._functions.values()])

    async def __aenter__(self) -> "FunctionToolset":
        return self

    async def __aexit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        return None

    def tools(self) -> tuple[Tool, ...]:
        """Return all tools."""
        return self._tools

    async def call(self, call: Call, context: RunContext[Any]) -> Any:
        """Call the function."""
        made = self._functions[call.name]
        args, kwargs = made.bind(call.arguments, context)
        if made.is_async:
            return await made.function(*args, **kwargs)
        if made.inline:
            return await _await_if_needed(made.function(*args, **kwargs))
        return await _await_if_needed(await _threads.run(made.function, args, kwargs))

    async def reconcile(self, call: Call, context: RunContext[Any]) -> Any:
        """Ask a `checkable` tool whether an interrupted call happened."""
        made = self._functions[call.name]
        if made.reconcile is None:
            raise BadTool(f"{call.name} has nothing to reconcile with.")
        args, kwargs = made.bind(call.arguments, context)
        return await _await_if_needed(made.reconcile(*args, **kwargs))

    async def preview(self, call: Call, context: RunContext[Any]) -> Preview:
        """Return a tool's preview of a call; empty where it has none."""
        made = self._functions[call.name]
        if made.preview is None:
            return Preview("")
        args, kwargs = made.bind(call.arguments, context)
        told = await _await_if_needed(made.preview(*args, **kwargs))
        return told if isinstance(told, Preview) else Preview(str(told))


async def _await_if_needed(value: Any) -> Any:
    """Return the value, awaited if it is a coroutine that a decorator hides behind a plain function."""
    return await value if hasattr(value, "__await__") else value


def _to_tool(made: FunctionTool, toolset: str) -> Tool:
    return replace(made.tool, toolset=made.tool.toolset or toolset, threaded=not made.is_async and not made.inline)
