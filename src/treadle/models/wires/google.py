"""Models on Gemini's own protocol: `generateContent` of the Gemini API, and of Vertex AI (`vertex`).

Thought signatures are sent back with the part they came with. The history is sent as contents of alternating roles.
"""

import re
from collections.abc import AsyncIterator, Iterable, Iterator, Mapping
from functools import lru_cache, partial
from operator import is_
from typing import Any, assert_never
from urllib.parse import quote

from msgspec import DecodeError, Raw, Struct
from msgspec.structs import replace

from treadle.core.calls import Call, Media, Opaque, Result, Written
from treadle.core.errors import MissingKey, ReplyBroken
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
from treadle.models.encoding import CachedEncoder, check_extra, encode, make_decoder
from treadle.models.http import Authorize, ModelEndpoint
from treadle.models.media import (
    MediaLoader,
    encode_base64,
    introduce_media,
    load_media,
    media_as_text,
    narrow_modalities,
    results_with_media,
)
from treadle.models.server_errors import ServerIdentity, broken_reply_error, error_from_object, unreadable_reply_error
from treadle.models.stream_splitters import SseSplitter
from treadle.models.wires.google_schema import to_gemini_parameters, to_gemini_schema
from treadle.models.wires.partial_calls import CallIds

GOOGLE_URL = "https://generativelanguage.googleapis.com"
WIRE = "google"
NO_SIGNATURE = "skip_thought_signature_validator"  # Google's own value for calls that another model wrote
LONGEST_NAME = 64
DEFAULT_TRAITS = Traits()
MODALITIES = frozenset(("image", "audio", "document"))

_SIGNATURE = '{"thoughtSignature":'  # of a text that came with it, in a part of its own
_OPENING = "[The conversation begins here.]"  # a history must not begin with the model
_UNFIT = re.compile(r"[^a-zA-Z0-9_.:-]")
_API_VERSION = re.compile(r"/v1(alpha|beta)?(/openai)?$")  # at the end of a base URL, where other providers have one
_VERSION = re.compile(r"gemini-(\d+(?:\.\d+)?)")

_BUDGETS = {"none": 0, "minimal": 512, "low": 1024, "medium": 8192, "high": 24576, "xhigh": 24576}
_PRO_BUDGETS = {**_BUDGETS, "none": 128, "xhigh": 32768}  # Pro always thinks


