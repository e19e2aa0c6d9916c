"""A model whose replies are written in advance: for tests, examples and demonstrations.

    Scripted(calls(("stock", {"item": "A-113"})), "We have 40 of them.")

It stores the requests it received in `requests`. It doesn't interpret them.
"""

from collections.abc import AsyncIterable, AsyncIterator, Callable, Iterable, Iterator
from pathlib import Path
from typing import Any, cast

import msgspec
from msgspec import Struct

from treadle.core.calls import Written
from treadle.core.errors import ModelRefused, SettingsError
from treadle.core.requests import (
    CallDelta,
    CallDone,
    Delta,
    Finish,
    ReplyEnded,
    Request,
    TextDelta,
    ThinkingDelta,
    Traits,
    Usage,
)


class ScriptedCall(Struct, frozen=True, forbid_unknown_fields=True):
    """A call in a scripted reply. `arguments` may also be text, as a model would write it, valid or not."""

    name: str
    arguments: dict[str, Any] | str = {}
    id: str = ""


class ScriptedReply(Struct, frozen=True, forbid_unknown_fields=True):
    """A reply: thinking first, then text, then calls. `finish` follows from them unless it is given."""

    text: str = ""
    calls: tuple[ScriptedCall, ...] = ()
    thinking: str = ""
    usage: Usage = Usage(requests=1)
    finish: Finish | None = None


ReplySource = str | ScriptedReply | Exception | Iterable[Delta | Exception] | AsyncIterable[Delta]
Script = ReplySource | Callable[[Request], ReplySource]

_TRAITS = Traits()


def calls(*asked: tuple[str, dict[str, Any] | str], text: str = "") -> ScriptedReply:
    """Return a reply that calls tools: each a name and its arguments."""
    return ScriptedReply(text=text, calls=tuple(ScriptedCall(name, arguments) for name, arguments in asked))


class Scripted:
    """Returns its replies one after the other.

    A reply is text, a `ScriptedReply` (see `calls`), an exception to raise, deltas (and exceptions between them), or a function
    of the request that returns any of these. `chunk` streams text in pieces of this many characters.
    """

    def __init__(self, *replies: Script, name: str = "scripted", traits: Traits = _TRAITS, chunk: int | None = None) -> None:
        self.name = name
        self.traits = traits
        self.requests: list[Request] = []
        self._replies = replies
        self._chunk = chunk

    async def reply(self, request: Request) -> AsyncIterator[Delta]:
        """Stream the next reply of the script."""
        self.requests.append(request)
        reply = self._next_reply(request)
        if isinstance(reply, AsyncIterable):
            async for delta in reply:
                yield delta
            return
        for delta in self._to_deltas(reply):
            if isinstance(delta, Exception):
                raise delta
            yield delta

    def _next_reply(self, request: Request) -> ReplySource:
        number = len(self.requests)
        if number > len(self._replies):
            raise ModelRefused(f"The script of {self.name} has no reply left for request {number}; it has {len(self._replies)}.")
        script = self._replies[number - 1]
        return script(request) if callable(script) else script

    def _to_deltas(self, reply: ReplySource) -> Iterable[Delta | Exception]:
        match reply:
            case str():
                return self._answer(ScriptedReply(text=reply))
            case ScriptedReply():
                return self._answer(reply)
            case Exception():
                return (reply,)
            case _:
                return cast("Iterable[Delta | Exception]", reply)

    def _answer(self, answer: ScriptedReply) -> Iterator[Delta]:
        if answer.thinking:
            yield ThinkingDelta(answer.thinking)
        step = self._chunk or len(answer.text) or 1
        for start in range(0, len(answer.text), step):
            yield TextDelta(answer.text[start : start + step])
        for number, asked in enumerate(answer.calls, 1):
            call_id = asked.id or f"call_{len(self.requests)}_{number}"
            arguments = asked.arguments
            text = arguments if isinstance(arguments, str) else msgspec.json.encode(arguments).decode()
            yield CallDelta(call_id, asked.name)
            cut = answer.finish == "length" and number == len(answer.calls)
            yield CallDone(Written(call_id, asked.name, text, cut))
        yield ReplyEnded(answer.finish or ("calls" if answer.calls else "done"), answer.usage, self.name)


# Scripts in files


class _File(Struct, forbid_unknown_fields=True):
    replies: list[str | ScriptedReply]


def from_name(name: str, **settings: Any) -> Scripted:
    """Return the model behind `scripted:FILE`.

    JSON, JSON lines or TOML with a list of `replies`, each text or a `ScriptedReply`.
    """
    return Scripted(*read_script(Path(name)), name=f"scripted:{name}", **settings)


def read_script(path: Path) -> list[str | ScriptedReply]:
    """Return the replies in a file. `{"text": …}`, `{"calls": [{"name": …, "arguments": …}]}`, or plain text."""
    try:
        return _decode_script(path.suffix, path.read_bytes())
    except OSError as error:
        raise SettingsError(f"The script {path} can't be opened: {error.strerror}.") from error
    except (msgspec.MsgspecError, ValueError) as error:
        raise SettingsError(f"The script {path} can't be read: {error}") from error


def _decode_script(suffix: str, content: bytes) -> list[str | ScriptedReply]:
    if suffix == ".toml":
        import tomllib  # only scripts in this format need it

        return msgspec.convert(tomllib.loads(content.decode()), _File).replies
    if suffix == ".jsonl":
        return [msgspec.json.decode(line, type=str | ScriptedReply) for line in content.splitlines() if line.strip()]
    whole = msgspec.json.decode(content, type=list[str | ScriptedReply] | _File)
    return whole.replies if isinstance(whole, _File) else whole
