"""The messages of a run: their parts, and the history they make.

Values only: storage is in `stores`, encoding for a model's server in `models`.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, Literal, overload

from msgspec import Struct

from treadle.core.calls import Call, Media, Opaque, Result, Written

Role = Literal["person", "model", "tools"]

MEDIA_SIZE = 5_000  # characters that a picture counts as: about 1,500 tokens, whatever its size in bytes


class Text(Struct, frozen=True, gc=False, tag_field="part", tag="text"):
    """Plain text, by a person or a model."""

    text: str


class Quote(Struct, frozen=True, gc=False, tag_field="part", tag="quote"):
    """A text that a person added to a message and that others may have written: a file, the output of a command.

    It is untrusted, as the result of a tool that reads the same would be: a model reads it between marks, it vouches for no value,
    and effects need approval from then on.
    """

    source: str
    text: str

    @property
    def label(self) -> str:
        """The label in place of the text, where a message is shown."""
        return f"[{self.source}]"


class Thinking(Struct, frozen=True, gc=False, tag_field="part", tag="thinking"):
    """A model's reasoning, separate from its text. `signature` is the server's own, sent back unchanged."""

    text: str
    signature: str = ""


class Summary(Struct, frozen=True, gc=False, tag_field="part", tag="summary"):
    """What a compacted conversation was about: the user's messages in their own words, and notes on the rest.

    `omitted` is how many of the user's messages after the first were left out. `untrusted` says that untrusted content was read
    before the notes were made, so that they may repeat some of it.
    """

    said: tuple[str, ...] = ()
    notes: str = ""
    untrusted: bool = False
    omitted: int = 0

    @property
    def text(self) -> str:
        """All of it, for a model."""
        return summary_text(self, self.notes)


def summary_text(summary: Summary, notes: str) -> str:
    """Return a summary as text, with its notes as given. The user's messages stay apart: they alone are instructions."""
    lines = [f"{number + (summary.omitted if number > 1 else 0)}. {text}" for number, text in enumerate(summary.said, 1)]
    if summary.omitted:
        lines.insert(1, f"[… {summary.omitted} left out]")
    user = "The user's messages so far, in their own words:\n" + "\n".join(lines) + "\n\n" if lines else ""
    return f"[The beginning of this conversation was compacted.]\n\n{user}Notes on what happened:\n{notes}"


Part = Text | Quote | Thinking | Opaque | Media | Call | Result | Summary
ReplyPart = Text | Thinking | Opaque | Written


class ContextItem(Struct, frozen=True, gc=False, omit_defaults=True):
    """A text that a model reads with its instructions, in every request of a run: a project's guide, an index of notes.

    source     what it is from, such as AGENTS.md
    text       the text itself
    about      a sentence for the model on what it is and how to use it
    untrusted  others than the user may have written it: a model reads it between marks, and effects need approval
    """

    source: str
    text: str
    about: str = ""
    untrusted: bool = False


class Message(Struct, frozen=True, gc=False):
    """One message: by a person, by the model, or by the tools (all results of one round)."""

    role: Role
    parts: tuple[Part, ...]

    @property
    def text(self) -> str:
        """Its text, without thinking, calls and results. Texts on both sides of an image are separated."""
        if any(isinstance(part, Media) for part in self.parts):
            return " ".join([part.text for part in self.parts if isinstance(part, Text)])
        return text_of(self.parts)


def person_message(text: str) -> Message:
    """Return a person's message."""
    return Message("person", (Text(text),))


def text_of(parts: Iterable[object]) -> str:
    """Return the text in `parts`, without thinking, calls and results."""
    text = ""
    for part in parts:  # once and more for each message of a run: a loop costs half of what a list does
        if type(part) is Text:
            text += part.text
    return text


def message_size(message: Message) -> int:
    """Return roughly how many characters a model has to read for this message."""
    size = 0
    for part in message.parts:
        size += _SIZES[type(part)](part)
    return size


def _result_size(part: Result) -> int:
    return len(part.content) + len(part.note) + MEDIA_SIZE * len(part.media)


def _call_size(part: Call) -> int:
    return len(part.name) + len(str(part.arguments))


def _text_size(part: Text | Quote | Thinking | Summary) -> int:
    return len(part.text)


def _opaque_size(part: Opaque) -> int:
    return len(part.json)


def _media_size(part: Media) -> int:
    return part.size if part.is_text else MEDIA_SIZE


_SIZES: dict[type[Part], Callable[[Any], int]] = {
    Result: _result_size,
    Call: _call_size,
    Text: _text_size,
    Quote: _text_size,
    Thinking: _text_size,
    Summary: _text_size,
    Opaque: _opaque_size,
    Media: _media_size,
}


