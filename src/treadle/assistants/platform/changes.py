"""The platform's tools that change something: each shows what it would do before anybody is asked (`previews`).

What was approved is done only to what was shown. What a process left in the middle is found out from the platform itself.
"""

from collections.abc import Awaitable, Callable
from typing import Any, cast

from treadle import Preview, RunContext, ToolProblem, tool
from treadle.assistants.platform import requests
from treadle.assistants.platform.previews import (
    Seal,
    mark_of,
    of_deleting,
    of_deploying,
    of_golden_path,
    of_retrying,
    seal_in,
    seal_of,
    seal_of_workflow,
)
from treadle.assistants.platform.said import last_spec
from treadle.assistants.platform.score import Checked, check, spec_in
from treadle.assistants.platform.server import NoSuchPath, Platform
from treadle.assistants.platform.shapes import Json, filled


class Changes:
    """What the tools do. Their docstrings are the descriptions that a model gets."""

    def __init__(self, platform: Platform) -> None:
        self._platform = platform

    def tools(self) -> list[Callable[..., Any]]:
        """All of them, each with how it is shown, and how it is found out whether it happened."""
        deploy = tool(retry="checkable", reconcile=self.was_deployed, preview=self.to_deploy, sequential=True)
        delete = tool(effect="destroy", retry="checkable", reconcile=self.was_deleted, preview=self.to_delete, sequential=True)
        run = tool(preview=self.to_run, sequential=True)  # once: whether it ran nobody can tell from what runs then
        retry = tool(retry="checkable", reconcile=self.was_retried, preview=self.to_retry, sequential=True)
        return [
            deploy(self.deploy_application),
            delete(self.delete_application),
            run(self.run_golden_path),
            retry(self.retry_workflow),
        ]

    # applications

    async def deploy_application(self, ctx: RunContext[Any], spec_content: str = "") -> Json:
        """Deploy an application from a Score spec, or update it. The person is asked first.

        :param spec_content: the whole spec as YAML; left out, the spec that was shown last in this conversation
        """
        text, checked = _spec(ctx, spec_content)
        await self._hold(ctx, _name(checked), text)
        told = await self._begun(_name(checked), requests.deploy(self._platform, text, ctx.key), "It was deployed.")
        return filled({**told, "warnings": [str(each) for each in checked.warnings]})

    async def was_deployed(self, ctx: RunContext[Any], spec_content: str = "") -> Json | None:
        """Whether a deployment came through before the process died. Where nobody can tell, that is what is said."""
        text, checked = _spec(ctx, spec_content)
        runs = await requests.running(self._platform, _name(checked))
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
        return _told(await requests.delete(self._platform, app_name.strip(), ctx.key), f"{app_name} was deleted.")

    async def was_deleted(self, ctx: RunContext[Any], app_name: str) -> Json | None:
        """Whether it is gone."""
        gone = await requests.running(self._platform, app_name.strip()) is None
        return {"message": f"{app_name} is gone."} if gone else None

    async def to_delete(self, ctx: RunContext[Any], app_name: str) -> Preview:
        """What would go with it."""
        return await of_deleting(self._platform, app_name.strip())

    # workflows

    async def run_golden_path(
        self, ctx: RunContext[Any], path: str, spec_content: str = "", parameters: dict[str, str] | None = None
    ) -> Json:
        """Deploy an application by a golden path. The person is asked first.

        :param path: the golden path's name, as list_golden_paths shows it
        :param spec_content: the whole spec as YAML; left out, the spec that was shown last in this conversation
        :param parameters: what the path wants to know, by name
        """
        text, checked = _spec(ctx, spec_content)
        await self._hold(ctx, _name(checked), text)
        run = requests.run_golden_path(self._platform, path.strip(), text, parameters or {}, ctx.key)
        return await self._begun(_name(checked), run, "The golden path was begun.")

    async def to_run(
        self, ctx: RunContext[Any], path: str, spec_content: str = "", parameters: dict[str, str] | None = None
    ) -> Preview:
        """What the path would change. One that isn't there, or wants to know more, is said before anybody is asked."""
        text, checked = _spec(ctx, spec_content)
        found, given = await self._path(path.strip()), parameters or {}
        wanted = cast("dict[str, Json]", found.get("parameters", {}))
        missing = [name for name, each in wanted.items() if each.get("required") and not given.get(name)]
        if missing:
            raise ToolProblem(f"The golden path {path} wants to know: {', '.join(missing)}. Ask the person, and give them.")
        return await of_golden_path(self._platform, found, given, text, checked)

    async def _path(self, name: str) -> Json:
        """A golden path. Of a platform that lists none, only its name is known."""
        try:
            found = {each["name"]: each for each in await requests.golden_paths(self._platform)}
        except NoSuchPath:
            return {"name": name}
        if name not in found:
            raise ToolProblem(f"There is no golden path {name!r}. There are: {', '.join(found) or 'none'}.")
        return found[name]

    async def retry_workflow(self, ctx: RunContext[Any], workflow_id: str) -> Json:
        """Retry a failed workflow from the step that failed. The person is asked first.

        :param workflow_id: its number, as list_workflows shows it
        """
        failed = await self._failed(workflow_id)
        _compare(ctx, await seal_of_workflow(self._platform, failed), f"Workflow {failed['id']}")
        retried = requests.retry(self._platform, failed["id"], ctx.key)
        return await self._begun(failed["application_name"], retried, "The workflow was retried.")

    async def was_retried(self, ctx: RunContext[Any], workflow_id: str) -> Json | None:
        """Whether there is an execution that retries it."""
        number = requests.workflow_number(workflow_id)
        failed = await requests.workflow(self._platform, number)
        since, _ = await requests.workflows(self._platform, failed.get("application_name", ""))
        for each in since:
            if each["id"] > number and (await requests.workflow(self._platform, each["id"])).get("parent_execution_id") == number:
                return {"message": f"Workflow {number} was retried.", "workflow_id": each["id"]}
        return None

    async def to_retry(self, ctx: RunContext[Any], workflow_id: str) -> Preview:
        """What failed, and where it would go on."""
        failed = await self._failed(workflow_id)
        return of_retrying(self._platform, failed, await seal_of_workflow(self._platform, failed))

    async def _failed(self, workflow_id: str) -> Json:
        """The workflow, which has to have failed."""
        found = await requests.workflow(self._platform, requests.workflow_number(workflow_id))
        if (status := found.get("status")) != "failed":
            raise ToolProblem(f"Only a failed workflow can be retried, and {found.get('id')} is {status or 'in no known state'}.")
        return found

    # both

    async def _hold(self, ctx: RunContext[Any], name: str, spec: str = "") -> None:
        """What was approved was approved for what was shown: on this platform, for this person, and over what ran then."""
        if seal_in(ctx.seal) is not None:
            _compare(ctx, await seal_of(self._platform, await requests.running(self._platform, name), spec), name)

    async def _begun(self, app: str, change: Awaitable[Any], otherwise: str) -> Json:
        """What the platform says of a change, and the workflow that it began: platforms don't say themselves which one it is."""
        before = await self._newest(app)
        told = _told(await change, otherwise)
        newest = await self._newest(app)
        return filled({**told, "workflow_id": newest if newest != before else None})

    async def _newest(self, app: str) -> int | None:
        """The newest workflow of an application; None where there is none, or none that can be read."""
        try:
            found, _ = await requests.workflows(self._platform, app)
        except ToolProblem:
            return None
        return max([each["id"] for each in found if isinstance(each.get("id"), int)], default=None)


def _compare(ctx: RunContext[Any], now: Seal, what: str) -> None:
    """Refuse what isn't as it was shown."""
    shown = seal_in(ctx.seal)
    if shown is None:
        return
    if now.whose != shown.whose:
        raise ToolProblem("This was approved on another platform or by somebody else, so nothing was done. Ask the person here.")
    if now != shown:
        raise ToolProblem(f"{what} has changed since the person was asked, so nothing was done. Ask them again.")


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


def _name(checked: Checked) -> str:
    return checked.spec.name if checked.spec else ""


def _told(answer: Any, otherwise: str) -> Json:
    return cast("Json", answer) if isinstance(answer, dict) else {"message": otherwise}
