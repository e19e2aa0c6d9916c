"""HTTP API of the platform assistant: `/api/ai/…` compatible with the original, and what the panel needs in addition.

Requests are made with the caller's own token: the request's or, if it has none, that of the user who started the
server.
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

from treadle import Message, Text, ToolProblem, TreadleError
from treadle.assistant import AssistantSession, Host
from treadle.assistants.platform import api_calls, assistant, session
from treadle.assistants.platform.client import (
    PlatformClient,
    PlatformForbidden,
    PlatformNotFound,
    PlatformProblem,
    PlatformRateLimited,
    PlatformUnauthenticated,
)
from treadle.assistants.platform.dialogue import PlatformReply, answer_chat
from treadle.assistants.platform.documents import PlatformDocuments, open_documents
from treadle.assistants.platform.score import PROVIDED, SpecFinding, check_spec
from treadle.assistants.platform.session import COOKIE, fetch_token_user, request_token, sign_ins
from treadle.assistants.platform.settings import PlatformSettings, resolve_platform_settings
from treadle.assistants.platform.spec_drafts import GeneratedSpec, NoSpecGenerated
from treadle.routes import Returns, get, json_response, post, routes_of

T = TypeVar("T")

MAX_MESSAGE_CHARS = 100_000  # characters of one message
MODEL = {502: "the model's server failed", 503: "there is no model; the sentence says what to do"}
RUNS = {404: "there is no such run of theirs", 409: "the run is under way, waits, or waits no more", **MODEL}
LONG = {413: f"more than {MAX_MESSAGE_CHARS:,} characters, or than is taken at once"}

REFUSED = {403: "the platform refuses it", 404: "the platform has no such thing", 429: "too many requests, the platform says"}
ASKED = {401: "no user is signed in to the platform", 502: "the platform didn't answer", **REFUSED}
STATUSES: dict[type[ToolProblem], int] = {
    PlatformUnauthenticated: 401,
    PlatformForbidden: 403,
    PlatformNotFound: 404,
    PlatformRateLimited: 429,
}
SIGN_IN = {401: "the platform doesn't take them", 502: "the platform didn't answer", **REFUSED}

# What is sent


class ChatHistoryMessage(Struct, frozen=True):
    """An earlier message. `spec` is the one shown with it."""

    role: Literal["user", "assistant"]
    content: str
    spec: str | None = None
    timestamp: Any = None


class PlatformChatRequest(Struct, frozen=True):
    """A question, or a plain yes or no to a pending approval.

    `run_id` continues a conversation that is stored here; a history brings one along.
    """

    message: Annotated[str, Meta(examples=["Which applications run?"])]
    conversation_history: tuple[ChatHistoryMessage, ...] = ()
    context: Any = None
    run_id: str | None = None


class GenerateSpecRequest(Struct, frozen=True):
    """Description of the spec to generate."""

    description: Annotated[str, Meta(examples=["A web application with a database"])]
    metadata: dict[str, Any] | None = None


class ValidateSpecRequest(Struct, frozen=True):
    """A spec."""

    spec: str


class WorkflowsQuery(Struct, frozen=True):
    """Filter for the list of workflows."""

    app: Annotated[str, Meta(max_length=200)] = ""
    status: Literal["", "running", "completed", "failed"] = ""


class SignInRequest(Struct, frozen=True):
    """A token, or a name and a password."""

    token: str = ""
    username: str = ""
    password: str = ""


# What comes back


class PlatformStatus(Struct, frozen=True):
    """Whether the assistant is available, and what is missing."""

    enabled: bool
    llm_provider: str
    embedding_model: str
    documents_loaded: int
    status: Literal["ready", "not_configured"]
    message: str
    missing_keys: list[str]


class PlatformUserView(Struct, frozen=True, omit_defaults=True):
    """The platform, and the user there; empty if the platform names none.

    `signed_in` is whether they signed in on this page, and can sign out.
    """

    server: str
    username: str = ""
    role: str = ""
    team: str = ""
    signed_in: bool = False


class WorkflowView(Struct, frozen=True, omit_defaults=True):
    """A workflow execution."""

    id: int
    application_name: str = ""
    workflow_name: str = ""
    status: str = ""
    started_at: str = ""
    completed_at: str = ""


class GoldenPathView(Struct, frozen=True, omit_defaults=True):
    """A golden path and its parameters by name."""

    name: str
    description: str = ""
    parameters: dict[str, dict[str, Any]] = {}


class SpecValidation(Struct, frozen=True):
    """Errors and warnings of a spec."""

    valid: bool
    findings: tuple[SpecFinding, ...]


# The handlers


class PlatformApi:
    """HTTP handlers of the platform assistant. Documents are shared; everything else depends on the token."""

    def __init__(self, host: Host, settings: PlatformSettings) -> None:
        self._host = host
        self._settings = settings
        self._found: PlatformDocuments | None = None
        self._opened = AsyncExitStack()
        host.on_close(self._opened.aclose)

    async def _documents(self) -> PlatformDocuments:
        """Return the documents, which stay open for as long as the server runs."""
        if self._found is None:
            self._found = await self._opened.enter_async_context(open_documents(self._host, self._settings))
        return self._found

    def _host_for(self, request: Request) -> Host:
        """Return the host for the caller."""
        return replace(self._host, headers=dict(request.headers), about={"server": self._settings.server})

    @post("/api/ai/chat", errors={**LONG, **RUNS}, runs=True)
    async def chat(self, request: Request, body: PlatformChatRequest) -> PlatformReply:
        """Ask the platform assistant, or answer its approval request with a plain yes or no."""
        message, history = _require_message(body), [_to_message(each) for each in body.conversation_history]
        await self._documents()
        reply = await answer_chat(AssistantSession(assistant, self._host_for(request)), message, body.run_id or "", history)
        if reply.stopped == "failed":
            raise HTTPException(502, reply.message)
        return reply

    @post("/api/ai/generate-spec", errors={**MODEL, 502: "the model failed, or wrote no spec"}, runs=True)
    async def generate(self, request: Request, body: GenerateSpecRequest) -> GeneratedSpec:
        """Generate a spec."""
        if not body.description.strip():
            raise HTTPException(400, "Say in `description` what the spec is for.")
        await self._documents()
        try:
            return await session.generate_spec_for_host(self._host_for(request), body.description, body.metadata)
        except NoSpecGenerated as error:
            raise HTTPException(502, str(error)) from error

    @get("/api/ai/status")
    async def status(self) -> PlatformStatus:
        """Return whether the platform assistant is available."""
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
    async def me(self, request: Request) -> PlatformUserView:
        """Return the current user and the platform."""
        return await self._person(request)

    async def _person(self, request: Request) -> PlatformUserView:
        found = await session.load_person(self._host_for(request))
        told = {"server": self._settings.server, "signed_in": COOKIE in request.cookies, **found}
        return msgspec.convert(told, PlatformUserView)

    @post("/api/platform/sign-in", errors=SIGN_IN)
    async def sign_in(self, request: Request, body: SignInRequest) -> Annotated[Response, Returns(body=PlatformUserView)]:
        """Sign in to the platform: with the returned cookie, requests use that user's rights."""
        server = self._settings.server
        if not body.token.strip() and not (body.username and body.password):
            raise HTTPException(400, "Send a token, or a name and a password.")
        try:
            token = body.token.strip() or await request_token(server, body.username, body.password)
            found = (
                {} if self._settings.openapi else await fetch_token_user(server, token)
            )  # which user asks for another platform can't be determined
        except ToolProblem as error:
            raise HTTPException(_http_status(error), _user_reason(error)) from error
        sign_ins.end(request.cookies.get(COOKIE, ""))
        begun = sign_ins.begin(token, server, self._host.user)
        response = json_response(msgspec.convert({"server": server, "signed_in": True, **found}, PlatformUserView))
        response.set_cookie(COOKIE, begun, httponly=True, samesite="strict", secure=request.url.scheme == "https")
        return response

    @post("/api/platform/sign-out")
    async def sign_out(self, request: Request) -> Annotated[Response, Returns(204, "nothing")]:
        """Sign out of the platform: the token is deleted."""
        sign_ins.end(request.cookies.get(COOKIE, ""))
        response = Response(status_code=204)
        response.delete_cookie(COOKIE, httponly=True, samesite="strict", secure=request.url.scheme == "https")
        return response

    @get("/api/platform/workflows", errors=ASKED)
    async def workflows(self, request: Request, query: WorkflowsQuery) -> list[WorkflowView]:
        """List the newest workflow executions that the user may see, optionally of an application or with a status."""
        found, _ = await self._read(request, lambda platform: api_calls.fetch_workflows(platform, query.app, query.status))
        return msgspec.convert(found, list[WorkflowView])

    @get("/api/platform/golden-paths", errors=ASKED)
    async def golden_paths(self, request: Request) -> list[GoldenPathView]:
        """List the golden paths of the platform."""
        return msgspec.convert(await self._read(request, api_calls.fetch_golden_paths), list[GoldenPathView])

    async def _read(self, request: Request, read: Callable[[PlatformClient], Awaitable[T]]) -> T:
        """Call the platform with the caller's token."""
        try:
            async with PlatformClient(self._settings.server, session.resolve_token(self._host_for(request))) as platform:
                return await read(platform)
        except ToolProblem as error:
            raise HTTPException(_http_status(error), _user_reason(error)) from error

    @post("/api/platform/validate")
    async def validate(self, body: ValidateSpecRequest) -> SpecValidation:
        """Validate a spec."""
        found = check_spec(body.spec, {*PROVIDED, *self._settings.types})
        return SpecValidation(found.ok, found.findings)


def _http_status(problem: ToolProblem) -> int:
    return next((status for kind, status in STATUSES.items() if isinstance(problem, kind)), 502)


def _user_reason(problem: ToolProblem) -> str:
    """Return a problem for the user, without the advice for the model."""
    return problem.data["reason"] if isinstance(problem, PlatformProblem) else str(problem)


def _require_message(asked: PlatformChatRequest) -> str:
    if not asked.message.strip():
        raise HTTPException(400, "Say something in `message`.")
    if len(asked.message) > MAX_MESSAGE_CHARS:
        raise HTTPException(413, f"A message may have {MAX_MESSAGE_CHARS:,} characters at most.")
    return asked.message


def _to_message(earlier: ChatHistoryMessage) -> Message:
    shown = f"\n\nThe spec that was shown here:\n```yaml\n{earlier.spec}\n```" if earlier.spec else ""
    return Message("person" if earlier.role == "user" else "model", (Text(earlier.content + shown),))


def routes(host: Host) -> list[BaseRoute]:
    """Build the routes for the configured platform."""
    return routes_of(PlatformApi(host, resolve_platform_settings(host)))
