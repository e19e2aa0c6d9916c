"""The OpenAPI document: built from the routes of all typed handlers (`treadle.routes`), the server's and the assistants'.

`api_docs` serves it. A plain Starlette route works too, and isn't in it.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import msgspec
from msgspec import Struct
from starlette.routing import BaseRoute

from treadle._version import __version__
from treadle.plugins.assistant import Assistant
from treadle.routes import EVENTS, HTML, JSON, HandlerRoute, Returns
from treadle.routes.handlers import path_type
from treadle.server.errors import is_api_path

ABOUT = "Assistants, their runs, approvals, jobs, audit and figures."
REF = "#/components/schemas/{name}"
COMMON_ERRORS = {
    400: "the request makes no sense, or names another server",
    401: "no user is signed in",
    403: "this isn't theirs to do, or comes from another page",
    405: "this can't be asked with that method",
    429: "too much at once; `retry-after` says when to come again",
    500: "something went wrong in the server, or its files can't be used",
}
LARGE, STRANGE, NOTHING = (413, "more than is taken at once"), (415, "no JSON"), (404, "there is nothing by that name")
NAME_SCHEMA = {"type": "string", "minLength": 1}
SERVER = "Server"
PATH_TAGS = {"/v1/messages": "Anthropic's wire", "/v1": "OpenAI's wire", "/mcp": "MCP"}
TAGS = {
    SERVER: ABOUT,
    "OpenAI's wire": "Each assistant as a model, for clients of OpenAI's chat completions.",
    "Anthropic's wire": "Each assistant as a model, for clients of Anthropic's messages.",
    "MCP": "The tools of the assistants, for clients of the Model Context Protocol.",
}


def build_openapi(routes: Iterable[BaseRoute], assistants: Sequence[Assistant] = (), title: str = "Treadle") -> dict[str, Any]:
    """Return the OpenAPI document of all handlers, tagged by owner."""
    listed = [route for route in routes if isinstance(route, HandlerRoute) and route.handler.declaration.listed]
    schemas = _schemas(listed)
    titles = {assistant.name: assistant.title for assistant in assistants}
    paths: dict[str, dict[str, Any]] = {}
    for route in listed:
        made = {"tags": [_tag(route, titles)], **_operation(route, schemas)}
        paths.setdefault(route.path_format, {})[route.method.lower()] = made
    return {
        "openapi": "3.1.0",
        "info": {"title": title, "version": __version__, "description": ABOUT},
        "tags": _tags(paths, {each.title: each.summary for each in assistants}),
        "paths": paths,
        "components": {"schemas": schemas.components, "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}}},
    }


def _tag(route: HandlerRoute, titles: Mapping[str, str]) -> str:
    place = next((tag for path, tag in PATH_TAGS.items() if route.path.startswith(path)), SERVER)
    return titles.get(route.owner, route.owner) or place


def _tags(paths: Mapping[str, Mapping[str, Any]], summaries: Mapping[str, str]) -> list[dict[str, str]]:
    """Return the tags: the server's first, then those of the assistants, in their order."""
    said = {**TAGS, **summaries}
    used = {operation["tags"][0] for methods in paths.values() for operation in methods.values()}
    return [{"name": tag, "description": words} for tag, words in said.items() if tag in used]


class _Schemas(Struct, frozen=True):
    """The schema of each type, and the components they refer to."""

    by_type: Mapping[Any, dict[str, Any]]
    components: dict[str, Any]


def _schemas(routes: Sequence[HandlerRoute]) -> _Schemas:
    kinds: list[Any] = []
    for route in routes:
        kinds += [route.handler.query, route.handler.body]
        kinds += [each.body for responses in _responses(route).values() for each in responses]
    unique = [kind for kind in dict.fromkeys(kinds) if kind is not None]
    made, components = msgspec.json.schema_components(unique, ref_template=REF)
    return _Schemas(dict(zip(unique, made, strict=True)), components)


