"""The server: a thread with its own event loop, and every byte in its hand. What is said is `script`, how is each wire's module."""

import asyncio
import json
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from types import ModuleType
from typing import Any, Self

from wire import anthropic, bedrock, google, ollama, openai, responses
from wire.script import Answer, Break, Control, Gate, Pause, Raw, Refusal, Reply, Stall, Verbatim, answer_of, refuse

_WIRES: dict[str, ModuleType] = {
    "/chat/completions": openai,
    "/v1/messages": anthropic,
    "/api/chat": ollama,
    "/responses": responses,
    ":generateContent": google,
    ":streamGenerateContent": google,
    ":rawPredict": anthropic,
    ":streamRawPredict": anthropic,
    "/converse": bedrock,
    "/converse-stream": bedrock,
}


@dataclass(frozen=True)
class Received:
    """A request: on which connection it came, when, and what it said."""

    path: str
    headers: dict[str, str]
    body: Any
    connection: int
    at: float
    content: bytes = b""  # the body as it came


@dataclass(frozen=True)
class Sent:
    """A piece of an answer: to which request (counted from 0), which bytes, and when they were written."""

    request: int
    data: bytes
    at: float


Script = Sequence[Any] | Callable[[Received], Any]


class WireServer:
    """Answers from a script, in order. `requests` and `sent` tell what happened."""

    def __init__(self, script: Script = ()) -> None:
        self.script = script
        self.requests: list[Received] = []
        self.sent: list[Sent] = []
        self.url = ""
        self.tags: Any = {"models": []}  # what Ollama has installed
        self.pages: dict[str, Any] = {}  # what else there is, by its path
        self._connections = 0
        self._ready = threading.Event()
        self._thread = threading.Thread(target=lambda: asyncio.run(self._main()), daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        self._ready.wait(120)
        return self

    def __exit__(self, *_: object) -> None:
        self._loop.call_soon_threadsafe(self._over.set)
        self._thread.join(10)

    async def _main(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._over = asyncio.Event()
        self._talks: dict[asyncio.Task[None], asyncio.StreamWriter] = {}
        server = await asyncio.start_server(self._connected, "127.0.0.1", 0)
        self.url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
        self._ready.set()
        await self._over.wait()
        server.close()
        talks = {**self._talks}
        for task, writer in talks.items():
            task.cancel()
            writer.close()
        await asyncio.gather(*talks, *[writer.wait_closed() for writer in talks.values()], return_exceptions=True)

    def _connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.ensure_future(self._converse(reader, writer))
        self._talks[task] = writer
        task.add_done_callback(self._talks.pop)

    async def _converse(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._connections += 1
        connection = self._connections
        try:
            while (received := await _request(reader, connection)) is not None:
                self.requests.append(received)
                await self._answer(received, _Line(writer))
        except (ConnectionError, _BrokenOff):
            pass
        finally:
            writer.close()
            with suppress(ConnectionError):
                await writer.wait_closed()

    async def _answer(self, received: Received, line: "_Line") -> None:
        number = len(self.requests) - 1
        wire = next((module for path, module in _WIRES.items() if received.path.partition("?")[0].endswith(path)), None)
        if wire is None:
            return await self._answer_get(received, line)
        answer = self._next(received, number)
        line.most(answer.break_at if isinstance(answer, Reply) else None)
        for piece in _pieces(answer, wire, received, number):
            if isinstance(piece, Control):
                await _happen(piece, line)
            else:
                self.sent.append(Sent(number, piece, time.monotonic()))
                await line.write(piece)
        return None

    async def _answer_get(self, received: Received, line: "_Line") -> None:
        known = {"/api/version": {"version": "0.0.0"}, "/api/tags": self.tags, **self.pages}.get(received.path)
        body = json.dumps(known).encode()
        await line.write(_head(404 if known is None else 200, "application/json", f"content-length: {len(body)}") + body)
        raise _BrokenOff

    def _next(self, received: Received, number: int) -> Answer:
        if callable(self.script):
            return answer_of(self.script(received))
        return answer_of(self.script[number]) if number < len(self.script) else refuse(500, "the script of the server is over")


async def _request(reader: asyncio.StreamReader, connection: int) -> Received | None:
    try:
        head = (await reader.readuntil(b"\r\n\r\n")).decode()
    except asyncio.IncompleteReadError:
        return None
    first, *lines = head.strip().split("\r\n")
    headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines)}
    content = await reader.readexactly(int(headers.get("content-length", 0)))
    return Received(first.split(" ")[1], headers, json.loads(content) if content else None, connection, time.monotonic(), content)


def _streams(received: Received, wire: ModuleType) -> bool:
    if wire is bedrock:
        return received.path.endswith("-stream")
    return ":streamGenerateContent" in received.path or received.body.get("stream", wire is ollama)


def _pieces(answer: Answer, wire: ModuleType, received: Received, number: int) -> Iterator[bytes | Control]:
    match answer:
        case Refusal():
            body = wire.error(answer) if answer.body is None else answer.body
            own = bedrock.error_headers(answer) if wire is bedrock else {}
            extra = [f"{name}: {value}" for name, value in {**own, **answer.headers}.items()]
            yield _head(answer.status, "application/json", f"content-length: {len(body)}", *extra) + body
        case Raw():
            yield from _raw_pieces(answer)
        case Verbatim():
            yield from (*answer.pieces, Break(abort=False))
        case Reply() if _streams(received, wire):
            yield from _cut_after(answer, _stream_pieces(answer, wire, number))
        case Reply():
            yield from (part for part in answer.parts if isinstance(part, Pause | Gate))
            body = wire.whole(answer, number)
            ending = next((part for part in answer.parts if isinstance(part, Break | Stall)), None)
            head = _head(200, "application/json", f"content-length: {len(body)}")
            yield from (head + body,) if ending is None else (head + body[: len(body) // 2], ending)


def _stream_pieces(reply: Reply, wire: ModuleType, number: int) -> Iterator[bytes | Control]:
    if reply.announced:
        yield b"HTTP/1.1 103 Early Hints\r\nlink: </style.css>\r\n\r\n"
    yield _head(200, wire.STREAM, "transfer-encoding: chunked")
    for piece in wire.streamed(reply, number):
        yield piece if isinstance(piece, Control) else _chunk(piece)
    yield Stall() if reply.lingers else b"0\r\n\r\n"


def _cut_after(reply: Reply, pieces: Iterator[bytes | Control]) -> Iterator[bytes | Control]:
    """The pieces, up to the one after which the connection is to end; the head isn't counted."""
    count = -1
    for piece in pieces:
        yield piece
        count += isinstance(piece, bytes)
        if count == reply.break_after:
            yield Break(abort=False)


def _raw_pieces(answer: Raw) -> Iterator[bytes | Control]:
    if answer.close:
        yield _head(200, answer.content_type, "connection: close")
        yield from answer.pieces
        yield Break(abort=False)
    elif answer.content_type == "application/json":
        body = b"".join(answer.pieces)
        yield _head(200, answer.content_type, f"content-length: {len(body)}") + body
    else:
        yield _head(200, answer.content_type, "transfer-encoding: chunked")
        yield from (_chunk(piece) for piece in answer.pieces)
        yield b"0\r\n\r\n"


def _head(status: int, content_type: str, *lines: str) -> bytes:
    return "\r\n".join([f"HTTP/1.1 {status} Whatever", f"content-type: {content_type}", *lines, "", ""]).encode()


def _chunk(data: bytes) -> bytes:
    return b"%x\r\n%b\r\n" % (len(data), data)


class _BrokenOff(Exception):
    """The script says that the connection ends here."""


class _Line:
    """Where bytes go out."""

    def __init__(self, writer: asyncio.StreamWriter) -> None:
        self._writer = writer
        self._left: int | None = None

    def most(self, most: int | None) -> None:
        """The connection ends after so many bytes."""
        self._left = most

    async def write(self, data: bytes) -> None:
        if self._left is not None:
            data, self._left = data[: self._left], self._left - len(data)
        self._writer.write(data)
        await self._writer.drain()
        if self._left is not None and self._left <= 0:
            raise _BrokenOff

    def abort(self) -> None:
        self._writer.transport.abort()


async def _happen(control: Control, line: _Line) -> None:
    match control:
        case Pause():
            await asyncio.sleep(control.seconds)
        case Gate():
            until = time.monotonic() + control.seconds
            while not control.event.is_set() and time.monotonic() < until:  # noqa: ASYNC110 - the event belongs to another thread
                await asyncio.sleep(0.001)
        case Break():
            if control.abort:
                line.abort()
            raise _BrokenOff
        case Stall():
            await asyncio.Event().wait()


def model(server: WireServer, wire: str = "openai", *, stream: bool = True, name: str = "wired", **settings: Any) -> Any:
    """The Treadle model that speaks this wire to this server."""
    from treadle.models.wires.anthropic import Anthropic
    from treadle.models.wires.aws_auth import AwsCredentials
    from treadle.models.wires.bedrock import Bedrock
    from treadle.models.wires.google import Google
    from treadle.models.wires.ollama import Ollama
    from treadle.models.wires.openai import OpenAI
    from treadle.models.wires.responses import Responses

    match wire:
        case "openai":
            return OpenAI(name, base_url=f"{server.url}/v1", api_key="test-key", stream=stream, **settings)
        case "anthropic":
            return Anthropic(name, base_url=server.url, api_key="test-key", stream=stream, **settings)
        case "ollama":
            return Ollama(name, base_url=server.url, stream=stream, **settings)
        case "responses":
            return Responses(name, base_url=f"{server.url}/v1", api_key="test-key", stream=stream, **settings)
        case "google":
            return Google(name, base_url=server.url, api_key="test-key", stream=stream, **settings)
        case "bedrock":
            given = {"region": "us-east-1", "credentials": AwsCredentials("AKIDEXAMPLE", "test-key"), **settings}
            return Bedrock(name, base_url=server.url, stream=stream, **given)
        case unknown:
            raise ValueError(f"no wire called {unknown!r}")
