"""Models on OpenAI's Responses API: the public endpoint and compatible servers.

Nothing is stored at the server, so every request carries the whole conversation. Items that only the server can read
(reasoning, results of its own tools) come as `Opaque` parts and are sent back unchanged. The API has no fields for `seed` and
`stop`. This module reads no environment variables: addresses and keys are passed in by the code that creates the model.
"""

from collections.abc import AsyncIterator, Iterable, Iterator, Mapping
from functools import partial
from typing import Any, assert_never, cast

from msgspec import DecodeError, Raw, Struct
from msgspec.json import Decoder
from msgspec.structs import replace

from treadle.core.calls import Call, Media, Opaque, Result
from treadle.core.errors import ModelError
from treadle.core.messages import Message, Part, Text
from treadle.core.requests import Delta, Finish, Options, ReplyEnded, Request, TextDelta, ThinkingDelta, ToolSpec, Traits, Usage
from treadle.models.connections import DEFAULT_TIMEOUTS, Timeouts
from treadle.models.encoding import check_extra, encode, encode_fields, make_decoder
from treadle.models.http import ModelEndpoint
from treadle.models.media import MediaLoader, load_media, media_as_text, narrow_modalities, to_data_url
from treadle.models.schemas import to_strict_schema
from treadle.models.server_errors import (
    ServerIdentity,
    broken_reply_error,
    describe_absence,
    error_from_object,
    unreadable_reply_error,
)
from treadle.models.stream_splitters import SseSplitter
from treadle.models.tool_schemas import to_tool_fields
from treadle.models.wires.partial_calls import CallIds, PartialCall, is_object
from treadle.models.wires.tool_names import encode_call_id, encode_tool_name

WIRE = "responses"
MODALITIES = frozenset(("image", "document"))  # messages have no form for recordings
MIN_OUTPUT_TOKENS = 16  # the API refuses a lower max_output_tokens
_PATH = "/responses"
_ENCRYPTED = "reasoning.encrypted_content"
_NAMED_CHOICES = frozenset(("auto", "required", "none"))

_Head = tuple[Options, str, tuple[ToolSpec, ...], dict[str, Any] | None]


class Responses:
    """A model on the Responses wire.

    `reasons` says that the model thinks before it answers: it accepts a reasoning effort and no temperature, and its reasoning
    items are sent back. `max_output` is its maximum output; a higher `max_tokens` is lowered to it.
    """

    def __init__(
        self,
        name: str,
        *,
        base_url: str,
        api_key: str = "",
        stream: bool = True,
        traits: Traits = Traits(),  # noqa: B008 - frozen
        headers: Mapping[str, str] | None = None,
        timeouts: Timeouts = DEFAULT_TIMEOUTS,
        kind: str = "openai",
        key_variable: str = "OPENAI_API_KEY",
        max_output: int | None = None,
        reasons: bool = True,
    ) -> None:
        self.name = f"{kind}:{name}"
        self.traits = replace(traits, streams=stream, modalities=narrow_modalities(MODALITIES, traits.modalities))
        self._model = name
        self._stream = stream
        self._max_output = max_output
        self._reasons = reasons
        key = api_key.strip()
        self._server = ServerIdentity(
            self.name,
            base_url.rstrip("/"),
            key_variable=key_variable,
            remedy="is the network up, and is base_url right?",
            absent=describe_absence(base_url),
            secrets=(key,) if key else (),
        )
        authorization = {"authorization": f"Bearer {key}"} if key else {}
        self._endpoint = ModelEndpoint(self._server, headers={**authorization, **(headers or {})}, timeouts=timeouts)
        self._last_head: tuple[_Head, bytes] | None = None

    def reply(self, request: Request) -> AsyncIterator[Delta]:
        """Stream the reply."""
        body = b'{%b,"input":[%b]}' % (self._encode_head(request), _append_note(request, self._encode_history(request)))
        reading = ResponsesReply(self._server, CallIds(len(request.history)))
        splitter = SseSplitter() if self._stream else None
        return self._endpoint.reply(_PATH, body, reading, splitter, request.options.headers, progress=request.progress)

    def _encode_history(self, request: Request) -> bytes:
        if self._reasons:
            return request.history.encode(WIRE, partial(encode_response_items, blobs=request.blobs))
        form = f"{WIRE} without reasoning"  # a model that doesn't reason refuses the reasoning items of one that does
        return request.history.encode(form, partial(encode_response_items, reasoning=False, blobs=request.blobs))

    def _encode_head(self, request: Request) -> bytes:
        """Encode the body up to its input. A run sends the very same values each round, so the last one is cached."""
        given: _Head = request.options, request.instructions, request.tools, request.shape
        last = self._last_head
        if last is not None and all(one is other for one, other in zip(given, last[0], strict=True)):
            return last[1]
        check_extra(request.options.extra, "input", *(("instructions",) if request.instructions else ()))
        encoded = encode_fields({**_merge_extra(self._make_fields(*given), request.options.extra), "stream": self._stream})
        self._last_head = given, encoded
        return encoded

    def _make_fields(
        self, options: Options, instructions: str, tools: tuple[ToolSpec, ...], shape: dict[str, Any] | None
    ) -> dict[str, Any]:
        has_tools = bool(tools) or "tools" in options.extra
        values: dict[str, Any] = {
            "model": self._model,
            "stream": self._stream,
            "store": False,
            "instructions": instructions or None,
            "tools": [_make_tool(tool) for tool in tools] or None,
            "tool_choice": _make_tool_choice(options.tool_choice, tools) if has_tools else None,
            "parallel_tool_calls": options.parallel_calls if has_tools else None,
            "text": {"format": _make_format(shape)} if shape is not None else None,
            "max_output_tokens": self._limit_output(options.max_tokens),
            "service_tier": options.service_tier,
            "prompt_cache_key": options.cache_key,
        }
        if self._reasons:
            return {**values, "include": [_ENCRYPTED], "reasoning": {"effort": options.reasoning} if options.reasoning else None}
        return {**values, "temperature": options.temperature, "top_p": options.top_p}

    def _limit_output(self, wanted: int | None) -> int | None:
        if wanted is None:
            return None
        return max(MIN_OUTPUT_TOKENS, wanted if self._max_output is None else min(wanted, self._max_output))


