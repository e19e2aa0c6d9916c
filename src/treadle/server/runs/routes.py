"""The runs API. `hosted_runs` has the operations, `sse` the event streams."""

import asyncio
from typing import Annotated, Any

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import BaseRoute

from treadle.core.errors import RunNotFound
from treadle.guard.redaction import Redactor
from treadle.jobs.store import Jobs
from treadle.routes import EVENTS, Accepted, Created, Returns, delete, get, post, routes_of, wants_events
from treadle.server.jobs import assistant_job_path
from treadle.server.runs.decisions import DecisionList, DecisionListQuery, list_decisions
from treadle.server.runs.events import StreamEvent, mask_pending_approval
from treadle.server.runs.follow import RunFollower, follow_lines, is_follow_cursor
from treadle.server.runs.hosted_runs import HostedRuns, PendingStatus, Requester
from treadle.server.runs.idempotency import status_of
from treadle.server.runs.journal_stream import EventCursor
from treadle.server.runs.journals import read_journals
from treadle.server.runs.live_turns import RunningTurn
from treadle.server.runs.replay import find_pending_approvals
from treadle.server.runs.run_view import RunView, view_run
from treadle.server.runs.schemas import (
    MAX_TEXT,
    CallsDecision,
    CreatedRun,
    EventRequest,
    EventStreamQuery,
    ForkRequest,
    GrantList,
    MessageRequest,
    MessageView,
    PendingApproval,
    PendingApprovalList,
    ResumeRequest,
    RunCallDecision,
    RunList,
    RunListQuery,
    RunQuery,
    RunStatusView,
    SentEvent,
    TurnRequest,
)
from treadle.server.runs.sse import ReplyData, SseResponse, StreamStart, open_stream, parse_cursor, stream_lines
from treadle.stores.journal import JournalQuery, RunInfo
from treadle.stores.journal import cursor_of as place_in_list
from treadle.stores.queue import RunQueue
from treadle.workers.dispatcher import wait_for_poll
from treadle.workers.run_control import wait_for_run

MAX_WAITING = 200  # runs whose approvals are listed

NOT_FOUND = {404: "there is no such run"}
RESUME_ERRORS = {
    404: "there is no such run or assistant",
    409: "the run is under way, waits, or isn't for this server to go on with",
    413: f"more than {MAX_TEXT:,} characters, or than is taken at once",
    422: "the message is empty, or the model isn't offered",
    502: "the model's server failed",
    503: "there is no model; the sentence says what to do",
}
NEXT_OPERATIONS = ("get_api_runs_run_id", "get_api_runs_run_id_events", "post_api_runs_run_id_cancel", "post_api_runs_run_id_fork")

TurnEvents = Annotated[Response, Returns(200, "the turn's events, where `Accept` says so", EVENTS, StreamEvent)]
RunEvents = Annotated[Response, Returns(200, "events, each a line of JSON; the last is a `reply`", EVENTS, StreamEvent)]
AllRead = Annotated[None, Returns(204, "everything was read, and nothing is under way")]
ModelWarmed = Annotated[None, Returns(204, "the model reads in the background, if it can")]
JobRedirect = Annotated[RedirectResponse, Returns(307, "the run is a job's: its assistant takes the answer")]


