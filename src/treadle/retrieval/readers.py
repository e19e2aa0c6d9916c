"""Readers that turn a file's bytes into a document: Markdown, YAML and plain text. Bring your own for other formats. Pure."""

from pathlib import PurePosixPath
from typing import Protocol, runtime_checkable

from msgspec import Struct

from treadle.retrieval.split.markdown import split_markdown
from treadle.retrieval.split.pieces import OVERLAP, SIZE, Split
from treadle.retrieval.split.text import split_text
from treadle.retrieval.split.yaml import split_yaml
from treadle.retrieval.values import Passage, SourceDocument, TagValue


class UnreadableDocument(Exception):
    """Raised by a reader for a file that isn't valid. The message says why, for the report."""


class DocumentReader(Protocol):
    """Turns the bytes of a file into a document. May also have `version_of(source)`."""

    @property
    def version(self) -> str:
        """Changes whenever the same bytes would be read differently: then unchanged files are read again."""
        ...

    def read(self, source: str, data: bytes) -> SourceDocument:
        """Return the document. Raises `UnreadableDocument`. Called in a thread."""
        ...


@runtime_checkable
class FileVersionedReader(Protocol):
    """A reader that knows which of its settings apply to a file: when others change, that file isn't read again."""

    def version_of(self, source: str) -> str:
        """Return the `version` for this file alone."""
        ...


def reader_version(reader: DocumentReader, source: str) -> str:
    """Return the version with which a reader would read this file."""
    return reader.version_of(source) if isinstance(reader, FileVersionedReader) else reader.version


class TextReader(Struct, frozen=True):
    """Reads text files by their extension. Every passage gets the tags, and `link` with its placeholders filled in.

    `{source}`, `{first_line}` and `{last_line}` are those of the passage: `https://docs.example.org/{source}#L{first_line}`.
    """

    size: int = SIZE
    overlap: int = OVERLAP
    link: str = ""
    tags: dict[str, TagValue] = {}

    @property
    def version(self) -> str:
        """All settings, and the version of the splitting."""
        return f"text 1 {self.size} {self.overlap} {self.link} {sorted(self.tags.items())}"

    def read(self, source: str, data: bytes) -> SourceDocument:
        """Return the document in a text file."""
        text = decode_document(data)
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
        return SourceDocument(source, title, passages=passages)

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


def decode_document(data: bytes) -> str:
    """Decode bytes: UTF-8, or UTF-16 with a byte order mark. Raises `UnreadableDocument` otherwise."""
    marked = data.startswith((b"\xff\xfe", b"\xfe\xff"))
    if not marked and b"\0" in data:
        raise UnreadableDocument("not text")
    try:
        return data.decode("utf-16" if marked else "utf-8-sig")
    except UnicodeDecodeError as error:
        raise UnreadableDocument(f"not UTF-8 (byte {error.start})") from error
