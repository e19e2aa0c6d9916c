"""A function's signature as the JSON schema for the model, and as what is needed to call the function.

It reads annotations, defaults and the docstring; it calls nothing. Conversion of arguments is in `convert`.
"""

from collections.abc import Callable, Iterable
from types import UnionType
from typing import Annotated, Any, Literal, Union, cast, get_args, get_origin

from msgspec import Struct

from treadle.core.context import RunContext
from treadle.core.errors import BadTool
from treadle.core.requests import ToolSpec
from treadle.tools.docstring import Docstring, read_docstring
from treadle.tools.readers import make_reader
from treadle.tools.schema_writer import SchemaWriter
from treadle.tools.shapes import NO_DEFAULT, annotation_name, pydantic_shape, resolve_annotations, strip_annotation

__all__ = [
    "FunctionParameter",
    "FunctionSignature",
    "make_reader",
    "read_return_type",
    "read_signature",
    "to_anthropic",
    "to_openai",
    "type_schema",
]

ParameterKind = Literal["positional", "plain", "keyword", "rest", "extra"]
Schema = dict[str, Any]


class FunctionParameter(Struct, frozen=True):
    """One parameter of a function.

    positional  by position only
    plain       by position or by name
    keyword     by name only
    rest        `*args`: a list for the model
    extra       `**kwargs`: any other argument
    """

    name: str
    kind: ParameterKind
    annotation: Any
    default: Any = NO_DEFAULT


class FunctionSignature(Struct, frozen=True):
    """A function as the model sees it, and what is needed to call it. `context` names the parameter that gets the run."""

    name: str
    description: str
    parameters: Schema
    context: str | None
    inputs: tuple[FunctionParameter, ...]

    @property
    def annotations(self) -> dict[str, Any]:
        """The annotation of each parameter that the model fills in."""
        return {each.name: each.annotation for each in self.inputs if each.name != self.context}


def read_signature(function: Callable[..., Any]) -> FunctionSignature:
    """Read the signature of a function for a model. Raises `BadTool` where it can't be expressed."""
    name = function_name(function)
    inputs = _read_parameters(function, name)
    context = _find_context(inputs, name)
    text = read_docstring(_find_docstring(function))
    told = [each for each in inputs if each.name != context]
    return FunctionSignature(name, text.summary, _arguments_schema(told, text, name), context, tuple(inputs))


def read_return_type(function: Callable[..., Any]) -> Any:
    """Return the return annotation of a function; `Any` where it has none."""
    annotations: dict[str, Any] = getattr(unwrap_function(function), "__annotations__", {})
    if "return" not in annotations:
        return Any
    return _resolve_hints(function, {"return": annotations["return"]}, function_name(function))["return"]


def _arguments_schema(told: list[FunctionParameter], text: Docstring, name: str) -> Schema:
    """Return the schema of all arguments together."""
    writer = SchemaWriter()
    properties: Schema = {}
    others: Any = False
    for each in told:
        schema = _argument_schema(each, writer, text.parameters.get(each.name, ""), name)
        if each.kind == "extra":
            others = schema or True
        else:
            properties[each.name] = schema
    required = [each.name for each in told if each.default is NO_DEFAULT and each.kind not in ("rest", "extra")]
    arguments = {"type": "object", "properties": properties, "required": required, "additionalProperties": others}
    return arguments | ({"$defs": writer.definitions} if writer.definitions else {})


def _argument_schema(parameter: FunctionParameter, writer: SchemaWriter, text: str, name: str) -> Schema:
    annotation = Iterable[parameter.annotation] if parameter.kind == "rest" else parameter.annotation
    try:
        return writer.field(annotation, parameter.default, text)
    except Exception as error:  # classes of other libraries describe themselves here, and fail in any way
        raise BadTool(
            f"The parameter {parameter.name} of {name} has a type that no model can be told: {error}. "
            "Use types that JSON can carry, such as str, int, float, bool, list, dict, a dataclass or a pydantic model."
        ) from error


def type_schema(annotation: Any) -> Schema:
    """Return the schema of a type by itself; `make_reader` converts its values. Raises `BadTool` where it can't be expressed."""
    writer = SchemaWriter()
    try:
        schema = writer.write(annotation)
    except Exception as error:  # classes of other libraries describe themselves here, and fail in any way
        raise BadTool(f"No model can be told of {annotation_name(annotation)}: {error}.") from error
    return schema | ({"$defs": writer.definitions} if writer.definitions else {})


def to_openai(spec: ToolSpec) -> dict[str, Any]:
    """Return a tool in the format of OpenAI's API and its compatibles."""
    function = {"name": spec.name, "description": spec.description, "parameters": {"type": "object", **spec.parameters}}
    return {"type": "function", "function": function}


