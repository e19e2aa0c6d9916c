"""Functions as tools. Coroutines run in the event loop, other functions in threads, unless they are marked as quick.

Threads are reused, as many as needed, and none keeps the process from exiting: the standard pool joins its threads when the
interpreter exits, so one hung tool would hang the program.
"""

import asyncio
import contextvars
import threading
from collections.abc import Awaitable, Callable, Iterable, Sequence
from queue import SimpleQueue
from types import TracebackType
from typing import Any, cast

from msgspec.structs import replace

from treadle.core.calls import Call, Preview
from treadle.core.context import RunContext
from treadle.core.errors import BadTool
from treadle.core.seams import Toolset
from treadle.core.tool import Tool
from treadle.tools.tool import FunctionTool, Prepare, as_tool

MAX_IDLE = 32

Job = tuple[asyncio.AbstractEventLoop, "asyncio.Future[Any]", Callable[[], Any]]
Chosen = Toolset | Iterable[Any]
ToolsetFunction = Callable[[RunContext[Any]], Chosen | Awaitable[Chosen]]


class ThreadPool:
    """A pool that grows when all its threads are busy."""

    def __init__(self) -> None:
        self._idle: list[SimpleQueue[Job]] = []
        self._lock = threading.Lock()

    async def run(self, function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Run the function and return its value. If the caller is cancelled the thread goes on, and its value is dropped."""
        loop = asyncio.get_running_loop()
        future: asyncio.Future[Any] = loop.create_future()
        context = contextvars.copy_context()
        self._take_inbox().put((loop, future, lambda: context.run(function, *args, **kwargs)))
        try:
            return await future
        finally:
            del future  # its error has a traceback with this frame: a cycle

    def _take_inbox(self) -> "SimpleQueue[Job]":
        with self._lock:
            if self._idle:
                return self._idle.pop()
        inbox: SimpleQueue[Job] = SimpleQueue()
        threading.Thread(target=self._run_jobs, args=(inbox,), name="treadle-tool", daemon=True).start()
        return inbox

    def _run_jobs(self, inbox: "SimpleQueue[Job]") -> None:
        while True:
            loop, future, job = inbox.get()
            _run_job(loop, future, job)
            del future, job
            with self._lock:
                if len(self._idle) >= MAX_IDLE:
                    return
                self._idle.append(inbox)


def _run_job(loop: asyncio.AbstractEventLoop, future: "asyncio.Future[Any]", job: Callable[[], Any]) -> None:
    try:
        value, error = job(), None
    except BaseException as raised:  # noqa: BLE001 - it is passed to the waiting caller, also SystemExit
        value, error = None, raised
    try:
        loop.call_soon_threadsafe(_resolve, future, value, error)
    except RuntimeError:  # the event loop is closed, and its callers with it
        return
    finally:
        del future, error  # a cycle, as above


def _resolve(future: "asyncio.Future[Any]", value: Any, error: BaseException | None) -> None:
    if future.done():
        return
    if error is None:
        future.set_result(value)
    elif isinstance(error, StopIteration | SystemExit | KeyboardInterrupt):  # a future or a loop can't carry these
        future.set_exception(RuntimeError(f"the tool raised {type(error).__name__}"))
    else:
        future.set_exception(error)


_threads = ThreadPool()


class FunctionToolset:
    """A toolset of functions and `@tool`s."""

    def __init__(self, functions: Iterable[FunctionTool | Callable[..., Any]], name: str = "functions") -> None:
        self._functions: dict[str, FunctionTool] = {}
        if callable(functions):
            raise BadTool("FunctionToolset takes a list of functions: write FunctionToolset([…]).")
        for function in functions:
            made = as_tool(function)
            if made.tool.name in self._functions:
                raise BadTool(f"There are two tools called {made.tool.name}; give one of them another name.")
            self._functions[made.tool.name] = made
        self._tools = tuple([_to_tool(made, name) for made in self._functions.values()])
        self.prepares = any(made.prepare is not None for made in self._functions.values())

    async def __aenter__(self) -> "FunctionToolset":
        return self

    async def __aexit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        return None

    def tools(self) -> tuple[Tool, ...]:
        """Return all tools."""
        return self._tools

    async def prepare(self, context: RunContext[Any]) -> Sequence[Tool]:
        """Return the tools for the next request, each as its hook prepares it."""
        tools = self.tools()
        if not self.prepares:
            return tools
        made = [await prepare_tool(self._functions[tool.name].prepare, context, tool) for tool in tools]
        return tuple([tool for tool in made if tool is not None])

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

    def return_schema(self, name: str) -> dict[str, Any] | None:
        """Return the JSON schema of what a function returns, by its annotation; None where that says nothing."""
        from treadle.tools.schema import read_return_type, type_schema

        try:
            return type_schema(read_return_type(self._functions[name].function))
        except BadTool:
            return None

    async def preview(self, call: Call, context: RunContext[Any]) -> Preview:
        """Return a tool's preview of a call; empty where it has none."""
        made = self._functions[call.name]
        if made.preview is None:
            return Preview("")
        args, kwargs = made.bind(call.arguments, context)
        told = await _await_if_needed(made.preview(*args, **kwargs))
        return told if isinstance(told, Preview) else Preview(str(told))


async def prepare_tool(hook: Prepare | None, context: RunContext[Any], tool: Tool) -> Tool | None:
    """Return a tool as its hook prepares it for a request; None to leave it out."""
    made = tool if hook is None else await _await_if_needed(hook(context, tool))
    if made is not None and (not isinstance(made, Tool) or made.name != tool.name):
        raise BadTool(f"`prepare` of {tool.name} has to return the tool, a copy of that name, or None.")
    return made


async def _await_if_needed(value: Any) -> Any:
    """Return the value, awaited if it is a coroutine that a decorator hides behind a plain function."""
    return await value if hasattr(value, "__await__") else value


def _to_tool(made: FunctionTool, toolset: str) -> Tool:
    return replace(made.tool, toolset=made.tool.toolset or toolset, threaded=not made.is_async and not made.inline)


def to_toolset(tools: Chosen | ToolsetFunction, toolsets: Iterable[Toolset | ToolsetFunction] = ()) -> Toolset:
    """Return functions, toolsets and functions of the `RunContext` as one toolset."""
    functions: list[Any] = []
    sources = [_one_toolset(each) for each in toolsets]
    for given in [_one_toolset(tools)] if callable(tools) or _is_toolset(tools) else cast("Iterable[Any]", tools):
        (sources if _is_toolset(given) else functions).append(given)
    if functions or not sources:
        sources.insert(0, FunctionToolset(functions))
    if len(sources) == 1:
        return sources[0]
    from treadle.toolsets.wrappers import CombinedToolset  # most agents have one source of tools

    return CombinedToolset(*sources)


def _one_toolset(given: Any) -> Toolset:
    if _is_toolset(given):
        return given
    from treadle.toolsets.dynamic import DynamicToolset  # few agents have one

    return DynamicToolset(given)


def _is_toolset(given: Any) -> bool:
    return hasattr(given, "tools") and hasattr(given, "call")
