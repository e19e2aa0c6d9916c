"""Loopback HTTP: one thread with an event loop, a port for each mock. Streams go out in awkward pieces, whatever is in them."""

import asyncio
import json
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from itertools import cycle
from typing import Any
from urllib.parse import parse_qsl, urlsplit

_SIZES = (1, 2, 40, 7, 3, 300, 16, 5000)  # bytes of a chunk: also inside of characters, lines and events


@dataclass(frozen=True)
class Request:
    """A request. `target` is its path and query as they came; `body` is None where there is no JSON."""

    method: str
    target: str
    headers: dict[str, str]
    raw: bytes

    @property
    def path(self) -> str:
        return urlsplit(self.target).path

    @property
    def query(self) -> dict[str, str]:
        return dict(parse_qsl(urlsplit(self.target).query, keep_blank_values=True))

    @property
    def body(self) -> Any:
        try:
            return json.loads(self.raw)
        except ValueError:
            return None


@dataclass(frozen=True)
class Response:
    """A response: in one piece with its length, or, as a `stream`, in chunks, of which the connection may `cut` some off."""

    status: int
    body: bytes
    content_type: str = "application/json"
    headers: Mapping[str, str] = field(default_factory=dict)
    stream: bool = False
    cut: float | None = None


Answers = Callable[[Request], Response]


class _Host:
    """The thread."""

    def __init__(self) -> None:
        self.loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self.loop.run_forever, daemon=True, name="mock servers")
        self._thread.start()

    def run(self, work: Any) -> Any:
        return asyncio.run_coroutine_threadsafe(work, self.loop).result(20)


_hosts: list[_Host] = []


@contextmanager
def serve(answers: Answers) -> Iterator[str]:
    """The address of a server that answers so, for as long as the block lasts."""
    if not _hosts:
        _hosts.append(_Host())
    port = _Port(answers)
    url = _hosts[0].run(port.open())
    try:
        yield url
    finally:
        _hosts[0].run(port.close())


class _Port:
    def __init__(self, answers: Answers) -> None:
        self._answers = answers
        self._talks: dict[asyncio.Task[None], asyncio.StreamWriter] = {}

    async def open(self) -> str:
        self._server = await asyncio.start_server(self._connected, "127.0.0.1", 0)
        return f"http://127.0.0.1:{self._server.sockets[0].getsockname()[1]}"

    async def close(self) -> None:
        self._server.close()
        talks = {**self._talks}
        for task, writer in talks.items():
            task.cancel()
            writer.close()
        await asyncio.gather(*talks, return_exceptions=True)

    def _connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.ensure_future(self._converse(reader, writer))
        self._talks[task] = writer
        task.add_done_callback(self._talks.pop)

    async def _converse(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(ConnectionError, asyncio.IncompleteReadError):
            while True:
                request = await _request(reader)
                if not await _send(writer, self._answers(request)):
                    break
        writer.close()


async def _request(reader: asyncio.StreamReader) -> Request:
    first, *lines = (await reader.readuntil(b"\r\n\r\n")).decode().strip().split("\r\n")
    headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines)}
    method, target, _ = first.split(" ")
    if headers.get("transfer-encoding") == "chunked":
        raw = await _chunks(reader)
    else:
        raw = await reader.readexactly(int(headers.get("content-length", 0)))
    return Request(method, target, headers, raw)


async def _chunks(reader: asyncio.StreamReader) -> bytes:
    parts: list[bytes] = []
    while size := int(await reader.readline(), 16):
        parts.append(await reader.readexactly(size))
        await reader.readline()
    await reader.readline()
    return b"".join(parts)


async def _send(writer: asyncio.StreamWriter, response: Response) -> bool:
    """Send a response. False where the connection ends with it."""
    length = "transfer-encoding: chunked" if response.stream else f"content-length: {len(response.body)}"
    lines = [f"{name}: {value}" for name, value in response.headers.items()]
    head = [f"HTTP/1.1 {response.status} -", f"content-type: {response.content_type}", length, *lines, "", ""]
    writer.write("\r\n".join(head).encode())
    if not response.stream:
        writer.write(response.body)
        await writer.drain()
        return True
    body = response.body if response.cut is None else response.body[: int(len(response.body) * response.cut)]
    for piece in _awkward(body):
        writer.write(b"%x\r\n%b\r\n" % (len(piece), piece))
        await writer.drain()
        await asyncio.sleep(0)
    if response.cut is None:
        writer.write(b"0\r\n\r\n")
        await writer.drain()
    return response.cut is None


def _awkward(body: bytes) -> Iterator[bytes]:
    start = 0
    for size in cycle(_SIZES):
        if start >= len(body):
            return
        yield body[start : start + size]
        start += size
