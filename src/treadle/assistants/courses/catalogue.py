"""The course catalogue, assembled from what each file says about its course: titles, links, lessons in order. Pure.

Names of courses as users write them are matched with titles: loosely, but with a floor, so that a wrong name is recognised. The
scope of a question is all courses, one course, or one document of a course; it is part of a conversation's context.
"""

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from difflib import SequenceMatcher
from functools import lru_cache
from typing import Any

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from treadle.assistant import ContextNotFound
from treadle.assistants.courses.material.course_types import CourseFileInfo, Lesson, clean_title
from treadle.passages import Passage

FLOOR = 0.6  # how much of a name has to fit
NEARLY_WHOLE = 0.85  # how much of a title has to be said, to mean it and no other
NEAR = 0.25  # how much, to be offered instead
ALIKE = 0.8  # from where on two words are one, written differently
MOST_NEAR = 3
LONGEST = 2_000  # characters of a text that is looked through for a name

_WORD = re.compile(r"\w+")
_COMMON_TEXT = """
a about an and at by class course courses for from how in into is it lesson lessons my of on one or our series that the this to
tutorial what with without your
"""
_COMMON = frozenset(_COMMON_TEXT.split())
MAX_LESSON_TITLE = 200  # characters of a lesson's title


class TitleMatch(Struct, frozen=True):
    """The matching titles by index; if there are none, similar ones."""

    meant: tuple[int, ...] = ()
    near: tuple[int, ...] = ()


def match_titles(name: str, titles: Sequence[str]) -> TitleMatch:
    """Return the titles that a name matches: one, or several equally good ones; else the most similar."""
    same = tuple([place for place, title in enumerate(titles) if title.casefold().strip() == name.casefold().strip()])
    if same:
        return TitleMatch(same)
    scores = [_score(name, title) for title in titles]
    best, whole = max(scores, default=(0.0, 0.0))
    if best >= FLOOR:
        least = whole if whole >= NEARLY_WHOLE else 0.0  # a title that is named wholly is meant, not others that hold it too
        return TitleMatch(tuple([place for place, score in enumerate(scores) if score[0] == best and score[1] >= least]))
    ranked = sorted(range(len(titles)), key=lambda place: scores[place], reverse=True)
    return TitleMatch(near=tuple([place for place in ranked if scores[place][0] >= NEAR][:MOST_NEAR]))


def find_mentioned_title(text: str, titles: Sequence[str]) -> int | None:
    """Return the index of the title mentioned in a text: the one with most of its words there; None if there is none.

    A word of several titles mentions none of them by itself.
    """
    said = text[:LONGEST].casefold()
    found = [(len(title), place) for place, title in enumerate(titles) if title and title.casefold() in said]
    if found:
        return max(found)[1]
    told = significant_words(said)
    words = [significant_words(title) for title in titles]
    common = Counter([word for each in words for word in {*each}])
    own = [tuple([word for word in each if common[word] == 1]) for each in words]
    scores = [_word_overlap(each, told) if _word_overlap(mine, told) else 0.0 for each, mine in zip(words, own, strict=True)]
    best = max(scores, default=0.0)
    return scores.index(best) if best >= FLOOR and scores.count(best) == 1 else None


_CALLED = re.compile(r"((?:\b[\w'-]{1,40} ){1,5})(?:course|class|series)\b", re.IGNORECASE)


def find_course_phrases(text: str) -> list[str]:
    """Return candidate course names of a text, as in "the bread course": the words before that word, fewer and fewer."""
    phrases = [found[1].split() for found in _CALLED.finditer(text[:LONGEST])]
    return [" ".join(words[start:]) for words in phrases for start in range(len(words))]


def replace_brackets(name: str) -> str:
    """Replace brackets in a name, so that its end is clear when it is put in brackets."""
    return name.replace("[", "(").replace("]", ")")


