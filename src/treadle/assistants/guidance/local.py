"""The tools for faces that know nothing of projects: those of the project that a run began with, when it is taken up again."""

from collections.abc import Sequence
from types import TracebackType
from typing import Any

from treadle import Call, Functions, Host, Preview, RunContext, Tool, Toolset
from treadle.assistants.guidance.guide import user_of
from treadle.assistants.guidance.opened import Opened
from treadle.assistants.guidance.tools import guidance_tools


def local_tools(host: Host) -> Sequence[Toolset]:
    """The tools of the project that the run is about; none, where it is about none."""
    return (BoundTools(host),) if host.about.get("project_id") else ()


class BoundTools:
    """The tools of one project, whose store is opened when they are first needed."""

    def __init__(self, host: Host) -> None:
        self._host = host
        self._opened = Opened(host)
        self._functions = Functions(())

    async def __aenter__(self) -> "BoundTools":
        about = self._host.about
        store = await self._opened.store()
        self._functions = guidance_tools(store, user_of(self._host), about["project_id"], about.get("session_id", ""))
        return self

    async def __aexit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        await self._opened.close()

    def tools(self) -> tuple[Tool, ...]:
        """What there is, once it is entered, and may be used."""
        settings, listed = self._opened.settings, self._functions.tools()
        allowed = settings.allowed_tools or [each.name for each in listed]
        return tuple([each for each in listed if each.name in allowed and each.name not in settings.denied_tools])

    async def call(self, call: Call, context: RunContext[Any]) -> Any:
        """Carry a call out."""
        return await self._functions.call(call, context)

    async def reconcile(self, call: Call, context: RunContext[Any]) -> Any:
        """Whether an interrupted call happened."""
        return await self._functions.reconcile(call, context)

    async def preview(self, call: Call, context: RunContext[Any]) -> Preview:
        """What a call would do."""
        return await self._functions.preview(call, context)