# What is sent


def _merge_extra(values: dict[str, Any], extra: dict[str, Any]) -> dict[str, Any]:
    """Return the fields of a body with those of `extra` over them.

    Objects and lists (reasoning, text, tools, include) are joined.
    """
    merged = dict(values)
    for name, value in extra.items():
        own = merged.get(name)
        if isinstance(own, dict) and isinstance(value, dict):
            merged[name] = {**cast("dict[str, Any]", own), **cast("dict[str, Any]", value)}
        elif isinstance(own, list) and isinstance(value, list):
            merged[name] = [*cast("list[Any]", own), *[one for one in cast("list[Any]", value) if one not in own]]
        else:
            merged[name] = value
    return merged


def _make_tool(tool: ToolSpec) -> dict[str, Any]:
    return {"type": "function", **to_tool_fields(tool), "strict": False}


def _make_tool_choice(choice: str | None, tools: tuple[ToolSpec, ...]) -> str | dict[str, str] | None:
    if choice is None or choice in _NAMED_CHOICES:
        return choice
    offered = any(tool.name == choice for tool in tools)
    return {"type": "function", "name": choice} if offered else None  # the API refuses the name of a tool that isn't there


def _make_format(shape: dict[str, Any]) -> dict[str, Any]:
    strict = to_strict_schema(shape)
    return {"type": "json_schema", "name": "reply", "schema": strict or shape, "strict": strict is not None}


def _append_note(request: Request, history: bytes) -> bytes:
    """Return the items of a request with its note at the very end; it joins a user message, which ends in `]}`."""
    if not request.note:
        return history
    note = _encode_input_text(f"[{request.note}]")
    if history and request.history[-1].role == "person":
        return b"%b,%b]}" % (history[:-2], note)
    return b"%b%b%b" % (history, b"," if history else b"", _encode_user_message(note))


def encode_response_items(message: Message, *, reasoning: bool = True, blobs: MediaLoader | None = None) -> bytes:
    """Encode a message as items of this wire, joined by commas; empty if there are none. Without `reasoning`, no such items."""
    match message.role:
        case "person":
            return _encode_user(message.parts, blobs)
        case "model":
            return b",".join(_encode_reply_items(message.parts, reasoning=reasoning))
        case "tools":
            return b",".join([_encode_result(part, blobs) for part in message.parts if isinstance(part, Result)])
        case _:
            assert_never(message.role)


def _encode_user(parts: Iterable[Part], blobs: MediaLoader | None) -> bytes:
    shown = [
        _encode_media(part, blobs) if isinstance(part, Media) else _encode_input_text(part.text)
        for part in parts
        if isinstance(part, Text | Media)
    ]
    return _encode_user_message(b",".join(shown or [_encode_input_text("")]))


