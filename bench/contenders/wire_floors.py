"""The floor of each wire beside chat completions: its agent loop as one would write it by hand for exactly this task.

As `floor` does, they check nothing beyond types, recover from nothing, and encode the whole conversation for every request.
Bedrock's requests are signed with a key that is derived once, since the service takes no others.
"""

import asyncio
import hashlib
import hmac
import struct
import time
from asyncio import StreamReader, StreamWriter, open_connection
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import NamedTuple, Protocol
from urllib.parse import urlsplit

import msgspec
from msgspec import Raw, Struct

from bench.contenders import Run, Setup
from bench.contenders.floor import RawConnection
from bench.handloop import HAND_TOOLS
from bench.scenario import INSTRUCTIONS, MODEL

_encode = msgspec.json.Encoder().encode
_FUNCTIONS = [tool.spec()["function"] for tool in HAND_TOOLS.values()]


class Call(NamedTuple):
    """A tool call, in any provider's way of writing."""

    id: str
    name: str
    arguments: str | Raw


class Conversation(Protocol):
    """What was said so far as one wire writes it."""

    def body(self) -> bytes:
        """Return the next request."""
        ...

    def read(self, reply: bytes) -> tuple[str, list[Call]]:
        """Take a whole reply in."""
        ...

    async def read_streamed(self, pieces: AsyncIterator[bytes]) -> tuple[str, list[Call]]:
        """Take a streamed reply in."""
        ...

    def add_results(self, calls: list[Call], results: list[str]) -> None:
        """Answer the calls of the last reply."""
        ...


async def run(connection: RawConnection, conversation: Conversation, stream: bool) -> str:
    """One run of the task, to its final text."""
    while True:
        body = conversation.body()
        if stream:
            text, calls = await conversation.read_streamed(connection.pieces(body))
        else:
            text, calls = conversation.read(await connection.whole(body))
        if not calls:
            return text
        conversation.add_results(calls, await _call_all(calls))


async def _call_all(calls: list[Call]) -> list[str]:
    if len(calls) == 1:
        return [await HAND_TOOLS[calls[0].name].text(calls[0].arguments)]
    return await asyncio.gather(*(HAND_TOOLS[call.name].text(call.arguments) for call in calls))


async def _server_sent(pieces: AsyncIterator[bytes], end: bytes = b"\n\n") -> AsyncIterator[bytes]:
    rest = b""
    async for piece in pieces:
        *events, rest = (rest + piece).split(end)
        for event in events:
            yield event[event.find(b"data: ") + 6 :]


# Responses


class _Text(Struct, omit_defaults=True):
    text: str = ""


class _Item(Struct, omit_defaults=True):
    type: str | None = None
    role: str | None = None
    content: list[_Text] | None = None
    call_id: str | None = None
    name: str | None = None
    arguments: str | None = None
    output: str | None = None


class _Response(Struct):
    output: list[_Item]


class _ResponseEvent(Struct):
    type: str
    delta: str = ""
    item: _Item | None = None


_decode_response = msgspec.json.Decoder(_Response).decode
_decode_response_event = msgspec.json.Decoder(_ResponseEvent).decode


class Responses:
    """OpenAI's Responses."""

    def __init__(self, prompt: str, stream: bool) -> None:
        self._input = [_Item(role="user", content=[_Text(prompt)])]
        tools = [{"type": "function", "strict": False, **function} for function in _FUNCTIONS]
        self._request = {"model": MODEL, "stream": stream, "store": False, "instructions": INSTRUCTIONS}
        self._request |= {"tools": Raw(_encode(tools)), "input": self._input}

    def body(self) -> bytes:
        """Return the next request."""
        return _encode(self._request)

    def read(self, reply: bytes) -> tuple[str, list[Call]]:
        """Take a whole reply in."""
        return self._add(_decode_response(reply).output)

    async def read_streamed(self, pieces: AsyncIterator[bytes]) -> tuple[str, list[Call]]:
        """Take a streamed reply in."""
        items: list[_Item] = []
        texts: list[str] = []
        async for data in _server_sent(pieces):
            event = _decode_response_event(data)
            if event.type == "response.output_text.delta":
                texts.append(event.delta)
            elif event.type == "response.output_item.done" and event.item is not None:
                items.append(event.item)
        _, calls = self._add(items)
        return "".join(texts), calls

    def _add(self, items: list[_Item]) -> tuple[str, list[Call]]:
        self._input += items
        calls = [Call(one.call_id or "", one.name or "", one.arguments or "") for one in items if one.type == "function_call"]
        return "".join(part.text for one in items for part in one.content or ()), calls

    def add_results(self, calls: list[Call], results: list[str]) -> None:
        """Answer the calls of the last reply."""
        for call, result in zip(calls, results, strict=True):
            self._input.append(_Item(type="function_call_output", call_id=call.id, output=result))


