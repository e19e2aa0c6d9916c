"""The reader of course material: a file's bytes in, a document in passages out, with what it says of its course."""

import msgspec
from msgspec import Struct

from treadle.assistants.courses.material.belonging import Belonging, belonging
from treadle.assistants.courses.material.cut import Cut, cuts_of
from treadle.assistants.courses.material.layout import Layout, Part, layout_of
from treadle.assistants.courses.material.marks import headed_mark
from treadle.assistants.courses.material.named import lesson_of, readable, stem_of
from treadle.assistants.courses.material.opened import opened
from treadle.assistants.courses.material.tidy import title_of
from treadle.assistants.courses.material.values import CourseFile, Lesson, Material
from treadle.passages import Document, Passage

LONGEST_FIRST_LINE = 120  # characters of a text's first line that can be its title


class CourseReader(Struct, frozen=True):
    """Reads material of every format there is.

    size      characters of a passage, at most
    overlap   characters at most that a passage repeats of the one before
    titles    names of added folders, each of which is one course, with its title
    folders   names of the other added folders; needed for those only whose name has a slash in it
    """

    size: int = 800
    overlap: int = 100
    titles: dict[str, str] = {}
    folders: tuple[str, ...] = ()

    @property
    def version(self) -> str:
        """All that is set, and the way files are read here."""
        return f"courses 2 {self.size} {self.overlap} {sorted(self.titles.items())} {sorted(self.folders)}"

    def version_of(self, source: str) -> str:
        """What of this applies to a file: another folder, or another's title, is nothing to it."""
        place = belonging(source, self.titles, self.folders)
        return f"courses 2 {self.size} {self.overlap} {place.course!r} {place.title!r}"

    def read(self, source: str, data: bytes) -> Document:
        """The document in a file; `Unreadable` where there is none."""
        material = opened(source, data)
        place = belonging(source, self.titles, self.folders)
        layout = layout_of(material.text, markdown=material.markdown)
        if layout.title or not place.lesson:
            course = _own_course(source, material, layout)
        else:
            layout = _as_lesson(source, material, layout)
            course = _lesson_of_course(place, layout)
        cuts = cuts_of(material, layout.parts, course.title, size=self.size, overlap=self.overlap)
        passages = tuple(_passage(source, number, cut, course, layout) for number, cut in enumerate(cuts))
        return Document(source, course.title, passages=passages, about=msgspec.to_builtins(course))


def _own_course(source: str, material: Material, layout: Layout) -> CourseFile:
    """What a file says that is a course by itself."""
    own = layout.title or layout.heading_one or layout.front or title_of(material.title) or _first_line(material, layout)
    return CourseFile(source, own or readable(stem_of(source)), layout.link, layout.instructor, layout.lessons)


def _first_line(material: Material, layout: Layout) -> str:
    """The first line of a plain text that doesn't begin with a lesson, if it can be a title."""
    if material.markdown or not material.lines or not layout.parts or layout.parts[0].lesson:
        return ""
    part = layout.parts[0]
    line = material.text[part.start : part.end].lstrip().partition("\n")[0].rstrip()
    return title_of(line) if len(line) <= LONGEST_FIRST_LINE else ""


def _lesson_of_course(place: Belonging, layout: Layout) -> CourseFile:
    return CourseFile(place.course, title_of(place.title), layout.link, layout.instructor, layout.lessons)


def _as_lesson(source: str, material: Material, layout: Layout) -> Layout:
    """The layout of a file that is a lesson: its own lessons if it has some, else all of it is the one its name says."""
    name = lesson_of(stem_of(source))
    if name.number is not None:  # chapters in it are parts of this lesson
        layout = layout_of(material.text, markdown=material.markdown, lessons_only=True)
    if layout.lessons:
        return layout
    own = layout.heading or layout.front or title_of(material.title)
    mark = headed_mark(own)
    title = mark.title if mark else own
    lesson = Lesson(name.number, title or name.title, layout.lesson_link)
    parts = tuple(Part(lesson, part.start, part.end) for part in layout.parts)
    return msgspec.structs.replace(layout, lessons=(lesson,), parts=parts)


def _passage(source: str, number: int, cut: Cut, course: CourseFile, layout: Layout) -> Passage:
    lesson = cut.lesson
    tags: dict[str, str | int] = {"course": course.course, "document": source}
    if lesson and lesson.number is not None:
        tags["lesson"] = lesson.number
    return Passage(
        cut.text,
        source,
        number,
        course.title,
        cut.headings,
        cut.first_line,
        cut.last_line,
        at=cut.at,
        link=(lesson.link if lesson else "") or layout.lesson_link or course.link,
        tags=tags,
    )
