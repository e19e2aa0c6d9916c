"""The guidance assistant over HTTP: the routes of the original that guidance touches. Its panel asks at `/api/runs`.

What goes wrong is `{"detail": …}`, as clients of the original know it. Every request acts for the person whose server this is.
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

from treadle import AssistantSession, ContextNotFound, Host, Message, ModelError, RunNotFound, TreadleError, UnknownModel
from treadle.assistants.guidance import assistant
from treadle.assistants.guidance.architect import AUTHOR, AnswerCancelled, NothingSaid, reply, stream_reply
from treadle.assistants.guidance.bodies import (
    Detail,
    GuidanceAsked,
    MessageTold,
    NewMessage,
    NewProject,
    NewSession,
    Outdated,
    PutSpec,
    PutWorld,
    Renamed,
    RunWanted,
    WorkflowState,
)
from treadle.assistants.guidance.preflight import Preflight, preflight
from treadle.assistants.guidance.project_runs import NotReady
from treadle.assistants.guidance.projects import delete_project, open_projects, state_of, user_of
from treadle.assistants.guidance.prompts import NO_QUESTION
from treadle.assistants.guidance.run_routes import RunsApi
from treadle.assistants.guidance.session import Guided, guided_without_model, history_of, recover
from treadle.assistants.guidance.stages import progress_of, told
from treadle.assistants.guidance.store.errors import BadValue, ChangedMeanwhile, NotThere, NotYours
from treadle.assistants.guidance.store.values import (
    ChatMessage,
    ChatSession,
    ProblemSpec,
    Project,
    Provenance,
    WorldModel,
)
from treadle.assistants.guidance.tools import MOST_MESSAGES
from treadle.routes import Created, Events, delete, get, json_response, post, put, routes_of

if TYPE_CHECKING:
    from treadle.assistants.guidance.store.store import Store

Value = TypeVar("Value", ProblemSpec, WorldModel)

STATUSES: tuple[tuple[type[TreadleError], int], ...] = (
    (NotThere, 404),
    (RunNotFound, 404),
    (ContextNotFound, 404),
    (NotYours, 403),
    (ChangedMeanwhile, 409),
    (BadValue, 422),
    (NothingSaid, 400),
    (AnswerCancelled, 409),
    (NotReady, 409),
    (UnknownModel, 503),
    (ModelError, 503),
    (TreadleError, 500),
)


GONE = {404: "there is nothing by that name that they may see"}
UNFIT = {422: "it can't be kept like that"}
CHANGED = {409: ("somebody else was first", Outdated)}


class Service:
    """The handlers, for one person."""

    def __init__(self, host: Host) -> None:
        self._host = host
        self._user = user_of(host)
        self._found: Store | None = None
        self._opened = AsyncExitStack()
        host.at_end(self._opened.aclose)

    async def store(self) -> "Store":
        """The projects, which stay open for as long as the server runs."""
        if self._found is None:
            self._found = await self._opened.enter_async_context(open_projects(self._host))
        return self._found

    @get("/projects", returns="the projects")
    async def projects(self) -> list[Project]:
        """The person's projects."""
        return await (await self.store()).list_projects(self._user)

    @post("/projects", errors=UNFIT, returns="the project")
    async def begin(self, body: NewProject) -> Created[Project]:
        """Begin a project."""
        store = await self.store()
        project = await store.create_project(self._user, body.title, body.description)
        await store.create_chat_session(self._user, project.id, "Main Chat")
        return project

    @get("/projects/{project_id}", errors=GONE, returns="the project")
    async def project(self, project_id: str) -> Project:
        """A project."""
        return await (await self.store()).get_project(self._user, project_id)

    @put("/projects/{project_id}", errors={**GONE, **CHANGED, **UNFIT}, returns="the project")
    async def rename(self, project_id: str, body: Renamed) -> Project:
        """Rename a project."""
        store = await self.store()
        return await store.update_project(
            self._user, project_id, expected=body.version, title=body.title, description=body.description
        )

    @delete("/projects/{project_id}", errors=GONE, returns="it is gone")
    async def remove(self, project_id: str) -> None:
        """Delete a project with all that is in it, and the runs that were about it."""
        await delete_project(self._host, await self.store(), project_id)

    @get("/projects/{project_id}/problem-spec", errors=GONE, returns="the problem spec")
    async def problem_spec(self, project_id: str) -> ProblemSpec:
        """What a project is to solve."""
        return _found(await (await self.store()).get_problem_spec(self._user, project_id), "problem spec")

    @put("/projects/{project_id}/problem-spec", errors={**GONE, **CHANGED, **UNFIT}, returns="the problem spec")
    async def put_problem_spec(self, project_id: str, body: PutSpec) -> ProblemSpec:
        """Change what a project is to solve."""
        store = await self.store()
        spec = _put(await store.get_problem_spec(self._user, project_id) or ProblemSpec(), body)
        why = Provenance("spec_change", "edited by hand", actor="user", source="page")
        return await store.put_problem_spec(self._user, project_id, spec, expected=body.version, why=why)

    @get("/projects/{project_id}/world-model", errors=GONE, returns="the world model")
    async def world_model(self, project_id: str) -> WorldModel:
        """The world that a project is about."""
        return _found(await (await self.store()).get_world_model(self._user, project_id), "world model")

    @put("/projects/{project_id}/world-model", errors={**GONE, **CHANGED, **UNFIT}, returns="the world model")
    async def put_world_model(self, project_id: str, body: PutWorld) -> WorldModel:
        """Change the world that a project is about."""
        store = await self.store()
        world = _put(await store.get_world_model(self._user, project_id) or WorldModel(), body)
        why = Provenance("world_model_change", "edited by hand", actor="user", source="page")
        return await store.put_world_model(self._user, project_id, world, expected=body.version, why=why)

    @get("/projects/{project_id}/workflow-state", errors=GONE)
    async def workflow_state(self, project_id: str) -> WorkflowState:
        """How far a project is."""
        state = await state_of(await self.store(), self._user, project_id)
        return WorkflowState(**told(state), workflow_progress=progress_of(state))

    @get("/projects/{project_id}/provenance", errors=GONE, returns="the changes")
    async def provenance(self, project_id: str) -> list[Provenance]:
        """Who changed what in a project, and why."""
        return await (await self.store()).list_provenance(self._user, project_id)

    @post("/projects/{project_id}/runs/preflight", errors=GONE, returns="what was found")
    async def preflight(self, project_id: str, body: RunWanted) -> Preflight:
        """Whether a search could begin."""
        state = await state_of(await self.store(), self._user, project_id)
        return preflight(state, body.mode, body.parameters)

    @get("/projects/{project_id}/chat-sessions", errors=GONE, returns="the conversations")
    async def sessions(self, project_id: str) -> list[ChatSession]:
        """The conversations about a project."""
        return await (await self.store()).list_chat_sessions(self._user, project_id)

    @post("/chat-sessions", errors={**GONE, **UNFIT}, returns="the conversation")
    async def begin_session(self, body: NewSession) -> Created[ChatSession]:
        """Begin a conversation."""
        return await (await self.store()).create_chat_session(self._user, body.project_id, body.title, body.mode)

    @get("/chat-sessions/{session_id}/messages", errors=GONE, returns="the messages")
    async def messages(self, session_id: str) -> list[MessageTold]:
        """What was said in a conversation."""
        store = await self.store()
        await recover(self._host, store, session_id)
        return [_told(each) for each in await store.list_messages(self._user, session_id)]

    @post("/chat-sessions/{session_id}/messages", errors={**GONE, **UNFIT}, returns="the message")
    async def add_message(self, session_id: str, body: NewMessage) -> Created[MessageTold]:
        """Add a message."""
        store = await self.store()
        metadata = {**body.message_metadata, AUTHOR: self._user}
        return _told(await store.add_message(self._user, session_id, body.role, body.content, metadata))

    @post("/chat-sessions/{session_id}/guidance", errors=GONE, runs=True, returns="the answer")
    async def guidance(self, session_id: str, body: GuidanceAsked) -> Guided:
        """Guidance that isn't kept as a message."""
        store = await self.store()
        session = await store.get_chat_session(self._user, session_id)
        most = min(max(body.message_limit, 0), MOST_MESSAGES)
        before = await store.list_messages(self._user, session.id, most + 1)
        if before and (before[-1].role, before[-1].content) == ("user", body.user_query):
            before = before[:-1]  # it is the question itself
        context = {"project_id": session.project_id, "session_id": session.id, "kept": False}
        mine = AssistantSession(assistant, self._host, context)
        return await self._guided(mine, body.user_query, history_of(before, most))

    async def _guided(self, session: AssistantSession, query: str, history: Sequence[Message]) -> Guided:
        try:
            model = await self._host.model()
        except (UnknownModel, ModelError) as error:
            state = await state_of(await self.store(), self._user, session.host.about["project_id"])
            return guided_without_model(state, query, str(error))
        return (await session.run(query or NO_QUESTION, history=history, model=model)).data

    @post(
        "/chat-sessions/{session_id}/architect-reply",
        errors={**GONE, 400: "nothing has been said yet", 409: "the answer was stopped"},
        runs=True,
        returns="the answer, as it is kept",
    )
    async def architect_reply(self, session_id: str) -> MessageTold:
        """Answer what was said last."""
        return _told(await reply(self._host, await self.store(), session_id))

    @post("/chat-sessions/{session_id}/architect-reply-stream", errors=GONE, runs=True)
    async def architect_reply_stream(self, session_id: str) -> Events[dict[str, Any]]:
        """Answer what was said last, and see it come."""
        store = await self.store()
        await store.get_chat_session(self._user, session_id)
        return _as_original(stream_reply(self._host, store, session_id))