# Anthropic


class _Block(Struct, omit_defaults=True):
    type: str
    text: str | None = None
    id: str | None = None
    name: str | None = None
    input: Raw = Raw()
    tool_use_id: str | None = None
    content: str | None = None


class _BlockMessage(Struct):
    role: str
    content: list[_Block]


class _AnthropicReply(Struct):
    content: list[_Block]


class _AnthropicDelta(Struct):
    text: str = ""
    partial_json: str = ""


class _AnthropicEvent(Struct):
    content_block: _Block | None = None
    delta: _AnthropicDelta | None = None


_decode_anthropic = msgspec.json.Decoder(_AnthropicReply).decode
_decode_anthropic_event = msgspec.json.Decoder(_AnthropicEvent).decode


class Anthropic:
    """Anthropic's messages."""

    def __init__(self, prompt: str, stream: bool) -> None:
        self._messages = [_BlockMessage("user", [_Block("text", text=prompt)])]
        tools = [{"name": one["name"], "description": one["description"], "input_schema": one["parameters"]} for one in _FUNCTIONS]
        self._request = {"model": MODEL, "max_tokens": 4096, "stream": stream, "system": INSTRUCTIONS}
        self._request |= {"tools": Raw(_encode(tools)), "messages": self._messages}

    def body(self) -> bytes:
        """Return the next request."""
        return _encode(self._request)

    def read(self, reply: bytes) -> tuple[str, list[Call]]:
        """Take a whole reply in."""
        return self._add(_decode_anthropic(reply).content)

    async def read_streamed(self, pieces: AsyncIterator[bytes]) -> tuple[str, list[Call]]:
        """Take a streamed reply in."""
        blocks: list[tuple[_Block, list[str]]] = []
        async for data in _server_sent(pieces):
            event = _decode_anthropic_event(data)
            if event.content_block is not None:
                blocks.append((event.content_block, []))
            elif event.delta is not None and (part := event.delta.partial_json or event.delta.text):
                blocks[-1][1].append(part)
        return self._add([_filled(block, "".join(parts)) for block, parts in blocks])

    def _add(self, blocks: list[_Block]) -> tuple[str, list[Call]]:
        self._messages.append(_BlockMessage("assistant", blocks))
        calls = [Call(one.id or "", one.name or "", one.input) for one in blocks if one.type == "tool_use"]
        return "".join(one.text or "" for one in blocks), calls

    def add_results(self, calls: list[Call], results: list[str]) -> None:
        """Answer the calls of the last reply."""
        blocks = [_Block("tool_result", tool_use_id=call.id, content=result) for call, result in zip(calls, results, strict=True)]
        self._messages.append(_BlockMessage("user", blocks))


def _filled(block: _Block, text: str) -> _Block:
    if block.type == "tool_use":
        block.input = Raw(text.encode())
    else:
        block.text = text
    return block


# Gemini


class _FunctionCall(Struct):
    name: str
    args: Raw
    id: str = ""


class _FunctionResponse(Struct):
    id: str
    name: str
    response: dict[str, str]


class _Part(Struct, omit_defaults=True, rename="camel"):
    text: str | None = None
    function_call: _FunctionCall | None = None
    function_response: _FunctionResponse | None = None


class _Content(Struct):
    role: str
    parts: list[_Part]


class _Candidate(Struct):
    content: _Content


class _GoogleReply(Struct):
    candidates: list[_Candidate]


_decode_google = msgspec.json.Decoder(_GoogleReply).decode


