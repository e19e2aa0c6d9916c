"""Sign in to the platform on the page: with a token, or with a name and a password, for which the platform returns a token.

Tokens are in this process's memory only, each under the random id in its browser's HttpOnly cookie. They are in no
file, journal or log, and expire on sign-out, after hours without a request, and with the server.
"""

import time
from collections.abc import Callable
from secrets import token_urlsafe
from typing import cast

import msgspec
from msgspec import Struct

from treadle import ToolProblem
from treadle.assistants.platform import api_calls
from treadle.assistants.platform.client import PlatformClient, PlatformUnauthenticated
from treadle.assistants.platform.responses import Json

COOKIE = "treadle_platform"
SIGN_IN_SECONDS = 12 * 3600.0  # seconds without a request
MAX_SIGN_INS = 10_000  # sign-ins that are kept


class _SignIn(Struct):
    """A token, and its user and platform."""

    token: str
    server: str
    user: str
    until: float


class SignInStore:
    """Active sign-ins. A sign-in is valid for the Treadle user who made it, and for its platform."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._kept: dict[str, _SignIn] = {}  # in the order in which they end

    def begin(self, token: str, server: str, user: str) -> str:
        """Store a token; return its id."""
        now = self._clock()
        while self._kept and (len(self._kept) >= MAX_SIGN_INS or next(iter(self._kept.values())).until <= now):
            del self._kept[next(iter(self._kept))]
        sign_in = token_urlsafe(32)
        self._kept[sign_in] = _SignIn(token, server, user, now + SIGN_IN_SECONDS)
        return sign_in

    def token(self, sign_in: str, server: str, user: str) -> str:
        """Return the token of an id; empty if there is none."""
        found, now = self._kept.get(sign_in), self._clock()
        if found is None or found.until <= now or (found.server, found.user) != (server, user):
            return ""
        found.until = now + SIGN_IN_SECONDS
        self._kept[sign_in] = self._kept.pop(sign_in)
        return found.token

    def end(self, sign_in: str) -> None:
        """Delete a token."""
        self._kept.pop(sign_in, None)


sign_ins = SignInStore()


async def request_token(server: str, username: str, password: str) -> str:
    """Request a token for a name and a password; raises `PlatformUnauthenticated` if the platform rejects them."""
    async with PlatformClient(server) as platform:
        try:
            told = await platform.login(msgspec.json.encode({"username": username, "password": password}))
        except PlatformUnauthenticated:
            raise PlatformUnauthenticated("The platform doesn't take this name with this password.") from None
    token = cast("Json", told).get("token") if isinstance(told, dict) else None
    if not isinstance(token, str) or not token:
        raise ToolProblem("The platform gave no token for this name and password.")
    return token


async def fetch_token_user(server: str, token: str) -> Json:
    """Return the user of a token; raises `PlatformUnauthenticated` if the platform rejects it."""
    async with PlatformClient(server, token) as platform:
        return await api_calls.fetch_user(platform)
