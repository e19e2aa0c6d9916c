"""Models on OpenAI's chat completions API: the public endpoint and the many compatible servers.

Servers differ in how they number, name and end calls, and in what they want sent back. What is known of a server comes in as
`Quirks`, what is known of a model as a `Profile`. The engine decides which tools there are and whether a request is repeated.
"""

import hashlib
import os
import re
from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any, assert_never, cast
from urllib.parse import urlsplit

from msgspec import DecodeError, Raw, Struct
from msgspec.structs import replace

from treadle.core.calls import Call, Media, Opaque, Result, Written
from treadle.core.errors import MissingKey
from treadle.core.messages import Message, Text, Thinking, text_of
from treadle.core.requests import (
    CallDelta,
    CallDone,
    Delta,
    Finish,
    Options,
    Progress,
    ReplyEnded,
    Request,
    TextDelta,
    ThinkingDelta,
    ToolSpec,
    Traits,
    Usage,
)
from treadle.models.connections import DEFAULT_TIMEOUTS, Timeouts
from treadle.models.encoding import (
    CachedEncoder,
    append_note,
    check_extra,
    drop_tools,
    encode,
    encode_fields,
    encode_functions,
    encode_string_body,
    ends_with_user,
    is_present,
    make_decoder,
    make_functions,
)
from treadle.models.http import ModelEndpoint
from treadle.models.media import MediaLoader, narrow_modalities
from treadle.models.profiles import Profile, profile_of
from treadle.models.providers import Quirks
from treadle.models.repairs import REASONING, repair_memory
from treadle.models.schemas import to_strict_schema
from treadle.models.server_errors import (
    ServerIdentity,
    broken_reply_error,
    describe_absence,
    error_from_object,
    unreadable_reply_error,
)
from treadle.models.stream_splitters import SseSplitter
from treadle.models.wires.chat_media import MODALITIES, encode_chat_content, encode_result_media
from treadle.models.wires.logprobs import TokenLogprob, first_token_logprobs
from treadle.models.wires.opaque import ReasoningDetails, encode_inner_fields, merge_inner_fields
from treadle.models.wires.partial_calls import CallIds, PartialCall, is_object
from treadle.models.wires.tool_names import encode_tool_name

OPENAI_URL = "https://api.openai.com/v1"
_PATH = "/chat/completions"


def from_name(name: str, **settings: Any) -> "OpenAI":
    """Return the model behind `openai:NAME`."""
    return OpenAI(name, **settings)


