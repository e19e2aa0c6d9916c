"""Sign-in with a browser: a token is sent once, and a session cookie stands for it from then on.

No script can read the session's cookie, and no other site's pages can use it. Where the server has no users, a link
with a one-time token signs its owner in (`SignInLink`).
"""

import asyncio
from collections.abc import Awaitable, Callable
from hmac import compare_digest
from html import escape
from pathlib import Path
from secrets import token_urlsafe
from time import monotonic

from msgspec import Struct
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response
from starlette.routing import BaseRoute

from treadle.routes import get, post, routes_of
from treadle.server.errors import is_json_content_type, wants_json
from treadle.server.limits import Clock, LoginFailures, RateLimiter, whole_seconds
from treadle.server.user_cache import FOR_OWNER, FOR_USERS, Authenticator, RequestCredential, UserCache
from treadle.stores.users import SESSION_SECONDS

LOGIN, LOGOUT = "/login", "/logout"
COOKIE = "treadle_session"
ID_COOKIE = "treadle_id_token"  # of an identity provider, for its session; sent with a sign-out only
MAX_BODY = 4096  # bytes of a sign-in request
MAX_SIGN_INS = 20  # of one person, a minute

TOO_MANY_FAILURES = "That were too many wrong tokens from here; try again in {} s."
TOO_MANY_SIGN_INS = "You have signed in too often within a minute; try again in {} s."
SERVICE_ACCOUNT = "This is the token of a service account, which has no sessions: it is sent as `Authorization: Bearer …`."
INVALID_BODY = 'Send {"token": "…"} as JSON, with the content type application/json.'


SIGN_OUT_PAGE = """<!doctype html>
<html lang="en">
<head><meta charset="utf-8"><title>Signing out · Treadle</title><meta http-equiv="refresh" content="0; url={url}">
<link rel="icon" href="/static/treadle.svg" type="image/svg+xml"><link rel="stylesheet" href="/static/treadle.css"></head>
<body><main><h1>Signing out</h1><p>You are signed out here. <a href="{url}">Sign out at {provider}</a></p></main></body>
</html>
"""
SignOutUrl = Callable[[Request], Awaitable[str]]


class LoginRequest(Struct, frozen=True):
    """The request body of a sign-in."""

    token: str


class LoginStatus(Struct, frozen=True):
    """Whether the client is signed in, whether this server is its owner's alone, and what else one can sign in with."""

    known: bool
    owner: bool
    provider: str = ""


class SignInLink:
    """A link that signs one browser in, once. `on_used` is called when it has been used."""

    def __init__(self, on_used: Callable[[], None] | None = None) -> None:
        self._code = token_urlsafe(32)
        self._on_used = on_used

    def at(self, url: str) -> str:
        """Return the link, for a server at `url`."""
        return f"{url.rstrip('/')}{LOGIN}?token={self._code}"

    def redeem(self, code: str) -> bool:
        """Whether this is the link's code, unused so far; it is used from now on."""
        if not self._code or not compare_digest(code.encode(errors="surrogatepass"), self._code.encode()):
            return False
        self._code = ""
        if self._on_used is not None:
            self._on_used()
        return True


