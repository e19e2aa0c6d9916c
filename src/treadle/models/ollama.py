"""Models in Ollama, over its own API: only there can the size of the window be asked for.

Ollama cuts what doesn't fit into its window, silently, and its window is small unless told otherwise. So each request asks for
one that is large enough, wants an error instead of a cut, and looks at what was read where the server is too old for that.
"""

import os
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
    Finish,
    Options,
    ReplyEnded,
    Request,
    TextDelta,
    ThinkingDelta,
    Traits,
    Usage,
)
from treadle.models.arriving import Ids
from treadle.models.chances import Token, chances_of
from treadle.models.encoding import Kept, decoder, encode, encode_functions, fields, with_note
from treadle.models.exchange import PATIENT, Timeouts
from treadle.models.glance import glance
from treadle.models.http import Endpoint
from treadle.models.media import Load, base64_of, introduce, load, results_with_media, text_of_media
from treadle.models.refusals import Server, broken, told, unreadable
from treadle.models.splitting import Records

PORT = 11434
SMALLEST = 4096  # tokens of the smallest window asked for
LARGEST = 32768  # tokens of the largest one, unless `context` says otherwise: a window takes memory, read or not
ROOM = 2048  # tokens kept for a reply without a limit of its own
_PATH = "/api/chat"
_DENSE, _LOOSE = 3, 6  # bytes a token has at least, and at most, over a whole conversation


def from_name(name: str, **settings: Any) -> "Ollama":
    """The model behind `ollama:NAME`."""
    return Ollama(name, **settings)


def address_of(host: str | None = None) -> str:
    """Where Ollama is: `host`, else OLLAMA_HOST, else this machine. Takes what Ollama takes: a URL, or less of one."""
    given = (host or os.environ.get("OLLAMA_HOST") or "").strip().rstrip("/")
    try:
        parts = urlsplit(given if "://" in given else f"http://{given}")
        port = parts.port or (None if "://" in given else PORT)
    except ValueError as error:
        raise SettingsError(f"{given!r} is no address of an Ollama ({error}); write it as host:port.") from error
    name = parts.hostname or "127.0.0.1"
    name = "127.0.0.1" if name == "0.0.0.0" else f"[{name}]" if ":" in name else name  # noqa: S104 - what servers listen on, asked for here
    return f"{parts.scheme}://{name}{f':{port}' if port else ''}{parts.path}"


class Ollama:
    """A model in Ollama. `context` is the largest window to ask for, in tokens."""

    def __init__(
        self,
        name: str,
        *,
        base_url: str | None = None,
        stream: bool = True,
        context: int | None = None,
        headers: Mapping[str, str] | None = None,
        timeouts: Timeouts = PATIENT,
        key_variable: str = "",
    ) -> None:
        self.name = f"ollama:{name}"
        self.traits = Traits(
            context=context or LARGEST, streams=stream, modalities=frozenset(("image",)), structured_output="without_tools"
        )
        self._model = name
        self._stream = stream
        self._largest = context or LARGEST
        self._window = min(SMALLEST, self._largest)
        absent = f"Get it with `ollama pull {name}`."
        remedy = "is it running? Start it with `ollama serve`"
        self._server = Server(self.name, address_of(base_url), key_variable=key_variable, remedy=remedy, absent=absent)
        self.address = self._server.address
        self._endpoint = Endpoint(self._server, headers=headers, timeouts=timeouts)
        self._settings = Kept(self._encode_settings)
        self._options = Kept(_encode_options)
        self._tools = Kept(encode_functions)

    def reply(self, request: Request) -> AsyncIterator[Delta]:
        """The reply, piece by piece."""
        history = request.history.encoded("ollama", lambda message: encode_message(message, request.blobs))
        content = self._content(request, history)
        size = len(content) - (_surplus_of_images(request.history) if request.blobs is not None else 0)
        window = self._window_for(size, request.options)
        options = self._options(request.options)
        body = b'{%b%b,"options":{%b%b"num_ctx":%d}}' % (
            self._settings(request.options),
            content,
            options,
            b"," if options else b"",
            window,
        )
        reading = Reply(self._server, Ids(len(request.history)), window, size)
        return self._endpoint.reply(_PATH, body, reading, Records() if self._stream else None)

    def _content(self, request: Request, history: bytes) -> bytes:
        instructions = b'{"role":"system","content":%b}' % encode(request.instructions) if request.instructions else b""
        messages = [part for part in (instructions, with_note(request, history)) if part]
        tools = self._tools(request.tools) if request.tools else b""
        shape = b',"format":%b' % encode(request.shape) if request.shape is not None else b""
        return b'%b%b,"messages":[%b]' % (tools, shape, b",".join(messages))

    def _window_for(self, size: int, options: Options) -> int:
        """The window to ask for. It never shrinks: another size makes Ollama load the model again."""
        asked = _asked_options(options).get("num_ctx")
        if isinstance(asked, int):
            return asked
        needed = size // _DENSE + (options.max_tokens or ROOM)
        while self._window < needed and self._window < self._largest:
            self._window = min(2 * self._window, self._largest)
        return self._window

    def _encode_settings(self, options: Options) -> bytes:
        extra = {name: value for name, value in options.extra.items() if name != "options"}
        values: dict[str, Any] = {"model": self._model, "truncate": False, "shift": False}
        return fields({**values, **extra, "stream": self._stream})


# What is sent


def _asked_options(options: Options) -> dict[str, Any]:
    return options.extra.get("options") or {}


