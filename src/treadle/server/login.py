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

from msgspec import Struct
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response
from starlette.routing import BaseRoute

from treadle.routes import get, post, routes_of
from treadle.server.errors import is_json, wants_json
from treadle.server.knowing import FOR_OWNER, FOR_USERS, Authenticator, Credential, Knowing
from treadle.server.rates import Clock, Failures, Rates, seconds
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


class Known(Struct, frozen=True):
    """Whether somebody is signed in, and whether this server is its owner's alone."""

    known: bool
    owner: bool


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
    """The handlers. With a `link`, the server has no users and signs its owner in."""

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

    @get(LOGIN, public=True, listed=False)
    async def shown(self, request: Request) -> Known | Response:
        """The page, or a session for whoever opens the link; for programs, whether somebody is known already."""
        code = request.query_params.get("token", "")
        if request.method == "GET" and self._link is not None and self._link.redeem(code):
            return self._begun(request, await asyncio.to_thread(self._users.begin_session, ""), RedirectResponse("/", 303))
        if not wants_json(request.scope):
            return HTMLResponse(self._page)
        person = await self._knowing.person(Credential("cookie", request.cookies.get(self._cookie, "")))
        return Known(person is not None, self._link is not None)

    @post(LOGIN, public=True, listed=False, most=MOST)
    async def sign_in(self, request: Request, body: Shown) -> Response:
        """A session for whoever shows a token."""
        if not is_json(request.headers.get("content-type", "")):
            raise HTTPException(415, NOT_SO)
        address = request.client.host if request.client else ""
        _check_wait(TOO_MANY_WRONG, self._failures.wait(address))
        person = await self._knowing.person(Credential("authorization", body.token.strip()))
        if person is None:
            self._failures.note(address)
            raise HTTPException(401, self._refusals.unknown)
        _check_wait(TOO_OFTEN, self._rates.wait(person))
        return self._begun(request, await asyncio.to_thread(self._users.begin_session, person.name), Response(status_code=204))

    @post(LOGOUT, listed=False)
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
    return routes_of(Login(users, clock, link, cookie))


def _check_wait(words: str, wait: float) -> None:
    """429 for whoever has to wait."""
    if wait:
        raise HTTPException(429, words.format(seconds(wait)), {"retry-after": str(seconds(wait))})


def _is_safe(request: Request) -> bool:
    return request.url.scheme == "https"
