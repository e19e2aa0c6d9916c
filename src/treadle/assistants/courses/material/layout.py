"""Where the lessons of a text lie, and what its head says of the course. Knows lines, not formats and not files. Pure.

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

from treadle.assistants.courses.material.lines import Line, lines_of
from treadle.assistants.courses.material.marks import LESSON, Heading, Mark, headed_mark, heading, plain_mark, said, unadorned
from treadle.assistants.courses.material.tidy import link_of, title_of
from treadle.assistants.courses.material.values import Lesson

MOST_LESSONS = 2_000  # of one file; what comes behind is text of the last

_UNDERLINE = re.compile(r" {0,3}(?P<mark>=+|-{2,})[ \t]*\Z")
_FRONT_TITLE = re.compile(r"title:[ \t]*(?P<title>\S.*)")


class Part(Struct, frozen=True):
    """A stretch of text that belongs to one lesson, or to the course without one. Lines that say where it begins aren't in it."""

    lesson: Lesson | None
    start: int
    end: int


class Layout(Struct, frozen=True):
    """What a text says of its course.

    `heading_one` is the first heading of the first level, `heading` the first of any, before the lessons; `front` is the title
    in front matter.
    """

    title: str = ""
    link: str = ""
    instructor: str = ""
    lesson_link: str = ""
    heading_one: str = ""
    heading: str = ""
    front: str = ""
    lessons: tuple[Lesson, ...] = ()
    parts: tuple[Part, ...] = ()


class _Start(Struct, frozen=True):
    """A line at which a lesson begins; `length` lines say so."""

    line: int
    length: int
    mark: Mark


def layout_of(text: str, *, markdown: bool, lessons_only: bool = False) -> Layout:
    """The layout of a text. With `lessons_only`, chapters, weeks and the like are headings as others are."""
    lines = lines_of(text, markdown=markdown)
    body = _behind_front(lines) if markdown else 0
    head, taken = _head(lines, body, markdown=markdown)
    starts = _of_one_kind(_starts(lines, body, taken, markdown=markdown), lessons_only=lessons_only)[:MOST_LESSONS]
    owners = _owners(lines, starts, taken)
    free = [number for number in range(body, starts[0].line if starts else len(lines)) if number not in taken]
    headings = list(_headings(lines, free)) if markdown else []
    parts = tuple(_parts(lines, owners, taken))
    return Layout(
        title=title_of(unadorned(head.get("course title", "")) if markdown else head.get("course title", "")),
        link=link_of(head.get("course link", "")),
        instructor=title_of(head.get("course instructor", "").strip("*_")),
        lesson_link=link_of(head.get("lesson link", "")),
        heading_one=next((title_of(each.words) for each in headings if each.level == 1), ""),
        heading=title_of(headings[0].words) if headings else "",
        front=_front_title(lines[:body]),
        lessons=_outline([owner for _, owner in owners], parts),
        parts=parts,
    )


def _behind_front(lines: Sequence[Line]) -> int:
    """The line behind front matter, which stands between dashes at the very beginning."""
    if lines[0].text.rstrip() != "---":
        return 0
    return next((number + 1 for number, line in enumerate(lines[1:], 1) if line.text.rstrip() in ("---", "...")), 0)


def _front_title(lines: Sequence[Line]) -> str:
    found = next((match for line in lines if (match := _FRONT_TITLE.match(line.text))), None)
    return title_of(found["title"].strip().strip("\"'")) if found else ""


def _head(lines: Sequence[Line], body: int, *, markdown: bool) -> tuple[dict[str, str], set[int]]:
    """What the first lines say, and which lines that are. In Markdown a heading may stand before them."""
    head: dict[str, str] = {}
    taken: set[int] = set()
    headed = False
    for number in range(body, len(lines)):
        line = lines[number]
        found = said(line.text)
        if found and found[0] not in head:
            head[found[0]] = found[1]
            taken.add(number)
        elif markdown and not headed and not head and (title := heading(line.text)) and not headed_mark(title.words):
            headed = True
        elif not line.blank:
            break
    return head, taken


def _starts(lines: Sequence[Line], body: int, taken: set[int], *, markdown: bool) -> Iterator[_Start]:
    """Every line at which a lesson may begin."""
    last: _Start | None = None
    for number in range(body, len(lines)):
        if number in taken or lines[number].code:
            continue
        found = _headed_start(lines, number) if markdown else None
        found = found or _plain_start(lines, number, last, taken, markdown=markdown)
        if found:
            last = found
            yield found


