"""The parameters of an operation: where each goes, how it is serialized there, and its name for the model. No values yet."""

import re
from collections.abc import Iterable, Sequence
from typing import Any

from msgspec import Struct

from treadle.toolsets.openapi.document import JsonObject, OpenApiDocument, list_or_empty, object_or_empty, text_or_empty
from treadle.toolsets.openapi.schemas import SchemaConverter

PLACES = ("path", "query", "header", "cookie")
_STYLES = {"path": "simple", "query": "form", "header": "simple", "cookie": "form"}
_RESERVED_HEADERS = frozenset(("accept", "content-type", "authorization", "idempotency-key"))  # headers that are no parameters
_INVALID_CHARACTERS = re.compile(r"[^A-Za-z0-9_.-]+")
_MAX_NAME = 64
_IN_PATH = re.compile(r"\{([^{}]+)\}")


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
        found = document.followed(given)
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
        schema=_add_description(schemas.converted({} if schema is None else schema), told, where),
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
