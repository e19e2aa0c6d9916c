"""Signing in with a browser: a token is shown once, and the browser's session stands for it from then on.

No script can read the session's cookie, and no other site's pages can use it. Where the server has no users, a link with a
one-time token signs its owner in (`SignInLink`).
"""

import asyncio
from collections.abc import Callable
from hmac import compare_digest
from pathlib import Path
from secrets import token_urlsafe
from time import monotonic

import msgspec
from msgspec import Struct
from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, RedirectResponse, Response
from starlette.routing import BaseRoute, Route

from treadle.server.errors import json_refusal
from treadle.server.knowing import FOR_OWNER, FOR_USERS, Authenticator, Credential, Knowing
from treadle.server.rates import Clock, Failures, Rates, seconds
from treadle.server.security import is_json
from treadle.stores.users import LASTS

LOGIN, LOGOUT = "/login", "/logout"
COOKIE = "treadle_session"
MOST = 4096  # bytes of what somebody sends to sign in
SIGN_INS = 20  # of one person, a minute

TOO_MANY_WRONG = "That were too many wrong tokens from here; try again in {} s."
TOO_OFTEN = "You have signed in too often within a minute; try again in {} s."
NOT_SO = 'Send {"token": "…"} as JSON, with the content type application/json.'


class Shown(Struct, frozen=True):
    """What somebody shows to sign in."""

    token: str


class SignInLink:
    """A link that signs one browser in, once. `on_used` is called when it has."""

    def __init__(self, on_used: Callable[[], None] | None = None) -> None:
        self._code = token_urlsafe(32)
        self._on_used = on_used

    def at(self, url: str) -> str:
        """Return the link, for a server at `url`."""
        return f"{url.rstrip('/')}{LOGIN}?token={self._code}"

    def redeem(self, code: str) -> bool:
        """Whether this is the code of the link, and wasn't used before."""
        if not self._code or not compare_digest(code.encode(errors="surrogatepass"), self._code.encode()):
            return False
        self._code = ""
        if self._on_used is not None:
            self._on_used()
        return True


class Login:
    """The endpoints. With a `link`, the server has no users and signs its owner in."""

    def __init__(
        self, users: Authenticator, clock: Clock = monotonic, link: SignInLink | None = None, cookie: str = COOKIE
    ) -> None:
        self._users = users
        self._link = link
        self._cookie = cookie
        self._refusals = FOR_USERS if link is None else FOR_OWNER
        self._knowing = Knowing(users, clock)
        self._failures = Failures(clock)
        self._rates = Rates(clock, SIGN_INS)
        self._page = (Path(__file__).with_name("static") / "login.html").read_text(encoding="utf-8")

    async def shown(self, request: Request) -> Response:
        """The page, or a session for whoever opens the link; for programs, whether somebody is known already."""
        code = request.query_params.get("token", "")
        if request.method == "GET" and self._link is not None and self._link.redeem(code):
            return self._begun(request, await asyncio.to_thread(self._users.begin_session, ""), RedirectResponse("/", 303))
        if "application/json" not in request.headers.get("accept", ""):
            return HTMLResponse(self._page)
        person = await self._knowing.person(Credential("cookie", request.cookies.get(self._cookie, "")))
        return JSONResponse({"known": person is not None, "owner": self._link is not None})

    async def sign_in(self, request: Request) -> Response:
        """A session for whoever shows a token."""
        sent = await _sent(request)
        address = request.client.host if request.client else ""
        wait = self._failures.wait(address)
        if wait:
            return _later(TOO_MANY_WRONG, wait)
        if sent is None:
            return json_refusal(400, NOT_SO)
        person = await self._knowing.person(Credential("authorization", sent.token.strip()))
        if person is None:
            self._failures.note(address)
            return json_refusal(401, self._refusals.unknown)
        wait = self._rates.wait(person)
        if wait:
            return _later(TOO_OFTEN, wait)
        return self._begun(request, await asyncio.to_thread(self._users.begin_session, person.name), Response(status_code=204))

    async def sign_out(self, request: Request) -> Response:
        """No session any more."""
        await asyncio.to_thread(self._users.end_session, request.cookies.get(self._cookie, ""))
        is_page = "text/html" in request.headers.get("accept", "")
        response = RedirectResponse(LOGIN, 303) if is_page else Response(status_code=204)
        response.delete_cookie(self._cookie, path="/", httponly=True, samesite="strict", secure=_is_safe(request))
        return response

    def _begun(self, request: Request, secret: str, response: Response) -> Response:
        safe = _is_safe(request)
        response.set_cookie(self._cookie, secret, max_age=LASTS, path="/", httponly=True, samesite="strict", secure=safe)
        return response


def login_routes(
    users: Authenticator, clock: Clock = monotonic, link: SignInLink | None = None, cookie: str = COOKIE
) -> list[BaseRoute]:
    """The page, what it sends, and signing out."""
    login = Login(users, clock, link, cookie)
    return [
        Route(LOGIN, login.shown),
        Route(LOGIN, login.sign_in, methods=["POST"]),
        Route(LOGOUT, login.sign_out, methods=["POST"]),
    ]


def _later(words: str, wait: float) -> Response:
    return json_refusal(429, words.format(seconds(wait)), {"retry-after": str(seconds(wait))})


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
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return None


def _is_safe(request: Request) -> bool:
    return request.url.scheme == "https"
