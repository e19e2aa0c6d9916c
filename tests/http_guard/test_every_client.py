"""Whatever talks HTTP for a model goes past one guard: the client of tools, OpenAPI documents and operations, MCP both old and new.

A canary listens on this machine at every address it has. Whatever host is named, however it is written, nobody comes.
"""

import asyncio
import socket
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager

import pytest

from treadle import RunContext
from treadle.core.calls import Call
from treadle.core.errors import SettingsError, ToolProblem
from treadle.http_guard import Client
from treadle.toolsets.mcp import McpServer, mcp_tools
from treadle.toolsets.openapi import openapi_tools

METADATA = "169.254.169.254"  # where clouds keep what machines may know of themselves

# Hosts as they are written, and what each resolver that is asked for them says: nothing, for those that are addresses themselves.
WRITTEN = [
    "127.0.0.1", "127.1", "127.0.1", "127.255.255.254", "0", "0.0.0.0", "0x7f.1", "0x7f000001", "0177.0.0.1", "017700000001",
    "2130706433", "3232235521", "127.0.0.1.", "127.00.0.1", "10.0.0.1", "10.255.255.255", "172.16.0.1", "172.31.255.255",
    "192.168.0.1", "100.64.0.1", "100.127.255.254", "169.254.0.1", METADATA, "192.0.0.1", "192.0.0.192", "192.0.2.1",
    "192.88.99.1", "198.18.0.1", "198.51.100.1", "203.0.113.1", "224.0.0.1", "239.255.255.255", "240.0.0.1", "255.255.255.255",
    "[::]", "[::1]", "[0:0:0:0:0:0:0:1]", "[::127.0.0.1]", "[::7f00:1]", "[::ffff:127.0.0.1]", "[::ffff:7f00:1]",
    "[::ffff:169.254.169.254]", "[64:ff9b::7f00:1]", "[64:ff9b::a9fe:a9fe]", "[64:ff9b:1::7f00:1]", "[2002:7f00:1::]",
    "[2001::1]", "[2001:db8::1]", "[3fff::1]", "[fc00::1]", "[fd00:ec2::254]", "[fe80::1]", "[fe80::1%25lo]", "[fec0::1]",
    "[ff02::1]", "[100::1]", "localhost", "LOCALHOST", "a.localhost", "localhost.",
    "①②⑦.⓪.⓪.①", "\uff11\uff12\uff17.0.0.1", "127。0。0。1", "example.com@127.0.0.1", "127.0.0.1#example.com",
    "127.0.0.1\\example.com", "example.com\\@127.0.0.1", "127.0.0.1\0example.com", "example.com\0.127.0.0.1", "127.0.0.1%00",
    "127.0.0.1%2eexample.com", "127.0.0.1\t", "127.0.0.1\n", " 127.0.0.1", "[::1", "::1", "[127.0.0.1]", "", ".", "0x7f.0.0.0x1",
]  # fmt: skip
NAMES = {
    "leads-here.example": ["127.0.0.1"],
    "leads-here-too.example": ["::1"],
    "mapped.example": ["::ffff:127.0.0.1"],
    "translated.example": ["64:ff9b::7f00:1"],
    "one-bad-one.example": ["93.184.216.34", "127.0.0.1"],
    "metadata.example": [METADATA],
    "carrier.example": ["100.64.0.1"],
    "nothing.example": [],
}
NEAR_BY_NAME = {"127.0.0.1", "127.255.255.254", "[::1]", "[0:0:0:0:0:0:0:1]", "[::ffff:127.0.0.1]", "[::ffff:7f00:1]",
                "[64:ff9b::7f00:1]", "localhost", "LOCALHOST", "a.localhost", "10.0.0.1", "10.255.255.255", "172.16.0.1",
                "172.31.255.255", "192.168.0.1", "100.64.0.1", "100.127.255.254", "[fc00::1]", "[fd00:ec2::254]"}  # fmt: skip
DOCUMENT = {
    "openapi": "3.1.0",
    "info": {"title": "t", "version": "1"},
    "paths": {"/x": {"get": {"operationId": "x", "responses": {}}}},
}


class Canary:
    """Counts who comes, on every address of this machine."""

    def __init__(self) -> None:
        self.port = 0
        self.came = 0

    async def accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.came += 1
        writer.close()


@asynccontextmanager
async def canary() -> AsyncIterator[Canary]:
    bird = Canary()
    server = await asyncio.start_server(bird.accept, "127.0.0.1", 0)
    bird.port = server.sockets[0].getsockname()[1]
    also = await asyncio.start_server(bird.accept, "::1", bird.port) if socket.has_ipv6 else None
    try:
        yield bird
    finally:
        for each in (server, also):
            if each is not None:
                each.close()
                await each.wait_closed()


async def looked_up(host: str, port: int) -> Sequence[str]:
    """A resolver that says what an attacker wants; everything that isn't known to it leads here."""
    return NAMES.get(host, ["127.0.0.1"])


async def by_client(origin: str) -> None:
    await Client([origin], timeout=5, lookup=looked_up).send("GET", f"{origin}/x")


async def by_document(origin: str) -> None:
    async with openapi_tools(f"{origin}/openapi.json", lookup=looked_up, timeout=5):
        pass


