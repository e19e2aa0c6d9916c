"""Typed handlers as Starlette routes: the signature says what is read from a request, the return type what the response is.

A signature is read once, when the routes are created; an invalid one raises a `SettingsError`. `declaration` has
what else a handler declares; this module needs a server's packages, and is imported when routes are created.
"""

import inspect
import re
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import nullcontext
from http import HTTPStatus
from types import NoneType, UnionType
from typing import Annotated, Any, Union, get_args, get_origin, get_type_hints
from uuid import UUID

import msgspec
from msgspec import Struct
from msgspec.structs import replace
from starlette.convertors import FloatConvertor, IntegerConvertor, UUIDConvertor
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route, compile_path
from starlette.types import Receive, Scope, Send

from treadle.core.errors import SettingsError
from treadle.routes.declaration import ATTRIBUTE, EVENTS, JSON, Declaration, Problem, Returns
from treadle.routes.streaming import stream_response

OnError = Callable[[Request, Exception], Response | None]
Reader = Callable[[Request], Any]

UNION: Any = Union  # of types that are known when it runs
CONVERTED: dict[type, type] = {IntegerConvertor: int, FloatConvertor: float, UUIDConvertor: UUID}
_AT = re.compile(r" - at `\$\.?(.*)`\Z", re.DOTALL)
_encode = msgspec.json.Encoder().encode


class Unfit(HTTPException):
    """A query or body that doesn't fit its type: `words` say why, `where` is the path of the invalid value in a body."""

    def __init__(self, status: int, sentence: str, error: Exception) -> None:
        super().__init__(status, sentence.format(error))
        found = _AT.search(str(error))
        self.words = f"{_AT.sub('', str(error))}." if isinstance(error, msgspec.ValidationError) else self.detail
        self.where = (found[1] or None) if found else None


