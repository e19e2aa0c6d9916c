"""URLs that tools may use, parsed strictly: ambiguous ones are rejected. Pure.

An origin is a scheme, a host and a port. Hosts are plain ASCII; a number that isn't written as an IP address is no host.
"""

import re
from collections.abc import Iterable
from ipaddress import IPv4Address, IPv6Address
from urllib.parse import quote, urlencode, urljoin

from msgspec import Struct

from treadle.core.errors import SettingsError
from treadle.http_guard.problems import TargetNotAllowed

_URL = re.compile(
    r"(?P<scheme>[a-z]+)://(?P<host>[a-z0-9._-]+|\[[0-9a-f:.]+\])(?::(?P<port>[0-9]{1,5}))?(?P<rest>[/?].*)?", re.IGNORECASE
)
_PORTS = {"http": 80, "https": 443}
_NUMERIC = re.compile(r"(?:.*\.)?(?:[0-9]+|0x[0-9a-f]*)\.?", re.IGNORECASE)
_UNPRINTABLE = re.compile(r"[\x00-\x20\x7f\\]")
_UNQUOTED = "!$%&'()*+,/:;=?@[]~"  # all that has a meaning in a path or a query, or is encoded already


class HttpOrigin(Struct, frozen=True):
    """Scheme, host and port of a server."""

    scheme: str
    host: str
    port: int

    def __str__(self) -> str:
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{self.scheme}://{host}" + ("" if self.port == _PORTS[self.scheme] else f":{self.port}")


class HttpTarget(Struct, frozen=True):
    """One URL of an origin: `rest` is its path and query string, as they are sent."""

    origin: HttpOrigin
    rest: str

    def __str__(self) -> str:
        return f"{self.origin}{self.rest}"

    def towards(self, location: str) -> "HttpTarget | None":
        """Return the target of a redirect from here, if it is a valid URL."""
        try:
            return parse_target(urljoin(str(self), location))
        except (TargetNotAllowed, ValueError):
            return None


def parse_target(url: str, query: Iterable[tuple[str, str]] = ()) -> HttpTarget:
    """Parse a URL and add pairs to its query string."""
    found = None if _UNPRINTABLE.search(url) else _URL.fullmatch(url)
    if found is None:
        raise TargetNotAllowed(
            "That is no address that can be used; it has to be http:// or https://, a plain host, and a path without spaces."
        )
    origin = _make_origin(found["scheme"].lower(), found["host"].lower(), found["port"])
    path, _, before = (found["rest"] or "/").partition("#")[0].partition("?")
    pairs = "&".join([part for part in (quote(before, safe=_UNQUOTED), urlencode(list(query), quote_via=quote)) if part])
    return HttpTarget(origin, quote(path or "/", safe=_UNQUOTED) + (f"?{pairs}" if pairs else ""))


def parse_origin(text: str) -> HttpOrigin:
    """Parse an origin as written in settings: `https://api.example.com`."""
    try:
        found = parse_target(text)
    except TargetNotAllowed as problem:
        raise SettingsError(f"{text!r} is no origin that tools can use; write it as https://host or http://host:port.") from problem
    if found.rest != "/":
        raise SettingsError(f"{text!r} is more than an origin; leave the path away: {found.origin}")
    return found.origin


def _make_origin(scheme: str, host: str, port: str | None) -> HttpOrigin:
    if scheme not in _PORTS:
        raise TargetNotAllowed(f"Only http and https addresses can be used, not {scheme}.")
    number = _PORTS[scheme] if port is None else int(port)
    if not 0 < number < 65536:
        raise TargetNotAllowed(f"{number} is no port.")
    return HttpOrigin(scheme, _normalize_host(host), number)


def _normalize_host(host: str) -> str:
    """Return the host in its normal form."""
    try:
        if host.startswith("["):
            return str(IPv6Address(host[1:-1]))
        return str(IPv4Address(host)) if _NUMERIC.fullmatch(host) else host
    except ValueError:
        raise TargetNotAllowed(f"{host} is no host: write IP addresses in full, such as 192.0.2.1.") from None
