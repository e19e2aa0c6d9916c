"""The OpenAI-compatible chat completions API: parses requests and writes answers. `turns` does what is in between."""

import asyncio
import time
from typing import Annotated, Any, Literal

from msgspec import Meta, Struct
from starlette.requests import Request
from starlette.responses import Response

from treadle.core.calls import Call, Result
from treadle.core.messages import Message, Part, Text
from treadle.core.requests import Options, ToolSpec
from treadle.server.compat.answer import ClientCall, CompatAnswer, Finish
from treadle.server.compat.errors import CompatError, openai_error
from treadle.server.compat.media import ContentBlock, MediaCollector
from treadle.server.compat.output_schema import check_output_schema
from treadle.server.compat.parsing import (
    check_unique_tools,
    parse_call_arguments,
    read_client_tool,
    read_message_text,
    read_tool_choice,
    read_user_message,
    reject_unsupported,
)
from treadle.server.compat.streaming import format_event, respond
from treadle.server.compat.turn_request import CompatTurnRequest, ToolChoice, check_conversation
from treadle.server.compat.turns import TurnManager
from treadle.tools.text import to_text

MAX_STOPS = 4

_FINISH: dict[Finish, str] = {"stop": "stop", "calls": "tool_calls", "length": "length", "filtered": "content_filter"}
_TOOL_CHOICES = {"auto": "auto", "none": "none", "required": "any"}


# What is asked


class _Function(Struct, frozen=True):
    name: str
    arguments: str = "{}"


class _Call(Struct, frozen=True):
    id: str
    function: _Function


class _InputMessage(Struct, frozen=True):
    role: str
    content: str | list[ContentBlock] | None = None
    tool_calls: list[_Call] | None = None
    tool_call_id: str = ""
    function_call: Any = None


class _FunctionDefinition(Struct, frozen=True):
    name: str
    description: str | None = None
    parameters: dict[str, Any] | None = None


class _Tool(Struct, frozen=True):
    type: str = "function"
    function: _FunctionDefinition | None = None


class _FunctionName(Struct, frozen=True):
    name: str = ""


class _ToolChoiceParam(Struct, frozen=True):
    type: str = ""
    function: _FunctionName = _FunctionName()


class _Schema(Struct, frozen=True):
    schema: dict[str, Any] = {}


class _Format(Struct, frozen=True):
    type: str = "text"
    json_schema: _Schema = _Schema()


class _StreamOptions(Struct, frozen=True):
    include_usage: bool | None = None


Count = Annotated[int, Meta(ge=1)]


class ChatCompletionRequest(Struct, frozen=True):
    """The request body of `/v1/chat/completions`. Unknown fields are ignored, as compatible servers do."""

    model: str
    messages: Annotated[list[_InputMessage], Meta(min_length=1)]
    stream: bool | None = None
    stream_options: _StreamOptions | None = None
    temperature: Annotated[float, Meta(ge=0, le=2)] | None = None
    top_p: Annotated[float, Meta(ge=0, le=1)] | None = None
    max_tokens: Count | None = None
    max_completion_tokens: Count | None = None
    seed: int | None = None
    stop: str | list[str] | None = None
    tools: list[_Tool] | None = None
    tool_choice: str | _ToolChoiceParam | None = None
    response_format: _Format | None = None
    n: int | None = None
    logprobs: bool | None = None
    functions: Any = None
    function_call: Any = None
    audio: Any = None
    modalities: list[str] | None = None


class ChatResponseMessage(Struct, frozen=True):
    """The message of an answer: text, and calls of the client's tools."""

    role: Literal["assistant"]
    content: str | None
    tool_calls: list[dict[str, Any]] = []


class ChatChoice(Struct, frozen=True):
    """An answer, and why it ended."""

    index: int
    message: ChatResponseMessage
    finish_reason: Literal["stop", "tool_calls", "length", "content_filter"]


class ChatUsage(Struct, frozen=True):
    """The usage of an answer, in tokens."""

    prompt_tokens: int
    completion_tokens: int
    total_tokens: int


class ChatCompletion(Struct, frozen=True):
    """A chat completion. There is one choice."""

    id: str
    object: Literal["chat.completion"]
    created: int
    model: str
    choices: list[ChatChoice]
    usage: ChatUsage


async def create_completion(request: Request, body: ChatCompletionRequest, desk: TurnManager) -> Response:
    """Answer a chat completion request."""
    with_usage = body.stream_options is not None and bool(body.stream_options.include_usage)

    def begin(answer_id: str) -> OpenAIWriter:
        return OpenAIWriter(answer_id, body.model, with_usage=with_usage)

    asked = await asyncio.to_thread(parse_completion_request, body)  # images in it are scaled down
    return await respond(request, desk, asked, begin, stream=bool(body.stream))


def parse_completion_request(body: ChatCompletionRequest) -> CompatTurnRequest:
    """Parse the request body into a turn."""
    _reject_unsupported(body)
    tools = check_unique_tools([_tool_spec(tool, f"tools[{number}]") for number, tool in enumerate(body.tools or ())])
    brought = MediaCollector()
    said = [_to_message(each, f"messages[{at}]", brought) for at, each in enumerate(body.messages) if not _is_instruction(each)]
    return CompatTurnRequest(
        model=body.model,
        messages=check_conversation(said),
        instructions="\n\n".join(
            [read_message_text(said.content, f"messages[{at}]") for at, said in enumerate(body.messages) if _is_instruction(said)]
        ),
        tools=tools,
        choice=_tool_choice(body.tool_choice, tools),
        options=_to_options(body),
        shape=_output_schema(body.response_format),
        wire="openai",
        media=brought.bytes,
    )


