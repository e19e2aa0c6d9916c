"""Titles and lesson numbers from the names of files and folders. Pure."""

import re
from pathlib import PurePosixPath

from msgspec import Struct

from treadle.assistants.courses.material.text_cleanup import clean_title

_LEADING = re.compile(r"\s*(?P<number>0\d{1,2}(?!\d)|\d{1,3}(?=[\s._)\-]|\Z))[\d.]*[\s._)\-]*")
_BEHIND = re.compile(
    r"(?<![^\W\d_])(?:lesson|chapter|week|unit|module|lecture|part)[\s._#\-]*(?P<number>\d{1,4})(?!\d)[\s._:)\-]*", re.IGNORECASE
)
_LANGUAGE = re.compile(r"\.[a-z]{2,3}(?:[-_][A-Za-z]{2,4})?\Z")
_JOINED = re.compile(r"[_\-\s]+")


class LessonName(Struct, frozen=True):
    """The number and title in the name of a lesson's file."""

    number: int | None
    title: str


def readable_name(name: str) -> str:
    """Make a name readable, without its sort number: `01-git_from_the-start` becomes `Git from the start`."""
    rest = _LEADING.sub("", name, count=1) if _LEADING.match(name) else name
    return _to_words(rest) or _to_words(name) or clean_title(name)


def file_stem(path: str) -> str:
    """Return a file's name without its extension; for subtitles, also without the language code."""
    name = PurePosixPath(path)
    return _LANGUAGE.sub("", name.stem) or name.stem if name.suffix.lower() in (".srt", ".vtt") else name.stem


def parse_lesson_name(stem: str) -> LessonName:
    """Parse the number and title of a name: `Lesson 3 - Branches`, `03-branches`, `week2`.

    The title is empty if nothing else is left.
    """
    if leading := _LEADING.match(stem):
        number, rest = int(leading["number"]), stem[leading.end() :]
        again = _BEHIND.match(rest)
        return LessonName(number, _to_words(rest[again.end() :] if again and int(again["number"]) == number else rest))
    if behind := _BEHIND.search(stem):
        return LessonName(int(behind["number"]), _to_words(f"{stem[: behind.start()]} {stem[behind.end() :]}"))
    return LessonName(None, readable_name(stem))


def _to_words(name: str) -> str:
    words = clean_title(_JOINED.sub(" ", name))
    return words[:1].upper() + words[1:]
