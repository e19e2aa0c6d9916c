"""What deploying or deleting would change, in words for the person who is asked. Reads only."""

import asyncio
from hashlib import sha256

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
    return Preview("\n".join([head.rstrip(), *warnings]), seal_of(runs))


async def of_deleting(platform: Platform, name: str) -> Preview:
    """What would go, and what belongs to it."""
    found, resources = await asyncio.gather(requests.application(platform, name), requests.resources(platform, name))
    told = [f"- {_resource(each)}" for each in resources]
    whose = f" of the team {found['team']}" if "team" in found else ""
    head = f"{name}{whose} would be deleted from {platform.server}. This can't be undone."
    words = "\n".join([head, "These resources belong to it:" if told else "No resources belong to it.", *told])
    return Preview(words, seal_of(found))


def seal_of(runs: Json | None) -> str:
    """What stands for an application as it runs; for none at all, too."""
    return sha256((canonical(runs["spec"]) if runs else "").encode()).hexdigest()[:16]


def _resource(value: Json) -> str:
    state = f", {value['state']}" if value.get("state") else ""
    return f"{value.get('resource_name', '?')} ({value.get('resource_type', '?')}{state})"
