"""The guidance assistant over HTTP: the routes of the original that guidance touches. Its panel asks at `/api/runs`.

What goes wrong is `{"detail": …}`, as clients of the original know it. Every request acts for the person whose server this is.
"""

from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack
from typing import TYPE_CHECKING, Any, TypeVar

import msgspec
from msgspec.structs import replace
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import BaseRoute

from treadle import AssistantSession, ContextNotFound, Host, Message, ModelError, RunNotFound, TreadleError, UnknownModel
from treadle.assistants.guidance import assistant
from treadle.assistants.guidance.architect import AUTHOR, AnswerCancelled, NothingSaid, reply, stream_reply
from treadle.assistants.guidance.operations import (
    TABLE,
    GuidanceAsked,
    NewMessage,
    NewProject,
    NewSession,
    PutSpec,
    PutWorld,
    Renamed,
    RunWanted,
)
from treadle.assistants.guidance.preflight import preflight
from treadle.assistants.guidance.projects import open_projects, user_of
from treadle.assistants.guidance.prompts import NO_QUESTION
from treadle.assistants.guidance.session import Guided, guided_without_model, history_of, recover
from treadle.assistants.guidance.stages import progress_of, told
from treadle.assistants.guidance.store.errors import BadValue, ChangedMeanwhile, NotThere, NotYours
from treadle.assistants.guidance.store.values import ChatMessage, ProblemSpec, Provenance, WorldModel
from treadle.assistants.guidance.tools import MOST_MESSAGES, state_of
from treadle.routes import Described, Endpoint, body_of, streamed, together

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
    (TreadleError, 500),
)


