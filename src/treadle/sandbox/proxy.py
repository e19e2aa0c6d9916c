"""Network access for a command in a sandbox: an HTTP proxy that connects to public addresses only.

Neither this machine nor its neighbours are reachable: each host is resolved once, every address is checked, and the
connection goes to one that was.

Commands reach the proxy on their own loopback interface. A socket stays in the network namespace that it was created in. So
a helper enters the sandbox's network, creates the listener there, and passes it over; nothing of ours runs inside, and no
address of this machine is routed there.
"""

import asyncio
import re
import socket
import sys
from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager, suppress
from urllib.parse import urlsplit

from msgspec import Struct

from treadle.http_guard.problems import HttpProblem
from treadle.http_guard.resolver import HostLookup, check_addresses, resolve_host
from treadle.sandbox.bubblewrap import PROXY_PORT
from treadle.sandbox.values import SandboxMissing

HELPER_SECONDS = 20.0
# The network belongs to a user namespace, whose owner may enter both.
HELPER = """
import ctypes, fcntl, os, socket, sys
libc = ctypes.CDLL(None, use_errno=True)
NEW_USER, NEW_NETWORK, OWNER_OF = 0x10000000, 0x40000000, 0xB701

def enter(descriptor, kind):
    if libc.setns(descriptor, kind):
        code = ctypes.get_errno()
        raise OSError(code, os.strerror(code))

network = os.open(f"/proc/{sys.argv[1]}/ns/net", os.O_RDONLY)
enter(fcntl.ioctl(network, OWNER_OF), NEW_USER)
enter(network, NEW_NETWORK)
listener = socket.socket()
listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
listener.bind(("0.0.0.0", int(sys.argv[2])))
listener.listen(128)
socket.send_fds(socket.socket(fileno=int(sys.argv[3])), [b"."], [listener.fileno()])
"""


async def open_listener_inside(pid: int) -> socket.socket:
    """Open a listener in the network namespace of a process. Raises `SandboxMissing` where that can't be entered."""
    ours, theirs = socket.socketpair()
    with ours, theirs:
        words = ("-I", "-S", "-c", HELPER, str(pid), str(PROXY_PORT), str(theirs.fileno()))
        process = await asyncio.create_subprocess_exec(
            sys.executable,
            *words,
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.DEVNULL,
            stderr=asyncio.subprocess.PIPE,
            pass_fds=(theirs.fileno(),),
            env={},
        )
        try:
            async with asyncio.timeout(HELPER_SECONDS):
                _, said = await process.communicate()
        except TimeoutError:
            process.kill()
            await process.wait()
            said = b"it took too long"
        if process.returncode:
            raise _network_error(said.decode(errors="replace"))
        ours.setblocking(False)
        _, descriptors, _, _ = socket.recv_fds(ours, 1, 1)
    return socket.socket(fileno=descriptors[0])


def _network_error(said: str) -> SandboxMissing:
    why = said.strip().rpartition("\n")[2]
    return SandboxMissing(
        f"Commands can't be given the network here: {why[:300] or 'the helper ended'}. Set commands.network = false to run them "
        "without it."
    )


Dial = Callable[[str, int], Awaitable[tuple[asyncio.StreamReader, asyncio.StreamWriter]]]

CHUNK = 1 << 16
MAX_HEAD = 1 << 16
CONNECT_SECONDS = 30.0  # for a request to be made, and for a host to be reached
MAX_CONNECTIONS = 64  # connections, each of which takes two descriptors of ours
MAX_LOOKUPS = 2  # hosts at the same time, each of which takes a thread of ours

_REQUEST = re.compile(r"(?P<method>[A-Z]+) (?P<target>\S+) HTTP/1\.[01]")
_AUTHORITY = re.compile(r"(?:\[(?P<address>[0-9A-Fa-f:.]+)\]|(?P<host>[\w.-]+)):(?P<port>\d{1,5})", re.ASCII)


class ProxyRequest(Struct, frozen=True):
    """Target of a proxy request, and the bytes sent there first: none for a tunnel."""

    host: str
    port: int
    head: bytes = b""

    @property
    def is_tunnel(self) -> bool:
        """Whether what follows is passed on unchanged."""
        return not self.head


