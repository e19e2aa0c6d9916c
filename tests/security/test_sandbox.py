"""What a command tries in the sandbox, for real: many attempts in one start, each of them a test. None may succeed."""

import asyncio
import ctypes
import json
import os
import re
import socket
import sys
from contextlib import ExitStack
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from treadle.sandbox.probe import check_sandbox
from treadle.sandbox.runner import run_command
from treadle.sandbox.seccomp import ARCHITECTURES
from treadle.sandbox.syscalls import NUMBERS
from treadle.sandbox.values import Bounds, SandboxSpec

PROBE = (Path(__file__).parent / "probe.py").read_text()
NAMES = re.findall(r'^@attempt\ndef (\w+)|^    \("(\w+)", \d+, socket', PROBE, re.MULTILINE)
NAMES = [one or other for one, other in NAMES]
KEY = f"treadle-test-{os.getpid()}"


def _calls():
    column = ARCHITECTURES[os.uname().machine][0]
    return {name: row[column] for name, row in NUMBERS.items()}


def _own_address():
    """An address of this machine that isn't its loopback one, where it has any."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probing:
        try:
            probing.connect(("192.0.2.1", 9))
        except OSError:
            return "127.0.0.1"
        return probing.getsockname()[0]


@cache
def outcomes(network):
    """The result of each attempt, and what was in the workspace afterwards."""
    with TemporaryDirectory(prefix="treadle-test-") as folder, ExitStack() as stack:
        workspace = Path(folder, "work")
        (workspace / "deep" / "er").mkdir(parents=True)
        here = asyncio.run(check_sandbox(workspace))
        if not here.sandboxed:
            return here.why, []
        listener = stack.enter_context(socket.create_server(("0.0.0.0", 0)))
        for path in ("server.sock", "deep/er/server.sock"):
            _listen(stack, str(workspace / path))
        _listen(stack, f"\0{KEY}")
        key = _planted()
        given = {"calls": _calls(), "key": KEY, "abstract": KEY, "own": _own_address(), "pid": os.getpid()}
        command = [
            *(str(Path(sys.executable).resolve()), "-I", "-S", "-c", PROBE),
            json.dumps(given | {"port": listener.getsockname()[1]}),
        ]
        place = SandboxSpec(workspace, extra_read=(Path(sys.base_prefix),), network=network)
        ran = asyncio.run(run_command(command, place, Bounds(seconds=60)))
        _forgotten(key)
        left = [str(path) for path in workspace.rglob("*") if path.lstat().st_mode & 0o6000]
        return ran.output, left


def _listen(stack, address):
    listener = stack.enter_context(socket.socket(socket.AF_UNIX))
    listener.bind(address)
    listener.listen()


def _planted():
    """A key in the session of whoever runs the tests."""
    return ctypes.CDLL(None).syscall(_calls()["add_key"], b"user", KEY.encode(), b"the key", 7, -3)


def _forgotten(key):
    ctypes.CDLL(None).syscall(_calls()["keyctl"], 9, key, -3)


@pytest.mark.parametrize("network", [False, True], ids=["offline", "online"])
@pytest.mark.parametrize("name", NAMES)
def test_an_attempt_fails(name, network):
    said, _ = outcomes(network)
    if "can't be contained" in said:
        pytest.skip(said)
    assert re.findall(rf"^{name}: .*$", said, re.MULTILINE) == [f"{name}: refused"], said[-2000:]


@pytest.mark.parametrize("network", [False, True], ids=["offline", "online"])
def test_no_file_is_left_that_runs_as_its_owner(network):
    assert outcomes(network)[1] == []


def test_all_attempts_are_counted():
    assert len(NAMES) == len(set(NAMES)) > 60


HOSTS = [
    *("127.0.0.1", "localhost", "[::1]", "0.0.0.0", "127.1", "2130706433", "0x7f000001", "0177.0.0.1", "[::ffff:127.0.0.1]"),
    *("own", "169.254.169.254", "[fd00:ec2::254]", "100.100.100.200", "10.0.0.1", "192.168.1.1", "[fe80::1]", "[::]"),
]
ASK = """
import json, os, socket, sys, urllib.parse
at = urllib.parse.urlsplit(os.environ["https_proxy"])
for line in json.loads(sys.argv[1]):
    asking = socket.create_connection((at.hostname, at.port), 30)
    asking.sendall(f"{line} HTTP/1.1\\r\\nHost: x\\r\\n\\r\\n".encode())
    print(line, "->", asking.recv(100).decode(errors="replace").splitlines()[:1])
"""


@cache
def answers():
    """What the proxy says to each request, and whether anybody came to a listener of this machine."""
    with TemporaryDirectory(prefix="treadle-test-") as folder, socket.create_server(("0.0.0.0", 0)) as listener:
        here = asyncio.run(check_sandbox(Path(folder)))
        if not here.sandboxed:
            return here.why, False
        hosts = [_own_address() if host == "own" else host for host in HOSTS]
        places = [f"{host}:{listener.getsockname()[1]}" for host in hosts]
        lines = [line for place in places for line in (f"CONNECT {place}", f"GET http://{place}/")]
        command = [str(Path(sys.executable).resolve()), "-I", "-S", "-c", ASK, json.dumps(lines)]
        place = SandboxSpec(Path(folder), extra_read=(Path(sys.base_prefix),), network=True)
        ran = asyncio.run(run_command(command, place, Bounds(seconds=60)))
        listener.settimeout(0)
        try:
            listener.accept()[0].close()
        except BlockingIOError:
            return ran.output, False
        return ran.output, True


@pytest.mark.parametrize("how", ["CONNECT {}:", "GET http://{}:"])
@pytest.mark.parametrize("host", HOSTS)
def test_the_way_to_the_network_leads_to_no_machine_nearby(host, how):
    said, came = answers()
    if "can't be contained" in said:
        pytest.skip(said)
    (line,) = [line for line in said.splitlines() if line.startswith(how.format(_own_address() if host == "own" else host))][:1]
    assert re.search(r"-> ..HTTP/1.1 403 Refused: The host ", line), line
    assert not came