class OpenAI:
    """A model on the chat completions wire. Missing settings come from OPENAI_API_KEY and OPENAI_BASE_URL."""

    def __init__(
        self,
        name: str,
        *,
        base_url: str | None = None,
        api_key: str | None = None,
        stream: bool = True,
        context: int | None = None,
        headers: Mapping[str, str] | None = None,
        timeouts: Timeouts = DEFAULT_TIMEOUTS,
        kind: str = "openai",
        quirks: Quirks | None = None,
        profile: Profile | None = None,
        path: str = _PATH,
        key_variable: str = "OPENAI_API_KEY",
    ) -> None:
        self.name = f"{kind}:{name}"
        profile = profile or profile_of(kind, name)
        self.traits = Traits(
            context=context or profile.context,
            streams=stream,
            reasons=profile.reasons,
            modalities=_find_modalities(quirks or Quirks(), profile),
            structured_output=profile.structured or ("without_tools" if quirks is not None and quirks.holds else "no"),
        )
        base_url = (base_url or os.environ.get("OPENAI_BASE_URL") or OPENAI_URL).rstrip("/")
        key = (api_key or os.environ.get("OPENAI_API_KEY") or "").strip()
        self._public = base_url == OPENAI_URL
        if self._public and not key:
            raise MissingKey(
                f"{self.name} needs a key: set OPENAI_API_KEY. For a server of your own, set OPENAI_BASE_URL or base_url."
            )
        self._model = name
        self._stream = stream
        self._path = path
        self._profile = profile
        self._quirks = quirks or Quirks(limit="max_completion_tokens" if self._public else "max_tokens", cache_key=self._public)
        anybody = kind == "openai" and not self._public  # a server that only looks like OpenAI's
        self._wire = f"chat/{urlsplit(base_url).netloc if anybody else kind}"
        self._encoder = ChatEncoder(self._wire, self._quirks)
        self._server = _make_server(self.name, base_url, key, key_variable)
        self.address = self._server.address
        authorization = {"authorization": f"Bearer {key}"} if key else {}
        self._endpoint = ModelEndpoint(self._server, headers={**authorization, **(headers or {})}, timeouts=timeouts)
        self._settings = CachedEncoder(partial(self._encode_options, tools=False))
        self._settings_with_tools = CachedEncoder(partial(self._encode_options, tools=True))
        self._tools = CachedEncoder(encode_functions)
        self._instructions = CachedEncoder(_encode_instructions)
        self._shape = CachedEncoder(_encode_schema)
        self._begun: tuple[str, tuple[ToolSpec, ...], Options, dict[str, Any] | None, bytes] | None = None

    def reply(self, request: Request) -> AsyncIterator[Delta]:
        """Stream the reply."""
        reading = ChatReply(self._server, CallIds(len(request.history)), self._wire, request.progress)
        splitter = SseSplitter() if self._stream else None
        return self._endpoint.reply(
            self._path,
            self._body(request),
            reading,
            splitter,
            request.options.headers,
            lambda: self._body(request),
            progress=request.progress,
        )

    def _body(self, request: Request) -> bytes:
        beginning, history = self._encode_beginning(request), self._get_encoder().history(request)
        return b"%b%b%b]}" % (beginning, b"," if history and request.instructions else b"", history)

    def _encode_beginning(self, request: Request) -> bytes:
        """Encode everything before the conversation, instructions included: all requests of a run have the same objects there."""
        instructions, tools, options, shape = request.instructions, request.tools, request.options, request.shape
        last = self._begun
        if last is not None and last[0] is instructions and last[1] is tools and last[2] is options and last[3] is shape:
            return last[4]
        check_extra(options.extra, "messages", *(("response_format",) if shape is not None else ()))
        settings = (self._settings_with_tools if tools else self._settings)(options)
        schema = self._shape(shape) if shape is not None else b""
        system = self._instructions(instructions) if instructions else b""
        beginning = b'{%b%b%b,"messages":[%b' % (settings, self._encode_tools(request), schema, system)
        self._begun = instructions, tools, options, shape, beginning
        return beginning

    def _encode_tools(self, request: Request) -> bytes:
        """Encode functions, and the server's own tools from the options."""
        own = request.options.extra.get("tools")
        if not own:
            return self._tools(request.tools) if request.tools else b""
        return b',"tools":%b' % encode([*make_functions(request.tools), *own])

    def _get_encoder(self) -> "ChatEncoder":
        """Return the encoder; once the server has asked for it, one that sends reasoning back."""
        if not self._quirks.reasoning and REASONING in repair_memory.of(self.name, self.address):
            self._quirks = replace(self._quirks, reasoning="reasoning_content")
            self._encoder = ChatEncoder(self._wire, self._quirks)
        return self._encoder

    def _encode_options(self, options: Options, *, tools: bool) -> bytes:
        quirks, samples = self._quirks, self._profile.samples
        values: dict[str, Any] = {
            "model": self._model,
            "stream": self._stream,
            "stream_options": {"include_usage": True} if self._stream and quirks.stream_usage else None,
            "temperature": options.temperature if samples else None,
            quirks.limit: options.max_tokens,
            "top_p": options.top_p if samples else None,
            "stop": options.stop or None,
            "tool_choice": _tool_choice_field(options.tool_choice) if tools else None,
            "parallel_tool_calls": options.parallel_calls if tools else None,
            "service_tier": options.service_tier,
            "prompt_cache_key": options.cache_key if quirks.cache_key else None,
        }
        if quirks.seed:
            values[quirks.seed] = options.seed
        if quirks.effort and options.reasoning is not None:
            values[quirks.effort] = {"effort": options.reasoning} if quirks.effort == "reasoning" else options.reasoning
        return encode_fields({**values, **drop_tools(options.extra), "stream": self._stream})


