"""The platform over HTTP. Paths that aren't known get the web page with 200, also under /api; every answer has its `X-Trace-Id`."""

import secrets
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager

from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.requests import ClientDisconnect, Request
from starlette.responses import HTMLResponse, Response
from starlette.routing import Route

from treadle.assistants.platform.demo.document import document
from treadle.assistants.platform.demo.platform import Endpoint, Platform
from treadle.assistants.platform.demo.values import JSON, Asked, plainly, said

MOST_BYTES = 1_000_000
METHODS = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"]
REST = ("{name}", "{id}")  # at the end of a path, these go on to its end, slashes and all

PAGE = """<!doctype html>
<html lang="en"><meta charset="utf-8"><title>Platform demo</title>
<body><h1>Platform demo</h1>
<p>There is an API under <code>/api</code>, described in <a href="/openapi.json">openapi.json</a>.</p></body></html>
"""


def create_app(platform: Platform) -> Starlette:
    """The application. Its workflows run for as long as it does."""

    @asynccontextmanager
    async def lifespan(_: Starlette) -> AsyncGenerator[None]:
        platform.runner.start()
        try:
            yield
        finally:
            await run_in_threadpool(platform.close)

    app = Starlette(routes=_routes(platform), lifespan=lifespan)
    app.router.redirect_slashes = False
    return app


def _routes(platform: Platform) -> list[Route]:
    by_path: dict[str, list[Endpoint]] = {}
    for endpoint in platform.endpoints():
        by_path.setdefault(_pattern(endpoint.path), []).append(endpoint)
    described = said(document(platform.endpoints(), platform.shape))

    async def description(_: Request) -> Response:
        return _response(described.status, described.media, described.body, {})

    async def page(_: Request) -> Response:
        return HTMLResponse(PAGE, headers=_traced())

    return [
        *(_route(platform, path, endpoints) for path, endpoints in by_path.items()),
        Route("/openapi.json", description),
        Route("/swagger.json", description),
        Route("/{anything:path}", page, methods=METHODS),
    ]


def _pattern(path: str) -> str:
    return f"{path[:-1]}:path}}" if path.endswith(REST) else path


def _route(platform: Platform, path: str, endpoints: Sequence[Endpoint]) -> Route:
    by_method = {each.method: each for each in endpoints}

    async def answer(request: Request) -> Response:
        body = await _body(request)
        if body is None:
            refused = plainly("Request body too large", 413)
            return _response(refused.status, refused.media, refused.body, {})
        asked = _asked(request, body)
        given = await run_in_threadpool(platform.answer, by_method.get(request.method), asked)
        return _response(given.status, given.media, given.body, given.headers)

    return Route(path, answer, methods=METHODS)


async def _body(request: Request) -> bytes | None:
    """The whole body; None where it is too much, of which the rest is heard out and forgotten, so that the answer arrives."""
    body = bytearray()
    try:
        async for chunk in request.stream():
            if len(body) <= MOST_BYTES:
                body += chunk
    except ClientDisconnect:
        return None
    return bytes(body) if len(body) <= MOST_BYTES else None


def _asked(request: Request, body: bytes) -> Asked:
    return Asked(
        request.method,
        request.url.path,
        dict(request.query_params),
        dict(request.headers),
        request.cookies,
        request.path_params,
        body,
        request.client.host if request.client else "",
    )


def _response(status: int, media: str, body: bytes, headers: dict[str, str]) -> Response:
    extra = {} if media == JSON else {"X-Content-Type-Options": "nosniff"}
    return Response(body, status, {"Content-Type": media, **extra, **headers, **_traced()})


def _traced() -> dict[str, str]:
    return {"X-Trace-Id": secrets.token_hex(16)}
