"""The guidance assistant over HTTP: the routes of the original that guidance touches, and what the panel needs besides.

What goes wrong is `{"detail": …}`, as clients of the original know it. Every request acts for the person whose server this is.
"""

from collections.abc import AsyncIterator, Awaitable, Callable
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

import msgspec
from msgspec import Meta, Struct
from msgspec.structs import replace
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from treadle import Host, RunNotFound, TreadleError
from treadle.assistants.guidance.guide import MESSAGES, Guide, Guided, as_json, user_of
from treadle.assistants.guidance.opened import Opened
from treadle.assistants.guidance.preflight import preflight
from treadle.assistants.guidance.stages import progress_of, told
from treadle.assistants.guidance.store.errors import BadValue, ChangedMeanwhile, NotThere, NotYours
from treadle.assistants.guidance.store.values import (
    ChatMessage,
    Constraint,
    Entry,
    Mode,
    ProblemSpec,
    Provenance,
    Resolution,
    Role,
    SessionMode,
    WorldModel,
)
from treadle.assistants.guidance.talks import NothingSaid, Talks
from treadle.assistants.guidance.tools import state_of
from treadle.routes import body_of, streamed

if TYPE_CHECKING:
    from treadle.assistants.guidance.store.store import Store

Value = TypeVar("Value", ProblemSpec, WorldModel)

STATUSES: tuple[tuple[type[TreadleError], int], ...] = (
    (NotThere, 404),
    (RunNotFound, 404),
    (NotYours, 403),
    (ChangedMeanwhile, 409),
    (BadValue, 422),
    (NothingSaid, 400),
    (TreadleError, 500),
)


class NewProject(Struct, frozen=True):
    """A project to begin."""

    title: str
    description: str = ""


class Renamed(Struct, frozen=True):
    """What a project is called from now on; `version` is what was seen."""

    version: int
    title: str | None = None
    description: str | None = None


class PutSpec(Struct, frozen=True, forbid_unknown_fields=True):
    """A problem spec in place of the version that was seen; what isn't there stays as it is."""

    version: int
    constraints: tuple[Constraint, ...] | msgspec.UnsetType = msgspec.UNSET
    goals: tuple[str, ...] | msgspec.UnsetType = msgspec.UNSET
    resolution: Resolution | msgspec.UnsetType = msgspec.UNSET
    mode: Mode | msgspec.UnsetType = msgspec.UNSET
    updated_at: Any = None


class PutWorld(Struct, frozen=True, forbid_unknown_fields=True):
    """A world model, likewise."""

    version: int
    actors: tuple[Entry, ...] | msgspec.UnsetType = msgspec.UNSET
    mechanisms: tuple[Entry, ...] | msgspec.UnsetType = msgspec.UNSET
    resources: tuple[Entry, ...] | msgspec.UnsetType = msgspec.UNSET
    constraints: tuple[Entry, ...] | msgspec.UnsetType = msgspec.UNSET
    assumptions: tuple[Entry, ...] | msgspec.UnsetType = msgspec.UNSET
    simplifications: tuple[Entry, ...] | msgspec.UnsetType = msgspec.UNSET
    updated_at: Any = None


class NewSession(Struct, frozen=True):
    """A conversation to begin."""

    project_id: str
    title: str = ""
    mode: SessionMode = "setup"


class NewMessage(Struct, frozen=True):
    """Something said."""

    content: str
    role: Role = "user"
    message_metadata: dict[str, Any] = {}


class Wanted(Struct, frozen=True):
    """A run to look at before it begins."""

    mode: str = "full_search"
    parameters: dict[str, Any] = {}


class GuidanceAsked(Struct, frozen=True):
    """A question, or none."""

    user_query: str = ""
    message_limit: int = MESSAGES


class Said(Struct, frozen=True):
    """What the person says to the panel."""

    message: str


class Decided(Struct, frozen=True):
    """What the person says about a change that waits."""

    approved: bool
    digest: Annotated[str, Meta(min_length=1)]
    reason: str = ""


