"""The parameters of an operation: where each goes, how it is written there, and by which name a model gives it. No values yet."""

import re
from collections.abc import Iterable, Sequence
from typing import Any

from msgspec import Struct

from treadle.toolsets.openapi.document import Document, Object, as_list, as_object, as_text
from treadle.toolsets.openapi.schemas import Schemas

PLACES = ("path", "query", "header", "cookie")
_STYLES = {"path": "simple", "query": "form", "header": "simple", "cookie": "form"}
_OURS = frozenset(("accept", "content-type", "authorization", "idempotency-key"))  # headers that are no parameters
_UNFIT = re.compile(r"[^A-Za-z0-9_.-]+")
_LONGEST = 64
_IN_PATH = re.compile(r"\{([^{}]+)\}")


class Parameter(Struct, frozen=True):
    """One parameter. `argument` is its name for the model; `json` says that its value is written as JSON."""

    argument: str
    name: str
    where: str
    schema: Any
    required: bool = False
    style: str = "form"
    explode: bool = True
    reserved: bool = False
    json: bool = False


def parameters_of(
    document: Document, schemas: Schemas, path: str, item: Object, operation: Object, secrets: frozenset[tuple[str, str]]
) -> list[Parameter]:
    """Those of the operation and of its path, in the order of their places; without those that carry secrets."""
    told: dict[tuple[str, str], Object] = {}
    for given in (*as_list(item.get("parameters")), *as_list(operation.get("parameters"))):
        found = document.followed(given)
        told[as_text(found.get("in")), as_text(found.get("name"))] = found
    wanted = {place: found for place, found in told.items() if _is_wanted(*place, path, secrets)}
    for name in _IN_PATH.findall(path):  # what is in the path has to be filled in, whether or not it is described
        wanted.setdefault(("path", name), {"name": name, "in": "path", "schema": {"type": "string"}})
    ordered = sorted(wanted.items(), key=lambda each: PLACES.index(each[0][0]))
    names = _arguments([place for place, _ in ordered])
    return [_parameter(schemas, found, where, name, names[where, name]) for (where, name), found in ordered]


def _is_wanted(where: str, name: str, path: str, secrets: frozenset[tuple[str, str]]) -> bool:
    if where not in PLACES or not name or (where, name.lower() if where == "header" else name) in secrets:
        return False
    if where == "path":
        return f"{{{name}}}" in path
    return where != "header" or name.lower() not in _OURS


def _parameter(schemas: Schemas, told: Object, where: str, name: str, argument: str) -> Parameter:
    style = as_text(told.get("style")) or _STYLES[where]
    explode = told.get("explode")
    content = as_object(told.get("content"))
    schema = as_object(next(iter(content.values()))).get("schema") if content else told.get("schema")
    return Parameter(
        argument=argument,
        name=name,
        where=where,
        schema=_described(schemas.converted({} if schema is None else schema), told, where),
        required=where == "path" or told.get("required") is True,
        style=style,
        explode=explode if isinstance(explode, bool) else style == "form",
        reserved=told.get("allowReserved") is True,
        json=bool(content),
    )


def _described(schema: Any, told: Object, where: str) -> Any:
    """The schema with the words of the parameter; what has to be there has to be something."""
    out = as_object(schema)
    words = as_text(told.get("description"))
    if words:
        out = {**out, "description": words}
    if told.get("deprecated") is True:
        out = {**out, "description": f"Deprecated. {out.get('description', '')}".strip()}
    if where == "path" and out.get("type") == "string" and "enum" not in out:
        out = {"minLength": 1, **out}
    if (where == "path" or told.get("required") is True) and out.get("type") == "array":  # an empty list is written as nothing
        out = {"minItems": 1, **out}
    return out


def _arguments(places: Sequence[tuple[str, str]]) -> dict[tuple[str, str], str]:
    """A name for each that models can write, and no other has."""
    names: dict[tuple[str, str], str] = {}
    for where, name in places:
        fit = fit_name(name)
        names[where, name] = unique(fit if fit not in names.values() else f"{where}_{fit}", names.values())
    return names


def fit_name(name: str) -> str:
    """A name as models can write it: `filter[name]` becomes `filter_name`."""
    return _UNFIT.sub("_", name).strip("_")[:_LONGEST] or "value"


def unique(name: str, taken: Iterable[str]) -> str:
    """The name, with a number where it is taken."""
    others = set(taken)
    number, found = 1, name
    while found in others:
        number += 1
        found = f"{name[: _LONGEST - 4]}_{number}"
    return found
