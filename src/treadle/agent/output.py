"""Structured output: a type, a JSON schema or a function becomes a schema for servers that enforce one, and a tool for all others.

The tool's arguments are the answer, so any model that calls tools can give it. A union with `str` takes plain text too. A type
whose answers may also come as text parses them with a static method `from_words` (see `engine.setup.Output`).
"""

from collections.abc import Callable, Sequence
from inspect import isawaitable, isroutine
from types import UnionType
from typing import Any, Literal, Union, cast, get_args, get_origin

from msgspec.structs import replace

from treadle.core.context import RunContext
from treadle.core.errors import BadTool, SettingsError
from treadle.core.requests import ToolSpec
from treadle.core.seams import Model
from treadle.core.tool import Tool
from treadle.engine.output_reader import to_output_data
from treadle.engine.setup import Output, OutputValidator
from treadle.tools.convert import make_binder
from treadle.tools.readers import make_reader
from treadle.tools.schema import read_return_type, read_signature, type_schema
from treadle.tools.shapes import annotation_name
from treadle.tools.tool import FunctionTool
from treadle.tools.values import as_object

OUTPUT_TOOL = "give_answer"

OutputMode = Literal["auto", "native", "tool"]

_GIVE = "Give your final answer by calling this, once you have it. Nothing else counts as the answer."
_GIVE_OR_SAY = "Give your final answer by calling this, where it has this form. Otherwise answer in plain text."


def choose_output(
    wanted: Any, model: Model, mode: OutputMode = "auto", validators: Sequence[OutputValidator] = (), *, grounded: bool = False
) -> Output | None:
    """Return how to request output of this type: natively where the server takes the schema, unless `mode` says otherwise."""
    output = output_of(wanted)
    if validators or grounded:
        output = replace(output or Output(None, _identity, takes_text=True), validators=tuple(validators), grounded=grounded)
        if grounded and not output.takes_text:
            raise SettingsError("`grounded` checks answers in text; leave it out, or take text too: output_type=… | str.")
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
    """Return how to request output of this type, JSON schema or function; None for plain text."""
    if wanted is str or wanted is None:
        return None
    if isroutine(wanted) or isinstance(wanted, FunctionTool):
        return _function_output(cast("Callable[..., Any]", wanted))
    rest = _without_text(wanted)
    if rest is not wanted:  # a server that enforces a schema would make an object of any text
        output = _type_output(rest, _GIVE_OR_SAY)
        return replace(output, shape=None, takes_text=True)
    given = as_object(wanted)
    return _type_output(wanted) if given is None else _schema_output(given, _identity)


def _without_text(wanted: Any) -> Any:
    """Return a union without its `str`; anything else as it is. Of `str | None` nothing would be left to call a tool with."""
    if get_origin(wanted) not in (Union, UnionType) or str not in get_args(wanted):
        return wanted
    rest = [branch for branch in get_args(wanted) if branch is not str]
    return wanted if rest == [type(None)] else Union[tuple(rest)]  # noqa: UP007 - of a list that is known only here


def _type_output(wanted: Any, description: str = _GIVE) -> Output:
    output = _schema_output(_schema_of(wanted), make_reader(wanted, OUTPUT_TOOL), description)
    return output if output.wraps else replace(output, from_words=getattr(wanted, "from_words", None))


def _schema_output(schema: dict[str, Any], read: Callable[[Any], Any], description: str = _GIVE) -> Output:
    """Return the output of a schema; a schema that isn't an object's becomes the property `value` of one."""
    from treadle.models.schemas import to_answer_schema  # most agents answer in text

    if schema.get("type") == "object" and ("properties" in schema or read is _identity):
        return Output(_make_tool(OUTPUT_TOOL, description, schema), read, to_answer_schema(schema))
    inner = {key: value for key, value in schema.items() if key != "$defs"}
    wrapped = {"type": "object", "properties": {"value": inner}, "required": ["value"], "additionalProperties": False}
    if "$defs" in schema:
        wrapped["$defs"] = schema["$defs"]
    tool = _make_tool(OUTPUT_TOOL, description, wrapped)
    return Output(tool, lambda answer: read(answer["value"]), to_answer_schema(wrapped), wraps=True)


def _function_output(function: Callable[..., Any]) -> Output:
    """Return the output of a function: its arguments are the answer, its return value is the output, and is journaled as JSON."""
    from treadle.models.schemas import to_answer_schema

    if isinstance(function, FunctionTool):
        made = cast("FunctionTool", function)
        if made.tool.effect != "read":
            raise SettingsError(
                f"{made.tool.name} has an effect, and an output function only computes the output: "
                f'put it into tools=[…], or mark it with @tool(effect="read").'
            )
        function = made.function
    signature = read_signature(function)
    bind, returns = make_binder(signature), read_return_type(function)
    type_schema(returns)  # raises where no JSON can carry it
    read = make_reader(returns, signature.name)

    async def apply(arguments: dict[str, Any], context: RunContext[Any]) -> dict[str, Any]:
        args, kwargs = bind(arguments, context)
        value = function(*args, **kwargs)
        return {"value": to_output_data(await value if isawaitable(value) else value)}

    description = signature.description or _GIVE
    tool = _make_tool(signature.name, description, signature.parameters)
    shape = to_answer_schema(signature.parameters)
    return Output(tool, lambda answer: read(answer["value"]), shape, wraps=True, function=apply)


def _schema_of(wanted: Any) -> dict[str, Any]:
    try:
        return type_schema(wanted)
    except BadTool as error:
        if isinstance(wanted, list | tuple):
            union = " | ".join([annotation_name(each) for each in cast("Sequence[Any]", wanted)])
            raise SettingsError(f"`output_type` takes one type; several are a union: write output_type={union}.") from error
        kinds = "str, int, list[str], a dataclass, a TypedDict, a msgspec Struct or a pydantic model"
        raise SettingsError(f"`output_type` takes a type whose values JSON can express, such as {kinds}. {error}") from error


def _identity(value: Any) -> Any:
    """Return a value that is wanted as JSON, unchanged."""
    return value


def _make_tool(name: str, description: str, schema: dict[str, Any]) -> Tool:
    return Tool(ToolSpec(name, description, schema), effect="read", retry="read", toolset="treadle")
