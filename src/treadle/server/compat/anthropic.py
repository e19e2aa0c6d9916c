"""The Anthropic-compatible messages API: parses requests and writes answers. `turns` does what is in between."""

import asyncio
from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta, Struct
from starlette.requests import Request
from starlette.responses import Response

from treadle.core.calls import Call, Media, Result
from treadle.core.messages import History, Message, Part, Text
from treadle.core.requests import Options, ToolSpec, Usage
from treadle.loop.window import CHARACTERS_PER_TOKEN
from treadle.server.compat.answer import CompatAnswer, Finish
from treadle.server.compat.errors import CompatError, anthropic_error
from treadle.server.compat.media import ContentBlock, MediaCollector, MediaSource
from treadle.server.compat.output_schema import check_output_schema
from treadle.server.compat.parsing import (
    check_unique_tools,
    read_client_tool,
    read_message_text,
    read_text_block,
    read_tool_choice,
    read_user_part,
    reject_unsupported,
)
from treadle.server.compat.streaming import format_event, respond
from treadle.server.compat.turn_request import CompatTurnRequest, ToolChoice, check_conversation
from treadle.server.compat.turns import TurnManager

_FINISH: dict[Finish, str] = {"stop": "end_turn", "calls": "tool_use", "length": "max_tokens", "filtered": "refusal"}
_THOUGHTS = ("thinking", "redacted_thinking")  # of some other model: ours are never sent


# What is asked


class _InputBlock(Struct, frozen=True):
    type: str
    text: str | None = None
    id: str = ""
    name: str = ""
    input: dict[str, Any] = {}
    tool_use_id: str = ""
    content: str | list[ContentBlock] | None = None
    is_error: bool | None = None
    source: MediaSource | None = None
    title: str | None = None


class _InputMessage(Struct, frozen=True):
    role: str
    content: str | list[_InputBlock]


class _Tool(Struct, frozen=True):
    name: str
    type: str | None = None
    description: str | None = None
    input_schema: dict[str, Any] | None = None


class _ToolChoiceParam(Struct, frozen=True):
    type: str
    name: str = ""


class _Format(Struct, frozen=True):
    type: str = ""
    schema: dict[str, Any] = {}


class _OutputConfig(Struct, frozen=True):
    format: _Format | None = None


class CountTokensRequest(Struct, frozen=True, kw_only=True):
    """The request body of `/v1/messages/count_tokens`."""

    model: str
    messages: Annotated[list[_InputMessage], Meta(min_length=1)]
    system: str | list[ContentBlock] | None = None
    tools: list[_Tool] | None = None
    tool_choice: _ToolChoiceParam | None = None


class MessagesRequest(CountTokensRequest, frozen=True, kw_only=True):
    """The request body of `/v1/messages`. Unknown fields are ignored."""

    max_tokens: Annotated[int, Meta(ge=1)]
    stream: bool | None = None
    temperature: Annotated[float, Meta(ge=0, le=1)] | None = None
    top_p: Annotated[float, Meta(ge=0, le=1)] | None = None
    stop_sequences: list[str] | None = None
    output_config: _OutputConfig | None = None
    output_format: _Format | None = None
    mcp_servers: Any = None


class AnthropicUsage(Struct, frozen=True):
    """The usage of an answer, in tokens; cached input is counted separately."""

    input_tokens: int
    output_tokens: int
    cache_creation_input_tokens: int
    cache_read_input_tokens: int


class AnthropicMessage(Struct, frozen=True):
    """An answer: text, and calls of the client's tools."""

    id: str
    type: Literal["message"]
    role: Literal["assistant"]
    model: str
    content: list[dict[str, Any]]
    stop_reason: Literal["end_turn", "tool_use", "max_tokens", "refusal"]
    stop_sequence: str | None
    usage: AnthropicUsage


class TokenCount(Struct, frozen=True):
    """The approximate number of tokens of a message."""

    input_tokens: int