def _reject_unsupported(body: ChatCompletionRequest) -> None:
    if body.n is not None and body.n != 1:
        raise CompatError(400, "There is one answer to a request: `n` has to be 1.", "n")
    speaks = [each for each in body.modalities or () if each != "text"]
    reject_unsupported(
        logprobs=body.logprobs, functions=body.functions, function_call=body.function_call, audio=body.audio, modalities=speaks
    )


def _is_instruction(said: _InputMessage) -> bool:
    return said.role in ("system", "developer")


def _to_message(said: _InputMessage, param: str, brought: MediaCollector) -> Message:
    match said.role:
        case "user":
            return read_user_message(said.content, param, brought)
        case "assistant":
            return _to_reply(said, param)
        case "tool":
            return Message("tools", (Result(said.tool_call_id, "", read_message_text(said.content, param)),))
        case _:
            raise CompatError(400, f"There is no role {said.role[:40]!r} here.", f"{param}.role")


def _to_reply(said: _InputMessage, param: str) -> Message:
    if said.function_call:
        raise CompatError(400, "function_call can't be read here; use tool_calls.", f"{param}.function_call")
    text = read_message_text(said.content, param)
    words: tuple[Part, ...] = (Text(text),) if text else ()
    calls = [Call(each.id, each.function.name, parse_call_arguments(each.function.arguments)) for each in said.tool_calls or ()]
    return Message("model", (*words, *calls))


def _tool_spec(tool: _Tool, param: str) -> ToolSpec:
    if tool.type != "function" or tool.function is None:
        raise CompatError(400, f"A tool has to be a function, not {tool.type[:40]!r}.", f"{param}.type")
    given = tool.function
    return read_client_tool(given.name, given.description, given.parameters, f"{param}.function")


def _tool_choice(given: str | _ToolChoiceParam | None, tools: tuple[ToolSpec, ...]) -> ToolChoice | None:
    names = [spec.name for spec in tools]
    if given is None or isinstance(given, str):
        return read_tool_choice(names, _TOOL_CHOICES.get(given or "auto", given or ""), "")
    return read_tool_choice(names, "tool" if given.type == "function" else f"of the type {given.type}", given.function.name)


def _to_options(body: ChatCompletionRequest) -> Options:
    stops = [body.stop] if isinstance(body.stop, str) else body.stop or []
    if len(stops) > MAX_STOPS:
        raise CompatError(400, f"There may be {MAX_STOPS} stop sequences at most.", "stop")
    most = body.max_completion_tokens or body.max_tokens
    return Options(body.temperature, most, body.top_p, body.seed, tuple([stop for stop in stops if stop]))


def _output_schema(given: _Format | None) -> dict[str, object] | None:
    match given.type if given is not None else "text":
        case "text":
            return None
        case "json_object":
            return {"type": "object"}
        case "json_schema" if given is not None:
            return check_output_schema(given.json_schema.schema, "response_format.json_schema.schema")
        case other:
            raise CompatError(400, f"There is no response format {other[:40]!r}.", "response_format")


# How an answer is written


class OpenAIWriter:
    """Writes one answer in OpenAI's format."""

    beat = b": still here\n\n"

    def __init__(self, answer_id: str, model: str, *, with_usage: bool) -> None:
        self._id = f"chatcmpl-{answer_id}"
        self._model = model
        self._with_usage = with_usage
        self._created = int(time.time())
        self._begun = False

    def whole(self, answer: CompatAnswer) -> dict[str, Any]:
        """Return the answer as one response body."""
        message: dict[str, Any] = {"role": "assistant", "content": answer.text or None, "refusal": None}
        if answer.calls:
            message["tool_calls"] = [_call_to_json(call) for call in answer.calls]
        choice = {"index": 0, "message": message, "logprobs": None, "finish_reason": _FINISH[answer.finish]}
        return {**self._envelope("chat.completion"), "choices": [choice], "usage": _usage_to_json(answer)}

    def words(self, text: str) -> bytes:
        """Return the chunk of a piece of text."""
        return self._chunk({"content": text})

    def write_end(self, answer: CompatAnswer) -> bytes:
        """Return the final chunks: calls, finish reason, and usage."""
        calls = [{"index": number, **_call_to_json(call)} for number, call in enumerate(answer.calls)]
        chunks = [self._chunk({"tool_calls": calls})] if calls else []
        chunks.append(self._chunk({}, _FINISH[answer.finish]))
        if self._with_usage:
            chunks.append(format_event({**self._envelope("chat.completion.chunk"), "choices": [], "usage": _usage_to_json(answer)}))
        return b"".join([*chunks, format_event(b"[DONE]")])

    def write_error(self, refused: CompatError) -> bytes:
        """Return the event of an error, which ends the stream."""
        return format_event(openai_error(refused))

    def _chunk(self, delta: dict[str, Any], finish: str | None = None) -> bytes:
        if not self._begun:
            self._begun = True
            delta = {"role": "assistant", "content": "", **delta}
        choice = {"index": 0, "delta": delta, "logprobs": None, "finish_reason": finish}
        more = {"usage": None} if self._with_usage else {}
        return format_event({**self._envelope("chat.completion.chunk"), "choices": [choice], **more})

    def _envelope(self, kind: str) -> dict[str, Any]:
        return {"id": self._id, "object": kind, "created": self._created, "model": self._model}


def _call_to_json(call: ClientCall) -> dict[str, Any]:
    return {"id": f"call_{call.path}", "type": "function", "function": {"name": call.name, "arguments": to_text(call.arguments)}}


def _usage_to_json(answer: CompatAnswer) -> dict[str, Any]:
    used = answer.usage
    return {
        "prompt_tokens": used.input_tokens,
        "completion_tokens": used.output_tokens,
        "total_tokens": used.total_tokens,
        "prompt_tokens_details": {"cached_tokens": used.cache_read_tokens},
    }
