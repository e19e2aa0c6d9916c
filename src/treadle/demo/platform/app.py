"""The demo platform over HTTP. Unknown paths return the web page with 200, also below /api; every response has an `X-Trace-Id`."""

import secrets
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager

from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.requests import ClientDisconnect, Request
from starlette.responses import HTMLResponse, Response
from starlette.routing import Route

from treadle.demo.platform.endpoints import DemoEndpoint, DemoPlatform
from treadle.demo.platform.http_types import JSON, PlatformRequest, json_reply, text_reply
from treadle.demo.platform.openapi import build_openapi_document

MAX_BODY_BYTES = 1_000_000
METHODS = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"]
REST = ("{name}", "{id}")  # at the end of a path, these go on to its end, slashes and all

PAGE = """<!doctype html>
<html lang="en"><meta charset="utf-8"><title>Platform demo</title>
<body><h1>Platform demo</h1>
<p>There is an API under <code>/api</code>, described in <a href="/openapi.json">openapi.json</a>.</p></body></html>
"""


def create_demo_app(platform: DemoPlatform) -> Starlette:
    """Create the application. Its workflows run for as long as it does."""

    @asynccontextmanager
    async def lifespan(_: Starlette) -> AsyncGenerator[None]:
        platform.runner.start()
        try:
            yield
        finally:
            await run_in_threadpool(platform.close)

    app = Starlette(routes=_build_routes(platform), lifespan=lifespan)
    app.router.redirect_slashes = False
    return app


def _build_routes(platform: DemoPlatform) -> list[Route]:
    by_path: dict[str, list[DemoEndpoint]] = {}
    for endpoint in platform.endpoints():
        by_path.setdefault(_route_pattern(endpoint.path), []).append(endpoint)
    described = json_reply(build_openapi_document(platform.endpoints(), platform.shape))

    async def description(_: Request) -> Response:
        return _build_response(described.status, described.media, described.body, {})

    async def page(_: Request) -> Response:
        return HTMLResponse(PAGE, headers=_trace_header())

    return [
        *(_build_route(platform, path, endpoints) for path, endpoints in by_path.items()),
        Route("/openapi.json", description),
        Route("/swagger.json", description),
        Route("/{anything:path}", page, methods=METHODS),
    ]


def _route_pattern(path: str) -> str:
    return f"{path[:-1]}:path}}" if path.endswith(REST) else path


def _build_route(platform: DemoPlatform, path: str, endpoints: Sequence[DemoEndpoint]) -> Route:
    by_method = {each.method: each for each in endpoints}

    async def answer(request: Request) -> Response:
        body = await _read_body(request)
        if body is None:
            refused = text_reply("Request body too large", 413)
            return _build_response(refused.status, refused.media, refused.body, {})
        asked = _parse_request(request, body)
        given = await run_in_threadpool(platform.answer, by_method.get(request.method), asked)
        return _build_response(given.status, given.media, given.body, given.headers)

    return Route(path, answer, methods=METHODS)


async def _read_body(request: Request) -> bytes | None:
    """Return the whole body; None if it is too large, in which case the rest is drained, so that the response arrives."""
    body = bytearray()
    try:
        async for chunk in request.stream():
            if len(body) <= MAX_BODY_BYTES:
                body += chunk
    except ClientDisconnect:
        return None
    return bytes(body) if len(body) <= MAX_BODY_BYTES else None


def _parse_request(request: Request, body: bytes) -> PlatformRequest:
    return PlatformRequest(
        request.method,
        request.url.path,
        dict(request.query_params),
        dict(request.headers),
        request.cookies,
        request.path_params,
        body,
        request.client.host if request.client else "",
    )


def _build_response(status: int, media: str, body: bytes, headers: dict[str, str]) -> Response:
    extra = {} if media == JSON else {"X-Content-Type-Options": "nosniff"}
    return Response(body, status, {"Content-Type": media, **extra, **headers, **_trace_header()})


def _trace_header() -> dict[str, str]:
    return {"X-Trace-Id": secrets.token_hex(16)}
