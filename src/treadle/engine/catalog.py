"""The tools of an agent by name, each with its validator, and which of them are offered to the model. No calling here."""

from collections.abc import Iterable, Sequence
from functools import cached_property

from treadle.core.calls import Call
from treadle.core.errors import BadTool
from treadle.core.requests import ToolSpec
from treadle.core.tool import Tool
from treadle.guard.policy import digest_arguments
from treadle.tools.tool import check_tool_name
from treadle.tools.validate import Validator

_OWN = "treadle"  # the toolset of the engine's own tools

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
    toolset=_OWN,
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
    toolset=_OWN,
)

SEARCH_CONVERSATION = Tool(
    ToolSpec(
        "search_conversation",
        "Search the whole of this conversation, also what was compacted: messages, calls and their results, word for word.",
        {
            "type": "object",
            "properties": {"query": {"type": "string", "description": "words that occur in what you look for"}},
            "required": ["query"],
            "additionalProperties": False,
        },
    ),
    effect="read",
    retry="read",
    toolset=_OWN,
)

BACKGROUND_RESULT = Tool(
    ToolSpec(
        "background_result",
        "Wait until a call that runs in the background has ended, and return its result.",
        {
            "type": "object",
            "properties": {"id": {"type": "string", "description": "the id given when the call was started"}},
            "required": ["id"],
            "additionalProperties": False,
        },
    ),
    effect="read",
    retry="read",
    toolset=_OWN,
)

CONTINUE_CALL = Tool(
    ToolSpec(
        "continue_call",
        "Send the rest of a call whose arguments were cut off at the output limit. The call is made with both parts.",
        {
            "type": "object",
            "properties": {
                "rest": {"type": "string", "description": "the value that was cut, from the words on that were quoted"},
                "arguments": {"type": "object", "description": "arguments that were still to come after it, if any"},
            },
            "required": ["rest"],
            "additionalProperties": False,
        },
    ),
    effect="read",
    retry="read",
    toolset=_OWN,
)

OWN_TOOLS = (READ_RESULT, FIND_TOOLS, SEARCH_CONVERSATION, BACKGROUND_RESULT, CONTINUE_CALL)


class Catalog:
    """Tools by name. The engine's own (`OWN_TOOLS`) are included unless the agent has others by those names.

    `withheld` are those that the agent has besides: a model that calls one gets the problem `unknown_tool`.
    """

    def __init__(self, tools: Sequence[Tool], output: Tool | None = None, withheld: Iterable[Tool] = ()) -> None:
        self.listed = tuple(tools)
        for tool in tools:
            check_tool_name(tool.name, f"; put `renamed` around the toolset {tool.toolset}, which has it")
        if output is not None and any(tool.name == output.name for tool in tools):
            raise BadTool(f"{output.name} is the tool that gives the answer; give your own tool another name.")
        self.output = output
        own = OWN_TOOLS if output is None else (*OWN_TOOLS, output)
        self.tools: dict[str, Tool] = {tool.name: tool for tool in (*own, *tools)}
        self._withheld = {tool.name: tool for tool in withheld}
        self._validators: dict[str, Validator] = {}
        self._marks: dict[str, str] = {}
        self._specs: dict[tuple[str, ...], tuple[ToolSpec, ...]] = {}

    def is_own(self, tool: Tool) -> bool:
        """Return whether the engine itself executes this tool."""
        return tool.toolset == _OWN and any(tool is own for own in OWN_TOOLS)

    def has_own(self, name: str) -> bool:
        """Return whether the tool by this name is the engine's own: an agent's tool by the name of one takes its place."""
        return self.is_own(self.tools[name])

    def find(self, name: str) -> Tool | None:
        """Return a tool by its name, also one that isn't offered any more: an earlier call may still need it."""
        return self.tools.get(name) or self._withheld.get(name)

    def tool_for(self, call: Call) -> Tool:
        """Return the tool as a call uses it: with the effect of its action."""
        tool = self.tools.get(call.name) or self._get(call.name)
        return tool.for_call(call.arguments)

    def _get(self, name: str) -> Tool:
        found = self.find(name)
        assert found is not None  # only calls of tools that are known are judged and run
        return found

    def validator(self, name: str) -> Validator:
        """Return the validator of a tool's arguments; created at its first call."""
        found = self._validators.get(name)
        if found is None:
            found = self._validators[name] = Validator(self._get(name).parameters)
        return found

    def mark(self, name: str) -> str:
        """Return a fingerprint of a tool's specification, which distinguishes tools of the same name."""
        found = self._marks.get(name)
        if found is None:
            spec = self._get(name).spec
            found = self._marks[name] = digest_arguments({"description": spec.description, "parameters": spec.parameters})
        return found

    @cached_property
    def read_only(self) -> frozenset[str]:
        """The names of the tools that only read."""
        return frozenset([name for name, tool in self.tools.items() if tool.effect == "read"])

    def specs(self, names: Iterable[str]) -> tuple[ToolSpec, ...]:
        """Return the specifications of these tools: always the same object for the same names, so that it is encoded once."""
        key = tuple(names)
        found = self._specs.get(key)
        if found is None:
            found = self._specs[key] = tuple([self.tools[name].spec for name in key])
        return found
