"""What an annotation asks for, as one of a few shapes. `schema` tells the model of them, `convert` makes Python values of JSON.

One level at a time: what is inside a shape are annotations again. Modules that only some tools need (dataclasses, enum, pydantic …)
are never imported here: a class that comes from one brings it along.
"""

import sys
from collections.abc import Callable, Mapping
from functools import reduce
from types import UnionType
from typing import Annotated, Any, Literal, NewType, TypeVar, Union, cast, get_args, get_origin, get_type_hints

from msgspec import Struct

from treadle.core.errors import BadTool

Build = Callable[[Any], Any]


class Nothing(Struct, frozen=True):
    """Where there is no default; None is one."""


NOTHING: Any = Nothing()


class Plain(Struct, frozen=True):
    """A JSON value that Python takes as it is; `type` is empty for one of any type."""

    type: str


class Scalar(Struct, frozen=True):
    """One value written in JSON as text or number: a date, an identifier, a path."""

    schema: dict[str, Any]
    build: Build
    expected: str


class Options(Struct, frozen=True):
    """One of a few values, each as JSON and as Python has it."""

    pairs: tuple[tuple[Any, Any], ...]


class Either(Struct, frozen=True):
    """One of several annotations, the first that fits."""

    branches: tuple[Any, ...]


class Many(Struct, frozen=True):
    """Any number of the same; `build` makes of a list what is wanted, None leaves it."""

    item: Any
    build: Build | None
    unique: bool = False


class Row(Struct, frozen=True):
    """A fixed number of values, each with its own annotation."""

    items: tuple[Any, ...]


class Table(Struct, frozen=True):
    """Values by name; `build` makes of a dict what is wanted, None leaves it."""

    key: Any
    value: Any
    build: Build | None


class Field(Struct, frozen=True):
    """One field of a record: `name` in Python (none for a tag that only JSON has), `key` in JSON."""

    name: str
    key: str
    annotation: Any
    required: bool
    default: Any = NOTHING


class Record(Struct, frozen=True):
    """A class with fields; `build` takes them by name."""

    type: Any
    fields: tuple[Field, ...]
    build: Callable[..., Any]


class Foreign(Struct, frozen=True):
    """A class that brings its own schema and its own way to be made of JSON."""

    type: Any
    schema: Callable[[], dict[str, Any]]
    build: Build


class Alias(Struct, frozen=True):
    """A name for another annotation, which may mention it again."""

    name: str
    value: Any


Shape = Plain | Scalar | Options | Either | Many | Row | Table | Record | Foreign | Alias

_PLAIN: dict[Any, str] = {
    Any: "",
    object: "",
    str: "string",
    int: "integer",
    float: "number",
    bool: "boolean",
    None: "null",
    type(None): "null",
}
_TRANSPARENT = frozenset(("Required", "NotRequired", "ReadOnly", "Final"))


def peel(annotation: Any) -> tuple[Any, tuple[Any, ...]]:
    """An annotation without `Annotated`, `NewType` and the like, and what `Annotated` said, innermost last."""
    extras: tuple[Any, ...] = ()
    while True:
        origin = get_origin(annotation)
        if origin is Annotated:
            extras = (*extras, *reversed(annotation.__metadata__))
            annotation = annotation.__origin__
        elif getattr(origin, "_name", None) in _TRANSPARENT:
            annotation = get_args(annotation)[0]
        elif isinstance(annotation, NewType):
            annotation = annotation.__supertype__
        elif isinstance(annotation, TypeVar):
            annotation = annotation.__bound__ or _union_of(annotation.__constraints__)
        elif type(annotation).__name__ == "InitVar":
            annotation = annotation.type
        else:
            return annotation, extras


def _union_of(annotations: tuple[Any, ...]) -> Any:
    return reduce(lambda one, other: one | other, annotations) if annotations else Any


def shape_of(annotation: Any) -> Shape:
    """The shape of a peeled annotation; `BadTool` for one that can't be told to a model."""
    try:
        plain = _PLAIN.get(annotation)
    except TypeError:  # not hashable, so no type
        plain = None
    if plain is not None:
        return Plain(plain)
    for reading in (_alias, _union, _literal, _container, _foreign, _enumeration, _record, _scalar):
        shape = reading(annotation, get_origin(annotation) or annotation, get_args(annotation))
        if shape is not None:
            return shape
    raise BadTool(f"{name_of(annotation)} can't be told to a model")


