"""Authentication middleware: identifies users by token or browser session, and rejects all others.

It sets `person` in the scope, and `run_limiter`, the user's run limiter. Credentials go no further: no assistant can
see them.
"""

import re
from contextlib import suppress
from time import monotonic
from urllib.parse import quote, urlencode

from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import HTTPConnection
from starlette.responses import RedirectResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from treadle.server.errors import error_response, wants_json
from treadle.server.limits import Clock, RateLimiter, RunLimiters, whole_seconds
from treadle.server.login import COOKIE, LOGIN, LOGOUT
from treadle.server.security import SAFE_METHODS
from treadle.server.user_cache import FOR_USERS, Authenticator, AuthMessages, RequestCredential, UserCache, UserLookupUnavailable
from treadle.stores.accounts import User

PUBLIC_PATHS = (LOGIN, f"{LOGIN}/oidc", f"{LOGIN}/oidc/callback", "/health", "/ready")
CREDENTIAL_PREFIX = "treadle_"  # how our tokens begin; whatever else stands where they do is an assistant's business
_TOKEN = re.compile(r"treadle_\S{44,}")  # what looks like one, wherever it stands
RECHECK_SECONDS = 5.0  # seconds after which the user of a response that is still being streamed is authenticated again

CROSS_ORIGIN = (
    "This request doesn't say that it comes from a page of this server, which it has to where a browser's session is used."
)
READ_ONLY = "You may look, but not change anything here: {} is a reader."
RATE_LIMITED = "That is more than your {} requests a minute; try again in {} s."


class AuthMiddleware:
    """ASGI middleware that authenticates requests."""

    def __init__(
        self,
        app: ASGIApp,
        *,
        users: Authenticator,
        clock: Clock = monotonic,
        refusals: AuthMessages = FOR_USERS,
        cookie: str = COOKIE,
    ) -> None:
        self._app = app
        self._cookie = cookie
        self._refusals = refusals
        self._knowing = UserCache(users, clock)
        self._clock = clock
        self._rates = RateLimiter(clock)
        self._turnstiles = RunLimiters()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass an authenticated request on with its user, or reject it."""
        if scope["type"] == "lifespan" or is_public_path(scope["path"]):
            return await self._app(scope, receive, send)
        credential = read_credential(scope, self._cookie)
        try:
            person = await self._knowing.person(credential)
        except UserLookupUnavailable as error:
            return await _send_refusal(error_response(scope, error.status_code, error.detail, error.headers), scope, receive, send)
        if person is None:
            return await _send_refusal(unauthenticated_response(scope, credential, self._refusals), scope, receive, send)
        refused = self._refusal(scope, credential, person)
        return await (
            _send_refusal(refused, scope, receive, send) if refused else self._authorize(person, credential, scope, receive, send)
        )

    async def _authorize(self, person: User, credential: RequestCredential, scope: Scope, receive: Receive, send: Send) -> None:
        scope["person"], scope["run_limiter"] = person, self._turnstiles.of(person)
        if scope["path"] != LOGOUT:
            scope["headers"] = _strip_credentials(scope)
        with suppress(_CredentialRevoked):
            await self._app(scope, receive, self._stop_when_revoked(credential, send))
        if scope["path"] == LOGOUT:
            self._knowing.forget(credential)

    def _refusal(self, scope: Scope, credential: RequestCredential, person: User) -> Response | None:
        path, method = scope["path"], scope.get("method", "WEBSOCKET")
        if credential.kind == "cookie" and method not in SAFE_METHODS and not is_same_origin(Headers(scope=scope)):
            return error_response(scope, 403, CROSS_ORIGIN)
        if not person.may_change and method not in SAFE_METHODS and path != LOGOUT:
            return error_response(scope, 403, READ_ONLY.format(person.name))
        wait = self._rates.wait(person)
        if wait:
            after = whole_seconds(wait)
            sentence = RATE_LIMITED.format(person.allowance.requests, after)
            return error_response(scope, 429, sentence, {"retry-after": str(after)})
        return None

    def _stop_when_revoked(self, credential: RequestCredential, send: Send) -> Send:
        """Wrap `send` so that a long response ends when its user's credential is revoked."""
        checked = self._clock()

        async def sending(message: Message) -> None:
            nonlocal checked
            if message.get("more_body") and self._clock() - checked >= RECHECK_SECONDS:
                checked = self._clock()
                if not await self._is_still_valid(credential):
                    await send({"type": "http.response.body", "body": b"", "more_body": False})
                    raise _CredentialRevoked
            await send(message)

        return sending

    async def _is_still_valid(self, credential: RequestCredential) -> bool:
        """Whether a credential is still valid. Where users can't be looked up, active responses continue."""
        try:
            return await self._knowing.person(credential) is not None
        except UserLookupUnavailable:
            return True