def _tool_choice_field(choice: str | None) -> str | dict[str, Any] | None:
    if choice is None or choice in ("auto", "required", "none"):
        return choice
    return {"type": "function", "function": {"name": choice}}


def _find_modalities(quirks: Quirks, profile: Profile) -> frozenset[str]:
    """Return the media to send. A server that takes the addresses of documents reads them itself, for every model."""
    known = profile.modalities
    return narrow_modalities(
        narrow_modalities(MODALITIES, quirks.media), known | {"document"} if known is not None and quirks.plain_media else known
    )


def _make_server(model: str, base_url: str, key: str, key_variable: str) -> ServerIdentity:
    remedy = "is the network up?" if base_url == OPENAI_URL else "is it running, and is base_url right?"
    secrets = (key,) if key else ()
    return ServerIdentity(
        model, base_url, key_variable=key_variable, remedy=remedy, absent=describe_absence(base_url), secrets=secrets
    )


# What is sent


def _encode_schema(shape: dict[str, Any]) -> bytes:
    """Encode the field that constrains a reply to a schema, with the comma before it."""
    strict = to_strict_schema(shape)
    form = {"name": "reply", "schema": strict or shape, **({} if strict is None else {"strict": True})}
    return b',"response_format":%b' % encode({"type": "json_schema", "json_schema": form})


def _encode_instructions(instructions: str) -> bytes:
    return b'{"role":"system","content":%b}' % encode(instructions)


_NINE = re.compile(r"[a-zA-Z0-9]{9}")
_BETWEEN = b'{"role":"assistant","content":"OK."}'