async def create_message(request: Request, body: MessagesRequest, desk: TurnManager) -> Response:
    """Answer a messages request."""
    reject_unsupported(mcp_servers=body.mcp_servers)
    options = Options(
        body.temperature, body.max_tokens, body.top_p, stop=tuple([stop for stop in body.stop_sequences or () if stop])
    )
    shape = _output_schema((body.output_config.format if body.output_config else None) or body.output_format)
    asked = msgspec.structs.replace(await asyncio.to_thread(parse_messages_request, body), options=options, shape=shape)
    return await respond(request, desk, asked, lambda answer_id: AnthropicWriter(answer_id, body.model), stream=bool(body.stream))


async def count_tokens(body: CountTokensRequest, desk: TurnManager) -> TokenCount:
    """Return the approximate number of tokens of a message: the model that reads it counts for itself."""
    asked = await asyncio.to_thread(parse_messages_request, body)
    desk.assistant_of(asked.model)
    tools = msgspec.json.encode(asked.tools)
    characters = History(asked.messages).size + len(asked.instructions) + (len(tools) if asked.tools else 0)
    return TokenCount(max(1, round(characters / CHARACTERS_PER_TOKEN)))


def parse_messages_request(body: CountTokensRequest) -> CompatTurnRequest:
    """Parse the request body into a turn."""
    tools = check_unique_tools([_tool_spec(tool, f"tools[{number}]") for number, tool in enumerate(body.tools or ())])
    brought = MediaCollector()
    told = [each for at, said in enumerate(body.messages) for each in _to_messages(said, f"messages[{at}]", brought)]
    choice = body.tool_choice
    return CompatTurnRequest(
        model=body.model,
        messages=check_conversation(told),
        instructions=_instructions(body.system),
        tools=tools,
        choice=None if choice is None else _tool_choice(choice, tools),
        wire="anthropic",
        media=brought.bytes,
    )


def _tool_choice(given: _ToolChoiceParam, tools: tuple[ToolSpec, ...]) -> ToolChoice | None:
    return read_tool_choice([spec.name for spec in tools], given.type, given.name)


def _instructions(system: str | list[ContentBlock] | None) -> str:
    return system if isinstance(system, str) else "\n\n".join([read_message_text([block], "system") for block in system or ()])


def _to_messages(said: _InputMessage, param: str, brought: MediaCollector) -> list[Message]:
    """Convert a message into ours. A user's text beside results comes after them."""
    pieces = [_InputBlock("text", text=said.content)] if isinstance(said.content, str) else said.content
    match said.role:
        case "user":
            parts = [_user_part(piece, f"{param}.content[{at}]", brought) for at, piece in enumerate(pieces)]
            results = tuple([part for part in parts if isinstance(part, Result)])
            words = tuple([part for part in parts if isinstance(part, Text | Media)])
            told = [Message("tools", results)] if results else []
            return [*told, Message("person", words)] if words or not results else told
        case "assistant":
            spoken = [
                _assistant_part(piece, f"{param}.content[{at}]") for at, piece in enumerate(pieces) if piece.type not in _THOUGHTS
            ]
            return [Message("model", tuple(spoken))]
        case _:
            raise CompatError(400, f"There is no role {said.role[:40]!r} here.", f"{param}.role")


def _user_part(piece: _InputBlock, param: str, brought: MediaCollector) -> Part:
    if piece.type == "tool_result":
        return _tool_result(piece, param, brought)
    return read_user_part(ContentBlock(piece.type, piece.text, source=piece.source, title=piece.title), param, brought)


def _tool_result(piece: _InputBlock, param: str, brought: MediaCollector) -> Result:
    """Return the result of a call of the client's tools: text, and media."""
    blocks = () if piece.content is None or isinstance(piece.content, str) else piece.content
    found = [brought.read(block, f"{param}.content[{at}]") for at, block in enumerate(blocks)]
    words = [block for block, media in zip(blocks, found, strict=True) if media is None]
    content = read_message_text(words if blocks else piece.content, param)
    media = tuple([each for each in found if each is not None])
    return Result(piece.tool_use_id, "", content, "raised" if piece.is_error else None, media=media)


def _assistant_part(piece: _InputBlock, param: str) -> Part:
    if piece.type == "tool_use":
        return Call(piece.id, piece.name, piece.input)
    return Text(read_text_block(ContentBlock(piece.type, piece.text), param))


