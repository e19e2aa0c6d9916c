"""A call made into a request: every argument in its place, credentials attached, a key on writes. Nothing is sent here."""

from collections.abc import Mapping
from typing import Any

import msgspec
from msgspec import Struct

from treadle.toolsets.openapi.bodies import encode
from treadle.toolsets.openapi.operations import Operation
from treadle.toolsets.openapi.parameters import Parameter
from treadle.toolsets.openapi.security import Attached
from treadle.toolsets.openapi.styles import Pairs, in_header, in_path, in_query


class Request(Struct, frozen=True):
    """A request, ready to be sent."""

    method: str
    url: str
    headers: dict[str, str]
    body: bytes | None = None

    def __repr__(self) -> str:
        return f"Request({self.method!r})"  # the rest holds secrets


def request_of(
    operation: Operation, arguments: Mapping[str, Any], attached: Attached, headers: Mapping[str, str], key: str
) -> Request:
    """The request that a call of an operation is."""
    placed = {where: _given(operation, where, arguments) for where in ("query", "header", "cookie")}
    query = [*attached.query, *[pair for each, value in placed["query"] for pair in _pairs(each, value)]]
    cookies = [*attached.cookies, *[f"{name}={text}" for each, value in placed["cookie"] for name, text in _pairs(each, value)]]
    body = None if operation.body is None else encode(operation.body, arguments)
    settled = {name.lower() for name in headers} | {"cookie"}  # what the operator says goes before what a model says
    given = {each.name: _in_header(each, value) for each, value in placed["header"] if each.name.lower() not in settled}
    sent = {"Accept": operation.accepts, **given, **headers}
    if cookies:
        sent["Cookie"] = "; ".join(cookies)
    if body is not None:
        sent["Content-Type"] = body[0]
    if key and operation.tool.effect != "read":
        sent["Idempotency-Key"] = key
    url = operation.server + _path(operation, arguments) + _written(query)
    return Request(operation.method, url, {**sent, **attached.headers}, None if body is None else body[1])


def _given(operation: Operation, where: str, arguments: Mapping[str, Any]) -> list[tuple[Parameter, Any]]:
    """The parameters of a place that were given. To give null is not to give it."""
    here = [each for each in operation.parameters if each.where == where]
    return [(each, arguments[each.argument]) for each in here if arguments.get(each.argument) is not None]


def _path(operation: Operation, arguments: Mapping[str, Any]) -> str:
    path = operation.path
    for each in operation.parameters:
        if each.where == "path":
            value = arguments.get(each.argument)
            style, given = ("simple", _json(value)) if each.json else (each.style, value)
            path = path.replace(f"{{{each.name}}}", in_path(each.name, given, style, explode=each.explode))
    return path


def _pairs(each: Parameter, value: Any) -> Pairs:
    if each.json:
        return in_query(each.name, _json(value), "form", explode=False)
    if value in ([], {}):  # none of something is not to ask for it
        return []
    return in_query(each.name, value, each.style, explode=each.explode, reserved=each.reserved)


def _in_header(each: Parameter, value: Any) -> str:
    return _json(value) if each.json else in_header(value, explode=each.explode)


def _json(value: Any) -> str:
    return msgspec.json.encode(value).decode()


def _written(pairs: Pairs) -> str:
    return "?" + "&".join([f"{name}={value}" for name, value in pairs]) if pairs else ""