def _encode_media(media: Media, blobs: MediaLoader | None) -> bytes:
    """Encode an image or a document, a text as text; anything else, and media without bytes, by its label."""
    if blobs is None or media.is_text or media.kind == "audio":
        return _encode_input_text(media_as_text(blobs, media))
    url = encode(to_data_url(media, load_media(blobs, media)))
    if media.kind == "image":
        return b'{"type":"input_image","detail":"auto","image_url":%b}' % url
    return b'{"type":"input_file","filename":%b,"file_data":%b}' % (encode(media.name or "document.pdf"), url)


def _encode_user_message(content: bytes) -> bytes:
    return b'{"type":"message","role":"user","content":[%b]}' % content


def _encode_input_text(text: str) -> bytes:
    return b'{"type":"input_text","text":%b}' % encode(text)


def _encode_result(result: Result, blobs: MediaLoader | None) -> bytes:
    call_id, output = encode_call_id(result.call_id), encode(result.content)
    if result.media:
        words = [_encode_input_text(result.content)] if result.content else []
        shown = [*words, *[_encode_media(media, blobs) for media in result.media]]
        output = b"[%b]" % b",".join(shown)
    return b'{"type":"function_call_output","call_id":%b,"output":%b}' % (call_id, output)


class _OpaqueHead(Struct):
    """The type of an `Opaque` part of this wire. A `message` is no item but the phase of the text before it."""

    type: str = ""
    phase: str | None = None


_decode_opaque_head = Decoder(_OpaqueHead).decode


def _encode_reply_items(parts: Iterable[Part], *, reasoning: bool) -> list[bytes]:
    """Encode the items of a model's message.

    The API refuses a reasoning item that nothing follows, so those at the end are left out.
    """
    items = _ReplyItems(reasoning=reasoning)
    for part in parts:
        items.add(part)
    items.end_text()
    return items.items[: items.complete]


class _ReplyItems:
    """The parts of one reply as items, in order."""

    def __init__(self, *, reasoning: bool) -> None:
        self.items: list[bytes] = []
        self.complete = 0  # how many of the items are left if those without a following one are dropped
        self._reasoning = reasoning
        self._texts: list[str] = []

    def add(self, part: Part) -> None:
        """Add the next part. Thinking, and data that is opaque on another wire, is never sent."""
        match part:
            case Text():
                self._texts.append(part.text)
            case Media():
                self._texts.append(part.label)
            case Call():
                self._add_item(_encode_call(part))
            case Opaque() if part.wire == WIRE:
                self._add_opaque(part.json)
            case _:
                pass

    def end_text(self, phase: str | None = None) -> None:
        """End the text so far as a message."""
        text = "".join(self._texts)
        self._texts = []
        if text:
            # Written as an input message: an output message needs an id of the server's, which other wires don't give.
            labelled = b',"phase":%b' % encode(phase) if phase else b""
            self._append(b'{"type":"message","role":"assistant","content":%b%b}' % (encode(text), labelled))

    def _add_opaque(self, json: str) -> None:
        said = _decode_opaque_head(json)
        if said.type == "message":
            self.end_text(said.phase)
        elif said.type != "reasoning":
            self._add_item(json.encode())
        elif self._reasoning:
            self.end_text()
            self.items.append(json.encode())

    def _add_item(self, item: bytes) -> None:
        self.end_text()
        self._append(item)

    def _append(self, item: bytes) -> None:
        self.items.append(item)
        self.complete = len(self.items)


def _encode_call(call: Call) -> bytes:
    named = encode_call_id(call.id), encode_tool_name(call.name), encode(encode(call.arguments).decode())
    return b'{"type":"function_call","call_id":%b,"name":%b,"arguments":%b}' % named


# What comes back


class _Item(Struct):
    type: str = ""
    id: str | None = None
    call_id: str | None = None
    name: str | None = None
    arguments: Any = None
    status: str | None = None
    phase: str | None = None
    content: Any = None
    summary: Any = None
    encrypted_content: Any = None

    @property
    def text(self) -> str:
        """The text of a message, refusals included."""
        return "".join(_list_texts(self.content))

    @property
    def reasoning_text(self) -> str:
        """The summary of the reasoning, or the reasoning itself from servers that show it."""
        return "\n\n".join(_list_texts(self.summary)) or "".join(_list_texts(self.content))

    @property
    def arguments_text(self) -> str:
        """The arguments of a call; some servers send them as an object."""
        arguments = self.arguments or ""
        return arguments if isinstance(arguments, str) else encode(arguments).decode()


