"""The server as a process: how it starts, how it stops, and what it says when it can't."""

import asyncio
import gc
import json
import signal
import socket
import subprocess
import urllib.error
import urllib.request
from contextlib import contextmanager

import pytest

from cli.forkserver import Forked
from cli.running import environment, script, start, treadle
from server.running import host
from treadle.core.errors import SettingsError
from treadle.server.app import create_app
from treadle.server.uvicorn_server import TreadleServer, allowed_hosts, listen, server_url

WAITED = "timeout graceful shutdown exceeded"  # what uvicorn says when a request had to be given up

OPEN = "No token: every account and program on this machine may use it, and do what you can do with it."

OWN = """
import asyncio, sys, threading
from pathlib import Path
from starlette.responses import PlainTextResponse
from starlette.routing import Route
from treadle.plugins.assistant import Assistant
from treadle.home import _homes
from treadle.server.host import make_host
from treadle.server.uvicorn_server import serve_http

async def waits(request):
    print("waiting", flush=True)
    await asyncio.Event().wait()

def hangs(request):
    print("hanging", flush=True)
    threading.Event().wait()

async def slow(request):
    print("slow", flush=True)
    while not Path(sys.argv[2]).exists():
        await asyncio.sleep(0.01)
    return PlainTextResponse("whole")

paths = {"/api/waits": waits, "/api/hangs": hangs, "/api/slow": slow}
rivers = Assistant("rivers", "Rivers", "Knows rivers.", routes=lambda host: [Route(path, end) for path, end in paths.items()])
how = {"port": 0, "no_token": True, "grace": int(sys.argv[1])}
asyncio.run(serve_http([rivers], make_host(), on_listening=lambda url: print(url, flush=True), **how))
print("closed", len(_homes), flush=True)
"""


@contextmanager
def process(home, grace=1):
    """A server with assistants of its own."""
    run = ["-c", OWN, str(grace), str(home / "go")]
    pipe = subprocess.PIPE
    with Forked(run, stdout=pipe, stderr=pipe, text=True, env=environment(home)) as server:
        try:
            yield server, server.stdout.readline().strip().rstrip("/")
        finally:
            server.kill()


@contextmanager
def served(home, *words, **env):
    """`treadle serve` without a token, and the address it printed."""
    with start(home, "serve", "--no-token", *words, **env) as server:
        try:
            yield server, server.stdout.readline().strip()
        finally:
            server.kill()


def get(url):
    with urllib.request.urlopen(url, timeout=120) as answer:
        return answer.read()


def connection(url, path):
    """A connection that has asked, and hasn't been answered."""
    port = int(url.rpartition(":")[2])
    line = socket.create_connection(("127.0.0.1", port), timeout=120)
    line.sendall(f"GET {path} HTTP/1.1\r\nhost: localhost\r\n\r\n".encode())
    return line


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_it_prints_its_address_serves_and_stops_when_told(tmp_path, number):
    with served(tmp_path, "--port", "0") as (server, url):
        assert url.startswith("http://127.0.0.1:")
        assert json.loads(get(f"{url}health")) == {"status": "ok"}
        server.send_signal(number)
        out, err = server.communicate(timeout=120)
    assert (server.returncode, out, err) == (0, "", f"{OPEN}\nCtrl-C stops it.\n")


def test_a_request_under_way_is_answered_before_it_stops(tmp_path):
    with process(tmp_path, grace=20) as (server, url), connection(url, "/api/slow") as line:
        assert server.stdout.readline() == "slow\n"
        server.terminate()
        while _is_open(url):
            pass
        (tmp_path / "go").touch()
        with line.makefile() as lines:
            answer = lines.read()
        assert server.wait(120) == 0
    assert answer.startswith("HTTP/1.1 200 OK")
    assert answer.endswith("whole")


def test_a_request_that_never_ends_is_given_up_and_everything_is_closed(tmp_path):
    with process(tmp_path) as (server, url), connection(url, "/api/waits"):
        assert server.stdout.readline() == "waiting\n"
        server.terminate()
        out, err = server.communicate(timeout=60)
    assert (server.returncode, out) == (0, "closed 0\n")
    assert WAITED in err


def test_a_thread_that_hangs_does_not_keep_the_process(tmp_path):
    with process(tmp_path) as (server, url), connection(url, "/api/hangs"):
        assert server.stdout.readline() == "hanging\n"
        server.terminate()
        assert server.wait(60) == 1  # it was ended: a thread that hangs for ever would have kept it


def test_a_second_interrupt_does_not_wait_for_requests(tmp_path):
    with process(tmp_path, grace=60) as (server, url), connection(url, "/api/waits"):
        assert server.stdout.readline() == "waiting\n"
        server.send_signal(signal.SIGINT)
        while _is_open(url):
            pass
        server.send_signal(signal.SIGINT)
        assert server.wait(120) == 0


def _is_open(url):
    """Whether it still takes connections."""
    try:
        with socket.create_connection(("127.0.0.1", int(url.rpartition(":")[2]))):
            return True
    except OSError:
        return False


def test_a_killed_server_leaves_its_port_to_the_next(tmp_path):
    with served(tmp_path, "--port", "0") as (server, url):
        get(f"{url}health")
        server.kill()
        server.wait(120)
    port = url.rstrip("/").rpartition(":")[2]
    with served(tmp_path, "--port", port) as (_, again):
        assert again == url
        assert get(f"{again}health")


