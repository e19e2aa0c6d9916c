"""Feedback over HTTP: a user rates the answers of their runs, with a comment."""

from typing import Annotated

from msgspec import Meta, Struct
from starlette.requests import Request
from starlette.routing import BaseRoute

from treadle.core.errors import RunNotFound
from treadle.routes import delete, get, put, routes_of
from treadle.runs import Runs
from treadle.server.runs.hosted_runs import HostedRuns
from treadle.server.runs.routes import requester_of
from treadle.stores.feedback import LONGEST_COMMENT, Feedback, Rating

MOST_RUNS = 100  # whose feedback is returned at once
NOT_FOUND = {404: "there is no such run, or no such message of the user in it"}


class FeedbackQuery(Struct, frozen=True):
    """Of which runs feedback is returned."""

    runs: Annotated[str, Meta(description=f"Their ids, separated by commas; {MOST_RUNS} at most.", max_length=10_000)]


class FeedbackList(Struct, frozen=True):
    """The feedback on the answers of runs, by their ids."""

    feedback: dict[str, list[Feedback]]


class FeedbackRequest(Struct, frozen=True, forbid_unknown_fields=True):
    """How a user rates an answer, and what they say about it."""

    rating: Rating
    comment: Annotated[str, Meta(max_length=LONGEST_COMMENT)] = ""


class FeedbackApi:
    """The handlers for feedback on one user's runs."""

    def __init__(self, runs: HostedRuns) -> None:
        self._hosted = runs
        self._home = runs.home
        self._runs = Runs(runs.home)

    @get("/api/feedback")
    async def list_feedback(self, request: Request, query: FeedbackQuery) -> FeedbackList:
        """Get the feedback on the answers of runs; those without any are left out."""
        found = await self._runs.feedback(*[run_id for run_id in query.runs.split(",") if run_id][:MOST_RUNS])
        infos = [await self._home.journal.info(run_id) for run_id in found]
        return FeedbackList({info.run_id: found[info.run_id] for info in await self._hosted.shown_to(infos, requester_of(request))})

    @put("/api/runs/{run_id}/feedback/{message:int}", errors=NOT_FOUND, returns="the feedback as it is stored")
    async def rate_answer(self, request: Request, run_id: str, message: int, body: FeedbackRequest) -> Feedback:
        """Give feedback on the answer to a message of the user, in place of the feedback before."""
        await self._check_shown(run_id, request)
        feedback = await self._runs.rate(run_id, body.rating, body.comment, message=message)
        assert feedback is not None, "only a withdrawal returns none"
        return feedback

    @delete("/api/runs/{run_id}/feedback/{message:int}", errors=NOT_FOUND, returns="there is none any more")
    async def withdraw_feedback(self, request: Request, run_id: str, message: int) -> None:
        """Withdraw the feedback on an answer."""
        await self._check_shown(run_id, request)
        await self._runs.rate(run_id, None, message=message)

    async def _check_shown(self, run_id: str, request: Request) -> None:
        if not self._home.database.exists():
            raise RunNotFound(f"There is no run {run_id} here.")
        await self._hosted.check_shown(run_id, requester_of(request))


def feedback_routes(runs: HostedRuns) -> list[BaseRoute]:
    """Return the routes."""
    return routes_of(FeedbackApi(runs))
