"""For faces that know nothing of courses (`treadle ask -a courses`): the tools and instructions, on the person's own material."""

from collections.abc import Awaitable, Callable, Sequence
from types import TracebackType
from typing import Any

from treadle import Call, Functions, Host, Request, RunContext, Tool, Toolset
from treadle.assistants.courses.library import Library
from treadle.assistants.courses.plan import Plan as Steps
from treadle.assistants.courses.plan import plan_of
from treadle.assistants.courses.prompts import told
from treadle.assistants.courses.settled import settled
from treadle.assistants.courses.sources import Looks
from treadle.assistants.courses.tools import course_tools


def local_tools(host: Host) -> Sequence[Toolset]:
    """The tools, on what this person has added."""
    return (LocalTools(host),)


def instructions_for(host: Host) -> Callable[[RunContext[Any]], Awaitable[str]]:
    """What the model is told: which courses this person has."""

    async def instructions(_: RunContext[Any]) -> str:
        async with Library(host.home.folder, settled()) as library:
            return told([course.name for course in (await library.catalogue()).courses])

    return instructions


def local_plan(host: Host) -> Callable[[Request], Awaitable[Steps]]:
    """How a small model is led through what this person has added."""

    async def plan(request: Request) -> Steps:
        async with Library(host.home.folder, settled()) as library:
            return plan_of(await library.catalogue())(request)

    return plan


class LocalTools:
    """The tools, whose material is opened, and brought up to date, for each turn."""

    def __init__(self, host: Host) -> None:
        self._folder = host.home.folder
        self._library: Library | None = None
        self._functions = Functions((), name="courses")

    async def __aenter__(self) -> "LocalTools":
        self._library = Library(self._folder, settled())
        self._functions = course_tools(self._library, Looks())
        await self._library.look()
        return self

    async def __aexit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        if self._library is not None:
            self._library.close()

    def tools(self) -> tuple[Tool, ...]:
        """What there is, once it is entered."""
        return self._functions.tools()

    async def call(self, call: Call, context: RunContext[Any]) -> Any:
        """Carry a call out."""
        return await self._functions.call(call, context)
