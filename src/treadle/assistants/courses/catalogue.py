"""The course catalogue, assembled from what each file says about its course: titles, links, lessons in order. Pure."""

from collections import Counter
from collections.abc import Mapping
from typing import Any

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from treadle.assistants.courses.material.course_types import CourseFileInfo, Lesson
from treadle.assistants.courses.material.text_cleanup import clean_title
from treadle.assistants.courses.title_matching import find_course_phrases, find_mentioned_title, match_titles
from treadle.passages import Passage

MAX_LESSON_TITLE = 200  # characters of a lesson's title


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

    def mentioned(self, text: str) -> Course | None:
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
