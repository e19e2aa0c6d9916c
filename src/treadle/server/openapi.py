"""The OpenAPI document: made of all routes that say what they are (`treadle.routes.Described`), the server's and the assistants'.

How it is shown is `documents`. A route that doesn't say what it is works all the same, and isn't in it.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import msgspec
from msgspec import Struct
from starlette.routing import BaseRoute

from treadle._version import __version__
from treadle.app.assistant import Assistant
from treadle.routes import EVENTS, HTML, Answer, Described, Operation, Problem
from treadle.routes.operation import JSON
from treadle.server.errors import is_for_programs

ABOUT = "Assistants, their runs, approvals, jobs, audit and figures."
REF = "#/components/schemas/{name}"
COMMON = {
    400: "the request makes no sense, or names another server",
    401: "nobody is signed in",
    403: "this isn't theirs to do, or comes from another page",
    405: "this can't be asked with that method",
    429: "too much at once; `retry-after` says when to come again",
    500: "something went wrong in the server, or its files can't be used",
}
LARGE, STRANGE, NOTHING = (413, "more than is taken at once"), (415, "no JSON"), (404, "there is nothing by that name")
SERVER = "Server"
PLACES = {"/v1/messages": "Anthropic's wire", "/v1": "OpenAI's wire", "/mcp": "MCP"}
TAGS = {
    SERVER: ABOUT,
    "OpenAI's wire": "Each assistant as a model, for clients of OpenAI's chat completions.",
    "Anthropic's wire": "Each assistant as a model, for clients of Anthropic's messages.",
    "MCP": "The tools of the assistants, for clients of the Model Context Protocol.",
}


def openapi(routes: Iterable[BaseRoute], assistants: Sequence[Assistant] = (), title: str = "Treadle") -> dict[str, Any]:
    """The OpenAPI document of all routes that say what they are, by whose they are."""
    described = [route for route in routes if isinstance(route, Described)]
    schemas = _schemas(described)
    titles = {assistant.name: assistant.title for assistant in assistants}
    paths: dict[str, dict[str, Any]] = {}
    for route in described:
        made = {"tags": [_tag(route, titles)], **_operation(route, schemas)}
        paths.setdefault(route.path_format, {})[route.method.lower()] = made
    return {
        "openapi": "3.1.0",
        "info": {"title": title, "version": __version__, "description": ABOUT},
        "tags": _tags(paths, {each.title: each.summary for each in assistants}),
        "paths": paths,
        "components": {"schemas": schemas.components, "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}}},
    }


def _tag(route: Described, titles: Mapping[str, str]) -> str:
    place = next((tag for path, tag in PLACES.items() if route.path.startswith(path)), SERVER)
    return titles.get(route.owner, route.owner) or place


def _tags(paths: Mapping[str, Mapping[str, Any]], summaries: Mapping[str, str]) -> list[dict[str, str]]:
    """Whose routes there are: the server's first, then those of the assistants, in their order."""
    said = {**TAGS, **summaries}
    used = {operation["tags"][0] for methods in paths.values() for operation in methods.values()}
    return [{"name": tag, "description": words} for tag, words in said.items() if tag in used]


class _Schemas(Struct, frozen=True):
    """The schema of each type, and those that they refer to."""

    by_type: Mapping[Any, dict[str, Any]]
    components: dict[str, Any]


def _schemas(routes: Sequence[Described]) -> _Schemas:
    kinds: list[Any] = []
    for route in routes:
        kinds += [route.operation.query, route.operation.body]
        kinds += [answer.kind for answers in _answers(route).values() for answer in answers]
    unique = [kind for kind in dict.fromkeys(kinds) if kind is not None]
    made, components = msgspec.json.schema_components(unique, ref_template=REF)
    return _Schemas(dict(zip(unique, made, strict=True)), components)


def _operation(route: Described, schemas: _Schemas) -> dict[str, Any]:
    operation = route.operation
    made: dict[str, Any] = {
        "summary": operation.summary,
        "operationId": _name(route),
        "parameters": [*_path_parameters(route), *_query_parameters(operation, schemas), *_headers(operation)],
        "responses": {str(status): _response(answers, schemas) for status, answers in sorted(_answers(route).items())},
    }
    if not operation.open:
        made["security"] = [{}, {"token": []}]
    if operation.body is not None:
        content = {JSON: {"schema": schemas.by_type[operation.body]}}
        made["requestBody"] = {"required": not operation.optional, "content": content}
    return made


def _name(route: Described) -> str:
    return "_".join([route.method.lower(), *re.findall(r"\w+", route.path_format)])


# What is asked


def _path_parameters(route: Described) -> list[dict[str, Any]]:
    schema = {"type": "string", "minLength": 1}
    return [{"name": name, "in": "path", "required": True, "schema": schema} for name in route.param_convertors]


def _query_parameters(operation: Operation, schemas: _Schemas) -> list[dict[str, Any]]:
    if operation.query is None:
        return []
    schema = schemas.components[schemas.by_type[operation.query]["$ref"].rpartition("/")[2]]
    needed = schema.get("required", ())
    return [
        {"name": name, "in": "query", "required": name in needed, "schema": said} for name, said in schema["properties"].items()
    ]


def _headers(operation: Operation) -> list[dict[str, Any]]:
    schema = {"type": "string"}
    return [{"name": name, "in": "header", "description": words, "schema": schema} for name, words in operation.headers.items()]


# What is answered


def _answers(route: Described) -> dict[int, list[Answer]]:
    """All answers that a route may give by their status; several of one status are of different contents."""
    found = {status: [answer] for status, answer in route.operation.answers.items()}
    for status, answer in found.items():
        if answer[0].events:
            found[status] = [*answer, Answer("the same as events", dict[str, Any], EVENTS)]
    for status, answer in _common(route):
        there = found.setdefault(status, [])
        if answer.content not in [each.content for each in there]:
            there.append(answer)
    return found


def _common(route: Described) -> list[tuple[int, Answer]]:
    """What any route may answer with. Beside the paths for programs, what the server itself refuses is a page."""
    is_changing, is_named = route.method not in ("GET", "HEAD"), bool(route.param_convertors)
    for_programs, own = is_for_programs(route.path), route.operation.problem
    told = [*COMMON.items(), *([NOTHING] if is_named else ()), *([LARGE] if is_changing else ())]
    if for_programs:
        told += [STRANGE] if is_changing else []
        return [(status, Answer(words, own or Problem)) for status, words in told]
    spoken = [] if own is None else [(status, Answer(words, own)) for status, words in told]
    return [*spoken, *[(status, Answer(words, str, HTML)) for status, words in told]]


def _response(answers: Sequence[Answer], schemas: _Schemas) -> dict[str, Any]:
    made: dict[str, Any] = {"description": answers[0].words}
    content = {each.content.partition(";")[0]: {"schema": _schema(each, schemas)} for each in answers if each.kind is not None}
    if content:
        made["content"] = content
    if answers[0].links:
        parameters = {"run_id": "$response.body#/run_id"}
        made["links"] = {name: {"operationId": name, "parameters": parameters} for name in answers[0].links}
    return made


def _schema(answer: Answer, schemas: _Schemas) -> dict[str, Any]:
    """The schema of an answer; of a stream, that of one event, whose data is a line of JSON."""
    said = schemas.by_type[answer.kind]
    if answer.content != EVENTS:
        return said
    data = {"type": "string", "contentMediaType": JSON, "contentSchema": said}
    return {"type": "object", "properties": {"id": {"type": "string"}, "data": data}}