class EncodedHistory:
    """The first messages of a history, as a wire encodes them. It grows at its end: what stands before its last byte stays.

    `digest` is for a wire that signs its requests: what it has hashed of this so far.
    """

    __slots__ = ("buffer", "count", "digest")

    def __init__(self) -> None:
        self.buffer = bytearray()
        self.count = 0  # messages
        self.digest: Any = None


def _join_with_comma(buffer: bytearray, encoded: bytes) -> None:
    if buffer:
        buffer += b","
    buffer += encoded


class _Shared:
    """The storage behind the histories of one run: messages, running sizes, and what was encoded of them so far."""

    __slots__ = ("encoded", "messages", "retold", "sizes")

    def __init__(self) -> None:
        self.messages: list[Message] = []
        self.sizes: list[int] = [0]  # running totals, computed on demand
        self.encoded: dict[str, EncodedHistory] = {}
        self.retold: dict[str, tuple[int, History | None]] = {}  # None where no message differs


class History(Sequence[Message]):
    """The messages of a run so far: an immutable value; `plus` returns a longer one.

    Longer ones share their storage, and `encoded` caches its output, so a run of n rounds encodes each message once instead
    of n times.
    """

    __slots__ = ("_length", "_shared")

    def __init__(self, messages: Iterable[Message] = ()) -> None:
        self._shared = shared = _Shared()
        shared.messages.extend(messages)
        self._length = len(shared.messages)

    def plus(self, *messages: Message) -> "History":
        """Return this history with `messages` appended."""
        shared, length = self._shared, self._length
        if length != len(shared.messages):  # another history was already extended from here
            return History((*self, *messages))
        shared.messages += messages
        longer = History.__new__(History)
        longer._shared = shared
        longer._length = length + len(messages)
        return longer

    def continues(self, other: "History") -> bool:
        """Return whether this history is `other` with messages appended. A rebuilt one may be without this noticing."""
        return not other or (self._shared is other._shared and len(other) <= len(self))

    @property
    def size(self) -> int:
        """Roughly how many characters a model has to read for all of it."""
        sizes, length = self._shared.sizes, self._length
        for message in self._shared.messages[len(sizes) - 1 : length]:
            sizes.append(sizes[-1] + message_size(message))
        return sizes[length]

    def encode(self, form: str, encode: Callable[[Message], bytes]) -> bytes:
        """Return all messages in a wire `form`, joined by commas. Each message is encoded only once."""
        return bytes(self.encode_joined(form, encode, _join_with_comma).buffer)

    def encode_joined(
        self, form: str, encode: Callable[[Message], bytes], join: Callable[[bytearray, bytes], None]
    ) -> EncodedHistory:
        """Return all messages in a wire `form`. `join` appends one to those before it, and may replace their last byte."""
        shared, length = self._shared, self._length
        encoded = shared.encoded.get(form)
        if encoded is None or encoded.count > length:
            encoded = shared.encoded[form] = EncodedHistory()
        for message in shared.messages[encoded.count : length]:
            if added := encode(message):
                join(encoded.buffer, added)
            encoded.count += 1
        return encoded

    def convert(self, form: str, retell: Callable[[Message], Message]) -> "History":
        """Return this history with each message converted: itself where none differs. Each message is converted only once."""
        shared, length = self._shared, self._length
        count, told = shared.retold.get(form, (0, None))
        if count > length:
            count, told = 0, None
        new = shared.messages[count:length]
        converted = [*map(retell, new)]
        if told is None:
            if converted == new:  # the same objects, nearly always
                shared.retold[form] = (length, None)
                return self
            told = History(shared.messages[:count])
        told = told.plus(*converted)
        shared.retold[form] = (length, told)
        return told

    @property
    def first(self) -> Message | None:
        """The first message; None where there is none."""
        return self._shared.messages[0] if self._length else None

    def __len__(self) -> int:
        return self._length

    @overload
    def __getitem__(self, index: int) -> Message: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[Message]: ...
    def __getitem__(self, index: int | slice) -> Message | Sequence[Message]:
        if isinstance(index, int) and 0 <= index < self._length:  # without a copy of them all
            return self._shared.messages[index]
        return self._shared.messages[: self._length][index]

    def __iter__(self) -> Iterator[Message]:
        return iter(self._shared.messages[: self._length])

    def __eq__(self, other: object) -> bool:
        return isinstance(other, History) and list(self) == list(other)

    def __hash__(self) -> int:
        return hash(tuple(self))

    def __repr__(self) -> str:
        return f"History({list(self)!r})"
