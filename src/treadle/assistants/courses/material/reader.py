"""The reader of course material: converts a file's bytes to a document in passages, with what it states about its course."""

import re
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import PurePosixPath

import msgspec
from msgspec import Struct

from treadle.assistants.courses.material.course_types import CourseFileInfo, Lesson, Material, clean_title
from treadle.assistants.courses.material.format_registry import parse_material
from treadle.assistants.courses.material.layout import CourseLayout, LayoutPart, parse_layout
from treadle.assistants.courses.material.line_parsing import parse_heading_mark, strip_markdown
from treadle.passages import Passage, Piece, SourceDocument, split_markdown, split_text


class CourseMembership(Struct, frozen=True):
    """The course of a file. A lesson's course takes its title from the folder; a course file states its own."""

    course: str
    title: str = ""

    @property
    def lesson(self) -> bool:
        """Whether the file is a lesson, not a course of its own."""
        return bool(self.title)


def resolve_membership(source: str, titles: Mapping[str, str], folders: Iterable[str] = ()) -> CourseMembership:
    """Resolve the course of a file that names none itself: the added folder if that has a title, else the folder in it."""
    name = _added_folder(source, (*titles, *folders))
    if name in titles and source != name:
        return CourseMembership(name, titles[name] or readable_name(name.rpartition("/")[2]))
    within = source.removeprefix(name).strip("/").split("/")
    return CourseMembership(f"{name}/{within[0]}", readable_name(within[0])) if len(within) > 1 else CourseMembership(source)


def _added_folder(source: str, known: Iterable[str]) -> str:
    """Return the name of the added folder: the longest known one, else the first part of the source."""
    fitting = [each for each in known if source.startswith(f"{each}/")]
    return max(fitting, key=len) if fitting else source.partition("/")[0]


class LessonPiece(Struct, frozen=True):
    """A piece of the text. Lines count from 1; they are 0 if the file has no lines of its own."""

    lesson: Lesson | None
    text: str
    headings: tuple[str, ...]
    at: str = ""
    first_line: int = 0
    last_line: int = 0


def split_lessons(material: Material, parts: Sequence[LayoutPart], title: str, *, size: int, overlap: int) -> list[LessonPiece]:
    """Return the pieces of all parts, without those that only repeat a title that others have as heading."""
    cuts = list(_split_parts(material, parts, title, size, overlap))
    said = Counter(id(cut.lesson) for cut in cuts)
    return [cut for cut in cuts if len(cuts) == 1 or not _is_only_title(cut, title, alone=said[id(cut.lesson)] == 1)]


def _split_parts(material: Material, parts: Sequence[LayoutPart], title: str, size: int, overlap: int) -> Iterator[LessonPiece]:
    split = split_markdown if material.markdown else split_text
    offsets = [offset for offset, _ in material.anchors]
    line, upto = 0, 0
    for part in parts:
        line, upto = line + material.text.count("\n", upto, part.start), part.start
        for piece in split(material.text[part.start : part.end], size=size, overlap=overlap).pieces:
            first, last = (line + piece.first_line, line + piece.last_line) if material.lines else (0, 0)
            at = _find_anchor(material, offsets, part.start + piece.start)
            yield LessonPiece(part.lesson, piece.text, _piece_headings(piece, part.lesson, title), at, first, last)


def _find_anchor(material: Material, offsets: Sequence[int], position: int) -> str:
    place = bisect_right(offsets, position) - 1
    return material.anchors[place][1] if place >= 0 else ""


def _piece_headings(piece: Piece, lesson: Lesson | None, title: str) -> tuple[str, ...]:
    """Return the lesson, then the headings inside it, without repetitions."""
    own = lesson.heading if lesson else ""
    said = {title, own, lesson.title if lesson else ""}
    inside = [heading for heading in piece.headings if heading not in said]
    return (own, *inside) if own else tuple(inside)


