"""Find the lessons of a text, and what its head says of the course. Works on lines, independent of formats and files. Pure.

Course Title: Bread at home
Course Link: https://example.org/bread
Course Instructor: Ada Baker

Lesson 0: Welcome
Lesson Link: https://example.org/bread/0
What is said in the lesson …
"""

import re
from collections import Counter
from collections.abc import Iterator, Sequence

from msgspec import Struct

from treadle.assistants.courses.material.course_types import Lesson, clean_title, extract_web_link
from treadle.assistants.courses.material.line_parsing import (
    LESSON_WORD,
    LessonMark,
    MarkdownHeading,
    MaterialLine,
    parse_head_line,
    parse_heading,
    parse_heading_mark,
    parse_line_mark,
    split_material_lines,
    strip_markdown,
)

MAX_LAYOUT_LESSONS = 2_000  # of one file; what comes behind is text of the last

_UNDERLINE = re.compile(r" {0,3}(?P<mark>=+|-{2,})[ \t]*\Z")
_FRONT_TITLE = re.compile(r"title:[ \t]*(?P<title>\S.*)")


class LayoutPart(Struct, frozen=True):
    """A span of text that belongs to one lesson, or to the course without one. Lines that begin a lesson aren't included."""

    lesson: Lesson | None
    start: int
    end: int


class CourseLayout(Struct, frozen=True):
    """What a text states about its course.

    `heading_one` is the first level-one heading, `parse_heading` the first of any level, before the lessons; `front` is the
    title in front matter.
    """

    title: str = ""
    link: str = ""
    instructor: str = ""
    lesson_link: str = ""
    heading_one: str = ""
    heading: str = ""
    front: str = ""
    lessons: tuple[Lesson, ...] = ()
    parts: tuple[LayoutPart, ...] = ()


class _LessonStart(Struct, frozen=True):
    """A line at which a lesson begins; the mark takes `length` lines."""

    line: int
    length: int
    mark: LessonMark


def parse_layout(text: str, *, markdown: bool, lessons_only: bool = False) -> CourseLayout:
    """Parse the layout of a text. With `lessons_only`, chapters, weeks and the like are ordinary headings."""
    lines = split_material_lines(text, markdown=markdown)
    body = _end_of_front_matter(lines) if markdown else 0
    head, taken = _parse_head(lines, body, markdown=markdown)
    starts = _filter_starts(_find_starts(lines, body, taken, markdown=markdown), lessons_only=lessons_only)[:MAX_LAYOUT_LESSONS]
    owners = _build_lessons(lines, starts, taken)
    free = [number for number in range(body, starts[0].line if starts else len(lines)) if number not in taken]
    headings = list(_find_headings(lines, free)) if markdown else []
    parts = tuple(_build_parts(lines, owners, taken))
    return CourseLayout(
        title=clean_title(strip_markdown(head.get("course title", "")) if markdown else head.get("course title", "")),
        link=extract_web_link(head.get("course link", "")),
        instructor=clean_title(head.get("course instructor", "").strip("*_")),
        lesson_link=extract_web_link(head.get("lesson link", "")),
        heading_one=next((clean_title(each.words) for each in headings if each.level == 1), ""),
        heading=clean_title(headings[0].words) if headings else "",
        front=_front_matter_title(lines[:body]),
        lessons=_order_lessons([owner for _, owner in owners], parts),
        parts=parts,
    )


def _end_of_front_matter(lines: Sequence[MaterialLine]) -> int:
    """Return the line after front matter, which is between dashes at the very beginning."""
    if lines[0].text.rstrip() != "---":
        return 0
    return next((number + 1 for number, line in enumerate(lines[1:], 1) if line.text.rstrip() in ("---", "...")), 0)


def _front_matter_title(lines: Sequence[MaterialLine]) -> str:
    found = next((match for line in lines if (match := _FRONT_TITLE.match(line.text))), None)
    return clean_title(found["title"].strip().strip("\"'")) if found else ""


def _parse_head(lines: Sequence[MaterialLine], body: int, *, markdown: bool) -> tuple[dict[str, str], set[int]]:
    """Return the fields of the first lines, and which lines they are. In Markdown a heading may precede them."""
    head: dict[str, str] = {}
    taken: set[int] = set()
    headed = False
    for number in range(body, len(lines)):
        line = lines[number]
        found = parse_head_line(line.text)
        if found and found[0] not in head:
            head[found[0]] = found[1]
            taken.add(number)
        elif markdown and not headed and not head and (title := parse_heading(line.text)) and not parse_heading_mark(title.words):
            headed = True
        elif not line.blank:
            break
    return head, taken


def _find_starts(lines: Sequence[MaterialLine], body: int, taken: set[int], *, markdown: bool) -> Iterator[_LessonStart]:
    """Yield every line at which a lesson may begin."""
    last: _LessonStart | None = None
    for number in range(body, len(lines)):
        if number in taken or lines[number].code:
            continue
        found = _heading_start(lines, number) if markdown else None
        found = found or _text_start(lines, number, last, taken, markdown=markdown)
        if found:
            last = found
            yield found


