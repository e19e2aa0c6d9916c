"""Runner output in lines: without colours, of bounded length, and messages cut to what a model can use."""

from textwrap import dedent

from treadle.sandbox.output import CommandOutput

MAX_LINE = 2_000  # characters of a line, and of a message


def to_plain_text(text: str, most: int = 1 << 40) -> str:
    """Return the text without colours, its beginning and end where it is longer than `most`."""
    kept = CommandOutput(most)
    kept.feed(text.encode(errors="replace"))
    kept.close()
    return kept.text


def split_output_lines(text: str) -> list[str]:
    """Split a plain text into lines; overlong ones are cut, so that parsing one is always quick."""
    return [line if len(line) <= MAX_LINE else line[:MAX_LINE] for line in text.split("\n")]


def join_message(lines: list[str]) -> str:
    """Join lines to a message: without shared indentation, or blank lines around them."""
    return to_plain_text(dedent("\n".join(lines)).strip(), MAX_LINE)


def indent_of(line: str) -> int:
    """Return how many blanks a line begins with."""
    return len(line) - len(line.lstrip(" "))