async def by_operation(origin: str) -> None:
    document = {**DOCUMENT, "servers": [{"url": origin}]}
    async with openapi_tools(document, lookup=looked_up, timeout=5) as tools:
        await tools.call(Call("c1", tools.tools()[0].name, {}), RunContext())


async def by_mcp(origin: str) -> None:
    async with mcp_tools(McpServer("s", url=f"{origin}/mcp", starting=5), lookup=looked_up):
        pass


async def by_old_mcp(origin: str) -> None:
    async with mcp_tools(McpServer("s", url=f"{origin}/sse", sse=True, starting=5), lookup=looked_up):
        pass


Way = Callable[[str], Awaitable[None]]
WAYS: list[Way] = [by_client, by_document, by_operation, by_mcp, by_old_mcp]


def refused(way: Way, hosts: Sequence[str]) -> tuple[list[str], int]:
    """The hosts that were refused, and how many came to the canary."""

    async def tried() -> tuple[list[str], int]:
        found = []
        async with canary() as bird:
            for host in hosts:
                try:
                    await way(f"http://{host}:{bird.port}")
                except (SettingsError, ToolProblem):
                    found.append(host)
            return found, bird.came

    return asyncio.run(tried())


def test_there_are_hosts_enough():
    assert len({*WRITTEN, *NAMES}) == len([*WRITTEN, *NAMES]) >= 60


@pytest.mark.parametrize("way", WAYS)
def test_nobody_comes_to_this_machine_by_any_host_that_a_document_or_a_name_server_says(way):
    hosts = [host for host in (*WRITTEN, *NAMES) if way not in (by_mcp, by_old_mcp) or host not in NEAR_BY_NAME]
    assert refused(way, hosts) == (hosts, 0)


@pytest.mark.parametrize("way", [by_mcp, by_old_mcp])
def test_an_mcp_server_that_a_persons_settings_name_as_near_is_asked(way):
    near = ["127.0.0.1", "[::1]", "localhost", "a.localhost"]
    _, came = refused(way, near)
    assert came >= len(near)


def test_a_name_that_leads_here_is_asked_where_settings_say_that_it_may():
    async def asked():
        async with canary() as bird:
            for host in ("leads-here.example", "metadata.example"):
                server = McpServer("s", url=f"http://{host}:{bird.port}/mcp", private=True, starting=5)
                with pytest.raises(SettingsError) as refusal:
                    await mcp_tools(server, lookup=looked_up).__aenter__()
                yield str(refusal.value), bird.came

    async def all_of():
        return [each async for each in asked()]

    (near, came), (metadata, still) = asyncio.run(all_of())
    assert came == still > 0
    assert "can't be reached" in near
    assert "link-local" in metadata


@pytest.mark.parametrize("then", [METADATA, "::ffff:169.254.169.254", "224.0.0.1", "0.0.0.0"])
def test_a_name_whose_answer_changes_is_asked_for_once_each_time_and_checked_each_time(then, serving, answering):
    """The request goes to the address that was checked; what a name server says next is for the next request, and checked again."""
    said: list[str] = []

    async def changing(host: str, port: int) -> Sequence[str]:
        said.append(then if said else "127.0.0.1")
        return [said[-1]]

    async def tried():
        async with serving(mcp=answering(status="404 Not Found")) as server:
            named = McpServer("s", url=f"http://named.example:{server.port}/mcp", private=True, starting=5)
            with pytest.raises(SettingsError, match="isn't asked"):
                await mcp_tools(named, lookup=changing).__aenter__()
            return server.heads

    (head,) = asyncio.run(tried())
    assert "host: named.example" in head.lower()
    assert said == ["127.0.0.1", then]


@pytest.mark.parametrize("sse", [False, True])
def test_no_redirect_leads_an_mcp_client_elsewhere(sse, serving, answering):
    async def tried():
        async with canary() as bird, serving() as server:
            leads = [f"http://{METADATA}/latest/meta-data/", f"http://127.0.0.1:{bird.port}/mcp", f"//127.0.0.1:{bird.port}/mcp"]
            for where in leads:
                server.answers = {"/mcp": answering(status="307 Temporary Redirect", location=where)}
                with pytest.raises(SettingsError):
                    await mcp_tools(
                        McpServer("s", url=f"http://127.0.0.1:{server.port}/mcp", sse=sse, starting=5), lookup=looked_up
                    ).__aenter__()
            return bird.came, len(server.heads)

    came, asked = asyncio.run(tried())
    assert came == 0
    assert asked >= 3


def test_no_proxy_of_the_environment_is_used_for_mcp(serving, answering, monkeypatch):
    async def tried():
        async with canary() as bird, serving(mcp=answering(status="404 Not Found")) as server:
            monkeypatch.setenv("HTTP_PROXY", f"http://127.0.0.1:{bird.port}")
            monkeypatch.setenv("ALL_PROXY", f"http://127.0.0.1:{bird.port}")
            monkeypatch.delenv("NO_PROXY", raising=False)
            with pytest.raises(SettingsError):
                await mcp_tools(McpServer("s", url=f"http://127.0.0.1:{server.port}/mcp", starting=5)).__aenter__()
            return bird.came, len(server.heads)

    came, asked = asyncio.run(tried())
    assert came == 0
    assert asked >= 1
