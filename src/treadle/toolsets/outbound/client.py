"""`Client`: requests of tools, to named origins and at checked addresses. Every failure is an `OutboundProblem`.

Nothing is tried again, no cookie is kept, no proxy of the environment is used, and no redirect leads to another origin.
"""

import asyncio
import re
from collections.abc import Iterable, Mapping, Sequence
from types import TracebackType
from typing import TYPE_CHECKING

from treadle._version import __version__
from treadle.core.errors import SettingsError
from treadle.guard.addresses import NO_ADDRESS, special
from treadle.toolsets.outbound.answer import Answer
from treadle.toolsets.outbound.origins import Origin, Target, origin_of, target
from treadle.toolsets.outbound.problems import (
    PERHAPS,
    NoAnswer,
    NotAllowed,
    NotHttp,
    NotSecure,
    OutboundProblem,
    TimedOut,
    TooLarge,
)
from treadle.toolsets.outbound.resolving import Lookup, check, checked_resolver, look_up

if TYPE_CHECKING:
    from aiohttp import ClientError, ClientResponse, ClientSession

MOST_REDIRECTS = 5
IDLE = 4.0  # seconds that a connection is kept: servers commonly drop theirs after 5
_FOLLOWED = frozenset((301, 302, 303, 307, 308))
_SAFE = frozenset(("GET", "HEAD", "OPTIONS", "TRACE"))
_METHODS = _SAFE | {"POST", "PUT", "PATCH", "DELETE"}
_TOKEN = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_CONTROL = re.compile(r"[\x00-\x08\x0a-\x1f\x7f]")
_OURS = frozenset(("host", "content-length", "transfer-encoding", "connection", "upgrade", "te", "trailer", "accept-encoding"))


class _Open:
    """The session of one event loop, and how often it is entered."""

    def __init__(self, session: "ClientSession") -> None:
        self.session = session
        self.entered = 0