class _InputDetails(Struct):
    cached_tokens: int | None = None
    cache_write_tokens: int | None = None


class _Usage(Struct):
    input_tokens: int | None = None
    output_tokens: int | None = None
    input_tokens_details: _InputDetails | None = None


class _Incomplete(Struct):
    reason: str | None = None


class _Response(Struct):
    status: str | None = None
    output: list[Raw] | None = None
    usage: _Usage | None = None
    incomplete_details: _Incomplete | None = None
    error: Any = None
    model: Any = None


class _Event(Struct):
    type: str = ""
    delta: Any = None
    item_id: str | None = None
    output_index: int | None = None
    summary_index: int | None = None
    item: Raw = Raw(b"null")
    response: Raw = Raw(b"null")
    arguments: Any = None
    error: Any = None
    code: Any = None
    message: Any = None

    @property
    def key(self) -> "_Key":
        """The item it is about. Some servers change the ids of items from event to event, and others don't number items."""
        return (self.item_id or _UNKNOWN) if self.output_index is None else self.output_index


_decode_event = make_decoder(_Event)
_decode_item = make_decoder(_Item)
_decode_response = make_decoder(_Response)
_decode_fields = make_decoder(dict[str, Raw])

_WITHOUT_STATUS = frozenset(("reasoning", "custom_tool_call_output"))  # items that have one in output only
_TEXT_DELTAS = frozenset(("response.output_text.delta", "response.refusal.delta"))
_THINKING_DELTAS = frozenset(("response.reasoning_summary_text.delta", "response.reasoning_text.delta"))
_ENDS = frozenset(("response.completed", "response.incomplete", "response.failed"))
_FINISH: dict[str, Finish] = {"max_output_tokens": "length", "content_filter": "filtered"}

# Failures that the same request would meet again. Every other code is worth another try, or is known to `refusals`.
_REFUSED = frozenset(
    (
        "invalid_prompt",
        "data_residency_mismatch",
        "bio_policy",
        "cyber_policy",
        "misalignment_policy_violation",
        "invalid_image",
        "invalid_image_format",
        "invalid_base64_image",
        "invalid_image_url",
        "image_too_large",
        "image_too_small",
        "image_parse_error",
        "image_content_policy_violation",
        "invalid_image_mode",
        "image_file_too_large",
        "unsupported_image_media_type",
        "empty_image_file",
        "failed_to_download_image",
        "image_file_not_found",
    )
)

_Key = int | str
_UNKNOWN = ""  # the key of an item that a server neither numbers nor names


