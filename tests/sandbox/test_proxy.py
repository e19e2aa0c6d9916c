"""The way to the network: what the proxy takes for a request, whom it refuses, and that usual programs get through it."""

import asyncio
import shutil
import socket
import subprocess
import sys
import threading
from contextlib import suppress
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from treadle.sandbox import proxy
from treadle.sandbox.proxy import MAX_CONNECTIONS, ProxyRequest, open_listener_inside, parse_proxy_request, serve_proxy
from treadle.sandbox.runner import run_command
from treadle.sandbox.values import Bounds, SandboxMissing, SandboxSpec

PUBLIC = "93.184.216.34"


@pytest.mark.parametrize(
    ("head", "expected"),
    [
        ("CONNECT example.org:443 HTTP/1.1\r\nHost: x\r\n\r\n", ProxyRequest("example.org", 443)),
        ("CONNECT [2606:4700::1]:443 HTTP/1.0\r\n\r\n", ProxyRequest("2606:4700::1", 443)),
        (
            "GET http://example.org/a?b=c HTTP/1.1\r\nHost: example.org\r\nProxy-Connection: x\r\nConnection: x\r\n\r\n",
            ProxyRequest("example.org", 80, b"GET /a?b=c HTTP/1.1\r\nHost: example.org\r\nConnection: close\r\n\r\n"),
        ),
        (
            "POST http://example.org:81 HTTP/1.1\r\n\r\n",
            ProxyRequest("example.org", 81, b"POST / HTTP/1.1\r\nConnection: close\r\n\r\n"),
        ),
    ],
)
def test_requests_are_understood(head, expected):
    assert parse_proxy_request(head.encode()) == expected


@pytest.mark.parametrize(
    "head",
    [
        "GET / HTTP/1.1\r\n\r\n",
        "GET ftp://example.org/ HTTP/1.1\r\n\r\n",
        "GET file:///etc/passwd HTTP/1.1\r\n\r\n",
        "GET http:///a HTTP/1.1\r\n\r\n",
        "GET http://a:99999/ HTTP/1.1\r\n\r\n",
        "GET http://[::1/ HTTP/1.1\r\n\r\n",
        "CONNECT example.org HTTP/1.1\r\n\r\n",
        "CONNECT example.org:99999 HTTP/1.1\r\n\r\n",
        "CONNECT a b:443 HTTP/1.1\r\n\r\n",
        "SSH-2.0-x\r\n\r\n",
        "\r\n\r\n",
    ],
)
def test_what_is_no_request_to_a_proxy_is_not_taken_for_one(head):
    assert parse_proxy_request(head.encode()) is None


def asked(text, addresses=(PUBLIC,), dial=None):
    """What the proxy answers to a request, where hosts have these addresses."""

    async def lookup(host, port):
        return addresses

    async def nowhere(address, port):
        raise AssertionError(f"connected to {address}")

    async def ask():
        listener = socket.create_server(("127.0.0.1", 0))
        async with serve_proxy(listener, lookup, dial or nowhere):
            reader, writer = await asyncio.open_connection(*listener.getsockname())
            answer = b""
            with suppress(ConnectionError):  # where it is given up before all was read
                writer.write(text.encode())
                answer = await reader.read()
            writer.transport.abort()  # closing would wait for what nothing reads any more
            return answer.decode()

    return asyncio.run(ask())


@pytest.mark.parametrize(
    "addresses",
    [["127.0.0.1"], ["::1"], ["10.1.2.3"], ["169.254.169.254"], ["fd00:ec2::254"], ["100.100.100.200"], [PUBLIC, "127.0.0.1"], []],
)
@pytest.mark.parametrize("request_line", ["CONNECT a.example:443", "GET http://a.example/"])
def test_a_host_with_an_address_nearby_is_refused(addresses, request_line):
    assert asked(f"{request_line} HTTP/1.1\r\n\r\n", addresses).startswith("HTTP/1.1 403 Refused: The host a.example")


def test_an_address_of_this_machine_is_refused_even_if_it_is_public(monkeypatch):
    monkeypatch.setattr(proxy, "check_addresses", lambda *_, **__: None)
    assert "is this machine" in asked("CONNECT a.example:443 HTTP/1.1\r\n\r\n", ["127.0.0.1"])


def test_what_is_no_request_is_answered():
    assert asked("SSH-2.0-x\r\n\r\n").startswith("HTTP/1.1 400 ")


def test_a_host_that_does_not_answer_is_told():
    async def refuses(address, port):
        raise ConnectionRefusedError

    assert "can't be reached" in asked("CONNECT a.example:443 HTTP/1.1\r\n\r\n", dial=refuses)


def test_a_head_without_end_is_given_up():
    assert asked("GET http://a.example/" + "a" * 200_000) == ""


