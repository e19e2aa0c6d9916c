"""Models in Ollama, over its own API: only there can the size of the context window be requested.

Ollama silently truncates what doesn't fit into its window, and its default window is small. So each request asks for one that
is large enough, asks for an error instead of truncation, and checks the token count where the server is too old for that.
"""

import os
import re
from collections.abc import AsyncIterator, Iterable, Iterator, Mapping, Sequence
from typing import Any, assert_never
from urllib.parse import urlsplit

from msgspec import DecodeError, Struct
from msgspec.json import Decoder

from treadle.core.calls import Call, Media, Result, Written
from treadle.core.errors import ContextTooLong, SettingsError
from treadle.core.messages import MEDIA_SIZE, History, Message, Part, Text, text_of
from treadle.core.requests import (
    CallDelta,
    CallDone,
    Delta,
    Effort,
    Finish,
    Options,
    ReplyEnded,
    Request,
    TextDelta,
    ThinkingDelta,
    Traits,
    Usage,
)
from treadle.models.connections import DEFAULT_TIMEOUTS, Timeouts
from treadle.models.encoding import CachedEncoder, append_note, check_extra, encode, encode_fields, encode_functions, make_decoder
from treadle.models.http import ModelEndpoint
from treadle.models.media import MediaLoader, encode_base64, introduce_media, load_media, media_as_text, results_with_media
from treadle.models.server_errors import ServerIdentity, broken_reply_error, error_from_object, unreadable_reply_error
from treadle.models.server_probe import probe_server
from treadle.models.stream_splitters import JsonLinesSplitter
from treadle.models.wires.logprobs import TokenLogprob, first_token_logprobs
from treadle.models.wires.partial_calls import CallIds

PORT = 11434
MIN_WINDOW = 4096  # tokens of the smallest window asked for
MAX_WINDOW = 32768  # tokens of the largest one, unless `context` says otherwise: a window takes memory, read or not
REPLY_TOKENS = 2048  # tokens kept for a reply without a limit of its own
_PATH = "/api/chat"
_DENSE, _LOOSE = 3, 6  # bytes a token has at least, and at most, over a whole conversation


def from_name(name: str, **settings: Any) -> "Ollama":
    """Return the model behind `ollama:NAME`."""
    return Ollama(name, **settings)


def ollama_address(host: str | None = None) -> str:
    """Return Ollama's URL: `host`, else OLLAMA_HOST, else this machine. Accepts what Ollama accepts: a URL, or parts of one.

    Clients of its OpenAI-compatible API have `/v1` at its end.
    """
    given = (host or os.environ.get("OLLAMA_HOST") or "").strip().rstrip("/")
    try:
        parts = urlsplit(given if "://" in given else f"http://{given}")
        port = parts.port or (None if "://" in given else PORT)
    except ValueError as error:
        raise SettingsError(f"{given!r} is no address of an Ollama ({error}); write it as host:port.") from error
    name = parts.hostname or "127.0.0.1"
    name = "127.0.0.1" if name == "0.0.0.0" else f"[{name}]" if ":" in name else name  # noqa: S104 - what servers listen on, asked for here
    return f"{parts.scheme}://{name}{f':{port}' if port else ''}{re.sub('/(v1|api)$', '', parts.path)}"


class Ollama:
    """A model in Ollama. `context` is the largest window to request, in tokens."""

    def __init__(
        self,
        name: str,
        *,
        base_url: str | None = None,
        stream: bool = True,
        context: int | None = None,
        headers: Mapping[str, str] | None = None,
        timeouts: Timeouts = DEFAULT_TIMEOUTS,
        key_variable: str = "",
    ) -> None:
        self.name = f"ollama:{name}"
        self.traits = Traits(
            context=context or MAX_WINDOW, streams=stream, modalities=frozenset(("image",)), structured_output="without_tools"
        )
        self._model = name
        self._stream = stream
        self._largest = context or MAX_WINDOW
        self._window = min(MIN_WINDOW, self._largest)
        absent = f"Get it with `ollama pull {name}`."
        remedy = "is it running? Start it with `ollama serve`"
        self._server = ServerIdentity(self.name, ollama_address(base_url), key_variable=key_variable, remedy=remedy, absent=absent)
        self.address = self._server.address
        self._endpoint = ModelEndpoint(self._server, headers=headers, timeouts=timeouts)
        self._settings = CachedEncoder(self._encode_settings)
        self._options = CachedEncoder(_encode_options)
        self._tools = CachedEncoder(encode_functions)

    def reply(self, request: Request) -> AsyncIterator[Delta]:
        """Stream the reply."""
        history = request.history.encode("ollama", lambda message: encode_ollama_message(message, request.blobs))
        content = self._encode_content(request, history)
        size = len(content) - (_image_surplus(request.history) if request.blobs is not None else 0)
        window = self._choose_window(size, request.options)
        options = self._options(request.options)
        body = b'{%b%b,"options":{%b%b"num_ctx":%d}}' % (
            self._settings(request.options),
            content,
            options,
            b"," if options else b"",
            window,
        )
        reading = OllamaReply(self._server, CallIds(len(request.history)), window, size)
        splitter = JsonLinesSplitter() if self._stream else None
        return self._endpoint.reply(_PATH, body, reading, splitter, progress=request.progress)

    def _encode_content(self, request: Request, history: bytes) -> bytes:
        check_extra(request.options.extra, "messages", "tools", *(("format",) if request.shape is not None else ()))
        instructions = b'{"role":"system","content":%b}' % encode(request.instructions) if request.instructions else b""
        messages = [part for part in (instructions, append_note(request, history)) if part]
        tools = self._tools(request.tools) if request.tools else b""
        shape = b',"format":%b' % encode(request.shape) if request.shape is not None else b""
        return b'%b%b,"messages":[%b]' % (tools, shape, b",".join(messages))

    def _choose_window(self, size: int, options: Options) -> int:
        """Return the window to request. It never shrinks: another size makes Ollama load the model again."""
        asked = _extra_options(options).get("num_ctx")
        if isinstance(asked, int):
            return asked
        needed = size // _DENSE + (options.max_tokens or REPLY_TOKENS)
        while self._window < needed and self._window < self._largest:
            self._window = min(2 * self._window, self._largest)
        return self._window

    def _encode_settings(self, options: Options) -> bytes:
        extra = {name: value for name, value in options.extra.items() if name != "options"}
        think = options.reasoning and _choose_thinking(self._model, options.reasoning)
        values: dict[str, Any] = {"model": self._model, "think": think, "truncate": False, "shift": False}
        return encode_fields({**values, **extra, "stream": self._stream})


