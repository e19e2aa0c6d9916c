"""Models on Anthropic's Messages API.

What stays the same in the next request is marked for caching: the tools, the instructions, and the history so far. Thinking
is sent back as it came, with its signature. This API has no field for the `seed` option.
"""

import os
from collections.abc import AsyncIterator, Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any, assert_never

from msgspec import DecodeError, Raw, Struct
from msgspec.json import decode as decode_json

from treadle.core.calls import Call, Media, Opaque, Result, Written
from treadle.core.errors import MissingKey
from treadle.core.messages import Message, Part, Quote, Summary, Text, Thinking
from treadle.core.requests import (
    CallDelta,
    CallDone,
    Delta,
    Finish,
    Options,
    ReplyEnded,
    Request,
    TextDelta,
    ThinkingDelta,
    ToolSpec,
    Traits,
    Usage,
)
from treadle.models.connections import DEFAULT_TIMEOUTS, Timeouts
from treadle.models.encoding import CachedEncoder, check_extra, drop_tools, encode, encode_fields, is_present, make_decoder
from treadle.models.http import Authorize, ModelEndpoint
from treadle.models.media import MediaLoader, encode_base64, load_media, narrow_modalities
from treadle.models.profiles import Profile, profile_of
from treadle.models.server_errors import ServerIdentity, broken_reply_error, error_from_object, unreadable_reply_error
from treadle.models.stream_splitters import SseSplitter
from treadle.models.tool_schemas import to_tool_parameters
from treadle.models.wires.partial_calls import CallIds, PartialCall, is_object
from treadle.models.wires.tool_names import (
    ArgumentNames,
    encode_call_id,
    encode_tool_name,
    find_renamed_arguments,
    rename_properties,
    restore_arguments,
)

ANTHROPIC_URL = "https://api.anthropic.com"
MAX_TOKENS = 8_192  # this wire wants a limit, always; this one where nothing is known of the model
BUDGETS = {"minimal": 1_024, "low": 4_096, "medium": 16_384, "high": 32_768, "xhigh": 65_536}  # tokens to think, by effort
SMALLEST_BUDGET = 1_024  # less is refused
_ANSWER_TOKENS = 1_024  # kept for the answer
_FREE = frozenset((None, "auto", "none"))  # tool choices that leave the model free to think first
_EFFORTS = {"minimal": "low", "low": "low", "medium": "medium", "high": "high", "xhigh": "xhigh"}
_VERSION = "2023-06-01"
_PATH = "/v1/messages"
_CACHE_CONTROL = b',"cache_control":{"type":"ephemeral"}'
WIRE = "anthropic"
_MODALITIES = frozenset(("image", "document"))  # there is no block for recordings
_REDACTED = "redacted:"  # before the seal of thinking that the server doesn't show


def from_name(name: str, **settings: Any) -> "Anthropic":
    """Return the model behind `anthropic:NAME`."""
    return Anthropic(name, **settings)


