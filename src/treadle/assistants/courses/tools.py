"""The two tools: search in the material, and the outline of a course. The data of their results is a `Lookup`."""

from collections.abc import Sequence
from itertools import groupby
from typing import Annotated, Any

from msgspec import Meta
from msgspec.structs import replace

from treadle import Functions, History, Result, RunContext, ToolResult, tool
from treadle.assistants.courses.catalogue import Course
from treadle.assistants.courses.library import ALL, Library, Searched
from treadle.assistants.courses.material.values import Lesson
from treadle.assistants.courses.names import unbracketed
from treadle.assistants.courses.scope import Scope
from treadle.assistants.courses.sources import FoundPassage, Lookup, Status, lookup_of, source_of
from treadle.passages import Passage

MOST_NAMES = 10
MOST_LESSONS = 200
LEFT_OUT = "{} more passages of this lesson were left out; search in it with a query."
NO_QUERY = "Say what to look for in `query`, or name the lesson to read by `course_name` and `lesson_number`."

Query = Annotated[
    str, Meta(description="What to look for, in words that the material may use. Without it, a lesson is given in order.")
]
Name = Annotated[str, Meta(description="The course to look in, if one is named; part of its title is enough.")]
Named = Annotated[str, Meta(description="The course; part of its title is enough.")]
Number = Annotated[int | None, Meta(description="The lesson to look in, if one is named; 0 is a lesson.")]


def course_tools(library: Library, scope: Scope = ALL) -> Functions:
    """The tools, on one library, or on one course or document of it."""
    able = CourseTools(library, scope)
    search = tool(able.search_course_content, effect="read", trust="untrusted")
    outline = tool(able.get_course_outline, effect="read", trust="untrusted")
    return Functions([search, outline], name="courses")


class CourseTools:
    """What the tools do in one run."""

    def __init__(self, library: Library, scope: Scope) -> None:
        self._library = library
        self._scope = scope
        self._numbers: dict[str, int] = {}  # of passages, by their ids

    async def search_course_content(
        self, ctx: RunContext[Any], query: Query = "", course_name: Name = "", lesson_number: Number = None
    ) -> ToolResult:
        """Search the course material, in all courses, in one, or in one lesson; or read a lesson, by course and number alone."""
        if not query.strip() and (not course_name.strip() or lesson_number is None):
            return _without("no query", NO_QUERY)
        catalogue = await self._library.catalogue()
        searched = await self._library.search(query, course_name, lesson_number, self._scope)
        if searched.unknown:
            return await self._unknown(course_name, searched.near)
        if not searched.found:
            return _without("no such lesson" if _lacks(searched, lesson_number) else "nothing", nothing(searched, lesson_number))
        numbers = self._numbered(ctx.history, [each.passage.id for each in searched.found])
        found = [_found(each.passage, catalogue.name_of(each.passage), numbers[each.passage.id]) for each in searched.found]
        more = [LEFT_OUT.format(searched.left_out)] if searched.left_out else []
        return ToolResult(
            "\n\n".join([*[f"[{each.number}] {block(each)}" for each in found], *more]),
            Lookup("found", tuple(found), left_out=searched.left_out),
        )

    def _numbered(self, history: History | None, ids: Sequence[str]) -> dict[str, int]:
        """Return the number of each passage: the one it had in an earlier search of the run, else the next."""
        parts = [part for message in history or () for part in message.parts if isinstance(part, Result)]
        before = [each for part in parts if (lookup := lookup_of(part)) is not None for each in lookup.passages]
        self._numbers = {**{each.source.passages[0].id: each.number for each in before}, **self._numbers}
        for each in ids:
            self._numbers.setdefault(each, max(self._numbers.values(), default=0) + 1)
        return self._numbers

    async def get_course_outline(self, course_name: Named) -> ToolResult:
        """The title, link, instructor and lessons of a course."""
        courses, near = await self._library.match(course_name, self._scope)
        if not courses:
            return await self._unknown(course_name, near)
        told = tuple([replace(course, sources=()) for course in courses])  # without the paths of its files
        return ToolResult("\n\n".join(map(outline, told)), Lookup("found", courses=told))

    async def _unknown(self, name: str, near: Sequence[Course]) -> ToolResult:
        said = f"No course found matching {name[:200]!r}."
        every = (await self._library.catalogue()).within(self._scope.course).courses
        if near:
            return _without("no such course", f"{said} There are courses with similar names: {_listed(near)}.")
        if every:
            return _without("no such course", f"{said} There are: {_listed(every)}.")
        return _without("no courses", "There are no courses yet.")


