"""Look up the user of a credential in a thread, cached for one second. `auth` decides who is let in.

Users may be in a file that another process has locked. Then authentication fails soon, with a sentence; no other
request waits for it.
"""

import asyncio
from hashlib import sha256
from time import monotonic
from typing import Literal, Protocol

from msgspec import Struct
from starlette.exceptions import HTTPException

from treadle.server.limits import Clock
from treadle.stores.accounts import User

CACHE_SECONDS = 1.0  # seconds for which a user is cached, from the lookup on
LOOKUP_TIMEOUT = 2.0  # seconds that a look may take
MAX_LOOKUPS = 2  # at once: threads that may wait for a file
MAX_ENTRIES = 1_000  # credentials that are remembered

UNAVAILABLE = "Users can't be authenticated at the moment: the database of users can't be read. Try again in a few seconds."


class Authenticator(Protocol):
    """Identifies users by token or session: the users of a server, or the one account that runs it."""

    def person_of(self, token: str) -> User | None:
        """Return the user of a token; None where it is invalid."""
        ...

    def person_of_session(self, secret: str) -> User | None:
        """Return the user of a session; None where it has ended, or never existed."""
        ...

    def begin_session(self, name: str) -> str:
        """Start a session and return its secret."""
        ...

    def end_session(self, secret: str) -> None:
        """End a session."""
        ...


class AuthMessages(Struct, frozen=True):
    """The messages for a rejected request: without a credential, and with an invalid one."""

    anonymous: str
    unknown: str


FOR_USERS = AuthMessages(
    "Say who you are: send a token as `Authorization: Bearer …`. The server's administrator can make one: treadle users add NAME",
    "This token isn't valid, or isn't any more. The server's administrator can make a new one: treadle users token NAME",
)
FOR_PROGRAMS = AuthMessages(
    "Send the token in the file server.token, in the home of the server's administrator, as `Authorization: Bearer …`.",
    "This token isn't valid here. The token is in the file server.token in the home of the server's administrator.",
)
FOR_OWNER = AuthMessages(
    "This server is for the account that started it: open the link that `treadle serve` printed, or send the token in the file"
    " server.token of its home as `Authorization: Bearer …`.",
    FOR_PROGRAMS.unknown,
)


class RequestCredential(Struct, frozen=True):
    """A request's credential, and where it was found."""

    kind: Literal["authorization", "x-api-key", "cookie", ""]
    secret: str = ""


class UserLookupUnavailable(HTTPException):
    """Users can't be looked up at the moment."""

    def __init__(self) -> None:
        super().__init__(503, UNAVAILABLE, {"retry-after": "5"})


class _CacheEntry(Struct, frozen=True):
    person: User
    at: float


class UserCache:
    """Looks up users by credential. Raises `UserLookupUnavailable` where that takes longer than `patience` seconds."""

    def __init__(
        self, users: Authenticator, clock: Clock = monotonic, patience: float = LOOKUP_TIMEOUT, most: int = MAX_ENTRIES
    ) -> None:
        self._users = users
        self._clock = clock
        self._patience = patience
        self._most = most
        self._known: dict[bytes, _CacheEntry] = {}  # by hashes: no secret is kept. Those that were looked up last come last
        self._looks = asyncio.Semaphore(MAX_LOOKUPS)

    async def person(self, credential: RequestCredential) -> User | None:
        """Return the user of a credential; None where it is invalid, or was revoked."""
        if not credential.kind:
            return None
        key, now = _cache_key(credential), self._clock()
        known = self._known.get(key)
        if known is not None and now - known.at < CACHE_SECONDS:
            return known.person
        person = await self._look_up(credential)
        self._remember(key, person, now)
        return person

    def forget(self, credential: RequestCredential) -> None:
        """Drop a credential from the cache: it has just ended."""
        self._known.pop(_cache_key(credential), None)

    async def _look_up(self, credential: RequestCredential) -> User | None:
        try:
            async with asyncio.timeout(self._patience):
                await self._looks.acquire()
                look = asyncio.ensure_future(asyncio.to_thread(_find_person, self._users, credential))
                look.add_done_callback(self._release)  # a waiting thread goes on when its caller has left
                return await asyncio.shield(look)
        except TimeoutError as error:
            raise UserLookupUnavailable from error

    def _release(self, look: "asyncio.Future[User | None]") -> None:
        self._looks.release()
        if not look.cancelled():
            look.exception()  # the remaining callers get it

    def _remember(self, key: bytes, person: User | None, now: float) -> None:
        self._known.pop(key, None)
        if person is not None:
            self._known[key] = _CacheEntry(person, now)
        while len(self._known) > self._most:
            del self._known[next(iter(self._known))]


def _cache_key(credential: RequestCredential) -> bytes:
    return sha256(f"{credential.kind} {credential.secret}".encode(errors="surrogatepass")).digest()


def _find_person(users: Authenticator, credential: RequestCredential) -> User | None:
    if credential.kind == "cookie":
        return users.person_of_session(credential.secret)
    return users.person_of(credential.secret)
