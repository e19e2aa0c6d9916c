"""Signing in to the platform on the page: with a token, or with a name and a password, which the platform makes a token of.

Tokens are in this process's memory alone, each under the random id that its browser's cookie holds; no script can read that. They
are in no file, journal or log, and end when the person signs out, after hours without a request, and with the server.
"""

import time
from collections.abc import Callable
from secrets import token_urlsafe
from typing import cast

import msgspec
from msgspec import Struct

from treadle import ToolProblem
from treadle.assistants.platform import requests
from treadle.assistants.platform.server import Platform, SignedOut
from treadle.assistants.platform.shapes import Json

COOKIE = "treadle_platform"
LASTS = 12 * 3600.0  # seconds without a request
MOST = 10_000  # sign-ins that are kept


class _SignIn(Struct):
    """A token, and whose it is on which platform."""

    token: str
    server: str
    user: str
    until: float


class SignIns:
    """Who is signed in. A sign-in counts for the user of Treadle who made it, and on its platform."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._kept: dict[str, _SignIn] = {}  # in the order in which they end

    def begin(self, token: str, server: str, user: str) -> str:
        """Keep a token; the id that stands for it."""
        now = self._clock()
        while self._kept and (len(self._kept) >= MOST or next(iter(self._kept.values())).until <= now):
            del self._kept[next(iter(self._kept))]
        sign_in = token_urlsafe(32)
        self._kept[sign_in] = _SignIn(token, server, user, now + LASTS)
        return sign_in

    def token(self, sign_in: str, server: str, user: str) -> str:
        """The token that an id stands for; empty where it stands for none."""
        found, now = self._kept.get(sign_in), self._clock()
        if found is None or found.until <= now or (found.server, found.user) != (server, user):
            return ""
        found.until = now + LASTS
        self._kept[sign_in] = self._kept.pop(sign_in)
        return found.token

    def end(self, sign_in: str) -> None:
        """Forget a token."""
        self._kept.pop(sign_in, None)


sign_ins = SignIns()


async def token_for(server: str, username: str, password: str) -> str:
    """The token that the platform gives for a name and a password; `SignedOut` where it doesn't take them."""
    async with Platform(server) as platform:
        try:
            told = await platform.login(msgspec.json.encode({"username": username, "password": password}))
        except SignedOut:
            raise SignedOut("The platform doesn't take this name with this password.") from None
    token = cast("Json", told).get("token") if isinstance(told, dict) else None
    if not isinstance(token, str) or not token:
        raise ToolProblem("The platform gave no token for this name and password.")
    return token


async def user_of(server: str, token: str) -> Json:
    """Who a token belongs to; `SignedOut` where the platform doesn't take it."""
    async with Platform(server, token) as platform:
        return await requests.user(platform)
