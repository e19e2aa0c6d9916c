"""Who shows a credential: looked up beside the event loop, and known by it for a second. Whoever is let in with it is `doorman`'s.

Users may be in a file that another process holds. Then nobody can be known, and is told so soon; nobody else waits for it.
"""

import asyncio
from hashlib import sha256
from time import monotonic
from typing import Literal, Protocol

from msgspec import Struct
from starlette.exceptions import HTTPException

from treadle.server.rates import Clock
from treadle.stores.people import Person

FRESH = 1.0  # seconds for which somebody is known, counted from when they were looked up
PATIENCE = 2.0  # seconds that a look may take
LOOKS = 2  # at once: threads that may wait for a file
MOST = 1_000  # credentials that are remembered

NOT_NOW = "Nobody can be known here just now: the users can't be read. Try again in a few seconds."


class Authenticator(Protocol):
    """Knows people by their token or session: the users of a server, or the one account that runs it."""

    def person_of(self, token: str) -> Person | None:
        """Return whose token this is; None where it is nobody's."""
        ...

    def person_of_session(self, secret: str) -> Person | None:
        """Return whose session this is; None where it has ended, or never was."""
        ...

    def begin_session(self, name: str) -> str:
        """Return the secret of a new session."""
        ...

    def end_session(self, secret: str) -> None:
        """End a session."""
        ...


class Refusals(Struct, frozen=True):
    """What somebody is told who can't be let in: without a credential, and with one that isn't valid."""

    nobody: str
    unknown: str


FOR_USERS = Refusals(
    "Say who you are: send a token as `Authorization: Bearer …`. Whoever runs the server can make one: treadle users add NAME",
    "This token isn't valid, or isn't any more. Whoever runs the server can make a new one: treadle users token NAME",
)
FOR_PROGRAMS = Refusals(
    "Send the token in the file server.token, in the home of whoever started this server, as `Authorization: Bearer …`.",
    "This token isn't valid here. The token is in the file server.token in the home of whoever started the server.",
)
FOR_OWNER = Refusals(
    "This server is for the account that started it: open the link that `treadle serve` printed, or send the token in the file"
    " server.token of its home as `Authorization: Bearer …`.",
    FOR_PROGRAMS.unknown,
)


class Credential(Struct, frozen=True):
    """What somebody shows to prove who they are, and where it stands."""

    kind: Literal["authorization", "x-api-key", "cookie", ""]
    secret: str = ""


class NotNow(HTTPException):
    """Nobody can be looked up at the moment."""

    def __init__(self) -> None:
        super().__init__(503, NOT_NOW, {"retry-after": "5"})


class _Known(Struct, frozen=True):
    person: Person
    at: float


class Knowing:
    """Knows people by what they show. Raises `NotNow` where they can't be looked up within `patience` seconds."""

    def __init__(self, users: Authenticator, clock: Clock = monotonic, patience: float = PATIENCE, most: int = MOST) -> None:
        self._users = users
        self._clock = clock
        self._patience = patience
        self._most = most
        self._known: dict[bytes, _Known] = {}  # by hashes: no secret is kept. Those that were looked up last come last
        self._looks = asyncio.Semaphore(LOOKS)

    async def person(self, credential: Credential) -> Person | None:
        """Whose it is; None where it is nobody's, or nobody's any more."""
        if not credential.kind:
            return None
        key, now = _key(credential), self._clock()
        known = self._known.get(key)
        if known is not None and now - known.at < FRESH:
            return known.person
        person = await self._looked_up(credential)
        self._remember(key, person, now)
        return person

    def forget(self, credential: Credential) -> None:
        """Look anew at the next time: it has just ended."""
        self._known.pop(_key(credential), None)

    async def _looked_up(self, credential: Credential) -> Person | None:
        try:
            async with asyncio.timeout(self._patience):
                await self._looks.acquire()
                look = asyncio.ensure_future(asyncio.to_thread(_look, self._users, credential))
                look.add_done_callback(self._over)  # a thread that waits goes on when nobody waits for it any more
                return await asyncio.shield(look)
        except TimeoutError as error:
            raise NotNow from error

    def _over(self, look: "asyncio.Future[Person | None]") -> None:
        self._looks.release()
        if not look.cancelled():
            look.exception()  # whoever is still there hears of it

    def _remember(self, key: bytes, person: Person | None, now: float) -> None:
        self._known.pop(key, None)
        if person is not None:
            self._known[key] = _Known(person, now)
        while len(self._known) > self._most:
            del self._known[next(iter(self._known))]


def _key(credential: Credential) -> bytes:
    return sha256(f"{credential.kind} {credential.secret}".encode(errors="surrogatepass")).digest()


def _look(users: Authenticator, credential: Credential) -> Person | None:
    if credential.kind == "cookie":
        return users.person_of_session(credential.secret)
    return users.person_of(credential.secret)