class LoginApi:
    """The sign-in handlers. With a `link`, the server has no users and signs its owner in."""

    def __init__(
        self,
        users: Authenticator,
        clock: Clock = monotonic,
        link: SignInLink | None = None,
        cookie: str = COOKIE,
        provider: str = "",
        sign_out_url: "SignOutUrl | None" = None,
    ) -> None:
        self._users = users
        self._provider = provider
        self._sign_out_url = sign_out_url
        self._link = link
        self._cookie = cookie
        self._refusals = FOR_USERS if link is None else FOR_OWNER
        self._knowing = UserCache(users, clock)
        self._failures = LoginFailures(clock)
        self._rates = RateLimiter(clock, MAX_SIGN_INS)
        self._page = (Path(__file__).with_name("static") / "login.html").read_text(encoding="utf-8")

    @get(LOGIN, public=True, listed=False)
    async def get_login(self, request: Request) -> LoginStatus | Response:
        """Return the sign-in page, or a session for the one-time link; for API clients, whether they are signed in."""
        code = request.query_params.get("token", "")
        if request.method == "GET" and self._link is not None and self._link.redeem(code):
            return self._set_session_cookie(
                request, await asyncio.to_thread(self._users.begin_session, ""), RedirectResponse("/", 303)
            )
        if not wants_json(request.scope):
            return HTMLResponse(self._page)
        person = await self._knowing.person(RequestCredential("cookie", request.cookies.get(self._cookie, "")))
        return LoginStatus(person is not None, self._link is not None, self._provider)

    @post(LOGIN, public=True, listed=False, most=MAX_BODY)
    async def sign_in(self, request: Request, body: LoginRequest) -> Response:
        """Start a session with a token."""
        if not is_json_content_type(request.headers.get("content-type", "")):
            raise HTTPException(415, INVALID_BODY)
        address = request.client.host if request.client else ""
        _check_wait(TOO_MANY_FAILURES, self._failures.wait(address))
        person = await self._knowing.person(RequestCredential("authorization", body.token.strip()))
        if person is None:
            self._failures.note(address)
            raise HTTPException(401, self._refusals.unknown)
        if person.service:
            raise HTTPException(403, SERVICE_ACCOUNT)
        _check_wait(TOO_MANY_SIGN_INS, self._rates.wait(person))
        return self._set_session_cookie(
            request, await asyncio.to_thread(self._users.begin_session, person.name), Response(status_code=204)
        )

    @post(LOGOUT, listed=False)
    async def sign_out(self, request: Request) -> Response:
        """End the session; a browser that signed in with the identity provider goes on to end the session there."""
        await asyncio.to_thread(self._users.end_session, request.cookies.get(self._cookie, ""))
        is_page = "text/html" in request.headers.get("accept", "")
        url = await self._sign_out_url(request) if is_page and self._sign_out_url is not None else ""
        if url:  # a form of our pages may not be redirected to another site, but a page may lead there
            response: Response = HTMLResponse(SIGN_OUT_PAGE.format(url=escape(url), provider=escape(self._provider)))
        else:
            response = RedirectResponse(LOGIN, 303) if is_page else Response(status_code=204)
        response.delete_cookie(self._cookie, path="/", httponly=True, samesite="strict", secure=is_https(request))
        if self._sign_out_url is not None:
            response.delete_cookie(ID_COOKIE, path=LOGOUT, httponly=True, samesite="strict", secure=is_https(request))
        return response

    def _set_session_cookie(self, request: Request, secret: str, response: Response) -> Response:
        return set_session_cookie(request, secret, response, self._cookie)


def login_routes(
    users: Authenticator,
    clock: Clock = monotonic,
    link: SignInLink | None = None,
    cookie: str = COOKIE,
    provider: str = "",
    sign_out_url: SignOutUrl | None = None,
) -> list[BaseRoute]:
    """Return the routes of the page, sign-in and sign-out.

    `provider` is the title of an identity provider; `sign_out_url` returns its address that ends a session there, if it has one.
    """
    return routes_of(LoginApi(users, clock, link, cookie, provider, sign_out_url))


def set_session_cookie(
    request: Request, secret: str, response: Response, cookie: str = COOKIE, seconds: float = SESSION_SECONDS
) -> Response:
    """Add the cookie of a session to a response, and return that."""
    safe = is_https(request)
    response.set_cookie(cookie, secret, max_age=int(seconds), path="/", httponly=True, samesite="strict", secure=safe)
    return response


def _check_wait(words: str, wait: float) -> None:
    """Raise 429 where the client has to wait."""
    if wait:
        raise HTTPException(429, words.format(whole_seconds(wait)), {"retry-after": str(whole_seconds(wait))})


def is_https(request: Request) -> bool:
    """Whether a request came over HTTPS, to this server or to the proxy before it."""
    return request.url.scheme == "https"
