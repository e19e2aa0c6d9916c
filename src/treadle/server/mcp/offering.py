"""What an MCP server offers, to whom and under which policy: a value, and its tools in the protocol's format."""

from collections.abc import Callable, Sequence
from contextlib import AbstractAsyncContextManager, nullcontext
from typing import Any

from mcp.types import Tool as McpTool
from mcp.types import ToolAnnotations
from msgspec import Struct

from treadle.core.seams import Policy, Situation, Toolset, Watcher
from treadle.core.tool import Tool
from treadle.engine.setup import Approver, Services
from treadle.guard.policy import to_policy
from treadle.guard.redaction import Redactor
from treadle.toolsets.wrappers import CombinedToolset

Origin = Callable[[str, dict[str, Any]], dict[str, Any]]


class Offering(Struct, frozen=True):
    """What is served.

    toolsets  whose tools are offered
    name      the server's name
    policy    the policy, as `Agent` takes it
    services  the stores for runs; without them nothing is stored
    user      on whose behalf calls are made
    approver  answers approvals; without one the client's user is asked, if the client supports that
    attended  False where no person is to be asked
    origin    makes what is journaled with a run, so that its host can resume it, from a tool's name and arguments
    watch     returns the watcher of a run
    enter     a context manager for the duration of a call, given its HTTP request; raises where there are too many
    redactor  masks secrets in results and records; by default one that knows the usual forms of secrets
    advice    what a user may do where a call was denied only because no person could be asked; `{tool}` is its name
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
    redactor: Redactor | None = None
    advice: str = " The server's administrator may allow it: treadle mcp --allow {tool}."


class PreparedOffering:
    """An offering made ready: one toolset, one policy."""

    def __init__(self, offering: Offering) -> None:
        self.offering = offering
        self.policy: Policy = to_policy(offering.policy)
        toolsets = offering.toolsets
        self.toolset: Toolset = toolsets[0] if len(toolsets) == 1 else CombinedToolset(*toolsets)

    def tools(self) -> list[Tool]:
        """Return the tools that the policy doesn't deny altogether."""
        situation = Situation(self.offering.user, self.offering.attended)
        return [tool for tool in self.toolset.tools() if self.policy.offers(tool, situation)]


def to_mcp_tool(tool: Tool) -> McpTool:
    """Return a tool in the protocol's format. Unknown hints are left open, which clients take as the worse case."""
    hints = ToolAnnotations(
        read_only_hint=tool.effect == "read",
        destructive_hint=tool.effect == "destroy",
        idempotent_hint=tool.retry in ("read", "idempotent"),
        open_world_hint=True if tool.trust == "untrusted" else None,
    )
    schema = {"type": "object", **tool.parameters}
    return McpTool(name=tool.name, description=tool.spec.description, input_schema=schema, annotations=hints)
