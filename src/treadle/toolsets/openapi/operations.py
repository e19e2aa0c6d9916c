"""From a document to operations: each a tool with its schema, and all that it takes to make a request of a call."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from msgspec import Struct

from treadle.core.calls import Effect, Retry, Trust
from treadle.core.errors import BadTool
from treadle.core.log import log
from treadle.core.requests import ToolSpec
from treadle.core.tool import Tool
from treadle.guard.globs import glob
from treadle.tools.validate import Validator
from treadle.toolsets.openapi import paging
from treadle.toolsets.openapi.bodies import Body, body_of, is_json
from treadle.toolsets.openapi.document import Document, Object, as_object
from treadle.toolsets.openapi.naming import description_of, name_of
from treadle.toolsets.openapi.parameters import Parameter, parameters_of
from treadle.toolsets.openapi.schemas import Schemas
from treadle.toolsets.openapi.security import Scheme, Security
from treadle.toolsets.openapi.servers import server_of
from treadle.toolsets.openapi.shaping import shaped, whole

METHODS = ("get", "head", "options", "trace", "post", "put", "patch", "delete")
_READS = frozenset(("GET", "HEAD", "OPTIONS", "TRACE"))


class Terms(Struct, frozen=True):
    """How the operations of a document are offered; see `openapi_tools`."""

    name: str = ""
    base_url: str = ""
    effects: Mapping[str, Effect] = {}
    keyed: tuple[str, ...] = ()
    retry: Mapping[str, Retry] = {}
    only: tuple[str, ...] = ()
    paging: bool = True
    trust: Trust = "untrusted"


class Operation(Struct, frozen=True):
    """One operation. `exact` is the schema of its arguments where the tool's own lets more pass."""

    tool: Tool
    method: str
    path: str
    server: str
    parameters: tuple[Parameter, ...]
    body: Body | None
    security: tuple[tuple[Scheme, ...], ...]
    responses: Object
    accepts: str
    pages: bool
    exact: Object | None = None


def operations(document: Document, security: Security, terms: Terms) -> dict[str, Operation]:
    """All that are wanted, by the names of their tools. One that nothing can be checked by is left out, and the log says so."""
    schemas = Schemas(document)
    found: dict[str, Operation] = {}
    for method, path, item, told in _listed(document):
        name = name_of(method, path, told, found)
        if terms.only and not _is_among(terms.only, name, method, path):
            continue
        server = server_of(document, item, told, terms.base_url)
        try:
            found[name] = _operation(document, schemas, security, terms, (name, method, path, server), item, told)
        except (BadTool, RecursionError) as error:
            log.warning("The operation %s %s is left out: %s", method, path, error)
    return found


def _listed(document: Document) -> Iterator[tuple[str, str, Object, Object]]:
    for path, given in as_object(document.root["paths"]).items():
        item = {**document.followed(given), **{key: value for key, value in as_object(given).items() if key != "$ref"}}
        for method in METHODS:
            if isinstance(item.get(method), dict) and path.startswith("/"):
                yield method.upper(), path, item, item[method]


def _operation(
    document: Document,
    schemas: Schemas,
    security: Security,
    terms: Terms,
    identity: tuple[str, str, str, str],
    item: Object,
    told: Object,
) -> Operation:
    name, method, path, server = identity
    parameters = parameters_of(document, schemas, path, item, told, security.parameters)
    body = body_of(document, schemas, told, {each.argument for each in parameters})
    if body is not None and method in _READS and not body.required:
        body = None  # there it means nothing, says HTTP
    responses = as_object(told.get("responses"))
    pages = terms.paging and paging.has_pages(method, parameters, responses, document)
    schema = _arguments(parameters, body, pages=pages)
    short = shaped(schema, schemas.defs)
    Validator(short.schema)  # says now if nothing can be checked by it
    return Operation(
        tool=_tool(terms, ToolSpec(name, description_of(method, path, told), short.schema), method, path),
        method=method,
        path=path,
        server=server,
        parameters=tuple(parameters),
        body=body,
        security=security.alternatives(told),
        responses=responses,
        accepts=_accepts(document, responses),
        pages=pages and schema["properties"][paging.ARGUMENT] is paging.SCHEMA,
        exact=whole(schema, schemas.defs) if short.loose else None,
    )


def _arguments(parameters: Sequence[Parameter], body: Body | None, *, pages: bool) -> Object:
    """The schema of all arguments together."""
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
    out: Object = {"type": "object", "properties": properties, "additionalProperties": False}
    return {**out, "required": required} if required else out


def _accepts(document: Document, responses: Object) -> str:
    """The kinds of answer that are wanted: JSON where the document has it, else what it has."""
    good = [document.followed(told) for status, told in responses.items() if status.startswith("2")]
    kinds = [kind for told in good for kind in as_object(told.get("content")) if kind.isascii() and kind.isprintable()]
    found = [kind for kind in kinds if is_json(kind)][:1] or list(dict.fromkeys(kinds))
    return ", ".join(found) or "application/json, */*;q=0.5"


def _tool(terms: Terms, spec: ToolSpec, method: str, path: str) -> Tool:
    effect = _effect(terms, spec.name, method, path)
    retry = _retry(terms, spec.name, method, path, effect)
    third_party = "" if terms.trust == "trusted" else terms.name
    return Tool(spec, effect=effect, retry=retry, trust=terms.trust, toolset=terms.name, sends_to=third_party)


def _effect(terms: Terms, name: str, method: str, path: str) -> Effect:
    for pattern, effect in terms.effects.items():
        if _is_among((pattern,), name, method, path):
            return effect
    return "read" if method in _READS else "destroy" if method == "DELETE" else "write"


def _retry(terms: Terms, name: str, method: str, path: str, effect: Effect) -> Retry:
    if effect == "read":
        return "read"
    for pattern, retry in terms.retry.items():
        if _is_among((pattern,), name, method, path):
            return retry
    if method in ("PUT", "DELETE") or method in _READS:
        return "idempotent"
    return "keyed" if _is_among(terms.keyed, name, method, path) else "once"


def _is_among(patterns: Sequence[str], name: str, method: str, path: str) -> bool:
    return any(glob(pattern)(name) or glob(pattern)(f"{method} {path}") for pattern in patterns)
