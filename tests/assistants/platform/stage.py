"""What the platform assistant's tests act on: the demo platform, a person's tools, a script for the model."""

import asyncio
from pathlib import Path

from treadle import Agent, RunResult, Scripted, open_home
from treadle.assistants.platform import assistant
from treadle.assistants.platform.demo import Running
from treadle.assistants.platform.server import Platform
from treadle.assistants.platform.settings import PlatformSettings
from treadle.assistants.platform.tools import PlatformTools
from treadle.testing import calls

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


def agent(demo: Running, model, who: str = "alice", *, token: str | None = None, **settings) -> Agent:
    platform = Platform(demo.url, demo.token(who) if token is None else token)
    tools = PlatformTools(platform, PlatformSettings(server=demo.url, **settings))
    return Agent(model, name="platform", toolsets=[tools], policy=assistant.policy, limits=assistant.limits)


def told(demo: Running, *asked, who: str = "alice", **how) -> list[str]:
    """What a model is told of these calls."""
    result = asyncio.run(agent(demo, Scripted(calls(*asked), "So."), who, **how).run("Go."))
    return [record.result.content for record in result.calls]


def kept(folder: Path):
    return open_home(folder).services()


def approved(
    demo: Running, folder: Path, *replies, say: str = "Go.", who: str = "alice", yes: bool = True
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
