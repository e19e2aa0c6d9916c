"""A text by its lines, and which of them are code. Pure."""

import re
from typing import NamedTuple

_FENCE = re.compile(r" {0,3}(?P<marks>`{3,}|~{3,})(?P<info>.*)")


class Line(NamedTuple):
    """A line and where it stands; its newline lies between its end and the next one's start."""

    start: int
    end: int
    text: str
    code: bool

    @property
    def blank(self) -> bool:
        """Whether there is nothing on it."""
        return not self.text.strip()


def lines_of(text: str, *, markdown: bool) -> list[Line]:
    """The lines of a text. In Markdown, those of code fences are code, the fences themselves too."""
    lines: list[Line] = []
    start, fence = 0, ""
    for line in text.split("\n"):
        before, fence = fence, fence_after(fence, line) if markdown else ""
        lines.append(Line(start, start + len(line), line, bool(before or fence)))
        start += len(line) + 1
    return lines


def fence_after(fence: str, line: str) -> str:
    """The marks that will close the code we are in after this line; nothing outside of code."""
    if fence:
        closing = line.strip()
        return "" if len(closing) >= len(fence) and not closing.strip(fence[0]) else fence
    opening = _FENCE.match(line)
    return opening["marks"] if opening and "`" not in opening["info"] else ""


def closed(markdown: str) -> str:
    """The text with its last fence closed, so that what follows it isn't code."""
    fence = ""
    for line in markdown.split("\n"):
        fence = fence_after(fence, line)
    return f"{markdown}\n{fence}" if fence else markdown