class Client:
    """HTTP for tools. Entered several times, also from several event loops, it keeps one session for each loop.

    origins  the only places that requests go to: `https://api.example.com`
    private  whether hosts may have private, shared or loopback addresses
    timeout  seconds for a whole request, redirects and the answer's body included
    limit    the most bytes of a body that are read
    lookup   how a host is resolved; as the system does it unless you say otherwise
    """

    def __init__(
        self,
        origins: Sequence[str],
        *,
        private: bool = False,
        timeout: float = 30.0,
        limit: int = 2_000_000,
        lookup: Lookup = look_up,
    ) -> None:
        if isinstance(origins, str) or not (timeout > 0 and limit > 0):
            raise SettingsError("A client for tools needs a list of origins, and a timeout and a limit above 0.")
        self.origins: tuple[Origin, ...] = tuple([origin_of(origin) for origin in origins])
        self.timeout = timeout
        self.limit = limit
        self._private = private
        self._lookup = lookup
        self._open: dict[asyncio.AbstractEventLoop, _Open] = {}

    def __repr__(self) -> str:
        return f"Client({[str(origin) for origin in self.origins]})"

    async def __aenter__(self) -> "Client":
        loop = asyncio.get_running_loop()
        if loop not in self._open:
            self._open[loop] = _Open(self._session())
        self._open[loop].entered += 1
        return self

    async def __aexit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        loop = asyncio.get_running_loop()
        ours = self._open[loop]
        ours.entered -= 1
        if not ours.entered:
            del self._open[loop]
            await ours.session.close()

    async def send(
        self,
        method: str,
        url: str,
        *,
        query: Iterable[tuple[str, str]] = (),
        headers: Mapping[str, str] | None = None,
        body: bytes | None = None,
    ) -> Answer:
        """The answer to one request, whatever its status; redirects of reads are followed within the origin.

        Percent signs in `url` are taken as they are; the pairs of `query` are encoded here.
        """
        to = target(url, query)
        self._check(method, to)
        ready = _headers(headers or {})
        try:
            async with self, asyncio.timeout(self.timeout):
                return await self._followed(method, to, ready, body)
        except TimeoutError:
            perhaps = "" if method in _SAFE else PERHAPS
            raise TimedOut(f"{to.origin} gave no whole answer within {self.timeout:g} seconds.{perhaps} Try again later.") from None

    def _check(self, method: str, to: Target) -> None:
        if method not in _METHODS:
            raise NotAllowed(f"{method!r} is no method that tools can use; use one of {', '.join(sorted(_METHODS))}.")
        if to.origin not in self.origins:
            allowed = ", ".join([str(origin) for origin in self.origins]) or "none"
            raise NotAllowed(f"{to.origin} isn't among the places that this tool may talk to: {allowed}.")
        if special(to.origin.host) != NO_ADDRESS:  # no resolver sees addresses that are written out
            check(to.origin.host, [to.origin.host], private=self._private)

    async def _followed(self, method: str, to: Target, headers: dict[str, str], body: bytes | None) -> Answer:
        origin = to.origin
        for _ in range(MOST_REDIRECTS + 1):
            answer = await self._sent(method, to, headers, body)
            onwards = to.towards(answer.headers.get("location", "")) if _leads_on(method, answer) else None
            if onwards is None or onwards.origin != origin:
                return answer
            to = onwards
        raise NoAnswer(f"{origin} redirects from one address to another without end.")

    async def _sent(self, method: str, to: Target, headers: dict[str, str], body: bytes | None) -> Answer:
        from aiohttp import ClientError
        from yarl import URL

        session = self._open[asyncio.get_running_loop()].session
        url = URL(str(to), encoded=True)
        try:
            async with session.request(method, url, headers=headers, data=body, allow_redirects=False) as response:
                read = await self._body(to, response)
                named = {name.lower(): ", ".join(response.headers.getall(name)) for name in response.headers}
                return Answer(response.status, named, read, str(to))
        except (ClientError, OSError) as error:
            raise _failed(method, to.origin, error) from None

    async def _body(self, to: Target, response: "ClientResponse") -> bytes:
        """The body, unless it is larger than the limit: as announced, as it arrives, and once it is decompressed."""
        if response.method != "HEAD" and (response.content_length or 0) > self.limit:
            raise self._too_large(to, f"{response.content_length} bytes")
        read = bytearray()
        while piece := await response.content.readany():
            read += piece
            if len(read) > self.limit:
                raise self._too_large(to, "it goes on and on")
        return bytes(read)

    def _too_large(self, to: Target, size: str) -> TooLarge:
        return TooLarge(f"The answer of {to.origin} is too large: {size}, where at most {self.limit} are read. Ask for less of it.")

    def _session(self) -> "ClientSession":
        from aiohttp import ClientSession, ClientTimeout, DummyCookieJar, TCPConnector

        resolver = checked_resolver(self._lookup, private=self._private)
        return ClientSession(
            connector=TCPConnector(resolver=resolver, use_dns_cache=False, keepalive_timeout=IDLE),
            cookie_jar=DummyCookieJar(),
            trust_env=False,
            timeout=ClientTimeout(total=None),  # ours is around all of it
            headers={"user-agent": f"treadle/{__version__}", "accept-encoding": "gzip, deflate"},
            skip_auto_headers=("content-type",),
            auto_decompress=True,
        )


def _leads_on(method: str, answer: Answer) -> bool:
    return method in ("GET", "HEAD") and answer.status in _FOLLOWED and "location" in answer.headers


def _headers(headers: Mapping[str, str]) -> dict[str, str]:
    for name, value in headers.items():
        if _TOKEN.fullmatch(name) is None or name.lower() in _OURS:
            raise NotAllowed(f"The header {name!r} can't be sent by a tool.")
        if _CONTROL.search(value):
            raise NotAllowed(f"The header {name} can't be sent: its value has a line break or another control character in it.")
    return dict(headers)


def _failed(method: str, origin: Origin, error: "ClientError | OSError") -> OutboundProblem:
    """Why there is no answer; only the kind of error is told, as its text may hold what was sent."""
    from aiohttp import ClientConnectorError, ClientPayloadError, ClientResponseError, ClientSSLError

    perhaps = "" if method in _SAFE else PERHAPS
    match error:
        case ClientSSLError():
            return NotSecure(f"{origin} isn't asked: no secure connection can be made to it ({type(error.os_error).__name__}).")
        case ClientConnectorError():
            return NoAnswer(f"{origin} can't be reached: {_reason(error.os_error)}. Nothing was sent; try again later.")
        case ClientResponseError():
            return NotHttp(f"What {origin} answered isn't HTTP that can be read.{perhaps}")
        case ClientPayloadError():
            return NoAnswer(f"{origin} broke its answer off.{perhaps} Try again later.")
        case _:
            return NoAnswer(f"{origin} closed the connection without an answer.{perhaps} Try again later.")


def _reason(error: OSError) -> str:
    return "the connection is refused" if isinstance(error, ConnectionRefusedError) else "no connection can be made"
