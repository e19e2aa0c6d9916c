"""Where an answer is from: the lessons that a run's calls found, each once, with its link and its passages. Pure.

The sources are part of the data of each call's result, so whoever has a run's calls has its sources.
"""

from collections.abc import Iterable
from typing import Literal

import msgspec
from msgspec import Struct

from treadle import CallRecord, Result
from treadle.assistants.courses.catalogue import Course
from treadle.passages import Passage

Status = Literal["found", "nothing", "no query", "no such lesson", "no such course", "no courses"]


class Cited(Struct, frozen=True):
    """A passage that was looked at."""

    id: str
    place: str


class Source(Struct, frozen=True):
    """A lesson, or a course, that an answer is from. `text` and `url` are what clients of the original know."""

    text: str
    url: str | None = None
    course: str = ""
    lesson: int | None = None
    passages: tuple[Cited, ...] = ()


class FoundPassage(Struct, frozen=True):
    """A passage that a search found, under the heading that the model reads above it, and the number that it may cite it by."""

    heading: str
    text: str
    source: Source
    number: int = 0


class Lookup(Struct, frozen=True, omit_defaults=True):
    """The data of a result of either tool: the passages that were found, or the courses whose outline was asked for.

    `message` says what isn't there, where nothing was found; `left_out` is how many passages of a lesson didn't fit.
    """

    status: Status
    passages: tuple[FoundPassage, ...] = ()
    courses: tuple[Course, ...] = ()
    left_out: int = 0
    message: str = ""

    @property
    def sources(self) -> tuple[Source, ...]:
        """Where it is from."""
        return (*[each.source for each in self.passages], *[source_of_course(course) for course in self.courses])


def lookup_of(result: Result | None) -> Lookup | None:
    """Return the data of a result; None where it has none: of a call that failed, or of one that a limit cut."""
    try:
        return None if result is None or result.data is None else msgspec.convert(result.data, Lookup)
    except msgspec.ValidationError:
        return None


def sources_of(calls: Iterable[CallRecord]) -> tuple[Source, ...]:
    """Return where the answer of a run is from, by what its calls found, in their order."""
    found = [lookup for record in calls if (lookup := lookup_of(record.result)) is not None]
    return merged([source for lookup in found for source in lookup.sources])


def merged(sources: Iterable[Source]) -> tuple[Source, ...]:
    """Each lesson once, in the order they were found first, with all of its passages."""
    found: dict[tuple[str, str], Source] = {}
    for each in sources:
        before = found.get((each.course, each.text), each)
        passages = tuple(dict.fromkeys((*before.passages, *each.passages)))
        found[each.course, each.text] = Source(each.text, before.url or each.url, each.course, each.lesson, passages)
    return tuple(found.values())


def source_of(passage: Passage, name: str) -> Source:
    """A passage as a source; `name` is what its course is called."""
    number = passage.tags.get("lesson")
    lesson = number if isinstance(number, int) else None
    under = f"Lesson {lesson}" if lesson is not None else "".join(passage.headings[:1])
    text = f"{name} - {under}" if under and under != name else name
    return Source(text, passage.link or None, str(passage.tags.get("course", "")), lesson, (Cited(passage.id, passage.place),))


def source_of_course(course: Course) -> Source:
    """A course whose outline was looked at."""
    return Source(course.name, course.link or None, course.key)
