"""What an MCP server of ours offers, to whom and under which policy: a value, and its tools as the protocol tells of them."""

from collections.abc import Callable, Sequence
from contextlib import AbstractAsyncContextManager, nullcontext
from typing import Any

from mcp.types import Tool as McpTool
from mcp.types import ToolAnnotations
from msgspec import Struct

from treadle.core.seams import Policy, Situation, Toolset, Watcher
from treadle.core.tool import Tool
from treadle.engine.setup import Approver, Services
from treadle.guard.policy import policy_of
from treadle.toolsets.wrap import Together

Origin = Callable[[str, dict[str, Any]], dict[str, Any]]


class Offering(Struct, frozen=True):
    """What is served.

    toolsets  whose tools are offered
    name      what the server is called
    policy    may a call run? As `Agent` takes it
    services  the stores that runs are kept in; without them nothing is kept
    user      on whose behalf calls are made
    approver  answers what the policy asks; without one the person at the client is asked, if the client can do that
    attended  False where nobody is to be asked
    origin    what is kept with a run, so that its face can take it up again: made of a tool's name and arguments
    watch     gives what watches a run
    enter     is entered with the HTTP request of a call, for as long as that lasts; raises where there are too many
    advice    what a person may do where a call was refused only because nobody could be asked; `{tool}` is its name
    """

    toolsets: Sequence[Toolset]
    name: str = "treadle"
    policy: Any = None
    services: Services | None = None
    user: str = ""
    approver: Approver | None = None
    attended: bool = True
    origin: Origin | None = None
    watch: Callable[[str], Watcher] | None = None
    enter: Callable[[Any], AbstractAsyncContextManager[Any]] = nullcontext
    advice: str = " Whoever starts this server may allow it: treadle mcp --allow {tool}."


class Shop:
    """An offering made ready: one toolset, one policy."""

    def __init__(self, offering: Offering) -> None:
        self.offering = offering
        self.policy: Policy = policy_of(offering.policy)
        toolsets = offering.toolsets
        self.toolset: Toolset = toolsets[0] if len(toolsets) == 1 else Together(*toolsets)

    def tools(self) -> list[Tool]:
        """Those that the policy doesn't forbid altogether."""
        situation = Situation(self.offering.user, self.offering.attended)
        return [tool for tool in self.toolset.tools() if self.policy.offers(tool, situation)]


def described(tool: Tool) -> McpTool:
    """A tool as the protocol tells of it. What we don't know is left open, and then counts as the worse."""
    hints = ToolAnnotations(
        read_only_hint=tool.effect == "read",
        destructive_hint=tool.effect == "destroy",
        idempotent_hint=tool.retry in ("read", "idempotent"),
        open_world_hint=True if tool.trust == "untrusted" else None,
    )
    schema = {"type": "object", **tool.parameters}
    return McpTool(name=tool.name, description=tool.spec.description, input_schema=schema, annotations=hints)
