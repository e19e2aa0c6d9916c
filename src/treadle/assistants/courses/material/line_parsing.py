"""Parse single lines about a course: its title, its link, the start of a lesson. `layout` combines them. Pure."""

import re
from typing import NamedTuple

from msgspec import Struct

from treadle.assistants.courses.material.course_types import MAX_TITLE_CHARS, clean_title

_FENCE = re.compile(r" {0,3}(?P<marks>`{3,}|~{3,})(?P<info>.*)")


class MaterialLine(NamedTuple):
    """A line and its offsets; its newline is between its end and the next one's start."""

    start: int
    end: int
    text: str
    code: bool

    @property
    def blank(self) -> bool:
        """Whether the line is blank."""
        return not self.text.strip()


def split_material_lines(text: str, *, markdown: bool) -> list[MaterialLine]:
    """Split a text into lines. In Markdown, those of fenced code are code, including the fences."""
    lines: list[MaterialLine] = []
    start, fence = 0, ""
    for line in text.split("\n"):
        before, fence = fence, next_fence(fence, line) if markdown else ""
        lines.append(MaterialLine(start, start + len(line), line, bool(before or fence)))
        start += len(line) + 1
    return lines


def next_fence(fence: str, line: str) -> str:
    """Return the fence that closes the code open after this line; empty outside of code."""
    if fence:
        closing = line.strip()
        return "" if len(closing) >= len(fence) and not closing.strip(fence[0]) else fence
    opening = _FENCE.match(line)
    return opening["marks"] if opening and "`" not in opening["info"] else ""


def close_fence(markdown: str) -> str:
    """Close the text's last fence, so that what follows it isn't code."""
    fence = ""
    for line in markdown.split("\n"):
        fence = next_fence(fence, line)
    return f"{markdown}\n{fence}" if fence else markdown


LESSON_WORD = "lesson"

_HEAD_LINE = re.compile(
    r"\s{0,3}(?:#{1,6}\s+)?[*_]{0,3}(?P<what>course\s+(?:title|link|instructor)|lesson\s+link)\s*[*_]{0,3}\s*:(?P<said>.*)",
    re.IGNORECASE | re.DOTALL,
)
_LESSON = re.compile(
    r"""(?P<word>lesson|chapter|module|unit|week|lecture|part)[ \t]+(?:no\.?[ \t]*|\#[ \t]*)?(?P<number>[0-9]{1,4})
        (?:(?:[ \t]*(?P<colon>:)[ \t]*|[ \t]*[.)|][ \t]+|[ \t]+[-–—|][ \t]+)(?P<title>.*)|[ \t]*[.:]?)\Z""",
    re.IGNORECASE | re.VERBOSE | re.DOTALL,
)
_HEADING = re.compile(r" {0,3}(?P<marks>#{1,6})(?:[ \t]+(?P<words>.*?))?(?:[ \t]+#+)?[ \t]*\Z", re.DOTALL)
_LINKED = re.compile(r"!?\[([^\[\]]*)\]\([^()]*\)")
_STRESSED = re.compile(r"(\*{1,3}|__|`+)(?=\S)(.*?\S)\1")
_ESCAPED = re.compile(r"\\([!-/:-@\[-`{-~])")
_ANCHOR = re.compile(r"\s*\{#[^{}]*\}\s*\Z")
_LONGEST = 400  # characters of a line that are looked at


class LessonMark(Struct, frozen=True):
    """A line at which a lesson begins: `Lesson 3: Branches`, or a heading of a chapter, a week and the like."""

    word: str
    number: int
    title: str


class MarkdownHeading(Struct, frozen=True):
    """A Markdown heading, its text without formatting."""

    level: int
    words: str


def parse_head_line(line: str) -> tuple[str, str] | None:
    """Parse a line of the head to a key and value, such as (`course link`, `https://…`)."""
    found = _HEAD_LINE.match(line[:5_000])
    return (" ".join(found["what"].lower().split()), found["said"].strip()) if found else None


def parse_heading(line: str) -> MarkdownHeading | None:
    """Parse a line as a Markdown heading."""
    found = _HEADING.match(line[:_LONGEST])
    return MarkdownHeading(len(found["marks"]), strip_markdown(found["words"] or "")) if found else None


def parse_heading_mark(words: str) -> LessonMark | None:
    """Return the lesson that begins with a heading of this text."""
    return _parse_mark(words)


def parse_line_mark(line: str, *, markdown: bool) -> LessonMark | None:
    """Return the lesson that begins with a line of text: `Lesson 3: Branches`, with the colon."""
    if len(line) > _LONGEST:
        return None
    said = line.strip()
    said = strip_markdown(said) if markdown and said.startswith(("*", "_")) else said
    found = _parse_mark(said, colon=True)
    if found is None or found.word != LESSON_WORD or _is_prose(found.title):
        return None
    return LessonMark(found.word, found.number, clean_title(strip_markdown(found.title))) if markdown else found


def strip_markdown(words: str) -> str:
    """Strip Markdown emphasis, links and escapes. HTML stays."""
    shown = _ANCHOR.sub("", _STRESSED.sub(r"\2", _LINKED.sub(r"\1", words)))
    return " ".join(_ESCAPED.sub(r"\1", shown).split())


def _parse_mark(words: str, *, colon: bool = False) -> LessonMark | None:
    found = _LESSON.match(words)
    if found is None or (colon and ":" not in (found["colon"] or words[-1:])):
        return None
    title = (found["title"] or "").strip()
    return None if len(title) > MAX_TITLE_CHARS else LessonMark(found["word"].lower(), int(found["number"]), clean_title(title))


def _is_prose(title: str) -> bool:
    """Return whether this continues like a sentence: `as we saw, …`."""
    return title[:1].islower() and title.endswith((".", ",", ";", "…", "!", "?"))
