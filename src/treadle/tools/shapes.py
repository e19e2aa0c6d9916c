"""What an annotation requires, as one of a few shapes. `schema` describes them to the model, `convert` makes Python values.

One level at a time: what is inside a shape are annotations again. Modules that only some tools need (dataclasses, enum,
pydantic …) are never imported here: a class that comes from one has imported it already.
"""

import sys
from collections.abc import Callable, Mapping
from functools import reduce
from types import UnionType
from typing import Annotated, Any, Literal, NewType, TypeVar, Union, cast, get_args, get_origin, get_type_hints

from msgspec import Struct
from msgspec.json import encode

from treadle.core.errors import BadTool

Builder = Callable[[Any], Any]


class NoDefault(Struct, frozen=True):
    """The sentinel for no default; None is one."""


NO_DEFAULT: Any = NoDefault()


class PlainShape(Struct, frozen=True):
    """A JSON value that Python uses as it is; `type` is empty for any type."""

    type: str


class ScalarShape(Struct, frozen=True):
    """One value encoded in JSON as text or number: a date, an identifier, a path."""

    schema: dict[str, Any]
    build: Builder
    expected: str


class OptionsShape(Struct, frozen=True):
    """One of a few values, each in JSON and in Python."""

    pairs: tuple[tuple[Any, Any], ...]


class UnionShape(Struct, frozen=True):
    """One of several annotations, the first that validates."""

    branches: tuple[Any, ...]


class ListShape(Struct, frozen=True):
    """Any number of the same; `build` converts a list, None leaves it."""

    item: Any
    build: Builder | None
    unique: bool = False


class TupleShape(Struct, frozen=True):
    """A fixed number of values, each with its own annotation."""

    items: tuple[Any, ...]


class DictShape(Struct, frozen=True):
    """Values by name; `build` converts a dict, None leaves it."""

    key: Any
    value: Any
    build: Builder | None


class RecordField(Struct, frozen=True):
    """One field of a record: `name` in Python (none for a tag that only JSON has), `key` in JSON."""

    name: str
    key: str
    annotation: Any
    required: bool
    default: Any = NO_DEFAULT


class RecordShape(Struct, frozen=True):
    """A class with fields; `build` takes them by name."""

    type: Any
    fields: tuple[RecordField, ...]
    build: Callable[..., Any]


class ForeignShape(Struct, frozen=True):
    """What pydantic describes and reads: a class of its own, or an annotation with one of its validators."""

    type: Any
    name: str
    schema: Callable[[], dict[str, Any]]
    build: Builder


class AliasShape(Struct, frozen=True):
    """A name for another annotation, which may be recursive."""

    name: str
    value: Any


Shape = (
    PlainShape
    | ScalarShape
    | OptionsShape
    | UnionShape
    | ListShape
    | TupleShape
    | DictShape
    | RecordShape
    | ForeignShape
    | AliasShape
)

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


def strip_annotation(annotation: Any) -> tuple[Any, tuple[Any, ...]]:
    """Return an annotation without `Annotated`, `NewType` and the like, and the metadata of `Annotated`, innermost last."""
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
            annotation = annotation.__bound__ or _make_union(annotation.__constraints__)
        elif type(annotation).__name__ == "InitVar":
            annotation = annotation.type
        else:
            return annotation, extras


def _make_union(annotations: tuple[Any, ...]) -> Any:
    return reduce(lambda one, other: one | other, annotations) if annotations else Any


def parse_annotation(annotation: Any) -> Shape:
    """Return the shape of a stripped annotation. Raises `BadTool` for one that can't be expressed for a model."""
    try:
        plain = _PLAIN.get(annotation)
    except TypeError:  # not hashable, so no type
        plain = None
    if plain is not None:
        return PlainShape(plain)
    for reading in (
        _alias_shape,
        _union_shape,
        _literal_shape,
        _container_shape,
        _foreign_shape,
        _enum_shape,
        _record_shape,
        _scalar_shape,
    ):
        shape = reading(annotation, get_origin(annotation) or annotation, get_args(annotation))
        if shape is not None:
            return shape
    raise BadTool(f"{annotation_name(annotation)} can't be told to a model")


def annotation_name(annotation: Any) -> str:
    """Return an annotation as it would be written in code."""
    bare = isinstance(annotation, type) and not get_args(annotation)
    return annotation.__name__ if bare else str(annotation).replace("typing.", "")


def resolve_annotations(annotations: dict[str, Any], names: dict[str, Any]) -> dict[str, Any]:
    """Resolve annotations that are strings, wholly or in part."""

    def holder() -> None: ...

    holder.__annotations__ = annotations
    return get_type_hints(holder, names, include_extras=True)


def _alias_shape(annotation: Any, origin: Any, args: tuple[Any, ...]) -> Shape | None:
    if type(origin).__name__ != "TypeAliasType":
        return None
    value = resolve_annotations({"value": origin.__value__}, vars(sys.modules[origin.__module__]))["value"]
    return AliasShape(origin.__name__, _fill_parameters(value, dict(zip(origin.__type_params__, args, strict=False))))


