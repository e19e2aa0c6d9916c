"""Builds a request from a call: every argument in its place, credentials attached, an idempotency key on writes. Sends nothing."""

from collections.abc import Mapping
from typing import Any

import msgspec
from msgspec import Struct

from treadle.toolsets.openapi.bodies import encode_body
from treadle.toolsets.openapi.operations import OpenApiOperation
from treadle.toolsets.openapi.parameters import OpenApiParameter
from treadle.toolsets.openapi.security import RequestCredentials
from treadle.toolsets.openapi.styles import QueryPairs, format_header_value, format_path_value, format_query_value


class OpenApiRequest(Struct, frozen=True):
    """A request, ready to be sent."""

    method: str
    url: str
    headers: dict[str, str]
    body: bytes | None = None

    def __repr__(self) -> str:
        return f"Request({self.method!r})"  # the rest holds secrets


def build_openapi_request(
    operation: OpenApiOperation, arguments: Mapping[str, Any], attached: RequestCredentials, headers: Mapping[str, str], key: str
) -> OpenApiRequest:
    """Build the request for a call of an operation."""
    placed = {where: _collect_given(operation, where, arguments) for where in ("query", "header", "cookie")}
    query = [*attached.query, *[pair for each, value in placed["query"] for pair in _build_pairs(each, value)]]
    cookies = [
        *attached.cookies,
        *[f"{name}={text}" for each, value in placed["cookie"] for name, text in _build_pairs(each, value)],
    ]
    body = None if operation.body is None else encode_body(operation.body, arguments)
    settled = {name.lower() for name in headers} | {"cookie"}  # what the operator says goes before what a model says
    given = {each.name: _to_header(each, value) for each, value in placed["header"] if each.name.lower() not in settled}
    sent = {"Accept": operation.accepts, **given, **headers}
    if cookies:
        sent["Cookie"] = "; ".join(cookies)
    if body is not None:
        sent["Content-Type"] = body[0]
    if key and operation.tool.effect != "read":
        sent["Idempotency-Key"] = key
    url = operation.server + _build_path(operation, arguments) + _to_query_string(query)
    return OpenApiRequest(operation.method, url, {**sent, **attached.headers}, None if body is None else body[1])


def _collect_given(operation: OpenApiOperation, where: str, arguments: Mapping[str, Any]) -> list[tuple[OpenApiParameter, Any]]:
    """Return the given parameters of a location. A null value counts as not given."""
    here = [each for each in operation.parameters if each.where == where]
    return [(each, arguments[each.argument]) for each in here if arguments.get(each.argument) is not None]


def _build_path(operation: OpenApiOperation, arguments: Mapping[str, Any]) -> str:
    path = operation.path
    for each in operation.parameters:
        if each.where == "path":
            value = arguments.get(each.argument)
            style, given = ("simple", _to_json(value)) if each.json else (each.style, value)
            path = path.replace(f"{{{each.name}}}", format_path_value(each.name, given, style, explode=each.explode))
    return path


def _build_pairs(each: OpenApiParameter, value: Any) -> QueryPairs:
    if each.json:
        return format_query_value(each.name, _to_json(value), "form", explode=False)
    if value in ([], {}):  # none of something is not to ask for it
        return []
    return format_query_value(each.name, value, each.style, explode=each.explode, reserved=each.reserved)


def _to_header(each: OpenApiParameter, value: Any) -> str:
    return _to_json(value) if each.json else format_header_value(value, explode=each.explode)


def _to_json(value: Any) -> str:
    return msgspec.json.encode(value).decode()


def _to_query_string(pairs: QueryPairs) -> str:
    return "?" + "&".join([f"{name}={value}" for name, value in pairs]) if pairs else ""
