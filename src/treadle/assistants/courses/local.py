"""For faces that know nothing of courses (`treadle ask -a courses`): the tools and instructions, on the person's own material."""

from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from typing import Any

from treadle import Host, LateTools, Request, RunContext, Toolset
from treadle.assistants.courses.library import library_of
from treadle.assistants.courses.plan import Plan as Steps
from treadle.assistants.courses.plan import plan_of
from treadle.assistants.courses.prompts import told
from treadle.assistants.courses.sources import Looks
from treadle.assistants.courses.tools import course_tools


def local_tools(host: Host) -> Sequence[Toolset]:
    """The tools, on what this person has added, which is opened and brought up to date for each turn."""

    @asynccontextmanager
    async def tools() -> AsyncGenerator[Toolset]:
        async with library_of(host) as library:
            await library.look()
            yield course_tools(library, Looks())

    return (LateTools(tools),)


def instructions_for(host: Host) -> Callable[[RunContext[Any]], Awaitable[str]]:
    """What the model is told: which courses this person has."""

    async def instructions(_: RunContext[Any]) -> str:
        async with library_of(host) as library:
            return told([course.name for course in (await library.catalogue()).courses])

    return instructions


def local_plan(host: Host) -> Callable[[Request], Awaitable[Steps]]:
    """How a small model is led through what this person has added."""

    async def plan(request: Request) -> Steps:
        async with library_of(host) as library:
            return plan_of(await library.catalogue())(request)

    return plan
