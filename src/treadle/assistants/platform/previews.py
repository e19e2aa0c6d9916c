"""Previews of what a tool would change on the platform, as text for the approver. Reads only."""

import asyncio
from collections.abc import Mapping
from hashlib import sha256
from typing import Any, cast

from msgspec import Struct

from treadle import Preview
from treadle.assistants.platform import api_calls
from treadle.assistants.platform.client import PlatformClient
from treadle.assistants.platform.responses import Json
from treadle.assistants.platform.score import CheckedSpec, canonical_spec, diff_specs


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
