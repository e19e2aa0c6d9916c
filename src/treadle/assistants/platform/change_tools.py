"""The platform's tools that change something: each shows a preview, as text, before its approval is requested.

What was approved is done only to what was shown. Calls that a crashed process left unfinished are reconciled with the
platform. A preview only reads.
"""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from hashlib import sha256
from typing import Any, cast

from msgspec import Struct

from treadle import Preview, RunContext, ToolProblem, tool
from treadle.assistants.platform import api_calls
from treadle.assistants.platform.client import PlatformClient, PlatformPathUnknown
from treadle.assistants.platform.responses import Json, drop_empty_fields
from treadle.assistants.platform.score import CheckedSpec, canonical_spec, check_spec, diff_specs, find_spec
from treadle.assistants.platform.spec_drafts import find_last_spec


async def preview_deployment(platform: PlatformClient, text: str, checked: CheckedSpec) -> Preview:
    """Preview a spec against what runs, with what the platform would drop from it."""
    assert checked.spec is not None, "it was checked"
    name = checked.spec.name
    runs = await api_calls.find_application(platform, name)
    if runs is None:
        head = f"{name} would be a new application on {platform.server}:\n{canonical_spec(text)}"
    else:
        changes = diff_specs(runs["spec"], text, f"{name}, as it runs", f"{name}, as it would run")
        nothing = f"{name} already runs with this spec. Deploying it again would change nothing in it, but its workflow would run."
        head = f"{name} on {platform.server} would change:\n{changes}" if changes else nothing
    warnings = [f"! {each}" for each in checked.warnings]
    return Preview("\n".join([*warnings, head.rstrip()]), str(await compute_seal(platform, runs, text)))


async def preview_deletion(platform: PlatformClient, name: str) -> Preview:
    """Preview what would be deleted, with what belongs to it."""
    found, resources = await asyncio.gather(api_calls.fetch_application(platform, name), api_calls.fetch_resources(platform, name))
    told = [f"- {_format_resource(each)}" for each in resources]
    whose = f" of the team {found['team']}" if "team" in found else ""
    head = f"{name}{whose} would be deleted from {platform.server}. This can't be undone."
    words = "\n".join([head, "These resources belong to it:" if told else "No resources belong to it.", *told])
    return Preview(words, str(await compute_seal(platform, found)))


async def preview_golden_path_run(
    platform: PlatformClient, path: Json, parameters: Mapping[str, str], text: str, checked: CheckedSpec
) -> Preview:
    """Preview a golden path: its parameters, and the spec against what runs."""
    deployed = await preview_deployment(platform, text, checked)
    told = [f"- {name}: {value}" for name, value in parameters.items()]
    head = f"The golden path {path['name']} would run: {path.get('description', 'the platform says nothing of it')}"
    return Preview("\n".join([head, *told, deployed.text]), deployed.seal)


def preview_workflow_retry(platform: PlatformClient, failed: Json, seal: "ApprovalSeal") -> Preview:
    """Preview a retry: what failed, why, and where it would continue."""
    steps = cast("list[Json]", failed.get("steps", []))
    step = next((each for each in steps if each.get("status") == "failed"), dict[str, Any]())
    whose = f"{failed.get('workflow_name', 'unnamed')} of {failed.get('application_name', '?')}"
    head = f"Workflow {failed['id']} ({whose}) on {platform.server} would be retried."
    at = f" from step {step['step_number']}, {step.get('step_name', 'unnamed')}" if "step_number" in step else ""
    why = failed.get("error_message") or step.get("error_message") or "the platform doesn't say why"
    return Preview(f"{head}\nIt failed: {why}\nIt would go on{at or ' where it failed'}.", str(seal))


class ApprovalSeal(Struct, frozen=True):
    """What an approval applies to: the platform and user, what ran when it was shown, and what is to run."""

    whose: str
    before: str
    after: str = ""

    def __str__(self) -> str:
        return f"{self.whose}:{self.before}:{self.after}"


def parse_seal(text: str) -> ApprovalSeal | None:
    """Parse the seal of a preview; None if there is none."""
    parts = text.split(":")
    return ApprovalSeal(*parts) if len(parts) == 3 else None


async def compute_seal(platform: PlatformClient, runs: Json | None, spec: str = "") -> ApprovalSeal:
    """Compute the seal of what would be done now."""
    user = await api_calls.fetch_user(platform)
    return ApprovalSeal(
        _fingerprint(f"{platform.server} {user.get('username', '')}"),
        fingerprint_application(runs),
        _fingerprint(comparable_spec(spec)) if spec else "",
    )


async def compute_workflow_seal(platform: PlatformClient, workflow: Json) -> ApprovalSeal:
    """Compute the seal of a workflow as it is now."""
    whose = (await compute_seal(platform, None)).whose
    return ApprovalSeal(whose, _fingerprint(f"{workflow.get('id')} {workflow.get('status')} {workflow.get('completed_at')}"))


