"""The platform's tools, for one person: each is one thing that they could do themselves. Those that change something are `changes`.

Who lacks the role that the operator asks for is told so, and so is the model: the tool is there, and refuses.
"""

import asyncio
from collections.abc import Callable, Sequence
from types import TracebackType
from typing import Any

from treadle import Call, Functions, Preview, RunContext, Tool, ToolProblem, tool
from treadle.assistants.platform import requests
from treadle.assistants.platform.changes import Changes
from treadle.assistants.platform.server import Forbidden, Missing, NoSuchPath, Platform
from treadle.assistants.platform.settings import PlatformSettings
from treadle.assistants.platform.shapes import Json, filled

KEPT = 30.0  # seconds that what was read is reused
MOST = 50  # items of a list that are told


class Readings:
    """The tools that read. Their docstrings are the descriptions that a model gets."""

    def __init__(self, platform: Platform) -> None:
        self._platform = platform

    async def list_applications(self) -> Any:
        """List the applications that the person may see, with team, environment, containers and resources."""
        return _listed(await requests.applications(self._platform), "There are no applications yet.")

    async def get_application(self, app_name: str) -> Json:
        """Everything about one application: its spec, the state of its resources, and its newest workflow.

        :param app_name: the application's name
        """
        name = app_name.strip()
        found, resources, (workflows, _) = await asyncio.gather(
            self._application(name),
            _beside(requests.resources(self._platform, name), []),
            _beside(requests.workflows(self._platform, name), ([], 0)),
        )
        states = [filled({key: each.get(key) for key in ("resource_name", "resource_type", "state")}) for each in resources]
        return {**found, "resources": states, "newest_workflow": workflows[0] if workflows else "none has run yet"}

    async def _application(self, name: str) -> Json:
        """An application; where there is none by that name, those that there are may help."""
        try:
            return await requests.application(self._platform, name)
        except NoSuchPath:
            raise
        except Missing:
            names = [each["name"] for each in await _beside(requests.applications(self._platform), [])]
            there = f"There are: {', '.join(names[:MOST])}." if names else "The person has none at all."
            raise Missing(f"There is no application {name!r}. {there}") from None

    async def list_workflows(self, app_name: str = "", status: str = "") -> Any:
        """List workflow executions, the newest first.

        :param app_name: only those of this application
        :param status: only those that are running, completed or failed
        """
        found, total = await requests.workflows(self._platform, app_name.strip(), status.strip().lower())
        return _listed(found, "There are no such workflows." if app_name or status else "No workflow has run yet.", total)

    async def get_workflow(self, workflow_id: str) -> Json:
        """One workflow execution with its steps, their errors and logs.

        :param workflow_id: its number, as list_workflows shows it
        """
        return await requests.workflow(self._platform, requests.workflow_number(workflow_id))

    async def list_resources(self, app_name: str = "") -> Any:
        """List resources such as databases, with their state and health.

        :param app_name: only those of this application
        """
        name = app_name.strip()
        return _listed(await requests.resources(self._platform, name), f"{name or 'The platform'} has no resources.")

    async def get_dashboard_stats(self) -> Json:
        """How many applications, running workflows, resources and users there are."""
        return await requests.stats(self._platform)

    async def list_golden_paths(self) -> Any:
        """List the golden paths: workflows that the platform team has made ready for everyone."""
        return _listed(await requests.golden_paths(self._platform), "There are no golden paths.")

    async def list_providers(self) -> Any:
        """List the providers that make resources, with their workflows."""
        return _listed(await requests.providers(self._platform), "There are no providers.")

    async def get_current_user(self) -> Json:
        """Who the person is: name, team and role."""
        return await requests.user(self._platform)


class PlatformTools:
    """A toolset for one person. Whether they may use its tools is known once it is entered, from their role."""

    def __init__(self, platform: Platform, settings: PlatformSettings) -> None:
        self._platform = platform
        self._roles = settings.roles
        self._role = ""
        self._functions = Functions(_functions(platform), name=f"platform-{platform.mark}")  # what one reads isn't kept for another

    async def __aenter__(self) -> "PlatformTools":
        await self._platform.__aenter__()
        if any(self._roles.values()):
            self._role = (await _beside(requests.user(self._platform), {})).get("role", "")
        return self

    async def __aexit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        await self._platform.__aexit__(kind, error, trace)

    def tools(self) -> Sequence[Tool]:
        """All of them."""
        return self._functions.tools()

    async def call(self, call: Call, context: RunContext[Any]) -> Any:
        """Carry a call out."""
        self._check(call.name)
        return await self._functions.call(call, context)

    async def reconcile(self, call: Call, context: RunContext[Any]) -> Any:
        """Whether an interrupted call happened."""
        return await self._functions.reconcile(call, context)

    async def preview(self, call: Call, context: RunContext[Any]) -> Preview:
        """What a call would do. Nobody is asked about one that they have no permission for."""
        self._check(call.name)
        return await self._functions.preview(call, context)

    def _check(self, name: str) -> None:
        roles = self._roles.get(name, ())
        if roles and self._role not in roles:
            theirs = f"theirs is {self._role}" if self._role else "the platform says of none that they have it"
            raise Forbidden(
                f"The person doesn't have permission to use {name}: it needs the role {' or '.join(roles)}, and {theirs}.",
                "Tell them so. Nothing was done.",
            )


def _functions(platform: Platform) -> list[Callable[..., Any]]:
    reading = Readings(platform)
    reads: tuple[Callable[..., Any], ...] = (
        reading.list_applications,
        reading.get_application,
        reading.list_workflows,
        reading.list_resources,
        reading.get_dashboard_stats,
        reading.list_golden_paths,
        reading.list_providers,
        reading.get_current_user,
    )
    logs = tool(reading.get_workflow, effect="read", cache=KEPT, trust="untrusted")  # any workflow can write into these
    return [*[_read(each) for each in reads], logs, *Changes(platform).tools()]


def _read(function: Callable[..., Any]) -> Callable[..., Any]:
    return tool(function, effect="read", cache=KEPT)


def _listed(found: Sequence[Json], nothing: str, total: int = 0) -> Any:
    """A list that fits a conversation; a sentence where it is empty."""
    if not found:
        return nothing
    more = max(total, len(found)) - min(len(found), MOST)
    return [*found[:MOST], *([f"and {more} more"] if more > 0 else [])]


async def _beside(reading: Any, otherwise: Any) -> Any:
    """What was read; something else where that went wrong, as it was only wanted beside something."""
    try:
        return await reading
    except ToolProblem:
        return otherwise