class _CredentialRevoked(OSError):
    """The credential was revoked during the response. To an application it is like a closed connection."""


def is_public_path(path: str) -> bool:
    """Whether a path needs no authentication."""
    return path in PUBLIC_PATHS or path.startswith("/static/")


def read_credential(scope: Scope, cookie: str = COOKIE) -> RequestCredential:
    """Return a request's credential: a token, else a session. Pages of other origins have no session here."""
    connection = HTTPConnection(scope)
    kind, _, token = connection.headers.get("authorization", "").partition(" ")
    if kind.lower() == "bearer" and token.strip().startswith(CREDENTIAL_PREFIX):
        return RequestCredential("authorization", token.strip())
    if connection.headers.get("x-api-key", "").startswith(CREDENTIAL_PREFIX):
        return RequestCredential("x-api-key", connection.headers["x-api-key"].strip())
    secret = connection.cookies.get(cookie, "")
    return RequestCredential("cookie", secret) if secret and "foreign" not in scope else RequestCredential("")


def is_same_origin(headers: Headers) -> bool:
    """Whether a browser says that the request is same-origin. `SecurityMiddleware` has checked its `Origin`, where there is one."""
    site = headers.get("sec-fetch-site", "")
    return site == "same-origin" or (not site and "origin" in headers)


def unauthenticated_response(scope: Scope, credential: RequestCredential, refusals: AuthMessages) -> Response:
    """Return the response to an unauthenticated request: the login page for browsers, instructions for API clients."""
    asked = Headers(scope=scope).get("accept", "")
    is_page = scope.get("method") == "GET" and "text/html" in asked and not wants_json(scope)
    if is_page and credential.kind in ("", "cookie"):
        return RedirectResponse(f"{LOGIN}?{urlencode({'next': requested_path(scope)})}", 303)
    sentence = refusals.unknown if credential.kind in ("authorization", "x-api-key") else refusals.anonymous
    return error_response(scope, 401, sentence, {"www-authenticate": "Bearer"})


def requested_path(scope: Scope) -> str:
    """Return the requested path, for redirecting after login; `/` where it could be taken for another server's."""
    path, query = scope["path"], scope.get("query_string", b"").decode("latin-1")
    if not path.startswith("/") or "//" in path or "\\" in path or "/../" in path:
        return "/"
    return f"{quote(path)}?{query}" if query else quote(path)


async def _send_refusal(response: Response, scope: Scope, receive: Receive, send: Send) -> None:
    if scope["type"] == "websocket":
        return await send({"type": "websocket.close", "code": 1008})
    return await response(scope, receive, send)


def _strip_credentials(scope: Scope) -> list[tuple[bytes, bytes]]:
    """Return the headers without credentials for this or another of our servers; other cookies stay."""
    headers = MutableHeaders(raw=[(name, value) for name, value in scope["headers"] if not _is_credential(name, value)])
    others = [each.strip() for each in headers.get("cookie", "").split(";") if not each.strip().startswith(COOKIE)]
    if "cookie" in headers:
        headers["cookie"] = "; ".join(others)
    return headers.raw


def _is_credential(name: bytes, value: bytes) -> bool:
    """Whether a header contains one of our tokens, alone or after a word such as `Bearer`."""
    last = value.decode("latin-1").strip().rpartition(" ")[2]
    if name.lower() in (b"authorization", b"x-api-key"):
        return last.startswith(CREDENTIAL_PREFIX)
    return name.lower() != b"cookie" and _TOKEN.fullmatch(last) is not None
