"""`Client`: HTTP requests of tools, to named origins and at checked addresses. Every failure is an `HttpProblem`.

There are no retries, no cookies, no proxy from the environment, and no redirect leads to another origin.
"""

import asyncio
import re
from collections.abc import Iterable, Mapping, Sequence
from types import TracebackType
from typing import TYPE_CHECKING

from msgspec import Struct

from treadle._version import __version__
from treadle.core.errors import SettingsError
from treadle.guard.addresses import NOT_AN_ADDRESS, classify_address
from treadle.http_guard.origins import HttpOrigin, HttpTarget, parse_origin, parse_target
from treadle.http_guard.problems import (
    MAYBE_DONE,
    HttpProblem,
    NoResponse,
    NotHttp,
    NotSecure,
    RequestTimedOut,
    ResponseTooLarge,
    TargetNotAllowed,
)
from treadle.http_guard.resolver import HostLookup, build_resolver, check_addresses, resolve_host

if TYPE_CHECKING:
    from aiohttp import ClientError, ClientResponse, ClientSession


_CHARSET = re.compile(r"""charset\s*=\s*"?([^\s";]+)""", re.IGNORECASE)


class GuardedResponse(Struct, frozen=True):
    """A whole response. `headers` have lower-case names; `kind` is the content type without parameters; `url` is the final URL."""

    status: int
    headers: dict[str, str]
    body: bytes
    url: str

    def __repr__(self) -> str:
        return f"Answer(status={self.status}, kind={self.kind!r}, {len(self.body)} bytes)"  # the rest may hold secrets

    @property
    def kind(self) -> str:
        """The content type in lower case, such as `application/json`; empty where the server doesn't send one."""
        return self.headers.get("content-type", "").partition(";")[0].strip().lower()

    @property
    def text(self) -> str:
        """The body decoded with the server's charset; undecodable bytes become replacement characters."""
        named = _CHARSET.search(self.headers.get("content-type", ""))
        try:
            return self.body.decode(named[1] if named else "utf-8-sig", errors="replace")
        except (LookupError, UnicodeError):  # no such encoding, or one that is no text encoding
            return self.body.decode("utf-8-sig", errors="replace")


MAX_REDIRECTS = 5
KEEP_ALIVE_SECONDS = 4.0  # seconds that a connection is kept: servers commonly drop theirs after 5
_REDIRECTS = frozenset((301, 302, 303, 307, 308))
_SAFE = frozenset(("GET", "HEAD", "OPTIONS", "TRACE"))
_METHODS = _SAFE | {"POST", "PUT", "PATCH", "DELETE"}
_TOKEN = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_CONTROL = re.compile(r"[\x00-\x08\x0a-\x1f\x7f]")
_RESERVED_HEADERS = frozenset(
    ("host", "content-length", "transfer-encoding", "connection", "upgrade", "te", "trailer", "accept-encoding")
)


class _OpenSession:
    """The session of one event loop, and how often it is entered."""

    def __init__(self, session: "ClientSession") -> None:
        self.session = session
        self.entered = 0


