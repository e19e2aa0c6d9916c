"""Courses that other users of the server share: each can be read and asked about, without the rest of its owner's material."""

from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager

from msgspec import Struct
from msgspec.structs import replace

from treadle.assistant import ContextNotFound, Host, Share, SharedItem
from treadle.assistants.courses.catalogue import Course
from treadle.assistants.courses.library import CourseLibrary, open_library
from treadle.errors import SettingsError

ASSISTANT = "courses"
NO_USERS = "This server has no users to share a course with; `treadle users add NAME` adds one."
NOT_SHARED = "There is no such course of {!r} that is shared with you."


class SharedCourse(Struct, frozen=True):
    """A course of another user. Its `sources` are left out: they are paths of its owner."""

    owner: str
    course: Course


async def find_shared(host: Host, owner: str, key: str) -> SharedItem:
    """Return the share of a course of another user; raises `ContextNotFound` unless it is shared with the host's user now."""
    shared = await host.sharing.shared_with_me(ASSISTANT) if host.sharing is not None else []
    for each in shared:
        if (each.owner, each.item) == (owner, key):
            return each
    raise ContextNotFound(NOT_SHARED.format(owner))


@asynccontextmanager
async def open_shared_library(host: Host, owner: str, key: str) -> AsyncGenerator[CourseLibrary]:
    """Open the material of another user, for a course of it that they share; the caller reads nothing but this course."""
    shared = await find_shared(host, owner, key)
    assert host.sharing is not None
    async with open_library(host.sharing.owner_host(host, shared)) as library:
        yield library


@asynccontextmanager
async def open_scope_library(host: Host, owner: str, key: str) -> AsyncGenerator[CourseLibrary]:
    """Open the material that a scope is in: the user's own, or that of the owner of a shared course."""
    async with open_shared_library(host, owner, key) if owner else open_library(host) as library:
        yield library


async def list_shared_courses(host: Host) -> list[SharedCourse]:
    """Return the courses that other users share with the host's user; deleted ones are left out."""
    found: list[SharedCourse] = []
    for each in await host.sharing.shared_with_me(ASSISTANT) if host.sharing is not None else []:
        async with open_shared_library(host, each.owner, each.item) as library:
            course = (await library.catalogue()).by_key(each.item)
        if course is not None:
            found.append(SharedCourse(each.owner, replace(course, sources=())))
    return found


async def load_course_shares(host: Host, key: str) -> list[Share]:
    """Return the users and groups that a course of the host's user is shared with."""
    return [] if host.sharing is None else await host.sharing.shares_of(ASSISTANT, key)


async def save_course_shares(host: Host, key: str, shares: Sequence[Share]) -> list[Share]:
    """Set the users and groups that a course is shared with. Raises `SettingsError` for a user that doesn't exist."""
    if host.sharing is None:
        raise SettingsError(NO_USERS)
    await host.sharing.set_shares(ASSISTANT, key, shares)
    return await host.sharing.shares_of(ASSISTANT, key)