def fingerprint_application(runs: Json | None) -> str:
    """Return a fingerprint of an application as it runs; also for none."""
    return _fingerprint(comparable_spec(runs["spec"]) if runs else "")


def comparable_spec(spec: Any) -> str:
    """Return a spec in the form that platforms return: none of them returns workflows."""
    import yaml

    value = yaml.safe_load(canonical_spec(spec))
    value.pop("workflows", None)
    return canonical_spec(value)


def _fingerprint(text: str) -> str:
    return sha256(text.encode()).hexdigest()[:16]


def _format_resource(value: Json) -> str:
    state = f", {value['state']}" if value.get("state") else ""
    return f"{value.get('resource_name', '?')} ({value.get('resource_type', '?')}{state})"


class PlatformChangeTools:
    """The tools that change something. Their docstrings are the descriptions that a model gets."""

    def __init__(self, platform: PlatformClient) -> None:
        self._platform = platform

    def tools(self) -> list[Callable[..., Any]]:
        """Return all tools, each with its preview and its reconciliation."""
        deploy = tool(retry="checkable", reconcile=self.was_deployed, preview=self.to_deploy, sequential=True)
        delete = tool(effect="destroy", retry="checkable", reconcile=self.was_deleted, preview=self.to_delete, sequential=True)
        run = tool(preview=self.to_run, sequential=True)  # once: what runs then doesn't tell whether it ran
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
        text, checked = _resolve_spec(ctx, spec_content)
        await self._require_unchanged(ctx, _spec_name(checked), text)
        told = await self._start_change(_spec_name(checked), api_calls.post_spec(self._platform, text, ctx.key), "It was deployed.")
        return drop_empty_fields({**told, "warnings": [str(each) for each in checked.warnings]})

    async def was_deployed(self, ctx: RunContext[Any], spec_content: str = "") -> Json | None:
        """Return whether a deployment was accepted before the process died; if that can't be determined, say so."""
        text, checked = _resolve_spec(ctx, spec_content)
        runs = await api_calls.find_application(self._platform, _spec_name(checked))
        wanted, now, shown = fingerprint_application({"spec": text}), fingerprint_application(runs), parse_seal(ctx.seal)
        if shown is not None and (shown.before == wanted or now not in (wanted, shown.before)):
            raise ToolProblem("It ran with this spec before, or it was changed since: that can't be determined.")
        return {"message": "The application runs with exactly this spec.", "name": runs["name"]} if runs and now == wanted else None

    async def to_deploy(self, ctx: RunContext[Any], spec_content: str = "") -> Preview:
        """Preview what deploying would change."""
        text, checked = _resolve_spec(ctx, spec_content)
        return await preview_deployment(self._platform, text, checked)

    async def delete_application(self, ctx: RunContext[Any], app_name: str) -> Json:
        """Delete an application. The person is asked first.

        :param app_name: the application's name
        """
        await self._require_unchanged(ctx, app_name.strip())
        return _to_json_object(
            await api_calls.delete_application_by_name(self._platform, app_name.strip(), ctx.key), f"{app_name} was deleted."
        )

    async def was_deleted(self, ctx: RunContext[Any], app_name: str) -> Json | None:
        """Return a result if the application is gone."""
        gone = await api_calls.find_application(self._platform, app_name.strip()) is None
        return {"message": f"{app_name} is gone."} if gone else None

    async def to_delete(self, ctx: RunContext[Any], app_name: str) -> Preview:
        """Preview what would be deleted with it."""
        return await preview_deletion(self._platform, app_name.strip())

    # workflows

    async def run_golden_path(
        self, ctx: RunContext[Any], path: str, spec_content: str = "", parameters: dict[str, str] | None = None
    ) -> Json:
        """Deploy an application by a golden path. The person is asked first.

        :param path: the golden path's name, as list_golden_paths shows it
        :param spec_content: the whole spec as YAML; left out, the spec that was shown last in this conversation
        :param parameters: what the path wants to know, by name
        """
        text, checked = _resolve_spec(ctx, spec_content)
        await self._require_unchanged(ctx, _spec_name(checked), text)
        run = api_calls.post_golden_path(self._platform, path.strip(), text, parameters or {}, ctx.key)
        return await self._start_change(_spec_name(checked), run, "The golden path was begun.")

    async def to_run(
        self, ctx: RunContext[Any], path: str, spec_content: str = "", parameters: dict[str, str] | None = None
    ) -> Preview:
        """Preview what the path would change. An unknown path, or missing parameters, are reported before approval is requested."""
        text, checked = _resolve_spec(ctx, spec_content)
        found, given = await self._find_golden_path(path.strip()), parameters or {}
        wanted = cast("dict[str, Json]", found.get("parameters", {}))
        missing = [name for name, each in wanted.items() if each.get("required") and not given.get(name)]
        if missing:
            raise ToolProblem(f"The golden path {path} wants to know: {', '.join(missing)}. Ask the person, and give them.")
        return await preview_golden_path_run(self._platform, found, given, text, checked)

    async def _find_golden_path(self, name: str) -> Json:
        """Return a golden path. If the platform lists none, only its name is known."""
        try:
            found = {each["name"]: each for each in await api_calls.fetch_golden_paths(self._platform)}
        except PlatformPathUnknown:
            return {"name": name}
        if name not in found:
            raise ToolProblem(f"There is no golden path {name!r}. There are: {', '.join(found) or 'none'}.")
        return found[name]

    async def retry_workflow(self, ctx: RunContext[Any], workflow_id: str) -> Json:
        """Retry a failed workflow from the step that failed. The person is asked first.

        :param workflow_id: its number, as list_workflows shows it
        """
        failed = await self._load_failed_workflow(workflow_id)
        _require_same_seal(ctx, await compute_workflow_seal(self._platform, failed), f"Workflow {failed['id']}")
        retried = api_calls.post_retry(self._platform, failed["id"], ctx.key)
        return await self._start_change(failed["application_name"], retried, "The workflow was retried.")

    async def was_retried(self, ctx: RunContext[Any], workflow_id: str) -> Json | None:
        """Return whether an execution exists that retries it."""
        number = api_calls.parse_workflow_number(workflow_id)
        failed = await api_calls.fetch_workflow(self._platform, number)
        since, _ = await api_calls.fetch_workflows(self._platform, failed.get("application_name", ""))
        for each in since:
            if (
                each["id"] > number
                and (await api_calls.fetch_workflow(self._platform, each["id"])).get("parent_execution_id") == number
            ):
                return {"message": f"Workflow {number} was retried.", "workflow_id": each["id"]}
        return None

    async def to_retry(self, ctx: RunContext[Any], workflow_id: str) -> Preview:
        """Preview what failed, and where the retry would continue."""
        failed = await self._load_failed_workflow(workflow_id)
        return preview_workflow_retry(self._platform, failed, await compute_workflow_seal(self._platform, failed))

    async def _load_failed_workflow(self, workflow_id: str) -> Json:
        """Return the workflow; raise unless it has failed."""
        found = await api_calls.fetch_workflow(self._platform, api_calls.parse_workflow_number(workflow_id))
        if (status := found.get("status")) != "failed":
            raise ToolProblem(f"Only a failed workflow can be retried, and {found.get('id')} is {status or 'in no known state'}.")
        return found

    # both

    async def _require_unchanged(self, ctx: RunContext[Any], name: str, spec: str = "") -> None:
        """Raise unless the approval still applies: same platform, same user, and the same running spec as shown."""
        if parse_seal(ctx.seal) is not None:
            _require_same_seal(
                ctx, await compute_seal(self._platform, await api_calls.find_application(self._platform, name), spec), name
            )

    async def _start_change(self, app: str, change: Awaitable[Any], otherwise: str) -> Json:
        """Return the platform's response to a change, and the workflow it started: platforms don't say which one it is."""
        before = await self._newest_workflow(app)
        told = _to_json_object(await change, otherwise)
        newest = await self._newest_workflow(app)
        return drop_empty_fields({**told, "workflow_id": newest if newest != before else None})

    async def _newest_workflow(self, app: str) -> int | None:
        """Return the newest workflow of an application; None if there is none, or none that can be read."""
        try:
            found, _ = await api_calls.fetch_workflows(self._platform, app)
        except ToolProblem:
            return None
        return max([each["id"] for each in found if isinstance(each.get("id"), int)], default=None)


