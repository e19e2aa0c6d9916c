"""What the platform assistant's tests act on: the demo platform, a person's tools, a script for the model."""

import asyncio
import json
from pathlib import Path
from typing import Any
from urllib.request import Request, urlopen

import aiohttp

from server.running import Serving
from treadle import Agent, RunResult, open_home
from treadle.assistants.platform import assistant
from treadle.assistants.platform.client import PlatformClient
from treadle.assistants.platform.settings import PlatformSettings
from treadle.assistants.platform.tools import PlatformTools
from treadle.demo.platform import DemoServer
from treadle.testing import Scripted, calls

SPEC = """\
apiVersion: score.dev/v1b1
metadata:
  name: my-app
containers:
  web:
    image: nginx:1.27
resources:
  db:
    type: postgres-mock
    params: {version: "15"}
"""


def agent(demo: DemoServer, model, who: str = "alice", *, token: str | None = None, **settings) -> Agent:
    platform = PlatformClient(demo.url, demo.token(who) if token is None else token)
    tools = PlatformTools(platform, PlatformSettings(server=demo.url, **settings))
    return Agent(model, name="platform", toolsets=[tools], policy=assistant.policy, limits=assistant.limits)


def told(demo: DemoServer, *asked, who: str = "alice", **how) -> list[str]:
    """What a model is told of these calls."""
    result = asyncio.run(agent(demo, Scripted(calls(*asked), "So."), who, **how).run("Go."))
    return [record.result.content for record in result.calls]


def kept(folder: Path):
    return open_home(folder).services()


def approved(
    demo: DemoServer, folder: Path, *replies, say: str = "Go.", who: str = "alice", yes: bool = True
) -> tuple[RunResult, Scripted]:
    """A run in which every question is answered, each after a wait, as on another day."""
    model = Scripted(*replies)
    ours = agent(demo, model, who)

    async def days():
        result = await ours.run(say, run_id="r", journal=kept(folder), user=who)
        while result.stopped == "waiting":
            for approval in result.approvals:
                if yes:
                    await ours.approve("r", approval.call_id, digest=approval.digest, by=who, journal=kept(folder))
                else:
                    await ours.deny("r", approval.call_id, "Not today.", by=who, journal=kept(folder))
            result = await ours.resume("r", journal=kept(folder), user=who)
        return result

    return asyncio.run(days()), model


def ask(server: Serving, method: str, path: str, body: Any = None, token: str = "", **more: Any) -> tuple[int, Any]:
    """Status and body of an answer, to whoever has this token."""
    headers = {**({"authorization": f"Bearer {token}"} if token else {}), **more.pop("headers", {})}

    async def asked():
        asking = aiohttp.ClientSession(headers=headers)
        async with asking as session, session.request(method, server.url + path, json=body, **more) as answer:
            return answer.status, await (answer.json() if "json" in answer.content_type else answer.text())

    return asyncio.run(asked())


def run_of(server: Serving, run_id: str, token: str = "") -> dict[str, Any]:
    """A run, once its turn is over: whoever follows its events hears of that."""
    status, said = ask(server, "GET", f"/api/runs/{run_id}/events", None, token)
    assert status == 200, said
    return ask(server, "GET", f"/api/runs/{run_id}", None, token)[1]


def application(demo: DemoServer, name: str) -> Any:
    """What the platform itself says of an application; None where there is none."""
    there = Request(f"{demo.url}/api/applications", headers={"authorization": f"Bearer {demo.token('admin')}"})
    with urlopen(there) as answer:
        return json.load(answer).get(name)
