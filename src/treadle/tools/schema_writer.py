"""Writes annotations as JSON Schema for the model: inline where possible, `$defs` where a type contains itself.

What an annotation requires is read in `shapes`; this only writes it, with constraints, descriptions and defaults.
"""

from collections.abc import Callable, Hashable
from math import isfinite
from typing import Any, assert_never

from treadle.core.errors import BadTool
from treadle.tools.docstring import read_docstring
from treadle.tools.shapes import (
    NO_DEFAULT,
    AliasShape,
    DictShape,
    ForeignShape,
    ListShape,
    OptionsShape,
    PlainShape,
    RecordField,
    RecordShape,
    ScalarShape,
    TupleShape,
    UnionShape,
    annotation_name,
    parse_annotation,
    pydantic_shape,
    strip_annotation,
)
from treadle.tools.text import to_json_value
from treadle.tools.values import as_list, as_object

Schema = dict[str, Any]

_BOUNDS = {
    "ge": "minimum",
    "gt": "exclusiveMinimum",
    "le": "maximum",
    "lt": "exclusiveMaximum",
    "multiple_of": "multipleOf",
}
_SIZES = {"string": "Length", "array": "Items", "object": "Properties"}
_DATA = frozenset(("default", "const", "enum", "examples", "required"))
_NOISE = frozenset(("title", "discriminator", "$defs"))


class SchemaWriter:
    """Writes the schemas of one function; `definitions` collects the targets of `$ref`s."""

    def __init__(self) -> None:
        self.definitions: dict[str, Schema] = {}
        self._open: list[Hashable] = []
        self._names: dict[Hashable, str] = {}  # of types that contain themselves
        self._foreign: list[tuple[Any, Schema]] = []  # by identity: what pydantic annotates with may not be hashable

    def field(self, annotation: Any, default: Any, text: str) -> Schema:
        """Return the schema of one parameter or field. The description in `Annotated` takes precedence over the docstring."""
        schema = self.write(annotation)
        said = _find_description(strip_annotation(annotation)[1]) or text
        if said:
            schema["description"] = said
        return schema | _default_schema(default, schema)

    def write(self, annotation: Any) -> Schema:
        """Return the schema of an annotation."""
        bare, extras = strip_annotation(annotation)
        foreign = pydantic_shape(annotation)
        schema = dict(self._write_shape(bare) if foreign is None else self._adopt_foreign(foreign))
        for extra in extras:
            _constrain(schema, extra)
        said = _find_description(extras)
        return schema | ({"description": said} if said else {})

    def _write_shape(self, annotation: Any) -> Schema:
        shape = parse_annotation(annotation)
        match shape:
            case PlainShape(type):
                return {"type": type} if type else {}
            case ScalarShape(schema):
                return schema
            case OptionsShape(pairs):
                return _options_schema([json for json, _ in pairs])
            case UnionShape(branches):
                return {"anyOf": [self.write(branch) for branch in branches]}
            case ListShape() | TupleShape() | DictShape():
                return self._write_container(shape)
            case RecordShape():
                return self._write_once(annotation, shape.type.__name__, lambda: self._record(shape))
            case AliasShape(name, value):
                return self._write_once(annotation, name, lambda: self.write(value))
            case ForeignShape():
                return self._adopt_foreign(shape)
            case _:
                assert_never(shape)

    def _write_container(self, container: ListShape | TupleShape | DictShape) -> Schema:
        match container:
            case ListShape(item, _, unique):
                return {"type": "array", "items": self.write(item)} | ({"uniqueItems": True} if unique else {})
            case TupleShape(()):
                return {"type": "array", "items": {}, "maxItems": 0}
            case TupleShape(items):
                size = {"minItems": len(items), "maxItems": len(items)}
                return {"type": "array", "prefixItems": [self.write(item) for item in items]} | size
            case DictShape():
                return self._table(container)
            case _:
                assert_never(container)

    def _table(self, table: DictShape) -> Schema:
        match parse_annotation(strip_annotation(table.key)[0]):
            case PlainShape("string" | "integer" | "") | OptionsShape():
                values = self.write(table.value)
                return {"type": "object"} | ({"additionalProperties": values} if values else {})
            case _:
                raise BadTool(f"the keys of an object in JSON are text, not {annotation_name(table.key)}")

    def _record(self, record: RecordShape) -> Schema:
        own = record.type.__doc__ or ""
        text = read_docstring("" if own.startswith(f"{record.type.__name__}(") else own)  # Python makes one up for some classes
        properties = {each.key: self._write_record_field(each, text.parameters.get(each.name, "")) for each in record.fields}
        required = [each.key for each in record.fields if each.required]
        schema = {"type": "object", "properties": properties, "required": required, "additionalProperties": False}
        return schema | ({"description": text.summary} if text.summary else {})

    def _write_record_field(self, field: RecordField, text: str) -> Schema:
        return self.field(field.annotation, field.default, text)

    def _write_once(self, key: Hashable, name: str, write: Callable[[], Schema]) -> Schema:
        """Write a type that may contain itself: if it recurs while being written, it gets a name to be referred to by."""
        if key in self._open:
            self._names.setdefault(key, self._free_name(name))
        if key in self._names:
            return {"$ref": f"#/$defs/{self._names[key]}"}
        self._open.append(key)
        schema = write()
        self._open.remove(key)
        if key not in self._names:
            return schema
        self.definitions[self._names[key]] = schema
        return {"$ref": f"#/$defs/{self._names[key]}"}

    def _free_name(self, name: str) -> str:
        taken = {*self.definitions, *self._names.values()}
        candidates = (name, *(f"{name}{number}" for number in range(2, len(taken) + 3)))
        return next(candidate for candidate in candidates if candidate not in taken)

    def _adopt_foreign(self, foreign: ForeignShape) -> Schema:
        """Return the schema that pydantic writes of a type, with its definitions moved to ours."""
        for known, adopted in self._foreign:
            if known is foreign.type:
                return adopted
        schema = foreign.schema()
        names: dict[str, str] = {}
        for name in as_object(schema.get("$defs")) or {}:
            names[name] = self._free_name(name)
            self.definitions[names[name]] = {}
        for name, definition in (as_object(schema.get("$defs")) or {}).items():
            self.definitions[names[name]] = _tidy(definition, names)
        tidy = _tidy(schema, names)
        self._foreign.append((foreign.type, tidy))
        return tidy