class RunsApi:
    """The run handlers, for one user."""

    def __init__(self, runs: HostedRuns) -> None:
        self._runs = runs
        self._home = runs.home
        self._live = runs.live

    @get("/api/runs", errors={404: "`before` names no run"})
    async def list_runs(self, request: Request, query: RunListQuery) -> RunList:
        """List runs, newest first."""
        before = await self._parse_position(query.before) if query.before else None
        wanted = JournalQuery(query.search, query.status, query.assistant, before, query.limit + 1, rating=query.rating)
        found = await self._home.journal.list_runs(wanted)
        runs = found[: query.limit]
        following = "{!r},{}".format(*place_in_list(runs[-1])) if len(found) > query.limit else ""
        return RunList(await self._runs.shown_to(runs, requester_of(request)), bool(following), following)

    async def _parse_position(self, said: str) -> tuple[float, str]:
        at, comma, run_id = said.partition(",")
        try:
            return (float(at), run_id) if comma else place_in_list(await self._load_info(said))
        except (ValueError, RunNotFound) as error:
            raise HTTPException(404, "`before` is `next` of another list, or the id of its last run.") from error

    async def _load_info(self, run_id: str) -> RunInfo:
        if not self._home.database.exists():
            raise RunNotFound(f"There is no run {run_id} here.")
        return await self._home.journal.info(run_id)

    @post(
        "/api/runs",
        errors={**RESUME_ERRORS, 422: "the message is empty, the model isn't offered, or the key was used for another request"},
        links=NEXT_OPERATIONS,
        returns="it goes on by itself, or is `queued` for a worker; how it stands, where the same request was sent before",
        headers={"idempotency-key": "any text; the same request sent again with it begins no other run"},
    )
    async def begin(self, request: Request, body: TurnRequest) -> Accepted[RunStatusView] | TurnEvents:
        """Send a message to an assistant."""
        _check_text(body.message, body.instructions)
        way = await self._runs.begin(body, requester_of(request), request.headers.get("idempotency-key", ""))
        return RunStatusView(way, await status_of(self._home, way)) if isinstance(way, str) else self._start_response(request, way)

    @post("/api/assistants/{name}/warm", errors={404: "there is no such assistant"})
    async def warm(self, request: Request, name: str) -> ModelWarmed:
        """Have the embedded model read what a conversation with an assistant begins with. With other models, nothing happens."""
        self._runs.warm(name, requester_of(request))

    @get("/api/runs/{run_id}", errors=NOT_FOUND)
    async def get_run(self, request: Request, run_id: str, query: RunQuery) -> RunView:
        """Get a run, with all its entries; after `wait`, or as soon as it is over or waits."""
        await self._load_info(run_id)
        await self._runs.check_shown(run_id, requester_of(request))
        if query.wait:
            await self._wait(request, run_id, query.wait)
        info = await self._load_info(run_id)
        queued = await RunQueue(self._home.database).find(run_id) if info.status == "open" else None
        replies = await self._runs.replies(run_id, requester_of(request))
        return view_run(info, await read_journals(self._home, run_id), replies, queued)

    async def _wait(self, request: Request, run_id: str, seconds: float) -> None:
        """Wait until a run is over or waits, so many seconds at most, or until the server stops."""
        stopping: asyncio.Event = request.scope.get("stopping") or asyncio.Event()
        waiting = asyncio.ensure_future(wait_for_run(self._home, run_id, seconds))
        try:
            await wait_for_poll(stopping, seconds, [waiting])
        finally:
            waiting.cancel()
            await asyncio.gather(waiting, return_exceptions=True)

    @get(
        "/api/runs/{run_id}/events",
        errors=NOT_FOUND,
        headers={"last-event-id": "the id of the last event that was read; the same as `after`"},
    )
    async def events(self, request: Request, run_id: str, query: EventStreamQuery) -> RunEvents | AllRead:
        """Stream the events of a run as server-sent events."""
        place = parse_cursor(request.headers.get("last-event-id", "") or query.after)
        await self._runs.wait_recovered()
        await self._runs.check_shown(run_id, requester_of(request))

        async def data() -> Any:
            return next(reversed(await self._runs.replies(run_id, requester_of(request))), None)

        if await self._runs.is_elsewhere(run_id) or (is_follow_cursor(place) and not self._live.is_under_way(run_id)):
            return await self._follow(request, run_id, place, data)
        start = await open_stream(self._live, run_id, place, data=data)
        return None if start.is_nothing else self._event_stream(request, start)

    async def _follow(self, request: Request, run_id: str, place: EventCursor | None, data: ReplyData) -> Response | None:
        """Return the events of a run that another process executes; None where the reader has all of them."""
        follower = RunFollower(self._home, run_id, place, data=data, stopping=request.scope.get("stopping"))
        batches = follower.batches()
        first = await anext(batches)
        if not first and follower.is_over:
            await batches.aclose()
            return None
        return SseResponse(follow_lines(first, batches, self._live.figures))

    def _event_stream(self, request: Request, start: StreamStart) -> Response:
        self._live.heed(request.scope.get("stopping"))
        return SseResponse(stream_lines(start, self._live.figures))

    @post(
        "/api/runs/{run_id}/messages",
        errors={**RESUME_ERRORS, 409: "the turn runs in another process, or the run isn't for this server to go on with"},
        links=("get_api_runs_run_id", "get_api_runs_run_id_events", "post_api_runs_run_id_cancel"),
        returns="it is on disk",
    )
    async def send(self, request: Request, run_id: str, body: MessageRequest) -> Accepted[MessageView]:
        """Send a message to a run, also while a turn of it is running."""
        _check_text(body.message, None)
        return await self._runs.send(run_id, body, requester_of(request))

    @post("/api/runs/{run_id}/resume", errors=RESUME_ERRORS, links=NEXT_OPERATIONS, returns="it goes on by itself")
    async def resume(
        self, request: Request, run_id: str, body: ResumeRequest | None = None
    ) -> Accepted[RunStatusView] | TurnEvents:
        """Resume a run."""
        asked = body or ResumeRequest()
        _check_text(None, asked.instructions)
        return self._start_response(request, await self._runs.resume(run_id, asked, requester_of(request)))

    def _start_response(self, request: Request, way: RunningTurn) -> RunStatusView | Response:
        """Return that a run continues; or its event stream, for a client that accepts that."""
        if wants_events(request):
            return self._event_stream(request, StreamStart(None, way.broadcast, way.after))
        return RunStatusView(way.turn.run_id, "open")

    @post(
        "/api/runs/{run_id}/cancel",
        errors={**NOT_FOUND, 409: "it is over, or a program executes it, which has to cancel it"},
        returns="how it stands now: `cancelling` where another process has yet to end it",
    )
    async def cancel(self, request: Request, run_id: str) -> RunStatusView:
        """Cancel a run that is active, here or elsewhere, is queued, or waits."""
        return RunStatusView(run_id, await self._runs.cancel(run_id, requester_of(request)))

    @post(
        "/api/runs/{run_id}/retry",
        errors={**RESUME_ERRORS, 409: "it hasn't failed, or isn't for this server to go on with"},
        links=NEXT_OPERATIONS,
        returns="it goes on by itself",
    )
    async def retry(self, request: Request, run_id: str) -> Accepted[RunStatusView] | TurnEvents:
        """Retry a failed run, from its journal."""
        way = await self._runs.retry(run_id, requester_of(request))
        return RunStatusView(run_id, "queued") if way is None else self._start_response(request, way)

    @delete("/api/runs/{run_id}", errors={**NOT_FOUND, 409: "its turn isn't over, or it is a job's"}, returns="it is gone")
    async def delete(self, request: Request, run_id: str) -> None:
        """Delete a run, with all stored content of it."""
        await self._runs.delete(run_id, requester_of(request))

    @post("/api/runs/{run_id}/fork", errors=RESUME_ERRORS, links=("get_api_runs_run_id", "post_api_runs_run_id_resume"))
    async def fork(self, request: Request, run_id: str, body: ForkRequest | None = None) -> Created[CreatedRun]:
        """Create a run from the first entries of another."""
        asked = body or ForkRequest()
        _check_text(asked.message, asked.instructions)
        return CreatedRun(await self._runs.fork(run_id, asked, requester_of(request)))

    @get("/api/approvals")
    async def waiting(self, request: Request) -> PendingApprovalList:
        """List pending approvals."""
        found: list[PendingApproval] = []
        waiting = await self._home.journal.list_runs(JournalQuery(status="waiting", limit=MAX_WAITING, asks=True))
        for info in await self._runs.shown_to(waiting, requester_of(request)):
            for approval in find_pending_approvals(await read_journals(self._home, info.run_id)):
                said: dict[str, Any] = {
                    name: getattr(mask_pending_approval(approval, _REDACTOR), name) for name in approval.__struct_fields__
                }
                found.append(PendingApproval(**said, root=info.run_id, assistant=info.agent, title=info.title))
        return PendingApprovalList(found)

    @get("/api/approvals/history")
    async def list_decisions(self, request: Request, query: DecisionListQuery) -> DecisionList:
        """List past decisions about calls, newest first: who decided, when, and how long the call had waited."""
        return await list_decisions(self._runs, query, requester_of(request))

    @post(
        "/api/runs/{run_id}/approvals/{call_id}",
        errors={
            **RESUME_ERRORS,
            409: "the call doesn't wait any more, isn't the one that was shown, or isn't this server's to go on with",
            422: "the digest is missing, or the model isn't offered any more",
        },
        returns="the run goes on by itself, is `queued` for a worker, or is `waiting` for other answers",
    )
    async def decide(
        self, request: Request, run_id: str, call_id: str, body: RunCallDecision
    ) -> Accepted[RunStatusView] | TurnEvents | JobRedirect:
        """Approve or deny a waiting call, or record the outcome of an unclear one."""
        if body.runs and not body.digest:
            raise HTTPException(422, "To have a call run, send the `digest` that came with it.")
        if Jobs(self._home.folder).has(run_id) and (
            path := await assistant_job_path(request, self._home, run_id, f"approvals/{call_id}")
        ):
            return RedirectResponse(path, 307)
        way = await self._runs.answer(run_id, call_id, body, requester_of(request))
        return await self._decided_response(request, run_id, way)

    @post(
        "/api/runs/{run_id}/approvals",
        errors={**RESUME_ERRORS, 409: "one of the calls doesn't wait any more, isn't the one that was shown, or is a job's"},
        returns="the run goes on by itself, is `queued` for a worker, or is `waiting` for other answers",
    )
    async def decide_all(self, request: Request, run_id: str, body: CallsDecision) -> Accepted[RunStatusView] | TurnEvents:
        """Approve or deny several waiting calls of a run at once."""
        if Jobs(self._home.folder).has(run_id):
            raise HTTPException(409, "This run is a job's: answer its calls one by one.")
        way = await self._runs.answer_all(run_id, body, requester_of(request))
        return await self._decided_response(request, run_id, way)

    async def _decided_response(self, request: Request, run_id: str, way: RunningTurn | PendingStatus) -> RunStatusView | Response:
        """Return how a run stands after an answer; a queued one is named by its root run, which a worker continues."""
        if isinstance(way, RunningTurn):
            return self._start_response(request, way)
        return RunStatusView(await self._runs.root_run(run_id) if way == "queued" else run_id, way)