def _require_same_seal(ctx: RunContext[Any], now: ApprovalSeal, what: str) -> None:
    """Raise if something differs from what was shown."""
    shown = parse_seal(ctx.seal)
    if shown is None:
        return
    if now.whose != shown.whose:
        raise ToolProblem("This was approved on another platform or by another user, so nothing was done. Ask the user here.")
    if now != shown:
        raise ToolProblem(f"{what} has changed since the person was asked, so nothing was done. Ask them again.")


def _resolve_spec(ctx: RunContext[Any], spec_content: str) -> tuple[str, CheckedSpec]:
    """Return the intended spec, checked. One with errors isn't sent."""
    given = spec_content.strip()
    whole = bool(given) and check_spec(given).spec is not None  # then what is in it belongs to it, also a block of YAML
    text = given if whole else find_spec(given) or given or find_last_spec(ctx.history, ctx.words)
    if not text:
        raise ToolProblem(
            "There is no spec in this conversation yet. Write one, show it to the person, and deploy it when they want to."
        )
    checked = check_spec(text)
    if not checked.ok:
        found = "\n".join([str(each) for each in checked.errors])
        reason = "The spec has errors, so it wasn't sent."
        raise ToolProblem(f"{reason} Fix them and try again:\n{found}", data={"reason": f"{reason}\n{found}"})
    return text, checked


def _spec_name(checked: CheckedSpec) -> str:
    return checked.spec.name if checked.spec else ""


def _to_json_object(answer: Any, otherwise: str) -> Json:
    return cast("Json", answer) if isinstance(answer, dict) else {"message": otherwise}
