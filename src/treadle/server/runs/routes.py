"""Runs over HTTP. What is done is `service`, what readers are sent is `reading`."""

from typing import Annotated, Any

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import BaseRoute

from treadle.app.jobs import Jobs
from treadle.core.errors import RunNotFound
from treadle.guard.redaction import Redactor
from treadle.routes import EVENTS, Accepted, Created, Returns, delete, get, post, routes_of, wants_events
from treadle.server.jobs import own_path
from treadle.server.runs.asked import (
    MOST_WORDS,
    Begins,
    CallAnswered,
    EventsAsked,
    ForkAsked,
    GoneOn,
    Listed,
    Made,
    RunsAsked,
    TurnAsked,
    Waiting,
    Waits,
)
from treadle.server.runs.events import Told, masked
from treadle.server.runs.kept import journals_of
from treadle.server.runs.live import UnderWay
from treadle.server.runs.reading import Start, Streamed, lines_of, place_of, start_of
from treadle.server.runs.replay import waiting_in
from treadle.server.runs.service import HostedRuns, Visitor
from treadle.server.runs.shown import Shown, shown
from treadle.stores.journal import RunInfo, Wanted
from treadle.stores.journal import place_of as place_in_list

MOST_WAITING = 200  # runs whose approvals are listed

MISSING = {404: "there is no such run"}
GOES_ON = {
    404: "there is no such run or assistant",
    409: "the run is under way, waits, or isn't for this server to go on with",
    413: f"more than {MOST_WORDS:,} characters, or than is taken at once",
    422: "the message is empty, or the model isn't offered",
    502: "the model's server failed",
    503: "there is no model; the sentence says what to do",
}
NEXT = ("get_api_runs_run_id", "get_api_runs_run_id_events", "post_api_runs_run_id_cancel", "post_api_runs_run_id_fork")

TurnEvents = Annotated[Response, Returns(200, "the turn's events, where `Accept` says so", EVENTS, Told)]
RunEvents = Annotated[Response, Returns(200, "events, each a line of JSON; the last is a `reply`", EVENTS, Told)]
Read = Annotated[None, Returns(204, "everything was read, and nothing is under way")]
Elsewhere = Annotated[RedirectResponse, Returns(307, "the run is a job's: its assistant takes the answer")]


