"""Queues, workers and dead letters of a home over HTTP."""

from typing import Annotated

from msgspec import Meta, Struct
from starlette.exceptions import HTTPException
from starlette.routing import BaseRoute

from treadle.home import Home
from treadle.routes import delete, get, routes_of
from treadle.stores.dead_letters import MAX_LISTED, DeadLetter, DeadLetters
from treadle.stores.queue_stats import QueueCounts, read_operation_stats
from treadle.stores.worker_list import WorkerInfo, WorkerList
from treadle.workers.run_control import failure_reason


class QueuesView(Struct, frozen=True):
    """The queues by name, the workers, and how many runs wait for a version of the application that no worker has."""

    queues: dict[str, QueueCounts]
    workers: list[WorkerInfo]
    unserved: dict[str, int]


class DeadLetterQuery(Struct, frozen=True):
    """Filters for the list of dead letters."""

    queue: Annotated[str, Meta(max_length=50)] = ""
    limit: Annotated[int, Meta(ge=1, le=MAX_LISTED)] = 100
    before: Annotated[float, Meta(description="The time of the last one of the list before.", ge=0)] | None = None


class DeadLetterView(DeadLetter, frozen=True, kw_only=True):
    """A run that isn't tried again by itself, and why it failed."""

    reason: str


class DeadLetterList(Struct, frozen=True):
    """Dead letters, newest first."""

    dead_letters: list[DeadLetterView]
    more: bool


def queue_routes(home: Home) -> list[BaseRoute]:
    """Return the routes."""
    letters = DeadLetters(home.database)

    @get("/api/queues", returns="the queues and the workers")
    async def queues() -> QueuesView:
        """Get how many runs wait in each queue, and the workers."""
        stats = await read_operation_stats(home.database)
        return QueuesView(stats.queues, await WorkerList(home.database).list_workers(), stats.unserved)

    @get("/api/dead-letters")
    async def list_dead_letters(query: DeadLetterQuery) -> DeadLetterList:
        """List runs of workers that failed too often to be tried again, newest first."""
        found = await letters.list_letters(query.queue, query.limit + 1, query.before)
        shown = [await _to_view(home, each) for each in found[: query.limit]]
        return DeadLetterList(shown, len(found) > query.limit)

    @delete("/api/dead-letters/{run_id}", errors={404: "it is no dead letter"}, returns="it is off the list; the run is kept")
    async def remove_dead_letter(run_id: str) -> None:
        """Take a run off the list of dead letters."""
        if not await letters.remove(run_id):
            raise HTTPException(404, f"Run {run_id} is no dead letter; GET /api/dead-letters lists them.")

    return routes_of(queues, list_dead_letters, remove_dead_letter)


async def _to_view(home: Home, each: DeadLetter) -> DeadLetterView:
    values = {name: getattr(each, name) for name in each.__struct_fields__}
    return DeadLetterView(**values, reason=await failure_reason(home, each.run_id))
