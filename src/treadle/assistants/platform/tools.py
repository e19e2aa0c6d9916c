"""The platform's tools, for one person: eleven, each one thing that they could do themselves.

What would be changed is shown before anybody is asked (`previews`). Those whose role may not deploy or delete aren't offered it.
"""

import asyncio
from collections.abc import Callable, Sequence
from types import TracebackType
from typing import Any, cast

from treadle import Call, Functions, Preview, RunContext, Tool, ToolProblem, tool
from treadle.assistants.platform import requests
from treadle.assistants.platform.previews import mark_of, of_deleting, of_deploying, seal_in, seal_of
from treadle.assistants.platform.said import last_spec
from treadle.assistants.platform.score import Checked, check, spec_in
from treadle.assistants.platform.server import Missing, NoSuchPath, Platform
from treadle.assistants.platform.settings import PlatformSettings
from treadle.assistants.platform.shapes import Json, filled

KEPT = 30.0  # seconds that what was read is reused
MOST = 50  # items of a list that are told


class Abilities:
    """What the tools do. Their docstrings are what a model is told."""

    def __init__(self, platform: Platform) -> None:
        self._platform = platform

    async def list_applications(self) -> Any:
        """List the applications that the person may see, with team, containers and resources."""
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
        number = workflow_id.strip().lstrip("#")
        if not (number.isascii() and number.isdecimal()):
            raise ToolProblem("A workflow's id is a number. list_workflows shows them.")
        return await requests.workflow(self._platform, int(number))

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

    async def deploy_application(self, ctx: RunContext[Any], spec_content: str = "") -> Json:
        """Deploy an application from a Score spec, or update it. The person is asked first.

        :param spec_content: the whole spec as YAML; left out, the spec that was shown last in this conversation
        """
        text, checked = _spec(ctx, spec_content)
        await self._hold(ctx, checked.spec.name if checked.spec else "", text)
        answer = await requests.deploy(self._platform, text, ctx.key)
        told = _answer(answer, "It was deployed.")
        return filled({**told, "warnings": [str(each) for each in checked.warnings]})

    async def _hold(self, ctx: RunContext[Any], name: str, spec: str = "") -> None:
        """What was approved was approved for what was shown: on this platform, for this person, and over what ran then."""
        shown = seal_in(ctx.seal)
        if shown is None:
            return
        now = await seal_of(self._platform, await requests.running(self._platform, name), spec)
        if now.whose != shown.whose:
            raise ToolProblem(
                "This was approved on another platform or by somebody else, so nothing was done. Ask the person here."
            )
        if now != shown:
            raise ToolProblem(f"{name} has changed since the person was asked, so nothing was done. Ask them again.")

    async def was_deployed(self, ctx: RunContext[Any], spec_content: str = "") -> Json | None:
        """Whether a deployment came through before the process died. Where nobody can tell, that is what is said."""
        text, checked = _spec(ctx, spec_content)
        runs = await requests.running(self._platform, checked.spec.name if checked.spec else "")
        wanted, now, shown = mark_of({"spec": text}), mark_of(runs), seal_in(ctx.seal)
        if shown is not None and (shown.before == wanted or now not in (wanted, shown.before)):
            raise ToolProblem("It ran with this spec before, or somebody has changed it since: nobody can tell.")
        return {"message": "The application runs with exactly this spec.", "name": runs["name"]} if runs and now == wanted else None

    async def to_deploy(self, ctx: RunContext[Any], spec_content: str = "") -> Preview:
        """What deploying would change."""
        text, checked = _spec(ctx, spec_content)
        return await of_deploying(self._platform, text, checked)

    async def delete_application(self, ctx: RunContext[Any], app_name: str) -> Json:
        """Delete an application. The person is asked first.

        :param app_name: the application's name
        """
        await self._hold(ctx, app_name.strip())
        answer = await requests.delete(self._platform, app_name.strip(), ctx.key)
        return _answer(answer, f"{app_name} was deleted.")

    async def was_deleted(self, ctx: RunContext[Any], app_name: str) -> Json | None:
        """Whether it is gone."""
        gone = await requests.running(self._platform, app_name.strip()) is None
        return {"message": f"{app_name} is gone."} if gone else None

    async def to_delete(self, ctx: RunContext[Any], app_name: str) -> Preview:
        """What would go with it."""
        return await of_deleting(self._platform, app_name.strip())


