"""HTTP API of the guidance assistant: the routes of the original API that guidance needs. Its panel uses `/api/runs`.

Errors are `{"detail": …}`, as clients of the original API expect. Every request acts for the host's user.
"""

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, suppress
from typing import TYPE_CHECKING, Any, TypeVar

import msgspec
from msgspec.structs import replace
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute

from treadle import Message, TreadleError
from treadle.assistant import AssistantSession, ContextNotFound, Host
from treadle.assistants.guidance import assistant
from treadle.assistants.guidance.architect import AUTHOR, AnswerCancelled, NoMessageToAnswer, answer_last_message, stream_answer
from treadle.assistants.guidance.bodies import (
    ChatMessageView,
    ConflictDetail,
    ErrorDetail,
    GuidanceRequest,
    NewChatMessage,
    NewChatSession,
    NewProject,
    PreflightRequest,
    ProblemSpecUpdate,
    ProjectUpdate,
    WorkflowState,
    WorldModelUpdate,
)
from treadle.assistants.guidance.preflight import Preflight, run_preflight
from treadle.assistants.guidance.project_runs import RunNotReady
from treadle.assistants.guidance.projects import delete_project, load_project_state, open_projects, project_user_of
from treadle.assistants.guidance.prompts import NO_QUESTION
from treadle.assistants.guidance.run_routes import ProjectRunsApi
from treadle.assistants.guidance.session import GuidanceReply, recover_answers, reply_without_model, to_history
from treadle.assistants.guidance.stages import progress_of, project_state_to_json
from treadle.assistants.guidance.store.errors import InvalidValue, ItemNotFound, NotProjectOwner, ReadOnlyProject, VersionConflict
from treadle.assistants.guidance.store.values import (
    ChatMessage,
    ChatSession,
    ProblemSpec,
    Project,
    Provenance,
    WorldModel,
)
from treadle.assistants.guidance.tools import MAX_MESSAGES
from treadle.errors import ModelError, RunNotFound, UnknownModel
from treadle.routes import Created, Events, delete, get, json_response, post, put, routes_of

if TYPE_CHECKING:
    from treadle.assistants.guidance.store.store import Store

Value = TypeVar("Value", ProblemSpec, WorldModel)

STATUSES: tuple[tuple[type[TreadleError], int], ...] = (
    (ItemNotFound, 404),
    (RunNotFound, 404),
    (ContextNotFound, 404),
    (NotProjectOwner, 403),
    (ReadOnlyProject, 403),
    (VersionConflict, 409),
    (InvalidValue, 422),
    (NoMessageToAnswer, 400),
    (AnswerCancelled, 409),
    (RunNotReady, 409),
    (UnknownModel, 503),
    (ModelError, 503),
    (TreadleError, 500),
)


NOT_FOUND_ERRORS = {404: "there is nothing by that name that they may see"}
INVALID_ERRORS = {422: "it can't be kept like that"}
CONFLICT_ERRORS = {409: ("another user was first", ConflictDetail)}