def _heading_start(lines: Sequence[MaterialLine], number: int) -> _LessonStart | None:
    found = _parse_heading_at(lines, number)
    mark = parse_heading_mark(found[0].words) if found else None
    return _LessonStart(number, found[1], mark) if found and mark else None


def _text_start(
    lines: Sequence[MaterialLine], number: int, last: _LessonStart | None, taken: set[int], *, markdown: bool
) -> _LessonStart | None:
    mark = parse_line_mark(lines[number].text, markdown=markdown)
    if mark and (_is_standalone(lines, number, last, taken) or _continues_series(lines[number - 1].text, mark, last)):
        return _LessonStart(number, 1, mark)
    return None


def _is_standalone(lines: Sequence[MaterialLine], number: int, last: _LessonStart | None, taken: set[int]) -> bool:
    """Return whether a line isn't inside a paragraph: after a blank line, a mark, a heading or code; or before a link."""
    before = lines[number - 1] if number else None
    if (
        before is None
        or before.blank
        or before.code
        or number - 1 in taken
        or parse_head_line(before.text)
        or parse_heading(before.text)
    ):
        return True
    if last and number == last.line + last.length:
        return True
    link = parse_head_line(lines[number + 1].text) if number + 1 < len(lines) else None
    return link is not None and link[0] == "lesson link"


def _continues_series(before: str, mark: LessonMark, last: _LessonStart | None) -> bool:
    """Return whether this is the next lesson directly after the last sentence of the one before."""
    follows = last is not None and last.mark.word == mark.word and mark.number == last.mark.number + 1
    ended = before.rstrip().endswith((".", "!", "?", "…", '"', "”", ")"))
    return follows and ended and not mark.title[:1].islower() and not mark.title.endswith((".", ",", ";"))


def _parse_heading_at(lines: Sequence[MaterialLine], number: int) -> tuple[MarkdownHeading, int] | None:
    """Return the heading at a line, and its number of lines: one, or two if it is underlined."""
    line = lines[number]
    if found := parse_heading(line.text):
        return found, 1
    under = _UNDERLINE.match(lines[number + 1].text) if number + 1 < len(lines) else None
    if under is None or line.blank or (number and not lines[number - 1].blank):
        return None
    return MarkdownHeading(1 if under["mark"][0] == "=" else 2, strip_markdown(line.text)), 2


def _filter_starts(starts: Iterator[_LessonStart], *, lessons_only: bool) -> list[_LessonStart]:
    """Return the starts of lessons; if none are called so, those of the most frequent kind: a book's chapters, not its parts."""
    found = list(starts)
    words = Counter(start.mark.word for start in found)
    if LESSON_WORD in words or lessons_only:
        return [start for start in found if start.mark.word == LESSON_WORD]
    return [start for start in found if start.mark.word == words.most_common(1)[0][0]]


def _build_lessons(lines: Sequence[MaterialLine], starts: Sequence[_LessonStart], taken: set[int]) -> list[tuple[int, Lesson]]:
    """Return the lessons with their start lines, and mark those and link lines as taken."""
    owners: list[tuple[int, Lesson]] = []
    for start in starts:
        behind = start.line + start.length
        taken.update(range(start.line, behind))
        at = next((number for number in range(behind, len(lines)) if not lines[number].blank), None)
        found = parse_head_line(lines[at].text) if at is not None else None
        link = ""
        if at is not None and found and found[0] == "lesson link":
            taken.add(at)
            link = extract_web_link(found[1])
        owners.append((start.line, Lesson(start.mark.number, start.mark.title, link)))
    return owners


def _build_parts(lines: Sequence[MaterialLine], owners: Sequence[tuple[int, Lesson]], taken: set[int]) -> Iterator[LayoutPart]:
    """Yield the text between the taken lines."""
    lesson: Lesson | None = None
    waiting = list(reversed(owners))
    first: MaterialLine | None = None
    last: MaterialLine | None = None
    for number, line in enumerate(lines):
        if number not in taken:
            first, last = first or line, line if not line.blank else last
            continue
        if first and last:
            yield LayoutPart(lesson, first.start, last.end)
        first = last = None
        if waiting and waiting[-1][0] == number:
            lesson = waiting.pop()[1]
    if first and last:
        yield LayoutPart(lesson, first.start, last.end)


def _order_lessons(lessons: Sequence[Lesson], parts: Sequence[LayoutPart]) -> tuple[Lesson, ...]:
    """Return the lessons in order. One without text isn't listed twice: a table of contents names what comes later."""
    told = {id(part.lesson) for part in parts}
    full = {(each.number, each.title) for each in lessons if id(each) in told}
    return tuple(each for each in lessons if id(each) in told or (each.number, each.title) not in full)


def _find_headings(lines: Sequence[MaterialLine], numbers: Sequence[int]) -> Iterator[MarkdownHeading]:
    """Yield the headings at some lines, without empty ones."""
    for number in numbers:
        found = None if lines[number].code else _parse_heading_at(lines, number)
        if found and found[0].words:
            yield found[0]