# What is sent


def _extra_options(options: Options) -> dict[str, Any]:
    return options.extra.get("options") or {}


def _choose_thinking(model: str, effort: Effort) -> bool | str:
    """Return whether a model is to think; gpt-oss always does, and takes how much."""
    if "gpt-oss" in model:
        return {"none": "low", "minimal": "low", "xhigh": "high"}.get(effort, effort)
    return effort != "none"


def _encode_options(options: Options) -> bytes:
    values: dict[str, Any] = {
        "temperature": options.temperature,
        "num_predict": options.max_tokens,
        "top_p": options.top_p,
        "seed": options.seed,
        "stop": options.stop or None,
    }
    return encode_fields({**values, **_extra_options(options), "num_ctx": None})


def encode_ollama_message(message: Message, blobs: MediaLoader | None = None) -> bytes:
    """Encode a message; results become one message each. Empty for a model's message without text and calls."""
    match message.role:
        case "person":
            return _encode_user(message.parts, blobs)
        case "model":
            return _encode_reply(message)
        case "tools":
            results = [_encode_result(part) for part in message.parts if isinstance(part, Result)]
            images = [part for result in results_with_media(message) for part in (Text(introduce_media(result)), *result.media)]
            return b",".join([*results, *([_encode_user(images, blobs)] if images else [])])
        case _:
            assert_never(message.role)


def _encode_user(parts: Sequence[Part], blobs: MediaLoader | None) -> bytes:
    """Encode a user message. Images are sent beside the text, in order; other media as their label, or their text."""
    if not any(isinstance(part, Media) for part in parts):
        return b'{"role":"user","content":%b}' % encode(text_of(parts))
    images: list[str] = []
    words: list[str] = []
    for part in parts:
        if isinstance(part, Media) and part.kind == "image" and blobs is not None:
            images.append(encode_base64(part, load_media(blobs, part)))
        elif isinstance(part, Text | Media):
            words.append(part.text if isinstance(part, Text) else media_as_text(blobs, part))
    field = b'"images":%b,' % encode(images) if images else b""
    return b'{"role":"user",%b"content":%b}' % (field, encode("\n".join(words)))


def _image_surplus(history: History) -> int:
    """Return how many bytes of the encoded messages are no tokens: an image is some hundreds of tokens, whatever its size."""
    counts = history.encode("ollama images", lambda message: b",".join([b"%d" % size for size in _image_surpluses(message)]))
    return sum([int(count) for count in counts.split(b",") if count])