def _union_shape(annotation: Any, origin: Any, args: tuple[Any, ...]) -> Shape | None:
    return UnionShape(args) if origin is Union or origin is UnionType else None


def _literal_shape(annotation: Any, origin: Any, args: tuple[Any, ...]) -> Shape | None:
    if getattr(annotation, "_name", None) == "LiteralString":
        return PlainShape("string")
    return OptionsShape(tuple((_to_json_option(value), value) for value in args)) if origin is Literal else None


def _to_json_option(value: Any) -> Any:
    """Return an option as JSON: an enum member stands for its value."""
    return value.value if _is_enum_member(value) else value


def _is_enum_member(value: Any) -> bool:
    enum = sys.modules.get("enum")
    return enum is not None and isinstance(value, enum.Enum)


def _enum_shape(annotation: Any, origin: Any, args: tuple[Any, ...]) -> Shape | None:
    enum = sys.modules.get("enum")
    if enum is None or not isinstance(origin, enum.EnumMeta):
        return None
    members: list[Any] = list(origin)
    by_value = all(isinstance(member.value, str | int | float | None) for member in members)
    return OptionsShape(tuple((member.value if by_value else member.name, member) for member in members))


# Containers


def _container_shape(annotation: Any, origin: Any, args: tuple[Any, ...]) -> Shape | None:
    if origin is tuple:
        return _tuple_shape(annotation, args)
    module, name = getattr(origin, "__module__", ""), getattr(origin, "__name__", "")
    if module not in ("builtins", "collections", "collections.abc"):
        return None
    item = args[0] if args else Any
    if name in ("list", "Sequence", "MutableSequence", "Collection", "Iterable"):
        return ListShape(item, None)
    if name in ("set", "frozenset", "Set", "MutableSet", "deque"):
        return ListShape(item, {"Set": set, "MutableSet": set}.get(name, origin), unique=name != "deque")
    if name in ("dict", "Mapping", "MutableMapping", "OrderedDict"):
        return DictShape(args[0] if args else str, args[1] if args else Any, origin if name == "OrderedDict" else None)
    return None


def _tuple_shape(annotation: Any, args: tuple[Any, ...]) -> Shape:
    if len(args) == 2 and args[1] is Ellipsis:
        return ListShape(args[0], tuple)
    return TupleShape(args) if args or annotation == tuple[()] else ListShape(Any, tuple)


# Classes


def _foreign_shape(annotation: Any, origin: Any, args: tuple[Any, ...]) -> Shape | None:
    """Return the shape of a pydantic model, of a class that tells pydantic how to read it, or of a pydantic dataclass."""
    if hasattr(origin, "model_json_schema") and hasattr(origin, "model_validate_json"):
        return ForeignShape(origin, origin.__name__, origin.model_json_schema, _json_reader(origin.model_validate_json))
    if hasattr(origin, "__get_pydantic_core_schema__") or hasattr(origin, "__pydantic_validator__"):
        return _adapter_shape(annotation, annotation_name(annotation))
    return None


def pydantic_shape(annotation: Any) -> ForeignShape | None:
    """Return the shape of an annotation in which pydantic does more than a schema can say: validate, convert, be strict.

    None for any other annotation: bounds, lengths and patterns are part of its schema.
    """
    bare, extras = strip_annotation(annotation)
    if not any(map(_needs_pydantic, extras)):
        return None
    annotated: Any = Annotated
    return _adapter_shape(annotated[(bare, *reversed(extras))], annotation_name(bare))


def _needs_pydantic(extra: Any) -> bool:
    if hasattr(extra, "__get_pydantic_core_schema__"):
        return True
    if type(extra).__module__.partition(".")[0] not in ("pydantic", "annotated_types"):
        return False
    if any(getattr(extra, name, None) for name in ("strict", "to_lower", "to_upper", "strip_whitespace", "func")):
        return True
    return any(map(_needs_pydantic, getattr(extra, "metadata", None) or ()))


def _adapter_shape(annotation: Any, name: str) -> ForeignShape:
    from pydantic import TypeAdapter  # only for annotations that come from it

    try:
        adapter: TypeAdapter[Any] = TypeAdapter(annotation)
    except Exception as error:  # classes of other libraries describe themselves here, and fail in any way
        raise BadTool(f"pydantic can't validate {name} ({error})") from error
    return ForeignShape(annotation, name, adapter.json_schema, _json_reader(adapter.validate_json))


def _json_reader(validate: Callable[[bytes], Any]) -> Builder:
    """Return a reader of JSON values. Strict types take a date as text in JSON, and not as a Python value."""
    return lambda value: validate(encode(value))


def _record_shape(annotation: Any, origin: Any, args: tuple[Any, ...]) -> Shape | None:
    if not isinstance(origin, type):
        return None
    kind = cast("type[Any]", origin)
    fields_of = next((fields_of for known, fields_of in _RECORDS if known(kind)), None)
    return None if fields_of is None else RecordShape(kind, tuple(fields_of(kind, _resolve_hints(kind, args))), kind)