class Service:
    """The endpoints, for one person."""

    def __init__(self, host: Host) -> None:
        self._host = host
        self._opened = Opened(host)
        host.at_end(self._opened.close)

    @property
    def _user(self) -> str:
        return user_of(self._host)

    async def _store(self) -> "Store":
        return await self._opened.store()

    async def _guide(self) -> Guide:
        return Guide(self._host, await self._store(), self._opened.settings, self._user)

    async def _talks(self) -> Talks:
        return Talks(await self._store(), await self._guide(), self._user)

    async def projects(self, request: Request) -> Response:
        """All of them, or a new one."""
        store = await self._store()
        if request.method == "GET":
            return _json(await store.list_projects(self._user))
        given = await body_of(request, NewProject)
        project = await store.create_project(self._user, given.title, given.description)
        await store.create_chat_session(self._user, project.id, "Main Chat")
        return _json(project, 201)

    async def project(self, request: Request) -> Response:
        """One of them; changed, or gone."""
        store, project_id = await self._store(), request.path_params["id"]
        if request.method == "PUT":
            given = await body_of(request, Renamed)
            changed = await store.update_project(
                self._user, project_id, expected=given.version, title=given.title, description=given.description
            )
            return _json(changed)
        if request.method == "DELETE":
            await store.delete_project(self._user, project_id)
            return Response(status_code=204)
        return _json(await store.get_project(self._user, project_id))

    async def problem_spec(self, request: Request) -> Response:
        """The problem spec; put in place of the version that was seen."""
        store, project_id = await self._store(), request.path_params["id"]
        if request.method == "PUT":
            given = await body_of(request, PutSpec)
            spec = _put(await store.get_problem_spec(self._user, project_id) or ProblemSpec(), given)
            why = Provenance("spec_change", "edited by hand", actor="user", source="page")
            return _json(await store.put_problem_spec(self._user, project_id, spec, expected=given.version, why=why))
        return _found(await store.get_problem_spec(self._user, project_id), "problem spec")

    async def world_model(self, request: Request) -> Response:
        """The world model, likewise."""
        store, project_id = await self._store(), request.path_params["id"]
        if request.method == "PUT":
            given = await body_of(request, PutWorld)
            world = _put(await store.get_world_model(self._user, project_id) or WorldModel(), given)
            why = Provenance("world_model_change", "edited by hand", actor="user", source="page")
            return _json(await store.put_world_model(self._user, project_id, world, expected=given.version, why=why))
        return _found(await store.get_world_model(self._user, project_id), "world model")

    async def workflow_state(self, request: Request) -> Response:
        """How far the project is."""
        state = await state_of(await self._store(), self._user, request.path_params["id"])
        return _json({**told(state), "workflow_progress": progress_of(state)})

    async def provenance(self, request: Request) -> Response:
        """Who changed what, and why."""
        return _json(await (await self._store()).list_provenance(self._user, request.path_params["id"]))

    async def runs(self, request: Request) -> Response:
        """The runs of a project."""
        return _json(await (await self._store()).list_runs(self._user, request.path_params["id"]))

    async def preflight(self, request: Request) -> Response:
        """Whether a run could begin."""
        given = await body_of(request, Wanted)
        state = await state_of(await self._store(), self._user, request.path_params["id"])
        return _json(preflight(state, given.mode, given.parameters))

    async def sessions(self, request: Request) -> Response:
        """The conversations of a project, or a new one."""
        store = await self._store()
        if request.method == "POST":
            given = await body_of(request, NewSession)
            return _json(await store.create_chat_session(self._user, given.project_id, given.title, given.mode), 201)
        return _json(await store.list_chat_sessions(self._user, request.path_params["id"]))

    async def messages(self, request: Request) -> Response:
        """What was said, or one thing more."""
        store, session_id = await self._store(), request.path_params["id"]
        if request.method == "GET":
            return _json([_told(each) for each in await store.list_messages(self._user, session_id)])
        given = await body_of(request, NewMessage)
        made = await store.add_message(self._user, session_id, given.role, given.content, given.message_metadata)
        return _json(_told(made), 201)

    async def guidance(self, request: Request) -> Response:
        """An answer that isn't kept as a message."""
        asked = await body_of(request, GuidanceAsked)
        session = await (await self._store()).get_chat_session(self._user, request.path_params["id"])
        guided = await (await self._guide()).provide_guidance(
            session.project_id, asked.user_query, session.id, message_limit=min(max(asked.message_limit, 0), 50)
        )
        return _json(as_json(guided))

    async def architect_reply(self, request: Request) -> Response:
        """The answer to what was said last, kept as a message."""
        return _json(_told(await (await self._talks()).reply(request.path_params["id"])))

    async def architect_reply_stream(self, request: Request) -> Response:
        """The same, as it comes, in the events that clients of the original know."""
        session_id = request.path_params["id"]
        talks = await self._talks()
        await (await self._store()).get_chat_session(self._user, session_id)
        return streamed(_as_original(talks.stream_reply(session_id)))

    async def chat(self, request: Request) -> Response:
        """Say something, and see what happens: for the panel."""
        said = await body_of(request, Said)
        if not said.message.strip():
            raise HTTPException(400, "Say something in `message`.")
        events = (await self._talks()).stream(request.path_params["id"], said.message)
        return streamed(_for_panel(events))

    async def answer(self, request: Request) -> Response:
        """What the person says about a change that waits, and how it goes on."""
        said, run_id = await body_of(request, Decided), request.path_params["run_id"]
        events = (await self._guide()).answer(
            run_id, request.path_params["call_id"], approved=said.approved, digest=said.digest, reason=said.reason
        )
        return streamed(_for_panel(self._kept(run_id, events)))

    async def _kept(self, run_id: str, events: AsyncIterator[Any]) -> AsyncIterator[Any]:
        """What a run says after it was answered is kept as a message too, in the conversation that it began in."""
        async for event in events:
            if isinstance(event, Guided):
                opened: Any = (await self._host.home.journal.read(run_id))[0]
                session_id = opened.origin.get("about", {}).get("session_id", "")
                yield await (await self._talks()).keep(session_id, event) if session_id else event
            else:
                yield event


