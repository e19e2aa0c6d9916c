"""What is kept and found: passages, the documents they come from, and what a search brings. Values only."""

from collections.abc import Mapping, Sequence
from typing import Any

from msgspec import Struct

from treadle.core.errors import TreadleError

Tag = str | int
Where = Mapping[str, Tag | Sequence[Tag]]


class PassagesError(TreadleError):
    """The file that passages are kept in can't be used."""


class Passage(Struct, frozen=True):
    """A piece of a document that can be shown and cited by itself."""

    text: str
    source: str = ""
    number: int = 0  # its place among the passages of its document
    title: str = ""
    headings: tuple[str, ...] = ()
    first_line: int = 0
    last_line: int = 0
    at: str = ""  # where in the document, if lines don't say it: `page 3`, `00:12:30`
    link: str = ""
    tags: dict[str, Tag] = {}

    @property
    def id(self) -> str:
        """What it can be asked for by; the same for as long as its document doesn't change."""
        return f"{self.source}#{self.number}"

    @property
    def place(self) -> str:
        """Where in the document it stands, for people: `Setup > Install, lines 3-9`."""
        lines = "" if not self.first_line else f"lines {self.first_line}-{self.last_line}"
        if self.first_line and self.first_line == self.last_line:
            lines = f"line {self.first_line}"
        return ", ".join(part for part in (" > ".join(self.headings), self.at or lines) if part)


class Document(Struct, frozen=True):
    """A document in passages. By its `hash` it is known not to have changed; `collection` says whose it is to remove.

    `about` is what else is known of it, for whoever put it there: anything that can be JSON. `seen` says how its file looked:
    while it looks the same, it needn't be read.
    """

    source: str
    title: str = ""
    hash: str = ""
    passages: tuple[Passage, ...] = ()
    collection: str = ""
    about: dict[str, Any] = {}
    seen: str = ""


class Kept(Struct, frozen=True):
    """What a document that is in the store is known by."""

    hash: str = ""
    seen: str = ""


class Found(Struct, frozen=True):
    """A passage that was found.

    `score` is from 0 to 1, and 0.3 is just about related, whichever embedder there is: the better of what `meaning` (the cosine)
    and `words` (how much of the question stands there, rare words counting more) come to on that scale.
    """

    passage: Passage
    score: float
    meaning: float | None = None
    words: float = 0.0
    meaning_rank: int | None = None  # from 1; None where it wasn't among the nearest
    words_rank: int | None = None


class State(Struct, frozen=True):
    """What a store holds, and how it can be searched."""

    documents: int
    passages: int
    without_vector: int  # found by their words alone
    embedder: str  # whose vectors these are
    dimension: int
    vectors_by: str  # `numpy`, or `python` where that isn't installed; nothing without an embedder