class Google:
    """A model on Gemini's protocol. Reads no environment variables.

    `path` is that of the model, without the method, and `authorize` returns the headers of each request instead of a key. Without
    `call_ids`, calls and results are matched by their order. `absent` says what to check if there is no such model.
    """

    def __init__(
        self,
        name: str,
        *,
        base_url: str = GOOGLE_URL,
        api_key: str = "",
        stream: bool = True,
        traits: Traits = DEFAULT_TRAITS,
        headers: Mapping[str, str] | None = None,
        timeouts: Timeouts = DEFAULT_TIMEOUTS,
        kind: str = "google",
        key_variable: str = "GEMINI_API_KEY",
        max_output: int | None = None,
        path: str | None = None,
        authorize: Authorize | None = None,
        call_ids: bool = True,
        absent: str = "Check the model's name and the base_url.",
    ) -> None:
        self.name = f"{kind}:{name}"
        self.traits = replace(
            traits, streams=traits.streams and stream, modalities=narrow_modalities(MODALITIES, traits.modalities)
        )
        base_url, key = _API_VERSION.sub("", base_url.rstrip("/")), api_key.strip()
        if base_url == GOOGLE_URL and not key and authorize is None:
            raise MissingKey(f"{self.name} needs a key: set {key_variable}. For a server of your own, set base_url.")
        remedy = "is the network up?" if base_url.endswith(".googleapis.com") else "is it running, and is base_url right?"
        secrets = (key,) if key else ()
        self._server = ServerIdentity(self.name, base_url, key_variable=key_variable, remedy=remedy, absent=absent, secrets=secrets)
        fixed = {"x-goog-api-key": key} if key else {}
        self._endpoint = ModelEndpoint(self._server, headers={**fixed, **(headers or {})}, timeouts=timeouts, authorize=authorize)
        self._whole_path = (path or _model_path(name)) + ":generateContent"
        self._path = (path or _model_path(name)) + ":streamGenerateContent?alt=sse" if stream else self._whole_path
        self._stream = stream
        self._model = name.rpartition("/")[2]
        self._max_output = max_output
        signs = _parse_version(self._model) >= 3
        self._form = f"google{'' if call_ids else ' without ids'}{' signed' if signs else ''}"
        self._encode_message = partial(encode_google_message, call_ids=call_ids, signs=signs)
        self._tools = CachedEncoder(_encode_tools)
        self._last: _Head | None = None

    def reply(self, request: Request) -> AsyncIterator[Delta]:
        """Stream the reply."""
        history = request.history.encode(self._form, partial(self._encode_message, blobs=request.blobs))
        head = self._head(request)
        body = b'{%b"contents":[%b]}' % (head.encoded, _join_contents(history, request.note))
        reading = GoogleReply(self._server, CallIds(len(request.history)), head.names)
        splitter = SseSplitter() if self._stream else None
        return self._endpoint.reply(
            self._path, body, reading, splitter, request.options.headers, whole_path=self._whole_path, progress=request.progress
        )

    def _head(self, request: Request) -> "_Head":
        """Encode all fields but the contents. A run sends the very same ones each round."""
        asked = (request.instructions, request.tools, request.options, request.shape)
        head = self._last
        if head is None or not all(map(is_, asked, head.asked)):
            values = {name: value for name, value in self._build_fields(request).items() if value not in (None, {}, [])}
            names = {clean_function_name(tool.name): tool.name for tool in request.tools}
            head = self._last = _Head(asked, encode(values)[1:-1] + b"," if values else b"", names)
        return head

    def _build_fields(self, request: Request) -> dict[str, Any]:
        extra = dict(request.options.extra)
        check_extra(extra, "contents", *(("systemInstruction",) if request.instructions else ()))
        tools = [Raw(self._tools(request.tools))] if request.tools else []
        tool_config = _build_tool_config(request.options) if tools else {}
        return {
            "systemInstruction": {"parts": [{"text": request.instructions}]} if request.instructions else None,
            "tools": [*tools, *extra.pop("tools", ())],
            "toolConfig": {**tool_config, **extra.pop("toolConfig", {})},
            "generationConfig": {**self._build_generation_config(request), **extra.pop("generationConfig", {})},
            **extra,
        }

    def _build_generation_config(self, request: Request) -> dict[str, Any]:
        options = request.options
        limits = [limit for limit in (options.max_tokens, self._max_output) if limit is not None]
        values: dict[str, Any] = {
            "temperature": options.temperature,
            "topP": options.top_p,
            "maxOutputTokens": min(limits, default=None),
            "stopSequences": options.stop or None,
            "seed": options.seed,
            "thinkingConfig": _build_thinking_config(self._model, options),
        }
        # Models before Gemini 3 refuse to be held to a schema while they have tools.
        if request.shape is not None and (not request.tools or _parse_version(self._model) >= 3):
            values["responseMimeType"] = "application/json"
            values["responseSchema"] = to_gemini_schema(request.shape, ordered=True)
        return {name: value for name, value in values.items() if value is not None}


class _Head(Struct, frozen=True):
    """Everything before the contents of a request, with a comma after it, and the tools' names by those that were sent."""

    asked: tuple[object, ...]
    encoded: bytes
    names: dict[str, str]


def _model_path(name: str) -> str:
    return f"/v1beta/{quote(name)}" if "/" in name else f"/v1beta/models/{quote(name)}"


def _parse_version(model: str) -> float:
    """Return the version in a model's name: 2.5, 3.1. Names that Google moves on to its newest models count as new."""
    if found := _VERSION.match(model):
        return float(found[1])
    return float("inf") if re.match(r"gemini-.*latest", model) else 0.0


# What is sent


def clean_function_name(name: str) -> str:
    """Return a function name that this protocol accepts."""
    plain = _UNFIT.sub("_", name)
    return (plain if re.match(r"[a-zA-Z_]", plain) else f"_{plain}")[:LONGEST_NAME]


@lru_cache(256)
def _encode_function_name(name: str) -> bytes:
    return encode(clean_function_name(name))


def _encode_tools(tools: tuple[ToolSpec, ...]) -> bytes:
    return encode({"functionDeclarations": [_build_declaration(tool) for tool in tools]})


def _build_declaration(tool: ToolSpec) -> dict[str, Any]:
    parameters = to_gemini_parameters(tool.parameters)
    declared = {"name": clean_function_name(tool.name), "description": tool.description}
    return declared if parameters is None else {**declared, "parameters": parameters}