class EventsApi:
    """The handler for events that calls of one user's runs wait for."""

    def __init__(self, runs: HostedRuns) -> None:
        self._runs = runs

    @post(
        "/api/events/{name}",
        errors={404: "no run waits for this event; send it again later, if one is about to", 422: "the value is too large"},
        returns="the runs go on by themselves",
    )
    async def sent(self, request: Request, name: str, body: EventRequest | None = None) -> Accepted[SentEvent]:
        """Send an event to the calls that wait for it."""
        return SentEvent(await self._runs.send_event(name, body or EventRequest()))


class PermissionsApi:
    """The handlers for what one user has allowed for always."""

    def __init__(self, runs: HostedRuns) -> None:
        self._runs = runs

    @get("/api/permissions")
    async def list_grants(self, request: Request) -> GrantList:
        """List what is allowed for always."""
        return GrantList(await self._runs.grants(requester_of(request)))

    @delete("/api/permissions/{grant_id}", errors={404: "there is no such grant"}, returns="such calls ask for approval again")
    async def revoke_grant(self, request: Request, grant_id: str) -> None:
        """Revoke what was allowed for always."""
        await self._runs.revoke(grant_id, requester_of(request))


_REDACTOR = Redactor()


def _check_text(message: str | None, instructions: str | None) -> None:
    for words in (message, instructions):
        if len(words or "") > MAX_TEXT:
            raise HTTPException(413, f"This has {len(words or ''):,} characters; {MAX_TEXT:,} are taken at most.")
    if message is not None and not message.strip():
        raise HTTPException(422, "The message is empty; say what you want.")


def requester_of(request: Request) -> Requester:
    """Return who asks, with the limits and the headers of the request."""
    return Requester(request.scope.get("run_limiter"), dict(request.headers))


def run_routes(runs: HostedRuns) -> list[BaseRoute]:
    """Return the routes."""
    return [*routes_of(RunsApi(runs)), *routes_of(PermissionsApi(runs)), *routes_of(EventsApi(runs))]