class ResponsesReply:
    """Reads one reply: deltas from the events of a stream, or from a complete response."""

    def __init__(self, server: ServerIdentity, ids: CallIds) -> None:
        self.ended = False
        self._server = server
        self._ids = ids
        self._finish: Finish | None = None
        self._counts: _Usage | None = None
        self._called = False
        self._model: Any = None  # as the server calls it
        self._keys_with_deltas: set[_Key] = set()  # items whose text has arrived in deltas
        self._done_keys: set[_Key] = set()
        self._open: list[PartialCall] = []  # calls that have begun, in order
        self._by_key: dict[_Key, PartialCall] = {}
        self._arguments: dict[_Key, list[str]] = {}
        self._waiting: list[PartialCall] = []  # calls that are done but no JSON: cut off, perhaps
        self._summary: tuple[_Key, int] | None = None  # the part of a summary that is arriving

    @property
    def finished(self) -> bool:
        """Whether the model has stated why it stopped."""
        return self._finish is not None

    @property
    def usage(self) -> Usage:
        """Token counts so far; reasoning is part of the output."""
        counts = self._counts
        if counts is None:
            return Usage(requests=1)
        details = counts.input_tokens_details or _InputDetails()
        return Usage(
            requests=1,
            input_tokens=counts.input_tokens or 0,
            output_tokens=counts.output_tokens or 0,
            cache_read_tokens=details.cached_tokens or 0,
            cache_write_tokens=details.cache_write_tokens or 0,
        )

    def read(self, payloads: Iterable[bytes]) -> Iterator[Delta]:
        """Return the deltas in some events of a stream."""
        for payload in payloads:
            if payload.startswith(b"[DONE]"):  # not of this wire, but some servers write it
                self.ended = True
                return
            event = self._parse_event(payload)
            if event.type in _TEXT_DELTAS:
                self._keys_with_deltas.add(event.key)
                if event.delta:
                    yield TextDelta(str(event.delta))
            else:
                yield from self._read_event(event)

    def whole(self, body: bytes) -> Iterator[Delta]:
        """Return the deltas of a reply that wasn't streamed."""
        response = self._parse_response(body)
        if response.error is not None:
            self._count(response)
            raise self._make_error(response.error)
        if response.output is None:
            raise unreadable_reply_error(self._server, body)
        yield from self._end_response(response.status or "completed", response)
        yield from self.end()

    def end(self) -> Iterator[Delta]:
        """Return the deltas left at the end of the stream."""
        if not self.ended:
            raise broken_reply_error(self._server, "it ended without saying why")
        for call in self._open:
            self._add_arguments(call)
        yield from self._close_calls(self._open, cut=self._finish != "done")
        finish = self._finish or "done"
        finish = "calls" if self._called and finish == "done" else finish
        yield ReplyEnded(finish, self.usage, self._server.model, response_model=str(self._model or ""))

    def _parse_event(self, payload: bytes) -> _Event:
        try:
            event = _decode_event(payload)
        except (DecodeError, UnicodeDecodeError, RecursionError) as error:
            raise unreadable_reply_error(self._server, payload) from error
        failed = event.error is not None and not event.type.startswith("response.")
        if failed or event.type == "error":
            raise self._make_error(event.error or {"code": event.code, "message": event.message})
        return event

    def _parse_response(self, payload: bytes) -> _Response:
        try:
            return _decode_response(payload)
        except (DecodeError, UnicodeDecodeError, RecursionError) as error:
            raise unreadable_reply_error(self._server, payload) from error

    def _parse_item(self, payload: bytes) -> _Item:
        try:
            return _decode_item(payload)
        except (DecodeError, UnicodeDecodeError, RecursionError) as error:
            raise unreadable_reply_error(self._server, payload) from error

    def _read_event(self, event: _Event) -> Iterator[Delta]:
        match event.type:
            case kind if kind in _THINKING_DELTAS:
                yield from self._read_reasoning(event)
            case "response.output_item.added":
                yield from self._begin_item(event.key, self._parse_item(bytes(event.item)))
            case "response.output_item.done":
                yield from self._end_item(event.key, bytes(event.item))
            case "response.function_call_arguments.delta":
                self._arguments.setdefault(event.key, []).append(str(event.delta or ""))
            case "response.function_call_arguments.done" if event.arguments:
                self._arguments[event.key] = [str(event.arguments)]
            case kind if kind in _ENDS:
                response = self._parse_response(bytes(event.response))
                status = response.status if response.status in ("incomplete", "failed") else kind.removeprefix("response.")
                yield from self._end_response(status, response)
            case _:  # a keep-alive, a notice that repeats what others say, or something newer than this
                pass

    def _read_reasoning(self, event: _Event) -> Iterator[Delta]:
        self._keys_with_deltas.add(event.key)
        summary = event.key, event.summary_index or 0
        if self._summary is not None and self._summary[0] == event.key and self._summary != summary:
            yield ThinkingDelta("\n\n")  # another part of the same summary
        self._summary = summary
        if event.delta:
            yield ThinkingDelta(str(event.delta))

    def _begin_item(self, key: _Key, item: _Item) -> Iterator[Delta]:
        yield from self._close_calls(self._waiting, cut=False)  # another item after it: nothing was cut off
        if item.type == "function_call":
            yield from self._begin_call(_list_keys(key, item), item)

    def _begin_call(self, keys: tuple[_Key, ...], item: _Item) -> Iterator[Delta]:
        call = PartialCall(self._ids.unique(item.call_id), item.call_id or "")
        self._open.append(call)
        self._by_key.update((key, call) for key in keys)
        yield call.set_name(item.name or "")

    def _end_item(self, key: _Key, payload: bytes) -> Iterator[Delta]:
        """Handle an item that is complete."""
        item = self._parse_item(payload)
        keys = _list_keys(key, item)
        yield from self._close_calls(self._waiting, cut=False)
        unheard = self._keys_with_deltas.isdisjoint((*keys, _UNKNOWN))
        self._done_keys.update(keys or (_UNKNOWN,))
        match item.type:
            case "function_call":
                yield from self._end_call(keys, item)
            case "message":
                if unheard and item.text:
                    yield TextDelta(item.text)
                if item.phase:
                    yield Opaque(WIRE, encode({"type": "message", "phase": item.phase}).decode())
            case "reasoning":
                if unheard and item.reasoning_text:
                    yield ThinkingDelta(item.reasoning_text)
                if item.encrypted_content or item.content:  # the server can't find it again by its id alone
                    yield _make_opaque(item, payload)
            case _ if item.type:
                yield _make_opaque(item, payload)
            case _:
                pass

    def _end_call(self, keys: tuple[_Key, ...], item: _Item) -> Iterator[Delta]:
        call = next((call for key in keys if (call := self._by_key.get(key)) and call in self._open), None)
        if call is None:
            yield from self._begin_call(keys, item)
            call = self._open[-1]
        call.add(item.arguments_text or self._find_arguments(keys))
        if item.status == "incomplete" or call.complete or is_object(call.text):
            yield from self._close_calls([call], cut=item.status == "incomplete")
        else:
            self._waiting.append(call)

    def _find_arguments(self, keys: Iterable[_Key]) -> str:
        return "".join(next((self._arguments[key] for key in keys if key in self._arguments), ()))

    def _add_arguments(self, call: PartialCall) -> None:
        """Add the arguments received for a call that never ended."""
        if not call.text:
            call.add(self._find_arguments([key for key, known in self._by_key.items() if known is call]))

    def _close_calls(self, calls: list[PartialCall], *, cut: bool) -> list[Delta]:
        """Return the deltas of finished calls."""
        if not calls:
            return []
        closed = list(calls)
        self._open = [call for call in self._open if call not in closed]
        self._waiting = [call for call in self._waiting if call not in closed]
        self._called = self._called or bool(closed)
        return [call.to_call(cut=cut) for call in closed]

    def _end_response(self, status: str, response: _Response) -> Iterator[Delta]:
        """End the response: return what wasn't streamed yet, and why it ended."""
        self._count(response)
        if status == "failed":
            raise self._make_error(response.error or {"message": "the response failed"})
        if status not in ("completed", "incomplete"):
            raise broken_reply_error(self._server, f"its status is {status!r}")
        done = frozenset(self._done_keys)
        for index, payload in enumerate(response.output or ()):
            if not done or (index not in done and self._is_new(index, bytes(payload), done)):
                yield from self._end_item(index, bytes(payload))
        reason = (response.incomplete_details and response.incomplete_details.reason) or ""
        self._finish = "done" if status == "completed" else _FINISH.get(reason, "length")
        self.ended = True

    def _is_new(self, index: int, payload: bytes, done: frozenset[_Key]) -> bool:
        """Return whether an item isn't one of those that have been read, by none of its keys."""
        return done.isdisjoint((*_list_keys(index, self._parse_item(payload)), _UNKNOWN))

    def _count(self, response: _Response) -> None:
        self._counts, self._model = response.usage or self._counts, response.model

    def _make_error(self, error: Any) -> ModelError:
        code = cast("dict[str, Any]", error).get("code") if isinstance(error, dict) else None
        return error_from_object(self._server, {**error, "status": 400} if str(code) in _REFUSED else error)


def _list_keys(key: _Key, item: _Item) -> tuple[_Key, ...]:
    """Return the keys an item may be known by, the most reliable first: calls may share an id."""
    return tuple([known for known in (key, item.id, item.call_id) if known is not None and known != _UNKNOWN])


def _list_texts(parts: Any) -> list[str]:
    """Return the texts in parts of a message, of a summary or of reasoning."""
    if not isinstance(parts, list):
        return []
    given = [cast("dict[str, Any]", part) for part in cast("list[Any]", parts) if isinstance(part, dict)]
    return [str(text) for part in given if (text := part.get("text") or part.get("refusal"))]


def _make_opaque(item: _Item, payload: bytes) -> Opaque:
    """Return an item to be sent back: byte for byte, without the fields that the API accepts in no input."""
    unsent = {"created_by"}
    if item.type in _WITHOUT_STATUS or item.status is None:
        unsent.add("status")
    if item.type == "reasoning" and item.content is None:
        unsent.add("content")
    given = _decode_fields(payload)
    if unsent.isdisjoint(given):
        return Opaque(WIRE, payload.decode(errors="replace"))
    return Opaque(WIRE, encode({name: value for name, value in given.items() if name not in unsent}).decode(errors="replace"))