def name_of(annotation: Any) -> str:
    """An annotation as a person would write it."""
    bare = isinstance(annotation, type) and not get_args(annotation)
    return annotation.__name__ if bare else str(annotation).replace("typing.", "")


def looked_up(annotations: dict[str, Any], names: dict[str, Any]) -> dict[str, Any]:
    """Annotations with those that are text, wholly or in part, replaced by what they name."""

    def holder() -> None: ...

    holder.__annotations__ = annotations
    return get_type_hints(holder, names, include_extras=True)


def _alias(annotation: Any, origin: Any, args: tuple[Any, ...]) -> Shape | None:
    if type(origin).__name__ != "TypeAliasType":
        return None
    value = looked_up({"value": origin.__value__}, vars(sys.modules[origin.__module__]))["value"]
    return Alias(origin.__name__, _filled(value, dict(zip(origin.__type_params__, args, strict=False))))


def _union(annotation: Any, origin: Any, args: tuple[Any, ...]) -> Shape | None:
    return Either(args) if origin is Union or origin is UnionType else None


def _literal(annotation: Any, origin: Any, args: tuple[Any, ...]) -> Shape | None:
    if getattr(annotation, "_name", None) == "LiteralString":
        return Plain("string")
    return Options(tuple((_json_of(value), value) for value in args)) if origin is Literal else None


def _json_of(value: Any) -> Any:
    """An option as JSON: a member of an enum stands for its value."""
    return value.value if _is_member(value) else value


def _is_member(value: Any) -> bool:
    enum = sys.modules.get("enum")
    return enum is not None and isinstance(value, enum.Enum)


def _enumeration(annotation: Any, origin: Any, args: tuple[Any, ...]) -> Shape | None:
    enum = sys.modules.get("enum")
    if enum is None or not isinstance(origin, enum.EnumMeta):
        return None
    members: list[Any] = list(origin)
    by_value = all(isinstance(member.value, str | int | float | None) for member in members)
    return Options(tuple((member.value if by_value else member.name, member) for member in members))


# Containers


def _container(annotation: Any, origin: Any, args: tuple[Any, ...]) -> Shape | None:
    if origin is tuple:
        return _tuple(annotation, args)
    module, name = getattr(origin, "__module__", ""), getattr(origin, "__name__", "")
    if module not in ("builtins", "collections", "collections.abc"):
        return None
    item = args[0] if args else Any
    if name in ("list", "Sequence", "MutableSequence", "Collection", "Iterable"):
        return Many(item, None)
    if name in ("set", "frozenset", "Set", "MutableSet", "deque"):
        return Many(item, {"Set": set, "MutableSet": set}.get(name, origin), unique=name != "deque")
    if name in ("dict", "Mapping", "MutableMapping", "OrderedDict"):
        return Table(args[0] if args else str, args[1] if args else Any, origin if name == "OrderedDict" else None)
    return None


def _tuple(annotation: Any, args: tuple[Any, ...]) -> Shape:
    if len(args) == 2 and args[1] is Ellipsis:
        return Many(args[0], tuple)
    return Row(args) if args or annotation == tuple[()] else Many(Any, tuple)


# Classes


def _foreign(annotation: Any, origin: Any, args: tuple[Any, ...]) -> Shape | None:
    """A pydantic model, known by its methods."""
    if not hasattr(origin, "model_json_schema") or not hasattr(origin, "model_validate"):
        return None
    return Foreign(origin, origin.model_json_schema, origin.model_validate)


def _record(annotation: Any, origin: Any, args: tuple[Any, ...]) -> Shape | None:
    if not isinstance(origin, type):
        return None
    kind = cast("type[Any]", origin)
    fields_of = next((fields_of for known, fields_of in _RECORDS if known(kind)), None)
    return None if fields_of is None else Record(kind, tuple(fields_of(kind, _hints(kind, args))), kind)


def _hints(kind: Any, args: tuple[Any, ...]) -> dict[str, Any]:
    """The annotations of a class, with its type parameters filled in."""
    try:
        hints = get_type_hints(kind, include_extras=True)
    except NameError:  # a class made inside a function may still mention itself
        hints = get_type_hints(kind, localns={kind.__name__: kind}, include_extras=True)
    filled = dict(zip(getattr(kind, "__parameters__", ()), args, strict=False))
    return {name: _filled(hint, filled) for name, hint in hints.items()}