@lru_cache(65536)
def significant_words(text: str) -> tuple[str, ...]:
    """Return the words that distinguish one title from another."""
    every = tuple(_WORD.findall(text.casefold()))
    return tuple([word for word in every if word not in _COMMON]) or every


def _score(name: str, title: str) -> tuple[float, float]:
    """Return how much of the name is in the title; among equals, how much of the title is in the name."""
    asked, told = significant_words(name), significant_words(title)
    share = _word_overlap(asked, told)
    if share < FLOOR and _text_similarity("".join(asked), "".join(told)) >= ALIKE:  # written together, or hardly spelt
        share = ALIKE
    return round(share, 3), round(_word_overlap(told, asked), 3)


def _word_overlap(words: Sequence[str], others: Sequence[str]) -> float:
    """Return how many of these words are among the others, each by its best match. Long words weigh more than short ones."""
    weights = [min(max(len(word), 4), 8) for word in words]
    fits = [
        max((_word_similarity(word, other) for other in others), default=0.0) * weight
        for word, weight in zip(words, weights, strict=True)
    ]
    return sum(fits) / sum(weights) if words else 0.0


@lru_cache(65536)
def _word_similarity(one: str, other: str) -> float:
    if one == other:
        return 1.0
    short, long = sorted((one, other), key=len)
    if len(short) >= 3 and long.startswith(short):
        return 0.9
    if len(short) < 4 or len(long) - len(short) > 3:
        return 0.0
    return _text_similarity(one, other)


def _text_similarity(one: str, other: str) -> float:
    """Return the similarity of two spellings, from `ALIKE` to 1; else 0."""
    if abs(len(one) - len(other)) > 6 or not one or not other:
        return 0.0
    compared = SequenceMatcher(None, one, other, autojunk=False)
    if compared.real_quick_ratio() < ALIKE or compared.quick_ratio() < ALIKE:
        return 0.0
    ratio = compared.ratio()
    return ratio if ratio >= ALIKE else 0.0


class Course(Struct, frozen=True):
    """A course. `name` is its title, or the title and its folder if several courses share the title."""

    key: str
    title: str
    name: str
    link: str = ""
    instructor: str = ""
    lessons: tuple[Lesson, ...] = ()
    sources: tuple[str, ...] = ()

    def lesson(self, number: int | None) -> Lesson | None:
        """Return the lesson with a number; None if there is none."""
        return next((each for each in self.lessons if each.number == number and number is not None), None)

    @property
    def numbers(self) -> tuple[int, ...]:
        """The numbers of its lessons."""
        return tuple([each.number for each in self.lessons if each.number is not None])


class Catalogue(Struct, frozen=True):
    """All courses, by title."""

    courses: tuple[Course, ...] = ()

    def match(self, name: str) -> tuple[tuple[Course, ...], tuple[Course, ...]]:
        """Return the courses that a name matches; if there are none, similar ones."""
        exactly = tuple([course for course in self.courses if course.name.casefold() == name.casefold().strip()])
        if exactly:
            return exactly, ()
        found = match_titles(name, [course.title for course in self.courses])
        return self._courses_at(found.meant), self._courses_at(found.near)

    def find_mentioned(self, text: str) -> Course | None:
        """Return the course that a text mentions."""
        place = find_mentioned_title(text, [course.name for course in self.courses])
        if place is not None:
            return self.courses[place]
        fitting = [match_titles(phrase, [course.title for course in self.courses]).meant for phrase in find_course_phrases(text)]
        return next((self.courses[places[0]] for places in fitting if len(places) == 1), None)

    def within(self, key: str) -> "Catalogue":
        """Restrict the catalogue to the course of a key; all of it without a key."""
        return Catalogue(tuple([course for course in self.courses if course.key == key])) if key else self

    def by_key(self, key: str) -> Course | None:
        """Return the course with a key."""
        return next((course for course in self.courses if course.key == key), None)

    def name_of(self, passage: Passage) -> str:
        """Return the name of a passage's course."""
        course = self.by_key(str(passage.tags.get("course", "")))
        return course.name if course is not None else passage.title

    def _courses_at(self, places: tuple[int, ...]) -> tuple[Course, ...]:
        return tuple([self.courses[place] for place in places])