class GuidanceApi:
    """The request handlers, for one user."""

    def __init__(self, host: Host) -> None:
        self._host = host
        self._user = project_user_of(host)
        self._found: Store | None = None
        self._opened = AsyncExitStack()
        host.on_close(self._opened.aclose)

    async def store(self) -> "Store":
        """Return the project store, which stays open for as long as the server runs."""
        if self._found is None:
            self._found = await self._opened.enter_async_context(open_projects(self._host))
        return self._found

    @get("/projects", returns="the projects")
    async def projects(self) -> list[Project]:
        """List the user's projects."""
        return await (await self.store()).list_projects(self._user)

    @post("/projects", errors=INVALID_ERRORS, returns="the project")
    async def begin(self, body: NewProject) -> Created[Project]:
        """Create a project."""
        store = await self.store()
        project = await store.create_project(self._user, body.title, body.description)
        await store.create_chat_session(self._user, project.id, "Main Chat")
        return project

    @get("/projects/{project_id}", errors=NOT_FOUND_ERRORS, returns="the project")
    async def project(self, project_id: str) -> Project:
        """Get a project."""
        return await (await self.store()).get_project(self._user, project_id)

    @put("/projects/{project_id}", errors={**NOT_FOUND_ERRORS, **CONFLICT_ERRORS, **INVALID_ERRORS}, returns="the project")
    async def rename(self, project_id: str, body: ProjectUpdate) -> Project:
        """Rename a project."""
        store = await self.store()
        return await store.update_project(
            self._user, project_id, expected=body.version, title=body.title, description=body.description
        )

    @delete("/projects/{project_id}", errors=NOT_FOUND_ERRORS, returns="it is gone")
    async def remove(self, project_id: str) -> None:
        """Delete a project with everything in it, and the runs about it."""
        await delete_project(self._host, await self.store(), project_id)

    @get("/projects/{project_id}/problem-spec", errors=NOT_FOUND_ERRORS, returns="the problem spec")
    async def problem_spec(self, project_id: str) -> ProblemSpec:
        """Get the problem spec of a project."""
        return _require(await (await self.store()).get_problem_spec(self._user, project_id), "problem spec")

    @put(
        "/projects/{project_id}/problem-spec",
        errors={**NOT_FOUND_ERRORS, **CONFLICT_ERRORS, **INVALID_ERRORS},
        returns="the problem spec",
    )
    async def put_problem_spec(self, project_id: str, body: ProblemSpecUpdate) -> ProblemSpec:
        """Replace the problem spec of a project."""
        store = await self.store()
        spec = _merge_update(await store.get_problem_spec(self._user, project_id) or ProblemSpec(), body)
        why = Provenance("spec_change", "edited by hand", actor="user", source="page")
        return await store.put_problem_spec(self._user, project_id, spec, expected=body.version, why=why)

    @get("/projects/{project_id}/world-model", errors=NOT_FOUND_ERRORS, returns="the world model")
    async def world_model(self, project_id: str) -> WorldModel:
        """Get the world model of a project."""
        return _require(await (await self.store()).get_world_model(self._user, project_id), "world model")

    @put(
        "/projects/{project_id}/world-model",
        errors={**NOT_FOUND_ERRORS, **CONFLICT_ERRORS, **INVALID_ERRORS},
        returns="the world model",
    )
    async def put_world_model(self, project_id: str, body: WorldModelUpdate) -> WorldModel:
        """Replace the world model of a project."""
        store = await self.store()
        world = _merge_update(await store.get_world_model(self._user, project_id) or WorldModel(), body)
        why = Provenance("world_model_change", "edited by hand", actor="user", source="page")
        return await store.put_world_model(self._user, project_id, world, expected=body.version, why=why)

    @get("/projects/{project_id}/workflow-state", errors=NOT_FOUND_ERRORS)
    async def workflow_state(self, project_id: str) -> WorkflowState:
        """Get the workflow state of a project."""
        state = await load_project_state(await self.store(), self._user, project_id)
        return WorkflowState(**project_state_to_json(state), workflow_progress=progress_of(state))

    @get("/projects/{project_id}/provenance", errors=NOT_FOUND_ERRORS, returns="the changes")
    async def provenance(self, project_id: str) -> list[Provenance]:
        """List who changed what in a project, and why."""
        return await (await self.store()).list_provenance(self._user, project_id)

    @post("/projects/{project_id}/runs/preflight", errors=NOT_FOUND_ERRORS, returns="what was found")
    async def preflight(self, project_id: str, body: PreflightRequest) -> Preflight:
        """Check whether a run could start."""
        state = await load_project_state(await self.store(), self._user, project_id)
        return run_preflight(state, body.mode, body.parameters)

    @get("/projects/{project_id}/chat-sessions", errors=NOT_FOUND_ERRORS, returns="the conversations")
    async def sessions(self, project_id: str) -> list[ChatSession]:
        """List the conversations about a project."""
        return await (await self.store()).list_chat_sessions(self._user, project_id)

    @post("/chat-sessions", errors={**NOT_FOUND_ERRORS, **INVALID_ERRORS}, returns="the conversation")
    async def begin_session(self, body: NewChatSession) -> Created[ChatSession]:
        """Start a conversation."""
        return await (await self.store()).create_chat_session(self._user, body.project_id, body.title, body.mode)

    @get("/chat-sessions/{session_id}/messages", errors=NOT_FOUND_ERRORS, returns="the messages")
    async def messages(self, session_id: str) -> list[ChatMessageView]:
        """List the messages of a conversation."""
        store = await self.store()
        await recover_answers(self._host, store, session_id)
        return [_to_message_view(each) for each in await store.list_messages(self._user, session_id)]

    @post("/chat-sessions/{session_id}/messages", errors={**NOT_FOUND_ERRORS, **INVALID_ERRORS}, returns="the message")
    async def add_message(self, session_id: str, body: NewChatMessage) -> Created[ChatMessageView]:
        """Add a message."""
        store = await self.store()
        metadata = {**body.message_metadata, AUTHOR: self._user}
        return _to_message_view(await store.add_message(self._user, session_id, body.role, body.content, metadata))

    @post("/chat-sessions/{session_id}/guidance", errors=NOT_FOUND_ERRORS, runs=True, returns="the answer")
    async def guidance(self, session_id: str, body: GuidanceRequest) -> GuidanceReply:
        """Get guidance that isn't stored as a message."""
        store = await self.store()
        session = await store.get_chat_session(self._user, session_id)
        most = min(max(body.message_limit, 0), MAX_MESSAGES)
        before = await store.list_messages(self._user, session.id, most + 1)
        if before and (before[-1].role, before[-1].content) == ("user", body.user_query):
            before = before[:-1]  # it is the question itself
        context = {"project_id": session.project_id, "session_id": session.id, "kept": False}
        mine = AssistantSession(assistant, self._host, context)
        return await self._ask_for_guidance(mine, body.user_query, to_history(before, most))

    async def _ask_for_guidance(self, session: AssistantSession, query: str, history: Sequence[Message]) -> GuidanceReply:
        try:
            model = await self._host.model()
        except (UnknownModel, ModelError) as error:
            state = await load_project_state(await self.store(), self._user, session.host.about["project_id"])
            return reply_without_model(state, query, str(error))
        return (await session.run(query or NO_QUESTION, history=history, model=model)).data

    @post(
        "/chat-sessions/{session_id}/architect-reply",
        errors={**NOT_FOUND_ERRORS, 400: "nothing has been said yet", 409: "the answer was stopped"},
        runs=True,
        returns="the answer, as it is kept",
    )
    async def architect_reply(self, session_id: str) -> ChatMessageView:
        """Answer the last message."""
        return _to_message_view(await answer_last_message(self._host, await self.store(), session_id))

    @post("/chat-sessions/{session_id}/architect-reply-stream", errors=NOT_FOUND_ERRORS, runs=True)
    async def architect_reply_stream(self, session_id: str) -> Events[dict[str, Any]]:
        """Answer the last message, as a stream."""
        store = await self.store()
        await store.get_chat_session(self._user, session_id)
        return _to_original_events(stream_answer(self._host, store, session_id))