class ChatEncoder:
    """Encodes messages for one server: with the ids, the reasoning and the provider's own data that it wants back."""

    def __init__(self, wire: str = "chat/openai", quirks: Quirks = Quirks()) -> None:  # noqa: B008 - frozen
        self._wire = wire
        self._quirks = quirks
        self._form = f"{wire} {quirks.reasoning}"  # of the encoded history

    def history(self, request: Request) -> bytes:
        """Encode all messages of a request, with its note at the end."""
        if not self._quirks.strict_roles:
            encode_once = self.message if request.blobs is None else partial(self.message, blobs=request.blobs)
            encoded = request.history.encode(self._form, encode_once)
            return append_note(request, encoded) if request.note else encoded
        encoded = self._encode_strict_roles(request.history, request.blobs)
        if request.note and request.history and request.history[-1].role == "tools" and not ends_with_user(request.history[-1]):
            return (
                encoded[:-2] + encode_string_body(f"\n\n[{request.note}]") + b'"}'
            )  # into the last result, before its closing quote
        return append_note(request, encoded)

    def _encode_strict_roles(self, history: Sequence[Message], blobs: MediaLoader | None) -> bytes:
        """Encode messages for a server that accepts no user message directly after results: a model message goes in between."""
        parts: list[bytes] = []
        before = ""
        for message in history:
            if before == "tools" and message.role == "person":
                parts.append(_BETWEEN)
            if message.role == "tools" and ends_with_user(message):
                parts += [
                    self._encode_results(message),
                    _BETWEEN,
                    encode_result_media(message, blobs, plain=self._quirks.plain_media),
                ]
            else:
                parts.append(self.message(message, blobs))
            before = message.role
        return b",".join([part for part in parts if part])

    def message(self, message: Message, blobs: MediaLoader | None = None) -> bytes:
        """Encode one message; results become one message each. Empty for a model's message without text and calls."""
        match message.role:
            case "person":
                has_media = any(isinstance(part, Media) for part in message.parts)
                content = (
                    encode_chat_content(message.parts, blobs, plain=self._quirks.plain_media)
                    if has_media
                    else encode(text_of(message.parts))
                )
                return b'{"role":"user","content":%b}' % content
            case "model":
                return self._encode_reply(message)
            case "tools":
                results, media = self._encode_results(message), encode_result_media(message, blobs, plain=self._quirks.plain_media)
                return b"%b,%b" % (results, media) if results and media else results or media
            case _:
                assert_never(message.role)

    def _encode_results(self, message: Message) -> bytes:
        first, *more = message.parts
        if not more and isinstance(first, Result):  # as in most rounds
            return self._encode_result(first)
        return b",".join([self._encode_result(part) for part in message.parts if isinstance(part, Result)])

    def _encode_reply(self, message: Message) -> bytes:
        texts: list[str] = []
        calls: list[bytes] = []
        data: list[str] = []
        for part in message.parts:
            if isinstance(part, Call):
                calls.append(self._call(part))
            elif isinstance(part, Text):
                texts.append(part.text)
            elif isinstance(part, Opaque) and part.wire == self._wire:
                data.append(part.json)
        text, own = "".join(texts), merge_inner_fields(data) if data else b""
        if calls:
            reasoning = self._encode_reasoning(message) if self._quirks.reasoning else b""
            content = encode(text or None)
            return b'{"role":"assistant","content":%b%b%b,"tool_calls":[%b]}' % (content, reasoning, own, b",".join(calls))
        return b'{"role":"assistant","content":%b%b}' % (encode(text), own) if text else b""

    def _encode_reasoning(self, message: Message) -> bytes:
        thought = "".join([part.text for part in message.parts if isinstance(part, Thinking)])
        return b',"%b":%b' % (self._quirks.reasoning.encode(), encode(thought))

    def _call(self, call: Call) -> bytes:
        named = encode_tool_name(call.name), encode(encode(call.arguments).decode())
        function = b'{"name":%b,"arguments":%b}' % named
        own = encode_inner_fields(call.opaque.json) if call.opaque is not None and call.opaque.wire == self._wire else b""
        return b'{"id":%b,"type":"function","function":%b%b}' % (encode(self._call_id(call.id)), function, own)

    def _encode_result(self, result: Result) -> bytes:
        return b'{"role":"tool","tool_call_id":%b,"content":%b}' % (encode(self._call_id(result.call_id)), encode(result.content))

    def _call_id(self, call_id: str) -> str:
        return shorten_call_id(call_id) if self._quirks.short_ids else call_id


def shorten_call_id(call_id: str) -> str:
    """Return an id of nine letters or digits. The same id always gives the same one."""
    return call_id if _NINE.fullmatch(call_id) else hashlib.sha256(call_id.encode()).hexdigest()[:9]


encode_message = ChatEncoder().message


# What comes back


class _Function(Struct):
    name: str | None = None
    arguments: str | dict[str, Any] | None = None


class _CallPiece(Struct):
    index: int | None = None
    id: str | None = None
    function: _Function | None = None
    extra_content: Raw = Raw()


class _Message(Struct):
    content: str | list[dict[str, Any]] | None = None
    reasoning_content: str | None = None
    reasoning: str | None = None
    reasoning_text: str | None = None
    refusal: str | None = None
    tool_calls: list[_CallPiece] | None = None
    function_call: _Function | None = None
    reasoning_details: list[dict[str, Any]] | None = None
    extra_content: Raw = Raw()


class _Logprobs(Struct):
    content: list[TokenLogprob] | None = None


class _Details(Struct):
    cached_tokens: int | None = None
    cache_write_tokens: int | None = None