def test_so_many_connections_are_served_and_no_more():
    async def many():
        listener = socket.create_server(("127.0.0.1", 0))
        async with serve_proxy(listener):
            held = [await asyncio.open_connection(*listener.getsockname()) for _ in range(MAX_CONNECTIONS)]
            reader, writer = await asyncio.open_connection(*listener.getsockname())
            ended = await reader.read()
            for one in (writer, *(writer for _, writer in held)):
                one.close()
            return ended

    assert asyncio.run(many()) == b""


def test_a_process_whose_network_is_not_ours_to_enter_is_a_sentence():
    with pytest.raises(SandboxMissing, match=r"can't be given the network here: .*commands\.network = false"):
        asyncio.run(open_listener_inside(1 << 22))


@pytest.fixture
def site(tmp_path, monkeypatch):
    """A web server for every host there is, and the folder that it shows."""
    folder = tmp_path / "site"
    folder.mkdir()

    class Quiet(SimpleHTTPRequestHandler):
        def log_message(self, *_):
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=str(folder)))
    thread = threading.Thread(target=server.serve_forever)
    thread.start()

    async def lookup(host, port):
        return [PUBLIC]

    async def connect(address, port):
        assert (address, port) == (PUBLIC, 80)
        return await asyncio.open_connection(*server.server_address)

    monkeypatch.setattr(proxy, "resolve_host", lookup)
    monkeypatch.setattr(proxy, "connect_checked", connect)
    yield folder
    server.shutdown()
    thread.join()
    server.server_close()


def online(command, workspace):
    place = SandboxSpec(workspace, extra_read=(Path(sys.base_prefix),), network=True)
    return asyncio.run(run_command(command, place, Bounds(seconds=60)))


def test_a_program_that_knows_proxies_reaches_a_public_host(site, workspace):
    (site / "a.txt").write_text("from the network")
    get = "import urllib.request; print(urllib.request.urlopen('http://example.org/a.txt').read().decode())"
    assert online([str(Path(sys.executable).resolve()), "-I", "-c", get], workspace).output == "from the network\n"


def test_servers_inside_are_reached_without_the_proxy(site, workspace):
    serve = """
import http.server, threading, urllib.request
server = http.server.HTTPServer(("127.0.0.1", 0), http.server.SimpleHTTPRequestHandler)
threading.Thread(target=server.serve_forever, daemon=True).start()
print(urllib.request.urlopen(f"http://localhost:{server.server_port}/").status)
"""
    assert "\n200\n" in f"\n{online([str(Path(sys.executable).resolve()), '-I', '-c', serve], workspace).output}"


@pytest.mark.skipif(shutil.which("git") is None, reason="there is no git here")
def test_git_fetches_over_the_proxy(site, workspace, tmp_path):
    made = tmp_path / "made"
    for line in (
        f"git init -q {made}",
        f"git -C {made} -c user.name=a -c user.email=a@b commit -q --allow-empty -m first",
        f"git clone -q --bare {made} {site / 'x.git'}",
        f"git -C {site / 'x.git'} update-server-info",
    ):
        subprocess.run(line.split(), check=True, capture_output=True)
    result = online("git clone -q http://example.org/x.git x && git -C x log --format=%s", workspace)
    assert result.output == "first\n"
    assert result.set_aside == ()  # its settings are those of any clone


def test_pip_installs_over_the_proxy(site, workspace):
    wheel = site / "simple" / "tiny" / "tiny-1.0-py3-none-any.whl"
    wheel.parent.mkdir(parents=True)
    build = f"""
import zipfile
with zipfile.ZipFile({str(wheel)!r}, "w") as wheel:
    wheel.writestr("tiny.py", "WORD = 'tiny'")
    wheel.writestr("tiny-1.0.dist-info/METADATA", "Metadata-Version: 2.1\\nName: tiny\\nVersion: 1.0\\n")
    wheel.writestr("tiny-1.0.dist-info/WHEEL", "Wheel-Version: 1.0\\nRoot-Is-Purelib: true\\nTag: py3-none-any\\n")
    wheel.writestr("tiny-1.0.dist-info/RECORD", "")
"""
    subprocess.run([sys.executable, "-I", "-c", build], check=True)
    python = str(Path(sys.executable).resolve())
    if subprocess.run([python, "-I", "-m", "pip", "--version"], capture_output=True, check=False).returncode:
        pytest.skip("this Python has no pip")
    install = "pip install -q --break-system-packages --target packages --trusted-host example.org"
    index = "--index-url http://example.org/simple"
    line = f"{python} -m {install} {index} tiny; PYTHONPATH=packages {python} -c 'import tiny; print(tiny.WORD)'"
    assert online(line, workspace).output.endswith("tiny\n")