def _headed_start(lines: Sequence[Line], number: int) -> _Start | None:
    found = _heading_at(lines, number)
    mark = headed_mark(found[0].words) if found else None
    return _Start(number, found[1], mark) if found and mark else None


def _plain_start(lines: Sequence[Line], number: int, last: _Start | None, taken: set[int], *, markdown: bool) -> _Start | None:
    mark = plain_mark(lines[number].text, markdown=markdown)
    if mark and (_stands_free(lines, number, last, taken) or _goes_on(lines[number - 1].text, mark, last)):
        return _Start(number, 1, mark)
    return None


def _stands_free(lines: Sequence[Line], number: int, last: _Start | None, taken: set[int]) -> bool:
    """Whether a line isn't in the middle of a paragraph: behind a blank line, a mark, a heading or code; or before a link."""
    before = lines[number - 1] if number else None
    if before is None or before.blank or before.code or number - 1 in taken or said(before.text) or heading(before.text):
        return True
    if last and number == last.line + last.length:
        return True
    link = said(lines[number + 1].text) if number + 1 < len(lines) else None
    return link is not None and link[0] == "lesson link"


def _goes_on(before: str, mark: Mark, last: _Start | None) -> bool:
    """Whether this is the next lesson right behind the last sentence of the one before."""
    follows = last is not None and last.mark.word == mark.word and mark.number == last.mark.number + 1
    ended = before.rstrip().endswith((".", "!", "?", "…", '"', "”", ")"))
    return follows and ended and not mark.title[:1].islower() and not mark.title.endswith((".", ",", ";"))


def _heading_at(lines: Sequence[Line], number: int) -> tuple[Heading, int] | None:
    """The heading that begins at a line, and how many lines it has: one, or two where it is underlined."""
    line = lines[number]
    if found := heading(line.text):
        return found, 1
    under = _UNDERLINE.match(lines[number + 1].text) if number + 1 < len(lines) else None
    if under is None or line.blank or (number and not lines[number - 1].blank):
        return None
    return Heading(1 if under["mark"][0] == "=" else 2, unadorned(line.text)), 2


def _of_one_kind(starts: Iterator[_Start], *, lessons_only: bool) -> list[_Start]:
    """The starts of lessons; where none are called so, those of whatever there is most of: a book's chapters, not its parts."""
    found = list(starts)
    words = Counter(start.mark.word for start in found)
    if LESSON in words or lessons_only:
        return [start for start in found if start.mark.word == LESSON]
    return [start for start in found if start.mark.word == words.most_common(1)[0][0]]


def _owners(lines: Sequence[Line], starts: Sequence[_Start], taken: set[int]) -> list[tuple[int, Lesson]]:
    """The lessons, each with the line it begins at. Those lines, and the ones with links, are taken."""
    owners: list[tuple[int, Lesson]] = []
    for start in starts:
        behind = start.line + start.length
        taken.update(range(start.line, behind))
        at = next((number for number in range(behind, len(lines)) if not lines[number].blank), None)
        found = said(lines[at].text) if at is not None else None
        link = ""
        if at is not None and found and found[0] == "lesson link":
            taken.add(at)
            link = link_of(found[1])
        owners.append((start.line, Lesson(start.mark.number, start.mark.title, link)))
    return owners


def _parts(lines: Sequence[Line], owners: Sequence[tuple[int, Lesson]], taken: set[int]) -> Iterator[Part]:
    """The text between the lines that are taken."""
    lesson: Lesson | None = None
    waiting = list(reversed(owners))
    first: Line | None = None
    last: Line | None = None
    for number, line in enumerate(lines):
        if number not in taken:
            first, last = first or line, line if not line.blank else last
            continue
        if first and last:
            yield Part(lesson, first.start, last.end)
        first = last = None
        if waiting and waiting[-1][0] == number:
            lesson = waiting.pop()[1]
    if first and last:
        yield Part(lesson, first.start, last.end)


def _outline(lessons: Sequence[Lesson], parts: Sequence[Part]) -> tuple[Lesson, ...]:
    """The lessons in order. One without text isn't told twice: a list of contents names what comes later."""
    told = {id(part.lesson) for part in parts}
    full = {(each.number, each.title) for each in lessons if id(each) in told}
    return tuple(each for each in lessons if id(each) in told or (each.number, each.title) not in full)


def _headings(lines: Sequence[Line], numbers: Sequence[int]) -> Iterator[Heading]:
    """The headings that begin at some lines, those without words left out."""
    for number in numbers:
        found = None if lines[number].code else _heading_at(lines, number)
        if found and found[0].words:
            yield found[0]
