"""Which tools are offered to the model in a request, and how a structured answer is requested.

With many tools it sees a few, and `find_tools` to find the others.
"""

from typing import Any

from treadle.core.calls import Call
from treadle.core.requests import ToolSpec
from treadle.core.tool import Tool
from treadle.engine.catalog import Catalog
from treadle.engine.live import LiveRun
from treadle.loop.decide import AskModel
from treadle.loop.window import find_summary

FOUND = 8  # how many tools one search shows


async def prepare_tools(run: LiveRun) -> None:
    """Have the tools prepared for the next request. What is left out isn't there for the model, and can't be called."""
    if run.prepare is None:
        return
    tools = tuple(await run.prepare(run.context(Call("", "", {}))))
    if tools == run.base.listed:
        run.equip(run.base)
    elif tools != run.catalog.listed:
        output = run.setup.output
        run.equip(Catalog(tools, None if output is None else output.tool, run.base.listed))


def offer_tools(run: LiveRun, step: AskModel) -> tuple[tuple[ToolSpec, ...], dict[str, Any] | None]:
    """Return the tools for one request, in a stable order, and the schema of the answer if the model's server takes one."""
    if step.last:
        return run.catalog.specs(()), output_schema(run, has_tools=False)
    state, output = run.state, run.setup.output
    names = _visible_names(run)
    own: list[str] = []
    if state.keeps:
        own.append("read_result")
    if names and find_summary(state.history) is not None:
        own.append("search_conversation")
    if state.inner and state.background:
        own.append("background_result")
    if names and state.partial is not None:
        own.append("continue_call")
    if own:
        names = (*names, *[name for name in own if run.catalog.has_own(name)])
    if output is None:
        return run.catalog.specs(names), None
    shape = output_schema(run, has_tools=bool(names))
    if output.tool is not None and shape is None:
        names = (*names, output.tool.name)
    return run.catalog.specs(names), shape


def output_schema(run: LiveRun, *, has_tools: bool) -> dict[str, Any] | None:
    """Return the schema that is sent to the model's server; None where there is none, or the answer has to be a call."""
    output = run.setup.output
    if output is None:
        return None
    structured = run.setup.model.traits.structured_output
    return None if structured == "no" or (has_tools and structured == "without_tools") else output.shape


def _visible_names(run: LiveRun) -> tuple[str, ...]:
    if len(run.offered) <= run.setup.discover_above or not run.catalog.has_own("find_tools"):
        return run.offered
    shown = {*run.setup.always_offered, *run.state.revealed}
    return (*[name for name in run.offered if name in shown], "find_tools")


def find_tools(run: LiveRun, query: str) -> tuple[str, tuple[str, ...]]:
    """Return the tools that match a query: the text for the model, and their names."""
    from treadle.tools.search import rank_tools  # only agents with many tools need it

    tools: list[Tool] = [run.catalog.tools[name] for name in run.offered]
    found = rank_tools(query, [tool.spec for tool in tools], FOUND)
    if not found:
        return f"No tool fits {query!r}. Try other words.", ()
    lines = "\n".join(f"- {spec.name}: {spec.description.strip().splitlines()[0] if spec.description else ''}" for spec in found)
    return f"These tools can be called now:\n{lines}", tuple([spec.name for spec in found])
