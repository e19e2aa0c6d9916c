"""The platform assistant over HTTP: `/api/ai/…` as clients of the original know it, and what the panel needs besides.

Whoever asks does so with their own token: the request's, or, where it has none, that of the person who started the server.
"""

from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack
from typing import Annotated, Any, Literal, TypeVar

import msgspec
from msgspec import Meta, Struct
from msgspec.structs import replace
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute

from treadle import AssistantSession, Host, Message, Text, ToolProblem, TreadleError
from treadle.assistants.platform import assistant, requests, session
from treadle.assistants.platform.dialogue import PlatformReply, chat
from treadle.assistants.platform.documents import Documents, open_documents
from treadle.assistants.platform.generate import Generated, NoSpec
from treadle.assistants.platform.score import PROVIDED, Finding, check
from treadle.assistants.platform.server import Forbidden, Missing, Platform, PlatformProblem, SignedOut, TooMany
from treadle.assistants.platform.settings import PlatformSettings, platform_settings
from treadle.assistants.platform.sign_in import COOKIE, sign_ins, token_for, user_of
from treadle.routes import Returns, get, json_response, post, routes_of

T = TypeVar("T")

LONGEST = 100_000  # characters of one message
MODEL = {502: "the model's server failed", 503: "there is no model; the sentence says what to do"}
RUNS = {404: "there is no such run of theirs", 409: "the run is under way, waits, or waits no more", **MODEL}
LONG = {413: f"more than {LONGEST:,} characters, or than is taken at once"}

REFUSED = {403: "the platform refuses it", 404: "the platform has no such thing", 429: "too many requests, the platform says"}
ASKED = {401: "nobody is signed in to the platform", 502: "the platform didn't answer", **REFUSED}
STATUSES: dict[type[ToolProblem], int] = {SignedOut: 401, Forbidden: 403, Missing: 404, TooMany: 429}
SIGN_IN = {401: "the platform doesn't take them", 502: "the platform didn't answer", **REFUSED}

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


class WorkflowsAsked(Struct, frozen=True):
    """Which workflows are listed."""

    app: Annotated[str, Meta(max_length=200)] = ""
    status: Literal["", "running", "completed", "failed"] = ""


class SignInAsked(Struct, frozen=True):
    """A token, or a name and a password."""

    token: str = ""
    username: str = ""
    password: str = ""


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
    """Which platform is asked, and who they are there. Nobody, where the platform names nobody. `signed_in` is whether it was here
    that they signed in, and can sign out.
    """

    server: str
    username: str = ""
    role: str = ""
    team: str = ""
    signed_in: bool = False


class PlatformWorkflow(Struct, frozen=True, omit_defaults=True):
    """A workflow execution."""

    id: int
    application_name: str = ""
    workflow_name: str = ""
    status: str = ""
    started_at: str = ""
    completed_at: str = ""


class GoldenPath(Struct, frozen=True, omit_defaults=True):
    """A golden path, and what it wants to know, by name."""

    name: str
    description: str = ""
    parameters: dict[str, dict[str, Any]] = {}


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
        reply = await chat(AssistantSession(assistant, self._host_of(request)), message, body.run_id or "", history)
        if reply.stopped == "failed":
            raise HTTPException(502, reply.message)
        return reply

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
        documents = await self._documents()
        await documents.keep_fresh()
        state = await documents.state()
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
        return await self._person(request)

    async def _person(self, request: Request) -> PlatformPerson:
        found = await session.person(self._host_of(request))
        told = {"server": self._settings.server, "signed_in": COOKIE in request.cookies, **found}
        return msgspec.convert(told, PlatformPerson)

    @post("/api/platform/sign-in", errors=SIGN_IN)
    async def sign_in(self, request: Request, body: SignInAsked) -> Annotated[Response, Returns(body=PlatformPerson)]:
        """Sign in to the platform: with the cookie that comes back, everything is asked with that user's rights."""
        server = self._settings.server
        if not body.token.strip() and not (body.username and body.password):
            raise HTTPException(400, "Send a token, or a name and a password.")
        try:
            token = body.token.strip() or await token_for(server, body.username, body.password)
            found = {} if self._settings.openapi else await user_of(server, token)  # who asks for another platform nobody can tell
        except ToolProblem as error:
            raise HTTPException(_status_of(error), _reason_of(error)) from error
        sign_ins.end(request.cookies.get(COOKIE, ""))
        begun = sign_ins.begin(token, server, self._host.user)
        response = json_response(msgspec.convert({"server": server, "signed_in": True, **found}, PlatformPerson))
        response.set_cookie(COOKIE, begun, httponly=True, samesite="strict", secure=request.url.scheme == "https")
        return response

    @post("/api/platform/sign-out")
    async def sign_out(self, request: Request) -> Annotated[Response, Returns(204, "nothing")]:
        """Sign out of the platform: the token is forgotten."""
        sign_ins.end(request.cookies.get(COOKIE, ""))
        response = Response(status_code=204)
        response.delete_cookie(COOKIE, httponly=True, samesite="strict", secure=request.url.scheme == "https")
        return response

    @get("/api/platform/workflows", errors=ASKED)
    async def workflows(self, request: Request, query: WorkflowsAsked) -> list[PlatformWorkflow]:
        """The newest workflow executions that the person may see; those of an application, or in a state."""
        found, _ = await self._read(request, lambda platform: requests.workflows(platform, query.app, query.status))
        return msgspec.convert(found, list[PlatformWorkflow])

    @get("/api/platform/golden-paths", errors=ASKED)
    async def golden_paths(self, request: Request) -> list[GoldenPath]:
        """The golden paths of the platform."""
        return msgspec.convert(await self._read(request, requests.golden_paths), list[GoldenPath])

    async def _read(self, request: Request, read: Callable[[Platform], Awaitable[T]]) -> T:
        """What the platform tells the person who asks."""
        try:
            async with Platform(self._settings.server, session.token_of(self._host_of(request))) as platform:
                return await read(platform)
        except ToolProblem as error:
            raise HTTPException(_status_of(error), _reason_of(error)) from error

    @post("/api/platform/validate")
    async def validate(self, body: SpecGiven) -> SpecChecked:
        """Look a spec over."""
        found = check(body.spec, {*PROVIDED, *self._settings.types})
        return SpecChecked(found.ok, found.findings)


def _status_of(problem: ToolProblem) -> int:
    return next((status for kind, status in STATUSES.items() if isinstance(problem, kind)), 502)


def _reason_of(problem: ToolProblem) -> str:
    """A problem as a person reads it, without what a model is advised to do."""
    return problem.data["reason"] if isinstance(problem, PlatformProblem) else str(problem)


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
