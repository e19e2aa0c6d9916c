"""The platform's tools for one user, each something they could do themselves. `change_tools` has those that change something.

If the user lacks the role that the operator requires, they and the model are informed: the tool exists, and refuses.
"""

import asyncio
from collections.abc import Callable, Sequence
from types import TracebackType
from typing import Any

from treadle import Call, FunctionToolset, Preview, RunContext, Tool, ToolProblem, tool
from treadle.assistants.platform import api_calls
from treadle.assistants.platform.change_tools import PlatformChangeTools
from treadle.assistants.platform.client import PlatformClient, PlatformForbidden, PlatformNotFound, PlatformPathUnknown
from treadle.assistants.platform.responses import Json, drop_empty_fields
from treadle.assistants.platform.settings import PlatformSettings

CACHE_SECONDS = 30.0  # seconds that what was read is reused
MAX_ITEMS = 50  # items of a list that are told


class PlatformReadTools:
    """The tools that read. Their docstrings are the descriptions that a model gets."""

    def __init__(self, platform: PlatformClient) -> None:
        self._platform = platform

    async def list_applications(self) -> Any:
        """List the applications that the person may see, with team, environment, containers and resources."""
        return _limit_list(await api_calls.fetch_applications(self._platform), "There are no applications yet.")

    async def get_application(self, app_name: str) -> Json:
        """Everything about one application: its spec, the state of its resources, and its newest workflow.

        :param app_name: the application's name
        """
        name = app_name.strip()
        found, resources, (workflows, _) = await asyncio.gather(
            self._require_application(name),
            _or_default(api_calls.fetch_resources(self._platform, name), []),
            _or_default(api_calls.fetch_workflows(self._platform, name), ([], 0)),
        )
        states = [
            drop_empty_fields({key: each.get(key) for key in ("resource_name", "resource_type", "state")}) for each in resources
        ]
        return {**found, "resources": states, "newest_workflow": workflows[0] if workflows else "none has run yet"}

    async def _require_application(self, name: str) -> Json:
        """Return an application; if there is none by that name, the problem lists those that exist."""
        try:
            return await api_calls.fetch_application(self._platform, name)
        except PlatformPathUnknown:
            raise
        except PlatformNotFound:
            names = [each["name"] for each in await _or_default(api_calls.fetch_applications(self._platform), [])]
            there = f"There are: {', '.join(names[:MAX_ITEMS])}." if names else "The person has none at all."
            raise PlatformNotFound(f"There is no application {name!r}. {there}") from None

    async def list_workflows(self, app_name: str = "", status: str = "") -> Any:
        """List workflow executions, the newest first.

        :param app_name: only those of this application
        :param status: only those that are running, completed or failed
        """
        found, total = await api_calls.fetch_workflows(self._platform, app_name.strip(), status.strip().lower())
        return _limit_list(found, "There are no such workflows." if app_name or status else "No workflow has run yet.", total)

    async def get_workflow(self, workflow_id: str) -> Json:
        """One workflow execution with its steps, their errors and logs.

        :param workflow_id: its number, as list_workflows shows it
        """
        return await api_calls.fetch_workflow(self._platform, api_calls.parse_workflow_number(workflow_id))

    async def list_resources(self, app_name: str = "") -> Any:
        """List resources such as databases, with their state and health.

        :param app_name: only those of this application
        """
        name = app_name.strip()
        return _limit_list(await api_calls.fetch_resources(self._platform, name), f"{name or 'The platform'} has no resources.")

    async def get_dashboard_stats(self) -> Json:
        """How many applications, running workflows, resources and users there are."""
        return await api_calls.fetch_stats(self._platform)

    async def list_golden_paths(self) -> Any:
        """List the golden paths: workflows that the platform team has made ready for everyone."""
        return _limit_list(await api_calls.fetch_golden_paths(self._platform), "There are no golden paths.")

    async def list_providers(self) -> Any:
        """List the providers that make resources, with their workflows."""
        return _limit_list(await api_calls.fetch_providers(self._platform), "There are no providers.")

    async def get_current_user(self) -> Json:
        """Who the person is: name, team and role."""
        return await api_calls.fetch_user(self._platform)


class PlatformTools:
    """A toolset for one user. Whether they may use its tools is known once it is entered, from their role."""

    def __init__(self, platform: PlatformClient, settings: PlatformSettings) -> None:
        self._platform = platform
        self._roles = settings.roles
        self._role = ""
        self._functions = FunctionToolset(
            _build_functions(platform), name=f"platform-{platform.mark}"
        )  # what one reads isn't kept for another

    async def __aenter__(self) -> "PlatformTools":
        await self._platform.__aenter__()
        if any(self._roles.values()):
            self._role = (await _or_default(api_calls.fetch_user(self._platform), {})).get("role", "")
        return self

    async def __aexit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        await self._platform.__aexit__(kind, error, trace)

    def tools(self) -> Sequence[Tool]:
        """Return all tools."""
        return self._functions.tools()

    async def call(self, call: Call, context: RunContext[Any]) -> Any:
        """Execute a call."""
        self._check(call.name)
        return await self._functions.call(call, context)

    async def reconcile(self, call: Call, context: RunContext[Any]) -> Any:
        """Return the result of an interrupted call, if it happened."""
        return await self._functions.reconcile(call, context)

    async def preview(self, call: Call, context: RunContext[Any]) -> Preview:
        """Preview a call. No approval is requested for one that the user has no permission for."""
        self._check(call.name)
        return await self._functions.preview(call, context)

    def _check(self, name: str) -> None:
        roles = self._roles.get(name, ())
        if roles and self._role not in roles:
            theirs = f"theirs is {self._role}" if self._role else "the platform says of none that they have it"
            raise PlatformForbidden(
                f"The person doesn't have permission to use {name}: it needs the role {' or '.join(roles)}, and {theirs}.",
                "Tell them so. Nothing was done.",
            )


def _build_functions(platform: PlatformClient) -> list[Callable[..., Any]]:
    reading = PlatformReadTools(platform)
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
    logs = tool(reading.get_workflow, effect="read", cache=CACHE_SECONDS, trust="untrusted")  # any workflow can write into these
    return [*[_read_tool(each) for each in reads], logs, *PlatformChangeTools(platform).tools()]


def _read_tool(function: Callable[..., Any]) -> Callable[..., Any]:
    return tool(function, effect="read", cache=CACHE_SECONDS)


def _limit_list(found: Sequence[Json], nothing: str, total: int = 0) -> Any:
    """Limit a list to what fits a conversation; a sentence if it is empty."""
    if not found:
        return nothing
    more = max(total, len(found)) - min(len(found), MAX_ITEMS)
    return [*found[:MAX_ITEMS], *([f"and {more} more"] if more > 0 else [])]


async def _or_default(reading: Any, otherwise: Any) -> Any:
    """Return what was read, or a default if that failed, as it was only supplementary."""
    try:
        return await reading
    except ToolProblem:
        return otherwise
