"""Plain text and Markdown: the file's own lines, as they are."""

from treadle.assistants.courses.material.tidy import plain
from treadle.assistants.courses.material.values import Material
from treadle.passages import text_of


def read_text(data: bytes) -> Material:
    """A text."""
    return Material(plain(text_of(data)), lines=True)


def read_markdown(data: bytes) -> Material:
    """A Markdown text."""
    return Material(plain(text_of(data)), markdown=True, lines=True)
