"""Which tools a model is told of with a request. With many tools it sees a few, and `find_tools` to find the others."""

from collections.abc import Iterable

from treadle.core.requests import ToolSpec
from treadle.core.tool import Tool
from treadle.engine.live import LiveRun
from treadle.loop.decide import AskModel
from treadle.tools.search import best

FOUND = 8  # how many tools one search shows


def offer(run: LiveRun, step: AskModel) -> tuple[ToolSpec, ...]:
    """The tools for one request, in a stable order."""
    if step.last:
        return ()
    names = list(_visible(run))
    if run.state.keeps:
        names.append("read_result")
    if run.setup.output is not None:
        names.append(run.setup.output.tool.name)
    return run.catalog.specs(names)


def _visible(run: LiveRun) -> Iterable[str]:
    if len(run.offered) <= run.setup.discover_above:
        return run.offered
    shown = {*run.setup.always_offered, *run.state.revealed}
    return [*[name for name in run.offered if name in shown], "find_tools"]


def find_tools(run: LiveRun, query: str) -> tuple[str, tuple[str, ...]]:
    """The tools that fit a query: what the model reads, and their names."""
    tools: list[Tool] = [run.catalog.tools[name] for name in run.offered]
    found = best(query, [tool.spec for tool in tools], FOUND)
    if not found:
        return f"No tool fits {query!r}. Try other words.", ()
    lines = "\n".join(f"- {spec.name}: {spec.description.strip().splitlines()[0] if spec.description else ''}" for spec in found)
    return f"These tools can be called now:\n{lines}", tuple([spec.name for spec in found])
