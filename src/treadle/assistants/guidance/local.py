"""The tools for faces that know nothing of projects: those of the project that a run began with, when it is taken up again."""

from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager

from treadle import Host, LateTools, Tool, Toolset, only
from treadle.assistants.guidance.guide import user_of
from treadle.assistants.guidance.opened import Opened
from treadle.assistants.guidance.tools import guidance_tools


def local_tools(host: Host) -> Sequence[Toolset]:
    """The tools of the project that the run is about, on its store, which is opened for each turn; none, where it is about none."""
    about = host.about
    if not about.get("project_id"):
        return ()

    @asynccontextmanager
    async def tools() -> AsyncGenerator[Toolset]:
        opened = Opened(host)
        async with opened as store:
            functions = guidance_tools(store, user_of(host), about["project_id"], about.get("session_id", ""))
            yield only(functions, *_allowed(functions.tools(), opened))

    return (LateTools(tools),)


def _allowed(tools: Sequence[Tool], opened: Opened) -> list[str]:
    """The names of those that may be used."""
    allowed, denied = opened.settings.allowed_tools, opened.settings.denied_tools
    return [each.name for each in tools if (not allowed or each.name in allowed) and each.name not in denied]
