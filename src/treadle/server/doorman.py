"""Who asks: an ASGI layer that knows people by their token, or by the session of their browser, and lets nobody else in.

It says so in the scope: `person`, and `turnstile` for whoever begins runs. What proved it goes no further: no assistant can see it.
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
from treadle.server.knowing import FOR_USERS, Authenticator, Credential, Knowing, NotNow, Refusals
from treadle.server.login import COOKIE, LOGIN, LOGOUT
from treadle.server.rates import Clock, Rates, Turnstiles, seconds
from treadle.server.security import SAFE
from treadle.stores.people import Person

OPEN = (LOGIN, "/health", "/ready")
OURS = "treadle_"  # how our tokens begin; whatever else stands where they do is an assistant's business
_TOKEN = re.compile(r"treadle_\S{44,}")  # what looks like one, wherever it stands
AGAIN = 5.0  # seconds after which an answer that is still being sent is for somebody who has to be known once more

FOREIGN = "This request doesn't say that it comes from a page of this server, which it has to where a browser's session is used."
ONLY_READS = "You may look, but not change anything here: {} is a reader."
TOO_OFTEN = "That is more than your {} requests a minute; try again in {} s."


class Doorman:
    """Lets in who is known."""

    def __init__(
        self, app: ASGIApp, *, users: Authenticator, clock: Clock = monotonic, refusals: Refusals = FOR_USERS, cookie: str = COOKIE
    ) -> None:
        self._app = app
        self._cookie = cookie
        self._refusals = refusals
        self._knowing = Knowing(users, clock)
        self._clock = clock
        self._rates = Rates(clock)
        self._turnstiles = Turnstiles()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on with who asks, or answer it here."""
        if scope["type"] == "lifespan" or is_open(scope["path"]):
            return await self._app(scope, receive, send)
        credential = credential_of(scope, self._cookie)
        try:
            person = await self._knowing.person(credential)
        except NotNow as error:
            return await _refuse(error_response(scope, error.status_code, error.detail, error.headers), scope, receive, send)
        if person is None:
            return await _refuse(unknown(scope, credential, self._refusals), scope, receive, send)
        refused = self._refused(scope, credential, person)
        return await (_refuse(refused, scope, receive, send) if refused else self._let_in(person, credential, scope, receive, send))

    async def _let_in(self, person: Person, credential: Credential, scope: Scope, receive: Receive, send: Send) -> None:
        scope["person"], scope["turnstile"] = person, self._turnstiles.of(person)
        if scope["path"] != LOGOUT:
            scope["headers"] = _without_proof(scope)
        with suppress(_Gone):
            await self._app(scope, receive, self._while_known(credential, send))
        if scope["path"] == LOGOUT:
            self._knowing.forget(credential)

    def _refused(self, scope: Scope, credential: Credential, person: Person) -> Response | None:
        path, method = scope["path"], scope.get("method", "WEBSOCKET")
        if credential.kind == "cookie" and method not in SAFE and not is_from_our_page(Headers(scope=scope)):
            return error_response(scope, 403, FOREIGN)
        if not person.may_change and method not in SAFE and path != LOGOUT:
            return error_response(scope, 403, ONLY_READS.format(person.name))
        wait = self._rates.wait(person)
        if wait:
            after = seconds(wait)
            sentence = TOO_OFTEN.format(person.allowance.requests, after)
            return error_response(scope, 429, sentence, {"retry-after": str(after)})
        return None

    def _while_known(self, credential: Credential, send: Send) -> Send:
        """An answer that takes long ends when whoever hears it isn't known any more."""
        checked = self._clock()

        async def sending(message: Message) -> None:
            nonlocal checked
            if message.get("more_body") and self._clock() - checked >= AGAIN:
                checked = self._clock()
                if not await self._is_known(credential):
                    await send({"type": "http.response.body", "body": b"", "more_body": False})
                    raise _Gone
            await send(message)

        return sending

    async def _is_known(self, credential: Credential) -> bool:
        """Whether somebody still is. Where nobody can be looked up, what is under way goes on."""
        try:
            return await self._knowing.person(credential) is not None
        except NotNow:
            return True


class _Gone(OSError):
    """Nobody is there any more who might hear the rest. To an application it is like a connection that has ended."""


def is_open(path: str) -> bool:
    """Whether nobody has to be known for it."""
    return path in OPEN or path.startswith("/static/")


def credential_of(scope: Scope, cookie: str = COOKIE) -> Credential:
    """What a request shows: a token, else a session. Pages elsewhere have no session here."""
    connection = HTTPConnection(scope)
    kind, _, token = connection.headers.get("authorization", "").partition(" ")
    if kind.lower() == "bearer" and token.strip().startswith(OURS):
        return Credential("authorization", token.strip())
    if connection.headers.get("x-api-key", "").startswith(OURS):
        return Credential("x-api-key", connection.headers["x-api-key"].strip())
    secret = connection.cookies.get(cookie, "")
    return Credential("cookie", secret) if secret and "foreign" not in scope else Credential("")


def is_from_our_page(headers: Headers) -> bool:
    """Whether a browser says so. That its `Origin` is ours, where it names one, `Gate` has seen to."""
    site = headers.get("sec-fetch-site", "")
    return site == "same-origin" or (not site and "origin" in headers)


def unknown(scope: Scope, credential: Credential, refusals: Refusals) -> Response:
    """The answer for whom we don't know: people are shown where to sign in, programs are told how."""
    asked = Headers(scope=scope).get("accept", "")
    is_page = scope.get("method") == "GET" and "text/html" in asked and not wants_json(scope)
    if is_page and credential.kind in ("", "cookie"):
        return RedirectResponse(f"{LOGIN}?{urlencode({'next': place_of(scope)})}", 303)
    sentence = refusals.unknown if credential.kind in ("authorization", "x-api-key") else refusals.nobody
    return error_response(scope, 401, sentence, {"www-authenticate": "Bearer"})


def place_of(scope: Scope) -> str:
    """Where somebody wanted to go, as a path of this server; `/` where it could be taken for another's."""
    path, query = scope["path"], scope.get("query_string", b"").decode("latin-1")
    if not path.startswith("/") or "//" in path or "\\" in path or "/../" in path:
        return "/"
    return f"{quote(path)}?{query}" if query else quote(path)


async def _refuse(response: Response, scope: Scope, receive: Receive, send: Send) -> None:
    if scope["type"] == "websocket":
        return await send({"type": "websocket.close", "code": 1008})
    return await response(scope, receive, send)


def _without_proof(scope: Scope) -> list[tuple[bytes, bytes]]:
    """The headers without anything that proves who asks, here or at another of our servers; other cookies stay."""
    headers = MutableHeaders(raw=[(name, value) for name, value in scope["headers"] if not _is_proof(name, value)])
    others = [each.strip() for each in headers.get("cookie", "").split(";") if not each.strip().startswith(COOKIE)]
    if "cookie" in headers:
        headers["cookie"] = "; ".join(others)
    return headers.raw


def _is_proof(name: bytes, value: bytes) -> bool:
    """Whether a header has one of our tokens, alone or after a word such as `Bearer`."""
    last = value.decode("latin-1").strip().rpartition(" ")[2]
    if name.lower() in (b"authorization", b"x-api-key"):
        return last.startswith(OURS)
    return name.lower() != b"cookie" and _TOKEN.fullmatch(last) is not None
