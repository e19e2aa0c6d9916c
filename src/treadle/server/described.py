"""Routes that say what they are: summary, what can be asked, and every answer there can be. The OpenAPI document is made of them.

How it is shown is `documents`. What an assistant's own routes are is the assistant's to say.
"""

import re
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from typing import Any, Literal, TypeVar

import msgspec
from msgspec import Struct
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route
from starlette.types import Receive, Scope, Send

from treadle._version import __version__

ABOUT = "Assistants, and their runs, approvals, jobs, audit and figures."
JSON, HTML, EVENTS = "application/json", "text/html; charset=utf-8", "text/event-stream; charset=utf-8"
REF = "#/components/schemas/{name}"

StructT = TypeVar("StructT", bound=Struct)
Endpoint = Callable[[Request], Awaitable[Response]]


class Problem(Struct, frozen=True):
    """What went wrong, in a sentence; `error` and `detail` are the same."""

    success: Literal[False]
    error: str
    detail: str


class Answer(Struct, frozen=True):
    """One answer that a route may give: when, and of which type. Without a type it has no body."""

    words: str
    kind: Any = None
    content: str = JSON
    links: tuple[str, ...] = ()  # operations that can be asked next, about the run that is named in it


class Operation(Struct, frozen=True):
    """What a route does.

    query    what can stand behind the question mark, as a Struct
    body     what has to be sent; with `optional`, it may be left out
    answers  by their status; those that every route may give needn't be among them
    """

    summary: str
    query: type[Struct] | None = None
    body: type[Struct] | None = None
    optional: bool = False
    answers: Mapping[int, Answer] = {}
    headers: Mapping[str, str] = {}  # that are looked at, and what for
    open: bool = False  # it needs nobody who is known


def problem(words: str) -> Answer:
    """An answer that says what went wrong."""
    return Answer(words, Problem)


PAGE_PROBLEM = Answer("what went wrong, as a page", str, HTML)
COMMON = {
    400: "the request makes no sense, or names another server",
    401: "nobody is signed in",
    403: "this isn't theirs to do, or comes from another page",
    405: "this can't be asked with that method",
    429: "too much at once; `retry-after` says when to come again",
    500: "something went wrong in the server, or its files can't be used",
}
CHANGING = {413: "more than is taken at once", 415: "no JSON"}


class Described(Route):
    """A route that says what it is."""

    def __init__(self, path: str, endpoint: Endpoint, operation: Operation, method: str = "GET") -> None:
        super().__init__(path, endpoint, methods=[method])
        self.method = method
        self.operation = operation
        self.allowed = frozenset(self.methods or ())

    async def handle(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer; a method that isn't taken is told which are, at this path."""
        if scope["method"] not in (self.methods or ()):
            raise HTTPException(405, headers={"allow": ", ".join(sorted(self.allowed))})
        await super().handle(scope, receive, send)


def together(routes: Sequence[Described]) -> list[BaseRoute]:
    """Routes of which several may be at one path, each with another method."""
    for route in routes:
        route.allowed = frozenset().union(*[other.methods or () for other in routes if other.path == route.path])
    return list(routes)


# What is asked


def query_of(request: Request, kind: type[StructT]) -> StructT:
    """What stands behind the question mark, which has to be like this; else it is answered with 400 and a sentence."""
    names = [field.name for field in msgspec.structs.fields(kind)]
    strange = next((name for name in request.query_params if name not in names), None)
    if strange is not None:
        raise HTTPException(400, f"There is no {strange!r} to ask by; there are {', '.join(names)}.")
    try:
        return msgspec.convert(dict(request.query_params), kind, strict=False)
    except msgspec.ValidationError as error:
        raise HTTPException(400, f"This can't be asked: {error}.") from error


# The document


def openapi(routes: Iterable[BaseRoute], title: str = "Treadle") -> dict[str, Any]:
    """The OpenAPI document of all routes that say what they are."""
    described = [route for route in routes if isinstance(route, Described)]
    schemas = _schemas(described)
    paths: dict[str, dict[str, Any]] = {}
    for route in described:
        paths.setdefault(route.path_format, {})[route.method.lower()] = _operation(route, schemas)
    return {
        "openapi": "3.1.0",
        "info": {
            "title": title,
            "version": __version__,
            "description": "Assistants, their runs, approvals, jobs, audit and figures.",
        },
        "paths": paths,
        "components": {"schemas": schemas.components, "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}}},
    }


class _Schemas(Struct, frozen=True):
    """The schema of each type, and those that they refer to."""

    by_type: Mapping[Any, dict[str, Any]]
    components: dict[str, Any]


def _schemas(routes: Sequence[Described]) -> _Schemas:
    kinds: list[Any] = [Problem]
    for route in routes:
        operation = route.operation
        kinds += [kind for kind in (operation.query, operation.body) if kind is not None]
        kinds += [answer.kind for answer in operation.answers.values() if answer.kind is not None]
    unique = list(dict.fromkeys(kinds))
    made, components = msgspec.json.schema_components(unique, ref_template=REF)
    return _Schemas(dict(zip(unique, made, strict=True)), components)


def _operation(route: Described, schemas: _Schemas) -> dict[str, Any]:
    operation = route.operation
    made: dict[str, Any] = {
        "summary": operation.summary,
        "operationId": _name(route),
        "parameters": [*_path_parameters(route), *_query_parameters(operation, schemas), *_headers(operation)],
        "responses": {str(status): _answer(answer, schemas) for status, answer in sorted(_answers(route).items())},
    }
    if not operation.open:
        made["security"] = [{}, {"token": []}]
    if operation.body is not None:
        content = {JSON: {"schema": schemas.by_type[operation.body]}}
        made["requestBody"] = {"required": not operation.optional, "content": content}
    return made


def _name(route: Described) -> str:
    return "_".join([route.method.lower(), *re.findall(r"\w+", route.path_format)])


def _path_parameters(route: Described) -> list[dict[str, Any]]:
    schema = {"type": "string", "minLength": 1}
    return [{"name": name, "in": "path", "required": True, "schema": schema} for name in route.param_convertors]


def _query_parameters(operation: Operation, schemas: _Schemas) -> list[dict[str, Any]]:
    if operation.query is None:
        return []
    schema = schemas.components[schemas.by_type[operation.query]["$ref"].rpartition("/")[2]]
    return [{"name": name, "in": "query", "required": False, "schema": said} for name, said in schema["properties"].items()]


def _headers(operation: Operation) -> list[dict[str, Any]]:
    schema = {"type": "string"}
    return [{"name": name, "in": "header", "description": words, "schema": schema} for name, words in operation.headers.items()]


def _answers(route: Described) -> dict[int, Answer]:
    """All answers that a route may give."""
    for_programs = route.path.startswith("/api/")
    common = {**COMMON, **(CHANGING if route.method != "GET" else {})}
    told = {status: problem(words) if for_programs else Answer(words, str, HTML) for status, words in common.items()}
    return {**told, **route.operation.answers}


def _answer(answer: Answer, schemas: _Schemas) -> dict[str, Any]:
    made: dict[str, Any] = {"description": answer.words}
    if answer.kind is not None:
        made["content"] = {answer.content.partition(";")[0]: {"schema": schemas.by_type[answer.kind]}}
    if answer.links:
        made["links"] = {name: {"operationId": name, "parameters": {"run_id": "$response.body#/run_id"}} for name in answer.links}
    return made
