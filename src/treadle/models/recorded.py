"""A model's replies, recorded once and replayed: tests that need no server and cost nothing.

A recording is a file of JSON lines: one about the model, then one per request with its reply, delta by delta. Replies are
looked up by the request, in any order. Keys and headers are no part of a request, and what looks like a secret is redacted.
"""

from collections.abc import AsyncIterator, Iterator, Sequence
from itertools import groupby, zip_longest
from pathlib import Path
from typing import Any, Literal, NamedTuple, cast

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from treadle.core.errors import RecordingDeparted, SettingsError
from treadle.core.requests import CallDelta, CallDone, Delta, ReplyEnded, Request, TextDelta, ThinkingDelta, Traits
from treadle.core.seams import Model
from treadle.guard.journal_secrets import mask_call
from treadle.guard.redaction import Redactor

RecordingMode = Literal["replay", "record", "auto"]

VERSION = 1

_KINDS: dict[str, type[Delta]] = {
    "text": TextDelta,
    "thinking": ThinkingDelta,
    "call": CallDelta,
    "called": CallDone,
    "ended": ReplyEnded,
}
_REDACTOR = Redactor()
_hide = _REDACTOR.value
_IN_PIECES = (TextDelta, ThinkingDelta)
_NAMES = {kind: name for name, kind in _KINDS.items()}


class _RecordingHeader(Struct):
    """The first line of a recording."""

    recording: int
    model: str
    traits: Traits


class _RecordedExchange(Struct):
    """Any other line: the request and the reply."""

    asked: dict[str, Any]
    reply: list[dict[str, Any]]


def from_name(name: str, **settings: Any) -> "Recorded":
    """Return the model behind `recorded:FILE`."""
    return Recorded(name, **settings)


class Recorded:
    """Replays a recording, or makes one.

    replay   a request that isn't recorded raises `RecordingDeparted`, which says where it differs from the nearest recorded one
    record   every request goes to `inner`, and the recording begins anew
    auto     requests that aren't recorded go to `inner` and are added

    For equal requests, the replies come in the order they were recorded, the last one repeatedly. Only complete replies are
    recorded.
    """

    def __init__(self, file: str | Path, inner: Model | None = None, mode: RecordingMode = "replay") -> None:
        if mode == "record" and inner is None:
            raise SettingsError("To record, a model is needed: Recorded(file, inner=model, mode='record').")
        self._file = Path(file)
        self._inner = inner
        self._mode: RecordingMode = mode
        self._recording = _Recording(None, {}, []) if mode == "record" else _load(self._file, may_be_new=mode == "auto")
        self._asked = 0
        self._given: dict[bytes, int] = {}

    @property
    def name(self) -> str:
        """The recorded model's name."""
        about = self._recording.about
        return self._inner.name if self._inner else about.model if about else f"recorded:{self._file}"

    @property
    def traits(self) -> Traits:
        """The recorded model's traits."""
        about = self._recording.about
        return self._inner.traits if self._inner else about.traits if about else Traits()

    async def reply(self, request: Request) -> AsyncIterator[Delta]:
        """Stream the recorded reply, or a new one."""
        self._asked += 1
        asked = _to_plain_request(request)
        known = self._find_reply(_request_key(asked)) if self._mode != "record" else None
        if known is not None:
            for delta in known:
                yield delta
            return
        if self._inner is None or self._mode == "replay":
            raise self._departure_error(asked)
        deltas: list[Delta] = []
        async for delta in self._inner.reply(request):
            deltas.append(delta)
            if isinstance(delta, ReplyEnded):
                self._add_reply(self._inner, asked, deltas)
            yield delta

    def _find_reply(self, key: bytes) -> list[Delta] | None:
        replies = self._recording.replies.get(key)
        if replies is None:
            return None
        number = self._given.get(key, 0)
        self._given[key] = number + 1
        return replies[min(number, len(replies) - 1)]

    def _add_reply(self, inner: Model, asked: dict[str, Any], deltas: list[Delta]) -> None:
        lines: list[Struct] = []
        if self._recording.about is None:
            self._recording.about = _RecordingHeader(VERSION, inner.name, inner.traits)
            self._file.parent.mkdir(parents=True, exist_ok=True)
            self._file.write_bytes(b"")
            lines.append(self._recording.about)
        lines.append(_RecordedExchange(asked, [_redact_delta(delta) for delta in _join_split_secrets(deltas)]))
        with self._file.open("ab") as file:
            file.write(msgspec.json.Encoder().encode_lines(lines))
        self._recording.add(asked, deltas)

    def _departure_error(self, asked: dict[str, Any]) -> RecordingDeparted:
        known = self._recording.asked
        begin = f"Request {self._asked} isn't in the recording {self._file}."
        if not known:
            return RecordingDeparted(f"{begin} Nothing is.")
        number = find_nearest_request(known, asked)
        return RecordingDeparted(
            f"{begin} The nearest one, recorded as number {number + 1}, differs in {describe_difference(known[number], asked)}. "
            "If that is meant, record it again with mode='record', or 'auto' to add it."
        )


