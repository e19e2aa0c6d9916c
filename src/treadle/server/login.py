"""Signing in with a browser: a token is shown once, and the browser's session stands for it from then on.

No script can read the session's cookie, and no other site's pages can use it.
"""

import asyncio
from pathlib import Path
from time import monotonic

import msgspec
from msgspec import Struct
from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, RedirectResponse, Response
from starlette.routing import BaseRoute, Route

from treadle.server.errors import json_refusal
from treadle.server.rates import Clock, Failures, seconds
from treadle.server.security import is_json
from treadle.stores.users import LASTS, Users

LOGIN, LOGOUT = "/login", "/logout"
COOKIE = "treadle_session"
MOST = 4096  # bytes of what somebody sends to sign in

WRONG = "This token isn't valid, or isn't any more. Whoever runs the server can make a new one: treadle users token NAME"
TOO_OFTEN = "That were too many wrong tokens from here; try again in {} s."
NOT_SO = 'Send {"token": "…"} as JSON, with the content type application/json.'


class Shown(Struct, frozen=True):
    """What somebody shows to sign in."""

    token: str


def login_routes(users: Users, clock: Clock = monotonic) -> list[BaseRoute]:
    """The page, what it sends, and signing out."""
    page = (Path(__file__).with_name("static") / "login.html").read_text(encoding="utf-8")
    failures = Failures(clock)

    async def shown(request: Request) -> Response:
        if "application/json" in request.headers.get("accept", ""):
            return JSONResponse({"known": users.person_of_session(request.cookies.get(COOKIE, "")) is not None})
        return HTMLResponse(page)

    async def sign_in(request: Request) -> Response:
        sent = await _sent(request)
        address = request.client.host if request.client else ""
        wait = failures.wait(address)
        if wait:
            return json_refusal(429, TOO_OFTEN.format(seconds(wait)), {"retry-after": str(seconds(wait))})
        if sent is None:
            return json_refusal(400, NOT_SO)
        person = users.person_of(sent.token.strip())
        if person is None:
            failures.note(address)
            return json_refusal(401, WRONG)
        return _begun(request, await asyncio.to_thread(users.begin_session, person.name))

    async def sign_out(request: Request) -> Response:
        await asyncio.to_thread(users.end_session, request.cookies.get(COOKIE, ""))
        is_page = "text/html" in request.headers.get("accept", "")
        response = RedirectResponse(LOGIN, 303) if is_page else Response(status_code=204)
        response.delete_cookie(COOKIE, path="/", httponly=True, samesite="strict", secure=_is_safe(request))
        return response

    return [Route(LOGIN, shown), Route(LOGIN, sign_in, methods=["POST"]), Route(LOGOUT, sign_out, methods=["POST"])]


async def _sent(request: Request) -> Shown | None:
    """What was sent, as far as it is worth reading; None where it isn't what it has to be."""
    if not is_json(request.headers.get("content-type", "")):
        return None
    body = b""
    async for piece in request.stream():
        body += piece
        if len(body) > MOST:
            return None
    try:
        return msgspec.json.decode(body, type=Shown)
    except (msgspec.DecodeError, UnicodeDecodeError):
        return None


def _begun(request: Request, secret: str) -> Response:
    response = Response(status_code=204)
    response.set_cookie(COOKIE, secret, max_age=LASTS, path="/", httponly=True, samesite="strict", secure=_is_safe(request))
    return response


def _is_safe(request: Request) -> bool:
    return request.url.scheme == "https"
