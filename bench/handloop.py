"""The agent loop as one would write it by hand for exactly this task, with msgspec for JSON.

The floor and the aiohttp contender share it; they bring the wire and the way history is kept.
It checks nothing beyond types and recovers from nothing: that is what makes it a floor.
"""

import asyncio
import inspect
from collections.abc import AsyncIterator, Callable
from typing import Any, Protocol

import msgspec

from bench.scenario import INSTRUCTIONS, MODEL
from bench.tools import TOOLS, Function


class Called(msgspec.Struct):
    """The function half of a tool call."""

    name: str = ""
    arguments: str = ""


class ToolCall(msgspec.Struct):
    """A tool call, whole or (with an index) one fragment of it."""

    function: Called
    id: str = ""
    type: str = "function"
    index: int = 0


class Message(msgspec.Struct, omit_defaults=True):
    """One message of the conversation, in either direction; also a streamed delta."""

    role: str | None = None
    content: str | None = None
    tool_calls: list[ToolCall] | None = None
    tool_call_id: str | None = None


class _Choice(msgspec.Struct):
    message: Message | None = None
    delta: Message | None = None


class _Reply(msgspec.Struct):
    choices: list[_Choice]


class Wire(Protocol):
    """A way to post a request: for the whole body, or for its bytes as they come."""

    async def whole(self, body: bytes) -> bytes:
        """Post and read the reply to its end."""
        ...

    def pieces(self, body: bytes) -> AsyncIterator[bytes]:
        """Post and give the reply's bytes as they arrive."""
        ...


class History(Protocol):
    """The conversation so far and the request body it makes."""

    def add(self, message: Message) -> None:
        """Append a message."""
        ...

    def body(self) -> bytes:
        """The next request."""
        ...


class HandTool:
    """One function, with its argument decoder worked out once."""

    def __init__(self, function: Function) -> None:
        fields = [(p.name, p.annotation) for p in inspect.signature(function).parameters.values()]
        self.arguments = msgspec.defstruct(function.__name__, fields)
        self.function = function
        self._decode = msgspec.json.Decoder(self.arguments).decode

    async def __call__(self, call: ToolCall) -> Message:
        arguments = msgspec.structs.astuple(self._decode(call.function.arguments))
        result = await self.function(*arguments)
        text = result if isinstance(result, str) else _encode(result).decode()
        return Message(role="tool", content=text, tool_call_id=call.id)

    async def text(self, arguments: str | msgspec.Raw) -> str:
        """Call it for the loops of other wires, which write results in their own ways."""
        result = await self.function(*msgspec.structs.astuple(self._decode(arguments)))
        return result if isinstance(result, str) else _encode(result).decode()

    def spec(self) -> dict[str, Any]:
        """The tool as the model is told of it."""
        (parameters,) = msgspec.json.schema_components([self.arguments])[1].values()
        name, description = self.function.__name__, inspect.getdoc(self.function)
        function = {"name": name, "description": description, "parameters": parameters}
        return {"type": "function", "function": function}


_encode = msgspec.json.Encoder().encode
_decode_reply = msgspec.json.Decoder(_Reply).decode
HAND_TOOLS = {function.__name__: HandTool(function) for function in TOOLS}
_TOOLS_JSON = _encode([tool.spec() for tool in HAND_TOOLS.values()])


class ReencodedHistory:
    """Keeps messages as values and encodes all of them for every request."""

    def __init__(self, stream: bool) -> None:
        self._messages: list[Message] = []
        self._request = {
            "model": MODEL,
            "stream": stream,
            "tools": msgspec.Raw(_TOOLS_JSON),
            "messages": self._messages,
        }

    def add(self, message: Message) -> None:
        """Append a message."""
        self._messages.append(message)

    def body(self) -> bytes:
        """The next request."""
        return _encode(self._request)


class AppendedHistory:
    """Keeps the request's bytes and appends each message to them once."""

    def __init__(self, stream: bool) -> None:
        request = {"model": MODEL, "stream": stream, "tools": msgspec.Raw(_TOOLS_JSON)}
        self._bytes = bytearray(_encode(request)[:-1] + b',"messages":[')

    def add(self, message: Message) -> None:
        """Append a message."""
        self._bytes += _encode(message) + b","

    def body(self) -> bytes:
        """The next request: the bytes so far, the last comma replaced by the two brackets."""
        return b"%b]}" % memoryview(self._bytes)[:-1]


async def run(prompt: str, wire: Wire, stream: bool, history_type: Callable[[bool], History]) -> str:
    """One run of the task, to its final text."""
    history = history_type(stream)
    history.add(Message(role="system", content=INSTRUCTIONS))
    history.add(Message(role="user", content=prompt))
    while True:
        body = history.body()
        message = await (_ask_streamed(wire, body) if stream else _ask(wire, body))
        if not message.tool_calls:
            return message.content or ""
        history.add(message)
        for result in await _call_all(message.tool_calls):
            history.add(result)


async def _ask(wire: Wire, body: bytes) -> Message:
    message = _decode_reply(await wire.whole(body)).choices[0].message
    assert message is not None
    return message


async def _call_all(calls: list[ToolCall]) -> list[Message]:
    if len(calls) == 1:
        return [await HAND_TOOLS[calls[0].function.name](calls[0])]
    return await asyncio.gather(*(HAND_TOOLS[call.function.name](call) for call in calls))


async def _ask_streamed(wire: Wire, body: bytes) -> Message:
    message = Message(role="assistant")
    texts: list[str] = []
    rest = b""
    async for piece in wire.pieces(body):
        *events, rest = (rest + piece).split(b"\n\n")
        for event in events:
            if event != b"data: [DONE]":
                _absorb(event[6:], message, texts)
    message.content = "".join(texts) or None
    return message


def _absorb(data: bytes, message: Message, texts: list[str]) -> None:
    for choice in _decode_reply(data).choices:
        delta = choice.delta
        if delta is None:
            continue
        if delta.content:
            texts.append(delta.content)
        if delta.tool_calls:
            _absorb_calls(delta.tool_calls, message)


def _absorb_calls(fragments: list[ToolCall], message: Message) -> None:
    if message.tool_calls is None:
        message.tool_calls = []
    for fragment in fragments:
        if fragment.index == len(message.tool_calls):
            message.tool_calls.append(fragment)
        else:
            message.tool_calls[fragment.index].function.arguments += fragment.function.arguments
