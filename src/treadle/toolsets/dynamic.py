"""Tools that are decided by the run: chosen once for each run by a function, or prepared anew for each request.

A hook gets the `RunContext` and a tool, and returns the tool, a changed copy, or None to leave it out.
"""

from collections.abc import Iterable, Sequence
from inspect import Parameter, isawaitable, signature
from types import TracebackType
from typing import Any, cast

from treadle.core.calls import Call
from treadle.core.context import RunContext
from treadle.core.errors import BadTool
from treadle.core.seams import Toolset
from treadle.core.tool import Tool
from treadle.tools.schema import is_context
from treadle.tools.tool import FunctionTool, Prepare
from treadle.toolsets.functions import ToolsetFunction, prepare_tool, to_toolset
from treadle.toolsets.wrappers import WrapperToolset, toolset_for_run


class DynamicToolset:
    """Tools that a function of the `RunContext` chooses, once for each run: a toolset, or a list as in `Agent(tools=…)`."""

    def __init__(self, choose: ToolsetFunction) -> None:
        given: Any = choose
        if isinstance(given, FunctionTool) or not _takes_context(given):
            name = getattr(cast("Any", given), "__name__", "tool")
            raise BadTool(f"{name} isn't a function of the RunContext; if it is a tool, put it into a list: `tools=[{name}]`.")
        self._choose = choose

    async def for_run(self, context: RunContext[Any]) -> Toolset:
        """Return the toolset of one run."""
        chosen = self._choose(context)
        given: Any = await chosen if isawaitable(chosen) else chosen
        if not isinstance(given, Iterable) and not hasattr(given, "tools"):
            name = getattr(self._choose, "__name__", "function")
            raise BadTool(f"{name} has to return a toolset, or a list of functions and toolsets; it returned {given!r}.")
        return await toolset_for_run(to_toolset(cast("Any", given)), context)

    async def __aenter__(self) -> "DynamicToolset":
        return self

    async def __aexit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        return None

    def tools(self) -> Sequence[Tool]:
        """Return nothing: which tools there are is known in a run."""
        return ()

    async def call(self, call: Call, context: RunContext[Any]) -> Any:
        """Raise an error: there is nothing to call outside of a run."""
        raise BadTool(f"{call.name} is chosen for each run and can't be called outside of one.")


class PreparedToolset(WrapperToolset):
    """A toolset whose tools are each prepared for every request by a hook."""

    def __init__(self, inner: Toolset, hook: Prepare) -> None:
        super().__init__(inner)
        self._hook = hook

    async def prepare(self, context: RunContext[Any]) -> Sequence[Tool]:
        """Return the tools for the next request."""
        made = [await prepare_tool(self._hook, context, tool) for tool in await super().prepare(context)]
        return tuple([tool for tool in made if tool is not None])


def prepared(toolset: Toolset, hook: Prepare) -> PreparedToolset:
    """Prepare each tool of a toolset for every request: `hook(ctx, tool)` returns it, a changed copy, or None."""
    return PreparedToolset(toolset, hook)


def _takes_context(function: Any) -> bool:
    """Return whether a function takes the context alone: one parameter, of that type or of none."""
    try:
        parameters = list(signature(function).parameters.values())
    except (TypeError, ValueError):  # no function, or one that doesn't say what it takes
        return False
    if len(parameters) != 1 or parameters[0].kind in (Parameter.KEYWORD_ONLY, Parameter.VAR_KEYWORD):
        return False
    annotation = parameters[0].annotation
    return annotation is Parameter.empty or (isinstance(annotation, str) and "RunContext" in annotation) or is_context(annotation)
