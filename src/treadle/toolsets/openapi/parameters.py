"""The parameters of an operation: where each goes, its name for the model, and how values are serialized there. Pure.

Everything is percent-encoded where necessary, so that a value can't become another part of the URL.
"""

import re
from collections.abc import Iterable, Sequence
from typing import Any, cast
from urllib.parse import quote

import msgspec
from msgspec import Struct

from treadle.core.errors import ToolProblem
from treadle.toolsets.openapi.document import JsonObject, OpenApiDocument, list_or_empty, object_or_empty, text_or_empty
from treadle.toolsets.openapi.schemas import SchemaConverter

PLACES = ("path", "query", "header", "cookie")
_STYLES = {"path": "simple", "query": "form", "header": "simple", "cookie": "form"}
_RESERVED_HEADERS = frozenset(("accept", "content-type", "authorization", "idempotency-key"))  # headers that are no parameters
_INVALID_CHARACTERS = re.compile(r"[^A-Za-z0-9_.-]+")
_MAX_NAME = 64
_IN_PATH = re.compile(r"\{([^{}]+)\}")
QueryPairs = list[tuple[str, str]]  # encoded already

_RESERVED = ":/?@!$'()*,;"  # what `allowReserved` keeps, without what would end a value
_DELIMITERS = {"spaceDelimited": "%20", "pipeDelimited": "%7C"}


class OpenApiParameter(Struct, frozen=True):
    """One parameter. `argument` is its name for the model; `json` means that its value is serialized as JSON."""

    argument: str
    name: str
    where: str
    schema: Any
    required: bool = False
    style: str = "form"
    explode: bool = True
    reserved: bool = False
    json: bool = False


def parse_parameters(
    document: OpenApiDocument,
    schemas: SchemaConverter,
    path: str,
    item: JsonObject,
    operation: JsonObject,
    secrets: frozenset[tuple[str, str]],
) -> list[OpenApiParameter]:
    """Parse the parameters of the operation and of its path, ordered by location; without those that carry secrets."""
    told: dict[tuple[str, str], JsonObject] = {}
    for given in (*list_or_empty(item.get("parameters")), *list_or_empty(operation.get("parameters"))):
        found = document.dereference(given)
        told[text_or_empty(found.get("in")), text_or_empty(found.get("name"))] = found
    wanted = {place: found for place, found in told.items() if _is_wanted(*place, path, secrets)}
    for name in _IN_PATH.findall(path):  # what is in the path has to be filled in, whether or not it is described
        wanted.setdefault(("path", name), {"name": name, "in": "path", "schema": {"type": "string"}})
    ordered = sorted(wanted.items(), key=lambda each: PLACES.index(each[0][0]))
    names = _assign_names([place for place, _ in ordered])
    return [_parse_parameter(schemas, found, where, name, names[where, name]) for (where, name), found in ordered]


def _is_wanted(where: str, name: str, path: str, secrets: frozenset[tuple[str, str]]) -> bool:
    if where not in PLACES or not name or (where, name.lower() if where == "header" else name) in secrets:
        return False
    if where == "path":
        return f"{{{name}}}" in path
    return where != "header" or name.lower() not in _RESERVED_HEADERS


def _parse_parameter(schemas: SchemaConverter, told: JsonObject, where: str, name: str, argument: str) -> OpenApiParameter:
    style = text_or_empty(told.get("style")) or _STYLES[where]
    explode = told.get("explode")
    content = object_or_empty(told.get("content"))
    schema = object_or_empty(next(iter(content.values()))).get("schema") if content else told.get("schema")
    return OpenApiParameter(
        argument=argument,
        name=name,
        where=where,
        schema=_add_description(schemas.convert({} if schema is None else schema), told, where),
        required=where == "path" or told.get("required") is True,
        style=style,
        explode=explode if isinstance(explode, bool) else style == "form",
        reserved=told.get("allowReserved") is True,
        json=bool(content),
    )


def _add_description(schema: Any, told: JsonObject, where: str) -> Any:
    """Return the schema with the parameter's description; path values and required lists must not be empty."""
    out = object_or_empty(schema)
    words = text_or_empty(told.get("description"))
    if words:
        out = {**out, "description": words}
    if told.get("deprecated") is True:
        out = {**out, "description": f"Deprecated. {out.get('description', '')}".strip()}
    if where == "path" and out.get("type") == "string" and "enum" not in out:
        out = {"minLength": 1, **out}
    if (where == "path" or told.get("required") is True) and out.get("type") == "array":  # an empty list is written as nothing
        out = {"minItems": 1, **out}
    return out


def _assign_names(places: Sequence[tuple[str, str]]) -> dict[tuple[str, str], str]:
    """Assign each parameter a valid, unique name."""
    names: dict[tuple[str, str], str] = {}
    for where, name in places:
        fit = to_argument_name(name)
        names[where, name] = make_unique(fit if fit not in names.values() else f"{where}_{fit}", names.values())
    return names


