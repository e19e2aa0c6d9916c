"""Anthropic's messages, spoken by us: what is asked, and how an answer is written. What happens in between is the `desk`'s."""

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
from treadle.server.wires.answer import Answer, Finish
from treadle.server.wires.asked import Asked, Choice, conversation
from treadle.server.wires.desk import Desk
from treadle.server.wires.media import Block, Brought, Source
from treadle.server.wires.reading import choice_of, distinct, part_of, text_in, tool_of, unable, words_of
from treadle.server.wires.refused import Refused, anthropic_error
from treadle.server.wires.shape import shape_of
from treadle.server.wires.streaming import answered, event

_FINISH: dict[Finish, str] = {"stop": "end_turn", "calls": "tool_use", "length": "max_tokens", "filtered": "refusal"}
_THOUGHTS = ("thinking", "redacted_thinking")  # of some other model: ours are never sent


# What is asked


class _Piece(Struct, frozen=True):
    type: str
    text: str | None = None
    id: str = ""
    name: str = ""
    input: dict[str, Any] = {}
    tool_use_id: str = ""
    content: str | list[Block] | None = None
    is_error: bool | None = None
    source: Source | None = None
    title: str | None = None


class _Said(Struct, frozen=True):
    role: str
    content: str | list[_Piece]


class _Tool(Struct, frozen=True):
    name: str
    type: str | None = None
    description: str | None = None
    input_schema: dict[str, Any] | None = None


class _Choice(Struct, frozen=True):
    type: str
    name: str = ""


class _Format(Struct, frozen=True):
    type: str = ""
    schema: dict[str, Any] = {}


class _Output(Struct, frozen=True):
    format: _Format | None = None


class Counted(Struct, frozen=True, kw_only=True):
    """What is posted to `/v1/messages/count_tokens`."""

    model: str
    messages: Annotated[list[_Said], Meta(min_length=1)]
    system: str | list[Block] | None = None
    tools: list[_Tool] | None = None
    tool_choice: _Choice | None = None


class Posted(Counted, frozen=True, kw_only=True):
    """What is posted to `/v1/messages`. Whatever else is in it is ignored."""

    max_tokens: Annotated[int, Meta(ge=1)]
    stream: bool | None = None
    temperature: Annotated[float, Meta(ge=0, le=1)] | None = None
    top_p: Annotated[float, Meta(ge=0, le=1)] | None = None
    stop_sequences: list[str] | None = None
    output_config: _Output | None = None
    output_format: _Format | None = None
    mcp_servers: Any = None


class AnthropicUsage(Struct, frozen=True):
    """What an answer used, in tokens; input that was cached counts apart."""

    input_tokens: int
    output_tokens: int
    cache_creation_input_tokens: int
    cache_read_input_tokens: int


class AnthropicMessage(Struct, frozen=True):
    """An answer: text, and the caller's tools that are to be called."""

    id: str
    type: Literal["message"]
    role: Literal["assistant"]
    model: str
    content: list[dict[str, Any]]
    stop_reason: Literal["end_turn", "tool_use", "max_tokens", "refusal"]
    stop_sequence: str | None
    usage: AnthropicUsage


class TokensCounted(Struct, frozen=True):
    """How many tokens a message would have, roughly."""

    input_tokens: int


async def messages(request: Request, body: Posted, desk: Desk) -> Response:
    """Answer a message."""
    unable(mcp_servers=body.mcp_servers)
    options = Options(
        body.temperature, body.max_tokens, body.top_p, stop=tuple([stop for stop in body.stop_sequences or () if stop])
    )
    shape = _shape((body.output_config.format if body.output_config else None) or body.output_format)
    asked = msgspec.structs.replace(await asyncio.to_thread(asked_by, body), options=options, shape=shape)
    return await answered(request, desk, asked, lambda answer_id: Said(answer_id, body.model), stream=bool(body.stream))


async def count_tokens(body: Counted, desk: Desk) -> TokensCounted:
    """How many tokens a message would have, roughly: whichever model reads it counts for itself."""
    asked = await asyncio.to_thread(asked_by, body)
    desk.assistant_of(asked.model)
    tools = msgspec.json.encode(asked.tools)
    characters = History(asked.messages).size + len(asked.instructions) + (len(tools) if asked.tools else 0)
    return TokensCounted(max(1, round(characters / CHARACTERS_PER_TOKEN)))


def asked_by(body: Counted) -> Asked:
    """The turn that is asked for."""
    tools = distinct([_spec(tool, f"tools[{number}]") for number, tool in enumerate(body.tools or ())])
    brought = Brought()
    told = [each for at, said in enumerate(body.messages) for each in _told(said, f"messages[{at}]", brought)]
    choice = body.tool_choice
    return Asked(
        model=body.model,
        messages=conversation(told),
        instructions=_instructions(body.system),
        tools=tools,
        choice=None if choice is None else _choice(choice, tools),
        wire="anthropic",
        media=brought.bytes,
    )


def _choice(given: _Choice, tools: tuple[ToolSpec, ...]) -> Choice | None:
    return choice_of([spec.name for spec in tools], given.type, given.name)


def _instructions(system: str | list[Block] | None) -> str:
    return system if isinstance(system, str) else "\n\n".join([words_of([block], "system") for block in system or ()])


