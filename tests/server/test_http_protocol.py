"""Connections over real sockets: who never ends a request, who reads nothing, and who may go on all the same."""

import asyncio
import socket
import subprocess
import sys
import threading
import time
from contextlib import ExitStack, contextmanager

import pytest
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.routing import Route

from server.running import Serving, assistant
from treadle.server.http_protocol import MOST, ConnectionLimits, default_connection_limits

SOON, LATER = 0.2, 60.0  # seconds
LARGE = 16_000_000  # bytes
HEAD = b"GET /health HTTP/1.1\r\nhost: localhost\r\n"
POST = b"POST /api/size HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\ncontent-length: %d\r\n\r\n"


class Held:
    """Answers that are held up, and a stream without end."""

    def __init__(self):
        self.begun, self.go_on, self.ended = threading.Semaphore(0), threading.Event(), threading.Event()

    def routes(self, lent):
        async def hold(request):
            self.begun.release()
            await asyncio.to_thread(self.go_on.wait, 20)
            return JSONResponse("held")

        async def size(request):
            return JSONResponse(len(await request.body()))

        async def much():
            try:
                while True:
                    yield b"x" * 60_000
                    await asyncio.sleep(0)
            finally:
                self.ended.set()

        async def stream(request):
            return StreamingResponse(much())

        async def large(request):
            return Response(b"x" * LARGE)

        return [
            Route("/api/hold", hold),
            Route("/api/size", size, methods=["POST"]),
            Route("/api/much", stream),
            Route("/api/large", large),
        ]


@contextmanager
def served(folder, held=None, **how):
    held = held or Held()
    with Serving(folder, [assistant("rivers", routes=held.routes)], patient=ConnectionLimits(**how)) as server:
        try:
            yield server
        finally:
            held.go_on.set()


def connected(server, *, buffer=None):
    line = socket.socket()
    line.settimeout(120)
    if buffer:
        line.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, buffer)
    line.connect(("127.0.0.1", server.port))
    return line


def is_ended(line):
    """Whether the server ends it, which is waited for."""
    try:
        return line.recv(100) == b""
    except ConnectionResetError:
        return True


def answer(line):
    """The first line of an answer; all of it is read."""
    with line.makefile("rb") as lines:
        first, length = lines.readline().decode().strip(), 0
        while (header := lines.readline().strip()) != b"":
            name, _, value = header.partition(b": ")
            length = int(value) if name == b"content-length" else length
        lines.read(length)
        return first


# what comes


@pytest.mark.parametrize("sent", [b"", b"GET", HEAD])
def test_a_head_that_never_ends_is_waited_for_only_so_long(tmp_path, sent):
    with served(tmp_path, head=SOON, body=LATER) as server, connected(server) as line:
        line.sendall(sent)
        assert is_ended(line)


def test_a_head_that_comes_byte_by_byte_has_no_more_time_than_any_other(tmp_path):
    with served(tmp_path, head=1.0) as server, connected(server) as line:
        line.sendall(b"GET /")
        line.settimeout(0.02)
        until = time.monotonic() + 120
        while time.monotonic() < until and not is_over(line):
            pass
        assert time.monotonic() < until


def is_over(line):
    """Whether a connection has ended by now; one more byte is sent."""
    try:
        line.sendall(b"x")
        return line.recv(1) == b""
    except TimeoutError:
        return False
    except OSError:
        return True


def test_a_second_request_on_the_same_connection_is_held_to_it_too(tmp_path):
    with served(tmp_path, head=SOON) as server, connected(server) as line:
        line.sendall(HEAD + b"\r\n")
        assert answer(line) == "HTTP/1.1 200 OK"
        line.sendall(HEAD)
        assert is_ended(line)


@pytest.mark.parametrize("path", [b"/api/size", b"/api/nothing"])
def test_a_body_that_does_not_go_on_is_given_up(tmp_path, path):
    with served(tmp_path, body=SOON, least=10) as server, connected(server) as line:
        line.sendall((POST % 1000).replace(b"/api/size", path) + b"12345")
        if path == b"/api/nothing":
            assert answer(line) == "HTTP/1.1 404 Not Found"
        assert is_ended(line)


def test_a_body_that_comes_slowly_comes_all_the_same(tmp_path):
    with served(tmp_path, body=1.5, least=5) as server, connected(server) as line:
        line.sendall(POST % 100)
        for _ in range(10):
            line.sendall(b"1234567890")
            time.sleep(0.2)
        assert answer(line) == "HTTP/1.1 200 OK"


def test_an_answer_may_take_as_long_as_it_takes(tmp_path):
    held = Held()
    with served(tmp_path, held, head=SOON, body=SOON, stall=SOON) as server, connected(server) as line:
        line.sendall(HEAD.replace(b"/health", b"/api/hold") + b"\r\n")
        assert held.begun.acquire(timeout=120)
        time.sleep(3 * SOON)
        held.go_on.set()
        assert answer(line) == "HTTP/1.1 200 OK"


# what is sent


def test_whoever_reads_nothing_is_let_go_of(tmp_path):
    held = Held()
    with served(tmp_path, held, stall=SOON) as server, connected(server, buffer=4096) as line:
        line.sendall(HEAD.replace(b"/health", b"/api/much") + b"\r\n")
        assert held.ended.wait(120)


def test_whoever_reads_slowly_gets_it_all(tmp_path):
    with served(tmp_path, stall=0.5) as server, connected(server, buffer=65536) as line:
        line.sendall(HEAD.replace(b"/health", b"/api/large") + b"\r\n")
        come = 0
        while come < LARGE:
            piece = line.recv(200_000)
            assert piece, come
            come += len(piece)
            time.sleep(0.005)


# how many


def test_those_who_ask_for_nothing_make_room_for_those_who_ask(tmp_path):
    with served(tmp_path, head=LATER, most=5) as server, ExitStack() as stack:
        idle = [stack.enter_context(connected(server)) for _ in range(20)]
        for line in idle:
            try:
                line.sendall(HEAD)
            except OSError:
                continue  # it had to go already
        for _ in range(3):
            with connected(server) as line:
                line.sendall(HEAD + b"\r\n")
                assert answer(line) == "HTTP/1.1 200 OK"
        assert is_ended(idle[0])


def test_where_nobody_can_make_room_that_is_said(tmp_path):
    held = Held()
    with served(tmp_path, held, most=3) as server, ExitStack() as stack:
        for _ in range(3):
            line = stack.enter_context(connected(server))
            line.sendall(HEAD.replace(b"/health", b"/api/hold") + b"\r\n")
            assert held.begun.acquire(timeout=120)
        with connected(server) as line:
            line.sendall(HEAD + b"\r\n")
            assert answer(line) == "HTTP/1.1 503 Service Unavailable"
        held.go_on.set()


def test_there_are_no_more_connections_than_files_allow():
    code = (
        "import resource; from treadle.server.http_protocol import default_connection_limits;"
        "hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1];"
        "resource.setrlimit(resource.RLIMIT_NOFILE, (200, hard)); print(default_connection_limits().most)"
    )
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "102\n"
    assert 0 < default_connection_limits().most <= MOST
