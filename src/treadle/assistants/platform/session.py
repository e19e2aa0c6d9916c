"""The platform assistant as every face has it: its agent with the person's own token, who they are, and what comes with an answer.

The context of a conversation is `{"server": URL}`; without one it is about the platform that was settled.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, cast

import msgspec

from treadle import Caller, ContextNotFound, Host, Plan, RunContext, RunResult, ToolProblem, Toolset
from treadle.assistants.platform import requests
from treadle.assistants.platform.documents import open_documents
from treadle.assistants.platform.generate import Generated
from treadle.assistants.platform.generate import generate as generated
from treadle.assistants.platform.plan import plan as steps
from treadle.assistants.platform.prompts import told
from treadle.assistants.platform.said import last_question
from treadle.assistants.platform.score import PROVIDED, check, spec_in
from treadle.assistants.platform.server import Platform
from treadle.assistants.platform.settings import PlatformSettings, own_token, platform_settings
from treadle.assistants.platform.shapes import Json
from treadle.assistants.platform.sign_in import COOKIE, sign_ins
from treadle.assistants.platform.tools import PlatformTools

CREDENTIAL = "platform"  # the name of a person's token
PATIENCE = 5.0  # seconds for the platform to say who somebody is


def settings_for(host: Host) -> PlatformSettings:
    """What counts in a conversation. Who comes over HTTP can't have tokens sent to a platform that the operator doesn't name."""
    named = str(host.about.get("server", ""))
    settings = platform_settings(host, named)
    if named and host.headers and settings.server != platform_settings(host).server:
        raise ContextNotFound("This server asks another platform; leave `server` out of the context.")
    return settings


def token_of(host: Host) -> str:
    """Their token. Whoever shows anything at all is asked by that; only who shows nothing is the person whose machine it is.

    Where others come too, who shows nothing is nobody.
    """
    if "authorization" in host.headers:
        kind, _, token = host.headers["authorization"].partition(" ")
        return token.strip() if kind.lower() == "bearer" else ""
    server, cookies = settings_for(host).server, host.headers.get("cookie", "")
    signed_in = _cookie(cookies, COOKIE)
    if signed_in is not None:
        return sign_ins.token(signed_in, server, host.user)
    shown = _cookie(cookies, "session_id")
    return ("" if host.shared else own_token(server)) if shown is None else shown


def _cookie(header: str, name: str) -> str | None:
    pairs = [each.partition("=") for each in header.split(";")]
    return next((value.strip().strip('"') for key, _, value in pairs if key.strip() == name), None)


async def person(host: Host) -> Json:
    """Who they are on the platform; empty where it doesn't say, or nobody is signed in."""
    try:
        async with Platform(settings_for(host).server, token_of(host), timeout=PATIENCE) as platform:
            return await requests.user(platform)
    except ToolProblem:
        return {}


async def caller(host: Host) -> Caller:
    """On whose behalf it acts: who they are on the platform. One whom it doesn't name is known by their token alone."""
    token, user = token_of(host), await person(host)
    unnamed = f"token-{Platform(settings_for(host).server, token).mark}" if token else host.user
    return Caller(user.get("username", "") or unnamed, user, {CREDENTIAL: token} if token else {})


def configure(host: Host) -> Mapping[str, Any]:
    """What the model is told: who they are, and what the documents say of their question."""

    async def instructions(ctx: RunContext[Any]) -> str:
        known = cast("Json | None", ctx.deps)  # where their face has asked already on whose behalf it acts
        user = await person(host) if known is None else known
        async with open_documents(host, settings_for(host)) as documents:
            await documents.keep_fresh()
            passages = await documents.about(last_question(ctx.history))
        return told(user, passages, writes_specs=not is_other)

    is_other = bool(settings_for(host).openapi)
    return {"instructions": instructions, **({"lead": None} if is_other else {})}  # the plan knows the tools of innominatus alone


def toolsets(host: Host) -> Sequence[Toolset]:
    """The platform's tools, with their own token."""
    settings = settings_for(host)
    if settings.openapi:
        return (described_tools(settings, Path(host.settings.user_file).parent),)
    return (PlatformTools(Platform(settings.server, token_of(host)), settings),)


def described_tools(settings: PlatformSettings, folder: Path) -> Toolset:
    """The operations of an OpenAPI document, at the platform that was settled: nowhere else does a person's token go."""
    from treadle.web import openapi_tools  # most platforms are innominatus

    document = settings.openapi if "://" in settings.openapi else folder / Path(settings.openapi).expanduser()
    credentials = {"bearer": CREDENTIAL, "api_key": CREDENTIAL}
    return openapi_tools(document, name="platform", base_url=settings.server, private=True, credentials=credentials)


def plan(host: Host) -> Plan:
    """How a small model is led."""
    return steps


async def reply(host: Host, result: RunResult[Any]) -> dict[str, Any]:
    """What comes with an answer: the spec in it, what was found in that, and which documents the answer goes by."""
    spec, settings = spec_in(result.text), settings_for(host)
    async with open_documents(host, settings) as documents:
        found = await documents.about(last_question(result.history))
    return {
        "generated_spec": spec,
        "citations": tuple(dict.fromkeys([each.passage.source for each in found])),
        "findings": check(spec, {*PROVIDED, *settings.types}).findings if spec else (),
    }


async def generate(host: Host, description: str, metadata: Json | None = None) -> Generated:
    """A spec from a description."""
    settings = settings_for(host)
    async with open_documents(host, settings) as documents:
        await documents.keep_fresh()
        passages = tuple((await documents.about(description))[:2])
    facts = f"Facts: {msgspec.json.encode(metadata).decode()}" if metadata else ""
    return await generated(await host.model(), description, passages, settings.types, facts)
