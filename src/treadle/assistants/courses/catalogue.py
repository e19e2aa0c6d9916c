"""The courses there are, put together from what each file says of its own: titles, links, lessons in order. Pure."""

from collections import Counter
from collections.abc import Mapping
from typing import Any

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from treadle.assistants.courses.material.tidy import title_of
from treadle.assistants.courses.material.values import CourseFile, Lesson
from treadle.assistants.courses.names import called, match, mentioned
from treadle.passages import Passage

LONGEST = 200  # characters of a lesson's title


class Course(Struct, frozen=True):
    """A course. `name` is its title, or the title and where it lies, where several have that title."""

    key: str
    title: str
    name: str
    link: str = ""
    instructor: str = ""
    lessons: tuple[Lesson, ...] = ()
    sources: tuple[str, ...] = ()

    def lesson(self, number: int | None) -> Lesson | None:
        """The lesson by its number; None where there is none."""
        return next((each for each in self.lessons if each.number == number and number is not None), None)

    @property
    def numbers(self) -> tuple[int, ...]:
        """The numbers of its lessons."""
        return tuple([each.number for each in self.lessons if each.number is not None])


class Catalogue(Struct, frozen=True):
    """All courses, by title."""

    courses: tuple[Course, ...] = ()

    def match(self, name: str) -> tuple[tuple[Course, ...], tuple[Course, ...]]:
        """The courses that a name stands for; and where it stands for none, near ones."""
        exactly = tuple([course for course in self.courses if course.name.casefold() == name.casefold().strip()])
        if exactly:
            return exactly, ()
        found = match(name, [course.title for course in self.courses])
        return self._at(found.meant), self._at(found.near)

    def mentioned(self, text: str) -> Course | None:
        """The course that a text names."""
        place = mentioned(text, [course.name for course in self.courses])
        if place is not None:
            return self.courses[place]
        fitting = [match(phrase, [course.title for course in self.courses]).meant for phrase in called(text)]
        return next((self.courses[places[0]] for places in fitting if len(places) == 1), None)

    def within(self, key: str) -> "Catalogue":
        """The one course of this key; all of them where there is no key."""
        return Catalogue(tuple([course for course in self.courses if course.key == key])) if key else self

    def by_key(self, key: str) -> Course | None:
        """The course by its key."""
        return next((course for course in self.courses if course.key == key), None)

    def name_of(self, passage: Passage) -> str:
        """What the course of a passage is called."""
        course = self.by_key(str(passage.tags.get("course", "")))
        return course.name if course is not None else passage.title

    def _at(self, places: tuple[int, ...]) -> tuple[Course, ...]:
        return tuple([self.courses[place] for place in places])


def catalogue_of(abouts: Mapping[str, Mapping[str, Any]]) -> Catalogue:
    """The courses of these files, each by its source."""
    files: dict[str, list[tuple[str, CourseFile]]] = {}
    for source, about in abouts.items():
        file = msgspec.convert(about, CourseFile)
        files.setdefault(file.course, []).append((source, file))
    courses = [_course(key, each) for key, each in files.items()]
    return Catalogue(tuple(sorted(_told_apart(courses), key=lambda course: course.name.casefold())))


def _course(key: str, files: list[tuple[str, CourseFile]]) -> Course:
    told = [file for _, file in files]
    return Course(
        key,
        told[0].title,
        told[0].title,
        next((file.link for file in told if file.link), ""),
        next((file.instructor for file in told if file.instructor), ""),
        _lessons([lesson for file in told for lesson in file.lessons]),
        tuple([source for source, _ in files]),
    )


def _lessons(lessons: list[Lesson]) -> tuple[Lesson, ...]:
    """In order, those without a number last. What comes in several files, such as a text and its subtitles, is one lesson."""
    numbered: dict[int, Lesson] = {}
    for lesson in lessons:
        if lesson.number is not None:
            before = numbered.get(lesson.number)
            title = lesson.title if before is None or not before.title else _both(before.title, lesson.title)
            numbered[lesson.number] = Lesson(lesson.number, title, (before.link if before else "") or lesson.link)
    return (*[numbered[number] for number in sorted(numbered)], *[each for each in lessons if each.number is None])


def _both(one: str, other: str) -> str:
    return one if not other or other.casefold() in one.casefold() else f"{one} / {other}"[:LONGEST]


def _told_apart(courses: list[Course]) -> list[Course]:
    """With a name of its own for each: those of one title have where they lie in it."""
    often = Counter([course.title.casefold() for course in courses])
    return [
        course if often[course.title.casefold()] == 1 else replace(course, name=f"{course.title} ({title_of(course.key)})")
        for course in courses
    ]
