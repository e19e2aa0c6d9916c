"""OpenAI's chat completions, spoken by us: what is asked, and how an answer is written. What happens in between is the `desk`'s."""

import asyncio
import time
from typing import Annotated, Any, Literal

from msgspec import Meta, Struct
from starlette.requests import Request
from starlette.responses import Response

from treadle.core.calls import Call, Result
from treadle.core.messages import Message, Part, Text
from treadle.core.requests import Options, ToolSpec
from treadle.server.wires.answer import Answer, Finish, Handover
from treadle.server.wires.asked import Asked, Choice, conversation
from treadle.server.wires.desk import Desk
from treadle.server.wires.media import Block, Brought
from treadle.server.wires.reading import arguments_of, choice_of, distinct, person_of, tool_of, unable, words_of
from treadle.server.wires.refused import Refused, openai_error
from treadle.server.wires.shape import shape_of
from treadle.server.wires.streaming import answered, event
from treadle.tools.text import to_text

MOST_STOPS = 4

_FINISH: dict[Finish, str] = {"stop": "stop", "calls": "tool_calls", "length": "length", "filtered": "content_filter"}
_WANTED = {"auto": "auto", "none": "none", "required": "any"}


# What is asked


class _Function(Struct, frozen=True):
    name: str
    arguments: str = "{}"


class _Call(Struct, frozen=True):
    id: str
    function: _Function


class _Said(Struct, frozen=True):
    role: str
    content: str | list[Block] | None = None
    tool_calls: list[_Call] | None = None
    tool_call_id: str = ""
    function_call: Any = None


class _Described(Struct, frozen=True):
    name: str
    description: str | None = None
    parameters: dict[str, Any] | None = None


class _Tool(Struct, frozen=True):
    type: str = "function"
    function: _Described | None = None


class _Named(Struct, frozen=True):
    name: str = ""


class _Choice(Struct, frozen=True):
    type: str = ""
    function: _Named = _Named()


class _Schema(Struct, frozen=True):
    schema: dict[str, Any] = {}


class _Format(Struct, frozen=True):
    type: str = "text"
    json_schema: _Schema = _Schema()


class _StreamOptions(Struct, frozen=True):
    include_usage: bool | None = None


Count = Annotated[int, Meta(ge=1)]


class Completion(Struct, frozen=True):
    """What is posted to `/v1/chat/completions`. Whatever else is in it is ignored, as compatible servers do."""

    model: str
    messages: Annotated[list[_Said], Meta(min_length=1)]
    stream: bool | None = None
    stream_options: _StreamOptions | None = None
    temperature: Annotated[float, Meta(ge=0, le=2)] | None = None
    top_p: Annotated[float, Meta(ge=0, le=1)] | None = None
    max_tokens: Count | None = None
    max_completion_tokens: Count | None = None
    seed: int | None = None
    stop: str | list[str] | None = None
    tools: list[_Tool] | None = None
    tool_choice: str | _Choice | None = None
    response_format: _Format | None = None
    n: int | None = None
    logprobs: bool | None = None
    functions: Any = None
    function_call: Any = None
    audio: Any = None
    modalities: list[str] | None = None


class ChatSpoken(Struct, frozen=True):
    """What is said in an answer, and the caller's tools that are to be called."""

    role: Literal["assistant"]
    content: str | None
    tool_calls: list[dict[str, Any]] = []


class ChatChoice(Struct, frozen=True):
    """An answer, and why it ended."""

    index: int
    message: ChatSpoken
    finish_reason: Literal["stop", "tool_calls", "length", "content_filter"]


class ChatUsage(Struct, frozen=True):
    """What an answer used, in tokens."""

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


async def completions(request: Request, body: Completion, desk: Desk) -> Response:
    """Answer a chat completion."""
    with_usage = body.stream_options is not None and bool(body.stream_options.include_usage)

    def begin(answer_id: str) -> Chat:
        return Chat(answer_id, body.model, with_usage=with_usage)

    asked = await asyncio.to_thread(asked_by, body)  # images in it are scaled down
    return await answered(request, desk, asked, begin, stream=bool(body.stream))


def asked_by(body: Completion) -> Asked:
    """The turn that is asked for."""
    _check(body)
    tools = distinct([_spec(tool, f"tools[{number}]") for number, tool in enumerate(body.tools or ())])
    brought = Brought()
    said = [_message(each, f"messages[{at}]", brought) for at, each in enumerate(body.messages) if not _is_told(each)]
    return Asked(
        model=body.model,
        messages=conversation(said),
        instructions="\n\n".join(
            [words_of(said.content, f"messages[{at}]") for at, said in enumerate(body.messages) if _is_told(said)]
        ),
        tools=tools,
        choice=_choice(body.tool_choice, tools),
        options=_options(body),
        shape=_shape(body.response_format),
        wire="openai",
        media=brought.bytes,
    )


def _check(body: Completion) -> None:
    if body.n is not None and body.n != 1:
        raise Refused(400, "There is one answer to a request: `n` has to be 1.", "n")
    speaks = [each for each in body.modalities or () if each != "text"]
    unable(logprobs=body.logprobs, functions=body.functions, function_call=body.function_call, audio=body.audio, modalities=speaks)


