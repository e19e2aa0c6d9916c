"""Session hooks of the platform assistant: its agent with the user's token, who they are, and what accompanies an answer.

The context of a conversation is `{"server": URL}`; without one it is about the configured platform.

On the page a user signs in with a token, or with a name and a password, for which the platform returns a token. Tokens are in this
process's memory only, each under the random id in its browser's HttpOnly cookie. They are in no file, journal or log, and expire
on sign-out, after hours without a request, and with the server.
"""

import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from secrets import token_urlsafe
from typing import Any, cast

import msgspec
from msgspec import Struct

from treadle import RunContext, RunResult, ToolProblem, Toolset
from treadle.assistant import Caller, ContextNotFound, Host
from treadle.assistants.platform import api_calls
from treadle.assistants.platform.client import PlatformClient, PlatformUnauthenticated
from treadle.assistants.platform.documents import open_documents
from treadle.assistants.platform.plan import plan_platform as steps
from treadle.assistants.platform.prompts import build_platform_instructions
from treadle.assistants.platform.responses import Json
from treadle.assistants.platform.score import PROVIDED, check_spec, find_spec
from treadle.assistants.platform.settings import PlatformSettings, load_own_token, resolve_platform_settings
from treadle.assistants.platform.spec_drafts import GeneratedSpec, find_last_question
from treadle.assistants.platform.spec_drafts import generate_spec as generated
from treadle.assistants.platform.tools import PlatformTools
from treadle.plans import Plan

COOKIE = "treadle_platform"
SIGN_IN_SECONDS = 12 * 3600.0  # seconds without a request
MAX_SIGN_INS = 10_000  # sign-ins that are kept
CREDENTIAL = "platform"  # the name of a person's token
USER_TIMEOUT = 5.0  # seconds for the platform to identify the user


class _SignIn(Struct):
    """A token, and its user and platform."""

    token: str
    server: str
    user: str
    until: float


class SignInStore:
    """Active sign-ins. A sign-in is valid for the Treadle user who made it, and for its platform."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._kept: dict[str, _SignIn] = {}  # in the order in which they end

    def begin(self, token: str, server: str, user: str) -> str:
        """Store a token; return its id."""
        now = self._clock()
        while self._kept and (len(self._kept) >= MAX_SIGN_INS or next(iter(self._kept.values())).until <= now):
            del self._kept[next(iter(self._kept))]
        sign_in = token_urlsafe(32)
        self._kept[sign_in] = _SignIn(token, server, user, now + SIGN_IN_SECONDS)
        return sign_in

    def token(self, sign_in: str, server: str, user: str) -> str:
        """Return the token of an id; empty if there is none."""
        found, now = self._kept.get(sign_in), self._clock()
        if found is None or found.until <= now or (found.server, found.user) != (server, user):
            return ""
        found.until = now + SIGN_IN_SECONDS
        self._kept[sign_in] = self._kept.pop(sign_in)
        return found.token

    def end(self, sign_in: str) -> None:
        """Delete a token."""
        self._kept.pop(sign_in, None)


sign_ins = SignInStore()


async def request_token(server: str, username: str, password: str) -> str:
    """Request a token for a name and a password; raises `PlatformUnauthenticated` if the platform rejects them."""
    async with PlatformClient(server) as platform:
        try:
            told = await platform.login(msgspec.json.encode({"username": username, "password": password}))
        except PlatformUnauthenticated:
            raise PlatformUnauthenticated("The platform doesn't take this name with this password.") from None
    token = cast("Json", told).get("token") if isinstance(told, dict) else None
    if not isinstance(token, str) or not token:
        raise ToolProblem("The platform gave no token for this name and password.")
    return token


async def fetch_token_user(server: str, token: str) -> Json:
    """Return the user of a token; raises `PlatformUnauthenticated` if the platform rejects it."""
    async with PlatformClient(server, token) as platform:
        return await api_calls.fetch_user(platform)


def load_platform_settings(host: Host) -> PlatformSettings:
    """Return the settings of a conversation. HTTP clients can't have tokens sent to a platform that the operator doesn't name."""
    named = str(host.about.get("server", ""))
    settings = resolve_platform_settings(host, named)
    if named and host.headers and settings.server != resolve_platform_settings(host).server:
        raise ContextNotFound("This server asks another platform; leave `server` out of the context.")
    return settings


def resolve_token(host: Host) -> str:
    """Return the user's token. A request with any credential uses that; only one without any uses the local user's token.

    On a server with several users, a request without a credential is anonymous.
    """
    if "authorization" in host.headers:
        kind, _, token = host.headers["authorization"].partition(" ")
        return token.strip() if kind.lower() == "bearer" else ""
    server, cookies = load_platform_settings(host).server, host.headers.get("cookie", "")
    signed_in = _read_cookie(cookies, COOKIE)
    if signed_in is not None:
        return sign_ins.token(signed_in, server, host.user)
    shown = _read_cookie(cookies, "session_id")
    return ("" if host.shared else load_own_token(server)) if shown is None else shown


def _read_cookie(header: str, name: str) -> str | None:
    pairs = [each.partition("=") for each in header.split(";")]
    return next((value.strip().strip('"') for key, _, value in pairs if key.strip() == name), None)


async def load_person(host: Host) -> Json:
    """Return who they are on the platform; empty if it doesn't say, or if they aren't signed in."""
    try:
        async with PlatformClient(load_platform_settings(host).server, resolve_token(host), timeout=USER_TIMEOUT) as platform:
            return await api_calls.fetch_user(platform)
    except ToolProblem:
        return {}


async def caller(host: Host) -> Caller:
    """Return on whose behalf the assistant acts. A user whom the platform doesn't name is identified by the token alone."""
    token, user = resolve_token(host), await load_person(host)
    unnamed = f"token-{PlatformClient(load_platform_settings(host).server, token).mark}" if token else host.user
    return Caller(user.get("username", "") or unnamed, user, {CREDENTIAL: token} if token else {})


