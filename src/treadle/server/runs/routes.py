"""Runs over HTTP: each route with what it answers. What is done is `service`, what readers are sent is `reading`."""

from typing import Any

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import BaseRoute

from treadle.app.jobs import Jobs
from treadle.core.errors import RunNotFound
from treadle.guard.redaction import Redactor
from treadle.routes import EVENTS, Answer, Described, Operation, body_of, problem, query_of, together
from treadle.server.answers import json_answer
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


class Service:
    """The endpoints, for one person."""

    def __init__(self, runs: HostedRuns) -> None:
        self._runs = runs
        self._home = runs.home
        self._live = runs.live

    async def listed(self, request: Request) -> Response:
        """The runs, newest first."""
        asked = query_of(request, RunsAsked)
        before = await self._before(asked.before) if asked.before else None
        wanted = Wanted(asked.search, asked.status, asked.assistant, before, asked.limit + 1)
        found = await self._home.journal.listed(wanted)
        runs = found[: asked.limit]
        following = "{!r},{}".format(*place_in_list(runs[-1])) if len(found) > asked.limit else ""
        return json_answer(Listed(await self._runs.shown_to(runs, _visitor(request)), bool(following), following))

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

    async def shown(self, request: Request) -> Response:
        """One run, whole."""
        run_id = request.path_params["run_id"]
        info = await self._info(run_id)
        await self._runs.check_shown(run_id, _visitor(request))
        journals = await journals_of(self._home, run_id)
        return json_answer(shown(info, journals, await self._runs.replies(run_id, _visitor(request))))

    async def events(self, request: Request) -> Response:
        """What happens in a run, from its beginning, or after an event."""
        asked, run_id = query_of(request, EventsAsked), request.path_params["run_id"]
        place = place_of(request.headers.get("last-event-id", "") or asked.after)
        await self._runs.settled()
        await self._runs.check_shown(run_id, _visitor(request))

        async def data() -> Any:
            return next(reversed(await self._runs.replies(run_id, _visitor(request))), None)

        start = await start_of(self._live, run_id, place, data=data)
        return Response(status_code=204) if start.is_nothing else self._streamed(request, start)

    def _streamed(self, request: Request, start: Start) -> Response:
        self._live.heed(request.scope.get("stopping"))
        return Streamed(lines_of(start, self._live.figures))

    async def begin(self, request: Request) -> Response:
        """A turn, of a new run or of one that is there."""
        asked = await body_of(request, TurnAsked)
        _check_words(asked.message, asked.instructions)
        return self._begins(request, await self._runs.begin(asked, _visitor(request)))

    async def resume(self, request: Request) -> Response:
        """Take a run up again."""
        asked = await body_of(request, GoneOn) if await request.body() else GoneOn()
        _check_words(None, asked.instructions)
        way = await self._runs.resume(request.path_params["run_id"], asked, _visitor(request))
        return self._begins(request, way)

    def _begins(self, request: Request, way: UnderWay) -> Response:
        """That it goes on; or how, for whoever wants to see it."""
        if "text/event-stream" in request.headers.get("accept", ""):
            return self._streamed(request, Start(None, way.broadcast, way.after))
        return json_answer(Begins(way.turn.run_id, "open"), 202)

    async def cancel(self, request: Request) -> Response:
        """Stop a run."""
        run_id = request.path_params["run_id"]
        await self._runs.cancel(run_id, _visitor(request))
        return json_answer(Begins(run_id, (await self._info(run_id)).status))

    async def fork(self, request: Request) -> Response:
        """A new run from the beginning of another."""
        asked = await body_of(request, ForkAsked) if await request.body() else ForkAsked()
        _check_words(asked.message, asked.instructions)
        return json_answer(Made(await self._runs.fork(request.path_params["run_id"], asked, _visitor(request))), 201)

    async def waiting(self, request: Request) -> Response:
        """All that waits for the person."""
        found: list[Waits] = []
        waiting = await self._home.journal.listed(Wanted(status="waiting", limit=MOST_WAITING))
        for info in await self._runs.shown_to(waiting, _visitor(request)):
            for approval in waiting_in(await journals_of(self._home, info.run_id)):
                said: dict[str, Any] = {name: getattr(masked(approval, _REDACTOR), name) for name in approval.__struct_fields__}
                found.append(Waits(**said, root=info.run_id, assistant=info.agent, title=info.title))
        return json_answer(Waiting(found))

    async def decide(self, request: Request) -> Response:
        """What the person says about a call that waits."""
        run_id, call_id = request.path_params["run_id"], request.path_params["call_id"]
        said = await body_of(request, CallAnswered)
        if said.runs and not said.digest:
            raise HTTPException(422, "To have a call run, send the `digest` that came with it.")
        if Jobs(self._home.folder).has(run_id) and (path := await own_path(request, self._home, run_id, f"approvals/{call_id}")):
            return RedirectResponse(path, 307)
        way = await self._runs.answer(run_id, call_id, said, _visitor(request))
        return json_answer(Begins(run_id, "waiting"), 202) if way is None else self._begins(request, way)


