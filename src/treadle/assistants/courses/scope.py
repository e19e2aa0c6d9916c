"""The scope of a question: all courses, one course, or one document of a course. Part of a conversation's context."""

from collections.abc import Mapping
from typing import Any

from msgspec import Struct

from treadle import ContextNotFound
from treadle.assistants.courses.catalogue import Catalogue


class Scope(Struct, frozen=True):
    """What is looked in: a course by its key, and a document of it by its source; empty is all of them."""

    course: str = ""
    document: str = ""

    @property
    def context(self) -> dict[str, str]:
        """It as part of a conversation's context."""
        return {key: value for key, value in (("course", self.course), ("document", self.document)) if value}


def scope_in(context: Mapping[str, Any]) -> Scope:
    """Return the scope that a context has."""
    return Scope(str(context.get("course", "")), str(context.get("document", "")))


def resolve(catalogue: Catalogue, course: str, document: str) -> Scope:
    """Return the scope for a course, by its key or name, and a document, by its source or the end of it.

    Raises `ContextNotFound` where there is none, or several.
    """
    if not course and not document:
        return Scope()
    exact = catalogue.by_key(course)
    courses = ((exact,) if exact else catalogue.match(course)[0]) if course else catalogue.courses
    if course and len(courses) != 1:
        raise ContextNotFound(
            f"There is no course {course[:200]!r}." if not courses else f"{course[:200]!r} is the name of several courses."
        )
    if not document:
        return Scope(courses[0].key)
    found = [
        (each.key, source) for each in courses for source in each.sources if source == document or source.endswith(f"/{document}")
    ]
    if len(found) != 1:
        raise ContextNotFound(
            f"There is no document {document[:200]!r}." if not found else f"There are several documents {document[:200]!r}."
        )
    return Scope(*found[0])