def _tool_spec(tool: _Tool, param: str) -> ToolSpec:
    if tool.type not in (None, "custom"):
        raise CompatError(400, f"Tools of the type {tool.type[:60]!r} aren't there; bring your own.", f"{param}.type")
    return read_client_tool(tool.name, tool.description, tool.input_schema, param)


def _output_schema(given: _Format | None) -> dict[str, object] | None:
    if given is None:
        return None
    if given.type != "json_schema":
        raise CompatError(400, f"There is no format {given.type[:40]!r}.", "output_config.format")
    return check_output_schema(given.schema, "output_config.format.schema")


# How an answer is written


class AnthropicWriter:
    """Writes one answer in Anthropic's format."""

    beat = format_event({"type": "ping"}, "ping")

    def __init__(self, answer_id: str, model: str) -> None:
        self._id = f"msg_{answer_id}"
        self._model = model
        self._block = -1  # the one that is open
        self._begun = False

    def whole(self, answer: CompatAnswer) -> dict[str, Any]:
        """Return the answer as one response body."""
        words = [{"type": "text", "text": answer.text}] if answer.text else []
        calls = [
            {"type": "tool_use", "id": f"toolu_{call.path}", "name": call.name, "input": call.arguments} for call in answer.calls
        ]
        return self._message([*words, *calls], _FINISH[answer.finish], answer.usage)

    def words(self, text: str) -> bytes:
        """Return the events of a piece of text, in a block of its own."""
        opening = b""
        if self._block < 0:
            self._block = 0
            opening = self._start() + _block(0, {"type": "text", "text": ""})
        return opening + _delta(self._block, {"type": "text_delta", "text": text})

    def write_end(self, answer: CompatAnswer) -> bytes:
        """Return the final events: calls, stop reason, and usage."""
        parts = [self._start()]
        if self._block >= 0:
            parts.append(_stop(self._block))
        for number, call in enumerate(answer.calls, self._block + 1):
            parts += [
                _block(number, {"type": "tool_use", "id": f"toolu_{call.path}", "name": call.name, "input": {}}),
                _delta(number, {"type": "input_json_delta", "partial_json": msgspec.json.encode(call.arguments).decode()}),
                _stop(number),
            ]
        over = {"stop_reason": _FINISH[answer.finish], "stop_sequence": None}
        parts.append(format_event({"type": "message_delta", "delta": over, "usage": _usage(answer.usage)}, "message_delta"))
        parts.append(format_event({"type": "message_stop"}, "message_stop"))
        return b"".join(parts)

    def write_error(self, refused: CompatError) -> bytes:
        """Return the event of an error, which ends the stream."""
        return format_event(anthropic_error(refused), "error")

    def _start(self) -> bytes:
        if self._begun:
            return b""
        self._begun = True
        return format_event({"type": "message_start", "message": self._message([], None, Usage())}, "message_start")

    def _message(self, content: list[dict[str, Any]], reason: str | None, usage: Usage) -> dict[str, Any]:
        head = {"id": self._id, "type": "message", "role": "assistant", "model": self._model, "content": content}
        return {**head, "stop_reason": reason, "stop_sequence": None, "usage": _usage(usage)}


def _block(number: int, block: dict[str, Any]) -> bytes:
    return format_event({"type": "content_block_start", "index": number, "content_block": block}, "content_block_start")


def _delta(number: int, delta: dict[str, Any]) -> bytes:
    return format_event({"type": "content_block_delta", "index": number, "delta": delta}, "content_block_delta")


def _stop(number: int) -> bytes:
    return format_event({"type": "content_block_stop", "index": number}, "content_block_stop")


def _usage(usage: Usage) -> dict[str, Any]:
    """Return the usage; here, cached input is counted separately."""
    cached = usage.cache_read_tokens + usage.cache_write_tokens
    return {
        "input_tokens": max(usage.input_tokens - cached, 0),
        "output_tokens": usage.output_tokens,
        "cache_creation_input_tokens": usage.cache_write_tokens,
        "cache_read_input_tokens": usage.cache_read_tokens,
    }
