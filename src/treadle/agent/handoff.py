"""Hand-offs: tools by which a model has another agent go on with the conversation, in the same run."""

from collections.abc import Callable, Iterable
from types import TracebackType
from typing import Any

from msgspec import Struct

from treadle.core.calls import Call
from treadle.core.context import RunContext
from treadle.core.errors import SettingsError
from treadle.core.requests import ToolSpec
from treadle.core.tool import Tool
from treadle.engine.outcome import Transfer
from treadle.engine.setup import Setup
from treadle.tools.tool import check_tool_name, to_tool_name

HANDOFFS = "handoffs"  # the toolset whose calls the engine carries out itself
_NO_ARGUMENTS: dict[str, Any] = {"type": "object", "properties": {}, "additionalProperties": False}


class Handoff(Struct, frozen=True):
    """An agent that a run can be handed off to; `Agent.as_handoff` makes one.

    agent         the agent's name, by which the journal knows it
    setup         returns its setup
    tool_name     what the model calls to hand off to it
    description   when to do so, for the model
    """

    agent: str
    setup: Callable[[], Setup]
    tool_name: str
    description: str


def make_handoff(agent: str, setup: Callable[[], Setup], tool_name: str, description: str) -> Handoff:
    """Return a hand-off; the tool is named after the agent unless it has a name."""
    name = check_tool_name(tool_name) if tool_name else to_tool_name(f"transfer_to_{agent}")
    told = description or f"Hand the conversation over to the agent {agent}, which goes on with it."
    return Handoff(agent, setup, name, told)


class HandoffToolset:
    """A tool for each agent that a run can be handed off to."""

    def __init__(self, owner: str, handoffs: Iterable[Handoff]) -> None:
        self.targets: dict[str, Callable[[], Setup]] = {}
        self._agents: dict[str, str] = {}
        for each in handoffs:
            if each.agent == owner or each.agent in self.targets:
                raise SettingsError(f"Two agents of a hand-off are called {each.agent}; give each its own name=….")
            self.targets[each.agent] = each.setup
            self._agents[each.tool_name] = each.agent
        specs = [ToolSpec(each.tool_name, each.description, _NO_ARGUMENTS) for each in handoffs]
        self._tools = tuple([Tool(spec, effect="read", retry="read", toolset=HANDOFFS) for spec in specs])

    async def __aenter__(self) -> "HandoffToolset":
        return self

    async def __aexit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        return None

    def tools(self) -> tuple[Tool, ...]:
        """Return a tool for each agent."""
        return self._tools

    async def call(self, call: Call, context: RunContext[Any]) -> Transfer:
        """Have the agent go on with the run after this round."""
        return Transfer(self._agents[call.name])
