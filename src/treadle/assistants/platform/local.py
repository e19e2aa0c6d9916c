"""The assistant for whoever sits at this machine: what faces ask for that know nothing of platforms (`treadle ask -a platform`)."""

from collections.abc import Awaitable, Callable, Sequence
from typing import Any

from treadle import Host, RunContext, ToolProblem, Toolset
from treadle.assistants.platform import requests
from treadle.assistants.platform.documents import Documents
from treadle.assistants.platform.prompts import told
from treadle.assistants.platform.said import last_question
from treadle.assistants.platform.server import Platform
from treadle.assistants.platform.settings import PlatformSettings, own_token, platform_settings
from treadle.assistants.platform.shapes import Json
from treadle.assistants.platform.tools import PlatformTools


def local_tools(host: Host) -> Sequence[Toolset]:
    """Their tools, with their own token: on the platform that the run began on, where it is taken up again."""
    settings = platform_settings(host, host.about.get("server", ""))
    return (PlatformTools(_platform(host, settings), settings),)


def instructions_for(host: Host) -> Callable[[RunContext[Any]], Awaitable[str]]:
    """What the model is told: who they are, and what the documents say of their question."""

    async def instructions(ctx: RunContext[Any]) -> str:
        settings = platform_settings(host, host.about.get("server", ""))
        documents = Documents(settings, host.home.folder)
        try:
            await documents.refresh()
            return told(await _user(_platform(host, settings)), await documents.about(last_question(ctx.history)))
        finally:
            await documents.close()

    return instructions


def _platform(host: Host, settings: PlatformSettings) -> Platform:
    """Where the machine is shared, nobody acts with the token of whoever owns it."""
    return Platform(settings.server, "" if host.shared else own_token(settings.server))


async def _user(platform: Platform) -> Json:
    try:
        async with platform:
            return await requests.user(platform)
    except ToolProblem:
        return {}