def _filled(annotation: Any, filled: Mapping[Any, Any]) -> Any:
    if isinstance(annotation, TypeVar):
        return filled.get(annotation, annotation)
    parameters = getattr(annotation, "__parameters__", ()) if get_args(annotation) else ()
    return annotation[tuple(filled.get(each, each) for each in parameters)] if parameters else annotation


def _typed_dict_fields(kind: Any, hints: dict[str, Any]) -> list[Field]:
    return [Field(name, name, hint, _is_required(kind, name, hint)) for name, hint in hints.items()]


def _is_required(kind: Any, name: str, hint: Any) -> bool:
    said = getattr(get_origin(hint), "_name", None)  # counts for more: Python can't see it in an annotation that is text
    return said != "NotRequired" and (said == "Required" or name in kind.__required_keys__)


def _struct_fields(kind: Any, hints: dict[str, Any]) -> list[Field]:
    from msgspec import NODEFAULT
    from msgspec.structs import fields

    config = kind.__struct_config__
    tag = [] if config.tag is None else [Field("", config.tag_field, Literal[config.tag], required=True)]
    return tag + [
        Field(each.name, each.encode_name, hints[each.name], each.required, _default(each.default, NODEFAULT))
        for each in fields(kind)
    ]


def _called_fields(kind: Any, hints: dict[str, Any]) -> list[Field]:
    """The fields of a class that is made by calling it: what the call takes."""
    from inspect import Parameter, signature

    return [
        Field(name, name, hints.get(name, Any), parameter.default is Parameter.empty, _default(parameter.default, Parameter.empty))
        for name, parameter in signature(kind).parameters.items()
    ]


def _default(default: Any, nothing: Any) -> Any:
    return NOTHING if default is nothing else default


def _is_typed_dict(kind: type[Any]) -> bool:
    return dict in kind.__mro__ and hasattr(kind, "__required_keys__")


def _is_struct(kind: type[Any]) -> bool:
    return Struct in kind.__mro__


def _is_called(kind: type[Any]) -> bool:
    return hasattr(kind, "__dataclass_fields__") or (tuple in kind.__mro__ and hasattr(kind, "_fields"))


_RECORDS: tuple[tuple[Callable[[type[Any]], bool], Callable[[Any, dict[str, Any]], list[Field]]], ...] = (
    (_is_typed_dict, _typed_dict_fields),
    (_is_struct, _struct_fields),
    (_is_called, _called_fields),
)


# Values that JSON writes as text


def _scalar(annotation: Any, origin: Any, args: tuple[Any, ...]) -> Shape | None:
    if not isinstance(origin, type):
        return None
    if any(base.__name__ == "PurePath" for base in origin.__mro__):
        return Scalar({"type": "string"}, origin, "a path")
    make = _SCALARS.get(f"{origin.__module__}.{origin.__name__}")
    return None if make is None else make(origin)


def _formatted(name: str, expected: str, build_of: Callable[[Any], Build]) -> Callable[[Any], Scalar]:
    return lambda kind: Scalar({"type": "string", "format": name}, build_of(kind), expected)


def _iso(kind: Any) -> Build:
    return kind.fromisoformat


def _duration(kind: Any) -> Build:
    from msgspec import convert

    return lambda text: convert(text, kind)


def _decimal(kind: Any) -> Scalar:
    number = {"type": "string", "pattern": r"^-?[0-9]+(\.[0-9]+)?([eE][+-]?[0-9]+)?$"}
    return Scalar({"anyOf": [{"type": "number"}, number]}, lambda value: kind(str(value)), "a decimal number")


def _bytes(kind: Any) -> Scalar:
    return Scalar({"type": "string"}, lambda text: kind(text, "utf-8"), "text")


_SCALARS: dict[str, Callable[[Any], Scalar]] = {
    "datetime.datetime": _formatted("date-time", "a date and time such as 2030-01-31T09:30:00Z", _iso),
    "datetime.date": _formatted("date", "a date such as 2030-01-31", _iso),
    "datetime.time": _formatted("time", "a time such as 09:30:00", _iso),
    "datetime.timedelta": _formatted("duration", "a duration such as PT1H30M", _duration),
    "uuid.UUID": _formatted("uuid", "a UUID", lambda kind: kind),
    "decimal.Decimal": _decimal,
    "builtins.bytes": _bytes,
    "builtins.bytearray": _bytes,
}
