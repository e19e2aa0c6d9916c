"""Host resolution for tools: once per connection, every address checked, and the connection made to one that was.

aiohttp gets the checked addresses by its own resolver interface, so nothing is looked up a second time.
"""

import socket
from collections.abc import Awaitable, Callable, Sequence
from typing import TYPE_CHECKING

from treadle.guard.addresses import classify_address
from treadle.http_guard.problems import HostNotResolved, TargetNotAllowed

if TYPE_CHECKING:
    from aiohttp.abc import AbstractResolver, ResolveResult

HostLookup = Callable[[str, int], Awaitable[Sequence[str]]]

PRIVATE_KINDS = frozenset(
    ("private", "loopback", "shared")
)  # what `private=True` lets through: nothing link-local, where clouds keep secrets


async def resolve_host(host: str, port: int) -> list[str]:
    """Return the addresses of a host from the system's resolver."""
    import asyncio

    found = await asyncio.get_running_loop().getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_ADDRCONFIG)
    return list(dict.fromkeys([str(address[0]) for *_, address in found]))


def is_local_host(host: str) -> bool:
    """Return whether a host is written as one of this machine or its network, so that its use is intended."""
    return is_localhost(host) or classify_address(host) in PRIVATE_KINDS


def is_localhost(host: str) -> bool:
    """Return whether a host is `localhost` or a name below it."""
    return host == "localhost" or host.endswith(".localhost")


def check_addresses(host: str, addresses: Sequence[str], *, private: bool) -> None:
    """Raise unless every address is one that tools may connect to; one bad address is enough."""
    if not addresses:
        raise HostNotResolved(f"The host {host} has no address. Check how it is written.")
    for address in addresses:
        what = classify_address(address)
        if what and not (private and what in PRIVATE_KINDS):
            raise TargetNotAllowed(f"The host {host} isn't reached: it has a {what} address, where tools aren't allowed to go.")


def build_resolver(lookup: HostLookup, *, private: bool) -> "AbstractResolver":
    """Return a resolver for aiohttp that returns checked addresses only."""
    from aiohttp.abc import AbstractResolver

    class Checked(AbstractResolver):
        async def resolve(self, host: str, port: int = 0, family: socket.AddressFamily = socket.AF_UNSPEC) -> "list[ResolveResult]":
            try:
                addresses = await lookup(host, port)
            except (OSError, UnicodeError):  # names that can't be encoded are a UnicodeError there
                raise HostNotResolved(f"The host {host} isn't known. Check how it is written.") from None
            check_addresses(host, addresses, private=private)
            return [_to_result(host, address, port) for address in addresses]

        async def close(self) -> None:
            """Do nothing: no resources are held."""

    return Checked()


def _to_result(host: str, address: str, port: int) -> "ResolveResult":
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    return {"hostname": host, "host": address, "port": port, "family": family, "proto": 0, "flags": socket.AI_NUMERICHOST}