def _build_tool_config(options: Options) -> dict[str, Any]:
    match options.tool_choice:
        case None:
            return {}
        case "auto" | "none":
            config: dict[str, Any] = {"mode": options.tool_choice.upper()}
        case "required":
            config = {"mode": "ANY"}
        case name:
            config = {"mode": "ANY", "allowedFunctionNames": [clean_function_name(name)]}
    return {"functionCallingConfig": config}


def _build_thinking_config(model: str, options: Options) -> dict[str, Any] | None:
    """Return the thinking setting: a level from Gemini 3 on, tokens before. Models that don't think refuse either."""
    effort, budget = options.reasoning, options.reasoning_budget
    version = _parse_version(model)
    if (effort is None and budget is None) or 0 < version < 2.5 or model.startswith("gemma"):
        return None
    shown = effort != "none" if effort is not None else budget != 0
    if effort is not None and version >= 3:
        return {"includeThoughts": shown, "thinkingLevel": _thinking_level(model, effort)}
    if budget is None and effort is not None:
        budget = (_PRO_BUDGETS if "pro" in model else _BUDGETS)[effort]
    return {"includeThoughts": shown, "thinkingBudget": budget}


def _thinking_level(model: str, effort: str) -> str:
    """Return the nearest level that the model has: only Flash has `MINIMAL`, and the first Pro of Gemini 3 has no `MEDIUM`."""
    match effort:
        case "none" | "minimal":
            return "MINIMAL" if "flash" in model else "LOW"
        case "low":
            return "LOW"
        case "medium" if not model.startswith("gemini-3-pro"):
            return "MEDIUM"
        case _:
            return "HIGH"


# A message is encoded once, without knowing its neighbours. These bytes, which no JSON has in it, mark its end until all of them
# are there: then contents of one role that follow each other become one.
_USER, _USER_END = b'{"role":"user","parts":[', b"\x01"
_MODEL, _MODEL_END = b'{"role":"model","parts":[', b"\x02"


def _join_contents(history: bytes, note: str) -> bytes:
    """Return the contents of a request, with alternating roles that begin with the user. The note comes last."""
    said = [history] if history else []
    if not history.startswith(_USER) and (history or not note):
        said.insert(0, _encode_user_text(_OPENING))
    if note:
        said.append(_encode_user_text(f"[{note}]"))
    contents = b",".join(said)
    contents = contents.replace(_USER_END + b"," + _USER, b",").replace(_MODEL_END + b"," + _MODEL, b",")
    return contents.replace(_USER_END, b"]}").replace(_MODEL_END, b"]}")


def _encode_user_text(text: str) -> bytes:
    return b'%b{"text":%b}%b' % (_USER, encode(text), _USER_END)


def encode_google_message(message: Message, *, call_ids: bool, signs: bool, blobs: MediaLoader | None = None) -> bytes:
    """Encode a message as the beginning of a content, closed by the mark of its role; empty if it has no parts.

    `signs` gives the first call of a message a signature if it has none of its own, which Gemini 3 refuses.
    """
    first = next((index for index, part in enumerate(message.parts) if isinstance(part, Call)), -1) if signs else -1
    encoded: list[bytes] = []
    for index, part in enumerate(message.parts):
        if isinstance(part, Opaque) and part.wire == WIRE and part.json.startswith(_SIGNATURE):
            follows = index > 0 and isinstance(message.parts[index - 1], Text) and encoded[-1] != b""
            text = encoded.pop() if follows else b'{"text":""}'
            encoded.append(text[:-1] + b"," + part.json.encode()[1:])
        else:
            encoded.append(_encode_part(part, blobs, call_ids=call_ids, signs=index == first))
    for result in results_with_media(message):
        encoded += [b'{"text":%b}' % encode(introduce_media(result)), *[_encode_media(media, blobs) for media in result.media]]
    parts = b",".join(filter(None, encoded))
    if not parts:
        return b""
    return _MODEL + parts + _MODEL_END if message.role == "model" else _USER + parts + _USER_END


def _encode_media(media: Media, blobs: MediaLoader | None) -> bytes:
    if blobs is None or media.is_text:
        return b'{"text":%b}' % encode(media_as_text(blobs, media))
    inline = encode(media.media_type), encode(encode_base64(media, load_media(blobs, media)))
    return b'{"inlineData":{"mimeType":%b,"data":%b}}' % inline