def _is_told(said: _Said) -> bool:
    return said.role in ("system", "developer")


def _message(said: _Said, param: str, brought: Brought) -> Message:
    match said.role:
        case "user":
            return person_of(said.content, param, brought)
        case "assistant":
            return _reply(said, param)
        case "tool":
            return Message("tools", (Result(said.tool_call_id, "", words_of(said.content, param)),))
        case _:
            raise Refused(400, f"There is no role {said.role[:40]!r} here.", f"{param}.role")


def _reply(said: _Said, param: str) -> Message:
    if said.function_call:
        raise Refused(400, "function_call can't be read here; use tool_calls.", f"{param}.function_call")
    text = words_of(said.content, param)
    words: tuple[Part, ...] = (Text(text),) if text else ()
    calls = [Call(each.id, each.function.name, arguments_of(each.function.arguments)) for each in said.tool_calls or ()]
    return Message("model", (*words, *calls))


def _spec(tool: _Tool, param: str) -> ToolSpec:
    if tool.type != "function" or tool.function is None:
        raise Refused(400, f"A tool has to be a function, not {tool.type[:40]!r}.", f"{param}.type")
    given = tool.function
    return tool_of(given.name, given.description, given.parameters, f"{param}.function")


def _choice(given: str | _Choice | None, tools: tuple[ToolSpec, ...]) -> Choice | None:
    names = [spec.name for spec in tools]
    if given is None or isinstance(given, str):
        return choice_of(names, _WANTED.get(given or "auto", given or ""), "")
    return choice_of(names, "tool" if given.type == "function" else f"of the type {given.type}", given.function.name)


def _options(body: Completion) -> Options:
    stops = [body.stop] if isinstance(body.stop, str) else body.stop or []
    if len(stops) > MOST_STOPS:
        raise Refused(400, f"There may be {MOST_STOPS} stop sequences at most.", "stop")
    most = body.max_completion_tokens or body.max_tokens
    return Options(body.temperature, most, body.top_p, body.seed, tuple([stop for stop in stops if stop]))


def _shape(given: _Format | None) -> dict[str, object] | None:
    match given.type if given is not None else "text":
        case "text":
            return None
        case "json_object":
            return {"type": "object"}
        case "json_schema" if given is not None:
            return shape_of(given.json_schema.schema, "response_format.json_schema.schema")
        case other:
            raise Refused(400, f"There is no response format {other[:40]!r}.", "response_format")


# How an answer is written


class Chat:
    """One answer, as OpenAI writes it."""

    beat = b": still here\n\n"

    def __init__(self, answer_id: str, model: str, *, with_usage: bool) -> None:
        self._id = f"chatcmpl-{answer_id}"
        self._model = model
        self._with_usage = with_usage
        self._created = int(time.time())
        self._begun = False

    def whole(self, answer: Answer) -> dict[str, Any]:
        """The answer in one."""
        message: dict[str, Any] = {"role": "assistant", "content": answer.text or None, "refusal": None}
        if answer.calls:
            message["tool_calls"] = [_told(call) for call in answer.calls]
        choice = {"index": 0, "message": message, "logprobs": None, "finish_reason": _FINISH[answer.finish]}
        return {**self._head("chat.completion"), "choices": [choice], "usage": _usage(answer)}

    def words(self, text: str) -> bytes:
        """A piece of what is said."""
        return self._chunk({"content": text})

    def ended(self, answer: Answer) -> bytes:
        """Calls, why it is over, and what it used."""
        calls = [{"index": number, **_told(call)} for number, call in enumerate(answer.calls)]
        chunks = [self._chunk({"tool_calls": calls})] if calls else []
        chunks.append(self._chunk({}, _FINISH[answer.finish]))
        if self._with_usage:
            chunks.append(event({**self._head("chat.completion.chunk"), "choices": [], "usage": _usage(answer)}))
        return b"".join([*chunks, event(b"[DONE]")])

    def failed(self, refused: Refused) -> bytes:
        """That there will be no more."""
        return event(openai_error(refused))

    def _chunk(self, delta: dict[str, Any], finish: str | None = None) -> bytes:
        if not self._begun:
            self._begun = True
            delta = {"role": "assistant", "content": "", **delta}
        choice = {"index": 0, "delta": delta, "logprobs": None, "finish_reason": finish}
        more = {"usage": None} if self._with_usage else {}
        return event({**self._head("chat.completion.chunk"), "choices": [choice], **more})

    def _head(self, kind: str) -> dict[str, Any]:
        return {"id": self._id, "object": kind, "created": self._created, "model": self._model}


def _told(call: Handover) -> dict[str, Any]:
    return {"id": f"call_{call.path}", "type": "function", "function": {"name": call.name, "arguments": to_text(call.arguments)}}


def _usage(answer: Answer) -> dict[str, Any]:
    used = answer.usage
    return {
        "prompt_tokens": used.input_tokens,
        "completion_tokens": used.output_tokens,
        "total_tokens": used.total_tokens,
        "prompt_tokens_details": {"cached_tokens": used.cache_read_tokens},
    }
