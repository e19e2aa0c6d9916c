"""Passages, the documents they come from, and search hits. Values only."""

from collections.abc import Mapping, Sequence
from typing import Any

from msgspec import Struct

from treadle.core.errors import TreadleError

TagValue = str | int
TagQuery = Mapping[str, TagValue | Sequence[TagValue]]


class PassagesError(TreadleError):
    """The passages file can't be used."""


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
    tags: dict[str, TagValue] = {}

    @property
    def id(self) -> str:
        """The id to look it up by; stable for as long as its document doesn't change."""
        return f"{self.source}#{self.number}"

    @property
    def place(self) -> str:
        """Its location in the document, for display: `Setup > Install, lines 3-9`."""
        lines = "" if not self.first_line else f"lines {self.first_line}-{self.last_line}"
        if self.first_line and self.first_line == self.last_line:
            lines = f"line {self.first_line}"
        return ", ".join(part for part in (" > ".join(self.headings), self.at or lines) if part)


class SourceDocument(Struct, frozen=True):
    """A document in passages. `hash` detects changes; `collection` says which indexing may remove it.

    `about` is further metadata for the caller: anything that can be JSON. `seen` says how its file looked: while it looks the
    same, it needn't be read.
    """

    source: str
    title: str = ""
    hash: str = ""
    passages: tuple[Passage, ...] = ()
    collection: str = ""
    about: dict[str, Any] = {}
    seen: str = ""


class DocumentVersion(Struct, frozen=True):
    """The version of a stored document."""

    hash: str = ""
    seen: str = ""


class PassageHit(Struct, frozen=True):
    """A passage that matches a query.

    `score` is from 0 to 1, and 0.3 is just about related, whichever embedder is used: the better of `meaning` (the cosine)
    and `words` (how much of the query the passage contains, rare words counting more) on that scale.
    """

    passage: Passage
    score: float
    meaning: float | None = None
    words: float = 0.0
    meaning_rank: int | None = None  # from 1; None where it wasn't among the nearest
    words_rank: int | None = None


class PassagesState(Struct, frozen=True):
    """What a store contains, and how it can be searched."""

    documents: int
    passages: int
    without_vector: int  # found by their words alone
    embedder: str  # whose vectors these are
    dimension: int
    vectors_by: str  # `numpy`, or `python` where that isn't installed; nothing without an embedder