def _operation(route: HandlerRoute, schemas: _Schemas) -> dict[str, Any]:
    handler = route.handler
    made: dict[str, Any] = {
        "summary": handler.summary,
        "operationId": _operation_id(route),
        "parameters": [*_path_parameters(route), *_query_parameters(route, schemas), *_headers(route)],
        "responses": {str(status): _response(each, schemas) for status, each in sorted(_responses(route).items())},
    }
    if not handler.declaration.public:
        made["security"] = [{}, {"token": []}]
    if handler.body is not None:
        content = {JSON: {"schema": schemas.by_type[handler.body]}}
        made["requestBody"] = {"required": handler.body_required, "content": content}
    if handler.declaration.links:
        status = next(each.status for each in handler.responses if each.media_type == JSON)
        made["responses"][str(status)]["links"] = _links(route)
    return made


def _links(route: HandlerRoute) -> dict[str, Any]:
    parameters = {"run_id": "$response.body#/run_id"}
    return {name: {"operationId": name, "parameters": parameters} for name in route.handler.declaration.links}


def _operation_id(route: HandlerRoute) -> str:
    return "_".join([route.method.lower(), *re.findall(r"\w+", route.path_format)])


# What is sent


def _path_parameters(route: HandlerRoute) -> list[dict[str, Any]]:
    kinds = {name: path_type(each) for name, each in route.param_convertors.items()}
    said = {name: NAME_SCHEMA if kind is str else msgspec.json.schema(kind) for name, kind in kinds.items()}
    return [{"name": name, "in": "path", "required": True, "schema": schema} for name, schema in said.items()]


def _query_parameters(route: HandlerRoute, schemas: _Schemas) -> list[dict[str, Any]]:
    if route.handler.query is None:
        return []
    schema = schemas.components[schemas.by_type[route.handler.query]["$ref"].rpartition("/")[2]]
    needed = schema.get("required", ())
    return [
        {"name": name, "in": "query", "required": name in needed, "schema": said} for name, said in schema["properties"].items()
    ]


def _headers(route: HandlerRoute) -> list[dict[str, Any]]:
    schema, told = {"type": "string"}, route.handler.declaration.headers
    return [{"name": name, "in": "header", "description": words, "schema": schema} for name, words in told.items()]


# What comes back


def _responses(route: HandlerRoute) -> dict[int, list[Returns]]:
    """Return all responses of a route by status; several of one status have different media types."""
    found: dict[int, list[Returns]] = {}
    for each in (*route.handler.responses, *route.handler.errors, *_common(route)):
        there = found.setdefault(each.status, [])
        if each.media_type not in [other.media_type for other in there]:
            there.append(each)
    return found


def _common(route: HandlerRoute) -> list[Returns]:
    """Return the errors that any route may respond with. Outside of the API paths, errors are HTML pages."""
    is_changing, is_named = route.method not in ("GET", "HEAD"), bool(route.param_convertors)
    told = [*COMMON_ERRORS.items(), *([NOTHING] if is_named else ()), *([LARGE] if is_changing else ())]
    if is_api_path(route.path):
        told += [STRANGE] if is_changing else []
        return [Returns(status, words, JSON, route.handler.problem) for status, words in told]
    types = ((JSON, route.handler.problem), (HTML, str))
    return [Returns(status, words, media_type, body) for status, words in told for media_type, body in types]


def _response(responses: Sequence[Returns], schemas: _Schemas) -> dict[str, Any]:
    made: dict[str, Any] = {"description": responses[0].description}
    content = {each.media_type.partition(";")[0]: {"schema": _schema(each, schemas)} for each in responses if each.body is not None}
    return {**made, "content": content} if content else made


def _schema(response: Returns, schemas: _Schemas) -> dict[str, Any]:
    """Return the schema of a response; of a stream, that of one event, whose data is a line of JSON."""
    said = schemas.by_type[response.body]
    if response.media_type != EVENTS:
        return said
    data = {"type": "string", "contentMediaType": JSON, "contentSchema": said}
    return {"type": "object", "properties": {"id": {"type": "string"}, "data": data}}
