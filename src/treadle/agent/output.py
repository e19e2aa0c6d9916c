"""Structured output: a type or a JSON schema becomes a schema for servers that enforce one, and a tool for all others.

The tool's arguments are the answer, so any model that calls tools can give it. A type whose answers may also come
as text parses them with a static method `from_words` (see `engine.setup.Output`).
"""

from collections.abc import Callable
from typing import Any, Literal

from msgspec.structs import replace

from treadle.core.errors import SettingsError
from treadle.core.requests import ToolSpec
from treadle.core.seams import Model
from treadle.core.tool import Tool
from treadle.engine.setup import Output
from treadle.models.schemas import to_answer_schema
from treadle.tools.readers import make_reader
from treadle.tools.schema import type_schema
from treadle.tools.values import as_object

OUTPUT_TOOL = "give_answer"

OutputMode = Literal["auto", "native", "tool"]


def choose_output(wanted: Any, model: Model, mode: OutputMode = "auto") -> Output | None:
    """Return how to request output of this type: natively where the server takes the schema, unless `mode` says otherwise."""
    output = output_of(wanted)
    if output is None or mode == "auto":
        return output
    if mode == "tool":
        return replace(output, shape=None)
    if model.traits.structured_output == "no":
        raise SettingsError(f'{model.name} has no native structured output; use output_mode="tool", or leave it out.')
    if output.shape is None:
        raise SettingsError(
            f'{wanted!r} can\'t be written as native structured output takes it; use output_mode="tool", or leave it out.'
        )
    return output


def output_of(wanted: Any) -> Output | None:
    """Return how to request output of this type or JSON schema; None for plain text."""
    if wanted is str or wanted is None:
        return None
    given = as_object(wanted)
    schema, read = (type_schema(wanted), make_reader(wanted)) if given is None else (given, _identity)
    if schema.get("type") == "object" and ("properties" in schema or given is not None):
        return replace(_make_output(schema, read), from_words=getattr(wanted, "from_words", None))
    wrapped = {
        "type": "object",
        "properties": {"value": _drop_defs(schema)},
        "required": ["value"],
        "additionalProperties": False,
    }
    if "$defs" in schema:
        wrapped["$defs"] = schema["$defs"]
    return _make_output(wrapped, lambda arguments: read(arguments["value"]))


def _make_output(schema: dict[str, Any], read: Callable[[Any], Any]) -> Output:
    return Output(_make_tool(schema), read, to_answer_schema(schema))


def _identity(value: Any) -> Any:
    """Return a value that is wanted as JSON, unchanged."""
    return value


def _drop_defs(schema: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in schema.items() if key != "$defs"}


def _make_tool(schema: dict[str, Any]) -> Tool:
    words = "Give your final answer by calling this, once you have it. Nothing else counts as the answer."
    return Tool(ToolSpec(OUTPUT_TOOL, words, schema), effect="read", retry="read", toolset="treadle")
