"""Serialization of values into paths, query strings, headers and cookies, by the styles of OpenAPI. Pure: value in, text out.

Everything is percent-encoded where necessary, so that a value can't become another part of the URL.
"""

from typing import Any, cast
from urllib.parse import quote

import msgspec

from treadle.core.errors import ToolProblem

QueryPairs = list[tuple[str, str]]  # encoded already

_RESERVED = ":/?@!$'()*,;"  # what `allowReserved` keeps, without what would end a value
_DELIMITERS = {"spaceDelimited": "%20", "pipeDelimited": "%7C"}


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