class Service:
    """The endpoints, for one person."""

    def __init__(self, host: Host) -> None:
        self._host = host
        self._user = user_of(host)
        self._found: Store | None = None
        self._opened = AsyncExitStack()
        host.at_end(self._opened.aclose)

    async def _store(self) -> "Store":
        """The projects, which stay open for as long as the server runs."""
        if self._found is None:
            self._found = await self._opened.enter_async_context(open_projects(self._host))
        return self._found

    async def projects(self, request: Request) -> Response:
        """All of them."""
        return _json(await (await self._store()).list_projects(self._user))

    async def begin(self, request: Request) -> Response:
        """A new one."""
        store, given = await self._store(), await body_of(request, NewProject)
        project = await store.create_project(self._user, given.title, given.description)
        await store.create_chat_session(self._user, project.id, "Main Chat")
        return _json(project, 201)

    async def project(self, request: Request) -> Response:
        """One of them."""
        return _json(await (await self._store()).get_project(self._user, request.path_params["project_id"]))

    async def rename(self, request: Request) -> Response:
        """Called otherwise from now on."""
        store, given = await self._store(), await body_of(request, Renamed)
        changed = await store.update_project(
            self._user,
            request.path_params["project_id"],
            expected=given.version,
            title=given.title,
            description=given.description,
        )
        return _json(changed)

    async def remove(self, request: Request) -> Response:
        """Gone."""
        await (await self._store()).delete_project(self._user, request.path_params["project_id"])
        return Response(status_code=204)

    async def problem_spec(self, request: Request) -> Response:
        """The problem spec."""
        return _found(await (await self._store()).get_problem_spec(self._user, request.path_params["project_id"]), "problem spec")

    async def put_problem_spec(self, request: Request) -> Response:
        """It, put in place of the version that was seen."""
        store, project_id, given = await self._store(), request.path_params["project_id"], await body_of(request, PutSpec)
        spec = _put(await store.get_problem_spec(self._user, project_id) or ProblemSpec(), given)
        why = Provenance("spec_change", "edited by hand", actor="user", source="page")
        return _json(await store.put_problem_spec(self._user, project_id, spec, expected=given.version, why=why))

    async def world_model(self, request: Request) -> Response:
        """The world model."""
        return _found(await (await self._store()).get_world_model(self._user, request.path_params["project_id"]), "world model")

    async def put_world_model(self, request: Request) -> Response:
        """It, put in place of the version that was seen."""
        store, project_id, given = await self._store(), request.path_params["project_id"], await body_of(request, PutWorld)
        world = _put(await store.get_world_model(self._user, project_id) or WorldModel(), given)
        why = Provenance("world_model_change", "edited by hand", actor="user", source="page")
        return _json(await store.put_world_model(self._user, project_id, world, expected=given.version, why=why))

    async def workflow_state(self, request: Request) -> Response:
        """How far the project is."""
        state = await state_of(await self._store(), self._user, request.path_params["project_id"])
        return _json({**told(state), "workflow_progress": progress_of(state)})

    async def provenance(self, request: Request) -> Response:
        """Who changed what, and why."""
        return _json(await (await self._store()).list_provenance(self._user, request.path_params["project_id"]))

    async def runs(self, request: Request) -> Response:
        """The runs of a project."""
        return _json(await (await self._store()).list_runs(self._user, request.path_params["project_id"]))

    async def preflight(self, request: Request) -> Response:
        """Whether a run could begin."""
        given = await body_of(request, RunWanted)
        state = await state_of(await self._store(), self._user, request.path_params["project_id"])
        return _json(preflight(state, given.mode, given.parameters))

    async def sessions(self, request: Request) -> Response:
        """The conversations of a project."""
        return _json(await (await self._store()).list_chat_sessions(self._user, request.path_params["project_id"]))

    async def begin_session(self, request: Request) -> Response:
        """A new one."""
        given = await body_of(request, NewSession)
        made = await (await self._store()).create_chat_session(self._user, given.project_id, given.title, given.mode)
        return _json(made, 201)

    async def messages(self, request: Request) -> Response:
        """What was said."""
        store, session_id = await self._store(), request.path_params["session_id"]
        await recover(self._host, store, session_id)
        return _json([_told(each) for each in await store.list_messages(self._user, session_id)])

    async def add_message(self, request: Request) -> Response:
        """One thing more."""
        given, session_id = await body_of(request, NewMessage), request.path_params["session_id"]
        store = await self._store()
        metadata = {**given.message_metadata, AUTHOR: self._user}
        made = await store.add_message(self._user, session_id, given.role, given.content, metadata)
        return _json(_told(made), 201)

    async def guidance(self, request: Request) -> Response:
        """An answer that isn't kept as a message."""
        asked, store = await body_of(request, GuidanceAsked), await self._store()
        session = await store.get_chat_session(self._user, request.path_params["session_id"])
        most = min(max(asked.message_limit, 0), MOST_MESSAGES)
        before = await store.list_messages(self._user, session.id, most + 1)
        if before and (before[-1].role, before[-1].content) == ("user", asked.user_query):
            before = before[:-1]  # it is the question itself
        context = {"project_id": session.project_id, "session_id": session.id, "kept": False}
        mine = AssistantSession(assistant, self._host, context)
        return _json(await self._guided(mine, asked.user_query, history_of(before, most)))

    async def _guided(self, session: AssistantSession, query: str, history: Sequence[Message]) -> Guided:
        try:
            model = await self._host.model()
        except (UnknownModel, ModelError) as error:
            state = await state_of(await self._store(), self._user, session.host.about["project_id"])
            return guided_without_model(state, query, str(error))
        return (await session.run(query or NO_QUESTION, history=history, model=model)).data

    async def architect_reply(self, request: Request) -> Response:
        """The answer to what was said last, kept as a message."""
        return _json(_told(await reply(self._host, await self._store(), request.path_params["session_id"])))

    async def architect_reply_stream(self, request: Request) -> Response:
        """The same, as it comes, in the events that clients of the original know."""
        store, session_id = await self._store(), request.path_params["session_id"]
        await store.get_chat_session(self._user, session_id)
        return streamed(_as_original(stream_reply(self._host, store, session_id)))


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


def routes(host: Host) -> list[BaseRoute]:
    """The routes, at the paths of the original."""
    service = Service(host)
    return together(
        [Described(path, _careful(getattr(service, name)), operation, method) for method, path, name, operation in TABLE]
    )
