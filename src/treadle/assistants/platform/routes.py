"""The platform assistant over HTTP: `/api/ai/…` as clients of the original know it, and what the panel needs besides.

Whoever asks does so with their own token: the request's, or, where it has none, that of the person who started the server.
"""

import time
from collections.abc import AsyncIterator
from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta, Struct
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.routing import BaseRoute

from treadle import Approval, Host, Message, Text, TreadleError
from treadle.assistants.platform.desk import Desk, Reply
from treadle.assistants.platform.documents import Documents
from treadle.assistants.platform.generate import Generated, NoSpec
from treadle.assistants.platform.score import PROVIDED, Finding, check
from treadle.assistants.platform.settled import PlatformSettings, own_token, settled
from treadle.routes import Decision, Events, get, post, routes_of, wants_events

LONGEST = 100_000  # characters of one message
MODEL = {502: "the model's server failed", 503: "there is no model; the sentence says what to do"}
RUNS = {404: "there is no such run of theirs", 409: "the run is under way, waits, or waits no more", **MODEL}
LONG = {413: f"more than {LONGEST:,} characters, or than is taken at once"}
EVENTS = "events, each a line of JSON; the last is a `reply` or an `error`"

# What is sent


class Earlier(Struct, frozen=True):
    """Something that was said before. `spec` is the one that was shown with it."""

    role: Literal["user", "assistant"]
    content: str
    spec: str | None = None
    timestamp: Any = None


class ChatAsked(Struct, frozen=True):
    """A question. `run_id` goes on with a conversation that is kept here; a history brings one along."""

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


class SpecDecision(Decision, frozen=True, kw_only=True):
    """What the person says about a call that waits; `digest` is of what they were shown."""


# What comes back


class PlatformReply(Struct, frozen=True):
    """An answer. Its first five fields are those that clients of the original know."""

    message: str
    generated_spec: str | None
    citations: tuple[str, ...]
    tokens_used: int
    timestamp: str
    run_id: str
    stopped: str
    approvals: tuple[Approval, ...]
    findings: tuple[Finding, ...]


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
        self._documents = Documents(settings, host.home.folder)
        host.at_end(self._documents.close)

    async def _desk(self, request: Request) -> Desk:
        await self._documents.keep_fresh()
        token = _token(request, "" if self._host.shared else own_token(self._settings.server))
        return Desk(self._host, self._settings, token, self._documents)

    @post("/api/ai/chat", errors={**LONG, **RUNS}, runs=True)
    async def chat(self, request: Request, body: ChatAsked) -> PlatformReply:
        """Ask the platform assistant."""
        history = [_message(each) for each in body.conversation_history]
        return as_reply(await (await self._desk(request)).ask(_message_of(body), run_id=body.run_id, history=history))

    @post("/api/ai/generate-spec", errors={**MODEL, 502: "the model failed, or wrote no spec"}, runs=True)
    async def generate(self, request: Request, body: SpecWanted) -> Generated:
        """Have a spec written."""
        if not body.description.strip():
            raise HTTPException(400, "Say in `description` what the spec is for.")
        try:
            return await (await self._desk(request)).generate(body.description, body.metadata)
        except NoSpec as error:
            raise HTTPException(502, str(error)) from error

    @get("/api/ai/status")
    async def status(self) -> PlatformStatus:
        """Whether the platform assistant can be used."""
        try:
            model, problem = (await self._host.model()).name, ""
        except TreadleError as error:
            model, problem = "", str(error)
        state = await self._documents.state()
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
        found = await (await self._desk(request)).user()
        return msgspec.convert({"server": self._settings.server, **found}, PlatformPerson)

    @post("/api/platform/chat", errors=LONG, runs=True, returns=EVENTS)
    async def stream(self, request: Request, body: ChatAsked) -> Events[dict[str, Any]]:
        """Ask the platform assistant, and see what happens."""
        return _told((await self._desk(request)).stream(_message_of(body), run_id=body.run_id))

    @post("/api/platform/validate")
    async def validate(self, body: SpecGiven) -> SpecChecked:
        """Look a spec over."""
        found = check(body.spec, {*PROVIDED, *self._settings.types})
        return SpecChecked(found.ok, found.findings)

    @post("/api/platform/deploy", errors=RUNS, runs=True, returns="what came of it, or what waits")
    async def deploy(self, request: Request, body: SpecGiven) -> PlatformReply:
        """Deploy a spec, once the person has approved what would change."""
        return as_reply(await (await self._desk(request)).deploy(body.spec))

    @post("/api/platform/approvals/{run_id}/{call_id}", errors=RUNS, runs=True, returns="how the run goes on")
    async def answer(
        self, request: Request, run_id: str, call_id: str, body: SpecDecision
    ) -> PlatformReply | Events[dict[str, Any]]:
        """Approve or deny a call that waits."""
        desk = await self._desk(request)
        if wants_events(request):
            return _told(desk.answering(run_id, call_id, body))
        return as_reply(await desk.answer(run_id, call_id, body))


def as_reply(reply: Reply) -> PlatformReply:
    """A reply as programs are told of it. Its time is written as clients of the original expect it."""
    told: dict[str, Any] = {
        **msgspec.structs.asdict(reply),
        "timestamp": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(reply.timestamp)),
    }
    return PlatformReply(**told)


async def _told(events: AsyncIterator[Any]) -> AsyncIterator[Any]:
    async for event in events:
        yield {"event": "reply", **msgspec.to_builtins(as_reply(event))} if isinstance(event, Reply) else event


def _message_of(asked: ChatAsked) -> str:
    if not asked.message.strip():
        raise HTTPException(400, "Say something in `message`.")
    if len(asked.message) > LONGEST:
        raise HTTPException(413, f"A message may have {LONGEST:,} characters at most.")
    return asked.message


def _message(earlier: Earlier) -> Message:
    shown = f"\n\nThe spec that was shown here:\n```yaml\n{earlier.spec}\n```" if earlier.spec else ""
    return Message("person" if earlier.role == "user" else "model", (Text(earlier.content + shown),))


def _token(request: Request, own: str) -> str:
    """Whoever shows anything at all is asked by that; only who shows nothing is the person who started the server.

    Where that has users, who shows nothing is nobody.
    """
    if "authorization" in request.headers:
        kind, _, token = request.headers["authorization"].partition(" ")
        return token.strip() if kind.lower() == "bearer" else ""
    return request.cookies.get("session_id", own)


def routes(host: Host) -> list[BaseRoute]:
    """The routes, for the platform that was settled."""
    return routes_of(Service(host, settled()))
