"""What a tool would change on the platform, as text for the person who is asked. Reads only."""

import asyncio
from collections.abc import Mapping
from hashlib import sha256
from typing import Any, cast

from msgspec import Struct

from treadle import Preview
from treadle.assistants.platform import requests
from treadle.assistants.platform.score import Checked, canonical, difference
from treadle.assistants.platform.server import Platform
from treadle.assistants.platform.shapes import Json


async def of_deploying(platform: Platform, text: str, checked: Checked) -> Preview:
    """The spec against what runs; and what the platform would leave out of it."""
    assert checked.spec is not None, "it was checked"
    name = checked.spec.name
    runs = await requests.running(platform, name)
    if runs is None:
        head = f"{name} would be a new application on {platform.server}:\n{canonical(text)}"
    else:
        changes = difference(runs["spec"], text, f"{name}, as it runs", f"{name}, as it would run")
        nothing = f"{name} already runs with this spec. Deploying it again would change nothing in it, but its workflow would run."
        head = f"{name} on {platform.server} would change:\n{changes}" if changes else nothing
    warnings = [f"! {each}" for each in checked.warnings]
    return Preview("\n".join([*warnings, head.rstrip()]), str(await seal_of(platform, runs, text)))


async def of_deleting(platform: Platform, name: str) -> Preview:
    """What would go, and what belongs to it."""
    found, resources = await asyncio.gather(requests.application(platform, name), requests.resources(platform, name))
    told = [f"- {_resource(each)}" for each in resources]
    whose = f" of the team {found['team']}" if "team" in found else ""
    head = f"{name}{whose} would be deleted from {platform.server}. This can't be undone."
    words = "\n".join([head, "These resources belong to it:" if told else "No resources belong to it.", *told])
    return Preview(words, str(await seal_of(platform, found)))


async def of_golden_path(platform: Platform, path: Json, parameters: Mapping[str, str], text: str, checked: Checked) -> Preview:
    """The path, what it is told, and the spec against what runs."""
    deployed = await of_deploying(platform, text, checked)
    told = [f"- {name}: {value}" for name, value in parameters.items()]
    head = f"The golden path {path['name']} would run: {path.get('description', 'the platform says nothing of it')}"
    return Preview("\n".join([head, *told, deployed.text]), deployed.seal)


def of_retrying(platform: Platform, failed: Json, seal: "Seal") -> Preview:
    """What failed, why, and where it would go on."""
    steps = cast("list[Json]", failed.get("steps", []))
    step = next((each for each in steps if each.get("status") == "failed"), dict[str, Any]())
    whose = f"{failed.get('workflow_name', 'unnamed')} of {failed.get('application_name', '?')}"
    head = f"Workflow {failed['id']} ({whose}) on {platform.server} would be retried."
    at = f" from step {step['step_number']}, {step.get('step_name', 'unnamed')}" if "step_number" in step else ""
    why = failed.get("error_message") or step.get("error_message") or "the platform doesn't say why"
    return Preview(f"{head}\nIt failed: {why}\nIt would go on{at or ' where it failed'}.", str(seal))


class Seal(Struct, frozen=True):
    """What an approval holds for: whose platform it is, what ran when it was shown, and what is to run."""

    whose: str
    before: str
    after: str = ""

    def __str__(self) -> str:
        return f"{self.whose}:{self.before}:{self.after}"


def seal_in(text: str) -> Seal | None:
    """The seal that a preview had; None where there was none."""
    parts = text.split(":")
    return Seal(*parts) if len(parts) == 3 else None


async def seal_of(platform: Platform, runs: Json | None, spec: str = "") -> Seal:
    """The seal of what would be done now."""
    user = await requests.user(platform)
    return Seal(_mark(f"{platform.server} {user.get('username', '')}"), mark_of(runs), _mark(comparable(spec)) if spec else "")


async def seal_of_workflow(platform: Platform, workflow: Json) -> Seal:
    """The seal of a workflow as it is now."""
    whose = (await seal_of(platform, None)).whose
    return Seal(whose, _mark(f"{workflow.get('id')} {workflow.get('status')} {workflow.get('completed_at')}"))


def mark_of(runs: Json | None) -> str:
    """What stands for an application as it runs; for none at all, too."""
    return _mark(comparable(runs["spec"]) if runs else "")


def comparable(spec: Any) -> str:
    """A spec as a platform repeats it: none of them repeats workflows."""
    import yaml

    value = yaml.safe_load(canonical(spec))
    value.pop("workflows", None)
    return canonical(value)


def _mark(text: str) -> str:
    return sha256(text.encode()).hexdigest()[:16]


def _resource(value: Json) -> str:
    state = f", {value['state']}" if value.get("state") else ""
    return f"{value.get('resource_name', '?')} ({value.get('resource_type', '?')}{state})"