class Client:
    """HTTP client for tools. Entered several times, also from several event loops, it keeps one session for each loop.

    origins  the only origins that requests go to: `https://api.example.com`
    private  whether hosts may have private, shared or loopback addresses
    timeout  seconds for a whole request, including redirects and the response body
    limit    the most bytes of a body that are read
    lookup   how a host is resolved; by the system's resolver unless given
    """

    def __init__(
        self,
        origins: Sequence[str],
        *,
        private: bool = False,
        timeout: float = 30.0,
        limit: int = 2_000_000,
        lookup: HostLookup = resolve_host,
    ) -> None:
        if isinstance(origins, str) or not (timeout > 0 and limit > 0):
            raise SettingsError("A client for tools needs a list of origins, and a timeout and a limit above 0.")
        self.origins: tuple[HttpOrigin, ...] = tuple([parse_origin(origin) for origin in origins])
        self.timeout = timeout
        self.limit = limit
        self._private = private
        self._lookup = lookup
        self._open: dict[asyncio.AbstractEventLoop, _OpenSession] = {}

    def __repr__(self) -> str:
        return f"Client({[str(origin) for origin in self.origins]})"

    async def __aenter__(self) -> "Client":
        loop = asyncio.get_running_loop()
        if loop not in self._open:
            self._open[loop] = _OpenSession(self._session())
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
    ) -> GuardedResponse:
        """Send a request and return the response, whatever its status; redirects of safe methods are followed within the origin.

        Percent signs in `url` are taken as they are; the pairs of `query` are encoded here.
        """
        to = parse_target(url, query)
        self._check(method, to)
        ready = _check_headers(headers or {})
        try:
            async with self, asyncio.timeout(self.timeout):
                return await self._send_following(method, to, ready, body)
        except TimeoutError:
            perhaps = "" if method in _SAFE else MAYBE_DONE
            raise RequestTimedOut(
                f"{to.origin} gave no whole answer within {self.timeout:g} seconds.{perhaps} Try again later."
            ) from None

    def _check(self, method: str, to: HttpTarget) -> None:
        if method not in _METHODS:
            raise TargetNotAllowed(f"{method!r} is no method that tools can use; use one of {', '.join(sorted(_METHODS))}.")
        if to.origin not in self.origins:
            allowed = ", ".join([str(origin) for origin in self.origins]) or "none"
            raise TargetNotAllowed(f"{to.origin} isn't among the places that this tool may talk to: {allowed}.")
        if classify_address(to.origin.host) != NOT_AN_ADDRESS:  # no resolver sees addresses that are written out
            check_addresses(to.origin.host, [to.origin.host], private=self._private)

    async def _send_following(self, method: str, to: HttpTarget, headers: dict[str, str], body: bytes | None) -> GuardedResponse:
        origin = to.origin
        for _ in range(MAX_REDIRECTS + 1):
            answer = await self._sent(method, to, headers, body)
            onwards = to.towards(answer.headers.get("location", "")) if _is_redirect(method, answer) else None
            if onwards is None or onwards.origin != origin:
                return answer
            to = onwards
        raise NoResponse(f"{origin} redirects from one address to another without end.")

    async def _sent(self, method: str, to: HttpTarget, headers: dict[str, str], body: bytes | None) -> GuardedResponse:
        from aiohttp import ClientError
        from yarl import URL

        session = self._open[asyncio.get_running_loop()].session
        url = URL(str(to), encoded=True)
        try:
            async with session.request(method, url, headers=headers, data=body, allow_redirects=False) as response:
                read = await self._read_body(to, response)
                named = {name.lower(): ", ".join(response.headers.getall(name)) for name in response.headers}
                return GuardedResponse(response.status, named, read, str(to))
        except (ClientError, OSError) as error:
            raise _problem_from(method, to.origin, error) from None

    async def _read_body(self, to: HttpTarget, response: "ClientResponse") -> bytes:
        """Read the body, unless it is larger than the limit: as announced, as it arrives, and after decompression."""
        if response.method != "HEAD" and (response.content_length or 0) > self.limit:
            raise self._too_large(to, f"{response.content_length} bytes")
        read = bytearray()
        while piece := await response.content.readany():
            read += piece
            if len(read) > self.limit:
                raise self._too_large(to, "it goes on and on")
        return bytes(read)

    def _too_large(self, to: HttpTarget, size: str) -> ResponseTooLarge:
        return ResponseTooLarge(
            f"The answer of {to.origin} is too large: {size}, where at most {self.limit} are read. Ask for less of it."
        )

    def _session(self) -> "ClientSession":
        from aiohttp import ClientSession, ClientTimeout, DummyCookieJar, TCPConnector

        resolver = build_resolver(self._lookup, private=self._private)
        return ClientSession(
            connector=TCPConnector(resolver=resolver, use_dns_cache=False, keepalive_timeout=KEEP_ALIVE_SECONDS),
            cookie_jar=DummyCookieJar(),
            trust_env=False,
            timeout=ClientTimeout(total=None),  # ours is around all of it
            headers={"user-agent": f"treadle/{__version__}", "accept-encoding": "gzip, deflate"},
            skip_auto_headers=("content-type",),
            auto_decompress=True,
        )


def _is_redirect(method: str, answer: GuardedResponse) -> bool:
    return method in ("GET", "HEAD") and answer.status in _REDIRECTS and "location" in answer.headers


def _check_headers(headers: Mapping[str, str]) -> dict[str, str]:
    for name, value in headers.items():
        if _TOKEN.fullmatch(name) is None or name.lower() in _RESERVED_HEADERS:
            raise TargetNotAllowed(f"The header {name!r} can't be sent by a tool.")
        if _CONTROL.search(value):
            raise TargetNotAllowed(
                f"The header {name} can't be sent: its value has a line break or another control character in it."
            )
    return dict(headers)


def _problem_from(method: str, origin: HttpOrigin, error: "ClientError | OSError") -> HttpProblem:
    """Return why there is no response; only the kind of error is given, as its text may contain what was sent."""
    from aiohttp import ClientConnectorError, ClientPayloadError, ClientResponseError, ClientSSLError

    perhaps = "" if method in _SAFE else MAYBE_DONE
    match error:
        case ClientSSLError():
            return NotSecure(f"{origin} isn't asked: no secure connection can be made to it ({type(error.os_error).__name__}).")
        case ClientConnectorError():
            return NoResponse(f"{origin} can't be reached: {_reason(error.os_error)}. Nothing was sent; try again later.")
        case ClientResponseError():
            return NotHttp(f"What {origin} answered isn't HTTP that can be read.{perhaps}")
        case ClientPayloadError():
            return NoResponse(f"{origin} broke its answer off.{perhaps} Try again later.")
        case _:
            return NoResponse(f"{origin} closed the connection without an answer.{perhaps} Try again later.")


def _reason(error: OSError) -> str:
    return "the connection is refused" if isinstance(error, ConnectionRefusedError) else "no connection can be made"
