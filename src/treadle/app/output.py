"""Structured output: a type becomes a tool whose arguments are the answer, so any model that can call tools can give it."""

from typing import Any

from treadle.core.requests import ToolSpec
from treadle.core.tool import Tool
from treadle.engine.setup import Output
from treadle.tools.readers import reader_of
from treadle.tools.schema import type_schema

NAME = "give_answer"


def output_of(wanted: Any) -> Output | None:
    """How an answer of this type is asked for; None for plain text."""
    if wanted is str or wanted is None:
        return None
    schema, read = type_schema(wanted), reader_of(wanted)
    if schema.get("type") == "object" and "properties" in schema:
        return Output(_tool(schema), read)
    wrapped = {
        "type": "object",
        "properties": {"value": _without_defs(schema)},
        "required": ["value"],
        "additionalProperties": False,
    }
    if "$defs" in schema:
        wrapped["$defs"] = schema["$defs"]
    return Output(_tool(wrapped), lambda arguments: read(arguments["value"]))


def _without_defs(schema: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in schema.items() if key != "$defs"}


def _tool(schema: dict[str, Any]) -> Tool:
    words = "Give your final answer by calling this, once you have it. Nothing else counts as the answer."
    return Tool(ToolSpec(NAME, words, schema), effect="read", retry="read", toolset="treadle")
