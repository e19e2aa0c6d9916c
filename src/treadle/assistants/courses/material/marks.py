"""Single lines that say something of a course: its title, its link, where a lesson begins. Together they are a `layout`. Pure."""

import re

from msgspec import Struct

from treadle.assistants.courses.material.tidy import LONGEST_TITLE, title_of

LESSON = "lesson"

_SAID = re.compile(
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


class Mark(Struct, frozen=True):
    """A line at which a lesson begins: `Lesson 3: Branches`, or a heading of a chapter, a week and the like."""

    word: str
    number: int
    title: str


class Heading(Struct, frozen=True):
    """A heading of Markdown, its words without their decoration."""

    level: int
    words: str


def said(line: str) -> tuple[str, str] | None:
    """What a line of the head says, such as (`course link`, `https://…`)."""
    found = _SAID.match(line[:5_000])
    return (" ".join(found["what"].lower().split()), found["said"].strip()) if found else None


def heading(line: str) -> Heading | None:
    """The line as a heading of Markdown."""
    found = _HEADING.match(line[:_LONGEST])
    return Heading(len(found["marks"]), unadorned(found["words"] or "")) if found else None


def headed_mark(words: str) -> Mark | None:
    """The lesson that begins with a heading of these words."""
    return _mark(words)


def plain_mark(line: str, *, markdown: bool) -> Mark | None:
    """The lesson that begins with a line of text: `Lesson 3: Branches`, with the colon."""
    if len(line) > _LONGEST:
        return None
    said = line.strip()
    said = unadorned(said) if markdown and said.startswith(("*", "_")) else said
    found = _mark(said, colon=True)
    if found is None or found.word != LESSON or _is_prose(found.title):
        return None
    return Mark(found.word, found.number, title_of(unadorned(found.title))) if markdown else found


def unadorned(words: str) -> str:
    """Words of Markdown as they are read: without stress, links and escapes. HTML stays."""
    shown = _ANCHOR.sub("", _STRESSED.sub(r"\2", _LINKED.sub(r"\1", words)))
    return " ".join(_ESCAPED.sub(r"\1", shown).split())


def _mark(words: str, *, colon: bool = False) -> Mark | None:
    found = _LESSON.match(words)
    if found is None or (colon and ":" not in (found["colon"] or words[-1:])):
        return None
    title = (found["title"] or "").strip()
    return None if len(title) > LONGEST_TITLE else Mark(found["word"].lower(), int(found["number"]), title_of(title))


def _is_prose(title: str) -> bool:
    """Whether this goes on like a sentence: `as we saw, …`."""
    return title[:1].islower() and title.endswith((".", ",", ";", "…", "!", "?"))
