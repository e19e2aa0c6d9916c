"""Requests to an MCP server go to its own origin, at an address that was checked, under its own name."""

import asyncio
import ssl

import httpx2
import pytest

from treadle.core.errors import SettingsError
from treadle.http_guard.resolver import is_local_host
from treadle.toolsets.mcp import McpServer, mcp_tools
from treadle.toolsets.mcp.transport import GuardedTransport, RequestBlocked


async def nowhere_first(host, port):
    return ["127.0.0.2", "127.0.0.1"]


async def unknown(host, port):
    raise OSError(-2, "Name or service not known")


def asked(url, server, lookup=nowhere_first):
    async def ask():
        async with httpx2.AsyncClient(transport=GuardedTransport(server, lookup)) as client:
            return await client.get(url)

    return asyncio.run(ask())


class Heard(asyncio.Protocol):
    """Answers everything with what it was asked."""

    def connection_made(self, transport):
        self.transport = transport

    def data_received(self, data):
        self.transport.write(b"HTTP/1.1 200 OK\r\nconnection: close\r\ncontent-length: %d\r\n\r\n%b" % (len(data), data))
        self.transport.close()


def test_the_next_address_is_tried_where_nobody_listens_at_the_first():
    async def ask():
        loop = asyncio.get_running_loop()
        listening = await loop.create_server(Heard, "127.0.0.1", 0)
        port = listening.sockets[0].getsockname()[1]
        server = McpServer("s", url=f"http://named.example:{port}/mcp", private=True)
        async with listening, httpx2.AsyncClient(transport=GuardedTransport(server, nowhere_first)) as client:
            return (await client.get(server.url)).text, port

    heard, port = asyncio.run(ask())
    assert f"host: named.example:{port}" in heard.lower()


@pytest.mark.parametrize(
    "url", ["http://other.example/mcp", "http://named.example:81/mcp", "https://named.example:81/mcp", "http://127.0.0.1/mcp"]
)
def test_another_origin_is_not_asked(url):
    with pytest.raises(RequestBlocked, match="own address only"):
        asked(url, McpServer("s", url="http://named.example/mcp", private=True))


def test_the_same_host_over_tls_is_its_own_origin():
    with pytest.raises(httpx2.ConnectError) as failed:  # nobody listens there
        asked("https://localhost/mcp", McpServer("s", url="http://localhost/mcp"))
    assert not isinstance(failed.value, RequestBlocked)


def test_a_host_that_nobody_knows_is_a_sentence():
    with pytest.raises(SettingsError, match=r"isn't asked\. The host named\.example isn't known"):
        asyncio.run(mcp_tools(McpServer("s", url="https://named.example/mcp"), lookup=unknown).__aenter__())


def test_a_certificate_has_to_be_the_hosts_not_the_addresss():
    """Whom TLS is spoken with is the name that a person wrote, although the connection goes to an address."""
    wanted = []

    class Greeted(asyncio.Protocol):
        def connection_made(self, transport):
            self.transport = transport

        def data_received(self, data):
            wanted.append(data)
            self.transport.close()

    async def greet():
        loop = asyncio.get_running_loop()
        listening = await loop.create_server(Greeted, "127.0.0.1", 0)
        port = listening.sockets[0].getsockname()[1]
        server = McpServer("s", url=f"https://named.example:{port}/mcp", private=True)
        async with listening, httpx2.AsyncClient(transport=GuardedTransport(server, nowhere_first)) as client:
            with pytest.raises((httpx2.TransportError, ssl.SSLError)):
                await client.get(server.url)

    asyncio.run(greet())
    assert b"named.example" in wanted[0]  # in the first words of TLS, where the name is still readable


NEAR = ["localhost", "a.localhost", "::1", "127.0.0.1", "192.168.1.7", "100.64.0.1"]
FAR = ["169.254.169.254", "localhost.", "example.com", "93.184.216.34", "0.0.0.0"]


@pytest.mark.parametrize("host", [*NEAR, *FAR])
def test_what_is_near_is_what_is_written_so(host):
    assert is_local_host(host) is (host in NEAR)
