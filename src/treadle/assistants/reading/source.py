"""A file to analyse: its text and what is known of it before a model is asked, and the one tool that reads its lines."""

from collections.abc import Sequence
from hashlib import sha256

from msgspec import Struct

from treadle import ToolProblem
from treadle.assistants.reading.file_parts import FilePart, split_parts
from treadle.assistants.reading.outline.nodes import Outline
from treadle.assistants.reading.outline.source_text import split_source_lines
from treadle.assistants.reading.reading_types import ToolRead
from treadle.assistants.reading.settings import MAX_LINES

FAST_LINES, FAST_TOKENS, CHARS_A_TOKEN = 200, 2000, 4


class OutlinedSource(Struct, frozen=True):
    """A file, read and outlined. `notes` is what a reader of the answer should know."""

    filename: str
    language: str
    text: str
    lines: tuple[str, ...]
    outline: Outline
    parts: tuple[FilePart, ...]
    notes: tuple[str, ...] = ()

    @property
    def is_small(self) -> bool:
        """Whether sending the whole file is the cheapest way."""
        return len(self.lines) <= FAST_LINES and len(self.text) // CHARS_A_TOKEN <= FAST_TOKENS


def build_source(filename: str, text: str, outline: Outline, notes: Sequence[str] = ()) -> OutlinedSource:
    """Build a source from a text and its outline."""
    broken = ("Parts of it couldn't be parsed, so its outline may miss something.",) if outline.broken else ()
    return OutlinedSource(
        filename, outline.language, text, split_source_lines(text), outline, tuple(split_parts(outline)), (*notes, *broken)
    )


def hash_text(text: str) -> str:
    """Return the hash that identifies a text."""
    return sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


class SourceReader:
    """The tool `refer_to_source_code`, bound to one file, with a record of its calls in order.

    It is asynchronous although it waits for nothing: threads would finish in any order. One call reads `most` lines: a
    small model asks for the whole file, which is what the outline is there to save.
    """

    def __init__(self, source: OutlinedSource, most: int = MAX_LINES) -> None:
        self._lines = source.lines
        self._most = most
        self.log: list[ToolRead] = []

    async def refer_to_source_code(self, start_line: int, end_line: int) -> str:
        """Read lines of the file.

        :param start_line: the first line, from 1
        :param end_line: the last line
        """
        lines = min(end_line, len(self._lines)) - start_line + 1
        if lines > self._most:
            raise ToolProblem(
                f"That is {lines} lines; at most {self._most} are read at once. The outline tells what is in the file:"
                " read only what it leaves open, or answer."
            )
        return self.read(start_line, end_line, "the model asked")

    def read(self, start: int, end: int, reason: str) -> str:
        """Return the lines, and add an entry to the record."""
        last = len(self._lines)
        if start < 1 or end < start or start > last:
            raise ToolProblem(f"Invalid line range: {start} to {end}. The file has lines 1 to {last}.")
        end = min(end, last)
        self.log.append(ToolRead(start, end, reason))
        return "\n".join(self._lines[start - 1 : end])
