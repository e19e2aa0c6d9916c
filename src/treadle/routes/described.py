"""Routes that are declared as values beside their handlers; to be replaced by `handlers`."""

from collections.abc import Awaitable, Callable, Sequence
from types import SimpleNamespace
from typing import Any

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route
from starlette.types import ASGIApp

from treadle.routes.declaration import EVENTS, Declaration, Problem, Returns
from treadle.routes.handlers import HandlerRoute
from treadle.routes.operation import Operation

Endpoint = Callable[[Request], Awaitable[Response]]


class Described(HandlerRoute):
    """A route that says what it is."""

    def __init__(self, path: str, endpoint: Endpoint | ASGIApp, operation: Operation, method: str = "GET") -> None:
        Route.__init__(self, path, endpoint, methods=[method])
        told: list[Returns] = []
        links: tuple[str, ...] = ()
        for status, answer in operation.answers.items():
            told.append(Returns(status, answer.words, answer.content, answer.kind))
            links = links or answer.links
            if answer.events:
                told.append(Returns(status, "the same as events", EVENTS, dict[str, Any]))
        declaration = Declaration(
            method,
            path,
            headers=operation.headers,
            problem=operation.problem or Problem,
            links=links,
            runs=operation.runs,
            open=operation.open,
        )
        self.handler: Any = SimpleNamespace(
            summary=operation.summary,
            declaration=declaration,
            query=operation.query,
            body=operation.body,
            body_required=not operation.optional,
            responses=[each for each in told if each.status < 400],
            errors=[each for each in told if each.status >= 400],
        )
        self.method = method
        self.allowed = frozenset(self.methods or ())
        self.owner = ""


def together(routes: Sequence[HandlerRoute]) -> list[BaseRoute]:
    """Routes of which several may be at one path, each with another method."""
    for route in routes:
        route.allowed = frozenset().union(*[other.methods or () for other in routes if other.path == route.path])
    return list(routes)