def to_argument_name(name: str) -> str:
    """Return a valid argument name: `filter[name]` becomes `filter_name`."""
    return _INVALID_CHARACTERS.sub("_", name).strip("_")[:_MAX_NAME] or "value"


def make_unique(name: str, taken: Iterable[str]) -> str:
    """Return the name, with a number if it is taken."""
    others = set(taken)
    number, found = 1, name
    while found in others:
        number += 1
        found = f"{name[: _MAX_NAME - 4]}_{number}"
    return found


def to_parameter_text(value: Any) -> str:
    """Return a value as plain text: what isn't a string is serialized as JSON."""
    if isinstance(value, str):
        return value
    return "" if value is None else msgspec.json.encode(value).decode()


def percent_encode(value: Any, *, reserved: bool = False) -> str:
    """Return a value percent-encoded for a URL."""
    return quote(to_parameter_text(value), safe=_RESERVED if reserved else "")


def format_path_value(name: str, value: Any, style: str, *, explode: bool) -> str:
    """Serialize a value for a path: `simple`, `label` or `matrix`."""
    written = _format_matrix(name, value, explode=explode) if style == "matrix" else _join_path_value(value, style, explode=explode)
    if written in ("", ".", ".."):  # which would be another path
        raise ToolProblem(f"{name} can't be {to_parameter_text(value)!r}: it is a part of a path. Give another value.")
    return written


def _join_path_value(value: Any, style: str, *, explode: bool) -> str:
    items = _to_items(value)
    mark = "." if style == "label" else ""
    if items is None:
        return mark + percent_encode(value)
    between = mark if mark and explode else ","
    return mark + between.join(_format_items(items, value, explode=explode))


def _format_matrix(name: str, value: Any, *, explode: bool) -> str:
    items = _to_items(value)
    own = quote(name, safe="")
    if items is None:
        return f";{own}={percent_encode(value)}"
    if not explode:
        return f";{own}={','.join(_format_items(items, value, explode=False))}"
    return "".join([f";{percent_encode(key) if isinstance(value, dict) else own}={percent_encode(inner)}" for key, inner in items])


def format_query_value(name: str, value: Any, style: str, *, explode: bool, reserved: bool = False) -> QueryPairs:
    """Serialize a value for a query string or a form: `form`, `spaceDelimited`, `pipeDelimited` or `deepObject`."""
    own = quote(name, safe="")
    items = _to_items(value)
    if items is None:
        return [(own, percent_encode(value, reserved=reserved))]
    if style == "deepObject":
        return [(own + path, percent_encode(inner, reserved=reserved)) for path, inner in _flatten_deep(value, name)]
    if style == "form" and explode:
        keyed = isinstance(value, dict)
        return [(percent_encode(key) if keyed else own, percent_encode(inner, reserved=reserved)) for key, inner in items]
    listed = _format_items(items, value, explode=False, reserved=reserved)
    if style in _DELIMITERS and explode:
        return [(own, each) for each in listed]
    return [(own, _DELIMITERS.get(style, ",").join(listed))] if listed else []


def format_header_value(value: Any, *, explode: bool) -> str:
    """Serialize a value for a header, always `simple`; only what would end a value in a list is encoded."""
    items = _to_items(value)
    if items is None:
        return to_parameter_text(value).strip()
    if isinstance(value, dict):
        between = "=" if explode else ","
        return ",".join([f"{quote(key, safe=' ')}{between}{_escape_list_item(inner)}" for key, inner in items])
    return ",".join([_escape_list_item(inner) for _, inner in items])


def _escape_list_item(value: Any) -> str:
    return to_parameter_text(value).replace("%", "%25").replace(",", "%2C")


def _to_items(value: Any) -> list[tuple[str, Any]] | None:
    """Return the pairs of an object, or the items of a list with their indexes; None for other values."""
    if isinstance(value, dict):
        return list(cast("dict[str, Any]", value).items())
    return [(str(at), item) for at, item in enumerate(cast("list[Any]", value))] if isinstance(value, list) else None


def _format_items(items: list[tuple[str, Any]], value: Any, *, explode: bool, reserved: bool = False) -> list[str]:
    if not isinstance(value, dict):
        return [percent_encode(inner, reserved=reserved) for _, inner in items]
    if explode:
        return [f"{percent_encode(key)}={percent_encode(inner, reserved=reserved)}" for key, inner in items]
    return [part for key, inner in items for part in (percent_encode(key), percent_encode(inner, reserved=reserved))]


def _flatten_deep(value: Any, name: str) -> list[tuple[str, Any]]:
    """Return every nested value with the path to it: `[address][0][city]`."""
    items = _to_items(value)
    if items is None:
        return [("", value)]
    if not items:
        raise empty_value_problem(name)
    return [
        (f"[{percent_encode(key)}]{path}", found) for key, inner in items for path, found in _flatten_deep(inner, f"{name}.{key}")
    ]


def empty_value_problem(name: str) -> ToolProblem:
    """Build the problem for a value that is given but empty, where that looks like no value at all."""
    return ToolProblem(f"{name} is empty, which can't be written here. Leave it out, or put something into it.")
