"""Sources of an answer: the lessons that a run's calls found, each once, with its link, and the passages that it cites. Pure.

The sources and their numbers are part of the data of each call's result, so a run's calls are enough to get them. An answer cites
passages by the numbers that the model saw; a number without a passage is dropped from the answer, and code is left alone.
"""

import re
from collections.abc import Iterable, Mapping
from typing import Literal

import msgspec
from msgspec import Struct

from treadle import CallRecord, Result
from treadle.assistants.courses.catalogue import Course
from treadle.passages import Passage

Status = Literal["found", "nothing", "no query", "no such lesson", "no such course", "no courses"]
_CODE = re.compile(r"(```.*?(?:```|\Z)|`[^`\n]*`)", re.DOTALL)
_MARK = re.compile(r"([ \t]?)\[(\d{1,3}(?:\s*[,;]\s*\d{1,3})*)\](?![(\[:])")


class CitedPassage(Struct, frozen=True, omit_defaults=True):
    """A passage that was looked up. `owner` is the user who shares its course, if it is another's."""

    id: str
    place: str
    owner: str = ""


class AnswerSource(Struct, frozen=True):
    """A lesson or a course that an answer is based on. `text` and `url` are the fields of the original API."""

    text: str
    url: str | None = None
    course: str = ""
    lesson: int | None = None
    passages: tuple[CitedPassage, ...] = ()


class FoundPassage(Struct, frozen=True):
    """A passage found by a search, under the heading that the model sees above it, and its citation number."""

    heading: str
    text: str
    source: AnswerSource
    number: int = 0


class LookupResult(Struct, frozen=True, omit_defaults=True):
    """Data of a result of either tool: the passages found, or the courses whose outline was requested.

    `message` says what doesn't exist, if nothing was found; `left_out` is how many passages of a lesson didn't fit.
    """

    status: Status
    passages: tuple[FoundPassage, ...] = ()
    courses: tuple[Course, ...] = ()
    left_out: int = 0
    message: str = ""

    @property
    def sources(self) -> tuple[AnswerSource, ...]:
        """Its sources."""
        return (*[each.source for each in self.passages], *[source_from_course(course) for course in self.courses])


def lookup_from_result(result: Result | None) -> LookupResult | None:
    """Return the data of a result; None if it has none: a failed call, or one cut by a limit."""
    try:
        return None if result is None or result.data is None else msgspec.convert(result.data, LookupResult)
    except msgspec.ValidationError:
        return None


def collect_sources(calls: Iterable[CallRecord]) -> tuple[AnswerSource, ...]:
    """Return the sources of a run's answer, by what its calls found, in order."""
    found = [lookup for record in calls if (lookup := lookup_from_result(record.result)) is not None]
    return merge_sources([source for lookup in found for source in lookup.sources])


def merge_sources(sources: Iterable[AnswerSource]) -> tuple[AnswerSource, ...]:
    """Return each lesson once, in the order of first occurrence, with all of its passages."""
    found: dict[tuple[str, str], AnswerSource] = {}
    for each in sources:
        before = found.get((each.course, each.text), each)
        passages = tuple(dict.fromkeys((*before.passages, *each.passages)))
        found[each.course, each.text] = AnswerSource(each.text, before.url or each.url, each.course, each.lesson, passages)
    return tuple(found.values())


def source_from_passage(passage: Passage, name: str, owner: str = "") -> AnswerSource:
    """Build the source of a passage; `name` is its course's name, `owner` the user who shares it."""
    number = passage.tags.get("lesson")
    lesson = number if isinstance(number, int) else None
    under = f"Lesson {lesson}" if lesson is not None else "".join(passage.headings[:1])
    text = f"{name} - {under}" if under and under != name else name
    cited = CitedPassage(passage.id, passage.place, owner)
    return AnswerSource(text, passage.link or None, str(passage.tags.get("course", "")), lesson, (cited,))


def source_from_course(course: Course) -> AnswerSource:
    """Build the source of a course whose outline was looked up."""
    return AnswerSource(course.name, course.link or None, course.key)


class Citation(Struct, frozen=True):
    """A passage that an answer cites: `[number]` in its text. `text` and `url` are those of its source."""

    number: int
    id: str
    text: str
    place: str
    url: str | None = None


def collect_passages(calls: Iterable[CallRecord]) -> dict[int, FoundPassage]:
    """Return the passages that a run's searches found, by their numbers."""
    lookups = [lookup for record in calls if (lookup := lookup_from_result(record.result)) is not None]
    return {each.number: each for lookup in lookups for each in lookup.passages if each.number}


def resolve_citations(answer: str, found: Mapping[int, FoundPassage]) -> tuple[str, tuple[Citation, ...]]:
    """Return the answer without numbers that have no passage, and its citations in the order of their numbers."""
    if not found:
        return answer, ()
    named: set[int] = set()

    def keep(mark: re.Match[str]) -> str:
        numbers = [int(each) for each in re.findall(r"\d+", mark[2])]
        there = list(dict.fromkeys([number for number in numbers if number in found]))
        named.update(there)
        return mark[1] + "".join([f"[{number}]" for number in there]) if there else ""

    pieces = [piece if at % 2 else _MARK.sub(keep, piece) for at, piece in enumerate(_CODE.split(answer))]
    return "".join(pieces), tuple([_build_citation(number, found[number]) for number in sorted(named)])


def _build_citation(number: int, found: FoundPassage) -> Citation:
    passage = found.source.passages[0]
    return Citation(number, passage.id, found.source.text, passage.place, found.source.url)