def build_catalogue(abouts: Mapping[str, Mapping[str, Any]]) -> Catalogue:
    """Build the catalogue of these files, each given by its source."""
    files: dict[str, list[tuple[str, CourseFileInfo]]] = {}
    for source, about in abouts.items():
        file = msgspec.convert(about, CourseFileInfo)
        files.setdefault(file.course, []).append((source, file))
    courses = [_build_course(key, each) for key, each in files.items()]
    return Catalogue(tuple(sorted(_make_names_unique(courses), key=lambda course: course.name.casefold())))


def _build_course(key: str, files: list[tuple[str, CourseFileInfo]]) -> Course:
    told = [file for _, file in files]
    return Course(
        key,
        told[0].title,
        told[0].title,
        next((file.link for file in told if file.link), ""),
        next((file.instructor for file in told if file.instructor), ""),
        _merge_lessons([lesson for file in told for lesson in file.lessons]),
        tuple([source for source, _ in files]),
    )


def _merge_lessons(lessons: list[Lesson]) -> tuple[Lesson, ...]:
    """Sort lessons, those without a number last. Files of one lesson, such as a text and its subtitles, are merged."""
    numbered: dict[int, Lesson] = {}
    for lesson in lessons:
        if lesson.number is not None:
            before = numbered.get(lesson.number)
            title = lesson.title if before is None or not before.title else _join_titles(before.title, lesson.title)
            numbered[lesson.number] = Lesson(lesson.number, title, (before.link if before else "") or lesson.link)
    return (*[numbered[number] for number in sorted(numbered)], *[each for each in lessons if each.number is None])


def _join_titles(one: str, other: str) -> str:
    return one if not other or other.casefold() in one.casefold() else f"{one} / {other}"[:MAX_LESSON_TITLE]


def _make_names_unique(courses: list[Course]) -> list[Course]:
    """Give each course a unique name: those that share a title get their folder added."""
    often = Counter([course.title.casefold() for course in courses])
    return [
        course if often[course.title.casefold()] == 1 else replace(course, name=f"{course.title} ({clean_title(course.key)})")
        for course in courses
    ]


class CourseScope(Struct, frozen=True):
    """Search scope: a course by its key, and a document of it by its source; empty means all.

    `owner` is the user who shares the course, if it is another's.
    """

    course: str = ""
    document: str = ""
    owner: str = ""

    @property
    def context(self) -> dict[str, str]:
        """Return the scope as part of a conversation's context."""
        every = (("course", self.course), ("document", self.document), ("owner", self.owner))
        return {key: value for key, value in every if value}


def scope_from_context(context: Mapping[str, Any]) -> CourseScope:
    """Return the scope in a context."""
    return CourseScope(*[str(context.get(name, "")) for name in ("course", "document", "owner")])


def resolve_scope(catalogue: Catalogue, course: str, document: str) -> CourseScope:
    """Return the scope for a course, by its key or name, and a document, by its source or the end of it.

    Raises `ContextNotFound` if there is no match, or several.
    """
    if not course and not document:
        return CourseScope()
    exact = catalogue.by_key(course)
    courses = ((exact,) if exact else catalogue.match(course)[0]) if course else catalogue.courses
    if course and len(courses) != 1:
        raise ContextNotFound(
            f"There is no course {course[:200]!r}." if not courses else f"{course[:200]!r} is the name of several courses."
        )
    if not document:
        return CourseScope(courses[0].key)
    found = [
        (each.key, source) for each in courses for source in each.sources if source == document or source.endswith(f"/{document}")
    ]
    if len(found) != 1:
        raise ContextNotFound(
            f"There is no document {document[:200]!r}." if not found else f"There are several documents {document[:200]!r}."
        )
    return CourseScope(*found[0])