class Google:
    """Gemini's generateContent."""

    def __init__(self, prompt: str, stream: bool) -> None:
        self._contents = [_Content("user", [_Part(text=prompt)])]
        tools = [{"functionDeclarations": _FUNCTIONS}]
        self._request = {
            "systemInstruction": {"parts": [{"text": INSTRUCTIONS}]},
            "tools": Raw(_encode(tools)),
            "contents": self._contents,
        }

    def body(self) -> bytes:
        """Return the next request."""
        return _encode(self._request)

    def read(self, reply: bytes) -> tuple[str, list[Call]]:
        """Take a whole reply in."""
        return self._add(_decode_google(reply).candidates[0].content.parts)

    async def read_streamed(self, pieces: AsyncIterator[bytes]) -> tuple[str, list[Call]]:
        """Take a streamed reply in."""
        parts: list[_Part] = []
        async for data in _server_sent(pieces, b"\r\n\r\n"):
            parts += [part for part in _decode_google(data).candidates[0].content.parts if part.text != ""]
        return self._add(parts)

    def _add(self, parts: list[_Part]) -> tuple[str, list[Call]]:
        self._contents.append(_Content("model", parts))
        calls = [Call(call.id, call.name, call.args) for part in parts if (call := part.function_call) is not None]
        return "".join(part.text or "" for part in parts), calls

    def add_results(self, calls: list[Call], results: list[str]) -> None:
        """Answer the calls of the last reply."""
        parts = [
            _Part(function_response=_FunctionResponse(call.id, call.name, {"result": result}))
            for call, result in zip(calls, results, strict=True)
        ]
        self._contents.append(_Content("user", parts))


# Bedrock


class _ToolUse(Struct, rename="camel"):
    tool_use_id: str
    name: str
    input: Raw


class _ToolResult(Struct, rename="camel"):
    tool_use_id: str
    content: list[_Text]


class _ConverseBlock(Struct, omit_defaults=True, rename="camel"):
    text: str | None = None
    tool_use: _ToolUse | None = None
    tool_result: _ToolResult | None = None


class _ConverseMessage(Struct):
    role: str
    content: list[_ConverseBlock]


class _ConverseOutput(Struct):
    message: _ConverseMessage


class _ConverseReply(Struct):
    output: _ConverseOutput


class _StartedUse(Struct, rename="camel"):
    tool_use_id: str
    name: str


class _ConverseStart(Struct, rename="camel"):
    tool_use: _StartedUse | None = None


class _ConversePiece(Struct):
    input: str


class _ConverseDelta(Struct, rename="camel"):
    text: str | None = None
    tool_use: _ConversePiece | None = None


class _ConverseEvent(Struct):
    start: _ConverseStart | None = None
    delta: _ConverseDelta | None = None


_decode_converse = msgspec.json.Decoder(_ConverseReply).decode
_decode_converse_event = msgspec.json.Decoder(_ConverseEvent).decode
_lengths = struct.Struct(">II").unpack_from


class Bedrock:
    """Bedrock's Converse."""

    def __init__(self, prompt: str, stream: bool) -> None:
        self._messages = [_ConverseMessage("user", [_ConverseBlock(text=prompt)])]
        tools = [
            {"toolSpec": {"name": one["name"], "description": one["description"], "inputSchema": {"json": one["parameters"]}}}
            for one in _FUNCTIONS
        ]
        self._request = {
            "system": [{"text": INSTRUCTIONS}],
            "toolConfig": {"tools": Raw(_encode(tools))},
            "messages": self._messages,
        }

    def body(self) -> bytes:
        """Return the next request."""
        return _encode(self._request)

    def read(self, reply: bytes) -> tuple[str, list[Call]]:
        """Take a whole reply in."""
        return self._add(_decode_converse(reply).output.message.content)

    async def read_streamed(self, pieces: AsyncIterator[bytes]) -> tuple[str, list[Call]]:
        """Take a streamed reply in."""
        texts: list[str] = []
        uses: list[tuple[_StartedUse, list[str]]] = []
        async for payload in _frames(pieces):
            event = _decode_converse_event(payload)
            if event.start is not None and event.start.tool_use is not None:
                uses.append((event.start.tool_use, []))
            elif event.delta is None:
                continue
            elif event.delta.text is not None:
                texts.append(event.delta.text)
            elif event.delta.tool_use is not None:
                uses[-1][1].append(event.delta.tool_use.input)
        blocks = [_ConverseBlock(text="".join(texts))] if texts else []
        blocks += [
            _ConverseBlock(tool_use=_ToolUse(use.tool_use_id, use.name, Raw("".join(parts).encode()))) for use, parts in uses
        ]
        return self._add(blocks)

    def _add(self, blocks: list[_ConverseBlock]) -> tuple[str, list[Call]]:
        self._messages.append(_ConverseMessage("assistant", blocks))
        calls = [Call(use.tool_use_id, use.name, use.input) for one in blocks if (use := one.tool_use) is not None]
        return "".join(one.text or "" for one in blocks), calls

    def add_results(self, calls: list[Call], results: list[str]) -> None:
        """Answer the calls of the last reply."""
        blocks = [
            _ConverseBlock(tool_result=_ToolResult(call.id, [_Text(result)])) for call, result in zip(calls, results, strict=True)
        ]
        self._messages.append(_ConverseMessage("user", blocks))


