"""A route that says what it is. It is one of Starlette's; without a server it is of no use, and nobody imports it."""

from collections.abc import Awaitable, Callable, Sequence
from contextlib import nullcontext

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route
from starlette.types import ASGIApp, Receive, Scope, Send

from treadle.routes.operation import Operation

Endpoint = Callable[[Request], Awaitable[Response]]


class Described(Route):
    """A route that says what it is. `owner` is the assistant whose it is, by its name; the server's own have none."""

    def __init__(self, path: str, endpoint: Endpoint | ASGIApp, operation: Operation, method: str = "GET") -> None:
        super().__init__(path, endpoint, methods=[method])
        self.method = method
        self.operation = operation
        self.allowed = frozenset(self.methods or ())
        self.owner = ""

    async def handle(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer; a method that isn't taken is told which are, at this path."""
        if scope["method"] not in (self.methods or ()):
            raise HTTPException(405, headers={"allow": ", ".join(sorted(self.allowed))})
        counted = scope.get("turnstile") if self.operation.runs else None
        async with counted or nullcontext():
            await super().handle(scope, receive, send)


def together(routes: Sequence[Described]) -> list[BaseRoute]:
    """Routes of which several may be at one path, each with another method."""
    for route in routes:
        route.allowed = frozenset().union(*[other.methods or () for other in routes if other.path == route.path])
    return list(routes)
