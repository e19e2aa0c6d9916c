"""Text of runners in lines: without colours, none too long to look at, and messages cut to what a model can use."""

from textwrap import dedent

from treadle.toolsets.sandbox.output import Kept

LONGEST = 2_000  # characters of a line, and of a message


def plain(text: str, most: int = 1 << 40) -> str:
    """The text without colours, its beginning and end where it is longer than `most`."""
    kept = Kept(most)
    kept.feed(text.encode(errors="replace"))
    kept.close()
    return kept.text


def lines_of(text: str) -> list[str]:
    """The lines of a plain text; what is beyond reason in a line is left out, so that looking at one is always quick."""
    return [line if len(line) <= LONGEST else line[:LONGEST] for line in text.split("\n")]


def message_of(lines: list[str]) -> str:
    """Some lines as a message: without the indentation they share, or blank lines around them."""
    return plain(dedent("\n".join(lines)).strip(), LONGEST)


def indent_of(line: str) -> int:
    """How many blanks a line begins with."""
    return len(line) - len(line.lstrip(" "))