_REDACTOR = Redactor()


def _check_words(message: str | None, instructions: str | None) -> None:
    for words in (message, instructions):
        if len(words or "") > MOST_WORDS:
            raise HTTPException(413, f"This has {len(words or ''):,} characters; {MOST_WORDS:,} are taken at most.")
    if message is not None and not message.strip():
        raise HTTPException(422, "The message is empty; say what you want.")


def _visitor(request: Request) -> Visitor:
    return Visitor(request.scope.get("turnstile"), dict(request.headers))


# what each is


MISSING = problem("there is no such run")
TAKEN = problem("the run is under way, waits, or isn't for this server to go on with")
NEXT = ("get_api_runs_run_id", "get_api_runs_run_id_events", "post_api_runs_run_id_cancel", "post_api_runs_run_id_fork")
GOES_ON = {
    200: Answer("the turn's events, where `Accept` says so", Told, EVENTS),
    202: Answer("it goes on by itself", Begins, links=NEXT),
    404: problem("there is no such run or assistant"),
    409: TAKEN,
    413: problem(f"more than {MOST_WORDS:,} characters, or than is taken at once"),
    422: problem("the message is empty, or the model isn't offered"),
    502: problem("the model's server failed"),
    503: problem("there is no model; the sentence says what to do"),
}
TABLE: tuple[tuple[str, str, str, Operation], ...] = (
    (
        "GET",
        "/api/runs",
        "listed",
        Operation(
            "The runs, newest first",
            query=RunsAsked,
            answers={200: Answer("the runs", Listed), 404: problem("`before` names no run")},
        ),
    ),
    ("POST", "/api/runs", "begin", Operation("Ask an assistant", body=TurnAsked, answers=GOES_ON)),
    (
        "GET",
        "/api/runs/{run_id}",
        "shown",
        Operation("A run, with all its entries", answers={200: Answer("the run", Shown), 404: MISSING}),
    ),
    (
        "GET",
        "/api/runs/{run_id}/events",
        "events",
        Operation(
            "What happens in a run, as server-sent events",
            query=EventsAsked,
            headers={"last-event-id": "the id of the last event that was read; the same as `after`"},
            answers={
                200: Answer("events, each a line of JSON; the last is a `reply`", Told, EVENTS),
                204: Answer("everything was read, and nothing is under way"),
                404: MISSING,
            },
        ),
    ),
    (
        "POST",
        "/api/runs/{run_id}/resume",
        "resume",
        Operation("Take a run up again", body=GoneOn, optional=True, answers=GOES_ON),
    ),
    (
        "POST",
        "/api/runs/{run_id}/cancel",
        "cancel",
        Operation(
            "Stop a run that is under way",
            answers={200: Answer("how it stands now", Begins), 404: MISSING, 409: problem("it isn't under way here")},
        ),
    ),
    (
        "POST",
        "/api/runs/{run_id}/fork",
        "fork",
        Operation(
            "A new run from the first entries of another",
            body=ForkAsked,
            optional=True,
            answers={
                201: Answer("the new run", Made, links=("get_api_runs_run_id", "post_api_runs_run_id_resume")),
                **{status: GOES_ON[status] for status in (404, 409, 413, 422, 502, 503)},
            },
        ),
    ),
    (
        "GET",
        "/api/approvals",
        "waiting",
        Operation("What waits for a person", answers={200: Answer("the calls that wait", Waiting)}),
    ),
    (
        "POST",
        "/api/runs/{run_id}/approvals/{call_id}",
        "decide",
        Operation(
            "Approve or deny a call that waits, or say what became of an unclear one",
            body=CallAnswered,
            answers={
                **GOES_ON,
                202: Answer("the run goes on by itself, or waits for other answers", Begins),
                307: Answer("the run is a job's: its assistant takes the answer"),
                409: problem("the call doesn't wait any more, isn't the one that was shown, or isn't this server's to go on with"),
                422: problem("the digest is missing, or the model isn't offered any more"),
            },
        ),
    ),
)


def run_routes(runs: HostedRuns) -> list[BaseRoute]:
    """The routes."""
    service = Service(runs)
    return together([Described(path, getattr(service, name), operation, method) for method, path, name, operation in TABLE])