def _image_surpluses(message: Message) -> list[int]:
    found = [part for part in message.parts if isinstance(part, Media)]
    found += [media for result in results_with_media(message) for media in result.media]
    return [max((media.size + 2) // 3 * 4 - MEDIA_SIZE, 0) for media in found if media.kind == "image"]


def _encode_reply(message: Message) -> bytes:
    text = text_of(message.parts)
    calls = b",".join([_encode_call(part) for part in message.parts if isinstance(part, Call)])
    if not (text or calls):
        return b""
    field = b'"tool_calls":[%b],' % calls if calls else b""
    return b'{"role":"assistant",%b"content":%b}' % (field, encode(text))


def _encode_call(call: Call) -> bytes:
    function = b'{"name":%b,"arguments":%b}' % (encode(call.name), encode(call.arguments))
    return b'{"id":%b,"function":%b}' % (encode(call.id), function)


def _encode_result(result: Result) -> bytes:
    of = encode(result.name), encode(result.call_id), encode(result.content)
    return b'{"role":"tool","tool_name":%b,"tool_call_id":%b,"content":%b}' % of


# What comes back


class _Function(Struct):
    name: str = ""
    arguments: dict[str, Any] | str | None = None


class _Call(Struct):
    function: _Function
    id: str | None = None


class _Message(Struct):
    content: str | None = None
    thinking: str | None = None
    tool_calls: list[_Call] | None = None


class _Chunk(Struct):
    message: _Message | None = None
    done: bool = False
    done_reason: str | None = None
    prompt_eval_count: int | None = None
    eval_count: int | None = None
    logprobs: list[TokenLogprob] | None = None
    error: Any = None
    model: Any = None


_decode = make_decoder(_Chunk)


class OllamaReply:
    """Reads one reply: deltas from the lines of a stream, or from a complete body, which looks like one line."""

    def __init__(self, server: ServerIdentity, ids: CallIds, window: int, size: int) -> None:
        self._server = server
        self._ids = ids
        self._window = window
        self._size = size
        self._last: _Chunk | None = None
        self._called = False
        self._chances: dict[str, float] = {}

    @property
    def ended(self) -> bool:
        """Whether the server has said that nothing more comes."""
        return self._last is not None

    finished = ended  # it says both at once

    @property
    def usage(self) -> Usage:
        """Token counts, which the server sends at the end."""
        last = self._last or _Chunk()
        return Usage(requests=1, input_tokens=last.prompt_eval_count or 0, output_tokens=last.eval_count or 0)

    def read(self, payloads: Iterable[bytes]) -> Iterator[Delta]:
        """Return the deltas in some lines of a stream."""
        for payload in payloads:
            try:
                piece = _decode(payload)
            except (DecodeError, UnicodeDecodeError, RecursionError) as error:
                raise unreadable_reply_error(self._server, payload) from error
            if piece.error is not None:
                raise error_from_object(self._server, piece.error)
            if piece.logprobs and not self._chances:
                self._chances = first_token_logprobs(piece.logprobs)
            if piece.message is not None:
                yield from self._said(piece.message)
            if piece.done:
                self._last = piece
                return

    def whole(self, body: bytes) -> Iterator[Delta]:
        """Return the deltas of a reply that wasn't streamed."""
        yield from self.read((body,))
        yield from self.end()

    def end(self) -> Iterator[Delta]:
        """Return the deltas left at the end of the stream."""
        last = self._last
        if last is None:
            raise broken_reply_error(self._server, "it ended without saying why")
        self._check_window(last)
        yield ReplyEnded(self._finish(last), self.usage, self._server.model, self._chances, str(last.model or ""))

    def _said(self, said: _Message) -> Iterator[Delta]:
        if said.thinking:
            yield ThinkingDelta(said.thinking)
        if said.content:
            yield TextDelta(said.content)
        for call in said.tool_calls or ():
            self._called = True
            call_id, name = self._ids.unique(call.id), call.function.name
            arguments = call.function.arguments
            text = arguments if isinstance(arguments, str) else encode(arguments or {}).decode()
            yield CallDelta(call_id, name)
            yield CallDone(Written(call_id, name, text or "{}"))

    def _check_window(self, last: _Chunk) -> None:
        """Raise an error if the window was too small after all."""
        read = self.usage.input_tokens
        full = last.done_reason == "length" and self.usage.total_tokens >= self._window
        cut = self._size // _DENSE > self._window and 0 < read < self._size // _LOOSE
        if full or cut:
            raise ContextTooLong(
                f"The conversation is more than the window of {self._server.model}, {self._window} tokens: "
                "set a larger `context`, if the model and the memory allow it."
            )

    def _finish(self, last: _Chunk) -> Finish:
        if last.done_reason == "length":
            return "length"
        return "calls" if self._called else "done"


# Whether it is there


class _Details(Struct):
    family: str | None = None


class _Installed(Struct):
    name: str
    details: _Details | None = None


class _Tags(Struct):
    models: list[_Installed] | None = None


async def is_ollama_running(host: str | None = None, seconds: float = 0.5) -> bool:
    """Return whether an Ollama server responds there."""
    return await _get(host, "/api/version", seconds) is not None


async def list_ollama_models(host: str | None = None, seconds: float = 0.5) -> list[str]:
    """Return the names of the chat models installed there, the newest first; empty if no Ollama server responds."""
    try:
        models = Decoder(_Tags).decode(await _get(host, "/api/tags", seconds) or b"{}").models or []
    except DecodeError:
        return []
    return [model.name for model in models if not _is_embedding_model(model)]


def _is_embedding_model(model: _Installed) -> bool:
    family = (model.details and model.details.family) or ""
    return "embed" in model.name or family.endswith("bert")


async def _get(host: str | None, path: str, seconds: float) -> bytes | None:
    try:
        return await probe_server(ollama_address(host), path, seconds=seconds)
    except SettingsError:
        return None
