"""Bytes of a file made into a document: Markdown, YAML and plain text. For other formats bring a reader of your own. Pure."""

from pathlib import PurePosixPath
from typing import Protocol, runtime_checkable

from msgspec import Struct

from treadle.stores.passages.split.markdown import split_markdown
from treadle.stores.passages.split.pieces import OVERLAP, SIZE, Split
from treadle.stores.passages.split.plain import split_text
from treadle.stores.passages.split.yaml import split_yaml
from treadle.stores.passages.values import Document, Passage, Tag


class Unreadable(Exception):
    """Raised by a reader: the file isn't what it should be. The words say why, for the report."""


class Reader(Protocol):
    """What makes a document of a file's bytes. It may have `version_of(source)` too."""

    @property
    def version(self) -> str:
        """Changes whenever the same bytes would be read in another way: then files are read again that haven't changed."""
        ...

    def read(self, source: str, data: bytes) -> Document:
        """The document; `Unreadable` where there is none. Called in a thread."""
        ...


@runtime_checkable
class Particular(Protocol):
    """A reader who knows what of its settings applies to a file: when others change, that file isn't read again."""

    def version_of(self, source: str) -> str:
        """What `version` is of this file alone."""
        ...


def version_of(reader: Reader, source: str) -> str:
    """How a reader would read this file."""
    return reader.version_of(source) if isinstance(reader, Particular) else reader.version


class TextReader(Struct, frozen=True):
    """Reads text by the ending of its name. Every passage gets the tags; its link is `link` with what it stands for filled in.

    `{source}`, `{first_line}` and `{last_line}` stand for the passage's own: `https://docs.example.org/{source}#L{first_line}`.
    """

    size: int = SIZE
    overlap: int = OVERLAP
    link: str = ""
    tags: dict[str, Tag] = {}

    @property
    def version(self) -> str:
        """All that is set, and the way texts are cut here."""
        return f"text 1 {self.size} {self.overlap} {self.link} {sorted(self.tags.items())}"

    def read(self, source: str, data: bytes) -> Document:
        """The document in a file of text."""
        text = text_of(data)
        split = self._split(source, text)
        title = split.title or PurePosixPath(source).stem
        passages = tuple(
            Passage(
                piece.text,
                source,
                number,
                title,
                piece.headings,
                piece.first_line,
                piece.last_line,
                link=self._link(source, piece.first_line, piece.last_line),
                tags=self.tags,
            )
            for number, piece in enumerate(split.pieces)
        )
        return Document(source, title, passages=passages)

    def _split(self, source: str, text: str) -> Split:
        match PurePosixPath(source).suffix.lower():
            case ".md" | ".markdown" | ".mdx":
                return split_markdown(text, size=self.size, overlap=self.overlap)
            case ".yaml" | ".yml":
                return split_yaml(text, size=self.size)
            case _:
                return split_text(text, size=self.size, overlap=self.overlap)

    def _link(self, source: str, first: int, last: int) -> str:
        link = self.link.replace("{first_line}", str(first)).replace("{last_line}", str(last))
        return link.replace("{source}", source)


def text_of(data: bytes) -> str:
    """Bytes as text: UTF-8, or UTF-16 where its mark says so; `Unreadable` otherwise."""
    marked = data.startswith((b"\xff\xfe", b"\xfe\xff"))
    if not marked and b"\0" in data:
        raise Unreadable("not text")
    try:
        return data.decode("utf-16" if marked else "utf-8-sig")
    except UnicodeDecodeError as error:
        raise Unreadable(f"not UTF-8 (byte {error.start})") from error