def _resolve_hints(kind: Any, args: tuple[Any, ...]) -> dict[str, Any]:
    """Return the annotations of a class, with its type parameters filled in."""
    try:
        hints = get_type_hints(kind, include_extras=True)
    except NameError:  # a class made inside a function may still mention itself
        hints = get_type_hints(kind, localns={kind.__name__: kind}, include_extras=True)
    filled = dict(zip(getattr(kind, "__parameters__", ()), args, strict=False))
    return {name: _fill_parameters(hint, filled) for name, hint in hints.items()}


def _fill_parameters(annotation: Any, filled: Mapping[Any, Any]) -> Any:
    if isinstance(annotation, TypeVar):
        return filled.get(annotation, annotation)
    parameters = getattr(annotation, "__parameters__", ()) if get_args(annotation) else ()
    return annotation[tuple(filled.get(each, each) for each in parameters)] if parameters else annotation


def _typed_dict_fields(kind: Any, hints: dict[str, Any]) -> list[RecordField]:
    return [RecordField(name, name, hint, _is_required(kind, name, hint)) for name, hint in hints.items()]


def _is_required(kind: Any, name: str, hint: Any) -> bool:
    said = getattr(get_origin(hint), "_name", None)  # counts for more: Python can't see it in an annotation that is text
    return said != "NotRequired" and (said == "Required" or name in kind.__required_keys__)


def _struct_fields(kind: Any, hints: dict[str, Any]) -> list[RecordField]:
    from msgspec import NODEFAULT
    from msgspec.structs import fields

    config = kind.__struct_config__
    tag = [] if config.tag is None else [RecordField("", config.tag_field, Literal[config.tag], required=True)]
    return tag + [
        RecordField(each.name, each.encode_name, hints[each.name], each.required, _to_default(each.default, NODEFAULT))
        for each in fields(kind)
    ]


def _init_fields(kind: Any, hints: dict[str, Any]) -> list[RecordField]:
    """Return the fields of a class that is made by calling it: the parameters of the call."""
    from inspect import Parameter, signature

    return [
        RecordField(
            name, name, hints.get(name, Any), parameter.default is Parameter.empty, _to_default(parameter.default, Parameter.empty)
        )
        for name, parameter in signature(kind).parameters.items()
    ]


def _to_default(default: Any, nothing: Any) -> Any:
    return NO_DEFAULT if default is nothing else default


def _is_typed_dict(kind: type[Any]) -> bool:
    return dict in kind.__mro__ and hasattr(kind, "__required_keys__")


def _is_struct(kind: type[Any]) -> bool:
    return Struct in kind.__mro__


def _has_init_fields(kind: type[Any]) -> bool:
    return hasattr(kind, "__dataclass_fields__") or (tuple in kind.__mro__ and hasattr(kind, "_fields"))


_RECORDS: tuple[tuple[Callable[[type[Any]], bool], Callable[[Any, dict[str, Any]], list[RecordField]]], ...] = (
    (_is_typed_dict, _typed_dict_fields),
    (_is_struct, _struct_fields),
    (_has_init_fields, _init_fields),
)


# Values that JSON writes as text


def _scalar_shape(annotation: Any, origin: Any, args: tuple[Any, ...]) -> Shape | None:
    if not isinstance(origin, type):
        return None
    if any(base.__name__ == "PurePath" for base in origin.__mro__):
        return ScalarShape({"type": "string"}, origin, "a path")
    make = _SCALARS.get(f"{origin.__module__}.{origin.__name__}")
    return None if make is None else make(origin)


def _format_shape(name: str, expected: str, build_of: Callable[[Any], Builder]) -> Callable[[Any], ScalarShape]:
    return lambda kind: ScalarShape({"type": "string", "format": name}, build_of(kind), expected)


def _iso_parser(kind: Any) -> Builder:
    return kind.fromisoformat


def _duration_parser(kind: Any) -> Builder:
    from msgspec import convert

    return lambda text: convert(text, kind)


def _decimal_shape(kind: Any) -> ScalarShape:
    number = {"type": "string", "pattern": r"^-?[0-9]+(\.[0-9]+)?([eE][+-]?[0-9]+)?$"}
    return ScalarShape({"anyOf": [{"type": "number"}, number]}, lambda value: kind(str(value)), "a decimal number")


def _bytes_shape(kind: Any) -> ScalarShape:
    return ScalarShape({"type": "string"}, lambda text: kind(text, "utf-8"), "text")


_SCALARS: dict[str, Callable[[Any], ScalarShape]] = {
    "datetime.datetime": _format_shape("date-time", "a date and time such as 2030-01-31T09:30:00Z", _iso_parser),
    "datetime.date": _format_shape("date", "a date such as 2030-01-31", _iso_parser),
    "datetime.time": _format_shape("time", "a time such as 09:30:00", _iso_parser),
    "datetime.timedelta": _format_shape("duration", "a duration such as PT1H30M", _duration_parser),
    "uuid.UUID": _format_shape("uuid", "a UUID", lambda kind: kind),
    "decimal.Decimal": _decimal_shape,
    "builtins.bytes": _bytes_shape,
    "builtins.bytearray": _bytes_shape,
}
