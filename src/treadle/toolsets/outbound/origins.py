"""Addresses that tools may use, read in one way only: what can be read in two isn't taken. Pure.

An origin is a scheme, a host and a port. Hosts are plain ASCII; a number that isn't written as an IP address is written is no host.
"""

import re
from collections.abc import Iterable
from ipaddress import IPv4Address, IPv6Address
from urllib.parse import quote, urlencode, urljoin

from msgspec import Struct

from treadle.core.errors import SettingsError
from treadle.toolsets.outbound.problems import NotAllowed

_URL = re.compile(
    r"(?P<scheme>[a-z]+)://(?P<host>[a-z0-9._-]+|\[[0-9a-f:.]+\])(?::(?P<port>[0-9]{1,5}))?(?P<rest>[/?].*)?", re.IGNORECASE
)
_PORTS = {"http": 80, "https": 443}
_NUMERIC = re.compile(r"(?:.*\.)?(?:[0-9]+|0x[0-9a-f]*)\.?", re.IGNORECASE)
_UNPRINTABLE = re.compile(r"[\x00-\x20\x7f\\]")
_KEPT = "!$%&'()*+,/:;=?@[]~"  # all that has a meaning in a path or a query, or is encoded already


class Origin(Struct, frozen=True):
    """Where a server is."""

    scheme: str
    host: str
    port: int

    def __str__(self) -> str:
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{self.scheme}://{host}" + ("" if self.port == _PORTS[self.scheme] else f":{self.port}")


class Target(Struct, frozen=True):
    """One address of an origin: `rest` is its path and query, as they are sent."""

    origin: Origin
    rest: str

    def __str__(self) -> str:
        return f"{self.origin}{self.rest}"

    def towards(self, location: str) -> "Target | None":
        """Where a redirect from here leads, if that is an address."""
        try:
            return target(urljoin(str(self), location))
        except (NotAllowed, ValueError):
            return None


def target(url: str, query: Iterable[tuple[str, str]] = ()) -> Target:
    """An address, with pairs added to its query."""
    found = None if _UNPRINTABLE.search(url) else _URL.fullmatch(url)
    if found is None:
        raise NotAllowed(
            "That is no address that can be used; it has to be http:// or https://, a plain host, and a path without spaces."
        )
    origin = _origin(found["scheme"].lower(), found["host"].lower(), found["port"])
    path, _, before = (found["rest"] or "/").partition("#")[0].partition("?")
    pairs = "&".join([part for part in (quote(before, safe=_KEPT), urlencode(list(query), quote_via=quote)) if part])
    return Target(origin, quote(path or "/", safe=_KEPT) + (f"?{pairs}" if pairs else ""))


def origin_of(text: str) -> Origin:
    """An origin as a person wrote it: `https://api.example.com`."""
    try:
        found = target(text)
    except NotAllowed as problem:
        raise SettingsError(f"{text!r} is no origin that tools can use; write it as https://host or http://host:port.") from problem
    if found.rest != "/":
        raise SettingsError(f"{text!r} is more than an origin; leave the path away: {found.origin}")
    return found.origin


def _origin(scheme: str, host: str, port: str | None) -> Origin:
    if scheme not in _PORTS:
        raise NotAllowed(f"Only http and https addresses can be used, not {scheme}.")
    number = _PORTS[scheme] if port is None else int(port)
    if not 0 < number < 65536:
        raise NotAllowed(f"{number} is no port.")
    return Origin(scheme, _host(host), number)


def _host(host: str) -> str:
    """The host in the one spelling that is compared."""
    try:
        if host.startswith("["):
            return str(IPv6Address(host[1:-1]))
        return str(IPv4Address(host)) if _NUMERIC.fullmatch(host) else host
    except ValueError:
        raise NotAllowed(f"{host} is no host: write IP addresses in full, such as 192.0.2.1.") from None
