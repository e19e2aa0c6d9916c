"""Annotations written as JSON Schema, one for the model to read: inline where possible, `$defs` where a type contains itself.

What an annotation asks for is read in `shapes`; this only writes it down, with constraints, descriptions and defaults.
"""

from collections.abc import Callable, Hashable
from math import isfinite
from typing import Any, assert_never

from treadle.core.errors import BadTool
from treadle.tools.docstring import read_docstring
from treadle.tools.shapes import (
    NOTHING,
    Alias,
    Either,
    Field,
    Foreign,
    Many,
    Options,
    Plain,
    Record,
    Row,
    Scalar,
    Table,
    name_of,
    peel,
    shape_of,
)
from treadle.tools.text import plain
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


class Writer:
    """Writes the schemas of one function; `definitions` collects what `$ref`s point to."""

    def __init__(self) -> None:
        self.definitions: dict[str, Schema] = {}
        self._open: list[Hashable] = []
        self._names: dict[Hashable, str] = {}  # of types that contain themselves
        self._foreign: dict[Any, Schema] = {}

    def field(self, annotation: Any, default: Any, text: str) -> Schema:
        """The schema of one parameter or field. What `Annotated` says of it counts for more than the docstring."""
        schema = self.write(annotation)
        said = _description(peel(annotation)[1]) or text
        if said:
            schema["description"] = said
        return schema | _default(default, schema)

    def write(self, annotation: Any) -> Schema:
        """The schema of an annotation."""
        bare, extras = peel(annotation)
        schema = dict(self._shape(bare))
        for extra in extras:
            _constrain(schema, extra)
        said = _description(extras)
        return schema | ({"description": said} if said else {})

    def _shape(self, annotation: Any) -> Schema:
        shape = shape_of(annotation)
        match shape:
            case Plain(type):
                return {"type": type} if type else {}
            case Scalar(schema):
                return schema
            case Options(pairs):
                return _options([json for json, _ in pairs])
            case Either(branches):
                return {"anyOf": [self.write(branch) for branch in branches]}
            case Many() | Row() | Table():
                return self._container(shape)
            case Record():
                return self._once(annotation, shape.type.__name__, lambda: self._record(shape))
            case Alias(name, value):
                return self._once(annotation, name, lambda: self.write(value))
            case Foreign():
                return self._adopted(shape)
            case _:
                assert_never(shape)

    def _container(self, container: Many | Row | Table) -> Schema:
        match container:
            case Many(item, _, unique):
                return {"type": "array", "items": self.write(item)} | ({"uniqueItems": True} if unique else {})
            case Row(()):
                return {"type": "array", "items": {}, "maxItems": 0}
            case Row(items):
                size = {"minItems": len(items), "maxItems": len(items)}
                return {"type": "array", "prefixItems": [self.write(item) for item in items]} | size
            case Table():
                return self._table(container)
            case _:
                assert_never(container)

    def _table(self, table: Table) -> Schema:
        match shape_of(peel(table.key)[0]):
            case Plain("string" | "integer" | "") | Options():
                values = self.write(table.value)
                return {"type": "object"} | ({"additionalProperties": values} if values else {})
            case _:
                raise BadTool(f"the keys of an object in JSON are text, not {name_of(table.key)}")

    def _record(self, record: Record) -> Schema:
        own = record.type.__doc__ or ""
        text = read_docstring("" if own.startswith(f"{record.type.__name__}(") else own)  # Python makes one up for some classes
        properties = {each.key: self._record_field(each, text.parameters.get(each.name, "")) for each in record.fields}
        required = [each.key for each in record.fields if each.required]
        schema = {"type": "object", "properties": properties, "required": required, "additionalProperties": False}
        return schema | ({"description": text.summary} if text.summary else {})

    def _record_field(self, field: Field, text: str) -> Schema:
        return self.field(field.annotation, field.default, text)

    def _once(self, key: Hashable, name: str, write: Callable[[], Schema]) -> Schema:
        """A type that may contain itself: met again while it is being written, it gets a name to be referred to by."""
        if key in self._open:
            self._names.setdefault(key, self._free(name))
        if key in self._names:
            return {"$ref": f"#/$defs/{self._names[key]}"}
        self._open.append(key)
        schema = write()
        self._open.remove(key)
        if key not in self._names:
            return schema
        self.definitions[self._names[key]] = schema
        return {"$ref": f"#/$defs/{self._names[key]}"}

    def _free(self, name: str) -> str:
        taken = {*self.definitions, *self._names.values()}
        candidates = (name, *(f"{name}{number}" for number in range(2, len(taken) + 3)))
        return next(candidate for candidate in candidates if candidate not in taken)

    def _adopted(self, foreign: Foreign) -> Schema:
        """A schema that a class brought along, its definitions moved to ours."""
        if foreign.type not in self._foreign:
            schema = foreign.schema()
            names: dict[str, str] = {}
            for name in as_object(schema.get("$defs")) or {}:
                names[name] = self._free(name)
                self.definitions[names[name]] = {}
            for name, definition in (as_object(schema.get("$defs")) or {}).items():
                self.definitions[names[name]] = _tidied(definition, names)
            self._foreign[foreign.type] = _tidied(schema, names)
        return self._foreign[foreign.type]