class _Usage(Struct):
    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    prompt_tokens_details: _Details | None = None
    cached_tokens: int | None = None  # Moonshot
    prompt_cache_hit_tokens: int | None = None  # DeepSeek


class _Groq(Struct):
    usage: _Usage | None = None


class _Choice(Struct):
    delta: _Message | None = None
    message: _Message | None = None
    finish_reason: str | None = None
    logprobs: _Logprobs | None = None
    usage: _Usage | None = None  # Moonshot
    error: Any = None  # OpenRouter


class PromptProgress(Struct):
    """How far llama.cpp is with the prompt, in tokens; those in its `cache` aren't read again."""

    total: int = 0
    cache: int = 0
    processed: int = 0

    def to_progress(self) -> Progress:
        """Return it without what needn't be read."""
        return Progress("reading", self.processed - self.cache, self.total - self.cache)


class _Chunk(Struct):
    choices: list[_Choice] | None = None
    usage: _Usage | None = None
    error: Any = None
    object: str | None = None
    message: Any = None
    code: Any = None
    type: Any = None
    model: Any = None
    x_groq: _Groq | None = None
    prompt_progress: PromptProgress | None = None


_decode = make_decoder(_Chunk)

# By the reason in lower case; some servers hand on what the model behind them said, such as `content_filter: SAFETY`.
_FINISH: dict[str, Finish] = {
    "length": "length",
    "max_tokens": "length",
    "model_length": "length",
    "content_filter": "filtered",
    "safety": "filtered",
    "recitation": "filtered",
    "blocklist": "filtered",
    "prohibited_content": "filtered",
    "spii": "filtered",
    "refusal": "filtered",
}
_FAILED = frozenset(("error", "insufficient_system_resource", "function_call_filter", "malformed_function_call"))
_NO_FUNCTION = _Function()