def _is_only_title(cut: LessonPiece, title: str, *, alone: bool) -> bool:
    """Return whether a piece is only the title of the course; or of its lesson, if the lesson has other pieces."""
    words = strip_markdown(cut.text.lstrip("#"))
    return words == title if cut.lesson is None or not cut.lesson.title else words in (title, cut.lesson.title) and not alone


LONGEST_FIRST_LINE = 120  # characters of a text's first line that can be its title


class CourseReader(Struct, frozen=True):
    """Reads material of every supported format.

    size      characters of a passage, at most
    overlap   characters at most that a passage repeats of the one before
    titles    names of added folders, each of which is one course, with its title
    folders   names of the other added folders; needed only for those with a slash in their name
    """

    size: int = 800
    overlap: int = 100
    titles: dict[str, str] = {}
    folders: tuple[str, ...] = ()

    @property
    def version(self) -> str:
        """All settings, and the version of the reading code."""
        return f"courses 2 {self.size} {self.overlap} {sorted(self.titles.items())} {sorted(self.folders)}"

    def version_of(self, source: str) -> str:
        """Return the version that applies to a file: another folder, or its title, doesn't affect it."""
        place = resolve_membership(source, self.titles, self.folders)
        return f"courses 2 {self.size} {self.overlap} {place.course!r} {place.title!r}"

    def read(self, source: str, data: bytes) -> SourceDocument:
        """Return the document of a file; raises `UnreadableDocument` if there is none."""
        material = parse_material(source, data)
        place = resolve_membership(source, self.titles, self.folders)
        layout = parse_layout(material.text, markdown=material.markdown)
        if layout.title or not place.lesson:
            course = _describe_own_course(source, material, layout)
        else:
            layout = _layout_as_lesson(source, material, layout)
            course = _describe_lesson_course(place, layout)
        cuts = split_lessons(material, layout.parts, course.title, size=self.size, overlap=self.overlap)
        passages = tuple(_build_passage(source, number, cut, course, layout) for number, cut in enumerate(cuts))
        return SourceDocument(source, course.title, passages=passages, about=msgspec.to_builtins(course))


def _describe_own_course(source: str, material: Material, layout: CourseLayout) -> CourseFileInfo:
    """Describe the course of a file that is a course of its own."""
    own = layout.title or layout.heading_one or layout.front or clean_title(material.title) or _first_line_title(material, layout)
    return CourseFileInfo(source, own or readable_name(file_stem(source)), layout.link, layout.instructor, layout.lessons)


def _first_line_title(material: Material, layout: CourseLayout) -> str:
    """Return the first line of a plain text that doesn't begin with a lesson, if it can be a title."""
    if material.markdown or not material.lines or not layout.parts or layout.parts[0].lesson:
        return ""
    part = layout.parts[0]
    line = material.text[part.start : part.end].lstrip().partition("\n")[0].rstrip()
    return clean_title(line) if len(line) <= LONGEST_FIRST_LINE else ""


def _describe_lesson_course(place: CourseMembership, layout: CourseLayout) -> CourseFileInfo:
    return CourseFileInfo(place.course, clean_title(place.title), layout.link, layout.instructor, layout.lessons)


def _layout_as_lesson(source: str, material: Material, layout: CourseLayout) -> CourseLayout:
    """Return the layout of a file that is a lesson: its own lessons if it has any, else one lesson named after the file."""
    name = parse_lesson_name(file_stem(source))
    if name.number is not None:  # chapters in it are parts of this lesson
        layout = parse_layout(material.text, markdown=material.markdown, lessons_only=True)
    if layout.lessons:
        return layout
    own = layout.heading or layout.front or clean_title(material.title)
    mark = parse_heading_mark(own)
    title = mark.title if mark else own
    lesson = Lesson(name.number, title or name.title, layout.lesson_link)
    parts = tuple(LayoutPart(lesson, part.start, part.end) for part in layout.parts)
    return msgspec.structs.replace(layout, lessons=(lesson,), parts=parts)


def _build_passage(source: str, number: int, cut: LessonPiece, course: CourseFileInfo, layout: CourseLayout) -> Passage:
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