class PlatformTools:
    """A toolset for one person. Which of its tools they may use is known once it is entered, from their role."""

    def __init__(self, platform: Platform, settings: PlatformSettings) -> None:
        self._platform = platform
        self._settings = settings
        self._functions = Functions(_functions(platform), name=f"platform-{platform.mark}")  # what one reads isn't kept for another
        self._tools: tuple[Tool, ...] = self._functions.tools()

    async def __aenter__(self) -> "PlatformTools":
        await self._platform.__aenter__()
        limits = {"deploy_application": self._settings.deploy_roles, "delete_application": self._settings.delete_roles}
        if any(limits.values()):
            role = (await _beside(requests.user(self._platform), {})).get("role", "")
            self._tools = tuple([each for each in self._functions.tools() if _may(role, limits.get(each.name, ()))])
        return self

    async def __aexit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        await self._platform.__aexit__(kind, error, trace)

    def tools(self) -> Sequence[Tool]:
        """Those that the person may use."""
        return self._tools

    async def call(self, call: Call, context: RunContext[Any]) -> Any:
        """Carry a call out."""
        return await self._functions.call(call, context)

    async def reconcile(self, call: Call, context: RunContext[Any]) -> Any:
        """Whether an interrupted call happened."""
        return await self._functions.reconcile(call, context)

    async def preview(self, call: Call, context: RunContext[Any]) -> Preview:
        """What a call would do."""
        return await self._functions.preview(call, context)


def _functions(platform: Platform) -> list[Callable[..., Any]]:
    able = Abilities(platform)
    reads: tuple[Callable[..., Any], ...] = (
        able.list_applications,
        able.get_application,
        able.list_workflows,
        able.list_resources,
        able.get_dashboard_stats,
        able.list_golden_paths,
        able.list_providers,
        able.get_current_user,
    )
    deploy = tool(retry="checkable", reconcile=able.was_deployed, preview=able.to_deploy, sequential=True)
    delete = tool(effect="destroy", retry="checkable", reconcile=able.was_deleted, preview=able.to_delete, sequential=True)
    logs = tool(able.get_workflow, effect="read", cache=KEPT, trust="untrusted")  # whoever runs something can write into these
    return [
        *[_read(each) for each in reads],
        logs,
        deploy(able.deploy_application),
        delete(able.delete_application),
    ]


def _read(function: Callable[..., Any]) -> Callable[..., Any]:
    return tool(function, effect="read", cache=KEPT)


def _answer(answer: Any, otherwise: str) -> Json:
    return cast("Json", answer) if isinstance(answer, dict) else {"message": otherwise}


def _may(role: str, roles: Sequence[str]) -> bool:
    return not roles or role in roles


def _spec(ctx: RunContext[Any], spec_content: str) -> tuple[str, Checked]:
    """The spec that is meant, checked. With errors it isn't even sent."""
    given = spec_content.strip()
    whole = bool(given) and check(given).spec is not None  # then what is in it belongs to it, also a block of YAML
    text = given if whole else spec_in(given) or given or last_spec(ctx.history, ctx.words)
    if not text:
        raise ToolProblem(
            "There is no spec in this conversation yet. Write one, show it to the person, and deploy it when they want to."
        )
    checked = check(text)
    if not checked.ok:
        found = "\n".join([str(each) for each in checked.errors])
        reason = "The spec has errors, so it wasn't sent."
        raise ToolProblem(f"{reason} Mend them and try again:\n{found}", data={"reason": f"{reason}\n{found}"})
    return text, checked


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
