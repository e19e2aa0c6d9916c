"""Tools as a model without native calling is told of them: a line each, and one for each argument that has something to say."""

from collections.abc import Sequence
from typing import Any, cast

from treadle.core.requests import ToolSpec
from treadle.dialects.forms import json_text
from treadle.dialects.typed import resolved

_Schema = dict[str, Any]


def listing(tools: Sequence[ToolSpec]) -> str:
    """All tools, compactly."""
    return "\n".join(_entry(tool) for tool in tools)


def _entry(tool: ToolSpec) -> str:
    properties = cast("dict[str, _Schema]", tool.parameters.get("properties") or {})
    required = cast("list[str]", tool.parameters.get("required") or [])
    arguments = [_argument(key, schema, key in required, tool.parameters) for key, schema in properties.items()]
    told = [f"    {key}: {_one_line(schema['description'])}" for key, schema in properties.items() if schema.get("description")]
    return "\n".join([f"- {tool.name}({', '.join(arguments)}): {_one_line(tool.description)}".rstrip(": "), *told])


def _argument(key: str, schema: _Schema, required: bool, root: _Schema) -> str:
    default = f" = {json_text(schema['default'])}" if schema.get("default") is not None else ""
    return f"{key}{'' if required else '?'}: {_type(schema, root)}{default}"


def _type(schema: _Schema, root: _Schema) -> str:
    schema = resolved(schema, root)
    choices = cast("list[_Schema]", schema.get("anyOf") or schema.get("oneOf") or ())
    if "enum" in schema:
        return " or ".join(json_text(value) for value in schema["enum"])
    if choices:
        return " or ".join(dict.fromkeys(_type(choice, root) for choice in choices))
    named = schema.get("type", "any")
    if named == "array":
        return f"list of {_type(schema.get('items') or {}, root)}"
    return named if isinstance(named, str) else " or ".join(cast("list[str]", named))


def _one_line(text: str) -> str:
    return " ".join(text.split())