class HandlerRoute(Route):
    """The route of a handler. `owner` is the name of its assistant; empty for the server's own."""

    def __init__(self, handler: "Handler") -> None:
        self.handler = handler
        self.method = handler.declaration.method
        super().__init__(handler.path, handler.respond, methods=[self.method])
        self.allowed = frozenset(self.methods or ())
        self.owner = ""

    async def handle(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle the request; for a method that isn't allowed, respond with those that are at this path."""
        if scope["method"] not in (self.methods or ()):
            raise HTTPException(405, headers={"allow": ", ".join(sorted(self.allowed))})
        counted = scope.get("run_limiter") if self.handler.declaration.runs else None
        async with counted or nullcontext():
            await super().handle(scope, receive, send)


def routes_of(
    *handlers: Any, host: Any = None, on_error: OnError | None = None, problem: Any = Problem, prefix: str = ""
) -> list[BaseRoute]:
    """Return the routes of handlers: functions under `@get` and the like, and objects with such methods, in source order.

    host      what handlers with an argument `host` or `user` get
    on_error  makes a response of an exception; returns None to leave it to the server
    problem   the type of the body of an error
    prefix    is prepended to every path
    """
    functions = [function for handler in handlers for function in _collect_handlers(handler)]
    routes = [HandlerRoute(Handler(function, prefix, host, on_error, problem)) for function in functions]
    for route in routes:
        route.allowed = frozenset().union(*[other.methods or () for other in routes if other.path == route.path])
    return list(routes)


def _collect_handlers(handler: Any) -> list[Callable[..., Any]]:
    if hasattr(handler, ATTRIBUTE):
        return [handler]
    names = [name for kind in reversed(type(handler).__mro__) for name, each in vars(kind).items() if hasattr(each, ATTRIBUTE)]
    if not names:
        raise SettingsError(f"{handler!r} is no handler and has none; write @get(…), @post(…), @put(…) or @delete(…) above one.")
    return [getattr(handler, name) for name in dict.fromkeys(names)]


def json_response(value: Any, status: int = 200) -> Response:
    """Return a value as a JSON response, for a handler that returns responses itself."""
    return Response(_encode(value), status, media_type=JSON)


class Handler:
    """A handler with its signature: what is read from a request, and every possible response."""

    def __init__(self, function: Callable[..., Any], prefix: str, host: Any, on_error: OnError | None, problem: Any) -> None:
        self.declaration: Declaration = getattr(function, ATTRIBUTE)
        self.path = prefix + self.declaration.path
        self.problem = self.declaration.problem or problem
        self._function = function
        self._name = f"The handler {getattr(function, '__qualname__', function)} of {self.declaration.method} {self.path}"
        self._on_error = on_error
        self._readers: dict[str, Reader] = {}
        self._decoder: msgspec.json.Decoder[Any] | None = None
        self._default: Any = None
        self.query: type[Struct] | None = None
        self.body: Any = self.declaration.accepts
        self.body_required = True
        if not (inspect.iscoroutinefunction(function) or inspect.isasyncgenfunction(function)):
            raise SettingsError(f"{self._name} has to be an `async def`.")
        self.summary = (inspect.getdoc(function) or "").partition("\n")[0].removesuffix(".")
        if not self.summary:
            raise SettingsError(f"{self._name} needs a docstring: its first line is the summary in the documentation.")
        hints = self._read_arguments(compile_path(self.path)[2], host)
        if "return" not in hints:
            raise SettingsError(f"{self._name} doesn't say what it returns; annotate that, with `-> None` where there is no body.")
        self._kinds = _response_kinds(hints["return"], self.declaration.returns)
        self.responses = [kind.returns for kind in self._kinds]
        told = {status: (said, self.problem) if isinstance(said, str) else said for status, said in self.declaration.errors.items()}
        self.errors = [Returns(status, words, JSON, kind) for status, (words, kind) in told.items()]

    def _read_arguments(self, in_path: Mapping[str, Any], host: Any) -> dict[str, Any]:
        """Determine the source of each argument, and return the annotations."""
        try:
            hints = get_type_hints(self._function, include_extras=True)
        except NameError as error:
            raise SettingsError(f"{self._name} has an annotation that isn't imported when it runs: {error}.") from error
        parameters = inspect.signature(self._function).parameters
        if missing := [name for name in in_path if name not in parameters]:
            raise SettingsError(f"{self._name} has no argument for the path parameter {{{missing[0]}}}.")
        for name, parameter in parameters.items():
            if name == "body" and name in hints:
                self.body = UNION[tuple([each for each in _union_members(hints[name]) if each is not NoneType])]
                self._decoder, self._default = msgspec.json.Decoder(self.body), parameter.default
                self.body_required = parameter.default is inspect.Parameter.empty
            else:
                self._readers[name] = self._make_reader(name, hints.get(name), in_path, host)
        return hints

    def _make_reader(self, name: str, kind: Any, in_path: Mapping[str, Any], host: Any) -> Reader:
        if name in in_path:
            if kind is not (wanted := path_type(in_path[name])):
                raise SettingsError(f"{self._name}: the path parameter {name} has the type {wanted.__name__}; annotate it as that.")
            return lambda request: request.path_params[name]
        if kind is Request:
            return lambda request: request
        if name in ("host", "user") and host is not None:
            return lambda request: host if name == "host" else host.user
        if name == "query" and isinstance(kind, type) and issubclass(kind, Struct):
            self.query = kind
            return lambda request: _parse_query(request, kind, self.declaration.unfit)
        raise SettingsError(
            f"{self._name} has an argument {name} that no request has. There are: its path parameters, `query` (a Struct), "
            "`body`, a `Request`, and `host` and `user` where `routes_of` gets the host."
        )

    async def respond(self, request: Request) -> Response:
        """Call the handler with its arguments, and make a response of its return value."""
        try:
            arguments = {name: read(request) for name, read in self._readers.items()}
            if self._decoder is not None:
                arguments["body"] = await self._read_body(request, self._decoder)
            found = self._function(**arguments)
            return _make_response(await found if inspect.isawaitable(found) else found, self._kinds)
        except Exception as error:
            response = None if self._on_error is None else self._on_error(request, error)
            if response is None:
                raise
            return response

    async def _read_body(self, request: Request, decoder: "msgspec.json.Decoder[Any]") -> Any:
        limit = request.scope.get("body_limit")
        if self.declaration.most is not None and limit is not None:
            limit.become(self.declaration.most)
        sent = await request.body()
        if not sent and not self.body_required:
            return self._default
        try:
            return decoder.decode(sent)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
            raise Unfit(self.declaration.unfit, "The request has to be a JSON object: {}.", error) from error


def _parse_query(request: Request, kind: type[Struct], unfit: int) -> Struct:
    names = [field.encode_name for field in msgspec.structs.fields(kind)]
    strange = next((name for name in request.query_params if name not in names), None)
    if strange is not None:
        raise HTTPException(unfit, f"There is no query parameter {strange[:100]!r}; there are {', '.join(names)}.")
    try:
        return msgspec.convert(dict(request.query_params), kind, strict=False)
    except msgspec.ValidationError as error:
        raise Unfit(unfit, "The query doesn't fit: {}.", error) from error


def path_type(convertor: Any) -> type:
    """Return the type of a path parameter, by the convertor in its path: `{number:int}`."""
    return next((kind for each, kind in CONVERTED.items() if isinstance(convertor, each)), str)


class _ResponseKind(Struct, frozen=True):
    """One response that a handler may return, and the classes of the values that become it."""

    returns: Returns
    classes: tuple[type, ...] = ()


def _response_kinds(annotation: Any, description: str) -> tuple[_ResponseKind, ...]:
    """Return the responses of a return annotation. Types without a status of their own are one response together."""
    members = _union_members(annotation)
    plain = [each for each in members if get_origin(each) is not Annotated and each is not NoneType and not _is_response(each)]
    found = [_response_kind(*get_args(each)) for each in members if get_origin(each) is Annotated]
    if plain:
        found.insert(0, _response_kind(UNION[tuple(plain)]))
    if NoneType in members:
        found.append(_ResponseKind(Returns(204), (NoneType,)))
    found = found or [_ResponseKind(Returns())]  # a plain Starlette response, which may be anything
    return tuple(
        [replace(each, returns=_with_description(each.returns, "" if at else description)) for at, each in enumerate(found)]
    )


def _response_kind(kind: Any, *notes: Any) -> _ResponseKind:
    returns = next((note for note in notes if isinstance(note, Returns)), Returns())
    if _is_response(kind):
        return _ResponseKind(returns)
    origins = [get_origin(each) or each for each in _union_members(kind)]
    body = get_args(kind)[0] if origins == [AsyncIterator] else None if kind is NoneType else kind
    classes = [each if isinstance(each, type) and each is not Any else object for each in origins]
    return _ResponseKind(replace(returns, body=body), tuple(classes))


def _union_members(kind: Any) -> tuple[Any, ...]:
    return get_args(kind) if get_origin(kind) in (Union, UnionType) else (kind,)


def _is_response(kind: Any) -> bool:
    return isinstance(kind, type) and issubclass(kind, Response)


def _with_description(returns: Returns, description: str) -> Returns:
    body = returns.body
    documented = body.__doc__ if isinstance(body, type) and issubclass(body, Struct) else ""
    sentence = (documented or "").partition("\n")[0].partition(". ")[0].removesuffix(".")
    return replace(returns, description=description or returns.description or sentence or HTTPStatus(returns.status).phrase)


def _make_response(value: Any, kinds: Sequence[_ResponseKind]) -> Response:
    """Return a handler's return value as the response that its annotation declares."""
    if isinstance(value, Response):
        return value
    meant = next((each.returns for each in kinds if isinstance(value, each.classes)), None)
    if meant is None:
        raise TypeError(f"A handler returned a {type(value).__name__}, which its annotation doesn't say.")
    if value is None:
        return Response(status_code=meant.status)
    return stream_response(value) if meant.media_type == EVENTS else json_response(value, meant.status)
