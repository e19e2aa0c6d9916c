"""From a document to operations: each a tool with its schema, and everything needed to build a request from a call.

Includes callable names and descriptions that a search finds, and server URLs, with variables filled in and relative ones
resolved.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any
from urllib.parse import urljoin

from msgspec import Struct

from treadle.core.calls import Effect, Retry, Trust
from treadle.core.errors import BadTool, SettingsError
from treadle.core.log import log
from treadle.core.requests import ToolSpec
from treadle.core.tool import Tool
from treadle.guard.globs import compile_glob
from treadle.guard.policy import digest_arguments
from treadle.http_guard.origins import parse_target
from treadle.http_guard.problems import TargetNotAllowed
from treadle.tools.validate import Validator
from treadle.toolsets.openapi import paging
from treadle.toolsets.openapi.bodies import RequestBody, is_json_type, parse_request_body
from treadle.toolsets.openapi.document import (
    JsonObject,
    OpenApiDocument,
    list_or_empty,
    object_or_empty,
    strip_markup,
    text_or_empty,
    truncate_plain_text,
)
from treadle.toolsets.openapi.parameters import OpenApiParameter, parse_parameters
from treadle.toolsets.openapi.schemas import SchemaConverter, bundle_schema, shape_schema
from treadle.toolsets.openapi.security import SecurityScheme, SecuritySchemes

METHODS = ("get", "head", "options", "trace", "post", "put", "patch", "delete")
_READS = frozenset(("GET", "HEAD", "OPTIONS", "TRACE"))


class OpenApiOptions(Struct, frozen=True):
    """Options for the operations of a document; see `openapi_tools`."""

    name: str = ""
    base_url: str = ""
    effects: Mapping[str, Effect] = {}
    keyed: tuple[str, ...] = ()
    retry: Mapping[str, Retry] = {}
    only: tuple[str, ...] = ()
    paging: bool = True
    trust: Trust = "untrusted"


class OpenApiOperation(Struct, frozen=True):
    """One operation. `exact` is the schema of its arguments where the tool's own accepts more."""

    tool: Tool
    method: str
    path: str
    server: str
    parameters: tuple[OpenApiParameter, ...]
    body: RequestBody | None
    security: tuple[tuple[SecurityScheme, ...], ...]
    responses: JsonObject
    accepts: str
    pages: bool
    exact: JsonObject | None = None


def build_operations(document: OpenApiDocument, security: SecuritySchemes, terms: OpenApiOptions) -> dict[str, OpenApiOperation]:
    """Return the selected operations by tool name. One with an unusable schema is left out and logged."""
    schemas = SchemaConverter(document)
    found: dict[str, OpenApiOperation] = {}
    for method, path, item, told in _iterate_operations(document):
        name = choose_tool_name(method, path, told, found)
        if terms.only and not _matches_any(terms.only, name, method, path):
            continue
        server = find_server_url(document, item, told, terms.base_url)
        try:
            found[name] = _build_operation(document, schemas, security, terms, (name, method, path, server), item, told)
        except (BadTool, RecursionError) as error:
            log.warning("The operation %s %s is left out: %s", method, path, error)
    return found


def _iterate_operations(document: OpenApiDocument) -> Iterator[tuple[str, str, JsonObject, JsonObject]]:
    for path, given in object_or_empty(document.root["paths"]).items():
        item = {**document.dereference(given), **{key: value for key, value in object_or_empty(given).items() if key != "$ref"}}
        for method in METHODS:
            if isinstance(item.get(method), dict) and path.startswith("/"):
                yield method.upper(), path, item, item[method]


def _build_operation(
    document: OpenApiDocument,
    schemas: SchemaConverter,
    security: SecuritySchemes,
    terms: OpenApiOptions,
    identity: tuple[str, str, str, str],
    item: JsonObject,
    told: JsonObject,
) -> OpenApiOperation:
    name, method, path, server = identity
    parameters = parse_parameters(document, schemas, path, item, told, security.parameters)
    body = parse_request_body(document, schemas, told, {each.argument for each in parameters})
    if body is not None and method in _READS and not body.required:
        body = None  # HTTP defines no meaning for it there
    responses = object_or_empty(told.get("responses"))
    pages = terms.paging and paging.has_pages(method, parameters, responses, document)
    schema = _build_arguments(parameters, body, pages=pages)
    short = shape_schema(schema, schemas.defs)
    Validator(short.schema)  # says now if nothing can be checked by it
    return OpenApiOperation(
        tool=_build_tool(terms, ToolSpec(name, build_description(method, path, told), short.schema), method, path),
        method=method,
        path=path,
        server=server,
        parameters=tuple(parameters),
        body=body,
        security=security.alternatives(told),
        responses=responses,
        accepts=_build_accept(document, responses),
        pages=pages and schema["properties"][paging.ARGUMENT] is paging.SCHEMA,
        exact=bundle_schema(schema, schemas.defs) if short.loose else None,
    )