def parse_proxy_request(head: bytes) -> ProxyRequest | None:
    """Parse a request to the proxy; None if it isn't one."""
    line, *fields = head.decode("latin-1").split("\r\n")
    request = _REQUEST.fullmatch(line)
    if request is None:
        return None
    if request["method"] == "CONNECT":
        return _parse_tunnel(request["target"])
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
    return ProxyRequest(url.hostname, port, text.encode("latin-1"))


def _parse_tunnel(authority: str) -> ProxyRequest | None:
    found = _AUTHORITY.fullmatch(authority)
    return (
        None if found is None or int(found["port"]) > 65535 else ProxyRequest(found["address"] or found["host"], int(found["port"]))
    )


@asynccontextmanager
async def proxy_network(pid: int) -> AsyncGenerator[None]:
    """Serve the processes in the network namespace of this one. Raises `SandboxMissing` where that can't be entered."""
    async with serve_proxy(await open_listener_inside(pid)):
        yield


@asynccontextmanager
async def serve_proxy(listener: socket.socket, lookup: HostLookup | None = None, dial: Dial | None = None) -> AsyncGenerator[None]:
    """Serve the clients of a listener."""
    tasks = set[asyncio.Task[None]]()
    threads = asyncio.Semaphore(MAX_LOOKUPS)

    async def known(host: str, port: int) -> Sequence[str]:
        async with threads:
            return await (lookup or resolve_host)(host, port)

    def begin(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if len(tasks) >= MAX_CONNECTIONS:
            return writer.close()
        task = asyncio.create_task(_handle_connection(reader, writer, known, dial or connect_checked))
        tasks.add(task)
        task.add_done_callback(tasks.discard)
        return None

    server = await asyncio.start_server(begin, sock=listener, limit=MAX_HEAD)
    try:
        yield
    finally:
        server.close()
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


async def connect_checked(address: str, port: int) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    """Open a connection to an address that was checked."""
    return await asyncio.open_connection(address, port, flags=socket.AI_NUMERICHOST)


async def _handle_connection(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, lookup: HostLookup, dial: Dial) -> None:
    """Handle one request, and the traffic that follows it."""
    try:
        async with asyncio.timeout(CONNECT_SECONDS):
            asked = parse_proxy_request(await reader.readuntil(b"\r\n\r\n"))
            if asked is None:
                return await _refuse(writer, 400, "Only HTTP and HTTPS go through here.")
            there = await _dial_checked(asked, lookup, dial)
        if isinstance(there, str):
            return await _refuse(writer, 403, there)
        await _relay((reader, writer), there, asked)
    except (TimeoutError, OSError, asyncio.IncompleteReadError, asyncio.LimitOverrunError):
        return None  # the client sees the end of the connection
    finally:
        writer.close()


async def _dial_checked(
    asked: ProxyRequest, lookup: HostLookup, dial: Dial
) -> tuple[asyncio.StreamReader, asyncio.StreamWriter] | str:
    """Return a connection to the target of a request, or why there is none."""
    try:
        addresses = await lookup(asked.host, asked.port)
        check_addresses(asked.host, addresses, private=False)
    except HttpProblem as problem:
        return str(problem)
    except (OSError, UnicodeError):
        return f"The host {asked.host} isn't known."
    if any(map(_is_own_address, addresses)):
        return f"The host {asked.host} is this machine, which commands don't reach."
    for address in addresses:
        with suppress(OSError):
            return await dial(address, asked.port)
    return f"The host {asked.host} can't be reached."


def _is_own_address(address: str) -> bool:
    """Return whether an address is one of this machine's own: only those can be bound to."""
    with socket.socket(socket.AF_INET6 if ":" in address else socket.AF_INET, socket.SOCK_DGRAM) as probing:
        try:
            probing.bind((address, 0))
        except OSError:
            return False
    return True


async def _relay(
    here: tuple[asyncio.StreamReader, asyncio.StreamWriter],
    there: tuple[asyncio.StreamReader, asyncio.StreamWriter],
    asked: ProxyRequest,
) -> None:
    try:
        if asked.is_tunnel:
            here[1].write(b"HTTP/1.1 200 Connected\r\n\r\n")
        there[1].write(asked.head)
        await asyncio.gather(_copy_stream(here[0], there[1]), _copy_stream(there[0], here[1]))
    finally:
        there[1].close()


async def _copy_stream(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
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
