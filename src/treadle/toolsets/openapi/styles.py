"""How values are written into paths, queries, headers and cookies, by the styles of OpenAPI. Pure: value in, text out.

Everything is percent-encoded where it has to be, so that a value can't become another part of the address.
"""

from typing import Any, cast
from urllib.parse import quote

import msgspec

from treadle.core.errors import ToolProblem

Pairs = list[tuple[str, str]]  # encoded already

_RESERVED = ":/?@!$'()*,;"  # what `allowReserved` keeps, without what would end a value
_DELIMITERS = {"spaceDelimited": "%20", "pipeDelimited": "%7C"}


def text_of(value: Any) -> str:
    """A value as plain text: what isn't text is written as JSON would."""
    if isinstance(value, str):
        return value
    return "" if value is None else msgspec.json.encode(value).decode()


def encoded(value: Any, *, reserved: bool = False) -> str:
    """A value as it stands in an address."""
    return quote(text_of(value), safe=_RESERVED if reserved else "")


def in_path(name: str, value: Any, style: str, *, explode: bool) -> str:
    """A value in a path: `simple`, `label` or `matrix`."""
    written = _matrix(name, value, explode=explode) if style == "matrix" else _in_path(value, style, explode=explode)
    if written in ("", ".", ".."):  # which would be another path
        raise ToolProblem(f"{name} can't be {text_of(value)!r}: it is a part of a path. Give another value.")
    return written


def _in_path(value: Any, style: str, *, explode: bool) -> str:
    items = _items(value)
    mark = "." if style == "label" else ""
    if items is None:
        return mark + encoded(value)
    between = mark if mark and explode else ","
    return mark + between.join(_listed(items, value, explode=explode))


def _matrix(name: str, value: Any, *, explode: bool) -> str:
    items = _items(value)
    own = quote(name, safe="")
    if items is None:
        return f";{own}={encoded(value)}"
    if not explode:
        return f";{own}={','.join(_listed(items, value, explode=False))}"
    return "".join([f";{encoded(key) if isinstance(value, dict) else own}={encoded(inner)}" for key, inner in items])


def in_query(name: str, value: Any, style: str, *, explode: bool, reserved: bool = False) -> Pairs:
    """A value in a query or a form: `form`, `spaceDelimited`, `pipeDelimited` or `deepObject`."""
    own = quote(name, safe="")
    items = _items(value)
    if items is None:
        return [(own, encoded(value, reserved=reserved))]
    if style == "deepObject":
        return [(own + path, encoded(inner, reserved=reserved)) for path, inner in _deep(value, name)]
    if style == "form" and explode:
        keyed = isinstance(value, dict)
        return [(encoded(key) if keyed else own, encoded(inner, reserved=reserved)) for key, inner in items]
    listed = _listed(items, value, explode=False, reserved=reserved)
    if style in _DELIMITERS and explode:
        return [(own, each) for each in listed]
    return [(own, _DELIMITERS.get(style, ",").join(listed))] if listed else []


def in_header(value: Any, *, explode: bool) -> str:
    """A value in a header, always `simple`; only what would end a value in a list is encoded."""
    items = _items(value)
    if items is None:
        return text_of(value).strip()
    if isinstance(value, dict):
        between = "=" if explode else ","
        return ",".join([f"{quote(key, safe=' ')}{between}{_in_list(inner)}" for key, inner in items])
    return ",".join([_in_list(inner) for _, inner in items])


def _in_list(value: Any) -> str:
    return text_of(value).replace("%", "%25").replace(",", "%2C")


def _items(value: Any) -> list[tuple[str, Any]] | None:
    """The pairs of an object, or the items of a list with their places; None for what is neither."""
    if isinstance(value, dict):
        return list(cast("dict[str, Any]", value).items())
    return [(str(at), item) for at, item in enumerate(cast("list[Any]", value))] if isinstance(value, list) else None


def _listed(items: list[tuple[str, Any]], value: Any, *, explode: bool, reserved: bool = False) -> list[str]:
    if not isinstance(value, dict):
        return [encoded(inner, reserved=reserved) for _, inner in items]
    if explode:
        return [f"{encoded(key)}={encoded(inner, reserved=reserved)}" for key, inner in items]
    return [part for key, inner in items for part in (encoded(key), encoded(inner, reserved=reserved))]


def _deep(value: Any, name: str) -> list[tuple[str, Any]]:
    """Every value inside, with the path to it: `[address][0][city]`."""
    items = _items(value)
    if items is None:
        return [("", value)]
    if not items:
        raise empty(name)
    return [(f"[{encoded(key)}]{path}", found) for key, inner in items for path, found in _deep(inner, f"{name}.{key}")]


def empty(name: str) -> ToolProblem:
    """For what is there, and empty, where that looks like nothing at all."""
    return ToolProblem(f"{name} is empty, which can't be written here. Leave it out, or put something into it.")