def _build_arguments(parameters: Sequence[OpenApiParameter], body: RequestBody | None, *, pages: bool) -> JsonObject:
    """Return the schema of all arguments together."""
    properties: dict[str, Any] = {each.argument: each.schema for each in parameters}
    required = [each.argument for each in parameters if each.required]
    if body is not None and body.argument:
        properties[body.argument] = body.schema
        required += [body.argument] if body.required else []
    elif body is not None:
        properties |= body.schema["properties"]
        required += body.schema.get("required", []) if body.required else []
    if pages and paging.ARGUMENT not in properties:
        properties[paging.ARGUMENT] = paging.SCHEMA
    out: JsonObject = {"type": "object", "properties": properties, "additionalProperties": False}
    return {**out, "required": required} if required else out


def _build_accept(document: OpenApiDocument, responses: JsonObject) -> str:
    """Return the accepted content types: JSON where the document has it, else what it has."""
    good = [document.dereference(told) for status, told in responses.items() if status.startswith("2")]
    kinds = [kind for told in good for kind in object_or_empty(told.get("content")) if kind.isascii() and kind.isprintable()]
    found = [kind for kind in kinds if is_json_type(kind)][:1] or list(dict.fromkeys(kinds))
    return ", ".join(found) or "application/json, */*;q=0.5"


def _build_tool(terms: OpenApiOptions, spec: ToolSpec, method: str, path: str) -> Tool:
    effect = _choose_effect(terms, spec.name, method, path)
    retry = _choose_retry(terms, spec.name, method, path, effect)
    third_party = "" if terms.trust == "trusted" else terms.name
    return Tool(spec, effect=effect, retry=retry, trust=terms.trust, toolset=terms.name, sends_to=third_party)


def _choose_effect(terms: OpenApiOptions, name: str, method: str, path: str) -> Effect:
    for pattern, effect in terms.effects.items():
        if _matches_any((pattern,), name, method, path):
            return effect
    return "read" if method in _READS else "destroy" if method == "DELETE" else "write"


def _choose_retry(terms: OpenApiOptions, name: str, method: str, path: str, effect: Effect) -> Retry:
    if effect == "read":
        return "read"
    for pattern, retry in terms.retry.items():
        if _matches_any((pattern,), name, method, path):
            return retry
    if method in ("PUT", "DELETE") or method in _READS:
        return "idempotent"
    return "keyed" if _matches_any(terms.keyed, name, method, path) else "once"


def _matches_any(patterns: Sequence[str], name: str, method: str, path: str) -> bool:
    return any(compile_glob(pattern)(name) or compile_glob(pattern)(f"{method} {path}") for pattern in patterns)


MAX_NAME = 64
MAX_DESCRIPTION = 900
MAX_FIRST_LINE = 160
_INVALID_CHARACTERS = re.compile(r"[^A-Za-z0-9_-]+")


def choose_tool_name(method: str, path: str, operation: JsonObject, taken: Mapping[str, object]) -> str:
    """Return a callable, unique name: the operation's own, else built from its method and path."""
    told = text_or_empty(operation.get("operationId"))
    name = _INVALID_CHARACTERS.sub("_", told or f"{method.lower()}_{path.strip('/').replace('{', 'by_')}").strip("_-")
    if 0 < len(name) <= MAX_NAME and name not in taken:
        return name
    return f"{name[: MAX_NAME - 9]}_{digest_arguments({'method': method, 'path': path})[:8]}".lstrip("_")


def build_description(method: str, path: str, operation: JsonObject) -> str:
    """Return what it does: a one-line summary, then details, then method, path and tags."""
    summary = strip_markup(text_or_empty(operation.get("summary")))
    more = strip_markup(text_or_empty(operation.get("description")))
    first = truncate_plain_text((summary or more or f"{method} {path}").partition("\n")[0], MAX_FIRST_LINE)
    rest = "" if more == first else truncate_plain_text(more, MAX_DESCRIPTION - len(first))
    tags = ", ".join([tag for tag in list_or_empty(operation.get("tags")) if isinstance(tag, str)])[:100]
    old = "Deprecated: use another tool where there is one." if operation.get("deprecated") is True else ""
    place = f"{method} {path}" + (f" ({tags})" if tags else "")
    return "\n".join([line for line in (first, rest, old, place) if line])


_VARIABLE = re.compile(r"\{([^{}]*)\}")


def find_server_url(document: OpenApiDocument, item: JsonObject, operation: JsonObject, base_url: str) -> str:
    """Return the base URL of an operation's path. The servers named closest to it apply, and of those the first."""
    if base_url:
        return _check_address(base_url)
    told = [server for part in (operation, item, document.root) for server in list_or_empty(part.get("servers"))]
    return _check_address(urljoin(document.address, _fill_variables(object_or_empty(told[0] if told else None)) or "/"))


def _fill_variables(server: JsonObject) -> str:
    variables = object_or_empty(server.get("variables"))
    return _VARIABLE.sub(
        lambda found: str(object_or_empty(variables.get(found[1])).get("default", "")), text_or_empty(server.get("url"))
    )


def _check_address(address: str) -> str:
    try:
        return str(parse_target(address)).partition("?")[0].rstrip("/")
    except TargetNotAllowed:
        named = f"names the server {address!r}" if address.strip("/") else "doesn't say where its server is"
        raise SettingsError(
            f"The OpenAPI document {named}: give a whole address, as base_url='https://…' or --openapi-server https://…."
        ) from None
