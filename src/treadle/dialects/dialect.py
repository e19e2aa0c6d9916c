"""A dialect: forms of call, how strictly they are read, how calls are spelled, and the lesson that teaches them to a model.

A lesson lists the tools: a line for each, and one for each argument that needs explaining.
"""

from collections.abc import Callable, Sequence
from typing import Any, cast

from msgspec import Struct

from treadle.core.calls import Call
from treadle.core.requests import ToolSpec
from treadle.core.seams import Parser
from treadle.dialects.argument_values import resolve_reference
from treadle.dialects.forms import FencedForm, Form, OfferedTools, ThinkingFrame, to_json_text
from treadle.dialects.reply_parser import ReplyParser, Strictness, compile_rules

_Schema = dict[str, Any]


def format_tool_listing(tools: Sequence[ToolSpec]) -> str:
    """Return a compact listing of all tools."""
    return "\n".join(_format_tool(tool) for tool in tools)


def _format_tool(tool: ToolSpec) -> str:
    properties = cast("dict[str, _Schema]", tool.parameters.get("properties") or {})
    required = cast("list[str]", tool.parameters.get("required") or [])
    arguments = [_format_argument(key, schema, key in required, tool.parameters) for key, schema in properties.items()]
    told = [f"    {key}: {_to_one_line(schema['description'])}" for key, schema in properties.items() if schema.get("description")]
    return "\n".join([f"- {tool.name}({', '.join(arguments)}): {_to_one_line(tool.description)}".rstrip(": "), *told])


def _format_argument(key: str, schema: _Schema, required: bool, root: _Schema) -> str:
    default = f" = {to_json_text(schema['default'])}" if schema.get("default") is not None else ""
    return f"{key}{'' if required else '?'}: {_format_type(schema, root)}{default}"


def _format_type(schema: _Schema, root: _Schema) -> str:
    schema = resolve_reference(schema, root)
    choices = cast("list[_Schema]", schema.get("anyOf") or schema.get("oneOf") or ())
    if "enum" in schema:
        return " or ".join(to_json_text(value) for value in schema["enum"])
    if choices:
        return " or ".join(dict.fromkeys(_format_type(choice, root) for choice in choices))
    named = schema.get("type", "any")
    if named == "array":
        return f"list of {_format_type(schema.get('items') or {}, root)}"
    return named if isinstance(named, str) else " or ".join(cast("list[str]", named))


def _to_one_line(text: str) -> str:
    return " ".join(text.split())


class TextDialect(Struct, frozen=True):
    """Forms of call in text; see `core.seams.Dialect`.

    spell       writes calls as a model of that family would in one reply
    thoughts    the frames around thinking, besides those that are always recognised
    noise       tokens without a meaning, which are dropped
    strictness  `open`: the model is known to write these forms, so they count anywhere; `careful`: forms that people type
                count only where a call may stand; `strict`, for models with native calling: only what
                can hardly be anything but a call
    forward     calls by names that aren't offered count too, for an engine that answers them with a problem
    """

    name: str
    forms: tuple[Form | FencedForm, ...]
    lesson: str
    spell: Callable[[Sequence[Call]], str]
    thoughts: tuple[ThinkingFrame, ...] = ()
    noise: tuple[str, ...] = ()
    ear: Strictness = "open"
    forward: bool = False

    def explain(self, tools: Sequence[ToolSpec]) -> str:
        """Return the instructions that explain the tools to a model; empty without tools."""
        if not tools:
            return ""
        ending = "After your calls, stop and wait for their results. Where no tool is needed, just answer."
        return f"You can use these tools:\n{format_tool_listing(tools)}\n\n{self.lesson}\n{ending}"

    def parser(self, tools: Sequence[ToolSpec], reasoning_open: bool | None = None) -> Parser:
        """Return a parser for one reply to a request that offered these tools; see `core.seams.Dialect`."""
        of = compile_rules(self.forms, self.thoughts, self.noise, self.ear)
        return ReplyParser(of, OfferedTools(tools, forward=self.forward), reasoning_open)