def _tidy(value: Any, names: dict[str, str]) -> Any:
    """Return a schema without titles, with its references renamed, and closed where it would drop unknown fields silently."""
    items, schema = as_list(value), as_object(value)
    if items is not None:
        return [_tidy(item, names) for item in items]
    if schema is None:
        return value
    tidy = {keyword: _tidy_keyword(keyword, inner, names) for keyword, inner in schema.items() if keyword not in _NOISE}
    return {"additionalProperties": False, **tidy} if "properties" in tidy else tidy


def _tidy_keyword(keyword: str, value: Any, names: dict[str, str]) -> Any:
    if keyword == "$ref":
        name = str(value).removeprefix("#/$defs/")
        return f"#/$defs/{names.get(name, name)}"
    if keyword == "properties":
        return {name: _tidy(inner, names) for name, inner in (as_object(value) or {}).items()}
    return value if keyword in _DATA else _tidy(value, names)


# What is said beside a type


def _find_description(extras: tuple[Any, ...]) -> str:
    for extra in extras:
        said = extra if isinstance(extra, str) else getattr(extra, "description", None) or getattr(extra, "documentation", None)
        if isinstance(said, str) and said:
            return said
    return ""


def _constrain(schema: Schema, extra: Any) -> None:
    """Add a constraint, from whichever library: they agree on the names of these attributes."""
    for inner in as_list(getattr(extra, "metadata", None)) or []:
        _constrain(schema, inner)
    for attribute, keyword in _BOUNDS.items():
        bound = getattr(extra, attribute, None)
        if type(bound) is int or type(bound) is float:
            schema.setdefault(keyword, bound)
    size = _SIZES.get(_schema_type(schema))
    for attribute, side in (("min_length", "min"), ("max_length", "max")):
        bound = getattr(extra, attribute, None)
        if size is not None and type(bound) is int and (bound, side) != (0, "min"):
            schema.setdefault(f"{side}{size}", bound)
    pattern = getattr(extra, "pattern", None)
    source = getattr(pattern, "pattern", pattern)
    if isinstance(source, str):
        schema.setdefault("pattern", source)


def _schema_type(schema: Schema) -> str:
    branches = as_list(schema.get("anyOf")) or [schema]
    types = [branch.get("type", "") for branch in branches]
    return next((name for name in types if name in _SIZES), "")


def _default_schema(default: Any, schema: Schema) -> Schema:
    """Return the default as the model may see it: only what JSON can express."""
    if default is NO_DEFAULT or (isinstance(default, float) and not isfinite(default)):
        return {}
    try:
        told = to_json_value(default)
    except (TypeError, ValueError, RecursionError):
        return {}
    return {"default": told} if told in schema.get("enum", [told]) else {}


def _options_schema(values: list[Any]) -> Schema:
    for kinds, name in (((str,), "string"), ((bool,), "boolean"), ((int,), "integer"), ((int, float), "number")):
        if all(type(value) in kinds for value in values):
            return {"type": name, "enum": values}
    if any(type(value) not in (str, bool, int, float, type(None)) for value in values):
        raise BadTool(f"{values} aren't all values that JSON has")
    return {"enum": values}