def _without(status: Status, words: str) -> ToolResult:
    return ToolResult(words, Lookup(status, message=words))


def outline(course: Course) -> str:
    """A course, for reading."""
    return "\n".join([*outline_head(course), *[lesson_line(lesson) for lesson in course.lessons[:MOST_LESSONS]], *_more(course)])


def outline_head(course: Course) -> list[str]:
    """What is said of a course before its lessons."""
    lines = [f"Course: {course.name}"]
    lines += [f"Course link: {course.link}"] if course.link else []
    lines += [f"Instructor: {course.instructor}"] if course.instructor else []
    return [*lines, f"Lessons: {len(course.lessons)}"]


def lesson_line(lesson: Lesson) -> str:
    """A lesson of an outline."""
    return f"- {lesson.title}" if lesson.number is None else f"Lesson {lesson.number}: {lesson.title}".rstrip(": ")


def _more(course: Course) -> list[str]:
    more = len(course.lessons) - MOST_LESSONS
    return [f"and {more} more"] if more > 0 else []


def outline_markdown(course: Course) -> str:
    """A course as Markdown: its lessons as a list."""
    lessons = [lesson_line(each) for each in course.lessons[:MOST_LESSONS]]
    listed = [line if line.startswith("- ") else f"- {line}" for line in lessons]
    return "\n".join([*[f"{line}  " for line in outline_head(course)], *listed, *_more(course)])


def _found(passage: Passage, name: str, number: int) -> FoundPassage:
    """A passage under its course, and its lesson with its title."""
    return FoundPassage(unbracketed(" - ".join([name, *passage.headings[:1]])), passage.text, source_of(passage, name), number)


def block(found: FoundPassage) -> str:
    """A passage as a model reads it."""
    return f"[{found.heading}]\n{found.text}"


def nothing(searched: Searched, number: int | None) -> str:
    """That nothing was found, and where; and where the lesson isn't there at all, which ones are."""
    where = f" in course {searched.courses[0].name!r}" if searched.courses else ""
    where += f" in lesson {number}" if number is not None else ""
    if _lacks(searched, number):
        there = _enumerated(_numbers(searched)) or "not numbered"
        return f"No relevant content found{where}: there is no such lesson. Its lessons are {there}."
    return f"No relevant content found{where}."


def _numbers(searched: Searched) -> list[int]:
    return sorted({each for course in searched.courses for each in course.numbers})


def _lacks(searched: Searched, number: int | None) -> bool:
    """Whether the courses that were looked in have no lesson of this number."""
    return number is not None and bool(searched.courses) and number not in _numbers(searched)


def _enumerated(numbers: Sequence[int]) -> str:
    """Numbers as they are: "0, 3 and 4"; a run of three or more without a gap as "0 to 4"."""
    runs = [[each for _, each in run] for _, run in groupby(enumerate(numbers), lambda pair: pair[1] - pair[0])]
    words = [part for run in runs for part in ([f"{run[0]} to {run[-1]}"] if len(run) > 2 else map(str, run))]
    return " and ".join([part for part in (", ".join(words[:-1]), *words[-1:]) if part])


def _listed(courses: Sequence[Course]) -> str:
    named = ", ".join([course.name for course in courses[:MOST_NAMES]])
    return named if len(courses) <= MOST_NAMES else f"{named}, and {len(courses) - MOST_NAMES} more"
