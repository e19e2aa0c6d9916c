"""What is said in a run: messages, their parts, and the history they make.

Values only: where they are stored is `stores`, how a model's server wants them spelled is `models`.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Literal, assert_never, overload

from msgspec import Struct

from treadle.core.calls import Call, Media, Opaque, Result, Written

Role = Literal["person", "model", "tools"]

MEDIA_SIZE = 5_000  # characters that a picture counts as: about 1,500 tokens, whatever its size in bytes


class Text(Struct, frozen=True, tag_field="part", tag="text"):
    """Plain words, by a person or a model."""

    text: str


class Thinking(Struct, frozen=True, tag_field="part", tag="thinking"):
    """A model's reasoning, kept apart from what it says. `signature` is the server's own seal on it, sent back as it came."""

    text: str
    signature: str = ""


Part = Text | Thinking | Opaque | Media | Call | Result
ReplyPart = Text | Thinking | Opaque | Written


class Message(Struct, frozen=True):
    """One thing said: by a person, by the model, or by the tools (all results of one round)."""

    role: Role
    parts: tuple[Part, ...]

    @property
    def text(self) -> str:
        """Its words, without thinking, calls and results. Words on both sides of an image don't run into each other."""
        if any(isinstance(part, Media) for part in self.parts):
            return " ".join([part.text for part in self.parts if isinstance(part, Text)])
        return text_of(self.parts)


def person(text: str) -> Message:
    """A person's message."""
    return Message("person", (Text(text),))


def text_of(parts: Iterable[object]) -> str:
    """The words in `parts`, without thinking, calls and results."""
    return "".join([part.text for part in parts if isinstance(part, Text)])


def size_of(message: Message) -> int:
    """How many characters a model has to read for this message, roughly."""
    return sum(_part_size(part) for part in message.parts)


def _part_size(part: Part) -> int:
    match part:
        case Text() | Thinking():
            return len(part.text)
        case Opaque():
            return len(part.json)
        case Media():
            return part.size if part.is_text else MEDIA_SIZE
        case Result():
            return len(part.content) + len(part.note) + MEDIA_SIZE * len(part.media)
        case Call():
            return len(part.name) + len(str(part.arguments))
        case _:
            assert_never(part)


class _Shared:
    """The storage behind the histories of one run: messages, running sizes, and what was encoded of them so far."""

    __slots__ = ("encoded", "messages", "retold", "sizes")

    def __init__(self) -> None:
        self.messages: list[Message] = []
        self.sizes: list[int] = [0]  # running; made when somebody asks
        self.encoded: dict[str, tuple[int, bytearray]] = {}
        self.retold: dict[str, tuple[int, History]] = {}


class History(Sequence[Message]):
    """The messages of a run so far: a value that never changes; `plus` gives a longer one.

    Longer ones share their storage, and `encoded` remembers its output, so a run of n rounds encodes each message once
    instead of n times.
    """

    __slots__ = ("_length", "_shared")

    def __init__(self, messages: Iterable[Message] = ()) -> None:
        self._shared = _Shared()
        self._length = 0
        self._extend(messages)

    def _extend(self, messages: Iterable[Message]) -> None:
        self._shared.messages.extend(messages)
        self._length = len(self._shared.messages)

    def plus(self, *messages: Message) -> "History":
        """This history with `messages` after it."""
        if self._length != len(self._shared.messages):  # somebody else already went on from here
            return History((*self, *messages))
        longer = History.__new__(History)
        longer._shared = self._shared
        longer._extend(messages)
        return longer

    def continues(self, other: "History") -> bool:
        """Whether this history is `other` with messages after it. One that was made anew may be without it being found out."""
        return not other or (self._shared is other._shared and len(other) <= len(self))

    @property
    def size(self) -> int:
        """How many characters a model has to read for all of it, roughly."""
        sizes = self._shared.sizes
        for message in self._shared.messages[len(sizes) - 1 : self._length]:
            sizes.append(sizes[-1] + size_of(message))
        return sizes[self._length]

    def encoded(self, form: str, encode: Callable[[Message], bytes]) -> bytes:
        """All messages in a wire `form`, joined by commas. Each message is encoded once, however often this is asked."""
        count, buffer = self._shared.encoded.get(form, (0, None))
        if buffer is None or count > self._length:
            count, buffer = 0, bytearray()
        for message in self._shared.messages[count : self._length]:
            encoded = encode(message)
            if buffer and encoded:
                buffer += b","
            buffer += encoded
        self._shared.encoded[form] = (self._length, buffer)
        return bytes(buffer)

    def retold(self, form: str, retell: Callable[[Message], Message]) -> "History":
        """This history in other words: each message retold, once, however often this is asked."""
        count, told = self._shared.retold.get(form, (0, History()))
        if count > self._length:
            count, told = 0, History()
        told = told.plus(*map(retell, self._shared.messages[count : self._length]))
        self._shared.retold[form] = (self._length, told)
        return told

    def __len__(self) -> int:
        return self._length

    @overload
    def __getitem__(self, index: int) -> Message: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[Message]: ...
    def __getitem__(self, index: int | slice) -> Message | Sequence[Message]:
        return self._shared.messages[: self._length][index]

    def __iter__(self) -> Iterator[Message]:
        return iter(self._shared.messages[: self._length])

    def __eq__(self, other: object) -> bool:
        return isinstance(other, History) and list(self) == list(other)

    def __hash__(self) -> int:
        return hash(tuple(self))

    def __repr__(self) -> str:
        return f"History({list(self)!r})"