def _encode_part(part: Part, blobs: MediaLoader | None, *, call_ids: bool, signs: bool) -> bytes:
    match part:
        case Text() | Quote() | Summary():
            return b'{"text":%b}' % encode(part.text) if part.text else b""
        case Thinking():
            return b""  # what the server needs of it is in the signatures
        case Opaque():
            return part.json.encode() if part.wire == WIRE else b""
        case Media():
            return _encode_media(part, blobs)
        case Call():
            function = _encode_id(part.id, call_ids), _encode_function_name(part.name), encode(part.arguments)
            return b'{"functionCall":{%b"name":%b,"args":%b}%b}' % (*function, _encode_signature(part, signs=signs))
        case Result():
            outcome = b"error" if part.problem else b"output"
            response = _encode_id(part.call_id, call_ids), _encode_function_name(part.name), outcome, encode(part.content)
            return b'{"functionResponse":{%b"name":%b,"response":{"%b":%b}}}' % response
        case _:
            assert_never(part)


def _encode_id(call_id: str, sent: bool) -> bytes:
    return b'"id":%b,' % encode(call_id) if sent else b""


def _encode_signature(call: Call, *, signs: bool) -> bytes:
    """Encode the signature that a call came with, byte for byte."""
    if call.opaque is not None and call.opaque.wire == WIRE:
        return b"," + call.opaque.json.encode()[1:-1]
    return b',"thoughtSignature":"%b"' % NO_SIGNATURE.encode() if signs else b""


# What comes back


class _FunctionCall(Struct):
    id: str | None = None
    name: str | None = None
    args: Raw = Raw(b"{}")


class _Part(Struct, rename="camel"):
    text: str | None = None
    thought: bool | None = None
    thought_signature: str | None = None
    function_call: _FunctionCall | None = None


class _Content(Struct):
    parts: list[Raw] | None = None


class _Candidate(Struct, rename="camel"):
    content: _Content | None = None
    finish_reason: str | None = None
    finish_message: str | None = None


class _Feedback(Struct, rename="camel"):
    block_reason: str | None = None


class _Counts(Struct, rename="camel"):
    prompt_token_count: int | None = None
    tool_use_prompt_token_count: int | None = None
    candidates_token_count: int | None = None
    thoughts_token_count: int | None = None
    cached_content_token_count: int | None = None


class _Chunk(Struct, rename="camel"):
    candidates: list[_Candidate] | None = None
    prompt_feedback: _Feedback | None = None
    usage_metadata: _Counts | None = None
    error: Any = None
    model_version: Any = None


_decode_chunk = make_decoder(_Chunk)
_decode_chunks = make_decoder(list[_Chunk])
_decode_part = make_decoder(_Part)
_decode_fields = make_decoder(dict[str, Raw])

_COMMON_FIELDS = frozenset(("text", "thought", "thoughtSignature"))
_BLOCKED = "the prompt was blocked"
_FINISH: dict[str, Finish] = {
    "MAX_TOKENS": "length",
    "CONTINUATION": "length",
    "SAFETY": "filtered",
    "RECITATION": "filtered",
    "LANGUAGE": "filtered",
    "BLOCKLIST": "filtered",
    "PROHIBITED_CONTENT": "filtered",
    "SPII": "filtered",
    "IMAGE_SAFETY": "filtered",
    "IMAGE_PROHIBITED_CONTENT": "filtered",
    "IMAGE_RECITATION": "filtered",
    _BLOCKED: "filtered",
}
_FAILED = frozenset(  # nothing that can be used was written; another try may do better
    ("MALFORMED_FUNCTION_CALL", "UNEXPECTED_TOOL_CALL", "TOO_MANY_TOOL_CALLS", "MALFORMED_RESPONSE", "MISSING_THOUGHT_SIGNATURE")
)


