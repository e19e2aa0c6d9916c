"""The tool listing for a model without native calling: a line per tool, and one for each argument that needs explaining."""

from collections.abc import Sequence
from typing import Any, cast

from treadle.core.requests import ToolSpec
from treadle.dialects.forms import to_json_text
from treadle.dialects.schema_values import resolve_reference

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