def configure(host: Host) -> Mapping[str, Any]:
    """Return the instructions: who the user is, and the documents that match their question."""

    async def instructions(ctx: RunContext[Any]) -> str:
        known = cast("Json | None", ctx.deps)  # where their face has asked already on whose behalf it acts
        user = await load_person(host) if known is None else known
        async with open_documents(host, load_platform_settings(host)) as documents:
            await documents.keep_fresh()
            passages = await documents.about(find_last_question(ctx.history))
        return build_platform_instructions(user, passages, writes_specs=not is_other)

    is_other = bool(load_platform_settings(host).openapi)
    return {"instructions": instructions, **({"lead": None} if is_other else {})}  # the plan knows the tools of innominatus alone


def toolsets(host: Host) -> Sequence[Toolset]:
    """Return the platform's tools with the user's token."""
    settings = load_platform_settings(host)
    if settings.openapi:
        return (build_openapi_tools(settings, Path(host.settings.user_file).parent),)
    return (PlatformTools(PlatformClient(settings.server, resolve_token(host)), settings),)


def build_openapi_tools(settings: PlatformSettings, folder: Path) -> Toolset:
    """Return the operations of an OpenAPI document as tools, at the configured platform only: a token is sent nowhere else."""
    from treadle.toolsets import openapi_tools  # most platforms are innominatus

    document = settings.openapi if "://" in settings.openapi else folder / Path(settings.openapi).expanduser()
    credentials = {"bearer": CREDENTIAL, "api_key": CREDENTIAL}
    return openapi_tools(document, name="platform", base_url=settings.server, private=True, credentials=credentials)


def plan(host: Host) -> Plan:
    """Return the guided plan for small models."""
    return steps


async def reply(host: Host, result: RunResult[Any]) -> dict[str, Any]:
    """Return what accompanies an answer: the spec in it, its findings, and the documents it is based on."""
    spec, settings = find_spec(result.text), load_platform_settings(host)
    async with open_documents(host, settings) as documents:
        found = await documents.about(find_last_question(result.history))
    return {
        "generated_spec": spec,
        "citations": tuple(dict.fromkeys([each.passage.source for each in found])),
        "findings": check_spec(spec, {*PROVIDED, *settings.types}).findings if spec else (),
    }


async def generate_spec_for_host(host: Host, description: str, metadata: Json | None = None) -> GeneratedSpec:
    """Generate a spec from a description."""
    settings = load_platform_settings(host)
    async with open_documents(host, settings) as documents:
        await documents.keep_fresh()
        passages = tuple((await documents.about(description))[:2])
    facts = f"Facts: {msgspec.json.encode(metadata).decode()}" if metadata else ""
    return await generated(await host.model(), description, passages, settings.types, facts)