class GoogleReply:
    """Reads one reply: deltas from the payloads of a stream, or from a complete body. `names` are the tools' names as sent."""

    def __init__(self, server: ServerIdentity, ids: CallIds, names: Mapping[str, str]) -> None:
        self.ended = False
        self._server = server
        self._ids = ids
        self._names = names
        self._reason: str | None = None
        self._explanation = ""
        self._counts: _Counts | None = None
        self._called = False
        self._has_text = False  # and the next text would join it
        self._model: Any = None  # as the server calls it

    @property
    def finished(self) -> bool:
        """Whether the model has stated why it stopped."""
        return self._reason is not None

    @property
    def usage(self) -> Usage:
        """Token counts so far; thinking is output."""
        counts = self._counts
        if counts is None:
            return Usage(requests=1)
        return Usage(
            requests=1,
            input_tokens=(counts.prompt_token_count or 0) + (counts.tool_use_prompt_token_count or 0),
            output_tokens=(counts.candidates_token_count or 0) + (counts.thoughts_token_count or 0),
            cache_read_tokens=counts.cached_content_token_count or 0,
        )

    def read(self, payloads: Iterable[bytes]) -> Iterator[Delta]:
        """Return the deltas in some payloads of a stream."""
        for payload in payloads:
            if payload.startswith(b"[DONE]"):  # not of this protocol, but some servers write it
                self.ended = True
                return
            try:
                chunk = _decode_chunk(payload)
                yield from self._heard(chunk)
            except (DecodeError, UnicodeDecodeError, RecursionError) as error:
                raise unreadable_reply_error(self._server, payload) from error

    def whole(self, body: bytes) -> Iterator[Delta]:
        """Return the deltas of a reply that wasn't streamed. It is a list if a server streams it in its other form."""
        try:
            chunks = _decode_chunks(body) if body.lstrip()[:1] == b"[" else [_decode_chunk(body)]
            for chunk in chunks:
                yield from self._heard(chunk)
        except (DecodeError, UnicodeDecodeError, RecursionError) as error:
            raise unreadable_reply_error(self._server, body) from error
        if not any(chunk.candidates for chunk in chunks) and self._reason is None:
            raise unreadable_reply_error(self._server, body)
        self.ended = True
        yield from self.end()

    def end(self) -> Iterator[Delta]:
        """Return the deltas left at the end of the stream."""
        if not self.ended and self._reason is None:
            raise broken_reply_error(self._server, "it ended without saying why")
        if self._reason in _FAILED:
            said = self._server.quote(self._explanation)
            raise ReplyBroken(
                f"{self._server.model} at {self._server.host} wrote no call or answer that can be read ({self._reason}): "
                f"ask it again.{f' It said: {said}' if said else ''}"
            )
        yield ReplyEnded(self._finish(), self.usage, self._server.model, response_model=str(self._model or ""))

    def _heard(self, chunk: _Chunk) -> Iterator[Delta]:
        if chunk.error is not None:
            raise error_from_object(self._server, chunk.error)
        self._counts = chunk.usage_metadata or self._counts
        self._model = chunk.model_version or self._model
        if chunk.prompt_feedback is not None and chunk.prompt_feedback.block_reason:
            self._reason = _BLOCKED
        if chunk.candidates:
            candidate = chunk.candidates[0]
            for part in (candidate.content and candidate.content.parts) or ():
                yield from self._part(bytes(part))
            self._reason = candidate.finish_reason or self._reason
            self._explanation = candidate.finish_message or self._explanation

    def _part(self, payload: bytes) -> Iterator[Delta]:
        part = _decode_part(payload)
        if part.function_call is not None:
            self._has_text = False
            yield from self._call(part.function_call, part.thought_signature)
        elif part.text is None and _decode_fields(payload).keys() - _COMMON_FIELDS:
            yield Opaque(WIRE, payload.decode(errors="replace"))
        else:
            if part.text:
                yield ThinkingDelta(part.text) if part.thought else TextDelta(part.text)
            if part.thought_signature:
                yield _to_opaque(part, signed_text=bool(part.text) and not part.thought and not self._has_text)
            self._has_text = bool(part.text or self._has_text) and not (part.thought or part.thought_signature)

    def _call(self, call: _FunctionCall, signature: str | None) -> tuple[Delta, Delta]:
        """Return the deltas of a call, which always comes complete."""
        self._called = True
        call_id = self._ids.unique(call.id)
        name = self._names.get(call.name or "", call.name or "")
        text = bytes(call.args).decode(errors="replace")
        opaque = Opaque(WIRE, encode({"thoughtSignature": signature}).decode()) if signature else None
        return CallDelta(call_id, name), CallDone(Written(call_id, name, "{}" if text == "null" else text, opaque=opaque))

    def _finish(self) -> Finish:
        finish = _FINISH.get(self._reason or "", "done")
        return "calls" if self._called and finish == "done" else finish


def _to_opaque(part: _Part, *, signed_text: bool) -> Opaque:
    """Return the signature of a part: with the text before it if that is all it signs, else in a part without text."""
    empty: dict[str, Any] = {} if signed_text else {"text": "", **({"thought": True} if part.thought else {})}
    return Opaque(WIRE, encode({**empty, "thoughtSignature": part.thought_signature}).decode())