async def _for_panel(events: AsyncIterator[Any]) -> AsyncIterator[Any]:
    async for event in events:
        if isinstance(event, ChatMessage):
            yield {"event": "reply", "message": event.content, **event.metadata}
        elif isinstance(event, Guided):
            yield {"event": "reply", "message": event.guidance_message, **as_json(event)}
        else:
            yield event


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


def _told(message: ChatMessage) -> dict[str, Any]:
    plain = msgspec.to_builtins(message)
    metadata = plain.pop("metadata")
    return {**plain, "message_metadata": metadata}


def _put(there: Value, given: PutSpec | PutWorld) -> Value:
    """What is there, with what was given in its place."""
    fields = {name: value for name, value in msgspec.structs.asdict(given).items() if name not in ("version", "updated_at")}
    return replace(there, **{name: value for name, value in fields.items() if value is not msgspec.UNSET})


def _json(value: Any, status: int = 200) -> JSONResponse:
    return JSONResponse(msgspec.to_builtins(value), status)


def _found(value: Any, what: str) -> Response:
    return JSONResponse({"detail": f"The project has no {what} yet."}, 404) if value is None else _json(value)


Endpoint = Callable[[Request], Awaitable[Response]]


def _careful(endpoint: Endpoint) -> Endpoint:
    """What goes wrong, as clients of the original know it."""

    async def answered(request: Request) -> Response:
        try:
            return await endpoint(request)
        except HTTPException as error:
            return JSONResponse({"detail": error.detail}, error.status_code)
        except TreadleError as error:
            status = next(number for kind, number in STATUSES if isinstance(error, kind))
            current = getattr(error, "current", None)
            more = {} if current is None else {"current": msgspec.to_builtins(current)}
            return JSONResponse({"detail": str(error), **more}, status)

    return answered


def routes(host: Host) -> list[Route]:
    """The routes, at the paths of the original."""
    service = Service(host)
    table: list[tuple[str, Endpoint, list[str]]] = [
        ("/projects", service.projects, ["GET", "POST"]),
        ("/projects/{id}", service.project, ["GET", "PUT", "DELETE"]),
        ("/projects/{id}/problem-spec", service.problem_spec, ["GET", "PUT"]),
        ("/projects/{id}/world-model", service.world_model, ["GET", "PUT"]),
        ("/projects/{id}/workflow-state", service.workflow_state, ["GET"]),
        ("/projects/{id}/provenance", service.provenance, ["GET"]),
        ("/projects/{id}/runs", service.runs, ["GET"]),
        ("/projects/{id}/runs/preflight", service.preflight, ["POST"]),
        ("/projects/{id}/chat-sessions", service.sessions, ["GET"]),
        ("/chat-sessions", service.sessions, ["POST"]),
        ("/chat-sessions/{id}/messages", service.messages, ["GET", "POST"]),
        ("/chat-sessions/{id}/guidance", service.guidance, ["POST"]),
        ("/chat-sessions/{id}/architect-reply", service.architect_reply, ["POST"]),
        ("/chat-sessions/{id}/architect-reply-stream", service.architect_reply_stream, ["POST"]),
        ("/api/guidance/sessions/{id}/chat", service.chat, ["POST"]),
        ("/api/guidance/approvals/{run_id}/{call_id}", service.answer, ["POST"]),
    ]
    return [Route(path, _careful(endpoint), methods=methods) for path, endpoint, methods in table]
