"""The platform assistant over HTTP: `/api/ai/…` as clients of the original know it, and what the panel needs besides.

Whoever asks does so with their own token: the request's, or, where it has none, that of the person who started the server.
"""

from contextlib import AsyncExitStack
from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta, Struct
from msgspec.structs import replace
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.routing import BaseRoute

from treadle import AssistantSession, Host, Message, Text, TreadleError
from treadle.assistants.platform import assistant, session
from treadle.assistants.platform.dialogue import PlatformReply, chat
from treadle.assistants.platform.documents import Documents, open_documents
from treadle.assistants.platform.generate import Generated, NoSpec
from treadle.assistants.platform.score import PROVIDED, Finding, check
from treadle.assistants.platform.settings import PlatformSettings, platform_settings
from treadle.routes import get, post, routes_of

LONGEST = 100_000  # characters of one message
MODEL = {502: "the model's server failed", 503: "there is no model; the sentence says what to do"}
RUNS = {404: "there is no such run of theirs", 409: "the run is under way, waits, or waits no more", **MODEL}
LONG = {413: f"more than {LONGEST:,} characters, or than is taken at once"}

# What is sent


class Earlier(Struct, frozen=True):
    """Something that was said before. `spec` is the one that was shown with it."""

    role: Literal["user", "assistant"]
    content: str
    spec: str | None = None
    timestamp: Any = None


class ChatAsked(Struct, frozen=True):
    """A question, or a plain yes or no to what was asked. `run_id` goes on with a conversation that is kept here; a history brings
    one along.
    """

    message: Annotated[str, Meta(examples=["Which applications run?"])]
    conversation_history: tuple[Earlier, ...] = ()
    context: Any = None
    run_id: str | None = None


class SpecWanted(Struct, frozen=True):
    """What a spec is wanted for."""

    description: Annotated[str, Meta(examples=["A web application with a database"])]
    metadata: dict[str, Any] | None = None


class SpecGiven(Struct, frozen=True):
    """A spec."""

    spec: str


# What comes back


class PlatformStatus(Struct, frozen=True):
    """Whether it can be used, and what is missing."""

    enabled: bool
    llm_provider: str
    embedding_model: str
    documents_loaded: int
    status: Literal["ready", "not_configured"]
    message: str
    missing_keys: list[str]


class PlatformPerson(Struct, frozen=True, omit_defaults=True):
    """Which platform is asked, and who they are there. Nobody, where the platform names nobody."""

    server: str
    username: str = ""
    role: str = ""
    team: str = ""


class SpecChecked(Struct, frozen=True):
    """What is wrong or doubtful in a spec."""

    valid: bool
    findings: tuple[Finding, ...]


# The handlers


class Service:
    """The handlers. Documents are everybody's; the rest is whose token it is."""

    def __init__(self, host: Host, settings: PlatformSettings) -> None:
        self._host = host
        self._settings = settings
        self._found: Documents | None = None
        self._opened = AsyncExitStack()
        host.at_end(self._opened.aclose)

    async def _documents(self) -> Documents:
        """The documents, which stay open for as long as the server runs."""
        if self._found is None:
            self._found = await self._opened.enter_async_context(open_documents(self._host, self._settings))
        return self._found

    def _host_of(self, request: Request) -> Host:
        """The host, for whoever asks."""
        return replace(self._host, headers=dict(request.headers), about={"server": self._settings.server})

    @post("/api/ai/chat", errors={**LONG, **RUNS}, runs=True)
    async def chat(self, request: Request, body: ChatAsked) -> PlatformReply:
        """Ask the platform assistant, or answer what it asked with a plain yes or no."""
        message, history = _message_of(body), [_message(each) for each in body.conversation_history]
        await self._documents()
        return await chat(AssistantSession(assistant, self._host_of(request)), message, body.run_id or "", history)

    @post("/api/ai/generate-spec", errors={**MODEL, 502: "the model failed, or wrote no spec"}, runs=True)
    async def generate(self, request: Request, body: SpecWanted) -> Generated:
        """Have a spec written."""
        if not body.description.strip():
            raise HTTPException(400, "Say in `description` what the spec is for.")
        await self._documents()
        try:
            return await session.generate(self._host_of(request), body.description, body.metadata)
        except NoSpec as error:
            raise HTTPException(502, str(error)) from error

    @get("/api/ai/status")
    async def status(self) -> PlatformStatus:
        """Whether the platform assistant can be used."""
        try:
            model, problem = (await self._host.model()).name, ""
        except TreadleError as error:
            model, problem = "", str(error)
        state = await (await self._documents()).state()
        return PlatformStatus(
            enabled=not problem,
            llm_provider=model,
            embedding_model=state.embedder,
            documents_loaded=state.documents,
            status="not_configured" if problem else "ready",
            message=problem or "Ready.",
            missing_keys=["model"] if problem else [],
        )

    @get("/api/platform/me")
    async def me(self, request: Request) -> PlatformPerson:
        """Who asks, and which platform."""
        found = await session.person(self._host_of(request))
        return msgspec.convert({"server": self._settings.server, **found}, PlatformPerson)

    @post("/api/platform/validate")
    async def validate(self, body: SpecGiven) -> SpecChecked:
        """Look a spec over."""
        found = check(body.spec, {*PROVIDED, *self._settings.types})
        return SpecChecked(found.ok, found.findings)


def _message_of(asked: ChatAsked) -> str:
    if not asked.message.strip():
        raise HTTPException(400, "Say something in `message`.")
    if len(asked.message) > LONGEST:
        raise HTTPException(413, f"A message may have {LONGEST:,} characters at most.")
    return asked.message


def _message(earlier: Earlier) -> Message:
    shown = f"\n\nThe spec that was shown here:\n```yaml\n{earlier.spec}\n```" if earlier.spec else ""
    return Message("person" if earlier.role == "user" else "model", (Text(earlier.content + shown),))


def routes(host: Host) -> list[BaseRoute]:
    """The routes, for the platform that was settled."""
    return routes_of(Service(host, platform_settings(host)))
