"""The tools of an agent by name, each with its validator, and which of them are offered to the model. No calling here."""

from collections.abc import Iterable, Sequence

from treadle.core.calls import Call
from treadle.core.requests import ToolSpec
from treadle.core.tool import Tool
from treadle.guard.policy import digest_arguments
from treadle.tools.validate import Validator

READ_RESULT = Tool(
    ToolSpec(
        "read_result",
        "Read a part of an earlier result that was too long to show whole.",
        {
            "type": "object",
            "properties": {
                "id": {"type": "string", "description": "the id given with the shortened result"},
                "start": {"type": "integer", "description": "first character, from 0", "default": 0},
                "end": {"type": "integer", "description": "character after the last one"},
            },
            "required": ["id"],
            "additionalProperties": False,
        },
    ),
    effect="read",
    retry="read",
    toolset="treadle",
)

FIND_TOOLS = Tool(
    ToolSpec(
        "find_tools",
        "Find further tools by what they do. Only some tools are shown at first; those found here can be called afterwards.",
        {
            "type": "object",
            "properties": {"query": {"type": "string", "description": "what you want to do, in a few words"}},
            "required": ["query"],
            "additionalProperties": False,
        },
    ),
    effect="read",
    retry="read",
    toolset="treadle",
)


class Catalog:
    """Tools by name. The engine's own (`read_result`, `find_tools`) are included unless the agent has others by those names."""

    def __init__(self, tools: Sequence[Tool], output: Tool | None = None) -> None:
        self.listed = tuple(tools)
        own = (READ_RESULT, FIND_TOOLS) if output is None else (READ_RESULT, FIND_TOOLS, output)
        self.tools: dict[str, Tool] = {tool.name: tool for tool in (*own, *tools)}
        self._validators: dict[str, Validator] = {}
        self._marks: dict[str, str] = {}
        self._specs: dict[tuple[str, ...], tuple[ToolSpec, ...]] = {}

    def is_own(self, tool: Tool) -> bool:
        """Return whether the engine itself executes this tool."""
        return tool is READ_RESULT or tool is FIND_TOOLS

    def tool_for(self, call: Call) -> Tool:
        """Return the tool as a call uses it: with the effect of its action."""
        return self.tools[call.name].for_call(call.arguments)

    def validator(self, name: str) -> Validator:
        """Return the validator of a tool's arguments; created at its first call."""
        found = self._validators.get(name)
        if found is None:
            found = self._validators[name] = Validator(self.tools[name].parameters)
        return found

    def mark(self, name: str) -> str:
        """Return a fingerprint of a tool's specification, which distinguishes tools of the same name."""
        found = self._marks.get(name)
        if found is None:
            spec = self.tools[name].spec
            found = self._marks[name] = digest_arguments({"description": spec.description, "parameters": spec.parameters})
        return found

    def specs(self, names: Iterable[str]) -> tuple[ToolSpec, ...]:
        """Return the specifications of these tools: always the same object for the same names, so that it is encoded once."""
        key = tuple(names)
        found = self._specs.get(key)
        if found is None:
            found = self._specs[key] = tuple([self.tools[name].spec for name in key])
        return found
