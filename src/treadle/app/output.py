"""Structured output: a type, or a JSON schema, becomes a tool whose arguments are the answer: any model that calls can give it."""

from typing import Any

from treadle.core.requests import ToolSpec
from treadle.core.tool import Tool
from treadle.engine.setup import Output
from treadle.tools.readers import reader_of
from treadle.tools.schema import type_schema
from treadle.tools.values import as_object

NAME = "give_answer"


def output_of(wanted: Any) -> Output | None:
    """How an answer of this type, or one that fits this JSON schema, is asked for; None for plain text."""
    if wanted is str or wanted is None:
        return None
    given = as_object(wanted)
    schema, read = (type_schema(wanted), reader_of(wanted)) if given is None else (given, _as_it_is)
    if schema.get("type") == "object" and ("properties" in schema or given is not None):
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


def _as_it_is(value: Any) -> Any:
    """A value that is wanted as JSON."""
    return value


def _without_defs(schema: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in schema.items() if key != "$defs"}


def _tool(schema: dict[str, Any]) -> Tool:
    words = "Give your final answer by calling this, once you have it. Nothing else counts as the answer."
    return Tool(ToolSpec(NAME, words, schema), effect="read", retry="read", toolset="treadle")
