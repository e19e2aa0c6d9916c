"""The two tools: search in the material, and the outline of a course. The data of their results is a `LookupResult`."""

from collections.abc import Awaitable, Callable, Sequence
from itertools import groupby
from typing import Annotated, Any

from msgspec import Meta
from msgspec.structs import replace

from treadle import FunctionToolset, History, Result, RunContext, ToolProblem, ToolResult, tool
from treadle.assistant import ContextNotFound
from treadle.assistants.courses.catalogue import Course, CourseScope, replace_brackets
from treadle.assistants.courses.library import ALL, CourseLibrary, CourseSearchResult
from treadle.assistants.courses.material.course_types import Lesson
from treadle.assistants.courses.sources import FoundPassage, LookupResult, Status, lookup_from_result, source_from_passage
from treadle.passages import Passage

MAX_COURSE_NAMES = 10
MAX_OUTLINE_LESSONS = 200
LEFT_OUT = "{} more passages of this lesson were left out; search in it with a query."
NO_QUERY = "Say what to look for in `query`, or name the lesson to read by `course_name` and `lesson_number`."

Query = Annotated[
    str, Meta(description="What to look for, in words that the material may use. Without it, a lesson is given in order.")
]
Name = Annotated[str, Meta(description="The course to look in, if one is named; part of its title is enough.")]
CourseName = Annotated[str, Meta(description="The course; part of its title is enough.")]
Number = Annotated[int | None, Meta(description="The lesson to look in, if one is named; 0 is a lesson.")]


async def _check_nothing() -> None:
    """Do nothing: the user's own material needs no check."""


def build_course_tools(
    library: CourseLibrary, scope: CourseScope = ALL, check: Callable[[], Awaitable[object]] = _check_nothing
) -> FunctionToolset:
    """Build the tools on one library, or on one course or document of it. `check` raises if it may not be read any more."""
    able = CourseTools(library, scope, check)
    search = tool(able.search_course_content, effect="read", trust="untrusted")
    outline = tool(able.get_course_outline, effect="read", trust="untrusted")
    return FunctionToolset([search, outline], name="courses")


class CourseTools:
    """The tools of one run."""

    def __init__(self, library: CourseLibrary, scope: CourseScope, check: Callable[[], Awaitable[object]] = _check_nothing) -> None:
        self._check = check
        self._library = library
        self._scope = scope
        self._numbers: dict[str, int] = {}  # of passages, by their ids

    async def search_course_content(
        self, ctx: RunContext[Any], query: Query = "", course_name: Name = "", lesson_number: Number = None
    ) -> ToolResult:
        """Search the course material, in all courses, in one, or in one lesson; or read a lesson, by course and number alone."""
        await self._check_access()
        if not query.strip() and (not course_name.strip() or lesson_number is None):
            return _empty_result("no query", NO_QUERY)
        catalogue = await self._library.catalogue()
        searched = await self._library.search(query, course_name, lesson_number, self._scope)
        if searched.unknown:
            return await self._unknown_course(course_name, searched.near)
        if not searched.found:
            return _empty_result(
                "no such lesson" if _lacks_lesson(searched, lesson_number) else "nothing",
                format_no_results(searched, lesson_number),
            )
        numbers = self._assign_numbers(ctx.history, [each.passage.id for each in searched.found])
        found = [
            _to_found_passage(each.passage, catalogue.name_of(each.passage), numbers[each.passage.id], self._scope.owner)
            for each in searched.found
        ]
        more = [LEFT_OUT.format(searched.left_out)] if searched.left_out else []
        return ToolResult(
            "\n\n".join([*[f"[{each.number}] {format_passage_block(each)}" for each in found], *more]),
            LookupResult("found", tuple(found), left_out=searched.left_out),
        )

    async def _check_access(self) -> None:
        try:
            await self._check()
        except ContextNotFound as error:
            raise ToolProblem(str(error)) from error

    def _assign_numbers(self, history: History | None, ids: Sequence[str]) -> dict[str, int]:
        """Return the number of each passage: the one it had in an earlier search of the run, else the next."""
        parts = [part for message in history or () for part in message.parts if isinstance(part, Result)]
        before = [each for part in parts if (lookup := lookup_from_result(part)) is not None for each in lookup.passages]
        self._numbers = {**{each.source.passages[0].id: each.number for each in before}, **self._numbers}
        for each in ids:
            self._numbers.setdefault(each, max(self._numbers.values(), default=0) + 1)
        return self._numbers

    async def get_course_outline(self, course_name: CourseName) -> ToolResult:
        """The title, link, instructor and lessons of a course."""
        await self._check_access()
        courses, near = await self._library.match(course_name, self._scope)
        if not courses:
            return await self._unknown_course(course_name, near)
        told = tuple([replace(course, sources=()) for course in courses])  # without the paths of its files
        return ToolResult("\n\n".join(map(format_course_outline, told)), LookupResult("found", courses=told))

    async def _unknown_course(self, name: str, near: Sequence[Course]) -> ToolResult:
        said = f"No course found matching {name[:200]!r}."
        every = (await self._library.catalogue()).within(self._scope.course).courses
        if near:
            return _empty_result("no such course", f"{said} There are courses with similar names: {_format_course_names(near)}.")
        if every:
            return _empty_result("no such course", f"{said} There are: {_format_course_names(every)}.")
        return _empty_result("no courses", "There are no courses yet.")


