"""The two tools: search in the material, and the outline of a course. What they looked at is told to `look`."""

from collections.abc import Sequence
from typing import Annotated, Any

from msgspec import Meta

from treadle import Functions, RunContext, tool
from treadle.assistants.courses.catalogue import Course
from treadle.assistants.courses.library import Library, Searched
from treadle.assistants.courses.names import unbracketed
from treadle.assistants.courses.sources import look, source_of, source_of_course
from treadle.passages import Passage

MOST_NAMES = 10
MOST_LESSONS = 200

Query = Annotated[str, Meta(description="What to look for, in words that the material may use.")]
Name = Annotated[str, Meta(description="The course to look in, if one is named; part of its title is enough.")]
Named = Annotated[str, Meta(description="The course; part of its title is enough.")]
Number = Annotated[int | None, Meta(description="The lesson to look in, if one is named; 0 is a lesson.")]


def course_tools(library: Library) -> Functions:
    """The tools, on one library."""
    able = CourseTools(library)
    search = tool(able.search_course_content, effect="read", trust="untrusted")
    outline = tool(able.get_course_outline, effect="read", trust="untrusted")
    return Functions([search, outline], name="courses")


class CourseTools:
    """What the tools do."""

    def __init__(self, library: Library) -> None:
        self._library = library

    async def search_course_content(
        self, ctx: RunContext[Any], query: Query, course_name: Name = "", lesson_number: Number = None
    ) -> str:
        """Search the course material, in all courses, in one, or in one lesson."""
        catalogue = await self._library.catalogue()
        searched = await self._library.search(query, course_name, lesson_number)
        if searched.unknown:
            return await self._unknown(course_name, searched.near)
        if not searched.found:
            return nothing(searched, lesson_number)
        named = [(each.passage, catalogue.name_of(each.passage)) for each in searched.found]
        look(ctx.run_id, ctx.call_id, [source_of(passage, name) for passage, name in named])
        return "\n\n".join([f"[{_headed(name, passage)}]\n{passage.text}" for passage, name in named])

    async def get_course_outline(self, ctx: RunContext[Any], course_name: Named) -> str:
        """The title, link, instructor and lessons of a course."""
        courses, near = await self._library.match(course_name)
        if not courses:
            return await self._unknown(course_name, near)
        look(ctx.run_id, ctx.call_id, [source_of_course(course) for course in courses])
        return "\n\n".join([outline(course) for course in courses])

    async def _unknown(self, name: str, near: Sequence[Course]) -> str:
        said = f"No course found matching {name[:200]!r}."
        if near:
            return f"{said} There are courses with similar names: {_listed(near)}."
        every = (await self._library.catalogue()).courses
        return f"{said} There are: {_listed(every)}." if every else "There are no courses yet."


def outline(course: Course) -> str:
    """A course, for reading."""
    lines = [f"Course: {course.name}"]
    lines += [f"Course link: {course.link}"] if course.link else []
    lines += [f"Instructor: {course.instructor}"] if course.instructor else []
    lines.append(f"Lessons: {len(course.lessons)}")
    for lesson in course.lessons[:MOST_LESSONS]:
        lines.append(f"- {lesson.title}" if lesson.number is None else f"Lesson {lesson.number}: {lesson.title}".rstrip(": "))
    if len(course.lessons) > MOST_LESSONS:
        lines.append(f"and {len(course.lessons) - MOST_LESSONS} more")
    return "\n".join(lines)


def _headed(name: str, passage: Passage) -> str:
    """What a passage stands under: its course, and its lesson with its title."""
    return unbracketed(" - ".join([name, *passage.headings[:1]]))


def nothing(searched: Searched, number: int | None) -> str:
    """That nothing was found, and where; and where the lesson isn't there at all, which ones are."""
    where = f" in course {searched.courses[0].name!r}" if searched.courses else ""
    where += f" in lesson {number}" if number is not None else ""
    numbers = sorted({each for course in searched.courses for each in course.numbers})
    if number is not None and searched.courses and number not in numbers:
        return f"No relevant content found{where}: there is no such lesson. Its lessons are {_ranges(numbers) or 'not numbered'}."
    return f"No relevant content found{where}."


def _ranges(numbers: Sequence[int]) -> str:
    if not numbers:
        return ""
    return f"{numbers[0]} to {numbers[-1]}" if len(numbers) > 1 else str(numbers[0])


def _listed(courses: Sequence[Course]) -> str:
    named = ", ".join([course.name for course in courses[:MOST_NAMES]])
    return named if len(courses) <= MOST_NAMES else f"{named}, and {len(courses) - MOST_NAMES} more"