def _encode_options(options: Options) -> bytes:
    values: dict[str, Any] = {
        "temperature": options.temperature,
        "num_predict": options.max_tokens,
        "top_p": options.top_p,
        "seed": options.seed,
        "stop": options.stop or None,
    }
    return fields({**values, **_asked_options(options), "num_ctx": None})


def encode_message(message: Message, blobs: Load | None = None) -> bytes:
    """A message on this wire; results become one message each. Nothing for a model's message without words and calls."""
    match message.role:
        case "person":
            return _encode_person(message.parts, blobs)
        case "model":
            return _encode_reply(message)
        case "tools":
            results = [_encode_result(part) for part in message.parts if isinstance(part, Result)]
            images = [part for result in results_with_media(message) for part in (Text(introduce(result)), *result.media)]
            return b",".join([*results, *([_encode_person(images, blobs)] if images else [])])
        case _:
            assert_never(message.role)


def _encode_person(parts: Sequence[Part], blobs: Load | None) -> bytes:
    """What a person says. Images come beside the words, in their order; of anything else there is the label, or its text."""
    if not any(isinstance(part, Media) for part in parts):
        return b'{"role":"user","content":%b}' % encode(text_of(parts))
    images: list[str] = []
    words: list[str] = []
    for part in parts:
        if isinstance(part, Media) and part.kind == "image" and blobs is not None:
            images.append(base64_of(part, load(blobs, part)))
        elif isinstance(part, Text | Media):
            words.append(part.text if isinstance(part, Text) else text_of_media(blobs, part))
    field = b'"images":%b,' % encode(images) if images else b""
    return b'{"role":"user",%b"content":%b}' % (field, encode("\n".join(words)))


def _surplus_of_images(history: History) -> int:
    """How many bytes of the encoded messages are no tokens: an image is read as some hundreds, however many bytes it has."""
    counts = history.encoded("ollama images", lambda message: b",".join([b"%d" % size for size in _surpluses(message)]))
    return sum([int(count) for count in counts.split(b",") if count])


def _surpluses(message: Message) -> list[int]:
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


class _Said(Struct):
    content: str | None = None
    thinking: str | None = None
    tool_calls: list[_Call] | None = None


class _Piece(Struct):
    message: _Said | None = None
    done: bool = False
    done_reason: str | None = None
    prompt_eval_count: int | None = None
    eval_count: int | None = None
    logprobs: list[Token] | None = None
    error: Any = None


_decode = decoder(_Piece)


class Reply:
    """Reads one reply: deltas out of the lines of a stream, or out of a whole body, which looks like one line."""

    def __init__(self, server: Server, ids: Ids, window: int, size: int) -> None:
        self._server = server
        self._ids = ids
        self._window = window
        self._size = size
        self._last: _Piece | None = None
        self._called = False
        self._chances: dict[str, float] = {}

    @property
    def ended(self) -> bool:
        """Whether the server has said that nothing more comes."""
        return self._last is not None

    finished = ended  # it says both at once

    @property
    def usage(self) -> Usage:
        """What the server has counted: it says so at the end."""
        last = self._last or _Piece()
        return Usage(requests=1, input_tokens=last.prompt_eval_count or 0, output_tokens=last.eval_count or 0)

    def read(self, payloads: Iterable[bytes]) -> Iterator[Delta]:
        """The deltas in some lines of a stream."""
        for payload in payloads:
            try:
                piece = _decode(payload)
            except (DecodeError, UnicodeDecodeError, RecursionError) as error:
                raise unreadable(self._server, payload) from error
            if piece.error is not None:
                raise told(self._server, piece.error)
            if piece.logprobs and not self._chances:
                self._chances = chances_of(piece.logprobs)
            if piece.message is not None:
                yield from self._said(piece.message)
            if piece.done:
                self._last = piece
                return

    def whole(self, body: bytes) -> Iterator[Delta]:
        """The deltas of a reply that came in one."""
        yield from self.read((body,))
        yield from self.end()

    def end(self) -> Iterator[Delta]:
        """What is left when the stream is over."""
        last = self._last
        if last is None:
            raise broken(self._server, "it ended without saying why")
        self._check(last)
        yield ReplyEnded(self._finish(last), self.usage, self._server.model, chances=self._chances)

    def _said(self, said: _Said) -> Iterator[Delta]:
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

    def _check(self, last: _Piece) -> None:
        """Say so where the window was too small after all."""
        read = self.usage.input_tokens
        full = last.done_reason == "length" and self.usage.total_tokens >= self._window
        cut = self._size // _DENSE > self._window and 0 < read < self._size // _LOOSE
        if full or cut:
            raise ContextTooLong(
                f"The conversation is more than the window of {self._server.model}, {self._window} tokens: "
                "set a larger `context`, if the model and the memory allow it."
            )

    def _finish(self, last: _Piece) -> Finish:
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


async def running(host: str | None = None, seconds: float = 0.5) -> bool:
    """Whether an Ollama answers there."""
    return await _got(host, "/api/version", seconds) is not None


async def installed_models(host: str | None = None, seconds: float = 0.5) -> list[str]:
    """The names of the models that can be talked to there, the newest first; none where no Ollama answers."""
    try:
        models = Decoder(_Tags).decode(await _got(host, "/api/tags", seconds) or b"{}").models or []
    except DecodeError:
        return []
    return [model.name for model in models if not _embeds(model)]


def _embeds(model: _Installed) -> bool:
    family = (model.details and model.details.family) or ""
    return "embed" in model.name or family.endswith("bert")


async def _got(host: str | None, path: str, seconds: float) -> bytes | None:
    try:
        return await glance(address_of(host), path, seconds=seconds)
    except SettingsError:
        return None