class _Recording:
    """A recording in memory."""

    def __init__(
        self, about: _RecordingHeader | None, replies: dict[bytes, list[list[Delta]]], asked: list[dict[str, Any]]
    ) -> None:
        self.about = about
        self.replies = replies
        self.asked = asked

    def add(self, asked: dict[str, Any], deltas: list[Delta]) -> None:
        """Add a request and its reply."""
        self.asked.append(asked)
        self.replies.setdefault(_request_key(asked), []).append(deltas)


def _load(file: Path, *, may_be_new: bool) -> _Recording:
    if may_be_new and not file.exists():
        return _Recording(None, {}, [])
    try:
        first, *others = file.read_bytes().splitlines() or [b""]
        recording = _Recording(msgspec.json.decode(first, type=_RecordingHeader), {}, [])
        for line in others:
            exchange = msgspec.json.decode(line, type=_RecordedExchange)
            recording.add(exchange.asked, [_decode_delta(delta) for delta in exchange.reply])
    except FileNotFoundError as error:
        raise SettingsError(f"There is no recording {file}; make one: Recorded(file, inner=model, mode='record').") from error
    except (OSError, msgspec.MsgspecError, ValueError, KeyError) as error:
        raise SettingsError(f"The recording {file} can't be read: {error}") from error
    if recording.about is not None and recording.about.recording > VERSION:
        raise SettingsError(f"The recording {file} was made by a newer Treadle; update Treadle, or record it again.")
    return recording


# A request and its deltas as plain values


def _to_plain_request(request: Request) -> dict[str, Any]:
    """Return a request without its secrets; the schemas of tools have none. Redaction is stable, so a replayed request matches."""
    said = {
        "instructions": request.instructions,
        "options": request.options,
        "history": list(request.history),
        "note": request.note,
    }
    hidden: dict[str, Any] = _hide(msgspec.to_builtins(said))
    for part in [part for message in hidden["history"] for part in message["parts"]]:
        part.pop("data", None)  # of results: it is for code, and no model reads it
    plain = {"tools": request.tools, **hidden}
    return msgspec.json.decode(msgspec.json.encode(plain))  # as it will come out of the file


def _request_key(asked: dict[str, Any]) -> bytes:
    return msgspec.json.encode(asked, order="sorted")


def _join_split_secrets(deltas: Sequence[Delta]) -> list[Delta]:
    """Return a reply with text deltas joined where a secret spans them; a single one wouldn't show it."""
    out: list[Delta] = []
    for kind, some in groupby(deltas, type):
        pieces = list(some)
        texts = [piece.text for piece in pieces if isinstance(piece, TextDelta | ThinkingDelta)]
        whole = "".join(texts)
        out += [replace(pieces[-1], text=whole)] if kind in _IN_PIECES and _REDACTOR.text(whole) != whole else pieces
    return out


def _redact_delta(delta: Delta) -> dict[str, Any]:
    hidden: dict[str, Any] = _hide({"delta": _NAMES[type(delta)], **msgspec.to_builtins(delta)})
    if isinstance(delta, CallDone):
        hidden["call"]["text"] = mask_call(delta.call.text, _REDACTOR)
    return hidden