# the assistants that are installed

RIVERS = """
from starlette.responses import JSONResponse
from starlette.routing import Route
from treadle.plugins.assistant import Assistant

def routes(host):
    async def name(request):
        return JSONResponse((await host.model()).name)

    async def fails(request):
        raise ValueError("deep\\ninside")

    return [Route("/api/name", name), Route("/api/fails", fails)]

rivers = Assistant("rivers", "Rivers", "Knows rivers.", routes=routes)
"""


def site(folder):
    """A folder with two packages: one brings an assistant, the other says that it does."""
    for name, module, entry in (("rivers", RIVERS, "rivers:rivers"), ("broken", "", "broken:nothing")):
        (folder / f"{name}-1.dist-info").mkdir(parents=True)
        (folder / f"{name}-1.dist-info" / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1\n")
        (folder / f"{name}-1.dist-info" / "entry_points.txt").write_text(f"[treadle.assistants]\n{name} = {entry}\n")
        (folder / f"{name}.py").write_text(module)
    return str(folder)


def failing(url):
    with pytest.raises(urllib.error.HTTPError) as refused:
        get(f"{url}api/fails")
    with refused.value as answer:
        return answer.code


def test_installed_assistants_are_served_with_the_model_that_was_chosen_and_what_fails_is_a_line(tmp_path):
    path = site(tmp_path / "site")
    with served(tmp_path, "--port", "0", "-m", script(tmp_path, "hello"), PYTHONPATH=path) as (server, url):
        assert "rivers" in [each["name"] for each in json.loads(get(f"{url}api/assistants"))]
        assert json.loads(get(f"{url}api/name")).startswith("scripted:")
        assert failing(url) == 500
        server.terminate()
        _, err = server.communicate(timeout=120)
    broken, _, note, failure = err.splitlines()
    assert broken.startswith("The assistant broken of the package broken can't be used: ")
    assert (note, failure) == ("Ctrl-C stops it.", "GET /api/fails failed: ValueError: deep inside")


def test_tracebacks_are_for_those_who_ask_for_them(tmp_path):
    with served(tmp_path, "--port", "0", PYTHONPATH=site(tmp_path / "site"), TREADLE_DEBUG="1") as (server, url):
        assert failing(url) == 500
        server.terminate()
        assert "Traceback" in server.communicate(timeout=120)[1]


# what it refuses


def test_a_port_that_is_taken_is_one_sentence(tmp_path):
    with listen(port=0) as taken:
        port = str(taken.getsockname()[1])
        ran = treadle(tmp_path, "serve", "--port", port)
    assert (ran.code, ran.out) == (2, "")
    assert ran.err == f"treadle: Port {port} of 127.0.0.1 is taken; choose another, or 0 for any that is free.\n"


@pytest.mark.parametrize("address", ["0.0.0.0", "::", "192.0.2.1", "example.org", "", "::ffff:127.0.0.1", "127.1", "::1%lo"])
def test_only_this_machine_can_be_served(address):
    with pytest.raises(SettingsError, match=r"isn't this machine's own address, .*; 127\.0\.0\.1, ::1 and localhost are\.$"):
        listen(address, 0)


def test_a_port_that_cannot_be_is_told():
    with pytest.raises(SettingsError, match="There is no port 65536"):
        listen(port=65536)


@pytest.mark.parametrize(("address", "named"), [("localhost", "127.0.0.1"), ("127.0.0.1", "127.0.0.1"), ("::1", "[::1]")])
def test_the_machines_own_addresses_are_all_right(address, named):
    if address == "::1" and not _has_ipv6():
        pytest.skip("no IPv6 on this machine")
    with listen(address, 0) as listening:
        assert server_url(listening) == f"http://{named}:{listening.getsockname()[1]}/"


def _has_ipv6() -> bool:
    try:
        with socket.create_server(("::1", 0), family=socket.AF_INET6):
            return True
    except OSError:
        return False


def test_without_its_packages_it_says_how_to_get_them(tmp_path):
    (tmp_path / "sitecustomize.py").write_text("import sys\nsys.modules['uvicorn'] = None\n")
    ran = treadle(tmp_path, "serve", PYTHONPATH=str(tmp_path))
    assert (ran.code, ran.out) == (2, "")
    assert ran.err == "treadle: The server needs starlette and uvicorn, which aren't installed: pip install 'treadle[server]'\n"


@pytest.mark.parametrize("moments", range(5))
def test_whoever_comes_in_the_moment_in_which_it_stops_is_let_go_of(tmp_path, moments):
    async def story():
        listening = listen(port=0)
        server = TreadleServer(create_app([], host(tmp_path), hosts=allowed_hosts(listening)), listening)
        server.config.load()
        server.lifespan = server.config.lifespan_class(server.config)
        await server.startup([listening])
        coming = [socket.create_connection(listening.getsockname()) for _ in range(5)]
        for _ in range(moments):  # they wait at the door, are let in, are in
            await asyncio.sleep(0)
        await server.shutdown([listening])
        for each in coming:
            each.close()

    asyncio.run(story())
    gc.collect()  # what nobody has closed is told, as an error
