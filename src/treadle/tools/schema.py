"""A function's signature as the JSON schema a model is told, and as what it takes to call the function with what comes back.

It reads annotations, defaults and the docstring; it calls nothing. Conversion of arguments is `convert`.
"""

from collections.abc import Callable, Iterable
from types import UnionType
from typing import Annotated, Any, Literal, Union, cast, get_args, get_origin

from msgspec import Struct

from treadle.core.context import RunContext
from treadle.core.errors import BadTool
from treadle.core.requests import ToolSpec
from treadle.tools.docstring import Docstring, read_docstring
from treadle.tools.readers import reader_of
from treadle.tools.shapes import NOTHING, looked_up, name_of, peel
from treadle.tools.written import Writer

__all__ = ["Parameter", "Signature", "reader_of", "schema_of", "to_anthropic", "to_openai", "type_schema"]

Kind = Literal["positional", "plain", "keyword", "rest", "extra"]
Schema = dict[str, Any]


class Parameter(Struct, frozen=True):
    """One parameter of a function.

    positional  by position only
    plain       by position or by name
    keyword     by name only
    rest        `*args`: told to the model as a list
    extra       `**kwargs`: any other argument
    """

    name: str
    kind: Kind
    annotation: Any
    default: Any = NOTHING


class Signature(Struct, frozen=True):
    """A function as a model is told of it, and what is needed to call it. `context` names the parameter that gets the run."""

    name: str
    description: str
    parameters: Schema
    context: str | None
    inputs: tuple[Parameter, ...]

    @property
    def annotations(self) -> dict[str, Any]:
        """The annotation of each parameter that the model fills in."""
        return {each.name: each.annotation for each in self.inputs if each.name != self.context}


def schema_of(function: Callable[..., Any]) -> Signature:
    """What a model has to know to call a function. `BadTool` where it can't be told."""
    name = name_of_function(function)
    inputs = _inputs(function, name)
    context = _context(inputs, name)
    text = read_docstring(_documentation(function))
    told = [each for each in inputs if each.name != context]
    return Signature(name, text.summary, _arguments(told, text, name), context, tuple(inputs))


def _arguments(told: list[Parameter], text: Docstring, name: str) -> Schema:
    """The schema of all arguments together."""
    writer = Writer()
    properties: Schema = {}
    others: Any = False
    for each in told:
        schema = _argument(each, writer, text.parameters.get(each.name, ""), name)
        if each.kind == "extra":
            others = schema or True
        else:
            properties[each.name] = schema
    required = [each.name for each in told if each.default is NOTHING and each.kind not in ("rest", "extra")]
    arguments = {"type": "object", "properties": properties, "required": required, "additionalProperties": others}
    return arguments | ({"$defs": writer.definitions} if writer.definitions else {})


def _argument(parameter: Parameter, writer: Writer, text: str, name: str) -> Schema:
    annotation = Iterable[parameter.annotation] if parameter.kind == "rest" else parameter.annotation
    try:
        return writer.field(annotation, parameter.default, text)
    except Exception as error:  # classes of other libraries describe themselves here, and fail in any way
        raise BadTool(
            f"The parameter {parameter.name} of {name} has a type that no model can be told: {error}. "
            "Use types that JSON can carry, such as str, int, float, bool, list, dict, a dataclass or a pydantic model."
        ) from error


def type_schema(annotation: Any) -> Schema:
    """The schema of a type by itself; `reader_of` makes values of it. `BadTool` where it can't be told."""
    writer = Writer()
    try:
        schema = writer.write(annotation)
    except Exception as error:  # classes of other libraries describe themselves here, and fail in any way
        raise BadTool(f"No model can be told of {name_of(annotation)}: {error}.") from error
    return schema | ({"$defs": writer.definitions} if writer.definitions else {})


def to_openai(spec: ToolSpec) -> dict[str, Any]:
    """A tool as OpenAI's interface, and all that follow it, want it told."""
    function = {"name": spec.name, "description": spec.description, "parameters": {"type": "object", **spec.parameters}}
    return {"type": "function", "function": function}


def to_anthropic(spec: ToolSpec) -> dict[str, Any]:
    """A tool as Anthropic's interface wants it told."""
    return {"name": spec.name, "description": spec.description, "input_schema": {"type": "object", **spec.parameters}}


# The function behind whatever was handed in