def _told(said: _Said, param: str, brought: Brought) -> list[Message]:
    """A message in our words. What a person says beside results comes after them."""
    pieces = [_Piece("text", text=said.content)] if isinstance(said.content, str) else said.content
    match said.role:
        case "user":
            parts = [_of_person(piece, f"{param}.content[{at}]", brought) for at, piece in enumerate(pieces)]
            results = tuple([part for part in parts if isinstance(part, Result)])
            words = tuple([part for part in parts if isinstance(part, Text | Media)])
            told = [Message("tools", results)] if results else []
            return [*told, Message("person", words)] if words or not results else told
        case "assistant":
            spoken = [_of_model(piece, f"{param}.content[{at}]") for at, piece in enumerate(pieces) if piece.type not in _THOUGHTS]
            return [Message("model", tuple(spoken))]
        case _:
            raise Refused(400, f"There is no role {said.role[:40]!r} here.", f"{param}.role")


def _of_person(piece: _Piece, param: str, brought: Brought) -> Part:
    if piece.type == "tool_result":
        return _result(piece, param, brought)
    return part_of(Block(piece.type, piece.text, source=piece.source, title=piece.title), param, brought)


def _result(piece: _Piece, param: str, brought: Brought) -> Result:
    """What came of a call of the caller's tools: words, and images and the like."""
    blocks = () if piece.content is None or isinstance(piece.content, str) else piece.content
    found = [brought.read(block, f"{param}.content[{at}]") for at, block in enumerate(blocks)]
    words = [block for block, media in zip(blocks, found, strict=True) if media is None]
    content = words_of(words if blocks else piece.content, param)
    media = tuple([each for each in found if each is not None])
    return Result(piece.tool_use_id, "", content, "raised" if piece.is_error else None, media=media)


def _of_model(piece: _Piece, param: str) -> Part:
    if piece.type == "tool_use":
        return Call(piece.id, piece.name, piece.input)
    return Text(text_in(Block(piece.type, piece.text), param))


def _spec(tool: _Tool, param: str) -> ToolSpec:
    if tool.type not in (None, "custom"):
        raise Refused(400, f"Tools of the type {tool.type[:60]!r} aren't there; bring your own.", f"{param}.type")
    return tool_of(tool.name, tool.description, tool.input_schema, param)


def _shape(given: _Format | None) -> dict[str, object] | None:
    if given is None:
        return None
    if given.type != "json_schema":
        raise Refused(400, f"There is no format {given.type[:40]!r}.", "output_config.format")
    return shape_of(given.schema, "output_config.format.schema")


# How an answer is written


class Said:
    """One answer, as Anthropic writes it."""

    beat = event({"type": "ping"}, "ping")

    def __init__(self, answer_id: str, model: str) -> None:
        self._id = f"msg_{answer_id}"
        self._model = model
        self._block = -1  # the one that is open
        self._begun = False

    def whole(self, answer: Answer) -> dict[str, Any]:
        """The answer in one."""
        words = [{"type": "text", "text": answer.text}] if answer.text else []
        calls = [
            {"type": "tool_use", "id": f"toolu_{call.path}", "name": call.name, "input": call.arguments} for call in answer.calls
        ]
        return self._message([*words, *calls], _FINISH[answer.finish], answer.usage)

    def words(self, text: str) -> bytes:
        """A piece of what is said, in a block of its own."""
        opening = b""
        if self._block < 0:
            self._block = 0
            opening = self._start() + _block(0, {"type": "text", "text": ""})
        return opening + _delta(self._block, {"type": "text_delta", "text": text})

    def ended(self, answer: Answer) -> bytes:
        """Calls, why it is over, and what it used."""
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
        parts.append(event({"type": "message_delta", "delta": over, "usage": _usage(answer.usage)}, "message_delta"))
        parts.append(event({"type": "message_stop"}, "message_stop"))
        return b"".join(parts)

    def failed(self, refused: Refused) -> bytes:
        """That there will be no more."""
        return event(anthropic_error(refused), "error")

    def _start(self) -> bytes:
        if self._begun:
            return b""
        self._begun = True
        return event({"type": "message_start", "message": self._message([], None, Usage())}, "message_start")

    def _message(self, content: list[dict[str, Any]], reason: str | None, usage: Usage) -> dict[str, Any]:
        head = {"id": self._id, "type": "message", "role": "assistant", "model": self._model, "content": content}
        return {**head, "stop_reason": reason, "stop_sequence": None, "usage": _usage(usage)}


def _block(number: int, block: dict[str, Any]) -> bytes:
    return event({"type": "content_block_start", "index": number, "content_block": block}, "content_block_start")


def _delta(number: int, delta: dict[str, Any]) -> bytes:
    return event({"type": "content_block_delta", "index": number, "delta": delta}, "content_block_delta")


def _stop(number: int) -> bytes:
    return event({"type": "content_block_stop", "index": number}, "content_block_stop")


def _usage(usage: Usage) -> dict[str, Any]:
    """What was used; here, input that was cached counts apart."""
    cached = usage.cache_read_tokens + usage.cache_write_tokens
    return {
        "input_tokens": max(usage.input_tokens - cached, 0),
        "output_tokens": usage.output_tokens,
        "cache_creation_input_tokens": usage.cache_write_tokens,
        "cache_read_input_tokens": usage.cache_read_tokens,
    }