class ChatReply:
    """Reads one reply: deltas from the payloads of a stream, or from a complete body."""

    ended = False
    _reason: str | None = None
    _counts: _Usage | None = None
    _called = False
    _model: Any = None  # as the server calls it
    _last: PartialCall | None = None
    _details: ReasoningDetails | None = None  # if there are any

    def __init__(
        self, server: ServerIdentity, ids: CallIds, wire: str = "chat/openai", report: Callable[[Progress], None] | None = None
    ) -> None:
        self._server = server
        self._ids = ids
        self._wire = wire
        self._report = report
        self._chances: dict[str, float] = {}
        self._open: list[PartialCall] = []  # in the order they began, which is the order they are handed on
        self._by_index: dict[int, PartialCall] = {}

    @property
    def finished(self) -> bool:
        """Whether the model has stated why it stopped."""
        return self._reason is not None

    @property
    def usage(self) -> Usage:
        """Token counts so far."""
        counts = self._counts
        if counts is None:
            return Usage(requests=1)
        details = counts.prompt_tokens_details
        return Usage(
            requests=1,
            input_tokens=counts.prompt_tokens or 0,
            output_tokens=counts.completion_tokens or 0,
            cache_read_tokens=(details and details.cached_tokens) or counts.cached_tokens or counts.prompt_cache_hit_tokens or 0,
            cache_write_tokens=(details and details.cache_write_tokens) or 0,
        )

    def read(self, payloads: Iterable[bytes]) -> Iterator[Delta]:
        """Return the deltas in some payloads of a stream."""
        for payload in payloads:
            if payload.startswith(b"[DONE]"):
                self.ended = True
                return
            chunk = self._chunk(payload)
            text = _text_only_chunk(chunk)
            if text is None:
                yield from self._heard(chunk)
            elif text:
                yield TextDelta(text)

    def whole(self, body: bytes) -> list[Delta]:
        """Return the deltas of a reply that wasn't streamed."""
        chunk = self._chunk(body)
        if not chunk.choices:
            raise unreadable_reply_error(self._server, body)
        self.ended = True
        message = chunk.choices[0].message
        if message is None:
            return self._last_deltas()
        calls, message.tool_calls = message.tool_calls or (), None
        if calls:
            message.function_call = None  # the same call in an older form
        deltas = self._heard(chunk)
        if self._details is not None:
            deltas += self._details.take()
        for piece in calls:
            deltas += self._read_complete_call(piece)
        deltas += self._last_deltas()
        return deltas

    def end(self) -> Iterator[Delta]:
        """Return the deltas left at the end of the stream."""
        if not self.ended and self._reason is None:
            raise broken_reply_error(self._server, "it ended without saying why")
        yield from self._last_deltas()

    def _last_deltas(self) -> list[Delta]:
        deltas: list[Delta] = self._close_calls() if self._open else []
        if self._details is not None:
            deltas += self._details.take()
        deltas.append(ReplyEnded(self._finish(), self.usage, self._server.model, self._chances, str(self._model or "")))
        return deltas

    def _chunk(self, payload: bytes) -> _Chunk:
        try:
            chunk = _decode(payload)
        except (DecodeError, UnicodeDecodeError, RecursionError) as error:
            raise unreadable_reply_error(self._server, payload) from error
        if chunk.error is not None or chunk.object == "error" or (chunk.choices is None and chunk.message is not None):
            flat = {"message": chunk.message, "code": chunk.code, "type": chunk.type}
            raise error_from_object(self._server, chunk.error or flat)
        return chunk

    def _heard(self, chunk: _Chunk) -> list[Delta]:
        deltas: list[Delta] = []
        self._model = chunk.model or self._model
        if chunk.prompt_progress is not None and self._report is not None:
            self._report(chunk.prompt_progress.to_progress())
        self._counts = chunk.usage or (chunk.x_groq and chunk.x_groq.usage) or self._counts
        if chunk.choices:
            choice = chunk.choices[0]
            self._counts = choice.usage or self._counts
            if choice.error is not None:
                raise error_from_object(self._server, choice.error)
            said = choice.delta or choice.message
            if choice.logprobs is not None and not self._chances:
                self._chances = first_token_logprobs(choice.logprobs.content)
            if said is not None:
                self._said(said, deltas)
            if choice.finish_reason:
                self._stop(choice.finish_reason)
                if self._open:
                    deltas += self._close_calls()
        return deltas

    def _said(self, said: _Message, deltas: list[Delta]) -> None:
        thought = said.reasoning_content or said.reasoning or said.reasoning_text
        if said.reasoning_details:
            thought = thought or "".join([str(detail.get("text") or "") for detail in said.reasoning_details])
            self._details = self._details or ReasoningDetails(self._wire)
            self._details.add(said.reasoning_details)
        if thought:
            deltas.append(ThinkingDelta(thought))
        if is_present(said.extra_content):
            deltas.append(_extra_content(self._wire, said.extra_content))
        content = said.content or said.refusal
        if content:
            deltas += (TextDelta(content),) if isinstance(content, str) else _part_deltas(content)
        if said.tool_calls:
            for piece in said.tool_calls:
                self._handle_call_piece(piece, deltas)
        elif said.function_call is not None:
            self._handle_call_piece(_CallPiece(function=said.function_call), deltas)

    def _handle_call_piece(self, piece: _CallPiece, deltas: list[Delta]) -> None:
        function = piece.function or _NO_FUNCTION
        text = _arguments_text(function)
        call = self._call(piece, function.name, text)
        if function.name and not call.name:
            deltas.append(call.set_name(function.name))
        call.add(text)
        if is_present(piece.extra_content):
            call.opaque = _extra_content(self._wire, piece.extra_content)
        while self._open and self._open[0].complete and self._open[0].name:
            if self._details is not None:
                deltas += self._details.take()
            deltas.append(self._finish_call(self._open.pop(0)))

    def _read_complete_call(self, piece: _CallPiece) -> tuple[Delta, Delta]:
        self._called = True
        function = piece.function or _NO_FUNCTION
        call_id, name, text = self._ids.unique(piece.id), function.name or "", _arguments_text(function)
        cut = self._is_cut and not is_object(text)
        extra = _extra_content(self._wire, piece.extra_content) if is_present(piece.extra_content) else None
        written = Written(call_id, name, text if text.strip() or cut else "{}", cut, extra)
        return CallDelta(call_id, name), CallDone(written)

    def _call(self, piece: _CallPiece, name: str | None, text: str) -> PartialCall:
        """Return the call that a piece belongs to: a known one, or a new one."""
        call = self._last if piece.index is None else self._by_index.get(piece.index)
        if call is None or _begins_another_call(call, piece, name, text):
            for earlier in self._open:
                earlier.settle()
            call = PartialCall(self._ids.unique(piece.id), piece.id or "")
            self._open.append(call)
            if piece.index is not None:
                self._by_index[piece.index] = call
        self._last = call
        return call

    def _close_calls(self) -> list[Delta]:
        calls, self._open = self._open, []
        details = self._details.take() if self._details is not None else ()
        return [*details, *[self._finish_call(call, cut=self._is_cut) for call in calls]]

    @property
    def _is_cut(self) -> bool:
        """Whether the reply ended before the model was done."""
        return self._reason is None or self._reason in _FINISH

    def _finish_call(self, call: PartialCall, *, cut: bool = False) -> CallDone:
        self._called = True
        return call.to_call(cut=cut)

    def _stop(self, reason: str) -> None:
        word = reason.partition(":")[0].lower()
        if word in _FAILED:
            raise error_from_object(self._server, {"code": 503, "message": f"the model stopped with {reason!r}"})
        self._reason = word

    def _finish(self) -> Finish:
        finish = _FINISH.get(self._reason or "", "done")
        return "calls" if self._called and finish == "done" else finish


