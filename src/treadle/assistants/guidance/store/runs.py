"""Runs of a project. A run is created by a person; then its status goes forward only, until it has ended.

One that failed can go on: what it had found by then is kept.
"""

from typing import Any

from msgspec.structs import replace

from treadle.assistants.guidance.store.change import changing, changing_one
from treadle.assistants.guidance.store.checks import checked
from treadle.assistants.guidance.store.errors import BadValue
from treadle.assistants.guidance.store.part import Part
from treadle.assistants.guidance.store.rows import project_row, row_by_id, row_of, rows_in_order, value_of
from treadle.assistants.guidance.store.tables import chat_sessions, messages, runs
from treadle.assistants.guidance.store.values import ENDED, Run, RunStatus, new_id
from treadle.assistants.guidance.store.whole import whole

RUN = "run"
NEXT: dict[RunStatus, tuple[RunStatus, ...]] = {"created": ("running", *ENDED), "running": ENDED, "failed": ("running",)}


class Runs(Part):
    """Create, list, get and update runs."""

    @whole
    async def create_run(self, user: str, run: Run, *, run_id: str = "") -> Run:
        """A new run of `run.project_id`, in status created; with an id of the caller's, once: the one that is there comes back."""
        fresh = replace(run, id=run_id or new_id(), status="created", candidate_count=0, started_at=None, completed_at=None)
        fresh = checked(fresh)
        async with changing(self._database, user, run.project_id) as change:
            if (row := await change.there(runs, run_id, RUN)) is not None:
                return value_of(row, Run)
            await change.expect(chat_sessions, fresh.chat_session_id, "chat session")
            await change.expect(messages, fresh.recommended_message_id, "message")
            await change.add(runs, fresh)
        return fresh

    @whole
    async def list_runs(self, user: str, project_id: str, last: int | None = None) -> list[Run]:
        """The runs of a project, in order: the last few, or all."""
        async with self._database.reading() as connection:
            await project_row(connection, user, project_id)
            rows = await rows_in_order(connection, runs, runs.c.project_id == project_id, last=last)
            return [value_of(row, Run) for row in rows]

    @whole
    async def get_run(self, user: str, run_id: str) -> Run:
        """A run, or `NotThere`."""
        async with self._database.reading() as connection:
            return value_of(await row_by_id(connection, user, runs, run_id, RUN), Run)

    @whole
    async def update_run(
        self,
        user: str,
        run_id: str,
        status: RunStatus,
        *,
        config: dict[str, Any] | None = None,
        metrics: dict[str, Any] | None = None,
        llm_usage: dict[str, Any] | None = None,
        scenario_count: int | None = None,
        evaluation_count: int | None = None,
        run_summary_message_id: str | None = None,
        error_summary: str | None = None,
    ) -> Run:
        """Take a run on to a status, or leave it in its own, with what is known of it by now; None leaves a thing as it is."""
        known = {
            "config": config,
            "metrics": metrics,
            "llm_usage": llm_usage,
            "scenario_count": scenario_count,
            "evaluation_count": evaluation_count,
            "run_summary_message_id": run_summary_message_id,
            "error_summary": error_summary,
        }
        async with changing_one(self._database, user, runs, run_id, RUN) as (change, row):
            await change.expect(messages, run_summary_message_id, "message")
            run = _onward(value_of(row, Run), status, change.moment)
            run = checked(replace(run, **{key: value for key, value in known.items() if value is not None}))
            await change.set(runs, run_id, **row_of(run, runs))
            return run


def _onward(run: Run, status: RunStatus, moment: Any) -> Run:
    """The run in its next status, and since when it is."""
    if status == run.status:
        return run
    if status not in NEXT.get(run.status, ()):
        raise BadValue(f"A run that is {run.status} can't become {status!r}; start another.")
    if status == "running":
        return replace(run, status=status, started_at=run.started_at or moment, completed_at=None, error_summary="")
    return replace(run, status=status, completed_at=moment)