def _empty_result(status: Status, words: str) -> ToolResult:
    return ToolResult(words, LookupResult(status, message=words))


def format_course_outline(course: Course) -> str:
    """Format a course for display."""
    return "\n".join(
        [
            *format_outline_head(course),
            *[format_lesson(lesson) for lesson in course.lessons[:MAX_OUTLINE_LESSONS]],
            *_format_omitted(course),
        ]
    )


def format_outline_head(course: Course) -> list[str]:
    """Return the lines about a course before its lessons."""
    lines = [f"Course: {course.name}"]
    lines += [f"Course link: {course.link}"] if course.link else []
    lines += [f"Instructor: {course.instructor}"] if course.instructor else []
    return [*lines, f"Lessons: {len(course.lessons)}"]


def format_lesson(lesson: Lesson) -> str:
    """Format a lesson of an outline."""
    return f"- {lesson.title}" if lesson.number is None else f"Lesson {lesson.number}: {lesson.title}".rstrip(": ")


def _format_omitted(course: Course) -> list[str]:
    more = len(course.lessons) - MAX_OUTLINE_LESSONS
    return [f"and {more} more"] if more > 0 else []


def course_to_markdown(course: Course) -> str:
    """Format a course as Markdown, its lessons as a list."""
    lessons = [format_lesson(each) for each in course.lessons[:MAX_OUTLINE_LESSONS]]
    listed = [line if line.startswith("- ") else f"- {line}" for line in lessons]
    return "\n".join([*[f"{line}  " for line in format_outline_head(course)], *listed, *_format_omitted(course)])


def _to_found_passage(passage: Passage, name: str, number: int, owner: str = "") -> FoundPassage:
    """Build a found passage, headed by its course and its lesson's title."""
    heading = replace_brackets(" - ".join([name, *passage.headings[:1]]))
    return FoundPassage(heading, passage.text, source_from_passage(passage, name, owner), number)


def format_passage_block(found: FoundPassage) -> str:
    """Format a passage for a model."""
    return f"[{found.heading}]\n{found.text}"


def format_no_results(searched: CourseSearchResult, number: int | None) -> str:
    """Return the message that nothing was found, and where; if the lesson doesn't exist, with those that do."""
    where = f" in course {searched.courses[0].name!r}" if searched.courses else ""
    where += f" in lesson {number}" if number is not None else ""
    if _lacks_lesson(searched, number):
        there = _format_numbers(_lesson_numbers(searched)) or "not numbered"
        return f"No relevant content found{where}: there is no such lesson. Its lessons are {there}."
    return f"No relevant content found{where}."


def _lesson_numbers(searched: CourseSearchResult) -> list[int]:
    return sorted({each for course in searched.courses for each in course.numbers})


def _lacks_lesson(searched: CourseSearchResult, number: int | None) -> bool:
    """Return whether the searched courses have no lesson of this number."""
    return number is not None and bool(searched.courses) and number not in _lesson_numbers(searched)


def _format_numbers(numbers: Sequence[int]) -> str:
    """Format numbers: "0, 3 and 4"; three or more consecutive ones as "0 to 4"."""
    runs = [[each for _, each in run] for _, run in groupby(enumerate(numbers), lambda pair: pair[1] - pair[0])]
    words = [part for run in runs for part in ([f"{run[0]} to {run[-1]}"] if len(run) > 2 else map(str, run))]
    return " and ".join([part for part in (", ".join(words[:-1]), *words[-1:]) if part])


def _format_course_names(courses: Sequence[Course]) -> str:
    named = ", ".join([course.name for course in courses[:MAX_COURSE_NAMES]])
    return named if len(courses) <= MAX_COURSE_NAMES else f"{named}, and {len(courses) - MAX_COURSE_NAMES} more"