def _decode_delta(delta: dict[str, Any]) -> Delta:
    return msgspec.convert(delta, _KINDS[delta["delta"]])


MAX_SHOWN = 80  # characters of a text around the place where it differs
BEFORE = 20  # of them, those before that place

DiffPath = tuple[str, ...]  # as a person would say it: message 3 (tools), part 1 (result), content
PlainRequest = dict[str, Any]  # a request as plain values: instructions, tools, options, history, note

_ABSENT = object()


class RequestDifference(NamedTuple):
    """The first place where two values differ."""

    place: DiffPath
    recorded: Any
    asked: Any


def find_nearest_request(recorded: Sequence[PlainRequest], asked: PlainRequest) -> int:
    """Return the index of the recorded request that is most like this one."""
    return max(range(len(recorded)), key=lambda number: _similarity(recorded[number], asked))


def _similarity(recorded: PlainRequest, asked: PlainRequest) -> tuple[int, int, int]:
    common = 0
    for one, other in zip(recorded["history"], asked["history"], strict=False):
        if one != other:
            break
        common += 1
    same = sum(recorded[name] == asked[name] for name in asked)
    return common, same, -abs(len(recorded["history"]) - len(asked["history"]))


def describe_difference(recorded: PlainRequest, asked: PlainRequest) -> str:
    """Return a shortened description of the difference: where it is, the recorded value, the requested value."""
    found = _find_difference(recorded, asked, ())
    if found is None:
        return "nothing"
    one, other = _format_value(found.recorded, found.asked), _format_value(found.asked, found.recorded)
    return f"{', '.join(found.place)}: recorded {one}, asked {other}"


def _find_difference(recorded: Any, asked: Any, place: DiffPath) -> RequestDifference | None:
    if recorded == asked:
        return None
    if isinstance(recorded, dict) and isinstance(asked, dict):
        steps = _pair_fields(cast("PlainRequest", recorded), cast("PlainRequest", asked), place)
    elif isinstance(recorded, list) and isinstance(asked, list):
        steps = _pair_items(cast("list[Any]", recorded), cast("list[Any]", asked), place)
    else:
        return RequestDifference(place, recorded, asked)
    return next((found for one, other, where in steps if (found := _find_difference(one, other, where))), None)


def _pair_fields(recorded: PlainRequest, asked: PlainRequest, place: DiffPath) -> Iterator[tuple[Any, Any, DiffPath]]:
    for name in {**recorded, **asked}:
        yield recorded.get(name, _ABSENT), asked.get(name, _ABSENT), (*place, name)


def _pair_items(recorded: list[Any], asked: list[Any], place: DiffPath) -> Iterator[tuple[Any, Any, DiffPath]]:
    noun = {"history": "message", "tools": "tool", "parts": "part"}.get(place[-1], "item")
    for number, (one, other) in enumerate(zip_longest(recorded, asked, fillvalue=_ABSENT), 1):
        yield one, other, (*place[:-1], f"{noun} {number}{_describe_kind(one) or _describe_kind(other)}")


def _describe_kind(value: Any) -> str:
    """Return a message's role, a tool's name or a part's type, in brackets."""
    if not isinstance(value, dict):
        return ""
    one = cast("PlainRequest", value)
    kind = one.get("role") or one.get("part") or one.get("name")
    return f" ({kind})" if kind else ""


def _format_value(value: Any, other: Any) -> str:
    if value is _ABSENT:
        return "nothing"
    if not isinstance(value, str):
        text = repr(value)
        return text if len(text) <= MAX_SHOWN else text[: MAX_SHOWN - 1] + "…"
    start = max(0, _common_prefix(value, other) - BEFORE) if isinstance(other, str) and len(value) > MAX_SHOWN else 0
    shown = value[start : start + MAX_SHOWN]
    return repr(f"{'…' if start else ''}{shown}{'…' if start + MAX_SHOWN < len(value) else ''}")


def _common_prefix(one: str, other: str) -> int:
    """Return the length of the common prefix of two texts."""
    for place, (left, right) in enumerate(zip(one, other, strict=False)):
        if left != right:
            return place
    return min(len(one), len(other))
