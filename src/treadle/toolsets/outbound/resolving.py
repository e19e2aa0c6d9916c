"""How hosts are resolved for tools: once for a connection, every address checked, and the connection made to one that was.

aiohttp is handed the checked addresses by its own resolver seam, so nothing is looked up a second time.
"""

import socket
from collections.abc import Awaitable, Callable, Sequence
from typing import TYPE_CHECKING

from treadle.guard.addresses import special
from treadle.toolsets.outbound.problems import NotAllowed, NotResolved

if TYPE_CHECKING:
    from aiohttp.abc import AbstractResolver, ResolveResult

Lookup = Callable[[str, int], Awaitable[Sequence[str]]]

NEAR = frozenset(
    ("private", "loopback", "shared")
)  # what `private=True` lets through: nothing link-local, where clouds keep secrets


async def look_up(host: str, port: int) -> list[str]:
    """The addresses of a host, as the system knows them."""
    import asyncio

    found = await asyncio.get_running_loop().getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_ADDRCONFIG)
    return list(dict.fromkeys([str(address[0]) for *_, address in found]))


def check(host: str, addresses: Sequence[str], *, private: bool) -> None:
    """Every address has to be one that tools may talk to; one bad one spoils the host."""
    if not addresses:
        raise NotResolved(f"The host {host} has no address. Check how it is written.")
    for address in addresses:
        what = special(address)
        if what and not (private and what in NEAR):
            raise NotAllowed(f"The host {host} isn't reached: it has a {what} address, where tools aren't allowed to go.")


def checked_resolver(lookup: Lookup, *, private: bool) -> "AbstractResolver":
    """A resolver for aiohttp that gives out checked addresses only."""
    from aiohttp.abc import AbstractResolver

    class Checked(AbstractResolver):
        async def resolve(self, host: str, port: int = 0, family: socket.AddressFamily = socket.AF_UNSPEC) -> "list[ResolveResult]":
            try:
                addresses = await lookup(host, port)
            except (OSError, UnicodeError):  # names that can't be encoded are a UnicodeError there
                raise NotResolved(f"The host {host} isn't known. Check how it is written.") from None
            check(host, addresses, private=private)
            return [_result(host, address, port) for address in addresses]

        async def close(self) -> None:
            """Nothing is held."""

    return Checked()


def _result(host: str, address: str, port: int) -> "ResolveResult":
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    return {"hostname": host, "host": address, "port": port, "family": family, "proto": 0, "flags": socket.AI_NUMERICHOST}