def innermost(function: Any) -> Any:
    """The plain function behind partials, decorators, methods and callable objects."""
    while True:
        if hasattr(function, "__wrapped__"):
            function = function.__wrapped__
        elif hasattr(function, "func") and hasattr(function, "keywords"):
            function = function.func
        elif hasattr(function, "__func__"):
            function = function.__func__
        else:
            break
    method = None if hasattr(function, "__code__") else getattr(function.__call__, "__func__", None)
    return function if method is None else innermost(method)  # of an object whose class was written to be called


def name_of_function(function: Any) -> str:
    """The name of a function, a partial's function, or a callable object's class."""
    while not hasattr(function, "__name__") and hasattr(function, "func"):
        function = function.func
    return cast("str", getattr(function, "__name__", type(function).__name__))


def _documentation(function: Any) -> str:
    own = None if hasattr(function, "func") else getattr(function, "__doc__", None)
    return own or getattr(innermost(function), "__doc__", None) or ""


def _inputs(function: Any, name: str) -> list[Parameter]:
    from inspect import signature

    try:
        found = list(signature(function).parameters.values())
    except (TypeError, ValueError, NameError) as error:
        reason = f"Python doesn't know its parameters ({error})"
        raise BadTool(f"{name} can't be offered as a tool: {reason}. Wrap it in a function.") from error
    fixed = getattr(function, "keywords", {}) if hasattr(function, "func") else {}
    hints = _hints(function, {each.name: each.annotation for each in found if each.annotation is not each.empty}, name)
    return [_input(each, hints, name) for each in found if each.name not in fixed]


def _hints(function: Any, annotations: dict[str, Any], name: str) -> dict[str, Any]:
    """The annotations of the parameters, those that are text looked up where the function was written."""
    source = innermost(function)
    names = getattr(source, "__globals__", None) or getattr(getattr(source, "__init__", None), "__globals__", {})
    try:
        return looked_up(annotations, names)
    except Exception as error:  # an annotation may be any expression, and fail in any way
        raise BadTool(
            f"The annotations of {name} can't be read ({error}). Write types that can be found when the program runs: "
            "defined or imported at the top of the file, not under `if TYPE_CHECKING`."
        ) from error


def _input(found: Any, hints: dict[str, Any], name: str) -> Parameter:
    kinds: dict[str, Kind] = {
        "POSITIONAL_ONLY": "positional",
        "POSITIONAL_OR_KEYWORD": "plain",
        "KEYWORD_ONLY": "keyword",
        "VAR_POSITIONAL": "rest",
        "VAR_KEYWORD": "extra",
    }
    default = NOTHING if found.default is found.empty else found.default
    if type(default).__name__ == "FieldInfo":
        advice = f"write `{found.name}: Annotated[..., Field(...)]`, with the default after it if there is one"
        raise BadTool(f"The default of {found.name} of {name} is a pydantic Field, which only a model has; {advice}.")
    if found.name in hints:
        hint = _or_none(hints[found.name]) if default is None else hints[found.name]
        return Parameter(found.name, kinds[found.kind.name], hint, default)
    if default is NOTHING or default is None:
        raise BadTool(_untyped(found.name, name))
    return Parameter(found.name, kinds[found.kind.name], cast("Any", type(default)), default)


def _or_none(annotation: Any) -> Any:
    """A parameter whose default is None takes None, whether its type says so or not."""
    bare, extras = peel(annotation)
    annotated: Any = Annotated
    try:
        return annotated[(bare | None, *reversed(extras))] if extras else bare | None
    except TypeError:  # no type at all, which is said when its schema is written
        return annotation


def _untyped(parameter: str, name: str) -> str:
    if parameter in ("self", "cls"):
        return f"{name} is a method without its object; offer it from an instance, as in `thing.{name}`."
    return f"The parameter {parameter} of {name} has no type; write one, as in `{parameter}: str`."


def _context(inputs: list[Parameter], name: str) -> str | None:
    found = [each.name for each in inputs if _is_context(each.annotation)]
    if len(found) > 1:
        raise BadTool(f"{name} takes the run twice, as {' and '.join(found)}; keep one of them.")
    return found[0] if found else None


def _is_context(annotation: Any) -> bool:
    bare, _ = peel(annotation)
    origin = get_origin(bare) or bare
    if origin is Union or origin is UnionType:
        return any(map(_is_context, get_args(bare)))
    return isinstance(origin, type) and issubclass(origin, RunContext)