async def _as_original(events: AsyncIterator[Any]) -> AsyncIterator[Any]:
    async for event in events:
        if isinstance(event, ChatMessage):
            yield {"type": "done", "message": _told(event)}
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


def _told(message: ChatMessage) -> MessageTold:
    said = msgspec.structs.asdict(message)
    return MessageTold(message_metadata=said.pop("metadata"), **said)


def _put(there: Value, given: PutSpec | PutWorld) -> Value:
    """What is there, with what was given in its place."""
    fields = {name: value for name, value in msgspec.structs.asdict(given).items() if name not in ("version", "updated_at")}
    return replace(there, **{name: value for name, value in fields.items() if value is not msgspec.UNSET})


def _found(value: Value | None, what: str) -> Value:
    if value is None:
        raise HTTPException(404, f"The project has no {what} yet.")
    return value


def _on_error(request: Request, error: Exception) -> Response | None:
    """What goes wrong, as clients of the original know it."""
    if isinstance(error, HTTPException):
        return json_response(Detail(error.detail), error.status_code)
    if not isinstance(error, TreadleError):
        return None
    status = next(number for kind, number in STATUSES if isinstance(error, kind))
    current = getattr(error, "current", None)
    more = {} if current is None else {"current": current}
    return json_response({"detail": str(error), **more}, status)


def routes(host: Host) -> list[BaseRoute]:
    """The routes, at the paths of the original."""
    service = Service(host)
    runs = RunsApi(host, service.store)
    with suppress(RuntimeError):  # it isn't served yet; the first request that lists the runs of a project then takes them up
        asyncio.get_running_loop().call_soon(runs.take_up)
    return routes_of(service, runs, on_error=_on_error, problem=Detail)