async def _frames(pieces: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
    """Give the payloads of AWS's event stream; the payload's fields tell the events apart, so the headers are skipped."""
    buffer = b""
    async for piece in pieces:
        buffer += piece
        while len(buffer) >= 12:
            total, headers = _lengths(buffer)
            if len(buffer) < total:
                break
            yield buffer[12 + headers : total - 4]
            buffer = buffer[total:]


class _SignedConnection(RawConnection):
    """A connection whose requests are signed with Signature Version 4."""

    def __init__(self, reader: StreamReader, writer: StreamWriter, host: str, path: str) -> None:
        super().__init__(reader, writer, b"")
        self._host, self._path = host, path
        self._day, self._key = "", b""

    def _post(self, body: bytes) -> None:
        moment = time.strftime("%Y%m%dT%H%M%SZ", time.gmtime())
        scope = f"{moment[:8]}/us-east-1/bedrock/aws4_request"
        if moment[:8] != self._day:
            self._day, self._key = moment[:8], _signing_key(moment[:8])
        names = "content-type;host;x-amz-date"
        headers = f"content-type:application/json\nhost:{self._host}\nx-amz-date:{moment}\n"
        request = f"POST\n{self._path}\n\n{headers}\n{names}\n{hashlib.sha256(body).hexdigest()}"
        text = f"AWS4-HMAC-SHA256\n{moment}\n{scope}\n{hashlib.sha256(request.encode()).hexdigest()}"
        signature = hmac.digest(self._key, text.encode(), "sha256").hex()
        head = (
            f"POST {self._path} HTTP/1.1\r\nhost: {self._host}\r\ncontent-type: application/json\r\nx-amz-date: {moment}\r\n"
            f"authorization: AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/{scope}, SignedHeaders={names}, Signature={signature}\r\n"
            f"content-length: {len(body)}\r\n\r\n"
        )
        self._writer.write(head.encode() + body)


def _signing_key(day: str) -> bytes:
    key = b"AWS4unused"
    for part in (day, "us-east-1", "bedrock", "aws4_request"):
        key = hmac.digest(key, part.encode(), "sha256")
    return key


# Opening them

Connect = Callable[[StreamReader, StreamWriter, str], RawConnection]


@asynccontextmanager
async def _opened(setup: Setup, connect: Connect, conversation: Callable[[str, bool], Conversation]) -> AsyncIterator[Run]:
    address = urlsplit(setup.base_url)
    idle: list[RawConnection] = []

    async def run_once(prompt: str) -> str:
        connection = idle.pop() if idle else connect(*await open_connection(address.hostname, address.port), address.netloc)
        text = await run(connection, conversation(prompt, setup.stream), setup.stream)
        idle.append(connection)
        return text

    try:
        yield run_once
    finally:
        for connection in idle:
            connection.close()


def _posting(path: str, **headers: str) -> Connect:
    fields = "".join(f"{name.replace('_', '-')}: {value}\r\n" for name, value in headers.items())

    def connect(reader: StreamReader, writer: StreamWriter, host: str) -> RawConnection:
        head = f"POST {path} HTTP/1.1\r\nhost: {host}\r\n{fields}content-type: application/json\r\ncontent-length: "
        return RawConnection(reader, writer, head.encode())

    return connect


def opened_responses(setup: Setup) -> AbstractAsyncContextManager[Run]:
    """OpenAI's Responses."""
    return _opened(setup, _posting("/v1/responses", authorization="Bearer unused"), Responses)


def opened_anthropic(setup: Setup) -> AbstractAsyncContextManager[Run]:
    """Anthropic's messages."""
    return _opened(setup, _posting("/v1/messages", x_api_key="unused", anthropic_version="2023-06-01"), Anthropic)


def opened_google(setup: Setup) -> AbstractAsyncContextManager[Run]:
    """Gemini's generateContent."""
    method = "streamGenerateContent?alt=sse" if setup.stream else "generateContent"
    return _opened(setup, _posting(f"/v1beta/models/{MODEL}:{method}", x_goog_api_key="unused"), Google)


def opened_bedrock(setup: Setup) -> AbstractAsyncContextManager[Run]:
    """Bedrock's Converse, every request signed."""
    path = f"/model/{MODEL}/converse{'-stream' if setup.stream else ''}"

    def connect(reader: StreamReader, writer: StreamWriter, host: str) -> RawConnection:
        return _SignedConnection(reader, writer, host, path)

    return _opened(setup, connect, Bedrock)
