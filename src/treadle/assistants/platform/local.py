"""The assistant for whoever sits at this machine: what faces ask for that know nothing of platforms (`treadle ask -a platform`)."""

from collections.abc import Sequence
from typing import Any

from treadle import Host, RunContext, ToolProblem, Toolset, open_home
from treadle.assistants.platform import requests
from treadle.assistants.platform.documents import Documents
from treadle.assistants.platform.prompts import told
from treadle.assistants.platform.said import last_question
from treadle.assistants.platform.server import Platform
from treadle.assistants.platform.settled import PlatformSettings, own_token, settled
from treadle.assistants.platform.shapes import Json
from treadle.assistants.platform.tools import PlatformTools


def local_tools(host: Host) -> Sequence[Toolset]:
    """Their tools, with their own token: on the platform that the run began on, where it is taken up again."""
    settings = settled(host.about.get("server", ""))
    return (PlatformTools(_platform(settings), settings),)


async def local_instructions(ctx: RunContext[Any]) -> str:
    """What the model is told: who they are, and what the documents say of their question."""
    settings = settled()
    documents = Documents(settings, open_home().folder)
    try:
        await documents.refresh()
        return told(await _user(settings), await documents.about(last_question(ctx.history)))
    finally:
        await documents.close()


def _platform(settings: PlatformSettings) -> Platform:
    return Platform(settings.server, own_token(settings.server))


async def _user(settings: PlatformSettings) -> Json:
    try:
        async with _platform(settings) as platform:
            return await requests.user(platform)
    except ToolProblem:
        return {}