def _text_only_chunk(chunk: _Chunk) -> str | None:
    """Return the text of a chunk that has nothing else in it. Most chunks are like that, so it pays to check for it first."""
    choices = chunk.choices
    if not choices or chunk.usage is not None or chunk.prompt_progress is not None:
        return None
    choice = choices[0]
    said = choice.delta
    if said is None or choice.finish_reason is not None or said.tool_calls is not None or said.function_call is not None:
        return None
    if choice.logprobs is not None or said.reasoning_details is not None or is_present(said.extra_content):
        return None
    plain = said.reasoning_content is None and said.reasoning is None and said.reasoning_text is None and said.refusal is None
    return said.content if plain and isinstance(said.content, str) else None


def _begins_another_call(call: PartialCall, piece: _CallPiece, name: str | None, text: str) -> bool:
    """Return whether a piece begins another call under a known index. Servers number and name calls in many odd ways."""
    if not name or (piece.id and piece.id == call.server_id):
        return False
    if piece.id and call.server_id:  # one index for all calls; without a name it is one of the servers that change ids as they go
        return True
    if piece.index is None:
        return call.complete or name != call.name or is_object(call.text)
    return call.complete and bool(text.strip())


def _extra_content(wire: str, content: Raw) -> Opaque:
    """Return what a server wants back with a call or a message, such as a thought signature."""
    return Opaque(wire, f'{{"extra_content":{bytes(content).decode()}}}')


def _arguments_text(function: _Function) -> str:
    arguments = function.arguments or ""
    return arguments if isinstance(arguments, str) else encode(arguments).decode()


def _part_deltas(content: list[dict[str, Any]]) -> Iterator[Delta]:
    """Yield text and thinking from content that is a list of parts."""
    for part in content:
        text, thought = part.get("text"), part.get("thinking")
        if isinstance(thought, list):
            thought = "".join([str(piece.get("text", "")) for piece in cast("list[dict[str, Any]]", thought)])
        if isinstance(text, str) and text:
            yield TextDelta(text)
        if isinstance(thought, str) and thought:
            yield ThinkingDelta(thought)