def _tidied(value: Any, names: dict[str, str]) -> Any:
    """A schema without titles, with its references renamed, and closed where it would drop unknown fields silently."""
    items, schema = as_list(value), as_object(value)
    if items is not None:
        return [_tidied(item, names) for item in items]
    if schema is None:
        return value
    tidy = {keyword: _tidied_keyword(keyword, inner, names) for keyword, inner in schema.items() if keyword not in _NOISE}
    return {"additionalProperties": False, **tidy} if "properties" in tidy else tidy


def _tidied_keyword(keyword: str, value: Any, names: dict[str, str]) -> Any:
    if keyword == "$ref":
        name = str(value).removeprefix("#/$defs/")
        return f"#/$defs/{names.get(name, name)}"
    if keyword == "properties":
        return {name: _tidied(inner, names) for name, inner in (as_object(value) or {}).items()}
    return value if keyword in _DATA else _tidied(value, names)


# What is said beside a type


def _description(extras: tuple[Any, ...]) -> str:
    for extra in extras:
        said = extra if isinstance(extra, str) else getattr(extra, "description", None) or getattr(extra, "documentation", None)
        if isinstance(said, str) and said:
            return said
    return ""


def _constrain(schema: Schema, extra: Any) -> None:
    """Adds what a constraint says, whichever library it is from: they agree on the names of these attributes."""
    for inner in as_list(getattr(extra, "metadata", None)) or []:
        _constrain(schema, inner)
    for attribute, keyword in _BOUNDS.items():
        bound = getattr(extra, attribute, None)
        if type(bound) is int or type(bound) is float:
            schema.setdefault(keyword, bound)
    size = _SIZES.get(_type_of(schema))
    for attribute, side in (("min_length", "min"), ("max_length", "max")):
        bound = getattr(extra, attribute, None)
        if size is not None and type(bound) is int and (bound, side) != (0, "min"):
            schema.setdefault(f"{side}{size}", bound)
    pattern = getattr(extra, "pattern", None)
    source = getattr(pattern, "pattern", pattern)
    if isinstance(source, str):
        schema.setdefault("pattern", source)


def _type_of(schema: Schema) -> str:
    branches = as_list(schema.get("anyOf")) or [schema]
    types = [branch.get("type", "") for branch in branches]
    return next((name for name in types if name in _SIZES), "")


def _default(default: Any, schema: Schema) -> Schema:
    """What is left out, as the model may know it: only what JSON can say."""
    if default is NOTHING or (isinstance(default, float) and not isfinite(default)):
        return {}
    try:
        told = plain(default)
    except (TypeError, ValueError, RecursionError):
        return {}
    return {"default": told} if told in schema.get("enum", [told]) else {}


def _options(values: list[Any]) -> Schema:
    for kinds, name in (((str,), "string"), ((bool,), "boolean"), ((int,), "integer"), ((int, float), "number")):
        if all(type(value) in kinds for value in values):
            return {"type": name, "enum": values}
    if any(type(value) not in (str, bool, int, float, type(None)) for value in values):
        raise BadTool(f"{values} aren't all values that JSON has")
    return {"enum": values}
