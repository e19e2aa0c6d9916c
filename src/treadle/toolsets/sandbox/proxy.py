"""The way to the network for a command in a sandbox: an HTTP proxy that connects to public addresses only.

Neither this machine nor its neighbours are reached: each host is resolved once, every address is checked, and the connection goes
to one that was.
"""

import asyncio
import re
import socket
from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager, suppress
from urllib.parse import urlsplit

from msgspec import Struct

from treadle.toolsets.outbound.problems import OutboundProblem
from treadle.toolsets.outbound.resolving import Lookup, check, look_up
from treadle.toolsets.sandbox.netns import listener_inside

Dial = Callable[[str, int], Awaitable[tuple[asyncio.StreamReader, asyncio.StreamWriter]]]

CHUNK = 1 << 16
MOST_HEAD = 1 << 16
SECONDS = 30.0  # for a request to be made, and for a host to be reached
MOST_AT_ONCE = 64  # connections, each of which takes two descriptors of ours
MOST_LOOKED_UP = 2  # hosts at the same time, each of which takes a thread of ours

_REQUEST = re.compile(r"(?P<method>[A-Z]+) (?P<target>\S+) HTTP/1\.[01]")
_AUTHORITY = re.compile(r"(?:\[(?P<address>[0-9A-Fa-f:.]+)\]|(?P<host>[\w.-]+)):(?P<port>\d{1,5})", re.ASCII)


class Wanted(Struct, frozen=True):
    """Where a request leads, and what is sent there first: nothing where a tunnel is asked for."""

    host: str
    port: int
    head: bytes = b""

    @property
    def is_tunnel(self) -> bool:
        """Whether what follows is passed on as it is."""
        return not self.head


def wanted(head: bytes) -> Wanted | None:
    """What a request to the proxy asks for; None for what isn't one."""
    line, *fields = head.decode("latin-1").split("\r\n")
    request = _REQUEST.fullmatch(line)
    if request is None:
        return None
    if request["method"] == "CONNECT":
        return _tunnel(request["target"])
    try:
        url = urlsplit(request["target"])
        port = url.port or 80
    except ValueError:
        return None
    if url.scheme != "http" or not url.hostname:
        return None
    path = f"{url.path or '/'}{f'?{url.query}' if url.query else ''}"
    kept = [field for field in fields if not field.lower().startswith(("proxy-", "connection:", "keep-alive:")) and field]
    text = "\r\n".join([f"{request['method']} {path} HTTP/1.1", *kept, "Connection: close", "", ""])
    return Wanted(url.hostname, port, text.encode("latin-1"))


def _tunnel(authority: str) -> Wanted | None:
    found = _AUTHORITY.fullmatch(authority)
    return None if found is None or int(found["port"]) > 65535 else Wanted(found["address"] or found["host"], int(found["port"]))


@asynccontextmanager
async def proxied(pid: int) -> AsyncGenerator[None]:
    """Serve the processes in the network of this one. Raises `SandboxMissing` where that can't be entered."""
    async with serving(await listener_inside(pid)):
        yield


@asynccontextmanager
async def serving(listener: socket.socket, lookup: Lookup | None = None, dial: Dial | None = None) -> AsyncGenerator[None]:
    """Serve whoever connects to a listener."""
    tasks = set[asyncio.Task[None]]()
    threads = asyncio.Semaphore(MOST_LOOKED_UP)

    async def known(host: str, port: int) -> Sequence[str]:
        async with threads:
            return await (lookup or look_up)(host, port)

    def begin(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if len(tasks) >= MOST_AT_ONCE:
            return writer.close()
        task = asyncio.create_task(_serve(reader, writer, known, dial or connect))
        tasks.add(task)
        task.add_done_callback(tasks.discard)
        return None

    server = await asyncio.start_server(begin, sock=listener, limit=MOST_HEAD)
    try:
        yield
    finally:
        server.close()
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


async def connect(address: str, port: int) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    """A connection to an address that was checked."""
    return await asyncio.open_connection(address, port, flags=socket.AI_NUMERICHOST)


async def _serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, lookup: Lookup, dial: Dial) -> None:
    """One request, and what follows it."""
    try:
        async with asyncio.timeout(SECONDS):
            asked = wanted(await reader.readuntil(b"\r\n\r\n"))
            if asked is None:
                return await _refuse(writer, 400, "Only HTTP and HTTPS go through here.")
            there = await _reached(asked, lookup, dial)
        if isinstance(there, str):
            return await _refuse(writer, 403, there)
        await _joined((reader, writer), there, asked)
    except (TimeoutError, OSError, asyncio.IncompleteReadError, asyncio.LimitOverrunError):
        return None  # whoever asked sees the end of the connection
    finally:
        writer.close()


async def _reached(asked: Wanted, lookup: Lookup, dial: Dial) -> tuple[asyncio.StreamReader, asyncio.StreamWriter] | str:
    """A connection to where a request leads, or why there is none."""
    try:
        addresses = await lookup(asked.host, asked.port)
        check(asked.host, addresses, private=False)
    except OutboundProblem as problem:
        return str(problem)
    except (OSError, UnicodeError):
        return f"The host {asked.host} isn't known."
    if any(map(_is_ours, addresses)):
        return f"The host {asked.host} is this machine, which commands don't reach."
    for address in addresses:
        with suppress(OSError):
            return await dial(address, asked.port)
    return f"The host {asked.host} can't be reached."


def _is_ours(address: str) -> bool:
    """Whether an address is one of this machine's own: only those can be bound to."""
    with socket.socket(socket.AF_INET6 if ":" in address else socket.AF_INET, socket.SOCK_DGRAM) as probing:
        try:
            probing.bind((address, 0))
        except OSError:
            return False
    return True


async def _joined(
    here: tuple[asyncio.StreamReader, asyncio.StreamWriter], there: tuple[asyncio.StreamReader, asyncio.StreamWriter], asked: Wanted
) -> None:
    try:
        if asked.is_tunnel:
            here[1].write(b"HTTP/1.1 200 Connected\r\n\r\n")
        there[1].write(asked.head)
        await asyncio.gather(_copied(here[0], there[1]), _copied(there[0], here[1]))
    finally:
        there[1].close()


async def _copied(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    while piece := await reader.read(CHUNK):
        writer.write(piece)
        await writer.drain()
    if writer.can_write_eof():
        writer.write_eof()


async def _refuse(writer: asyncio.StreamWriter, code: int, why: str) -> None:
    text = f"{why}\n".encode()
    head = f"HTTP/1.1 {code} Refused: {ascii(why)[1:-1]}\r\nContent-Type: text/plain\r\nContent-Length: {len(text)}\r\n"
    writer.write(f"{head}Connection: close\r\n\r\n".encode() + text)
    await writer.drain()
