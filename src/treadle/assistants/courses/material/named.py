"""What the names of files and folders say: a readable title, and the number of a lesson. Pure."""

import re
from pathlib import PurePosixPath

from msgspec import Struct

from treadle.assistants.courses.material.tidy import title_of

_LEADING = re.compile(r"\s*(?P<number>0\d{1,2}(?!\d)|\d{1,3}(?=[\s._)\-]|\Z))[\d.]*[\s._)\-]*")
_BEHIND = re.compile(
    r"(?<![^\W\d_])(?:lesson|chapter|week|unit|module|lecture|part)[\s._#\-]*(?P<number>\d{1,4})(?!\d)[\s._:)\-]*", re.IGNORECASE
)
_LANGUAGE = re.compile(r"\.[a-z]{2,3}(?:[-_][A-Za-z]{2,4})?\Z")
_JOINED = re.compile(r"[_\-\s]+")


class Named(Struct, frozen=True):
    """What the name of a lesson's file says."""

    number: int | None
    title: str


def readable(name: str) -> str:
    """A name made readable, without the number it is sorted by: `01-git_from_the-start` is `Git from the start`."""
    rest = _LEADING.sub("", name, count=1) if _LEADING.match(name) else name
    return _words(rest) or _words(name) or title_of(name)


def stem_of(path: str) -> str:
    """The name of a file without its ending; for subtitles, without the language in front of that either."""
    name = PurePosixPath(path)
    return _LANGUAGE.sub("", name.stem) or name.stem if name.suffix.lower() in (".srt", ".vtt") else name.stem


def lesson_of(stem: str) -> Named:
    """The number and the title in a name: `Lesson 3 - Branches`, `03-branches`, `week2`. No title where nothing else is said."""
    if leading := _LEADING.match(stem):
        number, rest = int(leading["number"]), stem[leading.end() :]
        again = _BEHIND.match(rest)
        return Named(number, _words(rest[again.end() :] if again and int(again["number"]) == number else rest))
    if behind := _BEHIND.search(stem):
        return Named(int(behind["number"]), _words(f"{stem[: behind.start()]} {stem[behind.end() :]}"))
    return Named(None, readable(stem))


def _words(name: str) -> str:
    words = title_of(_JOINED.sub(" ", name))
    return words[:1].upper() + words[1:]