async def _to_original_events(events: AsyncIterator[Any]) -> AsyncIterator[Any]:
    async for event in events:
        if isinstance(event, ChatMessage):
            yield {"type": "done", "message": _to_message_view(event)}
            continue
        match type(event).__name__:
            case "TextArrived":
                yield {"type": "chunk", "content": event.text}
            case "CallStarted" if event.call.name.startswith("change_"):
                yield {"type": "updating", "what": event.call.name.removeprefix("change_")}
            case "CallReturned" if event.result.name.startswith("change_") and event.result.problem is None:
                yield {"type": "updated", "what": event.result.name.removeprefix("change_")}
            case _:
                pass


def _to_message_view(message: ChatMessage) -> ChatMessageView:
    said = msgspec.structs.asdict(message)
    return ChatMessageView(message_metadata=said.pop("metadata"), **said)


def _merge_update(there: Value, given: ProblemSpecUpdate | WorldModelUpdate) -> Value:
    """Return the stored value with the given fields replaced."""
    fields = {name: value for name, value in msgspec.structs.asdict(given).items() if name not in ("version", "updated_at")}
    return replace(there, **{name: value for name, value in fields.items() if value is not msgspec.UNSET})


def _require(value: Value | None, what: str) -> Value:
    if value is None:
        raise HTTPException(404, f"The project has no {what} yet.")
    return value


def _on_error(request: Request, error: Exception) -> Response | None:
    """Map errors to the responses that clients of the original API expect."""
    if isinstance(error, HTTPException):
        return json_response(ErrorDetail(error.detail), error.status_code)
    if not isinstance(error, TreadleError):
        return None
    status = next(number for kind, number in STATUSES if isinstance(error, kind))
    current = getattr(error, "current", None)
    more = {} if current is None else {"current": current}
    return json_response({"detail": str(error), **more}, status)


def routes(host: Host) -> list[BaseRoute]:
    """Return the routes, at the paths of the original API."""
    service = GuidanceApi(host)
    runs = ProjectRunsApi(host, service.store)
    with suppress(RuntimeError):  # it isn't served yet; the first request that lists the runs of a project then takes them up
        asyncio.get_running_loop().call_soon(runs.take_up)
    return routes_of(service, runs, on_error=_on_error, problem=ErrorDetail)