def to_anthropic(spec: ToolSpec) -> dict[str, Any]:
    """Return a tool in the format of Anthropic's API."""
    return {"name": spec.name, "description": spec.description, "input_schema": {"type": "object", **spec.parameters}}


# The function behind whatever was handed in


def unwrap_function(function: Any) -> Any:
    """Return the plain function behind partials, decorators, methods and callable objects."""
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
    return function if method is None else unwrap_function(method)  # of an object whose class was written to be called


def function_name(function: Any) -> str:
    """Return the name of a function, a partial's function, or a callable object's class."""
    while not hasattr(function, "__name__") and hasattr(function, "func"):
        function = function.func
    return cast("str", getattr(function, "__name__", type(function).__name__))


def _find_docstring(function: Any) -> str:
    own = None if hasattr(function, "func") else getattr(function, "__doc__", None)
    return own or getattr(unwrap_function(function), "__doc__", None) or ""


def _read_parameters(function: Any, name: str) -> list[FunctionParameter]:
    from inspect import signature

    try:
        found = list(signature(function).parameters.values())
    except (TypeError, ValueError, NameError) as error:
        reason = f"Python doesn't know its parameters ({error})"
        raise BadTool(f"{name} can't be offered as a tool: {reason}. Wrap it in a function.") from error
    fixed = getattr(function, "keywords", {}) if hasattr(function, "func") else {}
    hints = _resolve_hints(function, {each.name: each.annotation for each in found if each.annotation is not each.empty}, name)
    return [_read_parameter(each, hints, name) for each in found if each.name not in fixed]


def _resolve_hints(function: Any, annotations: dict[str, Any], name: str) -> dict[str, Any]:
    """Resolve the annotations of the parameters, those that are strings in the function's own namespace."""
    source = unwrap_function(function)
    names = getattr(source, "__globals__", None) or getattr(getattr(source, "__init__", None), "__globals__", {})
    try:
        return resolve_annotations(annotations, names)
    except Exception as error:  # an annotation may be any expression, and fail in any way
        raise BadTool(
            f"The annotations of {name} can't be read ({error}). Write types that can be found when the program runs: "
            "defined or imported at the top of the file, not under `if TYPE_CHECKING`."
        ) from error


def _read_parameter(found: Any, hints: dict[str, Any], name: str) -> FunctionParameter:
    kinds: dict[str, ParameterKind] = {
        "POSITIONAL_ONLY": "positional",
        "POSITIONAL_OR_KEYWORD": "plain",
        "KEYWORD_ONLY": "keyword",
        "VAR_POSITIONAL": "rest",
        "VAR_KEYWORD": "extra",
    }
    default = NO_DEFAULT if found.default is found.empty else found.default
    if type(default).__name__ == "FieldInfo":
        advice = f"write `{found.name}: Annotated[..., Field(...)]`, with the default after it if there is one"
        raise BadTool(f"The default of {found.name} of {name} is a pydantic Field, which only a model has; {advice}.")
    if found.name in hints:
        hint = _make_optional(hints[found.name]) if default is None else hints[found.name]
        return FunctionParameter(found.name, kinds[found.kind.name], hint, default)
    if default is NO_DEFAULT or default is None:
        raise BadTool(_untyped_message(found.name, name))
    return FunctionParameter(found.name, kinds[found.kind.name], cast("Any", type(default)), default)


def _make_optional(annotation: Any) -> Any:
    """Return the annotation of a parameter whose default is None: it accepts None, whether its type says so or not."""
    bare, extras = strip_annotation(annotation)
    annotated: Any = Annotated
    try:
        if pydantic_shape(annotation) is not None:  # its validators are about a value, not about None
            return annotation | None
        return annotated[(bare | None, *reversed(extras))] if extras else bare | None
    except TypeError:  # no type at all, which is said when its schema is written
        return annotation


def _untyped_message(parameter: str, name: str) -> str:
    if parameter in ("self", "cls"):
        return f"{name} is a method without its object; offer it from an instance, as in `thing.{name}`."
    return f"The parameter {parameter} of {name} has no type; write one, as in `{parameter}: str`."


def _find_context(inputs: list[FunctionParameter], name: str) -> str | None:
    found = [each.name for each in inputs if is_context(each.annotation)]
    if len(found) > 1:
        raise BadTool(f"{name} takes the run twice, as {' and '.join(found)}; keep one of them.")
    return found[0] if found else None


def is_context(annotation: Any) -> bool:
    """Return whether a parameter of this type gets the run's context."""
    bare, _ = strip_annotation(annotation)
    origin = get_origin(bare) or bare
    if origin is Union or origin is UnionType:
        return any(map(is_context, get_args(bare)))
    return isinstance(origin, type) and issubclass(origin, RunContext)
