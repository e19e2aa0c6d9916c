"""The scope of a question: all courses, one course, or one document of a course. Part of a conversation's context."""

from collections.abc import Mapping
from typing import Any

from msgspec import Struct

from treadle.assistant import ContextNotFound
from treadle.assistants.courses.catalogue import Catalogue


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