class Service:
    """The handlers, for one person."""

    def __init__(self, runs: HostedRuns) -> None:
        self._runs = runs
        self._home = runs.home
        self._live = runs.live

    @get("/api/runs", errors={404: "`before` names no run"})
    async def listed(self, request: Request, query: RunsAsked) -> Listed:
        """The runs, newest first."""
        before = await self._before(query.before) if query.before else None
        wanted = Wanted(query.search, query.status, query.assistant, before, query.limit + 1)
        found = await self._home.journal.listed(wanted)
        runs = found[: query.limit]
        following = "{!r},{}".format(*place_in_list(runs[-1])) if len(found) > query.limit else ""
        return Listed(await self._runs.shown_to(runs, _visitor(request)), bool(following), following)

    async def _before(self, said: str) -> tuple[float, str]:
        at, comma, run_id = said.partition(",")
        try:
            return (float(at), run_id) if comma else place_in_list(await self._info(said))
        except (ValueError, RunNotFound) as error:
            raise HTTPException(404, "`before` is `next` of another list, or the id of its last run.") from error

    async def _info(self, run_id: str) -> RunInfo:
        if not self._home.database.exists():
            raise RunNotFound(f"There is no run {run_id} here.")
        return await self._home.journal.info(run_id)

    @post("/api/runs", errors=GOES_ON, links=NEXT, returns="it goes on by itself")
    async def begin(self, request: Request, body: TurnAsked) -> Accepted[Begins] | TurnEvents:
        """Ask an assistant."""
        _check_words(body.message, body.instructions)
        return self._begins(request, await self._runs.begin(body, _visitor(request)))

    @get("/api/runs/{run_id}", errors=MISSING)
    async def shown(self, request: Request, run_id: str) -> Shown:
        """A run, with all its entries."""
        info = await self._info(run_id)
        await self._runs.check_shown(run_id, _visitor(request))
        return shown(info, await journals_of(self._home, run_id), await self._runs.replies(run_id, _visitor(request)))

    @get(
        "/api/runs/{run_id}/events",
        errors=MISSING,
        headers={"last-event-id": "the id of the last event that was read; the same as `after`"},
    )
    async def events(self, request: Request, run_id: str, query: EventsAsked) -> RunEvents | Read:
        """What happens in a run, as server-sent events."""
        place = place_of(request.headers.get("last-event-id", "") or query.after)
        await self._runs.settled()
        await self._runs.check_shown(run_id, _visitor(request))

        async def data() -> Any:
            return next(reversed(await self._runs.replies(run_id, _visitor(request))), None)

        start = await start_of(self._live, run_id, place, data=data)
        return None if start.is_nothing else self._streamed(request, start)

    def _streamed(self, request: Request, start: Start) -> Response:
        self._live.heed(request.scope.get("stopping"))
        return Streamed(lines_of(start, self._live.figures))

    @post("/api/runs/{run_id}/resume", errors=GOES_ON, links=NEXT, returns="it goes on by itself")
    async def resume(self, request: Request, run_id: str, body: GoneOn | None = None) -> Accepted[Begins] | TurnEvents:
        """Take a run up again."""
        asked = body or GoneOn()
        _check_words(None, asked.instructions)
        return self._begins(request, await self._runs.resume(run_id, asked, _visitor(request)))

    def _begins(self, request: Request, way: UnderWay) -> Begins | Response:
        """That it goes on; or how, for whoever wants to see it."""
        if wants_events(request):
            return self._streamed(request, Start(None, way.broadcast, way.after))
        return Begins(way.turn.run_id, "open")

    @post("/api/runs/{run_id}/cancel", errors={**MISSING, 409: "it is over, or isn't under way here"}, returns="how it stands now")
    async def cancel(self, request: Request, run_id: str) -> Begins:
        """Stop a run that is under way, or that waits for a person."""
        await self._runs.cancel(run_id, _visitor(request))
        return Begins(run_id, (await self._info(run_id)).status)

    @delete("/api/runs/{run_id}", errors={**MISSING, 409: "its turn isn't over, or it is a job's"}, returns="it is gone")
    async def delete(self, request: Request, run_id: str) -> None:
        """Delete a run, with all that is kept of its content."""
        await self._runs.delete(run_id, _visitor(request))

    @post("/api/runs/{run_id}/fork", errors=GOES_ON, links=("get_api_runs_run_id", "post_api_runs_run_id_resume"))
    async def fork(self, request: Request, run_id: str, body: ForkAsked | None = None) -> Created[Made]:
        """A new run from the first entries of another."""
        asked = body or ForkAsked()
        _check_words(asked.message, asked.instructions)
        return Made(await self._runs.fork(run_id, asked, _visitor(request)))

    @get("/api/approvals")
    async def waiting(self, request: Request) -> Waiting:
        """What waits for a person."""
        found: list[Waits] = []
        waiting = await self._home.journal.listed(Wanted(status="waiting", limit=MOST_WAITING))
        for info in await self._runs.shown_to(waiting, _visitor(request)):
            for approval in waiting_in(await journals_of(self._home, info.run_id)):
                said: dict[str, Any] = {name: getattr(masked(approval, _REDACTOR), name) for name in approval.__struct_fields__}
                found.append(Waits(**said, root=info.run_id, assistant=info.agent, title=info.title))
        return Waiting(found)

    @post(
        "/api/runs/{run_id}/approvals/{call_id}",
        errors={
            **GOES_ON,
            409: "the call doesn't wait any more, isn't the one that was shown, or isn't this server's to go on with",
            422: "the digest is missing, or the model isn't offered any more",
        },
        returns="the run goes on by itself, or waits for other answers",
    )
    async def decide(
        self, request: Request, run_id: str, call_id: str, body: CallAnswered
    ) -> Accepted[Begins] | TurnEvents | Elsewhere:
        """Approve or deny a call that waits, or say what became of an unclear one."""
        if body.runs and not body.digest:
            raise HTTPException(422, "To have a call run, send the `digest` that came with it.")
        if Jobs(self._home.folder).has(run_id) and (path := await own_path(request, self._home, run_id, f"approvals/{call_id}")):
            return RedirectResponse(path, 307)
        way = await self._runs.answer(run_id, call_id, body, _visitor(request))
        return Begins(run_id, "waiting") if way is None else self._begins(request, way)


_REDACTOR = Redactor()


def _check_words(message: str | None, instructions: str | None) -> None:
    for words in (message, instructions):
        if len(words or "") > MOST_WORDS:
            raise HTTPException(413, f"This has {len(words or ''):,} characters; {MOST_WORDS:,} are taken at most.")
    if message is not None and not message.strip():
        raise HTTPException(422, "The message is empty; say what you want.")


def _visitor(request: Request) -> Visitor:
    return Visitor(request.scope.get("turnstile"), dict(request.headers))


def run_routes(runs: HostedRuns) -> list[BaseRoute]:
    """The routes."""
    return routes_of(Service(runs))