class Anthropic:
    """A model on the Messages API. Missing settings come from ANTHROPIC_API_KEY and ANTHROPIC_BASE_URL.

    For platforms that offer the same API elsewhere: `path` is the path there, `authorize` returns the headers instead of a key,
    and `body_version` is the version that goes into the body, which then doesn't name the model.
    """

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
        kind: str = "anthropic",
        profile: Profile | None = None,
        path: str = _PATH,
        authorize: Authorize | None = None,
        body_version: str | None = None,
        key_variable: str = "ANTHROPIC_API_KEY",
    ) -> None:
        self.name = f"{kind}:{name}"
        self._profile = profile = profile or profile_of(kind, name)
        base_url = (base_url or os.environ.get("ANTHROPIC_BASE_URL") or ANTHROPIC_URL).rstrip("/").removesuffix("/v1")
        public = base_url == ANTHROPIC_URL
        self.traits = Traits(
            context=context or profile.context,
            streams=stream,
            reasons=profile.reasons,
            modalities=narrow_modalities(_MODALITIES, profile.modalities),
            structured_output=profile.structured or "no",
        )
        key = (api_key or os.environ.get("ANTHROPIC_API_KEY") or "").strip() if authorize is None else ""
        if public and not key:
            raise MissingKey(
                f"{self.name} needs a key: set ANTHROPIC_API_KEY. For a server of your own, set ANTHROPIC_BASE_URL or base_url."
            )
        self._model = name
        self._stream = stream
        self._path = path
        self._body_version = body_version
        self._server = _make_server(self.name, base_url, key, key_variable)
        fixed = {**({} if body_version else {"anthropic-version": _VERSION}), **({"x-api-key": key} if key else {})}
        self._endpoint = ModelEndpoint(self._server, headers={**fixed, **(headers or {})}, timeouts=timeouts, authorize=authorize)
        self._settings = CachedEncoder(partial(self._encode_options, tools=False))
        self._settings_with_tools = CachedEncoder(partial(self._encode_options, tools=True))
        self._tools = CachedEncoder(_encode_tools)
        self._instructions = CachedEncoder(_encode_instructions)
        self._renamed: tuple[tuple[ToolSpec, ...], ArgumentNames] = ((), {})

    def reply(self, request: Request) -> AsyncIterator[Delta]:
        """Stream the reply."""
        history = request.history.encode("anthropic", lambda message: encode_anthropic_message(message, request.blobs))
        reading = AnthropicReply(self._server, CallIds(len(request.history)), self._argument_names(request.tools))
        splitter = SseSplitter() if self._stream else None
        body = self._encode_body(request, history)
        return self._endpoint.reply(self._path, body, reading, splitter, request.options.headers, progress=request.progress)

    def _argument_names(self, tools: tuple[ToolSpec, ...]) -> ArgumentNames:
        """Return which arguments go by other names here: a run has the very same tools each round."""
        if self._renamed[0] is not tools:
            self._renamed = tools, find_renamed_arguments(tools)
        return self._renamed[1]

    def _encode_body(self, request: Request, history: bytes) -> bytes:
        check_extra(request.options.extra, "messages", *(("system",) if request.instructions else ()))
        settings = (self._settings_with_tools if request.tools else self._settings)(request.options)
        settings += self._encode_output_config(request.options, request.shape)
        instructions = self._instructions(request.instructions) if request.instructions.strip() else b""  # blank text is refused
        own = request.options.extra.get("tools")
        tools = _encode_tools(request.tools, own) if own else self._tools(request.tools) if request.tools else b""
        return b'{%b%b%b,"messages":[%b]}' % (settings, instructions, tools, _mark_cached(request, history))

    def _encode_options(self, options: Options, *, tools: bool) -> bytes:
        limit = options.max_tokens or self._profile.max_output or MAX_TOKENS
        thinking = self._thinking(options, limit)
        samples = self._profile.samples and thinking is None  # neither is taken while it thinks
        values: dict[str, Any] = {
            "model": None if self._body_version else self._model,
            "anthropic_version": self._body_version,
            "max_tokens": limit,
            "temperature": options.temperature if samples else None,
            "top_p": options.top_p if samples else None,
            "stop_sequences": options.stop or None,
            "thinking": thinking,
            "tool_choice": _tool_choice_field(options) if tools else None,
            "service_tier": options.service_tier,
        }
        extra = {name: value for name, value in drop_tools(options.extra).items() if name != "output_config"}
        return encode_fields({**values, **extra, "stream": self._stream})

    def _thinking(self, options: Options, limit: int) -> dict[str, Any] | None:
        """Return the thinking budget, which is part of the token limit; on this wire, asking for none is the same as not asking.

        A required call and thinking exclude each other, and so do thinking and a limit that leaves no room for it.
        """
        budget = options.reasoning_budget or BUDGETS.get(options.reasoning or "none")
        if budget is None or not self._profile.reasons or options.tool_choice not in _FREE:
            return None
        if not self._profile.samples:  # newer models decide themselves how much they think, and refuse a budget
            return {"type": "adaptive"}
        budget = min(budget, limit - min(_ANSWER_TOKENS, limit // 2))
        return {"type": "enabled", "budget_tokens": budget} if budget >= SMALLEST_BUDGET else None

    def _encode_output_config(self, options: Options, shape: dict[str, Any] | None) -> bytes:
        """Encode the effort and the answer's schema, one field here, with the comma before it."""
        values = dict[str, Any](options.extra.get("output_config", {}))
        if options.reasoning in _EFFORTS and self._profile.reasons and not self._profile.samples:
            values.setdefault("effort", _EFFORTS[options.reasoning])
        if shape is not None:
            values["format"] = {"type": "json_schema", "schema": shape}
        return b',"output_config":%b' % encode(values) if values else b""


def _make_server(model: str, base_url: str, key: str, key_variable: str) -> ServerIdentity:
    remedy = "is the network up?" if base_url == ANTHROPIC_URL else "is it running, and is base_url right?"
    return ServerIdentity(model, base_url, key_variable=key_variable, remedy=remedy, secrets=(key,) if key else ())


def _tool_choice_field(options: Options) -> dict[str, Any] | None:
    """Return the tool choice, and whether several tools may be called at once: one field in this API."""
    choice = options.tool_choice
    if choice is None and options.parallel_calls is None:
        return None
    kinds = {None: "auto", "auto": "auto", "required": "any", "none": "none"}
    said: dict[str, Any] = {"type": kinds[choice]} if choice in kinds else {"type": "tool", "name": choice}
    if options.parallel_calls is not None and said["type"] != "none":
        said["disable_parallel_tool_use"] = not options.parallel_calls
    return said


# What is sent


def _encode_instructions(instructions: str) -> bytes:
    return b',"system":[{"type":"text","text":%b%b}]' % (encode(instructions), _CACHE_CONTROL)


def _encode_tools(tools: tuple[ToolSpec, ...], own: Sequence[Any] = ()) -> bytes:
    """Encode the offered functions after the server's `own` tools from the options; the last one is marked for caching."""
    renamed = find_renamed_arguments(tools)
    specs = [*own, *[_build_tool(tool, renamed.get(tool.name)) for tool in tools]]
    return b',"tools":%b%b}]' % (encode(specs)[:-2], _CACHE_CONTROL)


def _build_tool(tool: ToolSpec, names: Mapping[str, str] | None) -> dict[str, Any]:
    schema = to_tool_parameters(tool.parameters)
    schema = rename_properties(schema, names) if names else schema
    return {"name": tool.name, "description": tool.description, "input_schema": schema}


def _mark_cached(request: Request, history: bytes) -> bytes:
    """Return the messages, with the last block marked for caching and the note after it, where it doesn't invalidate the cache.

    Every encoded message ends in `}]}`, so the mark is inserted by position and nothing is encoded again.
    """
    note = b'{"type":"text","text":%b}' % encode(f"[{request.note}]") if request.note else b""
    if history and request.history[-1].role != "model":
        return b"%b%b}%b%b]}" % (history[:-3], _CACHE_CONTROL, b"," if note else b"", note)
    if note:
        return b'%b%b{"role":"user","content":[%b]}' % (history, b"," if history else b"", note)
    return history


def encode_anthropic_message(message: Message, blobs: MediaLoader | None = None) -> bytes:
    """Encode a message as one list of blocks; empty if it has none.

    A user's message after results makes two user messages in a row: the server joins them, and the results stay first.
    """
    blocks = b",".join([block for part in message.parts if (block := _encode_part(part, blobs))])
    if not blocks:
        return b""
    role = b"assistant" if message.role == "model" else b"user"
    return b'{"role":"%b","content":[%b]}' % (role, blocks)


def _encode_part(part: Part, blobs: MediaLoader | None) -> bytes:
    match part:
        case Text() | Quote() | Summary():
            return b'{"type":"text","text":%b}' % encode(part.text) if part.text.strip() else b""  # blank text is refused
        case Thinking():
            return _encode_thinking(part)
        case Opaque():
            return part.json.encode() if part.wire == WIRE else b""
        case Media():
            return _encode_media(part, blobs)
        case Call():
            named = encode_call_id(part.id), encode_tool_name(part.name), encode(part.arguments)
            return b'{"type":"tool_use","id":%b,"name":%b,"input":%b}' % named
        case Result():
            problem = b',"is_error":true' if part.problem else b""
            of = encode_call_id(part.call_id), _encode_content(part, blobs), problem
            return b'{"type":"tool_result","tool_use_id":%b,"content":%b%b}' % of
        case _:
            assert_never(part)


def _encode_content(result: Result, blobs: MediaLoader | None) -> bytes:
    """Encode the content of a result; with media, as blocks. An error result may have text only."""
    if not result.media or result.problem:
        return encode(result.content)
    words = [b'{"type":"text","text":%b}' % encode(result.content)] if result.content.strip() else []
    return b"[%b]" % b",".join([*words, *[_encode_media(media, blobs) for media in result.media]])


def _encode_media(media: Media, blobs: MediaLoader | None) -> bytes:
    if blobs is None or media.kind == "audio":
        return b'{"type":"text","text":%b}' % encode(media.label)
    title = b',"title":%b' % encode(media.name) if media.name and media.kind == "document" else b""
    return b'{"type":"%b","source":%b%b}' % (media.kind.encode(), _encode_source(media, load_media(blobs, media)), title)


def _encode_source(media: Media, data: bytes) -> bytes:
    if media.is_text:
        return b'{"type":"text","media_type":"text/plain","data":%b}' % encode(data.decode(errors="replace"))
    return b'{"type":"base64","media_type":%b,"data":%b}' % (encode(media.media_type), encode(encode_base64(media, data)))


def _encode_thinking(part: Thinking) -> bytes:
    if part.signature.startswith(_REDACTED):
        return b'{"type":"redacted_thinking","data":%b}' % encode(part.signature.removeprefix(_REDACTED))
    if part.signature:
        return b'{"type":"thinking","thinking":%b,"signature":%b}' % (encode(part.text), encode(part.signature))
    return b""  # another model's, which this server would refuse


# What comes back


class _Block(Struct):
    type: str = ""
    text: str | None = None
    thinking: str | None = None
    signature: str | None = None
    data: str | None = None
    id: str | None = None
    name: str | None = None
    input: Any = None


_OWN_BLOCK_TYPES = frozenset(("text", "thinking", "redacted_thinking", "tool_use"))  # any other block is the server's own


class _BlockDelta(Struct):
    text: str | None = None
    thinking: str | None = None
    signature: str | None = None
    partial_json: str | None = None
    stop_reason: str | None = None


class _Usage(Struct):
    input_tokens: int | None = None
    output_tokens: int | None = None
    cache_read_input_tokens: int | None = None
    cache_creation_input_tokens: int | None = None


class _Message(Struct):
    type: str = ""
    content: list[Raw] | None = None
    stop_reason: str | None = None
    usage: _Usage | None = None
    error: Any = None
    model: Any = None


class _Event(Struct):
    type: str = ""
    content_block: Raw = Raw()
    delta: _BlockDelta | None = None
    message: _Message | None = None
    usage: _Usage | None = None
    error: Any = None


_decode_event = make_decoder(_Event)
_decode_message = make_decoder(_Message)
_decode_block = make_decoder(_Block)

_FINISH: dict[str, Finish] = {
    "pause_turn": "paused",
    "max_tokens": "length",
    "model_context_window_exceeded": "window",
    "refusal": "filtered",
}


_CUT = frozenset(("max_tokens", "model_context_window_exceeded", "refusal"))


class _ServerBlock:
    """A block of the server's own tools as it streams: its input comes in pieces, everything else at once."""

    def __init__(self, raw: Raw) -> None:
        self._raw = bytes(raw)
        self._input: list[str] = []

    def add(self, piece: str) -> None:
        self._input.append(piece)

    def whole(self) -> Opaque:
        if not self._input:
            return Opaque(WIRE, self._raw.decode())
        block = decode_json(self._raw, type=dict[str, Any])
        return Opaque(WIRE, encode({**block, "input": Raw("".join(self._input).encode())}).decode())


class AnthropicReply:
    """Reads one reply: deltas from the payloads of a stream, or from a complete body."""

    def __init__(self, server: ServerIdentity, ids: CallIds, names: ArgumentNames | None = None) -> None:
        self.ended = False
        self._server = server
        self._ids = ids
        self._names = names or {}
        self._reason: str | None = None
        self._counts: dict[str, int] = {}
        self._called = False
        self._model: Any = None  # as the server calls it
        self._call: PartialCall | None = None  # being written, or written but no JSON: cut off, perhaps
        self._signature = ""
        self._own: _ServerBlock | None = None  # a block of a tool that the server runs itself

    @property
    def finished(self) -> bool:
        """Whether the model has stated why it stopped."""
        return self._reason is not None

    @property
    def usage(self) -> Usage:
        """Token counts so far; everything read is input, cached or not."""
        read = self._counts.get("cache_read_input_tokens", 0)
        written = self._counts.get("cache_creation_input_tokens", 0)
        return Usage(
            requests=1,
            input_tokens=self._counts.get("input_tokens", 0) + read + written,
            output_tokens=self._counts.get("output_tokens", 0),
            cache_read_tokens=read,
            cache_write_tokens=written,
        )

    def read(self, payloads: Iterable[bytes]) -> Iterator[Delta]:
        """Return the deltas in some payloads of a stream."""
        for payload in payloads:
            if payload.startswith(b"[DONE]"):  # not of this wire, but some servers write it
                self.ended = True
                return
            event = self._event(payload)
            change = event.delta
            if change is not None and change.text:
                yield TextDelta(change.text)
            else:
                yield from self._heard(event)

    def whole(self, body: bytes) -> Iterator[Delta]:
        """Return the deltas of a reply that wasn't streamed."""
        try:
            message = _decode_message(body)
        except (DecodeError, UnicodeDecodeError, RecursionError) as error:
            raise unreadable_reply_error(self._server, body) from error
        if message.error is not None:
            raise error_from_object(self._server, message.error)
        if message.content is None:
            raise unreadable_reply_error(self._server, body)
        self._reason, self._model, self.ended = message.stop_reason, message.model, True
        self._count(message.usage)
        for raw in message.content:
            yield from self._block(_decode_block(bytes(raw)), raw, last=raw is message.content[-1])
        yield from self.end()

    def end(self) -> Iterator[Delta]:
        """Return the deltas left at the end of the stream."""
        if not self.ended and self._reason is None:
            raise broken_reply_error(self._server, "it ended without saying why")
        yield from self._close_call(cut=self._reason is None or self._reason in _CUT)
        yield ReplyEnded(self._finish(), self.usage, self._server.model, response_model=str(self._model or ""))

    def _event(self, payload: bytes) -> _Event:
        try:
            event = _decode_event(payload)
        except (DecodeError, UnicodeDecodeError, RecursionError) as error:
            raise unreadable_reply_error(self._server, payload) from error
        if event.error is not None:
            raise error_from_object(self._server, event.error)
        return event

    def _heard(self, event: _Event) -> Iterator[Delta]:
        match event.type:
            case "content_block_start" if is_present(event.content_block):
                yield from self._start_block(_decode_block(bytes(event.content_block)), event.content_block)
            case "content_block_delta" if event.delta is not None:
                yield from self._continue_block(event.delta)
            case "content_block_stop":
                yield from self._stop()
            case "message_start" if event.message is not None:
                self._model = event.message.model
                self._count(event.message.usage)
            case "message_delta":
                self._count(event.usage)
                self._reason = (event.delta and event.delta.stop_reason) or self._reason
            case "message_stop":
                self.ended = True
            case _:  # a ping, or something newer than this
                pass

    def _start_block(self, block: _Block, raw: Raw) -> Iterator[Delta]:
        yield from self._close_call(cut=False)  # another block after it: nothing was cut off
        match block.type:
            case kind if kind not in _OWN_BLOCK_TYPES:
                self._own = _ServerBlock(raw)
            case "tool_use":
                self._call = PartialCall(self._ids.unique(block.id), block.id or "")
                yield self._call.set_name(block.name or "")
                self._call.add(encode(block.input).decode() if block.input else "")
            case "redacted_thinking":
                yield ThinkingDelta("", _REDACTED + (block.data or ""))
            case _:
                self._signature = block.signature or ""
                yield from _text_deltas(block.text, block.thinking)

    def _continue_block(self, change: _BlockDelta) -> Iterator[Delta]:
        yield from _text_deltas(change.text, change.thinking)
        if change.partial_json and self._own is not None:
            self._own.add(change.partial_json)
        elif change.partial_json and self._call is not None:
            self._call.add(change.partial_json)
        self._signature += change.signature or ""

    def _stop(self) -> Iterator[Delta]:
        """End a block. A reply that hits its token limit says so only later: a call that isn't valid JSON has to wait."""
        if self._own is not None:
            yield self._own.whole()
            self._own = None
        if self._signature:
            yield ThinkingDelta("", self._signature)
            self._signature = ""
        if self._call is not None and (self._call.complete or is_object(self._call.text)):
            yield from self._close_call(cut=False)

    def _close_call(self, *, cut: bool) -> Iterator[Delta]:
        call, self._call = self._call, None
        if call is not None:
            self._called = True
            yield self._restore(call.to_call(cut=cut))

    def _block(self, block: _Block, raw: Raw, *, last: bool) -> Iterator[Delta]:
        """Read a block of a complete reply. Arguments are an object even if they were cut off, so the last one isn't trusted."""
        match block.type:
            case kind if kind not in _OWN_BLOCK_TYPES:
                yield Opaque(WIRE, bytes(raw).decode())
            case "tool_use":
                self._called = True
                call_id, name = self._ids.unique(block.id), block.name or ""
                cut = last and self._reason in _CUT
                yield CallDelta(call_id, name)
                yield self._restore(CallDone(Written(call_id, name, encode(block.input or {}).decode(), cut)))
            case "redacted_thinking":
                yield ThinkingDelta("", _REDACTED + (block.data or ""))
            case _:
                yield from _text_deltas(block.text, block.thinking)
                if block.signature:
                    yield ThinkingDelta("", block.signature)

    def _restore(self, done: CallDone) -> CallDone:
        return CallDone(restore_arguments(done.call, self._names)) if self._names else done

    def _count(self, usage: _Usage | None) -> None:
        for name in _Usage.__struct_fields__:
            if usage is not None and (count := getattr(usage, name)) is not None:
                self._counts[name] = count

    def _finish(self) -> Finish:
        finish = _FINISH.get(self._reason or "", "done")
        return "calls" if self._called and finish == "done" else finish


def _text_deltas(text: str | None, thinking: str | None) -> Iterator[Delta]:
    if text:
        yield TextDelta(text)
    if thinking:
        yield ThinkingDelta(thinking)
