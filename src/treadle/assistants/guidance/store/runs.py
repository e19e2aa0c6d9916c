"""Runs of a project. A run is created by a person; then its status only advances, until it has ended.

A failed run can continue: what it had found is kept.
"""

from typing import Any

from msgspec.structs import replace

from treadle.assistants.guidance.store.database import StoreMixin, in_any_store
from treadle.assistants.guidance.store.errors import InvalidValue
from treadle.assistants.guidance.store.rows import load_project_row, load_row, load_rows, row_to_value, value_to_row
from treadle.assistants.guidance.store.tables import chat_sessions, messages, runs
from treadle.assistants.guidance.store.transaction import project_transaction, row_transaction
from treadle.assistants.guidance.store.validation import validate_value
from treadle.assistants.guidance.store.values import ENDED, Run, RunStatus, new_id

RUN = "run"
NEXT_STATUSES: dict[RunStatus, tuple[RunStatus, ...]] = {"created": ("running", *ENDED), "running": ENDED, "failed": ("running",)}


class RunsMixin(StoreMixin):
    """Create, list, get and update runs."""

    @in_any_store
    async def create_run(self, user: str, run: Run, *, run_id: str = "") -> Run:
        """Create a run of `run.project_id`, in status created.

        With an id given by the caller it is created once: an existing one is returned.
        """
        fresh = replace(run, id=run_id or new_id(), status="created", candidate_count=0, started_at=None, completed_at=None)
        fresh = validate_value(fresh)
        async with project_transaction(self._database, user, run.project_id) as change:
            if (row := await change.there(runs, run_id, RUN)) is not None:
                return row_to_value(row, Run)
            await change.expect(chat_sessions, fresh.chat_session_id, "chat session")
            await change.expect(messages, fresh.recommended_message_id, "message")
            await change.add(runs, fresh)
        return fresh

    @in_any_store
    async def list_runs(self, user: str, project_id: str, last: int | None = None) -> list[Run]:
        """Return the runs of a project, in order: the last few, or all."""
        async with self._database.reading() as connection:
            await load_project_row(connection, user, project_id)
            rows = await load_rows(connection, runs, runs.c.project_id == project_id, last=last)
            return [row_to_value(row, Run) for row in rows]

    @in_any_store
    async def get_run(self, user: str, run_id: str) -> Run:
        """Return a run; raises `ItemNotFound`."""
        async with self._database.reading() as connection:
            return row_to_value(await load_row(connection, user, runs, run_id, RUN), Run)

    @in_any_store
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
        """Advance a run to a status, or leave it in its own, with what is known of it by now; None leaves a field as it is."""
        known = {
            "config": config,
            "metrics": metrics,
            "llm_usage": llm_usage,
            "scenario_count": scenario_count,
            "evaluation_count": evaluation_count,
            "run_summary_message_id": run_summary_message_id,
            "error_summary": error_summary,
        }
        async with row_transaction(self._database, user, runs, run_id, RUN) as (change, row):
            await change.expect(messages, run_summary_message_id, "message")
            run = _advance_status(row_to_value(row, Run), status, change.moment)
            run = validate_value(replace(run, **{key: value for key, value in known.items() if value is not None}))
            await change.set(runs, run_id, **value_to_row(run, runs))
            return run


def _advance_status(run: Run, status: RunStatus, moment: Any) -> Run:
    """Return the run in its next status, with the time of the change."""
    if status == run.status:
        return run
    if status not in NEXT_STATUSES.get(run.status, ()):
        raise InvalidValue(f"A run that is {run.status} can't become {status!r}; start another.")
    if status == "running":
        return replace(run, status=status, started_at=run.started_at or moment, completed_at=None, error_summary="")
    return replace(run, status=status, completed_at=moment)
